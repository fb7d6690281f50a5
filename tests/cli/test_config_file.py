"""The configuration file says what flags say, and refuses what no flag says."""

import inspect
import json
import string
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdf_kgeval.cli import app
from rdf_kgeval.cli.config_file import TABLES, read_config_file, repeat_config, write_config_file
from rdf_kgeval.cli.evaluate import evaluate
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.verdicts.oracles import is_file
from tests.functional.test_cli import EXAMPLE, kgeval

GROUP = typer.main.get_command(app)
PARAMETERS = inspect.signature(evaluate).parameters
names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).filter(
    lambda text: text not in (".", "..", "-") and "/" not in text and not text.startswith("-")
)
words = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="\xa0"), min_size=1)
words = words.filter(lambda text: text.isprintable() and not text.startswith("-"))
shares = st.floats(0, 1, allow_nan=False)
counts = st.integers(0, 10**9)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "files": st.lists(names, min_size=1, max_size=3),
    "endpoint": st.sampled_from(["http://host/sparql", "http://h:1/q?timeout=9"]),
    "graph": words,
    "predicate": st.lists(words, min_size=1, max_size=3),
    "scope": names,
    "evidence": names,
    "annotations": st.sampled_from(["known", "all"]),
    "context": st.lists(names, min_size=1, max_size=3),
    "context-unknown": st.lists(names, min_size=1, max_size=3),
    "ontology": st.lists(names, min_size=1, max_size=3),
    "rules": st.lists(names, min_size=1, max_size=3),
    "mine": st.booleans(),
    "follow-imports": st.booleans(),
    "max-groundings": st.integers(1, 10**9),
    "in-place": st.just(True),
    "hops": st.integers(1, 3),
    "rate": st.floats(0.1, 100),
    "parallel": st.integers(1, 8),
    "engine": st.sampled_from(["local", "spark"]),
    "master": st.just("spark://host:7077"),
    "memory-limit": st.sampled_from(["2GB", "1.5 GiB"]),
    "label-property": st.lists(words, min_size=1, max_size=2),
    "prefix": st.lists(words, min_size=1, max_size=2),
    "lang": words,
    "format": words,
    "timeout": st.floats(1, 1e6),
    "oracle": st.one_of(names, st.sampled_from(["web", "prompt"])),
    "run": names,
    "annotator": st.lists(words, min_size=1, max_size=2),
    "min-accuracy": shares,
    "max-margin": shares,
    "policy": words,
    "estimator": words,
    "budget": st.one_of(st.integers(1, 999), st.just("2h")),
    "margin": shares,
    "level": shares,
    "strict": st.booleans(),
    "objective": words,
    "error-rate": shares,
    "redundancy": st.one_of(st.integers(1, 9), st.just("paper")),
    "votes": words,
    "seed": counts,
    "seed-size": counts,
    "candidates": counts,
    "publish": names,
    "write-back": words,
    "update-endpoint": st.just("http://host/update"),
    "report": names,
    "json": st.just(True),
}
PATHS = {
    "files",
    "scope",
    "evidence",
    "context",
    "context-unknown",
    "ontology",
    "rules",
    "run",
    "publish",
    "report",
}
chosen = st.fixed_dictionaries(
    {"oracle": VALUES["oracle"]}, optional={key: VALUES[key] for key in VALUES if key != "oracle"}
)
headings = st.lists(st.sampled_from(TABLES), min_size=len(VALUES), max_size=len(VALUES))


def parameters(command: str, arguments: list[str]) -> dict[str, Any]:
    """What a command makes of its command line."""
    with GROUP.make_context("kgeval", [command, "--help"]) as outer:
        found = GROUP.get_command(outer, command)  # type: ignore[attr-defined]
        with found.make_context(command, arguments, parent=outer) as context:
            made: dict[str, Any] = context.params
    del made["config"]
    return made


def flags(values: dict[str, Any], folder: Path) -> list[str]:
    """The same as a command line, from elsewhere."""
    made, files = [], []
    for key, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            is_path = key in PATHS or (key == "oracle" and is_file(one))
            said = str(folder / one) if is_path else str(one)
            if key == "files":
                files.append(said)
            elif isinstance(one, bool):
                made.append(f"--{key}" if one else f"--no-{key}")
            else:
                made.append(f"--{key}={said}")
    return [*made, "--", *files]


def test_every_option_of_evaluate_is_tried() -> None:
    shown = {name.rstrip("_").replace("_", "-").removeprefix("as-") for name in PARAMETERS}  # as_json
    assert shown - {"config"} == VALUES.keys()


@settings(max_examples=150)
@given(values=chosen, tables=headings)
def test_a_file_says_what_flags_say(values: dict[str, Any], tables: list[str]) -> None:
    grouped: dict[str, dict[str, Any]] = {}
    for table, (key, value) in zip(tables, values.items(), strict=False):
        grouped.setdefault(table, {})[key] = value
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "kgeval.toml"
        file.write_text(write_config_file(grouped), encoding="utf-8")
        by_file = parameters("evaluate", ["--config", str(file)])
        assert by_file == parameters("evaluate", flags(values, Path(name)))


