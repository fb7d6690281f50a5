"""What runs on the executors: tying variables into components, and solving components."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rdf_kgeval.inference.solver.solve import Model, SolverOptions, solve

Frames = Iterator[pd.DataFrame]

TIED = "variable int, tied int, entries long"
SOLVED = "variable int, x double, objective double, residual double, iterations int"
FREE = "bytes long"


def tie(frames: Iterable[pd.DataFrame]) -> Frames:
    """Reduce pairs of tied variables to each variable with the least one that it is tied to, near or far.

    The result says the same as the pairs, with one row per variable, so parts can be tied apart and then
    together. `entries` are added up over the component, beside its least variable.
    """
    left, right, entries = _columns(frames, ("variable", "tied", "entries"))
    if not len(left):
        return
    variable, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    begin, end = place[: len(left)], place[len(left) :]
    shape = (len(variable), len(variable))
    n, label = csgraph.connected_components(
        sparse.coo_array((np.ones(len(left), bool), (begin, end)), shape), directed=False
    )
    _, least = np.unique(label, return_index=True)
    total = np.zeros(len(variable), np.int64)
    total[least] = np.bincount(label[begin], entries, n)
    yield pd.DataFrame({"variable": variable, "tied": variable[least[label]], "entries": total})


def solve_part(frames: Iterable[pd.DataFrame], options: SolverOptions) -> Frames:
    """Solve all components that an executor was given, as one model in the order of the whole one.

    Objective, residual and steps are the part's, beside its first variable.
    """
    names = ("entry", "row", "variable", "coef", "offset", "weight", "prior", "strength")
    entry, *columns = _columns(frames, names)
    if not len(entry):
        return
    order = np.argsort(entry)
    row, variable, coef, offset, weight, prior, strength = (column[order] for column in columns)
    first = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    own, at, number = np.unique(variable, return_index=True, return_inverse=True)
    indptr = np.append(first, len(row))
    model = Model(
        indptr, number.astype(np.int32), coef, offset[first], weight[first], prior[at], strength[at]
    )
    found = solve(model, options)
    part = pd.DataFrame(
        {"variable": own, "x": found.x, "objective": 0.0, "residual": 0.0, "iterations": np.int32(0)}
    )
    part.loc[0, ["objective", "residual", "iterations"]] = found.objective, found.residual, found.iterations
    yield part


def free_memory(frames: Iterable[pd.DataFrame]) -> Frames:
    """Return the bytes of memory that this machine, or the container on it, has left."""
    for _ in frames:
        yield pd.DataFrame({"bytes": [min(_of_machine(), _of_container())]})


def _columns(frames: Iterable[pd.DataFrame], names: tuple[str, ...]) -> list[NDArray[Any]]:
    parts = [[frame[name].to_numpy() for name in names] for frame in frames]
    return [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, int)] * len(names)


def _of_machine() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def _of_container() -> int:
    try:
        most, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii") for name in ("max", "current"))
        return int(most) - int(used)
    except (OSError, ValueError):  # no container, or no limit
        return 2**63 - 1
