"""Keep the constants of the calibrated methods, by margin and level; `benchmarks/calibrate.py` makes them.

They come from exact recursion and from simulation on synthetic labels, never from a real set.
"""

from rdf_kgeval.estimation.design import DesignOptions, Scale
from rdf_kgeval.estimation.intervals import quantile

Table = dict[float, dict[float, float]]

MARGINS = (0.03, 0.05, 0.1)
LEVELS = (0.9, 0.95, 0.99)

SHRINK = 0.5
"""Pseudo-counts on either side by which a posterior is shrunk: those of Jeffreys' prior."""

FACTORS: dict[str, Table] = {
    "overall": {
        0.03: {0.9: 1.07, 0.95: 1.05, 0.99: 1.04},
        0.05: {0.9: 1.08, 0.95: 1.05, 0.99: 1.03},
        0.1: {0.9: 1.1, 0.95: 1.05, 0.99: 1.02},
    },
    "predicate": {
        0.03: {0.9: 1.17, 0.95: 1.15, 0.99: 1.15},
        0.05: {0.9: 1.16, 0.95: 1.12, 0.99: 1.14},
        0.1: {0.9: 1.18, 0.95: 1.12, 0.99: 1.11},
    },
    "strict": {
        0.03: {0.9: 1.13, 0.95: 1.12, 0.99: 1.11},
        0.05: {0.9: 1.14, 0.95: 1.12, 0.99: 1.11},
        0.1: {0.9: 1.14, 0.95: 1.11, 0.99: 1.1},
    },
}
"""By how much z, the normal quantile of the mass at which `stratified/bayes` stops, exceeds the level's."""

ASSISTED_FACTORS: Table = {
    0.03: {0.9: 1.0, 0.95: 1.0, 0.99: 1.0},
    0.05: {0.9: 1.01, 0.95: 1.0, 0.99: 1.0},
    0.1: {0.9: 1.0, 0.95: 1.0, 0.99: 1.0},
}
"""The same for `assisted/difference`, whose variance has a reserve of its own: one draw entirely off."""

FIXED_WIDTH = {
    0.03: {0.9: (1.5, 1.707), 0.95: (1.5, 2.046), 0.99: (2.0, 2.668)},
    0.05: {0.9: (1.25, 1.745), 0.95: (1.5, 2.038), 0.99: (2.0, 2.661)},
    0.1: {0.9: (1.25, 1.766), 0.95: (1.5, 2.066), 0.99: (2.0, 2.662)},
}
"""Pseudo-counts and z of `srs/fixed-width`."""

FALLBACK = (
    f"the method is calibrated for margins from {MARGINS[0]:g} to {MARGINS[-1]:g} and levels from "
    f"{LEVELS[0]:g} to {LEVELS[-1]:g}; here anytime/betting takes its place, valid for all but slower"
)


def calibrated_margin(scale: Scale, options: DesignOptions) -> float | None:
    """Return the margin with which to sample, or None where no constants hold.

    What is known beforehand makes the margin for the rest wider; it is then kept to the widest calibrated
    one. Without a margin the constants of the middle one serve.
    """
    margin = options.margin or MARGINS[1]
    sampled = min(scale.margin(margin), MARGINS[-1])
    fits = MARGINS[0] <= margin <= MARGINS[-1] and MARGINS[0] <= sampled
    return sampled if fits and LEVELS[0] <= options.level <= LEVELS[-1] else None


def stopping_mass(margin: float, level: float, factors: Table) -> float:
    """Return the mass that an interval must hold, for any margin and level among the calibrated ones.

    Between them, the largest factor at the corners counts.
    """
    from scipy.special import ndtr

    factor = max(factors[m][v] for m in _around(margin, MARGINS) for v in _around(level, LEVELS))
    return float(2 * ndtr(factor * quantile(level)) - 1)


def fixed_width_constants(margin: float, level: float) -> tuple[float, float]:
    """Return pseudo-counts and z for any calibrated margin and level; in between, the safest."""
    corners = [(FIXED_WIDTH[m][v], v) for m in _around(margin, MARGINS) for v in _around(level, LEVELS)]
    shrink = max(a for (a, _), _ in corners)
    return shrink, quantile(level) * max(z / quantile(v) for (_, z), v in corners)


def _around(value: float, nodes: tuple[float, ...]) -> list[float]:
    value = min(max(value, nodes[0]), nodes[-1])
    below = max(node for node in nodes if node <= value)
    above = min(node for node in nodes if node >= value)
    return [below, above]
