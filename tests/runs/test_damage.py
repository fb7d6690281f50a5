"""A damaged run directory: one sentence names the file and what to do, and what people said is kept."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rdf_kgeval as kgeval
from rdf_kgeval.errors import KgevalError, RunError
from rdf_kgeval.evaluation.consult import consult
from rdf_kgeval.pipeline import open_evaluation, prepare, read_evaluation
from rdf_kgeval.runs.config import digests
from rdf_kgeval.runs.create import Coupling
from rdf_kgeval.runs.run import open_run
from rdf_kgeval.sources.load import Sources
from rdf_kgeval.verdicts.log import VerdictLog, read_log
from rdf_kgeval.web.access import open_access
from rdf_kgeval.web.server import read_guidelines
from tests.support.run_config import read_entries, write_entries

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
KGEVAL = Path(sys.executable).with_name("kgeval")


def make(path: Path, kg: Path = EXAMPLE / "kg.ttl") -> Path:
    coupling = Coupling(ontologies=[EXAMPLE / "ontology.ttl"], rules=[EXAMPLE / "rules"])
    prepare(path, Sources(files=[kg]), coupling)
    with open_evaluation(open_run(path), {"policy": "random", "seed_size": 0, "budget": 4}) as evaluation:
        consult(evaluation, kgeval.GoldOracle(EXAMPLE / "gold.csv"))
        exported = [evaluation.belief(i) for i in range(3)]
    (path / "exported.txt").write_text("\n".join(exported))
    (path / "guidelines.md").write_text("Be sure.")
    open_access(path, ["ann"])
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("damage") / "run")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    lines = (EXAMPLE / "kg.ttl").read_text().replace(":TajMahal a :State", ":Agra a :State ; :in :India")
    (folder / "kg.ttl").write_text(lines)
    return make(folder / "run", folder / "kg.ttl")


FIXED = (
    *(
        f"beliefs/{name}.npy"
        for name in ["block", "offsets", "s", "p", "o", "role", "graph_row", "graph_term", "id", "id_row"]
    ),
    *(
        f"coupling/{name}.npy"
        for name in [
            "start",
            "atom",
            "sign",
            "offset",
            "rule_start",
            "rule",
            "count",
            "atom_start",
            "constraint",
            "constraint_sign",
            "latent",
        ]
    ),
    "coupling/rules.json",
)
CHANGING = ("config.json", "verdicts.jsonl", "exported.txt", "guidelines.md", "web-secret")


def test_these_are_all_files_of_a_run(whole: Path) -> None:
    found = {str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()}
    assert found == {*FIXED, *CHANGING}


def use(run: Path) -> None:
    """Read everything that commands read."""
    opened = open_run(run)
    read_evaluation(opened).to_json()
    with VerdictLog(opened.layout.verdicts):
        pass
    opened.exported()
    read_guidelines(run / "guidelines.md")
    open_access(run, ["ann"])


def remove(path: Path, _: Path) -> None:
    path.unlink()


def cut(path: Path, _: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def replace_by_a_folder(path: Path, _: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_a_loop(path: Path, _: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def replace_by_a_pipe(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_a_socket(path: Path, _: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)
    os.chdir(here)


def replace_by_endless_zeros(path: Path, _: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def exchange(path: Path, theirs: Path) -> None:
    path.write_bytes(theirs.read_bytes())


DAMAGES = (
    remove, cut, empty, replace_by_a_folder, replace_by_a_loop, replace_by_a_pipe, replace_by_a_socket,
    replace_by_endless_zeros, exchange,
)  # fmt: skip


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_never_changes_is_known_by_its_digest(
    whole: Path, other: Path, tmp_path: Path, name: str, damage: Callable[[Path, Path], None]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    damage(run / name, other / name)
    if damage is exchange and (run / name).read_bytes() == (whole / name).read_bytes():
        use(run)
        return
    with pytest.raises(RunError) as error:
        use(run)
    assert f"{name} is missing or damaged" in str(error.value)
    assert "make the run again with kgeval init and copy verdicts.jsonl into it" in str(error.value)
    assert (run / "verdicts.jsonl").read_bytes() == (whole / "verdicts.jsonl").read_bytes()


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_changes_is_known_by_its_form(
    whole: Path, other: Path, tmp_path: Path, name: str, damage: Callable[[Path, Path], None]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    damage(run / name, other / name)
    fine = (
        # An empty log is what its message tells users to make who want to start anew.
        {"exported.txt", "guidelines.md", "verdicts.jsonl"} if damage is empty
        else {"exported.txt", "guidelines.md", "web-secret"} if damage is remove
        # Those answers are on beliefs that both runs have.
        else {"exported.txt", "guidelines.md", "web-secret", "verdicts.jsonl"} if damage is exchange
        else {"exported.txt", "guidelines.md", "verdicts.jsonl"} if damage is cut
        else set()
    )  # fmt: skip
    if name in fine:
        use(run)
        return
    with pytest.raises(KgevalError) as error:
        use(run)
    if damage is exchange and name == "config.json":
        assert "beliefs/block.npy is missing or damaged" in str(error.value)
    elif damage is remove and name == "config.json":
        assert "is not a run directory; make one with kgeval init" in str(error.value)
    else:
        assert str(run / name) in str(error.value)
    if name != "verdicts.jsonl":
        assert (run / "verdicts.jsonl").read_bytes() == (whole / "verdicts.jsonl").read_bytes()


@pytest.mark.parametrize("name", [*FIXED, "config.json"])
def test_no_flipped_bit_is_silent(whole: Path, tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    content = (run / name).read_bytes()
    rng = np.random.default_rng(len(content))
    for bit in rng.choice(8 * len(content), 40, replace=False).tolist():
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        (run / name).write_bytes(damaged)
        with pytest.raises(RunError, match=r"damaged|another version"):
            open_run(run)


def test_a_folder_of_another_run_is_noticed(whole: Path, other: Path, tmp_path: Path) -> None:
    for name in ("beliefs", "coupling"):
        run = tmp_path / name
        shutil.copytree(whole, run)
        shutil.rmtree(run / name)
        shutil.copytree(other / name, run / name)
        with pytest.raises(RunError, match=f"{name}/.* is missing or damaged"):
            open_run(run)


def test_a_run_of_another_version_says_so(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    write_entries(run, read_entries(run) | {"version": 99})
    with pytest.raises(RunError, match="was made by another version of kgeval; make the run again"):
        open_run(run)


def test_verdicts_of_another_run_are_not_taken(whole: Path, other: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    log = run / "verdicts.jsonl"
    foreign = json.dumps({**json.loads(log.read_text().splitlines()[0]), "belief": "0" * 64})
    log.write_text(log.read_text() + foreign + "\n")
    with pytest.raises(
        RunError, match=r"verdicts.jsonl, line 5 is on a belief that this run does not evaluate"
    ):
        read_evaluation(open_run(run))
    short = json.dumps({**json.loads(log.read_text().splitlines()[0]), "belief": "0"})
    log.write_text(short + "\n")
    with pytest.raises(RunError, match="line 1 is on a belief"):
        read_evaluation(open_run(run))


def test_a_run_that_cannot_be_written_can_be_looked_at(whole: Path, tmp_path: Path) -> None:
    """By a user who is not root; root may write anything."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    for path in (run, *run.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid():
        with pytest.raises(RunError, match=r"verdicts.jsonl cannot be written: Permission denied"):
            VerdictLog(run / "verdicts.jsonl")
    assert len(read_log(run / "verdicts.jsonl")) == 4
    assert read_evaluation(open_run(run)).to_json()["asked"] == 4
    for path in (run, *run.rglob("*")):
        path.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("beliefs/s", lambda a: a + 10**6),
        ("beliefs/o", lambda a: -a - 1),
        ("beliefs/p", lambda a: a[:-1]),
        ("beliefs/role", lambda a: a + 9),
        ("beliefs/offsets", lambda a: a[::-1]),
        ("beliefs/offsets", lambda a: a[:0]),
        ("beliefs/block", lambda a: np.full_like(a, 0xFF)),
        ("beliefs/block", lambda a: a.astype(np.int64)),
        ("beliefs/graph_row", lambda a: np.array([10**6], np.int32)),
        ("coupling/atom", lambda a: a + 10**6),
        ("coupling/atom", lambda a: np.zeros_like(a)),
        ("coupling/start", lambda a: np.zeros_like(a)),
        ("coupling/atom_start", lambda a: a + 1),
        ("coupling/constraint", lambda a: -a - 1),
        ("coupling/rule", lambda a: a + 1000),
        ("coupling/rule_start", lambda a: a[:-1]),
        ("coupling/count", lambda a: a * 0),
        ("coupling/sign", lambda a: a * 50),
        ("coupling/latent", lambda a: np.full((1, 3), 10**6, np.int32)),
        ("coupling/latent", lambda a: np.zeros((0, 2), np.int32)),
        ("coupling/offset", lambda a: a.astype(object)),
    ],
)
def test_numbers_that_lead_astray_are_refused_though_the_digests_fit(
    whole: Path, tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    path = run / f"{name}.npy"
    np.save(path, change(np.load(path)))
    write_entries(run, read_entries(run) | {"sha256": digests(run)})
    folder = name.partition("/")[0]
    with pytest.raises(RunError, match=rf"{folder}/\w+\.npy is missing or damaged"):
        open_run(run)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[" * 100_000),
        ("coupling/rules.json", b"[" * 100_000),
        ("coupling/rules.json", b'{"rules": [{"id": 5}], "extra": []}'),
        ("coupling/rules.json", b'{"rules": [], "extra": [5]}'),
    ],
)
def test_hostile_json_is_refused(whole: Path, tmp_path: Path, name: str, content: bytes) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    config = read_entries(run)
    (run / name).write_bytes(content)
    if name != "config.json":
        write_entries(run, config | {"sha256": digests(run)})
    with pytest.raises(RunError, match=f"{name} is missing or damaged"):
        open_run(run)


@pytest.mark.parametrize("command", ["show", "estimate", "labels", "infer"])
def test_commands_say_it_in_one_line(whole: Path, tmp_path: Path, command: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    cut(run / "coupling" / "atom.npy", run)
    done = subprocess.run([KGEVAL, command, run], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "coupling/atom.npy is missing or damaged" in done.stderr
