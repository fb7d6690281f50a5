"""Engines: they make the joins of grounding and solve whole models. The local one is the default."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.tables import Tables, open_tables
from rdf_kgeval.errors import InputError

if TYPE_CHECKING:
    from rdf_kgeval.inference.solver.solve import Solve


class Engine(Protocol):
    """What every engine can do; inside a `with` block it is started once for all jobs."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def tables(self, space: Space = RAM) -> AbstractContextManager[Tables]:
        """Open tables to join; what comes out of them goes to `space`."""

    @property
    def solve(self) -> "Solve":
        """Return what finds the minimum of a whole model."""


@dataclass(frozen=True)
class LocalEngine:
    """DuckDB and the solver in this process."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @contextmanager
    def tables(self, space: Space = RAM) -> Iterator[Tables]:
        """Open tables in DuckDB."""
        with open_tables(space) as tables:
            yield tables

    @property
    def solve(self) -> "Solve":
        """Return the solver in this process."""
        from rdf_kgeval.inference.solver.solve import solve  # with numba, which grounding does not need

        return solve


LOCAL = LocalEngine()


def engine_of(name: str, master: str | None = None) -> Engine:
    """Return the engine that a user names: local, or spark at a master (by default all cores here)."""
    if name == "local" and master is None:
        return LOCAL
    if name == "local":
        raise InputError("--master is the address of a Spark cluster; add --engine spark")
    if name == "spark":
        from rdf_kgeval.engines.spark.engine import SparkEngine

        return SparkEngine(master or "local[*]")
    raise InputError(f"there is no engine {printable(name, 40)!r}; choose local or spark")
