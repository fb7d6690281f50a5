"""The body of a record: one annotation for each belief, and the constraints that it rests on.

Lines are made straight from the arrays and handed on a chunk at a time.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from rdf_kgeval.beliefs.table import Role, Triple
from rdf_kgeval.beliefs.terms import iri_term
from rdf_kgeval.common.http.credentials import is_public
from rdf_kgeval.common.text import web_address
from rdf_kgeval.common.types import Bools, Int8s, Int32s, Int64s, UInt8s
from rdf_kgeval.inference.explanation import Evidence, find_broken, find_evidence
from rdf_kgeval.namespaces import DCTERMS, DQV, KGE, OA, PROV, RDF, RDF_TYPE, RDFS, XSD
from rdf_kgeval.publishing.record import (
    Annotations,
    Form,
    Properties,
    Record,
    decimal,
    integer,
    moments,
    text,
)
from rdf_kgeval.verdicts.log import Answer, Verdict

_CHUNK = 1000
_LABELS = {1: "True", 0: "False", -1: "Unknown"}


def annotate(record: Record) -> Iterator[list[str]]:
    """Write lines about beliefs, then about constraints, in chunks."""
    evaluation = record.evaluation
    beliefs, inference = evaluation.graph.beliefs, evaluation.inference
    label = inference.label()
    chosen = np.flatnonzero(_chosen(record, label))
    rows = beliefs.rows[chosen]
    known = np.isin(rows, np.fromiter(inference.verdicts, np.int64, len(inference.verdicts)))
    inferred = rows[(label[chosen] >= 0) & ~known]
    evidence = find_evidence(inference, inferred)
    constraints = np.union1d(evidence.constraint, find_broken(inference))
    start, atom, is_head = _atoms(record, constraints)
    described = np.union1d(rows, atom).astype(np.int32)
    digests = np.zeros((len(described), 32), np.uint8)
    lines = _lines(record, described, rows, label[chosen], known, evidence, digests)
    yield from _chunks(lines)
    names = digests[np.searchsorted(described, atom)]
    yield from _chunks(_constraint_lines(record, constraints, start, names, is_head))


def _chosen(record: Record, label: Int8s) -> Bools:
    """Choose the beliefs to annotate, by position."""
    which = record.options.annotations
    asked = np.zeros(len(label), bool)
    asked[record.evaluation.asked] = True
    chosen: dict[Annotations, Bools] = {
        Annotations.KNOWN: np.logical_or(asked, label >= 0),
        Annotations.ASKED: asked,
        Annotations.WRONG: label == 0,
        Annotations.ALL: np.ones(len(label), bool),
    }
    return chosen[which]


def _atoms(record: Record, constraints: Int32s) -> tuple[Int64s, Int32s, Bools]:
    """Return where each constraint's beliefs begin, the beliefs, and which are heads; leave out others."""
    graph = record.evaluation.graph
    sizes = np.diff(graph.start)[constraints]
    first = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(graph.start[constraints] - first[:-1], sizes) + np.arange(first[-1])
    atom = graph.atom[places]
    own = np.zeros(graph.n_atoms, bool)
    own[: len(graph.beliefs)] = graph.beliefs.role == Role.BELIEF
    kept = own[atom]
    return np.concatenate([[0], np.cumsum(kept)])[first], atom[kept], graph.sign[places][kept] < 0


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _lines(
    record: Record,
    described: Int32s,
    rows: Int32s,
    label: Int8s,
    known: Bools,
    evidence: Evidence,
    digests: UInt8s,
) -> Iterator[str]:
    """Write each described belief's statement and, if it is among `rows`, its annotation; fill in digests."""
    state = _STATE_FORMS[record.options.form]
    votes = _votes(record)
    truth = np.round(record.evaluation.inference.x, 4)
    first = np.searchsorted(evidence.atom, rows)
    last = np.searchsorted(evidence.atom, rows, "right")
    end = record.end
    type_, target = f"> <{RDF_TYPE}> <{DQV}QualityAnnotation>{end}", f"> <{OA}hasTarget> "
    motivation = f"> <{OA}motivatedBy> <{DQV}qualityAssessment>{end}"
    activity = f"> <{PROV}wasGeneratedBy> {record.name('evaluation')}{end}"
    labels = {value: f"> <{KGE}label> <{KGE}{name}>{end}" for value, name in _LABELS.items()}
    sources = [f"> <{KGE}source> <{KGE}{name}>{end}" for name in ("Inferred", "Human")]
    truth_start, truth_end = f'> <{KGE}truth> "', f'"^^<{XSD}decimal>{end}'
    evidence_start = f"> <{KGE}evidence> "
    at = 0
    for number, row in enumerate(described.tolist()):
        triple = record.evaluation.graph.beliefs.triple(row)
        digest = sha256("{} {} {} .".format(*triple).encode())
        digests[number] = np.frombuffer(digest.digest(), np.uint8)
        id_ = digest.hexdigest()
        name = record.name("statement", id_)
        yield state(record, name, triple)
        if at == len(rows) or rows[at] != row:
            continue
        own = record.name("annotation", id_)[:-1]
        parts = [own, type_, own, target, name, end, own, motivation, own, activity]
        value = int(label[at])
        parts += [own, labels[value], own, truth_start, _fixed(float(truth[row])), truth_end]
        if value >= 0:
            parts += [own, sources[int(known[at])]]
        for j in evidence.constraint[first[at] : last[at]].tolist():
            parts += [own, evidence_start, record.name("constraint", j), end]
        if row in votes:
            parts += record.describe(f"{own}>", _vote_properties(record, votes[row]))
        yield "".join(parts)
        at += 1


