"""Solutions that follow verdicts: re-solve what a verdict changes, ask what one would bring."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rdf_kgeval.common.jit import kernel, sized, threads
from rdf_kgeval.common.types import Bools, Float64s, Int32s, Int64s, Records
from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.incremental.journal import (
    N_FIXED,
    N_TOUCHED,
    N_WATCHED,
    Search,
    forget,
    refresh,
    undo,
)
from rdf_kgeval.inference.incremental.watch import apart, arrange, neighbours
from rdf_kgeval.inference.incremental.worklist import Local, fix, local
from rdf_kgeval.inference.solver.layout import lay_out
from rdf_kgeval.inference.solver.solve import (
    DEFAULT_OPTIONS,
    Model,
    Solution,
    SolverOptions,
    solve,
    to_problem,
)

HEADROOM = 0.1
"""The start is solved to this share of the tolerance, so that no atom is woken by what was left over."""
WATCHED = 0.1
"""Newly watched rows, as a share of those watched from the start, at which the columns are arranged anew
from where x is."""


FEW = 20
"""Rows up to which kernels run as Python here: the records of a search are slow to read in Python, and there
is a what-if for each variable and value."""


@dataclass(frozen=True)
class Change:
    """What fixing one variable did."""

    moved: Int64s
    """Variables whose value is no longer the same, the fixed one included."""
    count: int
    """How many counted variables are now inferred."""


@dataclass(frozen=True)
class WhatIfs:
    """What fixing each candidate would bring."""

    counts: Int64s
    """One row per candidate: inferred variables if it were 0, and if it were 1."""
    indptr: Int64s
    """The members of candidate c are `members[indptr[c]:indptr[c + 1]]`."""
    members: Int64s
    """Variables that a candidate's what-ifs may move, itself included. Its gains over `Incremental.count`
    stay as they are until a `commit` concerns one of these."""


class Incremental:
    """A solution of a model with squared hinges that follows verdicts.

    A variable is inferred when x >= tau or x <= 1 - tau. `clamp` opens a transaction, `commit` or `rollback`
    closes it; every free projected gradient is within the options' tolerance after each of them.
    """

    def __init__(
        self,
        model: Model,
        solution: Solution,
        options: SolverOptions = DEFAULT_OPTIONS,
        *,
        tau: float = 0.8,
        counted: Bools | None = None,
        backward: Float64s | None = None,
    ) -> None:
        """Start from a solution of the model.

        Args:
            model: Hinges and priors.
            solution: What `solve` found for the model; it is polished when it is less exact than needed.
            options: The tolerance to keep, the step limit of a re-solve and the threads of `what_ifs`.
            tau: Soft truth from which on a variable counts as inferred.
            counted: Which variables to count, all if not given.
            backward: Weight of each row once its variable of negative coefficient is fixed at 0, its own if
                not given.

        Raises:
            InputError: The hinges are not squared, or an argument does not fit the model.
        """
        n = model.n_variables
        if options.p != 2:
            raise InputError("Re-solving after a verdict needs squared hinges (p = 2).")
        if not 0.5 < tau <= 1.0:
            raise InputError(f"The threshold tau is {tau}; it must be above 0.5 and at most 1.")
        if counted is not None and len(counted) != n:
            raise InputError(f"The mask of counted variables has {len(counted)} entries for {n} variables.")
        self._sized = partial(sized, model.n_rows, FEW)
        exact = solve(model, replace(options, tolerance=HEADROOM * options.tolerance), solution.x)
        with self._sized():
            layout = lay_out(n, model.indptr, model.indices, model.coef, model.offset, model.weight)
            problem = to_problem(model, layout, options)
        self._options = options
        self._tau = tau
        self._order, self._rank = layout.order, layout.rank
        self._counted = np.ones(n, np.bool_) if counted is None else counted.astype(np.bool_)[layout.order]
        if backward is not None and (backward.shape != model.weight.shape or not (backward >= 0).all()):
            raise InputError(f"The backward weights must be {model.n_rows} numbers that are not negative.")
        turned = 2.0 * (model.weight if backward is None else backward)[layout.row]
        x, fixed = exact.x[layout.order], np.zeros(n, np.bool_)
        with self._sized():
            self._search = arrange(problem, turned, problem.slope, x, fixed)
        self._local = local(problem)
        self._watched = 0
        self._count = int(_inferred(self._x, tau)[self._counted].sum())
        self._before = self._count

    @property
    def x(self) -> Float64s:
        """Return the current point, in the model's order."""
        return self._x[self._rank]

    @property
    def gradient(self) -> Float64s:
        """Return the objective's gradient at the current point, in the model's order."""
        return np.asarray(self._search.variables["gradient"][self._rank])

    @property
    def fixed(self) -> Bools:
        """Return which variables are clamped, in the model's order."""
        return np.asarray(self._search.variables["fixed"][self._rank])

    @property
    def count(self) -> int:
        """Count the counted variables that are inferred now, clamped ones included."""
        return self._count

    def clamp(self, variable: int, value: float) -> Change:
        """Fix a variable and re-solve around it; the transaction is open until `commit` or `rollback`.

        Raises:
            InputError: There is no such variable, it is fixed already or the value is not in [0, 1].
        """
        i = self._position(variable)
        if not 0.0 <= value <= 1.0:
            raise InputError(f"Variable {variable} cannot be fixed at {value}; give a value from 0 to 1.")
        if self._search.variables["fixed"][i]:
            raise InputError(f"Variable {variable} is fixed already; roll back or start anew to change it.")
        with self._sized():
            fix(self._search, self._local, self._options.max_iterations, i, value)
            gained = int(_gained(self._search, self._counted, self._tau))
        touched = self._touched
        moved = touched["variable"][self._x[touched["variable"]] != touched["x"]]
        self._count = self._before + gained
        return Change(self._order[moved], self._count)

    def commit(self) -> Int64s:
        """Keep what was clamped.

        Returns:
            The variables that this concerns: those whose value, gradient or freedom changed, and everyone
            who shares a hinge with one of them.
        """
        with self._sized():
            return self._commit(self._search)

    def _commit(self, search: Search) -> Int64s:
        refresh(search)
        before = self._touched
        after = search.variables[before["variable"]]
        changed = (after["x"] != before["x"]) | (after["gradient"] != before["gradient"]) | after["fixed"]
        concerned = self._order[np.flatnonzero(neighbours(search, before["variable"][changed]))]
        self._watched += int(search.counters[N_WATCHED])
        forget(search.variables, search.rows, search.touched, search.noted, search.counters)
        if self._watched > WATCHED * np.count_nonzero(search.rows["watched"]):
            now = search.variables[:-1]
            self._search = arrange(
                search.problem, search.backward, search.rows["slope"][:-1], now["x"], now["fixed"]
            )
            self._watched = 0
        self._before = self._count
        return np.asarray(concerned)

    def rollback(self) -> None:
        """Return, to the bit, to the last `commit`."""
        with self._sized():
            undo(self._search)
        self._count = self._before

    def what_ifs(self, candidates: Int64s) -> WhatIfs:
        """Find both what-ifs of many candidates; a candidate that is fixed already brings nothing.

        Raises:
            InputError: There is no such variable.
            RuntimeError: A transaction is open.
        """
        self._closed()
        places = np.array([self._position(int(c)) for c in candidates], np.int64)
        parts = np.array_split(places, min(self._options.threads, max(1, len(places))))

        # Every copy is taken before any thread starts: the first one works in the search itself.
        spaces = [(self._search, self._local)]
        spaces += [(apart(self._search), local(self._search.problem)) for _ in parts[1:]]

        def run(part: Int64s, space: tuple[Search, Local]) -> tuple[Int64s, Int64s, Int32s]:
            return _what_ifs(
                *space, self._options.max_iterations, part, self._counted, self._tau, self._count
            )

        with self._sized(), threads(len(parts)) as pool:
            results = list(pool.map(run, parts, spaces))
        counts = np.concatenate([result[0] for result in results])
        sizes = np.concatenate([result[1] for result in results])
        members = np.concatenate([result[2][: result[1].sum()] for result in results])
        return WhatIfs(counts, np.concatenate([[0], np.cumsum(sizes)]), self._order[members])

    def _position(self, variable: int) -> int:
        if not 0 <= variable < len(self._rank):
            raise InputError(f"There is no variable {variable}; the model has {len(self._rank)}.")
        return int(self._rank[variable])

    def _closed(self) -> None:
        if self._search.counters[N_FIXED]:
            raise RuntimeError("commit or roll back before asking what if")

    @property
    def _x(self) -> Float64s:
        return np.asarray(self._search.variables["x"][:-1])

    @property
    def _touched(self) -> Records:
        return self._search.touched[: self._search.counters[N_TOUCHED]]


