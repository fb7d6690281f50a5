"""The text and the figures of COVERAGE.md."""

import numpy as np
from interval_runs import BUDGETS, BY_PREDICATE, DEFAULT, METHODS, PARTS, STRICT, STRICT_METHODS, SWEEP

from rdf_kgeval.estimation.calibration import LEVELS, MARGINS

SURE = 2.326
"""Standard errors up to the 99 % upper bound of a simulated coverage."""
ENOUGH = 5000
"""With fewer seeds a point, not to be contradicted says little."""
SHOWN = [0.605, 0.77, 0.935, 0.99]
"""Accuracies at which labels are shown."""
COLOURS = {
    DEFAULT: "#0b5fa5",
    STRICT: "#5b2a86",
    "srs/wilson": "#1b7f3b",
    "srs/ahpd": "#c23b22",
    "srs/fixed-width": "#7a7a7a",
    "twcs/wilson": "#e08a00",
    "twcs/ahpd": "#d1548f",
    "anytime/betting": "#00919b",
    "assisted/difference": "#8a6d3b",
}


def promise(curves, level, strict):
    """Pooled coverage (least and mean over curves), the worst point, and whether the promise is kept.

    It is, unless the 99 % upper bound of a simulated coverage lies below what was promised.
    """
    pooled, worst, kept = [], [], True
    for c in curves:
        covered = np.array(c["coverage"])
        error = np.sqrt(covered * (1 - covered) / c["seeds"]) if c["seeds"] else np.zeros(len(covered))
        pooled.append(covered.mean())
        worst.append(covered.min())
        kept &= bool((covered + SURE * error >= (level if strict else level - 0.02) - 1e-9).all())
        kept &= bool(covered.mean() + SURE * error.mean() / np.sqrt(len(covered)) >= level)
    return min(pooled), float(np.mean(pooled)), min(worst), kept


def sweep_of(results):
    return [c for part in SWEEP if part in results for c in results[part]["found"]]


def select(results, **wanted):
    return [c for c in sweep_of(results) if all(c[k] == v for k, v in wanted.items())]


def plain(curves):
    """Without those whose forecasts helped or misled."""
    return [c for c in curves if c.get("forecast", "none") == "none"]


