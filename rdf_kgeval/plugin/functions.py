"""rdflib entry points: SPARQL functions over a published evaluation.

rdflib loads this module before the first query of any process where rdf_kgeval is installed, and fails every
query if it cannot. Therefore everything is lazy, and failures are swallowed.

- `kge:label(?s, ?p, ?o)` is true or false, by people or by inference;
- `kge:truth(?s, ?p, ?o)` is the soft truth from 0 to 1;
- `kge:accuracy(?p)` is the estimated accuracy of a predicate, and `kge:accuracy()` that of the dataset.

They look in the queried dataset, then in the record that `register` loaded; without either there is no value.
"""

from contextlib import suppress
from typing import Any, NoReturn

from rdf_kgeval.namespaces import KGE

_ready = False


def evaluate_part(_context: Any, _part: Any) -> NoReturn:
    """Register the functions; rdflib calls this for every part of a query, and evaluates the part itself."""
    if not _ready:
        with suppress(Exception):  # a query that needs no function of ours must not fail
            _register_functions()
    raise NotImplementedError


def register(path: Any = None) -> None:
    """Make the SPARQL functions known to rdflib, and load a published evaluation for them.

    After `pip install` the functions are known without this.

    Args:
        path: a file of `kgeval publish`; it replaces one loaded before.
    """
    _register_functions()
    if path is not None:
        from rdf_kgeval.plugin import lookup

        lookup.registered = lookup.PublishedFile(path)


def _register_functions() -> None:
    global _ready
    from rdflib import URIRef
    from rdflib.plugins.sparql.operators import register_custom_function

    for name in ("label", "truth", "accuracy"):
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