def _fixed(value: float) -> str:
    text = f"{value:.4f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def _reified(record: Record, name: str, triple: Triple) -> str:
    s, p, o = (record.term(term) for term in triple)
    end = record.end
    return (
        f"{name} <{RDF_TYPE}> <{RDF}Statement>{end}{name} <{RDF}subject> {s}{end}"
        f"{name} <{RDF}predicate> {p}{end}{name} <{RDF}object> {o}{end}"
    )


def _in_named_graph(record: Record, name: str, triple: Triple) -> str:
    s, p, o = (record.term(term) for term in triple)
    return f"{name} <{RDF_TYPE}> <{KGE}Belief>{record.end}{s} {p} {o} {name} .\n"


def _as_triple_term(record: Record, name: str, triple: Triple) -> str:
    s, p, o = (record.term(term) for term in triple)
    end = record.end
    return f"{name} <{RDF_TYPE}> <{KGE}Belief>{end}{name} <{RDF}reifies> <<( {s} {p} {o} )>>{end}"


_STATE_FORMS = {
    Form.REIFICATION: _reified,
    Form.NAMED_GRAPHS: _in_named_graph,
    Form.TRIPLE_TERMS: _as_triple_term,
}


def _votes(record: Record) -> dict[int, list[Verdict]]:
    """Return the answers that stand by row, in the order of the log."""
    votes: dict[int, list[Verdict]] = {}
    for verdict in record.evaluation.standing:
        votes.setdefault(record.evaluation.graph.beliefs.row(verdict.belief), []).append(verdict)
    return votes


def _vote_properties(record: Record, verdicts: list[Verdict]) -> Properties:
    answers = Counter(verdict.answer for verdict in verdicts)
    for answer in Answer:
        yield f"{KGE}votes{answer.name.title()}", integer(answers[answer])
    yield KGE + "drawn", text(verdicts[0].drawn)
    if verdicts[0].probability is not None:
        yield KGE + "probability", decimal(verdicts[0].probability)
    for name in sorted({verdict.annotator for verdict in verdicts}):
        yield PROV + "wasAttributedTo", record.annotator(name)
    for time in moments(verdicts)[-1:]:
        yield PROV + "generatedAtTime", time
    for note in sorted({verdict.note for verdict in verdicts if verdict.note}):
        yield RDFS + "comment", text(note)
    for source in sorted({verdict.source for verdict in verdicts if verdict.source}):
        if web_address(source) and is_public(source):
            yield DCTERMS + "source", iri_term(source)


def _constraint_lines(
    record: Record,
    constraints: Int32s,
    start: Int64s,
    digests: UInt8s,
    is_head: Bools,
) -> Iterator[str]:
    """Write each constraint's rules and statements; `digests[start[i]:start[i + 1]]` name the latter."""
    graph, end = record.evaluation.graph, record.end
    rules = [record.digest_name("rule", rule.id) for rule in graph.rules]
    roles = [f" <{KGE}premise> ", f" <{KGE}conclusion> "]
    for i, j in enumerate(constraints.tolist()):
        name = record.name("constraint", j)
        lines = [f"{name} <{RDF_TYPE}> <{KGE}Constraint>{end}"]
        for rule in graph.rule[graph.rule_start[j] : graph.rule_start[j + 1]].tolist():
            lines.append(f"{name} <{KGE}rule> {rules[rule]}{end}")
        for k in range(start[i], start[i + 1]):
            statement = record.name("statement", digests[k].tobytes().hex())
            lines.append(f"{name}{roles[int(is_head[k])]}{statement}{end}")
        yield "".join(lines)