def _inferred(x: Float64s, tau: float) -> Bools:
    return (x >= tau) | (x <= 1.0 - tau)


@kernel
def _gained(search: Search, counted: Bools, tau: float) -> int:
    variables, touched = search.variables, search.touched
    gained = 0
    for at in range(search.counters[N_TOUCHED]):
        i = touched[at].variable
        if counted[i]:
            new, old = variables[i].x, touched[at].x
            gained += int(new >= tau or new <= 1.0 - tau) - int(old >= tau or old <= 1.0 - tau)
    return gained


@kernel
def _what_ifs(
    search: Search,
    local: Local,
    max_iterations: int,
    candidates: Int64s,
    counted: Bools,
    tau: float,
    count: int,
) -> tuple[Int64s, Int64s, Int32s]:
    counts = np.zeros((len(candidates), 2), np.int64)
    sizes = np.zeros(len(candidates), np.int64)
    members = np.empty(1024, np.int32)
    total = 0
    noted = np.zeros(len(counted), np.bool_)
    for c in range(len(candidates)):
        if search.variables[candidates[c]].fixed:
            counts[c, 0] = counts[c, 1] = count
            continue
        begin = total
        for side in range(2):
            size = fix(search, local, max_iterations, candidates[c], float(side))
            counts[c, side] = count + _gained(search, counted, tau)
            local.members[size] = candidates[c]
            if total + size + 1 > len(members):
                larger = np.empty(2 * (total + size + 1), np.int32)
                for at in range(total):
                    larger[at] = members[at]
                members = larger
            for at in range(size + 1):
                i = local.members[at]
                if not noted[i]:
                    noted[i] = True
                    members[total] = i
                    total += 1
            undo(search)
        for at in range(begin, total):
            noted[members[at]] = False
        sizes[c] = total - begin
    return counts, sizes, members
