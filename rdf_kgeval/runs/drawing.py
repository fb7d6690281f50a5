"""Draw beliefs from an endpoint into a run: the first sample, and more of it when it is used up."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from rdf_kgeval.common.http.credentials import is_redacted
from rdf_kgeval.common.progress import Progress
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import EndpointError, RunError
from rdf_kgeval.rules.rule import Rule, to_json
from rdf_kgeval.runs.config import InPlaceConfig
from rdf_kgeval.runs.drawn_graph import couple_drawn, of_draws, read_drawn_rules, save_graph
from rdf_kgeval.runs.layout import RunLayout
from rdf_kgeval.runs.run import Run
from rdf_kgeval.sources.draws.log import DrawLog, accounts_of
from rdf_kgeval.sources.draws.sampler import ChangedError, InPlaceSampler, check_in_place
from rdf_kgeval.sources.endpoint.client import Endpoint, RetryPolicy
from rdf_kgeval.sources.load import InPlace, Loaded, Sources, read_context
from rdf_kgeval.sources.scope import Scope, parse_scope_query


def draw_first(
    layout: RunLayout, sources: Sources, rules: Sequence[Rule], *, mine: bool, progress: Progress
) -> Loaded:
    """Draw the first sample into a new run, or go on where an earlier drawing stopped."""
    assert sources.endpoint  # noqa: S101
    assert sources.in_place  # noqa: S101
    check_in_place(sources.scope, sources.files, mine)
    context, context_read, digests = read_context(sources, progress)
    rules = [rule.resolved(context) for rule in rules]
    known = sources.resolved(context.prefixes)
    scope, labels = known.scope, known.label_properties
    plan = json.dumps(
        {
            "endpoint": sources.endpoint.name,
            "scope": [scope.predicates, scope.graph, scope.query.text if scope.query else None],
            "options": asdict(sources.in_place),
            "context": digests,
            "labels": list(labels),
            "rules": [to_json(rule) for rule in rules],
        },
        indent=1,
        ensure_ascii=False,
    )
    saved = layout.draw_plan
    if not saved.exists() or saved.read_text(encoding="utf-8") != plan:
        layout.draws.unlink(missing_ok=True)
        saved.write_text(plan, encoding="utf-8")
    layout.drawn_rules.write_text(
        json.dumps([to_json(rule) for rule in rules], ensure_ascii=False), encoding="utf-8"
    )
    with DrawLog(layout.draws) as log:
        sampler = InPlaceSampler(log, sources.endpoint, scope, sources.in_place, rules, labels, progress)
        try:
            sampler.begin(context, context_read)
        except ChangedError as error:
            layout.draws.unlink()
            raise EndpointError(f"{error}; run the command again") from error
        beliefs, notes = sampler.beliefs(), sampler.notes()
        beliefs = replace(beliefs, accounts=accounts_of(log.records, beliefs))
    saved.unlink()
    beliefs = beliefs.with_prefixes(context.prefixes)
    return Loaded(beliefs=beliefs, digests=digests, notes=notes, sources=known)


def draw_more(run: Run, short: Iterable[str], endpoint: Endpoint | None, progress: Progress) -> Run:
    """Draw more of the predicates that are used up, and return the run with them.

    Raises:
        EndpointError: the endpoint fails; all verdicts and draws are kept.
    """
    drawn = _in_place(run)
    try:
        with DrawLog(run.layout.draws) as log:
            _sampler(run, drawn, log, endpoint, progress).extend(short)
            graph = couple_drawn(run.layout, log.records, drawn.max_groundings, run.beliefs.prefixes)
    except EndpointError as error:
        raise type(error)(
            f"{error} (the sample is used up and more must be drawn; all answers are kept: the same command "
            "goes on from here)"
        ) from error
    save_graph(run.layout, graph)
    return replace(run, graph=graph, config=of_draws(run.config, run.layout, graph.beliefs))


def look_for_changes(run: Run, endpoint: Endpoint | None, progress: Progress) -> str | None:
    """Count the store again; say in a sentence what users must know of it since it was first counted."""
    drawn = _in_place(run)
    try:
        with DrawLog(run.layout.draws) as log:
            found = _sampler(run, drawn, log, endpoint, progress).notice_change()
            prefixes = run.beliefs.prefixes
            graph = couple_drawn(run.layout, log.records, drawn.max_groundings, prefixes) if found else None
    except EndpointError as error:
        return f"whether the store has changed since it was counted is not known: {error}"
    if graph:
        save_graph(run.layout, graph)
    return found


def _in_place(run: Run) -> InPlaceConfig:
    assert run.config.in_place  # noqa: S101
    return run.config.in_place


def _sampler(
    run: Run, drawn: InPlaceConfig, log: DrawLog, endpoint: Endpoint | None, progress: Progress
) -> InPlaceSampler:
    config = run.config
    if endpoint is None:
        assert config.endpoint  # noqa: S101
        if is_redacted(config.endpoint):
            raise RunError(
                f"the run {printable(str(run.folder))} does not keep the secret in the endpoint's URL; go on "
                "with kgeval evaluate --endpoint URL --in-place --run"
            )
        retry = RetryPolicy(timeout=drawn.timeout, rate=drawn.rate)
        endpoint = Endpoint(config.endpoint, retry=retry)
    query = config.scope.query
    scope = Scope(
        predicates=config.scope.predicates,
        graph=config.scope.graph,
        query=parse_scope_query(query) if query else None,
    )
    options = InPlace(seed=drawn.seed, hops=drawn.hops, parallel=drawn.parallel, reserve=drawn.reserve)
    rules = read_drawn_rules(run.layout)
    return InPlaceSampler(log, endpoint, scope, options, rules, config.labels.properties, progress)
