"""What `evaluate` takes, and the run that it makes or goes on with."""

import gc
import inspect
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import rdflib

import rdf_kgeval as kgeval
from rdf_kgeval.evaluation.settings import MethodOptions, Settings
from rdf_kgeval.pipeline import Evaluation, prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.inputs import InputOptions, Inputs, Options
from rdf_kgeval.sources.load import Sources
from tests.support.faults import faulty

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
GOLD = kgeval.GoldOracle(EXAMPLE / "gold.csv")
EX = "http://example.org/"
PREFIXES = f"@prefix ex: <{EX}> .\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """The folder on the web."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def expected() -> dict[str, Any]:
    graph = kgeval.couple(kgeval.read_beliefs("kg.ttl"), RULES())
    return kgeval.evaluate(graph, GOLD).to_json()


def RULES() -> list[kgeval.Rule]:
    return [*kgeval.read_ontology("ontology.ttl"), *kgeval.read_rules("rules")]


SOURCES: dict[str, Callable[[], Any]] = {
    "a file": lambda: "kg.ttl",
    "a path": lambda: Path("kg.ttl"),
    "several files": lambda: ["kg.ttl"],
    "a graph": lambda: rdflib.Graph().parse("kg.ttl"),
    "beliefs": lambda: kgeval.read_beliefs("kg.ttl"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_is_evaluated_alike(folder: Path, source: str) -> None:
    for given in (
        {"ontology": "ontology.ttl", "rules": "rules"},
        {"ontology": [Path("ontology.ttl")], "rules": kgeval.read_rules("rules")},
        {"ontology": rdflib.Graph().parse("ontology.ttl"), "rules": ["rules"]},
        {"rules": RULES()},
    ):
        done = kgeval.evaluate(SOURCES[source](), GOLD, **given)
        assert done.to_json() == expected()
        assert done.graph.n_constraints == 8
        assert {rule.id for rule in done.graph.rules} == {rule.id for rule in RULES()}


def test_a_file_on_the_web_is_fetched(address: str) -> None:
    done = kgeval.evaluate(f"{address}/kg.ttl", GOLD, mine=False)
    assert done.result().beliefs == kgeval.evaluate("kg.ttl", GOLD, mine=False).result().beliefs
    assert repr(done).startswith("<Evaluation of kg.ttl: accuracy 75.0%")
    assert len(kgeval.read_beliefs(f"{address}/kg.ttl")) == len(kgeval.read_beliefs("kg.ttl"))
    with pytest.raises(kgeval.InputError, match=r"the file .*/absent.ttl cannot be fetched"):
        kgeval.evaluate(f"{address}/absent.ttl", GOLD)


def test_an_endpoint_is_pulled_or_drawn_from() -> None:
    lines = "".join(f"<{EX}{i}> <{EX}p> <{EX}o> .\n" for i in range(50)).encode()
    with faulty(lines) as server:
        pulled = kgeval.evaluate(server.url, lambda _: True, budget=5)
        drawn = kgeval.evaluate(server.url, lambda _: True, in_place=True, budget=5)
    assert pulled.graph.n_beliefs == 50
    assert drawn.run
    assert drawn.run.in_place
    assert pulled.n_verdicts == drawn.n_verdicts == 5


def test_without_rules_it_does_what_the_command_does(folder: Path) -> None:
    axiom = (
        "ex:home <http://www.w3.org/2000/01/rdf-schema#range> ex:City . ex:a ex:home ex:b . ex:b a ex:City ."
    )
    (folder / "own.ttl").write_text(PREFIXES + axiom)
    found = kgeval.evaluate("own.ttl", lambda _: True)
    assert found.graph.n_constraints == 1
    assert any("from the graph's own schema" in note for note in found.notes)
    assert kgeval.evaluate("own.ttl", lambda _: True, mine=False).graph.n_constraints == 0
    assert "own schema" in found._repr_html_()


def test_a_run_is_made_and_gone_on_with(folder: Path) -> None:
    asked: list[str] = []

    def judge(question: kgeval.Question) -> bool | None:
        asked.append(question.sentence)
        return GOLD.labels[question.triple] if len(asked) <= 3 else None

    first = kgeval.evaluate("kg.ttl", judge, ontology="ontology.ttl", rules="rules", run="run", policy="srs")
    assert first.n_verdicts == 3
    for given in (
        {"source": "kg.ttl", "ontology": "ontology.ttl", "rules": "rules", "policy": "srs"},
        {"source": "run"},
        {"run": "run"},
    ):
        copy = shutil.copytree("run", folder / "copy")
        named = {key: str(copy) if value == "run" else value for key, value in given.items()}
        done = kgeval.evaluate(
            oracle=GOLD, **{"run": None if given.get("source") == "run" else copy, **named}
        )  # type: ignore[arg-type]
        assert done.settings.policy == "srs"
        assert done.stopped
        assert done.records[:3] == first.records
        shutil.rmtree(copy)


def test_python_and_the_command_go_on_with_each_other_s_run(folder: Path) -> None:
    made = prepare(folder / "run", Sources(files=[Path("kg.ttl")]), Coupling(rules=[Path("rules")]))
    assert (
        kgeval.evaluate("kg.ttl", GOLD, rules="rules", run="run").graph.n_constraints
        == made.graph.n_constraints
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another file": ({"source": "ontology.ttl"}, "was made from other sources"),
    "another graph": (
        {"source": rdflib.Graph().parse(data=f"{PREFIXES} ex:a ex:p ex:b .")},
        "from other sources",
    ),
    "other rules": ({"rules": ["rules"]}, "with other rules"),
    "another scope": ({"predicates": f"{EX}homeCity"}, "with another scope"),
    "another language": ({"lang": "de"}, "with lang='en'"),
    "other names": ({"label_properties": f"{EX}name"}, "with other label_properties"),
    "mined rules": ({"mine": True}, "with mine=False"),
    "another policy": (
        {"policy": "srs"},
        "were asked for with policy stratified; go on without other options",
    ),
    "another margin": ({"margin": 0.2}, "go on without other options"),
}


@pytest.mark.parametrize("difference", REFUSED)
def test_a_run_made_from_something_else_is_refused(folder: Path, difference: str) -> None:
    kgeval.evaluate("kg.ttl", GOLD, ontology="ontology.ttl", rules="rules", run="run", budget=2)
    log = Path("run/verdicts.jsonl").read_bytes()
    given, message = REFUSED[difference]
    with pytest.raises(kgeval.KgevalError, match=message):
        kgeval.evaluate(oracle=GOLD, run="run", **given)
    assert Path("run/verdicts.jsonl").read_bytes() == log


@pytest.mark.parametrize("kind", ["a graph", "beliefs"])
def test_a_run_of_a_graph_in_memory_knows_it_again(folder: Path, kind: str) -> None:
    source = SOURCES[kind]()
    made = kgeval.evaluate(source, GOLD, run="run", budget=2)
    again = kgeval.evaluate(SOURCES[kind](), GOLD, run="run", budget=4)
    assert again.records[:2] == made.records
    assert again.n_verdicts == 4
    with pytest.raises(kgeval.RunError, match="made with another graph"):
        kgeval.evaluate(rdflib.Graph().parse(data=f"{PREFIXES} ex:a ex:p ex:b ."), GOLD, run="run")


def test_a_coupled_graph_is_kept_in_a_run(folder: Path) -> None:
    graph = kgeval.couple(kgeval.read_beliefs("kg.ttl"), RULES())
    kgeval.evaluate(graph, GOLD, run="run", budget=2)
    again = kgeval.evaluate(graph, GOLD, run="run", budget=8)
    assert again.to_json() == kgeval.evaluate(graph, GOLD, budget=8).to_json()
    other = kgeval.couple(kgeval.read_beliefs("kg.ttl"), [])
    with pytest.raises(kgeval.RunError, match="made with another graph"):
        kgeval.evaluate(other, GOLD, run="run")


def test_a_temporary_run_goes_with_the_evaluation(folder: Path) -> None:
    done = kgeval.evaluate("kg.ttl", GOLD)
    assert done.run
    kept = done.run.folder
    assert kept.exists()
    del done
    gc.collect()
    assert not kept.exists()


def test_the_evaluation_shows_writes_and_explains_itself(folder: Path) -> None:
    done = kgeval.evaluate("kg.ttl", GOLD, ontology="ontology.ttl", rules="rules")
    assert repr(done) == (
        "<Evaluation of kg.ttl: accuracy 75.0%, 75.0% to 75.0% at the level 0.95: "
        "8 of 8 beliefs asked, 0 inferred; stopped: everything asked>"
    )
    assert "<table>" in done._repr_html_()
    assert len(done.to_pandas()) == 8
    done.report("report.html")
    done.publish("record.trig")
    assert "75.0%" in Path("report.html").read_text()
    s, p, o = next(iter(rdflib.Graph().parse("kg.ttl")))
    said = done.explain(s, p, o)
    assert "you said" in said
    prefixed = [term.n3(rdflib.Graph().parse("kg.ttl").namespace_manager) for term in (s, p, o)]
    for named in ((str(s), str(p), o), (s.n3(), p.n3(), o.n3()), (f"{s.n3()} {p.n3()} {o.n3()}",), prefixed):
        assert done.explain(*named) == said


def test_options_are_those_of_settings_and_inputs_with_their_defaults() -> None:
    assert list(MethodOptions.__annotations__) == [field.name for field in fields(Settings)]
    own = [field for field in fields(Inputs) if field.name in InputOptions.__annotations__]
    assert list(InputOptions.__annotations__) == [field.name for field in own]
    assert {f.name for f in fields(Inputs)} - set(InputOptions.__annotations__) == {
        "source", "rules", "ontology", "run", "given",
    }  # fmt: skip
    hints, parameters = get_type_hints(Inputs), inspect.signature(kgeval.evaluate).parameters
    for field in (*fields(Settings), *own):
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[field.name].annotation == get_type_hints(Options)[field.name]
        if field.name != "prefixes":
            assert parameters[field.name].default == field.default
    for name, kind in get_type_hints(InputOptions).items():
        assert hints[name] == kind
    usual = Settings()
    given = {field.name: getattr(usual, field.name) for field in fields(Settings)}
    assert Settings().changed(**given) == usual
    assert "options" not in parameters


def test_rules_and_beliefs_take_terms_as_people_write_them(folder: Path) -> None:
    (folder / "home.ttl").write_text(
        PREFIXES + 'ex:a ex:playsFor ex:b . ex:b ex:home ex:c . ex:a ex:livesIn ex:c ; ex:name "A"@en .'
    )
    beliefs = kgeval.read_beliefs("home.ttl")
    ex = rdflib.Namespace(EX)
    row = beliefs.find(f"<{EX}a>", f"<{EX}livesIn>", f"<{EX}c>")
    assert row is not None
    assert row == beliefs.find("ex:a", "ex:livesIn", "ex:c") == beliefs.find(ex.a, ex.livesIn, ex.c)
    assert row == beliefs.find(f"{EX}a", ex.livesIn, "ex:c")
    assert beliefs.find("ex:a", "ex:name", rdflib.Literal("A", lang="en")) == beliefs.find(
        "ex:a", "ex:name", '"A"@EN'
    )
    assert beliefs.find("ex:a", "ex:name", rdflib.Literal("A", lang="en")) is not None
    assert beliefs.find("ex:a", "ex:home", "ex:c") is None
    rules = [
        kgeval.Rule(id="r", body=body, head=head)  # type: ignore[arg-type]
        for body, head in (
            ([("?x", "ex:playsFor", "?y"), ("?y", "ex:home", "?z")], ("?x", "ex:livesIn", "?z")),
            ([["?x", ex.playsFor, "?y"], ["?y", ex.home, "?z"]], ["?x", ex.livesIn, "?z"]),
            (
                [(rdflib.Variable("x"), f"{EX}playsFor", "?y"), ("?y", f"<{EX}home>", "?z")],
                (rdflib.Variable("x"), ex.livesIn, "?z"),
            ),
        )
    ]
    coupled = [kgeval.couple(beliefs, [rule]) for rule in rules]
    assert [graph.n_constraints for graph in coupled] == [1, 1, 1]
    assert coupled[0].rules == coupled[1].rules == coupled[2].rules
    done = kgeval.evaluate("home.ttl", lambda _: True, rules=rules[:1], run="run")
    assert isinstance(done, Evaluation)
    assert kgeval.evaluate(run="run", oracle=lambda _: True, rules=rules[0]).n_verdicts == done.n_verdicts
