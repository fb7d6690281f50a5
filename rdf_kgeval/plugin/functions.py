"""rdflib entry points: SPARQL functions over a published evaluation.

rdflib loads this module before the first query of any process where rdf_kgeval is installed, and fails every
query if it cannot. Therefore everything is lazy, and failures are swallowed; only a query that names a
function in our namespace that does not exist, or gives one too few or too many arguments, is an error.

- `kge:label(?s, ?p, ?o)` is true or false, by people or by inference;
- `kge:truth(?s, ?p, ?o)` is the soft truth from 0 to 1;
- `kge:accuracy(?p)` is the estimated accuracy of a predicate, and `kge:accuracy()` that of the dataset.

They look in the queried dataset, then in the record that `register` loaded; without either there is no value.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NoReturn
from weakref import WeakSet

from rdf_kgeval.namespaces import KGE

ARGUMENTS = {"label": (3,), "truth": (3,), "accuracy": (0, 1)}
"""By function, how many arguments it may have."""
_FORMS = {"label": "(?s, ?p, ?o)", "truth": "(?s, ?p, ?o)", "accuracy": "(?p) or kge:accuracy()"}

_ready = False
_checked: WeakSet[Any] = WeakSet()
"""The prologues of queries whose calls are all in order; a query has one, which all its parts share."""


def evaluate_part(context: Any, part: Any) -> NoReturn:
    """Register the functions and check calls of them; rdflib calls this for every part of a query.

    Raises:
        InputError: the query calls a function in our namespace in a way in which there is none.
        NotImplementedError: always otherwise; rdflib evaluates the part itself.
    """
    mistake = None
    with suppress(Exception):  # a query that needs no function of ours must not fail
        if not _ready:
            _register_functions()
        if context.prologue not in _checked:
            mistake = next(filter(None, map(_mistake, _calls(part))), None)
            if mistake is None:
                _checked.add(context.prologue)
    if mistake is not None:
        raise mistake
    raise NotImplementedError


def _calls(part: Any) -> Iterator[Any]:
    """Yield the calls of functions in our namespace, except those that another server evaluates."""
    todo: list[Any] = [part]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if not isinstance(one, (dict, list, tuple)) or id(one) in seen:
            continue
        seen.add(id(one))
        name = getattr(one, "name", None)
        if name == "Function" and str(getattr(one, "iri", "")).startswith(KGE):
            yield one
        if name != "ServiceGraphPattern":
            todo += reversed(list(one.values() if isinstance(one, dict) else one))


def _mistake(call: Any) -> Exception | None:
    """Say what is wrong with a call."""
    from rdflib.plugins.sparql.operators import _CUSTOM_FUNCTIONS

    from rdf_kgeval.errors import InputError

    name, given = str(call.iri)[len(KGE) :], len(call.expr or ())
    if name not in ARGUMENTS:
        if call.iri in _CUSTOM_FUNCTIONS:
            return None
        from difflib import get_close_matches

        from rdf_kgeval.common.text import printable

        near = get_close_matches(name, ARGUMENTS, n=1)
        hint = f"did you mean kge:{near[0]}?" if near else f"there are kge:{', kge:'.join(ARGUMENTS)}"
        return InputError(f"there is no SPARQL function kge:{printable(name, 40)}; {hint}")
    if given not in ARGUMENTS[name]:
        takes = " or ".join(map(str, ARGUMENTS[name]))
        return InputError(
            f"kge:{name} takes {takes} arguments, and the query gives it "
            f"{given}; write kge:{name}{_FORMS[name]}"
        )
    return None


def register(path: Any = None) -> None:
    """Make the SPARQL functions known to rdflib, and load a published evaluation for them.

    After `pip install` the functions are known without this.

    Args:
        path: a file of `kgeval publish`; it replaces one loaded before.
    """
    _register_functions()
    if path is not None:
        from rdf_kgeval.common.arguments import expect
        from rdf_kgeval.plugin import lookup

        remedy = "publish first: evaluation.publish('record.trig'); a graph that is queried needs no register"
        expect(path, (str, PurePath), "register takes a file of a published evaluation", remedy)
        lookup.registered = lookup.PublishedFile(path)


def _register_functions() -> None:
    global _ready
    from rdflib import URIRef
    from rdflib.plugins.sparql.operators import register_custom_function

    for name in ARGUMENTS:
        register_custom_function(URIRef(KGE + name), _function(name), override=True, raw=True)
    _ready = True


def _function(name: str) -> Any:
    def call(expression: Any, bindings: Any) -> Any:
        from rdflib.plugins.sparql.sparql import SPARQLError

        try:
            from rdf_kgeval.plugin import lookup

            found = lookup.answer(
                name, list(expression.expr or ()), bindings.ctx.graph.store, lookup.registered
            )
        except Exception as error:  # any other exception would abort the user's query
            raise SPARQLError(f"kge:{name}: {error}") from error
        if found is None:
            raise SPARQLError(f"kge:{name} has no value here")
        return found

    return call
