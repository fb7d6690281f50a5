"""A standalone Spark master with two workers on this machine, the command on it, and how either may be absent."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rdf_kgeval.common.extras import install_command
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.engines.spark import session
from rdf_kgeval.engines.spark.engine import SparkEngine
from rdf_kgeval.errors import EngineError
from rdf_kgeval.inference.infer import infer
from tests.conftest import free_port
from tests.functional.test_cli import KGEVAL, kgeval
from tests.support.sparkcases import ARRAYS, blocks

EXAMPLE = Path(__file__).parents[2] / "examples" / "motivating"
SOURCES = (EXAMPLE / "kg.ttl", "--ontology", EXAMPLE / "ontology.ttl", "--rules", EXAMPLE / "rules")


class Cluster:
    """A master and its workers; a worker and its executors are one process group, as one machine is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.master = f"spark://127.0.0.1:{free_port()}"
        self.processes = [self._start("master.Master", "--port", self.master.rpartition(":")[2])]

    def add_worker(self) -> subprocess.Popen[bytes]:
        options = ("--cores", "1", "--memory", "1g", "--work-dir", self._folder / str(len(self.processes)))
        self.processes.append(self._start("worker.Worker", *options, self.master))
        return self.processes[-1]

    def _start(self, name: str, *options: object) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}"]
        return subprocess.Popen(
            [*map(str, command), "--host", "127.0.0.1", "--webui-port", "0", *map(str, options)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        )

    def wait(self) -> None:
        host, port = self.master.removeprefix("spark://").split(":")
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError("the master does not start")


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("spark"))
    try:
        cluster.wait()
        yield cluster
    finally:
        for process in cluster.processes:
            if process.poll() is None:
                kill(process)


def test_a_master_without_workers_is_told_within_bounds(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PATIENCE", 2.0)
    with pytest.raises(EngineError, match="gave no executor within 2 seconds; start workers"):
        SparkEngine(cluster.master).__enter__()


def test_workers_that_are_killed_in_the_middle_are_done_without(cluster: Cluster) -> None:
    """One dies while rules are ground and another takes its place; then one dies while models are solved."""
    first, _ = cluster.add_worker(), cluster.add_worker()
    beliefs, rules = blocks(100_000)
    here = couple(beliefs, rules)
    rows = beliefs.rows[::50].tolist()
    verdicts = {beliefs.id(row): row % 3 != 0 for row in rows}
    engine = SparkEngine(cluster.master)
    with engine as running:
        wait_until(lambda: executors(running) == 2)
        with (
            engine.tables() as tables,
            when(tasks_of(running, "tables/found-*"), lambda: kill(first)) as done,
        ):
            there = couple(beliefs, rules, tables=tables)
        assert done
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name), name)
        second = cluster.add_worker()
        wait_until(lambda: executors(running) == 2)
        with when(tasks_of(running, "solve/solved"), lambda: kill(second)) as done:
            found = infer(there, verdicts, solve=engine.solve)
        assert done
    np.testing.assert_allclose(found.x, infer(here, verdicts).x, rtol=0, atol=1e-6)


def executors(running: session.Session) -> int:
    size: int = running.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
    return size - 1


def tasks_of(running: session.Session, pattern: str) -> Callable[[], bool]:
    """Whether executors have begun to write, and have not ended."""

    def begun() -> bool:
        return any(
            any(folder.glob("_temporary/*/*/*")) and not (folder / "_SUCCESS").exists()
            for folder in running.scratch.glob(pattern)
        )

    return begun


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    raise RuntimeError("waited in vain")


