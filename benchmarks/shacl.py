"""What a SHACL validator finds of the wrong beliefs of nell-sports: python benchmarks/shacl.py.

It is given the same ontology as an evaluation: domains and ranges as sh:class, functional properties as sh:maxCount 1.
A belief counts as flagged if it is the triple that violates a shape, or one of them.
"""

import sys
import time
from pathlib import Path

import pyshacl
from rdflib import OWL, RDF, RDFS, BNode, Graph, Literal, URIRef
from rdflib.namespace import SH
from rdflib.term import Node

from rdf_kgeval.beliefs.terms import iri
from rdf_kgeval.verdicts.gold import read_gold

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data" / "nell-sports"
Triple = tuple[Node, Node, Node]


def shapes_of(ontology: Graph) -> Graph:
    """A shape for each axiom."""
    shapes = Graph()
    for p in sorted(set(ontology.subjects(RDF.type, OWL.ObjectProperty))):
        shape, part = URIRef(f"{p}-shape"), BNode()
        shapes.add((shape, RDF.type, SH.NodeShape))
        shapes.add((shape, SH.targetSubjectsOf, p))
        shapes.add((shape, SH.property, part))
        shapes.add((part, SH.path, p))
        for domain in ontology.objects(p, RDFS.domain):
            shapes.add((shape, SH["class"], domain))
        for range_ in ontology.objects(p, RDFS.range):
            shapes.add((part, SH["class"], range_))
        if (p, RDF.type, OWL.FunctionalProperty) in ontology:
            shapes.add((part, SH.maxCount, Literal(1)))
    return shapes


def flagged(data: Graph, report: Graph, shapes: Graph, beliefs: set[Triple]) -> set[Triple]:
    """The beliefs that results of the validation are about."""
    found: set[Triple] = set()
    for result in report.subjects(RDF.type, SH.ValidationResult):
        s, path, o = (report.value(result, p) for p in (SH.focusNode, SH.resultPath, SH.value))
        source = report.value(result, SH.sourceShape)
        p = path or shapes.value(source, SH.targetSubjectsOf)
        found |= set(data.triples((s, p, o if path else None))) & beliefs
    return found


def main() -> None:
    if not DATA.exists():
        sys.exit(f"{DATA} is absent")
    ontology = Graph().parse(DATA / "ontology.ttl")
    gold = {
        tuple(URIRef(iri(term)) for term in triple): true
        for triple, true in read_gold(DATA / "gold.csv").items()
    }
    data = Graph().parse(DATA / "beliefs.nt").parse(DATA / "types.nt") + ontology
    shapes = shapes_of(ontology)
    begin = time.perf_counter()
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes)
    seconds = time.perf_counter() - begin
    found = flagged(data, report, shapes, set(gold))
    wrong = {triple for triple, true in gold.items() if not true}
    share = 1 - len(wrong) / len(gold)
    lines = [
        "# What a SHACL validator finds",
        "",
        f"Written by `python benchmarks/shacl.py`: pySHACL {pyshacl.__version__} on nell-sports with its types, "
        f"{len(shapes_of(ontology))} triples of shapes made from the same ontology that an evaluation reads. "
        "A validator says which triples break a shape; it says nothing about how many are true. Types here are those in "
        "NELL's names, which its extractor keeps to, so few wrong beliefs break one.",
        "",
        "| set | beliefs | accuracy % | wrong | flagged | flagged and wrong | of the flagged, wrong % | of the wrong, flagged % | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        f"| nell-sports | {len(gold):,} | {100 * share:.2f} | {len(wrong)} | {len(found)} | {len(found & wrong)} "
        f"| {100 * len(found & wrong) / max(len(found), 1):.1f} | {100 * len(found & wrong) / len(wrong):.1f} | {seconds:.1f} |",
        "",
    ]
    (HERE / "SHACL.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
