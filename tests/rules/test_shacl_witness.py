"""pySHACL as witness: our reading of SHACL rules concludes what its rule engine infers."""

from dataclasses import replace
from pathlib import Path

import pyshacl
import pytest
import rdflib

from rdf_kgeval.beliefs.terms import rdflib_term
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.rules.dialects import read_rules
from tests.support.rulecases import PREFIXES, beliefs_of, constraints_of

DATA = """
:ducks a :Team ; :home :anaheim ; :plays :hockey . :anaheim :in :california .
:wings a :Club ; :home :detroit ; :plays :hockey . :detroit :in :michigan .
:ada a :Player ; :playsFor :ducks ; :age 31 . :bob a :Player ; :playsFor :wings ; :age 17 .
:cup :winner :wings . :lonely a :Team .
:Club rdfs:subClassOf :Team .
"""
SHAPES = """
:ontology sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/"^^xsd:anyURI ] .
:Club rdfs:subClassOf :Team .
:TeamShape a sh:NodeShape ; sh:targetClass :Team ; sh:rule
  [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :state ; sh:object [ sh:path ( :home :in ) ] ] ,
  [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :player ; sh:object [ sh:path [ sh:inversePath :playsFor ] ] ] ,
  [ a sh:TripleRule ; sh:subject [ sh:path :home ] ; sh:predicate :kind ; sh:object "city"@en ] .
:PlayerShape a sh:NodeShape ; sh:targetClass :Player ; sh:rule
  [ a sh:SPARQLRule ; sh:prefixes :ontology ;
    sh:construct "CONSTRUCT { $this ex:sport ?s } WHERE { $this ex:playsFor ?t . ?t ex:plays ?s }" ] ,
  [ a sh:SPARQLRule ; sh:prefixes :ontology ;
    sh:construct "CONSTRUCT { $this a ex:Adult } WHERE { $this ex:age ?a . FILTER(?a >= 18) }" ] ,
  [ a sh:SPARQLRule ; sh:prefixes :ontology ;
    sh:construct "CONSTRUCT { $this ex:rests true } WHERE { $this ex:playsFor ?t . FILTER NOT EXISTS { ?c ex:winner ?t } }" ] .
:WinnerShape a sh:NodeShape ; sh:targetObjectsOf :winner ; sh:rule
  [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :champion ; sh:object true ] .
:HomeShape a sh:NodeShape ; sh:targetSubjectsOf :home ; sh:rule
  [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :hasHome ; sh:object true ] .
:NodeShape a sh:NodeShape ; sh:targetNode :ada ; sh:rule
  [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :employer ; sh:object [ sh:path :playsFor ] ] .
:OffShape a sh:NodeShape ; sh:targetClass :Team ; sh:rule
  [ a sh:TripleRule ; sh:deactivated true ; sh:subject sh:this ; sh:predicate :off ; sh:object true ] .
"""


@pytest.mark.filterwarnings("ignore")
def test_rules_conclude_what_pyshacl_infers(tmp_path: Path) -> None:
    data = rdflib.Graph().parse(data=PREFIXES + DATA, format="turtle")
    shapes = rdflib.Graph().parse(data=PREFIXES + SHAPES, format="turtle")
    before = set(data)
    pyshacl.validate(data, shacl_graph=shapes, advanced=True, inplace=True, inference=None)
    inferred = {tuple(map(rdflib_term, triple)) for triple in set(data) - before}
    assert len(inferred) > 10

    file = tmp_path / "shapes.ttl"
    file.write_text(PREFIXES + SHAPES)
    rules = [replace(rule, latent=True) for rule in read_rules(file)]
    concluded = {head for _, head, _ in constraints_of(couple(beliefs_of(DATA), rules))}
    assert concluded == inferred
