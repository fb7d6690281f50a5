"""Evaluations to publish: the motivating example, and one with everything that can go wrong in it."""

from pathlib import Path

import rdf_kgeval as kgeval
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.pipeline import Evaluation
from rdf_kgeval.rules.dialects import read_rules
from rdf_kgeval.rules.ontology import read_ontology
from rdf_kgeval.verdicts.log import Answer, Drawn, Verdict

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "motivating"
QUERIES = sorted((ROOT / "queries" / "report").glob("*.rq"))
NELL = ROOT.parent / "shared" / "data" / "nell-sports"
"""A set that is too large for the repository, where it lies beside it."""
EX = "http://example.org/"

HOSTILE = (
    '"</script><script>alert(1)</script><img src=x onerror=alert(1)>"',
    '"\\\\u0022 . } } ; DROP ALL # \\\\U00000022 \\\\\\u0001"',
    '"quote \\" apostrophe \' back \\\\ line\\nreturn\\r tab\\t"',
    '"next\u0085line\u2028separator \u202e reversed"@en',
    '"]]> <!-- & | ` * _ [x](javascript:alert(1)) {{7*7}}"',
    '"007"^^<http://www.w3.org/2001/XMLSchema#integer>',
)
TURTLE = f"""@prefix : <{EX}> .
:anna :bornIn :Rome , :Paris .
:bob :playsFor :Inter ; a :Athlete .
:carl :playsFor :Milan .
:dora :knows :emil . :emil :knows :dora .
<{EX}it's?a=%22;--> :note {" , ".join(HOSTILE)} .
"""
ONTOLOGY = f"""@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:bornIn a owl:FunctionalProperty .
"""
RULES = {
    "athlete": (
        "0.9",
        "{ ?x a :Athlete }",
        "{ ?x :playsFor ?y }",
        "Who plays for a team is an <b>athlete</b>.",
    ),
    "mutual": ("0.7", "{ ?y :knows ?x }", "{ ?x :knows ?y }", "Who is known knows."),
}
VERDICTS = (
    ("anna", "bornIn", "Rome", Answer.TRUE, "ann@example.org"),
    ("bob", "playsFor", "Inter", Answer.TRUE, "ann@example.org"),
    ("bob", "", "Athlete", Answer.FALSE, "ann@example.org"),
    ("carl", "playsFor", "Milan", Answer.TRUE, "ann@example.org"),
    ("carl", "playsFor", "Milan", Answer.FALSE, "</script>bert"),
    ("dora", "knows", "emil", Answer.TRUE, "</script>bert"),
)


def motivating(**options: object) -> Evaluation:
    """The paper's example, evaluated by greedy control."""
    rules = read_ontology(EXAMPLE / "ontology.ttl") + read_rules(EXAMPLE / "rules")
    graph = kgeval.couple(kgeval.read_beliefs(EXAMPLE / "kg.ttl"), rules)
    chosen = {"policy": "greedy", "seed_size": 0, **options}
    return kgeval.evaluate(graph, oracle=kgeval.GoldOracle(EXAMPLE / "gold.csv"), **chosen)


def hostile(folder: Path, verdicts: int = len(VERDICTS) + len(HOSTILE)) -> Evaluation:
    """Contradictions, disputes, failing rules, and literals that attack whatever shows them."""
    write_hostile(folder)
    rules = read_ontology(folder / "ontology.ttl") + read_rules(folder / "rules")
    graph = kgeval.couple(kgeval.read_beliefs(folder / "kg.ttl"), rules)
    settings = Settings(policy="random+inference", estimator="inferable", seed_size=0, converge=False)
    evaluation = Evaluation(graph, settings)
    for number, verdict in enumerate(hostile_verdicts(graph.beliefs)[:verdicts]):
        evaluation.record(verdict)
        assert evaluation.n_verdicts == number + 1
    return evaluation


def hostile_verdicts(beliefs: kgeval.Beliefs) -> list[Verdict]:
    """What people say; of every hostile literal, that it is wrong, so that reports list it."""
    found = []
    said = []
    for s, p, o, answer, annotator in VERDICTS:
        predicate = f"<{EX}{p}>" if p else "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
        said.append((beliefs.find(f"<{EX}{s}>", predicate, f"<{EX}{o}>"), answer, annotator))
    notes = [row for row in beliefs.rows.tolist() if beliefs.triple(row)[1] == f"<{EX}note>"]
    said += [(row, Answer.FALSE, "ann@example.org") for row in notes]
    for number, (row, answer, annotator) in enumerate(said):
        assert row is not None
        time = f"2026-01-01T00:00:{number:02}.000+00:00"
        found.append(
            Verdict(
                belief=beliefs.id(row), answer=answer, annotator=annotator, time=time, drawn=Drawn.CONTROL
            )
        )
    return found


def write_hostile(folder: Path) -> None:
    (folder / "kg.ttl").write_text(TURTLE)
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "rules").mkdir(exist_ok=True)
    for name, (confidence, head, body, summary) in RULES.items():
        (folder / "rules" / f"{name}.rq").write_text(
            f"#+ id: {name}\n#+ summary: {summary}\n#+ confidence: {confidence}\nPREFIX : <{EX}>\n"
            f"CONSTRUCT {head} WHERE {body}\n"
        )
