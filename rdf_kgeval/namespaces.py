"""IRIs that the code names, and the suffixes of records."""

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE = f"{RDF}type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOS_PREF_LABEL = f"{SKOS}prefLabel"
XSD = "http://www.w3.org/2001/XMLSchema#"
OWL = "http://www.w3.org/2002/07/owl#"
KGE = "https://w3id.org/rdf-kgeval#"
DQV = "http://www.w3.org/ns/dqv#"
PROV = "http://www.w3.org/ns/prov#"
VOID = "http://rdfs.org/ns/void#"
OA = "http://www.w3.org/ns/oa#"
DCAT = "http://www.w3.org/ns/dcat#"
SPDX = "http://spdx.org/rdf/terms#"
LDQD = "http://www.w3.org/2016/05/ldqd#"
DCTERMS = "http://purl.org/dc/terms/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

LABEL_PROPERTIES = (RDFS_LABEL, SKOS_PREF_LABEL)
DESCRIPTION_PROPERTIES = (
    "https://schema.org/description",
    "http://schema.org/description",
    f"{SKOS}definition",
    f"{RDFS}comment",
    f"{DCTERMS}description",
    "http://purl.org/dc/elements/1.1/description",
)
"""Predicates by which graphs say what something is, the best first."""
WIKIBASE = "http://wikiba.se/ontology#"
WIKIBASE_PREDICATES = (
    "directClaim", "directClaimNormalized", "claim", "statementProperty", "statementValue", "qualifier",
    "qualifierValue", "reference", "referenceValue",
)  # fmt: skip
"""Local names of what ties a property of a Wikibase to the predicates that stand for it."""
PROVENANCE = (
    "http://www.w3.org/ns/prov#wasDerivedFrom",
    "http://www.w3.org/ns/prov#hadPrimarySource",
    "http://purl.org/dc/terms/source",
    "http://purl.org/dc/elements/1.1/source",
    "http://xmlns.com/foaf/0.1/isPrimaryTopicOf",
)
"""Predicates by which graphs say where something is from."""

RECORD_SUFFIXES = (".trig", ".ttl", ".nq", ".nt", ".jsonld")
"""Suffixes of the files of `kgeval publish`; RDF/XML, possibly a bomb of entities, is not among them."""
