"""Plugin: the modules that rdflib loads; they import nothing heavy.

Modules, in reading order:
    functions: SPARQL functions over a published evaluation.
    lookup: finds the label, truth or accuracy that a published evaluation states.
    store: an rdflib store that shows only triples believed true.
"""