@given(values=chosen, winners=chosen)
def test_flags_win(values: dict[str, Any], winners: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "kgeval.toml"
        file.write_text(write_config_file({"source": values}), encoding="utf-8")
        both = parameters("evaluate", ["--config", str(file), *flags(winners, Path(name))])
        assert both == parameters("evaluate", flags({**values, **winners}, Path(name)))


methods = st.fixed_dictionaries(
    {},
    optional={
        "margin": st.floats(0.01, 0.4),
        "level": st.floats(0.6, 0.99),
        "strict": st.booleans(),
        "seed": counts,
        "seed_size": counts,
        "error_rate": st.floats(0, 0.2),
        "votes": st.sampled_from(["majority", "dawid-skene"]),
        "objective": st.sampled_from(["overall", "predicate"]),
        "budget": st.one_of(
            st.integers(1, 10**6).map(str), st.floats(0.001, 90, allow_nan=False).map(lambda x: f"{x:.3f}h")
        ).filter(lambda text: text not in ("0.000h",)),
        "redundancy": st.integers(1, 9).map(str),
    },
)


@given(method=st.sampled_from(list(METHODS)), options=methods)
@example(method="greedy/inferable", options={"budget": "140", "redundancy": "paper"})
def test_a_run_s_settings_can_be_repeated(method: str, options: dict[str, Any]) -> None:
    policy, _, estimator = method.partition("/")
    first = Settings().changed(policy=policy, estimator=estimator, **options)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "kgeval.toml"
        file.write_text(repeat_config(RunConfig(evaluation=json.loads(json.dumps(first.to_json())))))
        found = parameters("evaluate", ["--config", str(file), "--oracle", "gold.csv"])
    fields = {key: found[key] for key in first.to_json() if found.get(key) is not None}
    assert Settings().changed(**fields) == first


def refusal(tmp_path: Path, text: str | bytes) -> str:
    file = tmp_path / "kgeval.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(InputError) as error:
        read_config_file(file, evaluate)
    said = str(error.value)
    assert said.startswith((str(file), f"the configuration {file}"))
    assert said.isprintable()
    return said.removeprefix(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[source]\nmargn = 0.1", ", line 2: there is no key margn; did you mean margin?"),
        (
            "context_unknown = 'a.nt'",
            ", line 1: there is no key context_unknown; did you mean context-unknown?",
        ),
        ("xyzzy = 1", ", line 1: there is no key xyzzy; the keys are the long options of kgeval evaluate"),
        ("config = 'other.toml'", ", line 1: there is no key config"),
        ("[sauce]\nseed = 1", ": there is no table [sauce]; choose from [source], [rules]"),
        ("[source]\nseed = 1\n[rules]\nseed = 1", ": seed is there twice; keep one"),
        ("\n\nmargin = [0.1]", ", line 3: margin must be a text in quotes, a number, or true or false"),
        ("seed = 1979-05-27", ", line 1: seed must be a text in quotes, a number, or true or false"),
        ("files = [['a.nt']]", ", line 1: files must be a text in quotes, a number, or true or false"),
        ('files = "a\\u0000b"', ", line 1: files is empty or holds a character that cannot be seen"),
        ("files = ''", ", line 1: files is empty or holds"),
        ("margin = \n", ", line 1: not valid TOML: Invalid value; see https://toml.io"),
        ("a = [[[[", ": not valid TOML: Invalid value; the file ends too early"),
        ("a = " + "[" * 100_000, ": not valid TOML"),
        ("a = " + "9" * 100_000, ": not valid TOML"),
        (b"a = 1\nb = '\xff'", ", line 2: it is not UTF-8 text"),
        (b"#" * 2_000_000, " is longer than 1,000,000 bytes"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("margin", "'wide'"),
        ("margin", "true"),
        ("seed", "1.5"),
        ("strict", "2"),
        ("max-groundings", "0"),
        ("min-accuracy", "90"),
    ],
)
def test_a_value_is_checked_as_on_the_command_line(tmp_path: Path, key: str, value: str) -> None:
    file = tmp_path / "kgeval.toml"
    file.write_text(f"oracle = 'gold.csv'\n{key} = {value}")
    said = complaint("--config", str(file))
    assert said.startswith(f"Invalid value for '--{key}'")
    if key != "strict":  # a flag has no value there
        assert said == complaint(f"--{key}", value.strip("'"), "--oracle", "gold.csv")


def complaint(*arguments: str) -> str:
    with pytest.raises(typer.BadParameter) as error:
        parameters("evaluate", list(arguments))
    return error.value.format_message()


@pytest.mark.parametrize(
    "text",
    [
        "password = 's3cret'",
        "KGEVAL_TOKEN = 's3cret'",
        "[source]\napi-key = 's3cret'",
        "endpoint = 'http://me:s3cret@host/sparql'",
        "endpoint = 'http://host/sparql?apikey=s3cret'",
        "update-endpoint = 'http://host/update#s3cret'",
    ],
)
def test_credentials_are_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    said = refusal(tmp_path, text)
    assert "credential" in said
    assert "KGEVAL_TOKEN" in said
    assert "s3cret" not in said


toml = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["http://[", "-", "\x7f"]),
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
keys = st.one_of(st.sampled_from(sorted(VALUES)), st.text(string.printable, max_size=8))