class when:  # noqa: N801
    """Act once, as soon as a condition holds; says whether it did while the block ran."""

    def __init__(self, condition: Callable[[], bool], act: Callable[[], None]) -> None:
        self._over = threading.Event()
        self._done: list[bool] = []

        def watch() -> None:
            while not self._over.is_set():
                if condition():
                    act()
                    self._done.append(not self._over.is_set())
                    return
                time.sleep(0.005)

        self._thread = threading.Thread(target=watch)

    def __enter__(self) -> list[bool]:
        self._thread.start()
        return self._done

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("where", ["local", pytest.param("cluster", marks=pytest.mark.stress)])
def test_the_command_does_there_what_it_does_here(
    java: None, where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    master = "local[2]"
    if where == "cluster":
        cluster: Cluster = request.getfixturevalue("cluster")
        cluster.add_worker()
        master = cluster.master
    asking = ("--oracle", EXAMPLE / "gold.csv", "--seed", 1, "--json")
    told = []
    for name, engine in (("here", ()), ("there", ("--engine", "spark", "--master", master))):
        done = kgeval(
            "evaluate", *SOURCES, *asking, "--run", name, "--publish", f"{name}.nq", *engine, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == f"record: {name}.nq\n"
        told.append({k: v for k, v in json.loads(done.stdout).items() if k != "seconds"})
    assert told[0] == told[1]
    for path in (tmp_path / "here").rglob("*.npy"):
        assert path.read_bytes() == (tmp_path / "there" / path.relative_to(tmp_path / "here")).read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "here.nq", "there", "there.nq"]


SPARK = ("--engine", "spark", "--master", "local[2]")


@pytest.mark.stress
@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, "kgeval: stopped; the same command goes on from what was fetched"),
        (signal.SIGKILL, 1, "kgeval: Spark failed ("),
    ],
)
def test_a_command_that_is_stopped_or_loses_java_leaves_nothing(
    java: None, tmp_path: Path, number: int, code: int, told: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [KGEVAL, "init", "run", *map(str, SOURCES), *SPARK],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
        # A shell's background jobs, and what they start, ignore it otherwise.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        wait_until(lambda: any(scratch.glob("*/tables/found-*")))
        (started,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(process.pid if number == signal.SIGINT else int(started), number)
        assert process.stderr is not None
        message = process.stderr.read()
    assert process.returncode == code
    assert message.startswith(told)
    assert message.count("\n") == 1
    assert not Path(f"/proc/{started}").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]
    assert not list(scratch.iterdir())


def start(tmp_path: Path, *options: object, code: str = "pass", **environ: str) -> str:
    """What `init` says of an engine that cannot be had; it must leave nothing behind."""
    command = [sys.executable, "-c", f"import sys; {code}; import rdf_kgeval.cli; rdf_kgeval.cli.main()"]
    done = subprocess.run(
        [*command, "init", "run", *map(str, (*SOURCES, *options))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environ},
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
    return done.stderr


def test_spark_absent(tmp_path: Path) -> None:
    told = start(tmp_path, *SPARK, code="sys.modules['pyspark'] = None")
    assert told == f"kgeval: the engine spark needs pyspark; install with {install_command('spark')}\n"


def test_java_absent(tmp_path: Path) -> None:
    told = start(tmp_path, *SPARK, PATH=str(Path(sys.executable).parent), JAVA_HOME="")
    assert "the engine spark needs Java 17 or newer, and there is none here; install it" in told
    assert "there is none in JAVA_HOME (/nowhere)" in start(tmp_path, *SPARK, JAVA_HOME="/nowhere")


def test_java_that_does_not_start_spark(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("java") / "bin"
    folder.mkdir()
    (folder / "java").write_text("#!/bin/sh\necho 'UnsupportedClassVersionError' >&2\nexit 1\n")
    (folder / "java").chmod(0o755)
    assert "Java did not start Spark, which needs Java 17" in start(
        tmp_path, *SPARK, JAVA_HOME=str(folder.parent)
    )


def test_a_master_that_is_not_there(tmp_path: Path) -> None:
    master = f"spark://127.0.0.1:{free_port()}"
    told = start(tmp_path, "--engine", "spark", "--master", master)
    assert told == (
        f"kgeval: the Spark master {master} cannot be reached (Connection refused); start it, or correct "
        "--master\n"
    )


def test_an_engine_that_is_gone_leaves_a_run_and_its_verdicts_as_they_were(tmp_path: Path) -> None:
    evaluate = ("evaluate", *SOURCES, "--oracle", EXAMPLE / "gold.csv", "--run", "run")
    assert kgeval(*evaluate, "--budget", 3, cwd=tmp_path).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for command in (evaluate, ("infer", "run")):
        done = kgeval(*command, *SPARK, cwd=tmp_path, JAVA_HOME=str(tmp_path / "absent"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("kgeval: the engine spark needs Java 17 or newer")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_local_engine_loads_nothing_of_spark(tmp_path: Path) -> None:
    code = (
        "import sys; from rdf_kgeval.cli import app; app(sys.argv[1:], standalone_mode=False); "
        "print([m for m in ('pyspark', 'pandas', 'pyarrow', 'rdf_kgeval.engines.spark') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, "init", "run", *map(str, SOURCES)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
