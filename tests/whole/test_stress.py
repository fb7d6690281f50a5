"""What takes longer: many kills, many random inputs, and a real server past its default row limit."""

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.errors import KgevalError
from rdf_kgeval.sources.scope import parse_scope_query
from tests.conftest import Server
from tests.functional.test_cli import slow, start_pull
from tests.sources.endpoint.test_client import DATA, EXPECTED
from tests.support.faults import faulty
from tests.support.strategies import nasty_text

pytestmark = pytest.mark.stress

EX = "http://example.org/"


def test_a_pull_killed_at_random_moments_ends_right(tmp_path: Path) -> None:
    rng = random.Random(1)
    with faulty(DATA, slow) as server:
        for _ in range(40):
            process = start_pull(server, tmp_path)
            time.sleep(rng.uniform(0.0, 1.5))
            process.kill()
            process.communicate()
            if (tmp_path / "run").exists():
                break
        while not (tmp_path / "run").exists():
            last = start_pull(server, tmp_path)
            _, errors = last.communicate()
            assert last.returncode == 0, errors
    beliefs = Beliefs.load(tmp_path / "run" / "beliefs")
    assert {beliefs.line(row) for row in beliefs.rows} == EXPECTED


@pytest.mark.parametrize("name", ["oxigraph", "virtuoso"])
def test_a_hundred_thousand_triples_from_a_real_server(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    lines = [f"<{EX}s{i}> <{EX}p{i % 7}> <{EX}o{i % 1009}> ." for i in range(100_000)]
    server.load("\n".join(lines).encode(), EX + "big")
    beliefs = kgeval.pull_beliefs(server.query, graph=EX + "big")
    assert {beliefs.line(row) for row in beliefs.rows} == set(lines)


TURTLE_WORDS = ["@prefix : <http://a/> .\n", '"x"', '"""', *"[](){};,.a'\n\ufeff\x00"]
TURTLE_WORDS += [":a", " :p ", "<http://x>", "_:b", "@en", "^^", "1.5e3", "true", "<<(", ")>>", "GRAPH"]
SPARQL_WORDS = ["PREFIX : <http://a/> ", "SELECT ", "CONSTRUCT ", "WHERE ", "?s ", "?p ", "?o ", ":p ", "* "]
SPARQL_WORDS += ["FILTER(", "LIMIT 1 ", "UNION ", "<http://x> ", "SERVICE ", "FROM ", *"{}.)'#\n", '"']
JSON_KEYS = ["@id", "@type", "@value", "@context", "@graph", "http://a/p"]


def texts(words: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(st.sampled_from(words), nasty_text), max_size=30).map("".join)


json_texts = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), nasty_text, st.sampled_from(JSON_KEYS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(JSON_KEYS), nasty_text), inner, max_size=3),
    ),
    max_leaves=10,
).map(json.dumps)


def check(call: Callable[[], object]) -> None:
    """Any outcome is fine but an exception that is not ours, or a message that is not one safe line."""
    try:
        call()
    except KgevalError as error:
        message = str(error)
    else:
        message = ""
    assert message.isprintable()


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig", "rdf", "jsonld", "n3"])
@settings(max_examples=1000, derandomize=False)
@given(text=st.one_of(texts(TURTLE_WORDS), json_texts))
def test_no_file_makes_a_traceback(suffix: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"kg.{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        check(lambda: kgeval.read_beliefs(path))


@settings(max_examples=5000, derandomize=False)
@given(texts(SPARQL_WORDS))
def test_no_scope_query_makes_a_traceback(text: str) -> None:
    check(lambda: parse_scope_query(text))


def test_a_wheel_holds_what_it_needs(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    python = ["python3", "-m", "venv", str(tmp_path / "venv")]
    subprocess.run(python, check=True)
    subprocess.run([tmp_path / "venv/bin/pip", "install", "-q", str(root)], check=True)
    code = "from rdf_kgeval.cli.demo import resource; print(resource('ontologies').is_dir())"
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
