"""Show the method on the paper's example, which ships with the package: `demo`."""

from pathlib import Path

import typer

from rdf_kgeval.cli.output import sentence
from rdf_kgeval.cli.terminal import say
from rdf_kgeval.common.text import plural


def demo() -> None:
    """Evaluate the eight beliefs of the paper's motivating example, with every question and every reason."""
    from rdf_kgeval.beliefs.names import Names
    from rdf_kgeval.coupling.graph import couple
    from rdf_kgeval.evaluation.consult import consult
    from rdf_kgeval.evaluation.settings import Settings
    from rdf_kgeval.evaluation.state import State
    from rdf_kgeval.inference.explanation import explain, reason
    from rdf_kgeval.rules.dialects import read_rules
    from rdf_kgeval.rules.ontology import read_ontology
    from rdf_kgeval.sources.load import read_beliefs
    from rdf_kgeval.verdicts.gold import GoldOracle

    folder = resource("examples/motivating")
    rules = read_ontology(folder / "ontology.ttl") + read_rules(folder / "rules")
    graph = couple(read_beliefs(folder / "kg.ttl"), rules)
    oracle = GoldOracle(folder / "gold.csv")
    words = Names(beliefs=graph.beliefs)
    evaluation = State(graph, Settings().changed(policy="greedy", seed_size=0))
    say(f"{plural(graph.n_beliefs, 'belief')}, tied together by {plural(graph.n_constraints, 'constraint')}.")
    known: set[int] = set()

    def tell(evaluation: State) -> None:
        verdict = evaluation.standing[-1]
        position = evaluation.position(verdict.belief)
        typer.echo(f"\nasked: {evaluation.question(position).sentence}? {verdict.answer}")
        known.add(position)
        inference = evaluation.inference
        for other, label in enumerate(inference.label().tolist()):
            if label >= 0 and other not in known:
                known.add(other)
                row = int(graph.beliefs.rows[other])
                why = reason(explain(inference, row, most=1), lambda atom: words.in_words(graph.triple(atom)))
                typer.echo(f"  so it is {'true' if label else 'false'} that {words.sentence(row)}: {why}")

    consult(evaluation, oracle, on_answer=tell)
    typer.echo(f"\n{sentence(evaluation.result())}")


def resource(name: str) -> Path:
    """Find a shipped file or folder, in an installed wheel as in a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "data" / name
    return shipped if shipped.exists() else package.parent / name
