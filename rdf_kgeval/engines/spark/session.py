"""A Spark session: what it needs is checked first, every wait is bounded, every failure is one sentence."""

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdf_kgeval.common.extras import install_command, missing
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EngineError, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REACH = 5.0
"""Seconds within which a master must take a connection."""
PATIENCE = 60.0
"""Seconds within which a master must give an executor."""
RECORDS = 100_000
"""Rows that go to Python at a time."""
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Session:
    """A running session, and a private directory for its Parquet files, which ends with it."""

    spark: "SparkSession"
    scratch: Path

    def read(self, path: Path) -> "DataFrame":
        """Read the rows of Parquet files."""
        return self.spark.read.parquet(path.as_uri())

    def write(self, rows: "DataFrame", path: Path) -> None:
        """Compute rows and write them to Parquet files, all or none."""
        with failures(self.scratch):
            rows.write.parquet(path.as_uri())


def check_master(master: str) -> None:
    """Refuse what cannot be the address of a master."""
    if not re.fullmatch(r"local(\[(\*|[1-9]\d{0,3})\])?|yarn|(spark|k8s)://[^\s@]+", master):
        raise InputError(
            f"{printable(master, 100)!r} is no Spark master; give local[2], spark://HOST:PORT, yarn or "
            "k8s://HOST:PORT"
        )


@contextmanager
def open_session(master: str) -> Iterator[Session]:
    """Start Spark and stop it at the end.

    Raises:
        EngineError: Spark or Java is absent, or the master cannot be reached or gives no executor.
    """
    _check_installed()
    _reach(master)
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise EngineError("this process has a Spark session already; stop it first")
    with tempfile.TemporaryDirectory(prefix="kgeval-spark-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        conf = SparkConf().setAll(_settings(master, scratch).items())
        with (scratch / "spark.log").open("wb") as log, _python(), _own_log():
            with failures(scratch):
                gateway = launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})
            try:
                with failures(scratch):
                    with _own_interrupts():
                        spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
                    _wait_for_executor(spark, master)
                yield Session(spark, scratch)
            finally:
                _stop(gateway)


def _settings(master: str, scratch: Path) -> Mapping[str, str]:
    settings = {
        "spark.app.name": "kgeval",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(scratch),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(RECORDS),
    }
    if master.startswith("local"):
        settings["spark.authenticate"] = "true"  # by a secret of this process's own
    if master.startswith("local") or any(host in _LOOPBACK for host, _ in _addresses(master)):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


@contextmanager
def _python() -> Iterator[None]:
    """Let workers use the Python that runs this, unless the user named another."""
    names = [name for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON") if name not in os.environ]
    os.environ.update(dict.fromkeys(names, sys.executable))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


@contextmanager
def _own_log() -> Iterator[None]:
    """Keep py4j's tracebacks from the terminal: it sends them to the root logger, set up or not."""
    root, silent = logging.getLogger(), logging.NullHandler()
    root.addHandler(silent)
    try:
        yield
    finally:
        root.removeHandler(silent)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Restore our handler of Ctrl-C: Spark's talks to Java while another thread may."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _check_installed() -> None:
    absent = missing("spark")
    if absent:
        raise EngineError(
            f"the engine spark needs {' and '.join(absent)}; install with {install_command('spark')}"
        )
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=str(Path(home) / "bin") if home else None):
        where = f"in JAVA_HOME ({printable(home, 200)})" if home else "here"
        raise EngineError(
            f"the engine spark needs Java 17 or newer, and there is none {where}; install it (Debian: "
            "apt-get install default-jre-headless) or set JAVA_HOME"
        )


def _addresses(master: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of a standalone master and its stand-ins."""
    if not master.startswith("spark://"):
        return []
    found = [re.fullmatch(r"([^:]+|\[.+\]):(\d{1,5})", part) for part in master[8:].split(",")]
    if not all(found):
        raise InputError(f"{printable(master, 100)!r} names no port; give spark://HOST:7077")
    return [(match[1], int(match[2])) for match in found if match]


def _reach(master: str) -> None:
    """Connect to a standalone master; Spark itself would try for a minute."""
    reasons = []
    for host, port in _addresses(master):
        try:
            socket.create_connection((host.strip("[]"), port), timeout=REACH).close()
        except (OSError, OverflowError) as error:
            reasons.append(getattr(error, "strerror", None) or "no answer")
        else:
            return
    if reasons:
        raise EngineError(
            f"the Spark master {printable(master, 100)} cannot be reached ({reasons[0]}); start it, or "
            "correct --master"
        )


def _wait_for_executor(spark: "SparkSession", master: str) -> None:
    if master.startswith("local"):
        return
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() > 1:  # the driver is one
            return
        time.sleep(0.1)
    raise EngineError(
        f"the Spark master {printable(master, 100)} gave no executor within {PATIENCE:.0f} seconds; start "
        "workers, or wait until other applications leave them cores and memory"
    )


def _stop(gateway: Any) -> None:
    """Stop Spark and its Java process, whatever state they are in."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):
        if (session := SparkSession._instantiatedSession) is not None:
            session.stop()
        elif (context := SparkContext._active_spark_context) is not None:
            context.stop()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    with suppress(Exception):
        gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(timeout=10)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


@contextmanager
def failures(scratch: Path) -> Iterator[None]:
    """Report Spark's failures in one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise EngineError(_sentence(str(error), scratch)) from error


_KNOWN = (
    (
        r"No module named '([\w.]{1,60})'",
        "the Python of Spark's workers has no {found}; install it there, beside rdf_kgeval, and name that "
        "Python in PYSPARK_PYTHON",
    ),
    (
        "Cannot run program|PYTHON_VERSION_MISMATCH",
        "Spark's workers cannot run a Python like the one here; name one that all of them have in "
        "PYSPARK_PYTHON",
    ),
    (
        "FileNotFoundException|PATH_NOT_FOUND|FILE_NOT_EXIST",
        "Spark's workers do not see {scratch}; set TMPDIR to a directory that they share with this machine",
    ),
    ("No space left", "there is no space left for Spark in {scratch}; set TMPDIR to a larger place"),
    (
        "OutOfMemory|MemoryError",
        "Spark ran out of memory; give it more in spark-defaults.conf (spark.driver.memory with a local "
        "master, else spark.executor.memory)",
    ),
    (
        "JAVA_GATEWAY_EXITED|UnsupportedClassVersion",
        "Java did not start Spark, which needs Java 17 or newer; see java -version",
    ),
)
"""What a failure's text matches, and what to say then."""


def _sentence(text: str, scratch: Path) -> str:
    for pattern, sentence in _KNOWN:
        if match := re.search(pattern, text):
            return sentence.format(found=match[match.lastindex or 0], scratch=printable(str(scratch)))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["its Java process ended"]
    reason = next((line for line in lines if "Error" in line or "Exception" in line), lines[0])
    return f"Spark failed ({printable(reason, 300)}); run the command again, or use --engine local"
