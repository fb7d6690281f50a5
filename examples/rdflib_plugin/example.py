"""Evaluate an rdflib graph, and ask in SPARQL what of it is true."""

from pathlib import Path

import rdflib

import rdf_kgeval as kgeval

DATA = Path(__file__).parent.parent / "motivating"

graph = rdflib.Graph().parse(DATA / "kg.ttl")
rules = kgeval.read_ontology(DATA / "ontology.ttl") + kgeval.read_rules(DATA / "rules")

# Who answers: here a file with labels. kgeval.PromptOracle() asks you.
oracle = kgeval.GoldOracle(DATA / "gold.csv")
coupled = kgeval.couple(kgeval.read_beliefs(graph), rules)
evaluation = kgeval.evaluate(coupled, oracle=oracle, policy="greedy", seed_size=0)
print(
    f"{evaluation.accuracy:.0%} of {len(graph)} triples are true; {evaluation.n_verdicts} were asked about."
)

# The result is linked data too: in the dataset that is queried, the SPARQL functions find it.
dataset = kgeval.to_rdf(evaluation)
for triple in graph:
    dataset.add(triple)
wrong = """
    PREFIX : <http://example.org/>
    PREFIX kge: <https://w3id.org/rdf-kgeval#>
    SELECT ?s ?p ?o (kge:truth(?s, ?p, ?o) AS ?truth) (kge:accuracy(?p) AS ?accuracy)
    WHERE { ?s ?p ?o FILTER(!kge:label(?s, ?p, ?o)) }
    ORDER BY ?s
"""
for row in dataset.query(wrong):
    print("wrong:", *(dataset.namespace_manager.normalizeUri(term) for term in row[:3]), *row[3:])

# A graph that leaves out what is not believed.
dataset.serialize("evaluation.trig", format="trig")
believed = rdflib.Graph(store="KGEval")
believed.open("evaluation.trig")
believed.parse(DATA / "kg.ttl")
believed.store.confidence = 0.8
print(f"{len(believed)} triples are believed.")
