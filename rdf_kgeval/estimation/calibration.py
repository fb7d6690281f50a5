"""The constants of the calibrated methods, by margin and level; `benchmarks/calibrate.py` reproduces them.

They come from exact recursion and from simulation on synthetic labels, never from a real set.
"""

from rdf_kgeval.estimation.design import Options, Scale
from rdf_kgeval.estimation.intervals import quantile
from rdf_kgeval.estimation.window import Shape

Table = dict[float, dict[float, float]]

MARGINS = (0.03, 0.05, 0.1)
LEVELS = (0.9, 0.95, 0.99)

SHRINK = 0.4
"""Pseudo-counts on either side by which the posterior of `stratified/bayes` is shrunk."""

SHAPE = {
    False: Shape((0.0, 0.4, 1.0, 1.6, 2.4, 4.0, 10.0), (0.973, 0.935, 1.024, 0.931, 0.89, 1.051, 0.989)),
    True: Shape((0.0, 0.4, 1.0, 1.6, 2.4, 4.0, 10.0), (0.755, 0.939, 1.11, 1.007, 0.973, 1.122, 0.979)),
}
"""How z varies with the estimate, by `strict`; found for simple random samples."""

Z = {
    False: {
        0.03: {0.9: 1.809, 0.95: 2.078, 0.99: 2.73},
        0.05: {0.9: 1.776, 0.95: 2.078, 0.99: 2.73},
        0.1: {0.9: 1.793, 0.95: 2.078, 0.99: 2.808},
    },
    True: {
        0.03: {0.9: 1.793, 0.95: 2.117, 0.99: 2.833},
        0.05: {0.9: 1.793, 0.95: 2.097, 0.99: 2.859},
        0.1: {0.9: 1.793, 0.95: 2.136, 0.99: 2.885},
    },
}
"""What the shape's factors multiply, for `stratified/bayes`, by `strict`."""

ASSISTED_SHRINK = 0.5
ASSISTED_Z = {margin: {level: 1.1 * quantile(level) for level in LEVELS} for margin in MARGINS}
"""The same for `assisted/difference`: not fitted, but set with a reserve and checked by coverage.py."""

FIXED_WIDTH = {
    0.03: {0.9: (1.5, 1.707), 0.95: (1.5, 2.046), 0.99: (2.0, 2.668)},
    0.05: {0.9: (1.25, 1.745), 0.95: (1.5, 2.038), 0.99: (2.0, 2.661)},
    0.1: {0.9: (1.25, 1.766), 0.95: (1.25, 2.109), 0.99: (2.0, 2.662)},
}
"""Pseudo-counts and z of `srs/fixed-width`."""

FALLBACK = (
    f"the method is calibrated for margins from {MARGINS[0]:g} to {MARGINS[-1]:g} and levels from "
    f"{LEVELS[0]:g} to {LEVELS[-1]:g}; here anytime/betting takes its place, valid for all but slower"
)


def calibrated_margin(scale: Scale, options: Options) -> float | None:
    """The margin with which to sample, or None where no constants hold.

    What is known beforehand makes the margin for the rest wider; it is then kept to the widest calibrated
    one. Without a margin the constants of the middle one serve.
    """
    margin = options.margin or MARGINS[1]
    sampled = min(scale.margin(margin), MARGINS[-1])
    fits = MARGINS[0] <= margin <= MARGINS[-1] and MARGINS[0] <= sampled
    return sampled if fits and LEVELS[0] <= options.level <= LEVELS[-1] else None


def stopping_z(margin: float, level: float, table: Table) -> float:
    """Z for any margin and level among the calibrated ones.

    Between them, it exceeds the normal quantile of the level by the largest factor at the corners.
    """
    corners = [(m, v) for m in _around(margin, MARGINS) for v in _around(level, LEVELS)]
    return quantile(level) * max(table[m][v] / quantile(v) for m, v in corners)


def fixed_width_constants(margin: float, level: float) -> tuple[float, float]:
    """Pseudo-counts and z for any margin and level among the calibrated ones; the careful ends in between."""
    corners = [(FIXED_WIDTH[m][v], v) for m in _around(margin, MARGINS) for v in _around(level, LEVELS)]
    shrink = max(a for (a, _), _ in corners)
    return shrink, quantile(level) * max(z / quantile(v) for (_, z), v in corners)


def _around(value: float, nodes: tuple[float, ...]) -> list[float]:
    value = min(max(value, nodes[0]), nodes[-1])
    below = max(node for node in nodes if node <= value)
    above = min(node for node in nodes if node >= value)
    return [below, above]
