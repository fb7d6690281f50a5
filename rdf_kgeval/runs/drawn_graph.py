"""Keep the drawn beliefs of an evaluation in place, and what couples them.

Beside `config.json` and `verdicts.jsonl` such a run holds `draws.jsonl` and `rules.json`, from which
`beliefs/` and `coupling/` can be made again; each of these says after how many draws it was made.
"""

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.disk import replacing, sha256_of
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.errors import RunError
from rdf_kgeval.rules.rule import Rule, from_json
from rdf_kgeval.runs.config import RunConfig
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.sources.draws.log import DrawLogRecord, accounts_of, beliefs_of, notes_of, read_draws


def save_graph(layout: RunLayout, graph: CouplingGraph) -> None:
    """Write the drawn beliefs and what couples them, in place of what is there."""
    draws = len(read_draws(layout.draws))
    for path, part in ((layout.beliefs, graph.beliefs), (layout.coupling, graph)):
        with replacing(path) as new:
            shutil.rmtree(new, ignore_errors=True)
            part.save(new)
            layout.after_draws(new).write_text(_seal(new, draws), encoding="utf-8")
            shutil.rmtree(path, ignore_errors=True)


def _seal(part: Path, draws: int) -> str:
    """Return the number of draws after which a part of a run was made, and the digests of its files."""
    files = sorted(path for path in part.iterdir() if path != RunLayout.after_draws(part))
    return "\n".join([str(draws), *(f"{path.name} {sha256_of(path)}" for path in files)])


def load_graph(layout: RunLayout, max_groundings: int, prefixes: Prefixes) -> CouplingGraph:
    """Load the drawn beliefs and what couples them; make both again where they are older than the draws."""
    records = read_draws(layout.draws)
    with suppress(OSError, RunError):
        if all(layout.after_draws(part).read_text() == _seal(part, len(records)) for part in layout.parts):
            return CouplingGraph.load(layout.coupling, Beliefs.load(layout.beliefs, prefixes))
    return couple_drawn(layout, records, max_groundings, prefixes)


def couple_drawn(
    layout: RunLayout, records: Sequence[DrawLogRecord], max_groundings: int, prefixes: Prefixes
) -> CouplingGraph:
    """Couple the beliefs of a log of draws by the run's rules."""
    beliefs = beliefs_of(records).with_prefixes(prefixes)
    return couple(beliefs, read_drawn_rules(layout), max_groundings=max_groundings)


def of_draws(config: RunConfig, layout: RunLayout, beliefs: Beliefs) -> RunConfig:
    """Return a run's record with what its draws say now: notes, and the accounts of the store's triples."""
    records = read_draws(layout.draws)
    return replace(config, notes=tuple(notes_of(records)), accounts=accounts_of(records, beliefs))


def read_drawn_rules(layout: RunLayout) -> list[Rule]:
    """Read the rules that drawn beliefs are coupled by.

    Raises:
        RunError: the file is missing or damaged.
    """
    path = layout.drawn_rules
    try:
        return [from_json(rule) for rule in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{printable(str(path))} is missing or damaged; make the run again") from error