@settings(max_examples=300)
@given(st.dictionaries(keys, toml, max_size=5), st.sampled_from(["", "[source]\n", "[x]\n", "[[source]]\n"]))
@example({"endpoint": "http://["}, "")
def test_any_toml_is_options_or_one_sentence(entries: dict[str, Any], heading: str) -> None:
    def written(value: Any) -> str:
        if isinstance(value, list):
            return f"[{','.join(map(written, value))}]"
        if isinstance(value, float):
            return (
                str(value).replace("e", ".0e") if "e" in str(value) and "." not in str(value) else str(value)
            )
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    lines = (f"{written(key)} = {written(value)}\n" for key, value in entries.items())
    text = heading + "".join(lines)
    tomllib.loads(text)
    check_any(text.encode())


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=60), st.text("[]=\"\n#.ab1{},'\\" + "se", max_size=60).map(str.encode)))
def test_any_bytes_are_options_or_one_sentence(data: bytes) -> None:
    check_any(data)


def check_any(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "kgeval.toml"
        file.write_bytes(data)
        try:
            said = ""
            found = read_config_file(file, evaluate)
        except InputError as error:
            said, found = str(error), {}
        assert said.isprintable()
        assert not said or str(file) in said
        assert found.keys() <= PARAMETERS.keys()


CONFIG = """
[source]
files = ["kg.ttl"]

[rules]
ontology = "ontology.ttl"
rules = "rules"

[evaluation]
oracle = "gold.csv"
policy = "greedy"
seed-size = 0
run = "run"

[publish]
publish = "evaluation.trig"
report = "report.html"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file in one folder, used from another."""
    (tmp_path / "there").mkdir()
    for path in EXAMPLE.iterdir():
        (tmp_path / "there" / path.name).symlink_to(path)
    (tmp_path / "there" / "kgeval.toml").write_text(CONFIG)
    (tmp_path / "here").mkdir()
    return tmp_path


def test_an_evaluation_by_a_file(folder: Path) -> None:
    here, there = folder / "here", folder / "there"
    done = kgeval("evaluate", "--config", "../there/kgeval.toml", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["policy"], result["asked"], result["accuracy"]) == ("greedy", 5, 0.75)
    assert list(here.iterdir()) == []
    assert {"run", "evaluation.trig", "report.html"} < {path.name for path in there.iterdir()}
    other = ["--config", "../there/kgeval.toml", "--policy", "srs", "--run", "mine", "--json"]
    assert json.loads(kgeval("evaluate", *other, cwd=here).stdout)["policy"] == "srs"
    assert [path.name for path in here.iterdir()] == ["mine"]


def test_a_run_made_by_a_file_keeps_its_settings_and_can_be_repeated(folder: Path) -> None:
    here = folder / "here"
    made = kgeval("init", "one", "--config", "../there/kgeval.toml", "--budget", "4", cwd=here)
    assert made.returncode == 0, made.stderr
    asked = json.loads(kgeval("ask", "one", "--oracle", EXAMPLE / "gold.csv", "--json", cwd=here).stdout)
    assert (asked["policy"], asked["asked"]) == ("greedy", 4)
    (here / "again.toml").write_text(kgeval("show", "one", "--config", cwd=here).stdout)
    again = ["--config", "again.toml", "--oracle", EXAMPLE / "gold.csv", "--run", "two", "--json"]
    repeated = json.loads(kgeval("evaluate", *again, cwd=here).stdout)
    assert {**repeated, "seconds": 0} == {**asked, "seconds": 0}
    for path in (here / "one" / "coupling").iterdir():
        assert path.read_bytes() == (here / "two" / "coupling" / path.name).read_bytes()


def test_a_bad_file_is_one_sentence_before_anything_is_made(folder: Path) -> None:
    (folder / "here" / "bad.toml").write_text("[source]\nfiles = ['kg.ttl']\nmargn = 0.1\n")
    for command in (["evaluate"], ["init", "run"], ["compare"]):
        failed = kgeval(*command, "--config", "bad.toml", cwd=folder / "here")
        assert failed.returncode == 1
        assert failed.stderr == "kgeval: bad.toml, line 3: there is no key margn; did you mean margin?\n"
    assert [path.name for path in (folder / "here").iterdir()] == ["bad.toml"]


def test_settings_that_cannot_be_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    failed = kgeval("evaluate", "absent.ttl", "--oracle", "web", "--policy", "clever", cwd=tmp_path)
    assert failed.returncode == 1
    assert "there is no policy 'clever'" in failed.stderr
