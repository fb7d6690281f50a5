"""Mistakes in Python: each is one sentence that names the right call, never an internal error."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import rdflib

import rdf_kgeval as kgeval
from rdf_kgeval.pipeline import Evaluation

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
EX = "http://example.org/"
TURTLE = "@prefix ex: <http://example.org/> .\nex:a ex:knows ex:b ."


@pytest.fixture(scope="module")
def at() -> Iterator[SimpleNamespace]:
    """Everything that somebody may hand to the wrong call."""
    before = Path.cwd()
    os.chdir(EXAMPLE)
    beliefs = kgeval.read_beliefs("kg.ttl")
    rules = kgeval.read_rules("rules")
    coupled = kgeval.couple(beliefs, rules)
    gold = kgeval.GoldOracle("gold.csv")
    yield SimpleNamespace(
        g=rdflib.Graph().parse("kg.ttl"),
        beliefs=beliefs,
        rules=rules,
        coupled=coupled,
        gold=gold,
        done=kgeval.evaluate(coupled, gold),
        inference=kgeval.infer(coupled),
        id=beliefs.id(int(beliefs.rows[0])),
    )
    os.chdir(before)


async def slow(_: kgeval.Question) -> bool:
    await asyncio.sleep(0)
    return True


def judged(answer: object) -> Callable[[SimpleNamespace], object]:
    return lambda at: kgeval.evaluate(at.coupled, lambda _: answer)  # type: ignore[arg-type, return-value]


MISTAKES: dict[str, tuple[Callable[[SimpleNamespace], object], str]] = {
    # couple, mine
    "a graph to couple": (lambda at: kgeval.couple(at.g, at.rules), r"couple takes beliefs first, not a Graph; read_beliefs"),
    "a path to couple": (lambda at: kgeval.couple("kg.ttl", at.rules), r"not the text 'kg.ttl'; read_beliefs"),
    "couple's arguments swapped": (lambda at: kgeval.couple(at.rules, at.beliefs), r"beliefs first, not a list; .*couple\(beliefs, rules\)"),
    "paths as rules": (lambda at: kgeval.couple(at.beliefs, ["rules"]), r"couple takes rules .*'rules'; read_rules\(path\)"),
    "a path as rules": (lambda at: kgeval.couple(at.beliefs, "rules"), r"couple takes rules .*'rules'; read_rules\(path\)"),
    "an ontology graph as rules": (lambda at: kgeval.couple(at.beliefs, at.g), r"couple takes rules .*, not a tuple; read_rules"),
    "no rules": (lambda at: kgeval.couple(at.beliefs, None), r"couple takes rules .*, not None"),
    "a graph to mine": (lambda at: kgeval.mine(at.g), r"mine takes beliefs, not a Graph; read_beliefs"),
    "a path to mine": (lambda at: kgeval.mine("kg.ttl"), r"mine takes beliefs, not the text 'kg.ttl'; read_beliefs"),
    "a coupling graph to mine": (lambda at: kgeval.mine(at.coupled), r"mine takes beliefs, not a CouplingGraph"),
    "options of mining as a dict": (lambda at: kgeval.mine(at.beliefs, {"min_support": 3}), r"MiningOptions\(min_support=5\)"),
    "a confidence in words": (lambda _: kgeval.MiningOptions(min_confidence="high"), r"min_confidence takes a number, not the text 'high'; the usual value is 0.5"),
    "known rules as a path": (lambda at: kgeval.mine(at.beliefs, known="rules"), r"known takes rules, .*read_rules\(path\)"),
    # evaluate: the source
    "nothing to evaluate": (lambda at: kgeval.evaluate(None, at.gold), "nothing to evaluate; give a file"),
    "a number to evaluate": (lambda at: kgeval.evaluate(7, at.gold), "evaluate takes a file, several files, or an rdflib Graph, not 7"),
    "a dict to evaluate": (lambda at: kgeval.evaluate({"a": "b"}, at.gold), "not a dict"),
    "an evaluation to evaluate": (lambda at: kgeval.evaluate(at.done, at.gold), r"not an Evaluation; .*\.graph\.beliefs"),
    "triples to evaluate": (lambda at: kgeval.evaluate(list(at.g), at.gold), r"not a tuple; of triples, make a graph"),
    "Turtle to evaluate": (lambda at: kgeval.evaluate(TURTLE, at.gold), r"rdflib.Graph\(\).parse\(data=text\)"),
    "a folder to evaluate": (lambda at: kgeval.evaluate("rules", at.gold), "rules is a folder; give the files in it"),
    "a file that is not there": (lambda at: kgeval.evaluate("kgg.ttl", at.gold), "kgg.ttl"),
    "an address of nothing": (lambda at: kgeval.evaluate("http://", at.gold), "is not the URL of an endpoint"),
    "rules for a coupled graph": (lambda at: kgeval.evaluate(at.coupled, at.gold, rules="rules"), "coupled already; give evaluate the beliefs"),
    "a scope for beliefs": (lambda at: kgeval.evaluate(at.beliefs, at.gold, predicates="ex:p"), "predicates says how to read a source"),
    "in place without an endpoint": (lambda at: kgeval.evaluate("kg.ttl", at.gold, in_place=True), "in_place draws from an endpoint"),
    # evaluate: the oracle
    "no oracle": (lambda at: kgeval.evaluate(at.coupled), "oracle takes a function of a question, .*, not None"),
    "a path as oracle": (lambda at: kgeval.evaluate(at.coupled, "gold.csv"), r"not the text 'gold.csv'; GoldOracle\(path\)"),
    "a Path as oracle": (lambda at: kgeval.evaluate(at.coupled, Path("gold.csv")), r"not the path gold.csv; GoldOracle\(path\)"),
    "a dict as oracle": (lambda at: kgeval.evaluate(at.coupled, {}), r"not a dict; give a function, such as lambda question"),
    "a class as oracle": (lambda at: kgeval.evaluate(at.coupled, kgeval.PromptOracle), r"write PromptOracle\(...\) to make one"),
    "a list as oracle": (lambda at: kgeval.evaluate(at.coupled, [True]), "not a list; write for example oracle=lambda question"),
    "True as oracle": (lambda at: kgeval.evaluate(at.coupled, True), "not True; write for example"),
    "an oracle without a question": (lambda at: kgeval.evaluate(at.coupled, lambda: True), "cannot be called with a question .*let it take one argument"),
    "an oracle of two arguments": (lambda at: kgeval.evaluate(at.coupled, lambda s, o: True), "cannot be called with a question"),
    "an oracle that awaits": (lambda at: kgeval.evaluate(at.coupled, slow), r"asynchronous.*asyncio.run\(judge\(question\)\)"),
    "an oracle that says yes": (judged("yes"), "answered the text 'yes'; let it return True, False, an Answer"),
    "an oracle that says 2": (judged(2), "answered 2; let it return True"),
    "an oracle that says 0.7": (judged(0.7), "answered 0.7; let it return True"),
    "an oracle that says an array": (judged(np.zeros(2)), "answered a ndarray; let it return True"),
    "an oracle that hands the question back": (lambda at: kgeval.evaluate(at.coupled, lambda q: q), "answered a Question; let it return True"),
    "an oracle object that says yes": (
        lambda at: kgeval.evaluate(at.coupled, SimpleNamespace(annotator="me", interactive=True, ask=lambda _: "yes")),
        "the oracle me answered the text 'yes'",
    ),
    # evaluate: options
    "a budget in words": (lambda at: kgeval.evaluate(at.coupled, at.gold, budget="many"), "such as 140 nor a time such as 2h"),
    "half a verdict": (lambda at: kgeval.evaluate(at.coupled, at.gold, budget=2.5), "budget takes a whole number or None, not 2.5"),
    "a policy misspelt": (lambda at: kgeval.evaluate(at.coupled, at.gold, policy="gready"), "no policy 'gready'; did you mean greedy"),
    "an option misspelt": (lambda at: kgeval.evaluate(at.coupled, at.gold, buget=5), "no option 'buget'; did you mean budget"),
    "no seed": (lambda at: kgeval.evaluate(at.coupled, at.gold, seed=None), "seed takes a whole number, not None; the usual value is 0"),
    "a margin in words": (lambda at: kgeval.evaluate(at.coupled, at.gold, margin="wide"), "write it as a share, such as 0.05"),
    "a margin of five": (lambda at: kgeval.evaluate(at.coupled, at.gold, margin=5), "the margin 5 is not between 0 and 0.5"),
    "strictly yes": (lambda at: kgeval.evaluate(at.coupled, at.gold, strict="yes"), "strict takes True or False, not the text 'yes'"),
    "a file as run directory": (lambda at: kgeval.evaluate("kg.ttl", at.gold, run="kg.ttl"), "'kg.ttl' is a file; name a run directory"),
    "a graph as run directory": (lambda at: kgeval.evaluate("kg.ttl", at.gold, run=at.coupled), "run takes the path of a run directory"),
    "beliefs as rules": (lambda at: kgeval.evaluate("kg.ttl", at.gold, rules=at.beliefs), "rules takes rules, .*not a Beliefs"),
    "a number as ontology": (lambda at: kgeval.evaluate("kg.ttl", at.gold, ontology=7), "ontology takes RDFS or OWL files, .*not 7"),
    # infer
    "an evaluation to infer": (lambda at: kgeval.infer(at.done), r"not an Evaluation; it has inferred already: .labels\(\)"),
    "beliefs to infer": (lambda at: kgeval.infer(at.beliefs), r"not a Beliefs; couple\(beliefs, rules\) makes one"),
    "triples to infer": (lambda at: kgeval.infer(at.coupled, [("a", "b", "c")]), r"not a list; write \{beliefs.id\(beliefs.find\(s, p, o\)\): True\}"),
    "verdicts by triple": (lambda at: kgeval.infer(at.coupled, {("a", "b", "c"): True}), r"belief's id, not a tuple; beliefs.id\(row\)"),
    "verdicts by name": (lambda at: kgeval.infer(at.coupled, {"RedWings": True}), "is not a belief's id"),
    "verdicts of nowhere": (lambda at: kgeval.infer(at.coupled, {"0" * 64: True}), "no belief has an id that starts with 000"),
    "a verdict in words": (lambda at: kgeval.infer(at.coupled, {at.id: "true"}), "is True, False or a probability, not the text 'true'"),
    "a verdict of 2": (lambda at: kgeval.infer(at.coupled, {at.id: 2}), "not 2; give a number from 0 to 1"),
    "options of inference as a dict": (lambda at: kgeval.infer(at.coupled, {}, {}), r"InferenceOptions\(update_confidences=True\)"),
    "tau of 80": (lambda at: at.inference.labels(tau=80), "tau is 80; it must be above 0.5"),
    "tau in words": (lambda at: at.inference.labels(tau="high"), "tau is 'high'; it must be above 0.5"),
    # readers
    "Turtle to read_beliefs": (lambda _: kgeval.read_beliefs(TURTLE), r"of RDF text, make a graph: rdflib.Graph\(\).parse\(data=text\)"),
    "one triple to read_beliefs": (lambda _: kgeval.read_beliefs("<a:a> <a:b> <a:c> ."), "of RDF text, make a graph"),
    "an endpoint to read_beliefs": (lambda _: kgeval.read_beliefs("http://localhost:1/sparql"), r"pull_beliefs\(url\) pulls"),
    "beliefs to read_beliefs": (lambda at: kgeval.read_beliefs(at.beliefs), "not a Beliefs; these are beliefs already"),
    "nothing to read_beliefs": (lambda _: kgeval.read_beliefs(None), "read_beliefs takes a file.*not None"),
    "no files to read_beliefs": (lambda _: kgeval.read_beliefs([]), "not a list; give for example 'kg.ttl'"),
    "a file to pull_beliefs": (lambda _: kgeval.pull_beliefs("kg.ttl"), "read_beliefs reads files"),
    "an endpoint object to pull_beliefs": (lambda _: kgeval.pull_beliefs(kgeval.Endpoint("http://localhost:1")), "as endpoint="),
    "an ontology to read_rules": (lambda _: kgeval.read_rules("ontology.ttl"), "read_ontology"),
    "rules to read_ontology": (lambda _: kgeval.read_ontology(*sorted(Path("rules").iterdir())), "read rules with read_rules"),
    "rules to read_rules": (lambda at: kgeval.read_rules(at.rules), "takes paths of files, not a Rule; couple"),
    "a dict to read_rules": (lambda _: kgeval.read_rules({}), "takes paths of files, not a dict"),
    "labels that are not there": (lambda _: kgeval.GoldOracle("golden.csv"), "golden.csv"),
    "labels in Python": (lambda _: kgeval.GoldOracle({}), "not a dict; of labels in Python, make a function"),
    # results
    "an evaluation to register": (lambda at: kgeval.register(at.done), r"not an Evaluation; publish first: evaluation.publish\('record.trig'\)"),
    "a dataset to register": (lambda at: kgeval.register(at.g), "not a Graph; publish first"),
    "a record that is not there": (lambda _: kgeval.register("absent.trig"), "absent.trig cannot be read"),
    "inference to to_rdf": (lambda at: kgeval.to_rdf(at.inference), r"to_rdf takes what evaluate returns, not an Inference"),
    "explain half a triple": (lambda at: at.done.explain(f"{EX}a", f"{EX}b"), "give one text, or three terms"),
    "explain a number": (lambda at: at.done.explain(7), "named by its id, or by subject, predicate and object, not 7"),
    "explain what is not there": (lambda at: at.done.explain(f"{EX}a", f"{EX}b", f"{EX}c"), "is not in the graph"),
    "publish to a table": (lambda at: at.done.publish("record.xls"), "record.xls"),
    # terms
    "a name to find": (lambda at: at.beliefs.find("RedWings", f"{EX}p", f"{EX}o"), r"'RedWings' is neither an IRI nor a CURIE"),
    "a text to find": (lambda at: at.beliefs.find(f"{EX}a", f"{EX}b", "Red Wings"), r"rdflib.Literal\('Rome'\)"),
    "a number to find": (lambda at: at.beliefs.find(f"{EX}a", f"{EX}b", 7), "a term is an IRI, a CURIE or one of rdflib's, not 7"),
    "a prefix to find": (lambda at: at.beliefs.find("exx:a", f"{EX}b", f"{EX}c"), "there is no prefix 'exx'"),
    "half an IRI to find": (lambda at: at.beliefs.find(f"<{EX}a", f"{EX}b", f"{EX}c"), "is not a term in N-Triples"),
    "a blank node to find": (lambda at: at.beliefs.find(rdflib.BNode("b"), f"{EX}b", f"{EX}c"), "name the belief by its id"),
    "a rule's body as one pattern": (
        lambda _: kgeval.Rule(id="r", body=("?x", "ex:p", "?y"), head=None),
        r"the body of rule r takes patterns of three terms, not the text '\?x'",
    ),
    "a rule's body as text": (lambda _: kgeval.Rule(id="r", body="?x ex:p ?y", head=None), "takes patterns of three terms, not the text"),
    "a variable without its mark": (
        lambda _: kgeval.Rule(id="r", body=[("x", "ex:p", "?y")], head=None),
        r"rule r: 'x' is neither an IRI nor a CURIE; .*; a variable is written \?x",
    ),
    "a number in a rule": (lambda _: kgeval.Rule(id="r", body=[("?x", "ex:p", 7)], head=None), "rule r: a term is an IRI, .*not 7"),
    "a literal as predicate": (
        lambda _: kgeval.Rule(id="r", body=[("?x", rdflib.Literal("p"), "?y")], head=None),
        'rule r has the predicate "p", which no triple has',
    ),
    "a rule's prefix": (
        lambda at: kgeval.couple(at.beliefs, [kgeval.Rule(id="r", body=[("?x", "nell:p", "?y")], head=("?y", "nell:q", "?x"))]),
        "there is no prefix 'nell'",
    ),
    "a head of two": (lambda _: kgeval.Rule(id="r", body=[("?x", "ex:p", "?y")], head=("?x", "?y")), "the head of rule r takes one pattern"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_that_says_what_to_do(mistake: str, at: SimpleNamespace) -> None:
    call, message = MISTAKES[mistake]
    with pytest.raises(kgeval.KgevalError) as raised:
        call(at)
    said = str(raised.value)
    assert re.search(message, said), said
    assert "\n" not in said
    assert len(said) < 400


def test_what_looks_like_a_mistake_and_is_none(at: SimpleNamespace) -> None:
    same = kgeval.evaluate(at.coupled, at.gold)
    for done in (
        kgeval.evaluate(at.coupled, at.gold, margin="0.05"),
        kgeval.evaluate(at.coupled, at.gold, margin="5%"),
        kgeval.evaluate(at.coupled, at.gold, seed=np.int64(0)),
        kgeval.evaluate(graph=at.coupled, oracle=at.gold),
        kgeval.evaluate(at.coupled, at.gold.ask),
        kgeval.evaluate(at.coupled, lambda question: np.bool_(at.gold.labels[question.triple])),
        kgeval.evaluate(at.coupled, SimpleNamespace(ask=lambda question: at.gold.labels[question.triple])),
    ):
        assert isinstance(done, Evaluation)
        assert done.to_json() == same.to_json()
    assert len(kgeval.read_rules(["rules"])) == len(at.rules)
    assert (
        kgeval.infer(at.coupled, {at.id: np.float64(1)}).labels()
        == kgeval.infer(at.coupled, {at.id: True}).labels()
    )
