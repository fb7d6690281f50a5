"""Run directories of evaluations in place: made by drawing, and drawn for more when the sample is used up.

Beside `config.json` and `verdicts.jsonl` they hold `draws.jsonl` and `rules.json`, from which `beliefs/` and
`coupling/` can be made again; each of these says after how many draws it was made.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rdf_kgeval.beliefs.table import Beliefs
from rdf_kgeval.common.disk import replacing, sha256_of
from rdf_kgeval.common.http.credentials import is_redacted
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import printable
from rdf_kgeval.coupling.graph import CouplingGraph, couple
from rdf_kgeval.errors import EndpointError, RunError
from rdf_kgeval.rules.rule import Rule, from_json, to_json
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.sources.draws.log import DrawLog, DrawLogRecord, beliefs_of, notes_of, read_draws
from rdf_kgeval.sources.draws.sampler import ChangedError, InPlaceSampler, check_in_place
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.load import InPlace, Loaded, Sources, read_context
from rdf_kgeval.sources.scope import Scope, parse_scope_query


def draw_run(
    folder: Path, sources: Sources, rules: Sequence[Rule], *, mine: bool, progress: Progress
) -> Loaded:
    """Draw the first sample into a folder, or go on where an earlier drawing stopped."""
    assert sources.endpoint  # noqa: S101
    assert sources.in_place  # noqa: S101
    check_in_place(sources.scope, sources.files, mine)
    context, digests = read_context(sources, progress)
    scope = sources.scope
    plan = json.dumps(
        {
            "endpoint": sources.endpoint.name,
            "scope": [scope.predicates, scope.graph, scope.query.text if scope.query else None],
            "options": asdict(sources.in_place),
            "context": digests,
            "labels": list(sources.label_properties),
            "rules": [to_json(rule) for rule in rules],
        },
        indent=1,
        ensure_ascii=False,
    )
    layout = RunLayout(folder)
    saved = layout.draw_plan
    if not saved.exists() or saved.read_text(encoding="utf-8") != plan:
        layout.draws.unlink(missing_ok=True)
        saved.write_text(plan, encoding="utf-8")
    layout.drawn_rules.write_text(
        json.dumps([to_json(rule) for rule in rules], ensure_ascii=False), encoding="utf-8"
    )
    with DrawLog(layout.draws) as log:
        sampler = InPlaceSampler(
            log, sources.endpoint, scope, sources.in_place, rules, sources.label_properties, progress
        )
        try:
            sampler.begin(context)
        except ChangedError as error:
            layout.draws.unlink()
            raise EndpointError(f"{error}; run the command again") from error
        beliefs, notes = sampler.beliefs(), sampler.notes()
    saved.unlink()
    return Loaded(beliefs=beliefs, digests=digests, notes=notes)


def save_graph(folder: Path, graph: CouplingGraph) -> None:
    """Write the beliefs at hand and what couples them, in place of what is there."""
    layout = RunLayout(folder)
    draws = len(read_draws(layout.draws))
    for path, part in ((layout.beliefs, graph.beliefs), (layout.coupling, graph)):
        with replacing(path) as new:
            shutil.rmtree(new, ignore_errors=True)
            part.save(new)
            layout.after_draws(new).write_text(_seal(new, draws), encoding="utf-8")
            shutil.rmtree(path, ignore_errors=True)


def _seal(part: Path, draws: int) -> str:
    """After how many draws a part of a run was made, and the digests of its files."""
    files = sorted(path for path in part.iterdir() if path != RunLayout.after_draws(part))
    return "\n".join([str(draws), *(f"{path.name} {sha256_of(path)}" for path in files)])


def load_graph(folder: Path, config: dict[str, Any]) -> CouplingGraph:
    """The beliefs at hand and what couples them; made again where a stopped kgeval has not come to it."""
    layout = RunLayout(folder)
    records = read_draws(layout.draws)
    with suppress(OSError, RunError):
        if all(layout.after_draws(part).read_text() == _seal(part, len(records)) for part in layout.parts):
            return CouplingGraph.load(layout.coupling, Beliefs.load(layout.beliefs))
    return _make_graph(folder, config, records)


def read_notes(folder: Path) -> list[str]:
    """What the user should know of the draws."""
    return notes_of(read_draws(RunLayout(folder).draws))


def _make_graph(folder: Path, config: dict[str, Any], records: Sequence[DrawLogRecord]) -> CouplingGraph:
    limit = config["in_place"]["max_groundings"]
    return couple(beliefs_of(records), _rules(folder), max_groundings=limit)


def _rules(folder: Path) -> list[Rule]:
    path = RunLayout(folder).drawn_rules
    try:
        return [from_json(rule) for rule in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{printable(str(path))} is missing or damaged; make the run again") from error


def draw_more(
    folder: Path, config: dict[str, Any], short: Iterable[str], endpoint: Endpoint | None, progress: Progress
) -> CouplingGraph:
    """Draw more of the predicates that are used up; the beliefs then at hand, on disk too.

    Raises:
        EndpointError: the endpoint fails; what was there stays.
    """
    with DrawLog(RunLayout(folder).draws) as log:
        _sampler(folder, config, log, endpoint, progress).extend(short)
        graph = _make_graph(folder, config, log.records)
    save_graph(folder, graph)
    return graph


def notice_change(
    folder: Path, config: dict[str, Any], endpoint: Endpoint | None, progress: Progress
) -> str | None:
    """Whether the store has changed since it was last counted, in a sentence; the log keeps it."""
    with DrawLog(RunLayout(folder).draws) as log:
        found = _sampler(folder, config, log, endpoint, progress).notice_change()
        graph = _make_graph(folder, config, log.records) if found else None
    if graph:
        save_graph(folder, graph)
    return found


def _sampler(
    folder: Path, config: dict[str, Any], log: DrawLog, endpoint: Endpoint | None, progress: Progress
) -> InPlaceSampler:
    kept, options = config["scope"], config["in_place"]
    if endpoint is None:
        if is_redacted(config["endpoint"]):
            raise RunError(
                f"the run {printable(str(folder))} does not keep the secret in the endpoint's URL; go on "
                "with kgeval evaluate --endpoint URL --in-place --run"
            )
        retry = RetryPolicy(
            timeout=options["timeout"], deadline=max(600.0, options["timeout"]), rate=options["rate"]
        )
        endpoint = Endpoint(config["endpoint"], retry=retry)
    scope = Scope(
        predicates=tuple(kept["predicates"]),
        graph=kept["graph"],
        query=parse_scope_query(kept["query"]) if kept["query"] else None,
    )
    drawing = InPlace(**{name: options[name] for name in ("seed", "hops", "parallel", "reserve")})
    return InPlaceSampler(
        log, endpoint, scope, drawing, _rules(folder), config["labels"]["properties"], progress
    )
