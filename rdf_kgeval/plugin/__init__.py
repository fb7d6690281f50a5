"""What rdflib loads: SPARQL functions and a store over a published evaluation; nothing heavy."""
