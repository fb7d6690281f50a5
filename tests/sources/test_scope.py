import gc
import threading

import pytest

from rdf_kgeval.errors import InputError
from rdf_kgeval.sources.scope import Scope, parse_scope_query

PREFIX = "PREFIX select: <http://example.org/#> # CONSTRUCT {\nPREFIX : <http://example.org/>\n"


def test_a_construct_is_taken_apart() -> None:
    query = parse_scope_query(
        PREFIX + "CONSTRUCT { ?x :p '}' . ?y select:q ?x } WHERE { ?x :p ?y FILTER(?y != \"}\") } LIMIT 3"
    )
    assert query.prologue == PREFIX
    assert [part.template for part in query.parts] == [
        ("?x", "<http://example.org/p>", '"}"'),
        ("?y", "<http://example.org/#q>", "?x"),
    ]
    assert query.parts[0].select.startswith("SELECT DISTINCT ?x WHERE { { SELECT *  WHERE { ?x :p ?y")
    assert query.parts[0].select.endswith("LIMIT 3\n } }")


def test_the_short_form_of_construct() -> None:
    query = parse_scope_query("CONSTRUCT WHERE { ?x <http://example.org/p> ?y }")
    (part,) = query.parts
    assert part.template == ("?x", "<http://example.org/p>", "?y")
    assert part.select == (
        "SELECT DISTINCT ?x ?y WHERE { { SELECT *  WHERE { ?x <http://example.org/p> ?y }\n } }"
    )


@pytest.mark.parametrize("literal", [r"'''a\\'''", r"e:a\#b", r"e:it\'s", "'}'", '"""{"""', "# {\n 1"])
def test_what_can_hide_a_brace_does_not(literal: str) -> None:
    text = f"PREFIX e: <http://example.org/> CONSTRUCT {{ ?x e:p ?y }} WHERE {{ ?x e:p ?y FILTER(?y != {literal}) }}"
    (part,) = parse_scope_query(text).parts
    assert part.select.endswith(f"FILTER(?y != {literal}) }}\n }} }}")


def test_a_result_does_not_outlive_its_thread() -> None:
    thread = threading.Thread(target=parse_scope_query, args=("CONSTRUCT WHERE { ?x ?y ?z }",))
    thread.start()
    thread.join()
    gc.collect()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?s ?p ?o\nWHERE { ?s ?p }", "not valid SPARQL: line 2, column"),
        ("SELECT ?s ?p WHERE { ?s ?p ?o }", "must select the variables ?s ?p ?o"),
        ("SELECT * WHERE { ?s ?p ?o . ?o ?p ?z }", "must select the variables ?s ?p ?o"),
        ("ASK { ?s ?p ?o }", "must be a SELECT ?s ?p ?o or a CONSTRUCT"),
        ("DESCRIBE ?x { { SELECT ?x { ?x ?y ?z } } }", "must be a SELECT ?s ?p ?o or a CONSTRUCT"),
        ("DESCRIBE <http://example.org/a>", "must be a SELECT ?s ?p ?o or a CONSTRUCT"),
        (
            "SELECT ?s ?p ?o FROM <http://example.org/g> { ?s ?p ?o }",
            "uses FROM; name the graph with --graph",
        ),
        ("CONSTRUCT { ?s <http://example.org/p> [] } { ?s ?p ?o }", "blank nodes in its CONSTRUCT template"),
        ("CONSTRUCT { <http://a> <http://b> <http://c> } { ?s ?p ?o }", "without a variable"),
        ("CONSTRUCT { } { ?s ?p ?o }", "empty CONSTRUCT template"),
        ("", "not valid SPARQL"),
        ("INSERT DATA { <http://a> <http://b> <http://c> }", "not valid SPARQL"),
    ],
)
def test_what_cannot_be_a_scope_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_scope_query(text, "scope.rq")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_predicates_and_query_exclude_each_other() -> None:
    with pytest.raises(InputError, match="cannot be combined"):
        Scope.of(predicates=["http://example.org/p"], scope="scope.rq")
