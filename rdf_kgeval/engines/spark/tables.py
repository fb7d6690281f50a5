"""Tables as Parquet files that Spark joins."""

import shutil
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from types import TracebackType

from rdf_kgeval.common.types import Int32s
from rdf_kgeval.coupling.tables import Columns, open_tables
from rdf_kgeval.engines.spark.session import Session, failures


class SparkTables(AbstractContextManager["SparkTables"]):
    """The tables of one grounding."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._folder = session.scratch / "tables"
        self._number = count()
        self._open = ExitStack()

    def __enter__(self) -> "SparkTables":
        self._folder.mkdir()
        self._open.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._parquet = self._open.enter_context(open_tables())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def load(self, name: str, columns: Columns, order: str = "") -> None:
        """Write the columns to a file and name it."""
        file = self._folder / f"{name}-{next(self._number)}.parquet"
        self._parquet.write(str(file), columns, order)
        with failures(self._folder):
            self._session.read(file).createOrReplaceTempView(name)

    def fetch(self, sql: str) -> list[Int32s]:
        """Let Spark write the rows, and read them."""
        found = self._folder / f"found-{next(self._number)}"
        with failures(self._folder):
            rows = self._session.spark.sql(sql)
        self._session.write(rows, found)
        columns = self._parquet.read(f"{found}/*.parquet")
        shutil.rmtree(found)
        return [columns[name] for name in rows.columns]

    def number(self, sql: str) -> float:
        """Return the only cell."""
        with failures(self._folder):
            return float(self._session.spark.sql(sql).first()[0])
