"""Real servers for the tests, and a server that misbehaves on demand."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# The machines that run the tests are noisy, and a red run must mean a defect.
settings.register_profile("test", deadline=None, derandomize=True)
settings.load_profile("test")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("KGEVAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", "/nonexistent/netrc")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def java() -> Iterator[None]:
    """Java for short jobs: what lives for seconds is not worth the best machine code. Skips without Java."""
    if shutil.which("java") is None:
        if os.environ.get("CI"):
            pytest.fail("Java is absent; in CI it must be there")
        pytest.skip("Java is absent: apt-get install default-jre-headless")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}") from None
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"no answer at {url}")


@dataclass(frozen=True)
class Server:
    query: str
    """URL for queries."""
    load: Callable[[bytes, str], None]
    """Put N-Triples or Turtle into a named graph, in place of what it held."""
    update: str
    """URL for updates."""
    environ: Mapping[str, str]
    """The credentials for updates."""
    load_trig: Callable[[bytes], None]
    """Add TriG, each graph under its own name."""


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = Path(sys.executable).with_name("oxigraph")
    port = free_port()
    command = [
        program,
        "serve",
        "--location",
        tmp_path_factory.mktemp("oxigraph"),
        "--bind",
        f"127.0.0.1:{port}",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{base}/query?query=ASK%7B%7D", process)

        def load(data: bytes, graph: str) -> None:
            request = urllib.request.Request(
                f"{base}/store?graph={graph}" if graph else f"{base}/store?default",
                data,
                {"Content-Type": "text/turtle"},
                method="PUT",
            )
            urllib.request.urlopen(request, timeout=60).close()

        def load_trig(data: bytes) -> None:
            headers = {"Content-Type": "application/trig"}
            request = urllib.request.Request(f"{base}/store", data, headers, method="POST")
            urllib.request.urlopen(request, timeout=60).close()

        yield Server(f"{base}/query", load, f"{base}/update", {}, load_trig)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def virtuoso(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Virtuoso whose ResultSetMaxRows is 1,000, so that few triples exceed it."""
    program, isql = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or isql is None:
        if os.environ.get("CI"):
            pytest.fail("Virtuoso is absent; in CI it must be there")
        pytest.skip("Virtuoso is absent: apt-get install virtuoso-opensource")
    folder = tmp_path_factory.mktemp("virtuoso")
    sql, http = free_port(), free_port()
    settings = {"buffers": 10_000, "dirty": 6_000, "allowed": folder, "rows": 1_000}
    template = Path(__file__).with_name("virtuoso.ini").read_text()
    (folder / "v.ini").write_text(template.format(sql=sql, http=http, **settings))
    process = subprocess.Popen(
        [program, "+foreground", "+configfile", "v.ini"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{http}/sparql?query=ASK%7B%7D", process)

        def execute(statement: str) -> None:
            done = subprocess.run(
                [isql, f"127.0.0.1:{sql}", "dba", "dba", "VERBOSE=OFF", f"EXEC={statement}"],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert "Error" not in done.stdout + done.stderr, done.stdout + done.stderr

        def load(data: bytes, graph: str) -> None:
            (folder / "data.nt").write_bytes(data)
            execute(f"SPARQL CLEAR GRAPH <{graph}>")
            execute(f"DB.DBA.TTLP_MT(file_open('data.nt'), '', '{graph}', 0)")

        def load_trig(data: bytes) -> None:
            (folder / "data.trig").write_bytes(data)
            execute("DB.DBA.TTLP_MT(file_open('data.trig'), '', 'http://example.org/unused', 256)")

        credentials = {"KGEVAL_USER": "dba", "KGEVAL_PASSWORD": "dba", "KGEVAL_AUTH": "digest"}
        url = f"http://127.0.0.1:{http}/sparql"
        yield Server(url, load, f"{url}-auth", credentials, load_trig)
    finally:
        process.kill()
        process.wait()