def draw(results, folder):
    """Coverage and labels against accuracy, and the default's coverage at every margin and level."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {"svg.hashsalt": "kgeval", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    wilson = select(results, method="srs/wilson", margin=0.05, level=0.95)[0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    left.axhspan(0.93, 0.95, color="#dddddd", lw=0, label="at most 2 points below")
    left.axhline(0.95, color="black", lw=0.8)
    for method, colour in COLOURS.items():
        curves = plain(select(results, method=method, margin=0.05, level=0.95))
        if not curves:
            continue
        x = np.array(curves[0]["accuracy"])
        covered, labels = (np.array([c[k] for c in curves]) for k in ("coverage", "labels"))
        wide = 2 if method == DEFAULT else 1.3
        left.plot(x, covered.mean(axis=0), color=colour, label=method, lw=wide)
        ratio = labels.mean(axis=0) / np.interp(x, wilson["accuracy"], wilson["labels"])
        right.plot(x, ratio, color=colour, lw=wide)
        if method in (DEFAULT, STRICT):
            left.fill_between(x, covered.min(axis=0), covered.max(axis=0), color=colour, alpha=0.18, lw=0)
    left.set(
        ylim=(0.74, 1.005),
        xlabel="accuracy of the graph",
        ylabel="coverage, stopping included",
        title="Who keeps 95 % (margin 0.05)",
    )
    left.legend(loc="lower left", fontsize=8, frameon=False, ncols=2)
    right.axhline(1, color="black", lw=0.8)
    right.set(
        ylim=(0.6, 2.2),
        xlabel="accuracy of the graph",
        ylabel="labels, over those of srs/wilson",
        title="What it costs",
    )
    figure.savefig(folder / "coverage-methods.svg", metadata={"Date": None})
    plt.close(figure)

    figure, axes = plt.subplots(
        len(MARGINS), len(LEVELS), figsize=(11, 8.5), sharex=True, layout="constrained"
    )
    for row, margin in zip(axes, MARGINS, strict=True):
        for axis, level in zip(row, LEVELS, strict=True):
            axis.axhspan(level - 0.02, level, color="#dddddd", lw=0)
            axis.axhline(level, color="black", lw=0.8)
            for method in (DEFAULT, STRICT, "assisted/difference", "srs/wilson", "srs/ahpd"):
                curves = plain(select(results, method=method, margin=margin, level=level))
                if not curves:
                    continue
                x, covered = curves[0]["accuracy"], np.array([c["coverage"] for c in curves])
                axis.plot(x, covered.mean(axis=0), color=COLOURS[method], label=method, lw=1.3)
                axis.fill_between(
                    x, covered.min(axis=0), covered.max(axis=0), color=COLOURS[method], alpha=0.18, lw=0
                )
            axis.set(
                ylim=(level - 0.12 * (1 - level) / 0.05 - 0.02, 1.002),
                title=f"margin {margin:g}, level {level:g}",
            )
    axes[0, 0].legend(fontsize=8, frameon=False, loc="lower left")
    figure.supxlabel("accuracy of the graph")
    figure.supylabel("coverage")
    figure.savefig(folder / "coverage-grid.svg", metadata={"Date": None})
    plt.close(figure)


def report_real(results):
    """The real sets: labels and coverage with each method's own stop, and errors at a budget."""
    runs = results["real"]["found"]["runs"]
    text = [
        "## (a) Real sets",
        "",
        "Margin 0.05, level 0.95, each with its own stop.",
        "",
        "| set | method | seeds | labels (sd) | over srs/wilson | coverage | of predicates | error overall | error by predicate | hours |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in runs:
        if not r["budget"]:
            wilson = next(
                w["mean"][0]
                for w in runs
                if (w["set"], w["method"], w["budget"]) == (r["set"], "srs/wilson", None)
            )
            labels, covered, error, by_predicate, inside, hours = r["mean"]
            text.append(
                f"| {r['set']} | {r['method']} | {r['seeds']} | {labels:.1f} ({r['sd'][0]:.1f}) | {labels / wilson:.2f} | "
                f"{covered:.3f} | {'' if np.isnan(inside) else f'{inside:.3f}'} | {error:.2%} | {by_predicate:.2%} | {hours:.2f} |"
            )
    text += [
        "",
        "Errors at the paper's budgets, means over seeds, each seed with a simple random sample of the same size",
        "(`random`) beside it; `known` is the allocation of someone who knows each predicate's accuracy. The paper reports",
        "0.5 % overall and 3.6 % by predicate on `nell-sports`, 0.1 % and 0.7 % on `yago2-sample`; where that lies below",
        "`known`, it can only be a lucky run.",
        "",
        "| set | budget | objective | seeds | error overall (sd) | against random (standard error) | error by predicate (sd) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, known in results["real"]["found"]["known"].items():
        rows = {r["objective"] or "random": r for r in runs if r["set"] == name and r["budget"]}
        random = rows["random"]["mean"][2]
        text.append(
            f"| {name} | {BUDGETS[name]} | known | 4000 | {known:.2%} | {known / random - 1:+.1%} | |"
        )
        for objective, r in rows.items():
            ratio = r["mean"][2] / random
            spread = np.hypot(r["sd"][2] / r["mean"][2], rows["random"]["sd"][2] / random)
            against = f"{ratio - 1:+.1%} ({ratio * spread / np.sqrt(r['seeds']):.1%})"
            text.append(
                f"| {name} | {r['budget']} | {objective} | {r['seeds']} | {r['mean'][2]:.2%} ({r['sd'][2]:.2%}) | "
                f"{'' if objective == 'random' else against} | {r['mean'][3]:.2%} ({r['sd'][3]:.2%}) |"
            )
    return text


def report_predicates(found):
    """The default's intervals of predicates."""
    return [
        "",
        "How often the default's intervals of predicates hold the truth, on average over predicates and the accuracies",
        "0.55 to 0.99 (margin 0.05, level 0.95):",
        "",
        "| structure | effects | seeds | coverage (standard error) | at the worst accuracy |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {c['structure']} | {c['effects']} | {c['seeds']} | {np.mean(c['coverage']):.3f} ({c['error']:.3f}) | {min(c['coverage']):.3f} |"
            for c in found
        ),
    ]


def report_sweep(results):
    """The synthetic sweep: each method at each margin and level, and each structure at the default ones."""
    text = [
        "## (b) Synthetic sweep",
        "",
        "Labels with random predicate and subject effects on the structure of both real sets and of generated graphs;",
        "`assisted/difference` with forecasts that know nothing, help and mislead.",
        "",
        f"| method | margin | level | curves | pooled, lowest curve | pooled, mean | worst point | keeps its promise | labels at {' / '.join(map(str, SHOWN))} |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for margin in MARGINS:
        for level in LEVELS:
            for method in (*METHODS, BY_PREDICATE, *STRICT_METHODS):
                curves = select(results, method=method, margin=margin, level=level)
                if curves:
                    low, mean, worst, kept = promise(curves, level, method in STRICT_METHODS)
                    few = any(c["seeds"] is not None and c["seeds"] < ENOUGH for c in curves)
                    verdict = "no" if not kept else "not contradicted" if few else "yes"
                    labels = np.mean(
                        [np.interp(SHOWN, c["accuracy"], c["labels"]) for c in plain(curves)], axis=0
                    )
                    text.append(
                        f"| {method} | {margin:g} | {level:g} | {len(curves)} | {low:.3f} | {mean:.3f} | {worst:.3f} | "
                        f"{verdict} | {' / '.join(f'{x:.0f}' for x in labels)} |"
                    )
    text += [
        "",
        "![the default at every margin and level](figures/coverage-grid.svg)",
        "",
    ]
    if "predicates" in results:
        text += report_predicates(results["predicates"]["found"])
    text += [
        "",
        "Each structure and kind of effects, margin 0.05, level 0.95:",
        "",
        "| method | structure | effects | forecast | seeds | pooled | worst | at accuracy |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for c in sweep_of(results):
        if (c["margin"], c["level"]) == (0.05, 0.95) and c["structure"] != "any":
            covered = np.array(c["coverage"])
            text.append(
                f"| {c['method']} | {c['structure']} | {c['effects']} | {c.get('forecast', '')} | {c['seeds']} | "
                f"{covered.mean():.3f} | {covered.min():.3f} | {c['accuracy'][int(covered.argmin())]:g} |"
            )
    return text


def report(results):
    """The text of COVERAGE.md."""
    seeds = ", ".join(
        f"{part} {results[part]['seeds']:,}" for part in SWEEP if part in results and part != "exact"
    )
    missing = ", ".join(part for part in PARTS if part not in results)
    absent = f"Not yet measured: {missing}. " if missing else ""
    cpu_minutes = sum(part["cpu_minutes"] for part in results.values())
    text = [
        "# Coverage, measured by benchmarks/intervals.py",
        "",
        "Exact recursion for `srs` and `anytime`, else seeds a point: "
        f"{seeds}. {absent}"
        f"{cpu_minutes:.0f} minutes of CPU in all, half as long on two cores. "
        "The promise: pooled over accuracies 0.55 to 0.99, stopping included, coverage is at least "
        "the level, and at no accuracy more than 2 points below it; `strict`: at least the level at every accuracy. A "
        "method keeps it if no 99 % upper bound of a simulated coverage lies below what it promises. All constants come "
        "from `benchmarks/calibrate.py`, which uses synthetic labels on generated structures only.",
        "",
        "![coverage and labels against accuracy](figures/coverage-methods.svg)",
        "",
        "Bands: from the lowest to the highest of the structures and effects.",
        "",
        *report_real(results),
        "",
        *report_sweep(results),
    ]
    return "\n".join(text) + "\n"
