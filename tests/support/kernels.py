"""Cases on a few dozen beliefs that enter every kernel: `python -m tests.support.kernels` prints what they give.

They run compiled; as Python with NUMBA_DISABLE_JIT=1; and by their size with the argument `small`. `entered` names
the functions that were called as Python, `specialisations` counts the lists of types that each kernel is compiled for.
"""

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from unittest import mock

import numpy as np

from rdf_kgeval.beliefs.builder import BeliefsBuilder
from rdf_kgeval.beliefs.table import Role
from rdf_kgeval.common import jit
from rdf_kgeval.coupling.graph import couple
from rdf_kgeval.estimation import beta_interval
from rdf_kgeval.estimation.population import Population
from rdf_kgeval.inference.incremental import solution
from rdf_kgeval.inference.incremental.solution import Incremental
from rdf_kgeval.inference.lookahead import Lookahead
from rdf_kgeval.inference.solver.layout import lay_out
from rdf_kgeval.inference.solver.newton import _majorise, newton
from rdf_kgeval.inference.solver.problem import scratch, set_values, span_of
from rdf_kgeval.inference.solver.solve import Model, SolverOptions, solve, to_problem
from rdf_kgeval.rules.mining.mine import mine
from rdf_kgeval.rules.mining.options import MiningOptions
from rdf_kgeval.rules.rule import Rule
from rdf_kgeval.verdicts.log import NOT_ASKED
from tests.support.designs import design_of

PACKAGE = Path(__file__).parents[2] / "rdf_kgeval"


def model(heaviest: float = 1.0) -> Model:
    """Implications of one to three atoms and denials, some observed, in two components of 20 variables."""
    rng = np.random.default_rng(5)
    terms, offset = [], []
    for _ in range(100):
        a, b, c, d = (int(i) for i in rng.choice(20, 4, replace=False) + 20 * rng.integers(0, 2))
        body = [a, b, c][: rng.integers(1, 4)]
        terms.append([(i, 1.0) for i in body] + [(d, -1.0)])
        offset.append(1.0 - len(body))
    for i in rng.integers(0, 40, 12):
        sign = float(rng.choice([-1.0, 1.0]))
        terms.append([(int(i), sign)])
        offset.append(max(0.0, -sign))
    weight = rng.uniform(0.1, 1.0, len(terms))
    weight[0] = heaviest
    return Model(
        indptr=np.cumsum([0, *map(len, terms)]),
        indices=np.array([i for row in terms for i, _ in row], np.int32),
        coef=np.array([c for row in terms for _, c in row]),
        offset=np.array(offset),
        weight=weight,
        prior=np.full(40, 0.5),
        strength=np.full(40, 0.05),
    )


def solving() -> list[object]:
    """Squared, linear and stiff hinges; and the safe step, which no small model needs."""
    cases = [(model(), 2), (model(), 1), (model(1e6), 2)]
    found: list[object] = [solve(case, SolverOptions(p=p)).x.tolist() for case, p in cases]
    case = model()
    layout = lay_out(40, case.indptr, case.indices, case.coef, case.offset, case.weight)
    problem, work = (
        to_problem(case, layout, SolverOptions()),
        scratch(40, len(layout.row), len(layout.indices)),
    )
    span, free = span_of(0, layout.bounds, layout.groups), np.zeros(40, np.bool_)
    set_values(span, problem, work, problem.prior)
    newton(span, problem, work, 0, problem.prior, free)
    _majorise(span, problem, work, free)
    return [*found, work.direction[span.lo : span.hi].tolist()]


def following() -> list[object]:
    """Verdicts one by one, taken back, and what others would bring."""
    search = Incremental(model(), solve(model()))
    found: list[object] = []
    for variable, value in ((3, 0.0), (25, 1.0), (11, 0.3)):
        search.clamp(variable, value)
        search.commit()
        found.append(search.x.tolist())
    search.clamp(30, 0.0)
    search.rollback()
    ifs = search.what_ifs(np.arange(0, 40, 9))
    return [*found, search.x.tolist(), ifs.counts.tolist(), np.diff(ifs.indptr).tolist()]


