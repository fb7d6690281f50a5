"""Re-solve after one more verdict, touching only what changes; ask what a verdict would bring."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from rdf_kgeval.errors import InputError
from rdf_kgeval.inference.journal import Graph, Journal, State, forget, journal, refresh, undo
from rdf_kgeval.inference.kernel import Flags, Floats, Indices, Ints, kernel
from rdf_kgeval.inference.layout import lay_out, transpose
from rdf_kgeval.inference.members import Local, local
from rdf_kgeval.inference.solver import DEFAULT_OPTIONS, Model, Solution, SolverOptions, pose, solve
from rdf_kgeval.inference.worklist import fix

HEADROOM = 0.1
"""The start is solved to this share of the tolerance, so that no atom is woken by what was left over."""


@dataclass(frozen=True)
class Change:
    """What fixing one variable did."""

    moved: Ints
    """Variables whose value is no longer the same, the fixed one included."""
    touched: Ints
    """Variables on which the result depends: the moved ones and everyone who shares a hinge with them."""
    count: int
    """How many counted variables are now inferred."""


@dataclass(frozen=True)
class WhatIfs:
    """What fixing each candidate would bring."""

    counts: Ints
    """One row per candidate: inferred variables if it were 0, and if it were 1."""
    indptr: Ints
    """The touched variables of candidate c are `touched[indptr[c]:indptr[c + 1]]`."""
    touched: Ints
    """Variables on which a candidate's gains over `Incremental.count` depend: they stay as they are until one
    of these is among those that a `commit` changed."""


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
        counted: Flags | None = None,
        backward: Floats | None = None,
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
        exact = solve(model, replace(options, tolerance=HEADROOM * options.tolerance), solution.x)
        layout = lay_out(n, model.indptr, model.indices, model.coef, model.offset, model.weight)
        problem = pose(model, layout, options)
        size = np.diff(layout.bounds)
        self._options = options
        self._tau = tau
        self._order, self._rank = layout.order, layout.rank
        self._counted = np.ones(n, np.bool_) if counted is None else counted.astype(np.bool_)[layout.order]
        if backward is not None and (backward.shape != model.weight.shape or not (backward >= 0).all()):
            raise InputError(f"The backward weights must be {model.n_rows} numbers that are not negative.")
        self._graph = Graph(
            problem,
            problem.slope.copy(),
            2.0 * (model.weight if backward is None else backward)[layout.row],
            *transpose(n, layout.indptr, layout.indices, layout.coef),
            np.repeat(np.arange(len(size), dtype=np.int32), size),
            layout.bounds,
            layout.groups,
        )
        self._state = _fresh_state(self._graph, exact.x[layout.order])
        self._journal = journal(self._graph)
        self._local = local(self._graph)
        self._count = int(_inferred(self._state.x, tau)[self._counted].sum())
        self._before = self._count

    @property
    def x(self) -> Floats:
        """The current point, in the model's order."""
        return self._state.x[self._rank]

    @property
    def gradient(self) -> Floats:
        """The objective's gradient at the current point, in the model's order."""
        return self._state.gradient[self._rank]

    @property
    def fixed(self) -> Flags:
        """Which variables are clamped, in the model's order."""
        return self._state.fixed[self._rank]

    @property
    def count(self) -> int:
        """How many counted variables are inferred now, clamped ones included."""
        return self._count

    def clamp(self, variable: int, value: float) -> Change:
        """Fix a variable and re-solve around it; stays open until `commit` or `rollback`.

        Raises:
            InputError: There is no such variable, it is fixed already or the value is not in [0, 1].
        """
        i = self._position(variable)
        if not 0.0 <= value <= 1.0:
            raise InputError(f"Variable {variable} cannot be fixed at {value}; give a value from 0 to 1.")
        if self._state.fixed[i]:
            raise InputError(f"Variable {variable} is fixed already; roll back or start anew to change it.")
        fix(self._graph, self._state, self._journal, self._local, self._options.max_iterations, i, value)
        touched = self._journal.touched[: self._journal.size[0]]
        moved = touched[self._state.x[touched] != self._journal.x[: len(touched)]]
        self._count = self._before + int(_gained(self._state, self._journal, self._counted, self._tau))
        return Change(self._order[moved], self._order[touched], self._count)

    def commit(self) -> Ints:
        """Keep what was clamped; the variables whose value, gradient or freedom that changed."""
        refresh(self._graph, self._state, self._journal)
        log = self._journal
        touched = log.touched[: log.size[0]].copy()
        changed = (self._state.x[touched] != log.x[: len(touched)]) | self._state.fixed[touched]
        changed |= self._state.gradient[touched] != log.gradient[: len(touched)]
        forget(log)
        self._before = self._count
        return np.asarray(self._order[touched[changed]])

    def rollback(self) -> None:
        """Return, to the bit, to the last `commit`."""
        undo(self._graph, self._state, self._journal)
        self._count = self._before

    def what_if(self, variable: int, value: float) -> int:
        """How many counted variables would be inferred if this one were fixed; nothing changes.

        Raises:
            InputError: As for `clamp`.
            RuntimeError: A transaction is open.
        """
        self._closed()
        count = self.clamp(variable, value).count
        self.rollback()
        return count

    def what_ifs(self, candidates: Ints) -> WhatIfs:
        """Both what-ifs of many candidates; a candidate that is fixed already brings nothing.

        Raises:
            InputError: There is no such variable.
            RuntimeError: A transaction is open.
        """
        self._closed()
        places = np.array([self._position(int(c)) for c in candidates], np.int64)
        parts = np.array_split(places, min(self._options.threads, max(1, len(places))))

        # Every copy is taken before any thread starts: the first one works in the state itself.
        spaces = [(self._graph, self._state, self._journal, self._local)]
        spaces += [
            (_own_slopes(self._graph), _copied(self._state), journal(self._graph), local(self._graph))
            for _ in parts[1:]
        ]

        def run(part: Ints, space: tuple[Graph, State, Journal, Local]) -> tuple[Ints, Ints, Indices]:
            steps = self._options.max_iterations
            return _what_ifs(*space, steps, part, self._counted, self._tau, self._count)

        with ThreadPoolExecutor(len(parts)) as pool:
            results = list(pool.map(run, parts, spaces))
        counts = np.concatenate([result[0] for result in results])
        sizes = np.concatenate([result[1] for result in results])
        touched = np.concatenate([result[2] for result in results])
        return WhatIfs(counts, np.concatenate([[0], np.cumsum(sizes)]), self._order[touched])

    def _position(self, variable: int) -> int:
        if not 0 <= variable < len(self._rank):
            raise InputError(f"There is no variable {variable}; the model has {len(self._rank)}.")
        return int(self._rank[variable])

    def _closed(self) -> None:
        if self._journal.size[2]:
            raise RuntimeError("commit or roll back before asking what if")


