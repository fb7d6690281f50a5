"""Help at 80 columns: every name, value and default is there, and whole."""

from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import rdf_kgeval
from rdf_kgeval.cli import app
from rdf_kgeval.errors import InputError
from rdf_kgeval.evaluation.methods import METHODS
from rdf_kgeval.evaluation.settings import Settings, parse_share
from tests.functional.test_cli import EXAMPLE

GROUP: Any = typer.main.get_command(app)
COMMANDS = ["", *GROUP.commands]


def output(*arguments: str, columns: int = 80) -> str:
    return CliRunner().invoke(app, arguments, prog_name="kgeval", env={"COLUMNS": str(columns)}).output


def parameters(name: str) -> list[Any]:
    command = GROUP.commands[name] if name else GROUP
    with command.make_context(name, [], resilient_parsing=True) as context:
        return [p for p in command.get_params(context) if not p.hidden]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("columns", [80, 72])
def test_no_line_is_cut_and_no_name_broken(name: str, columns: int) -> None:
    text = output(*name.split(), "--help", columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text
    words = " ".join(text.split())
    for parameter in parameters(name):
        if parameter.param_type_name == "option":
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert option in text.replace("/", " ").replace(",", " ").split()
        assert " ".join((parameter.help or "").split()) in words


@pytest.mark.parametrize("name", COMMANDS)
def test_h_is_help(name: str) -> None:
    assert output(*name.split(), "-h") == output(*name.split(), "--help")


def test_help_has_every_allowed_value_and_default() -> None:
    words = " ".join(output("evaluate", "-h").replace(",", " ").replace(".", " ").split())
    for method in METHODS.values():
        assert f" {method.policy} " in words
        assert f" {method.estimator} " in words
    text = output("evaluate", "-h")
    for default in (Settings().margin, Settings().level, Settings().policy, Settings().seed_size, "en"):
        assert f"[default: {default}]" in text
    assert "Optimise the interval of the whole graph, or of each predicate." in " ".join(text.split())


def test_options_stand_in_groups() -> None:
    lines = output("evaluate", "-h").splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles[1:] == [
        f"{title}:"
        for title in (
            "Source", "Names", "Rules", "In place", "Method", "People", "Output", "Computing", "General",
        )
    ]  # fmt: skip


def test_the_version_is_told() -> None:
    assert output("--version") == f"kgeval {version('rdf-kgeval')}\n"
    assert rdf_kgeval.__version__ == version("rdf-kgeval")


def test_shells_can_complete() -> None:
    text = output("--help")
    assert "--install-completion" in text
    assert "--show-completion" in text


def test_shares_may_be_percentages() -> None:
    assert [parse_share(text) for text in ("0.05", "5%", " 2.5% ", "1", "0")] == [0.05, 0.05, 0.025, 1, 0]
    with pytest.raises(InputError, match=r"^5: write it as a share, such as 0\.05, or as 5%$"):
        parse_share("5")
    for text in ("", "five", "5%%", "nan", "-1", "101%", "inf"):
        with pytest.raises(InputError, match="write it as a share"):
            parse_share(text)


@pytest.mark.parametrize("option", ["--margin", "--level", "--error-rate", "--min-accuracy", "--max-margin"])
def test_a_wrong_share_names_its_option_and_what_to_write(option: str) -> None:
    text = output("evaluate", "kg.ttl", "--oracle", "gold.csv", option, "five")
    assert f"'{option}': five: write it as a share, such as 0.05, or as 5%" in text


def test_percentages_are_taken_by_every_option_of_a_share(tmp_path: Any) -> None:
    source = [str(EXAMPLE / "kg.ttl"), "--no-mine", "--oracle", str(EXAMPLE / "gold.csv"), "--quiet"]
    done = CliRunner().invoke(
        app,
        [
            "evaluate",
            *source,
            "--margin",
            "5%",
            "--level",
            "90%",
            "--min-accuracy",
            "70%",
            "--max-margin",
            "5%",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "90%" in done.output or "0.9 level" in done.output
    assert not done.stderr
