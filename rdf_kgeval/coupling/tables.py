"""Tables of integers and the SQL over them: what grounding asks of an engine, and DuckDB's answer."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from rdf_kgeval.common.memory import RAM, Space, format_size
from rdf_kgeval.common.types import Int32s
from rdf_kgeval.errors import TooManyGroundings

if TYPE_CHECKING:
    import duckdb

Columns = Mapping[str, NDArray[Any]]


class Tables(Protocol):
    """Named tables that can be joined; their SQL keeps to what DuckDB and Spark share."""

    def load(self, name: str, columns: Columns, order: str = "") -> None:
        """Put columns into a table, in place of what it held; `order` names columns to sort by."""

    def fetch(self, sql: str) -> list[Int32s]:
        """Return the columns of a query's rows, in any order."""

    def number(self, sql: str) -> float:
        """Return the answer of a query that has one cell."""


class DuckTables:
    """Tables in DuckDB."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", spill: Path, space: Space) -> None:
        self._sql = connection
        self._spill = spill
        self._space = space

    def load(self, name: str, columns: Columns, order: str = "") -> None:
        """Copy the columns."""
        self._sql.register("given_columns", dict(columns))
        self._sql.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given_columns{_sorted(order)}")
        self._sql.unregister("given_columns")
        self._look()

    def fetch(self, sql: str) -> list[Int32s]:
        """Return the columns as arrays."""
        result = self._sql.execute(sql)
        self._look()
        return [self._space.kept(column) for column in result.fetchnumpy().values()]

    def _look(self) -> None:
        """Note how much is on disk."""
        size = sum(file.stat().st_size for file in self._spill.iterdir())
        self._space.joined = max(self._space.joined, size)

    def number(self, sql: str) -> float:
        """Return the only cell."""
        ((value,),) = self._sql.execute(sql).fetchall()
        return float(value)

    def write(self, file: str, columns: Columns, order: str = "") -> None:
        """Write columns to a Parquet file."""
        self._sql.register("given_columns", dict(columns))
        self._sql.execute(
            f"COPY (SELECT * FROM given_columns{_sorted(order)}) TO {_quoted(file)} (FORMAT parquet)"
        )
        self._sql.unregister("given_columns")

    def read(self, files: str) -> dict[str, NDArray[Any]]:
        """Read the columns of Parquet files that a pattern names."""
        return self._sql.execute(f"SELECT * FROM read_parquet({_quoted(files)})").fetchnumpy()


def _sorted(order: str) -> str:
    return f" ORDER BY {order}" if order else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _hide_progress(connection: "duckdb.DuckDBPyConnection") -> None:
    """Switch the progress bar off where it is on, for it goes to standard output.

    In a notebook without ipywidgets it is off, and DuckDB refuses every change of it.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")


@contextmanager
def open_tables(space: Space = RAM, threads: int | None = None) -> Iterator[DuckTables]:
    """Open tables in this process, which spill to a directory that is removed.

    Args:
        space: where what is fetched goes; DuckDB itself may use a quarter of its limit before it spills.
        threads: how many threads DuckDB may use; its default is all.

    Raises:
        TooManyGroundings: a join needs more memory than it may use, though it spills.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="kgeval-", dir=space.folder) as spill:
        config: dict[str, Any] = {
            "temp_directory": spill,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if space.limit is not None:
            config["memory_limit"] = f"{space.share(0.25)}B"
        if threads is not None:
            config["threads"] = threads
        with duckdb.connect(":memory:", config=config) as connection:
            _hide_progress(connection)
            try:
                yield DuckTables(connection, Path(spill), space)
            except duckdb.OutOfMemoryException as error:
                limit = "memory" if space.limit is None else f"the memory limit of {format_size(space.limit)}"
                raise TooManyGroundings(
                    f"the joins of the rules do not fit into {limit}; raise --memory-limit or use fewer rules"
                ) from error
