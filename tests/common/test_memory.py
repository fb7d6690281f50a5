import importlib
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdf_kgeval as kgeval
from rdf_kgeval.common.memory import LEAST, Space, format_size, parse_size
from rdf_kgeval.coupling.tables import open_tables
from rdf_kgeval.errors import InputError, RunError
from rdf_kgeval.inference.lookahead import Lookahead
from rdf_kgeval.pipeline import prepare
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.sources.load import Sources
from tests.support.records import EXAMPLE


@given(st.integers(LEAST, 10**14))
def test_sizes_are_read_as_they_are_written(size: int) -> None:
    assert parse_size(f"{size}") == parse_size(f"{size}B") == size
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.06)


@given(st.text(max_size=20))
def test_what_is_no_size_is_refused_in_a_sentence(text: str) -> None:
    with suppress(InputError):
        assert parse_size(text) >= LEAST


def test_a_limit_that_nothing_fits_in_is_refused() -> None:
    with pytest.raises(InputError, match=r"100\.0 MB is too little .* at least 500\.0 MB"):
        parse_size("100MB")


def test_large_arrays_are_files_that_nobody_sees(tmp_path: Path) -> None:
    space = Space(6_400, tmp_path)  # arrays from 100 bytes on are large
    small, large = space.empty(10, np.int64), space.empty((100, 2), np.float64)
    large[...] = 1.5
    assert not isinstance(small.base, np.memmap)
    assert isinstance(large.base, np.memmap)
    assert large.sum() == 300
    assert space.spilled == 1_600
    assert space.note == "within the memory limit of 6.4 KB, 1.6 KB of arrays went to disk"
    assert list(tmp_path.iterdir()) == []
    assert np.array_equal(space.kept(np.arange(1_000)), np.arange(1_000))
    assert space.spilled == 1_600 + 8_000


def _made(folder: Path, limit: int | None) -> Path:
    coupling = Coupling(ontologies=[EXAMPLE / "ontology.ttl"], rules=[EXAMPLE / "rules"])
    prepare(folder, Sources(files=[EXAMPLE / "kg.ttl"]), coupling, memory_limit=limit)
    return folder


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdf_kgeval.common.memory._LARGE", LEAST)


@pytest.mark.usefixtures("everything_is_large")
def test_a_run_under_a_limit_is_the_same_run(tmp_path: Path) -> None:
    usual, limited = _made(tmp_path / "usual", None), _made(tmp_path / "limited", LEAST)
    arrays = sorted(path.relative_to(usual) for path in usual.rglob("*.npy"))
    assert len(arrays) > 10
    for path in arrays:
        assert (usual / path).read_bytes() == (limited / path).read_bytes()
    assert open_run(usual).graph.space.limit is None
    assert open_run(limited).graph.space.limit == LEAST
    assert any("went to disk" in note for note in open_run(limited).config.notes)


@pytest.mark.usefixtures("everything_is_large")
def test_a_full_disk_is_told_in_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(RunError, match="run cannot be written: No space left on device"):
        _made(tmp_path / "run", LEAST)
    assert list(tmp_path.iterdir()) == []


def test_what_joins_spill_is_counted(tmp_path: Path) -> None:
    space = Space(LEAST // 5, tmp_path)  # DuckDB gets 25 MB
    with open_tables(space, threads=1) as tables:
        tables.load("atom", {"id": np.arange(8_000_000, dtype=np.int32)})
        (ids,) = tables.fetch("SELECT id FROM atom ORDER BY id % 1000, id")
    assert len(ids) == 8_000_000
    assert space.joined > 1_000_000
    assert "of joins went to disk" in str(space.note)
    assert list(tmp_path.iterdir()) == []


def test_joins_that_do_not_fit_are_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"do not fit into the memory limit of 1\.0 KB; raise --memory-limit"
    ):
        _made(tmp_path / "run", 1_000)
    assert list(tmp_path.iterdir()) == []


def test_control_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    graph = replace(open_run(_made(tmp_path / "run", None)).graph, space=Space(640))
    with pytest.raises(
        InputError, match=r"looks ahead holds the whole graph.* limit of 640 B; leave --policy"
    ):
        Lookahead(graph, {}, graph.thetas)
    assert kgeval.infer(graph).objective == 0


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("scale")


def test_the_generated_graph_knows_what_is_true(tmp_path: Path, generator: ModuleType) -> None:
    share = generator.generate(tmp_path, 5_000)
    beliefs = kgeval.read_beliefs(tmp_path / "kg.nt")
    assert 0.85 < share < 0.95
    assert np.mean([generator.is_true(beliefs.triple(row)) for row in range(len(beliefs))]) == share


@pytest.mark.stress
@pytest.mark.parametrize("literals", [False, True])
def test_two_million_beliefs_in_half_a_gigabyte(
    tmp_path: Path, generator: ModuleType, *, literals: bool
) -> None:
    """Most of what such a run takes is mapped files; what cannot be given back stays below the limit."""
    if literals:
        with (tmp_path / "kg.nt").open("w") as file:
            for i in range(2_000_000):
                file.write(f'<http://example.org/{i * 7919 % 1_000_003}> <x:p{i % 13}> "the literal {i}" .\n')
        rules: list[str] = []
    else:
        generator.generate(tmp_path, 2_000_000)
        rules = ["--ontology", str(tmp_path / "ontology.ttl"), "--rules", str(tmp_path / "rules")]
    run = str(tmp_path / "run")
    kgeval_ = str(Path(sys.executable).parent / "kgeval")
    for command in (
        ["init", run, str(tmp_path / "kg.nt"), "--memory-limit", "500MB", *rules],
        ["infer", run],
        ["estimate", run],
        ["publish", run, "-o", str(tmp_path / "out.nq")],
        ["report", run, "-o", str(tmp_path / "out.html")],
    ):
        (stage,) = generator.measure(command[0], [kgeval_, *command], None)
        assert stage.anonymous < 500
