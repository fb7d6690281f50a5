"""Tables at a narrow terminal: nothing is cut, nothing broken inside a name, what is left out is said."""

import os
import pty
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.cli.tables import table_lines
from tests.functional.test_cli import EXAMPLE, KGEVAL, kgeval

words = st.text("abcdefg:", min_size=1, max_size=12)
cells = st.one_of(st.integers(0, 10**9).map("{:,}".format), st.just(""))


@given(st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(words, min_size=n + 1, max_size=n + 1),
        st.lists(st.tuples(words.map(lambda w: w * 5), *([cells] * n)), min_size=1, max_size=5),
    )
), st.integers(61, 120))  # fmt: skip
def test_a_table_fits_and_nothing_is_lost(table: tuple[list[str], list[tuple[str, ...]]], room: int) -> None:
    header, rows = table
    lines = list(table_lines(header, rows, room))
    assert max(map(len, lines)) <= room
    found = " ".join(lines).split()
    for row in rows:
        assert row[0] in found
        assert all(cell in found for cell in row[1:] if cell)


def on_terminal(*arguments: object, cwd: Path, columns: int = 80) -> list[str]:
    """Run a command on a terminal of so many columns, and return the lines that it shows."""
    main, child = pty.openpty()
    os.set_blocking(main, True)
    subprocess.run(
        ["/bin/sh", "-c", f'stty cols {columns} rows 50; exec "$0" "$@"', KGEVAL, *map(str, arguments)],
        cwd=cwd, stdin=child, stdout=child, stderr=subprocess.DEVNULL, check=True,
        env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
    )  # fmt: skip
    os.close(child)
    shown = b""
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:  # the end of a terminal
        pass
    os.close(main)
    return shown.decode().replace("\x1b[0m", "").splitlines()  # DuckDB resets the colours at the end


LONG = "locatedInTheAdministrativeTerritorialEntityOfTheSecondOrder"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with 30 predicates, one of them with a long name."""
    folder = tmp_path_factory.mktemp("wide")
    lines = [f"ex:s{i} ex:p{p} ex:o{i} ." for p in range(29) for i in range(29 - p)]
    lines += [f"ex:s{i} ex:{LONG} ex:o{i} ." for i in range(50)]
    (folder / "g.ttl").write_text("@prefix ex: <http://example.org/ns/> .\n" + "\n".join(lines))
    made = kgeval("init", "run", "g.ttl", "--no-mine", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder


def test_a_terminal_shows_twenty_predicates_as_curies(wide: Path) -> None:
    lines = on_terminal("show", "run", cwd=wide)
    assert max(map(len, lines)) <= 80
    assert f"ex:{LONG}" in " ".join(lines).split()
    assert not any("…" in line or "http://example.org/ns" in line for line in lines)
    assert "10 more: see --json" in lines
    assert sum(line.startswith("ex:") for line in lines) == 20
    assert lines[-1].startswith("485 beliefs in 30 predicates")


def test_a_pipe_gets_all_rows(wide: Path) -> None:
    done = subprocess.run(
        [KGEVAL, "show", "run"], cwd=wide, capture_output=True, text=True, check=True,
        env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
    )  # fmt: skip
    assert sum(line.startswith("ex:") for line in done.stdout.splitlines()) == 30
    assert "more: see" not in done.stdout


def test_the_result_comes_last(tmp_path: Path) -> None:
    lines = on_terminal(
        "evaluate", EXAMPLE / "kg.ttl", "--no-mine", "--oracle", EXAMPLE / "gold.csv", cwd=tmp_path
    )
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["predicate", "beliefs", "asked", "inferred", "accuracy", "interval"]
    assert lines[1].split()[:2] == ["rdf:type", "4"]
    assert " ".join(lines[-2:]) == (
        "accuracy 75.0%, between 75.0% and 75.0% (0.95 level): 8 of 8 beliefs asked, 0 inferred"
    )


def test_rules_and_comparisons_fit(tmp_path: Path) -> None:
    source = (EXAMPLE / "kg.ttl", "--ontology", EXAMPLE / "ontology.ttl", "--rules", EXAMPLE / "rules")
    assert kgeval("init", "run", *source, cwd=tmp_path).returncode == 0
    rules = on_terminal("show", "run", "--rules", cwd=tmp_path, columns=60)
    assert max(map(len, rules)) <= 60
    assert "A stadium is in the home city of the team that plays there." in rules
    compared = on_terminal(
        "compare", *source, "--oracle", EXAMPLE / "gold.csv", "--seeds", 2, "--methods",
        "srs/wilson,random+inference/inferable", "--processes", 1, cwd=tmp_path,
    )  # fmt: skip
    assert max(map(len, compared)) <= 80
    assert "random+inference/inferable" in " ".join(compared).split()