def _inferred(x: Floats, tau: float) -> Flags:
    return (x >= tau) | (x <= 1.0 - tau)


def _own_slopes(graph: Graph) -> Graph:
    return graph._replace(problem=graph.problem._replace(slope=graph.problem.slope.copy()))


def _copied(state: State) -> State:
    return State(state.x.copy(), state.value.copy(), state.gradient.copy(), state.fixed.copy())


def _fresh_state(graph: Graph, x: Floats) -> State:
    n, m = len(x), len(graph.problem.slope)
    state = State(x, np.empty(m), np.empty(n), np.zeros(n, np.bool_))
    everything = journal(graph)
    everything.size[:2] = n, m
    everything.touched[:] = np.arange(n)
    everything.rows[:] = np.arange(m)
    refresh(graph, state, everything)
    return state


@kernel
def _gained(state: State, log: Journal, counted: Flags, tau: float) -> int:
    gained = 0
    for at in range(log.size[0]):
        i = log.touched[at]
        if counted[i]:
            new, old = state.x[i], log.x[at]
            gained += int(new >= tau or new <= 1.0 - tau) - int(old >= tau or old <= 1.0 - tau)
    return gained


@kernel
def _what_ifs(
    graph: Graph,
    state: State,
    log: Journal,
    work: Local,
    max_iterations: int,
    candidates: Ints,
    counted: Flags,
    tau: float,
    count: int,
) -> tuple[Ints, Ints, Indices]:
    counts = np.full((len(candidates), 2), count, np.int64)
    sizes = np.zeros(len(candidates), np.int64)
    touched = np.empty(1024, np.int32)
    total = 0
    noted = np.zeros(len(state.x), np.bool_)
    for c in range(len(candidates)):
        if state.fixed[candidates[c]]:
            continue
        begin = total
        for side in range(2):
            fix(graph, state, log, work, max_iterations, candidates[c], float(side))
            counts[c, side] += _gained(state, log, counted, tau)
            if total + log.size[0] > len(touched):
                larger = np.empty(2 * (total + log.size[0]), np.int32)
                larger[:total] = touched[:total]
                touched = larger
            for at in range(log.size[0]):
                if not noted[log.touched[at]]:
                    noted[log.touched[at]] = True
                    touched[total] = log.touched[at]
                    total += 1
            undo(graph, state, log)
        for at in range(begin, total):
            noted[touched[at]] = False
        sizes[c] = total - begin
    return counts, sizes, touched[:total]
