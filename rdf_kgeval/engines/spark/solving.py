"""A model solved on the executors: its entries as Parquet, tied into components, each part solved there."""

import math
import shutil
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from rdf_kgeval.coupling.tables import DuckTables, open_tables
from rdf_kgeval.engines.spark import tasks
from rdf_kgeval.engines.spark.session import Session, failures
from rdf_kgeval.errors import EngineError
from rdf_kgeval.inference.solver.solve import Model, Solution, SolverOptions

CHUNK = 4_000_000
"""Entries in one Parquet file."""
PART = 500_000
"""Least entries for one task to solve, so that starting it is worth while."""
LEAST_PARTS = 4
BYTES_PER_ENTRY = 300
"""What solving takes of an executor's memory: 100 to 210 by benchmarks/scale_out.py, and some to spare."""


def solve_on_executors(session: Session, model: Model, options: SolverOptions) -> Solution:
    """Find the minimum; every component is solved as it would be here.

    Raises:
        EngineError: a component is larger than an executor's memory, or Spark failed.
    """
    x = np.clip(model.prior, 0.0, 1.0)
    coupled = np.zeros(len(x), bool)
    coupled[model.indices] = True
    empty = model.indptr[1:] == model.indptr[:-1]
    objective = [
        float(model.weight[empty] @ np.maximum(0.0, model.offset[empty]) ** options.p),
        float(model.strength[~coupled] @ (x - model.prior)[~coupled] ** 2),
    ]
    residual, iterations = 0.0, 0
    if len(model.indices):
        folder = session.scratch / "solve"
        (folder / "entries").mkdir(parents=True)
        try:
            with open_tables() as parquet:
                _write(model, parquet, folder / "entries")
                _solve(session, folder, len(model.indices), replace(options, threads=1))
                for file in sorted((folder / "solved").glob("*.parquet")):
                    found = parquet.read(str(file))
                    x[found["variable"]] = found["x"]
                    objective += found["objective"][found["objective"] != 0.0].tolist()
                    residual = max(residual, float(found["residual"].max(initial=0.0)))
                    iterations = max(iterations, int(found["iterations"].max(initial=0)))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return Solution(x, math.fsum(objective), residual, iterations)


def _write(model: Model, parquet: DuckTables, folder: Path) -> None:
    """Write one line per entry, with all of its row and variable, and the variable that it is tied to."""
    steps = range(0, len(model.indices), CHUNK)
    cuts = [*np.searchsorted(model.indptr, list(steps)).tolist(), model.n_rows]
    for number, (begin, end) in enumerate(pairwise(cuts)):
        low, high = int(model.indptr[begin]), int(model.indptr[end])
        if low == high:
            continue
        row = np.repeat(np.arange(begin, end), np.diff(model.indptr[begin : end + 1]))
        variable = model.indices[low:high]
        same = np.append(False, row[1:] == row[:-1])
        columns = {
            "entry": np.arange(low, high),
            "row": row,
            "variable": variable,
            "tied": np.where(same, np.roll(variable, 1), variable),
            "coef": model.coef[low:high],
            "offset": model.offset[row],
            "weight": model.weight[row],
            "prior": model.prior[variable],
            "strength": model.strength[variable],
        }
        parquet.write(str(folder / f"{number:05}.parquet"), columns)


def _solve(session: Session, folder: Path, n_entries: int, options: SolverOptions) -> None:
    with failures(folder):
        entries = session.read(folder / "entries")
        tied = entries.selectExpr("variable", "tied", "CAST(1 AS BIGINT) AS entries")
        tied = tied.mapInPandas(tasks.tie, tasks.TIED).repartition(1).mapInPandas(tasks.tie, tasks.TIED)
    session.write(tied, folder / "components")
    with failures(folder):
        components = session.read(folder / "components")
        _check_size(session, int(components.selectExpr("MAX(entries)").first()[0]))
        component = components.selectExpr("variable", "tied AS component")
        parts = entries.drop("tied").join(component, "variable")
        parts = parts.repartition(max(LEAST_PARTS, -(-n_entries // PART)), "component")
        solved = parts.mapInPandas(partial(tasks.solve_part, options=options), tasks.SOLVED)
    session.write(solved, folder / "solved")


def _check_size(session: Session, entries: int) -> None:
    """Refuse a component that the executor with the least memory cannot hold."""
    need = entries * BYTES_PER_ENTRY
    if need < 2**30:
        return
    spark = session.spark
    n = spark.sparkContext.defaultParallelism
    free = min(row[0] for row in spark.range(0, n, 1, n).mapInPandas(tasks.free_memory, tasks.FREE).collect())
    if need > free:
        raise EngineError(
            f"the largest component has {entries:,} entries and needs {need / 1e9:,.1f} GB in one executor, "
            f"but a worker has {free / 1e9:,.1f} GB free; use workers with more memory, use --engine local "
            "on such a machine, or leave out the rules that tie most beliefs together"
        )
