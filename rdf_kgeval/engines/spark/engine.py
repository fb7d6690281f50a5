"""The engine that lets Spark ground and solve."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from rdf_kgeval.common.memory import RAM, Space
from rdf_kgeval.coupling.tables import Tables
from rdf_kgeval.engines.spark.session import Session, check_master, open_session
from rdf_kgeval.engines.spark.tables import SparkTables

if TYPE_CHECKING:
    from rdf_kgeval.inference.solver.solve import Model, Solution, SolverOptions


class SparkEngine:
    """Spark at a master; each job has a session of its own, or all share one inside a `with` block.

    Nothing is held while people answer questions. Threads take turns.
    """

    def __init__(self, master: str) -> None:
        check_master(master)
        self._master = master
        self._inside = 0
        self._turn = threading.RLock()
        self._session: Session | None = None
        self._open = ExitStack()

    def __enter__(self) -> Session:
        self._turn.acquire()
        try:
            if self._session is None:
                self._session = self._open.enter_context(open_session(self._master))
        except BaseException:
            self._turn.release()
            raise
        self._inside += 1
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside -= 1
        try:
            if not self._inside:
                self._session = None
                self._open.close()
        finally:
            self._turn.release()

    @contextmanager
    def tables(self, space: Space = RAM) -> Iterator[Tables]:
        """Open tables in Parquet files."""
        with self as session, SparkTables(session) as tables:
            yield tables

    def solve(self, model: "Model", options: "SolverOptions") -> "Solution":
        """Solve on the executors."""
        with self as session:
            # It needs pandas; the session has checked that it is installed.
            from rdf_kgeval.engines.spark.solving import solve_on_executors

            return solve_on_executors(session, model, options)
