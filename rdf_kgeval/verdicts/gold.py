"""Answer from a file that has the labels of beliefs, as CSV or as RDF."""

from pathlib import Path

import pyoxigraph as ox

from rdf_kgeval.beliefs.prefixes import Prefixes
from rdf_kgeval.beliefs.table import Triple
from rdf_kgeval.beliefs.terms import cell_term, oxigraph_text, parse_term
from rdf_kgeval.common.arguments import expect
from rdf_kgeval.common.tables import read_rows
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.namespaces import KGE, RDF
from rdf_kgeval.sources.files import opened
from rdf_kgeval.verdicts.log import Answer
from rdf_kgeval.verdicts.oracles import Question

_COLUMNS = ("subject", "predicate", "object", "label")
_LABELS = {"1": True, "true": True, "0": False, "false": False}


class GoldOracle:
    """Answer from a file that has the labels.

    Args:
        path: CSV with the columns subject, predicate, object and label, or RDF in which statements are
            described by rdf:subject, rdf:predicate, rdf:object and kge:label.
    """

    annotator = "gold"
    interactive = False

    def __init__(self, path: Path | str) -> None:
        need = "GoldOracle takes the path of a file of labels"
        remedy = "of labels in Python, make a function: lambda question: labels[question.triple]"
        self._path = Path(str(expect(path, (str, Path), need, remedy)))
        self.labels = read_gold(self._path)
        self._by_prefixes = False

    def ask(self, question: Question) -> Answer:
        """Return the label in the file.

        Raises:
            InputError: the file has no label for the belief.
        """
        label = self.labels.get(question.triple)
        if label is None and not self._by_prefixes:
            self._by_prefixes = True  # the file may have CURIEs, whose prefixes the graph declares
            self.labels = read_gold(self._path, question.names.beliefs.prefixes)
            label = self.labels.get(question.triple)
        if label is None:
            raise InputError(
                f"{printable(str(self._path))} has no label for {printable(' '.join(question.triple), 300)}; "
                "add one, or leave the triple out of the scope"
            )
        return Answer.TRUE if label else Answer.FALSE


def read_gold(path: Path, prefixes: Prefixes | None = None) -> dict[Triple, bool]:
    """Read labels from a CSV file, or from RDF if the file's name says so.

    The columns of the CSV are subject, predicate, object and label. Terms are plain IRIs, N-Triples terms,
    or CURIEs with one of the prefixes; a label is 1, 0, true or false, or empty for no label.

    Raises:
        InputError: the file cannot be read, or a triple has two labels.
    """
    return _read_csv(path, prefixes or Prefixes()) if path.suffix.lower() in (".csv", "") else _read_rdf(path)


def _read_rdf(path: Path) -> dict[Triple, bool]:
    name = printable(str(path))
    found: dict[str, dict[str, str]] = {}
    with opened(path, None, lambda *_: None) as (file, rdf_format, _):
        for quad in ox.parse(file, format=rdf_format):
            found.setdefault(str(quad.subject), {})[quad.predicate.value] = oxigraph_text(quad.object)
    gold: dict[Triple, bool] = {}
    for node in found.values():
        if f"{KGE}label" not in node:
            continue
        try:
            triple = (node[f"{RDF}subject"], node[f"{RDF}predicate"], node[f"{RDF}object"])
        except KeyError as error:
            raise InputError(
                f"{name}: a statement has kge:label but no {printable(str(error.args[0]))}; add it"
            ) from error
        literal = parse_term(node[f"{KGE}label"])
        text = literal.value if isinstance(literal, ox.Literal) else ""
        if text not in _LABELS:
            raise InputError(
                f"{name}: the kge:label {printable(text, 40)!r} is not true or false; correct it"
            )
        if gold.setdefault(triple, _LABELS[text]) != _LABELS[text]:
            raise InputError(f"{name}: {printable(' '.join(triple), 300)} has two labels; keep one of them")
    if not gold:
        raise InputError(f"{name} labels no statement with kge:label; see the README for the form")
    return gold


def _read_csv(path: Path, prefixes: Prefixes) -> dict[Triple, bool]:
    gold: dict[Triple, bool] = {}
    for where, row in read_rows(path, _COLUMNS):
        label = row["label"].lower()
        if not label:
            continue
        if label not in _LABELS:
            raise InputError(f"{where}: the label {printable(label, 40)!r} is not 1 or 0; correct it")
        s, p, o = (cell_term(prefixes.full(row[c]), where) for c in _COLUMNS[:3])
        if gold.setdefault((s, p, o), _LABELS[label]) != _LABELS[label]:
            raise InputError(f"{where}: the same triple has another label above; keep one of them")
    return gold
