"""Real stores with a graph in them, for benchmarks."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_INI = Path(__file__).parents[1] / "tests" / "virtuoso.ini"


@contextmanager
def running_oxigraph(url: str | None, file: Path, graph: str) -> Iterator[str]:
    """The query URL of an Oxigraph in memory that holds the file; `url` names one that does already."""
    if url:
        yield url
        return
    port = _free_port()
    command = [Path(sys.executable).with_name("oxigraph"), "serve", "--bind", f"127.0.0.1:{port}"]
    with _process(command, Path.cwd(), f"http://127.0.0.1:{port}/query?query=ASK%7B%7D"):
        with file.open("rb") as data:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/store?graph={graph}&no_transaction",
                data,
                {"Content-Type": "application/n-triples", "Content-Length": str(file.stat().st_size)},
                method="POST",
            )
            urllib.request.urlopen(request, timeout=3600).close()
        yield f"http://127.0.0.1:{port}/query"


@contextmanager
def running_virtuoso(url: str | None, file: Path, graph: str) -> Iterator[str]:
    """The same with Virtuoso."""
    if url:
        yield url
        return
    program, isql = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or isql is None:
        raise SystemExit("Virtuoso is absent: apt-get install virtuoso-opensource")
    with tempfile.TemporaryDirectory(prefix="kgeval-virtuoso-") as name:
        folder, sql, port = Path(name), _free_port(), _free_port()
        settings = {"buffers": 130_000, "dirty": 90_000, "allowed": file.parent, "rows": 10_000}
        (folder / "v.ini").write_text(_INI.read_text().format(sql=sql, http=port, **settings))
        command = [program, "+foreground", "+configfile", "v.ini"]
        with _process(command, folder, f"http://127.0.0.1:{port}/sparql?query=ASK%7B%7D"):
            load = f"log_enable(2,1);\nDB.DBA.TTLP_MT(file_open('{file}'), '', '{graph}', 0);\ncheckpoint;\n"
            (folder / "load.sql").write_text(load)
            subprocess.run([isql, f"127.0.0.1:{sql}", "dba", "dba", "load.sql"], cwd=folder, check=True)
            yield f"http://127.0.0.1:{port}/sparql"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _process(command: list[object], folder: Path, url: str) -> Iterator[None]:
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=nowhere, stderr=nowhere)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(url, timeout=5).close()
                    break
                except urllib.error.HTTPError:
                    break
                except OSError:
                    time.sleep(0.1)
            yield
        finally:
            process.kill()
            process.wait()