def mining() -> list[object]:
    """Rules of a dense random graph, with and without a limit on walks."""
    rng = np.random.default_rng(8)
    builder = BeliefsBuilder()
    ends = [(*pair, p) for p in range(8) for pair in rng.integers(0, 7, (9, 2))]
    builder.add(
        [(f"<http://e/{a}>", f"<http://e/p{p}>", f"<http://e/{b}>", "") for a, b, p in ends], Role.BELIEF
    )
    beliefs = builder.build()
    options = MiningOptions(min_support=2, min_head_coverage=0.0, min_confidence=0.1)
    return [
        [
            [str(rule.body), str(rule.head), rule.confidence]
            for rule in mine(beliefs, replace(options, max_walks=walks))
        ]
        for walks in (options.max_walks, 5_000)
    ]


def looking_ahead() -> list[object]:
    """Gains of beliefs in a chain of implications, before and after a verdict."""
    chain = [("?x", f"<http://e/p{i}>", "?y") for i in range(6)]
    builder = BeliefsBuilder()
    builder.add([("<http://e/s>", p, "<http://e/o>", "") for _, p, _ in chain], Role.BELIEF)
    rules = [
        Rule(id=f"r{i}", body=(body,), head=head, confidence=0.95)
        for i, (body, head) in enumerate(pairwise(chain))
    ]
    graph = couple(builder.build(), rules)
    live = Lookahead(graph, {}, graph.thetas)
    everyone = np.arange(6, dtype=np.int32)
    before = live.gains(everyone).tolist()
    live.take(4, 1.0)
    return [before, live.gains(everyone).tolist(), live.x.tolist()]


def sampling() -> list[object]:
    """Draws and estimates of the designs that have kernels."""
    rng = np.random.default_rng(2)
    predicate = np.repeat(np.arange(3), (30, 15, 5))
    population = Population(
        predicate=predicate, subject=np.arange(50) // 2, known=np.full(50, -1, np.int8), truth=rng.random(50)
    )
    gold = (rng.random(50) < 0.8).astype(np.int8)
    up_to_1 = beta_interval.best_starts(np.array([1e9, 2.0]), np.array([1.0, 2.0]), 1 - 1e-9)
    found: list[object] = [up_to_1.tolist()]
    for name in ("stratified/bayes", "twcs/wilson", "assisted/difference"):
        design = design_of(name, population, margin=0.1, level=0.9, seed=3)
        answers = np.full(50, NOT_ASKED, np.int8)
        while not design.reached(answers) and (draws := design.next(answers, 5)):
            for draw in draws:
                answers[draw.position] = gold[draw.position]
        estimate = design.estimate(answers)
        found.append([answers.tolist(), float(estimate.accuracy), estimate.interval])
    return found


def compile_all_sizes(replace: Callable[[object, str, int], None]) -> None:
    """Let no problem be small."""
    for module, name in ((jit, "SMALL"), (solution, "FEW")):
        replace(module, name, -1)


def main() -> None:
    if "small" not in sys.argv:
        compile_all_sizes(setattr)
        jit.compile_all()  # here, for a traced compiler is slow
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        entered.add(frame.f_code)

    cases: list[Callable[[], list[object]]] = [solving, following, mining, looking_ahead, sampling]
    sys.settrace(note)
    threading.settrace(note)
    with mock.patch.object(beta_interval, "STEPS", 20):
        found = {case.__name__: case() for case in cases}
    sys.settrace(None)
    names = [(Path(code.co_filename), code.co_name) for code in entered]
    own = [f"{path.relative_to(PACKAGE)}:{name}" for path, name in names if path.is_relative_to(PACKAGE)]
    compiled = {
        made.__name__: len(made._dispatcher.signatures)
        for made in jit._kernels
        if made._dispatcher is not None
    }
    sys.stdout.write(json.dumps({"found": found, "entered": own, "specialisations": compiled}))


if __name__ == "__main__":
    main()
