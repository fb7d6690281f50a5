"""Rules: what ties beliefs together, and every way to read, mine or write them.

Modules, in reading order:
    pattern: the terms of rules, as users write them and as we keep them.
    rule: a rule, its filters and its weight.
    dialects: reads rule files in any dialect (`DIALECTS`).
    template: reads SPARQL CONSTRUCT templates.
    construct: turns the text of a CONSTRUCT into patterns.
    expressions: turns its terms and filters into ours.
    shacl: reads SHACL rules.
    miner_tables: reads the tables of AMIE and AnyBURL.
    ontology: reads ontologies, and follows their imports.
    axioms: turns each kind of RDFS and OWL axiom into rules.
    documents: parses ontologies and shapes into rdflib graphs.
    write: writes rules as templates or as SHACL.
    mining/: learns rules from the beliefs themselves.
"""
