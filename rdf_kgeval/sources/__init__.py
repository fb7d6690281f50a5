"""Where beliefs come from: RDF files, rdflib graphs, SPARQL endpoints."""
