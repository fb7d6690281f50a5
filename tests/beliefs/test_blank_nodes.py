from collections import Counter

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from rdf_kgeval.beliefs.blank_nodes import Quad, name_blank_nodes

P, Q = "<http://example.org/p>", "<http://example.org/q>"
nodes = st.sampled_from(
    [f"_:{n}" for n in "abcdef"] + ["<http://example.org/a>", "<http://example.org/b>", '"x"']
)
graphs_of_nodes = st.lists(
    st.tuples(nodes.filter(lambda n: n[0] != '"'), st.sampled_from([P, Q]), nodes, st.just("")),
    max_size=10,
    unique=True,
)


def name(quads: list[Quad]) -> list[Quad]:
    return sorted(name_blank_nodes(quads, Counter()))


def canonical(quads: list[Quad]) -> ox.Dataset:
    text = "\n".join(f"{s} {p} {o} {g} ." for s, p, o, g in quads)
    dataset = ox.Dataset(ox.parse(text, format=ox.RdfFormat.N_QUADS))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


@given(graphs_of_nodes)
def test_renaming_gives_an_isomorphic_graph(quads: list[Quad]) -> None:
    assert canonical(name(quads)) == canonical(quads)


def relabel(quads: list[Quad]) -> list[Quad]:
    other = {f"_:{a}": f"_:{b}" for a, b in zip("abcdef", "qweryt", strict=True)}
    return [(other.get(s, s), p, other.get(o, o), g) for s, p, o, g in quads]


def test_labels_and_order_do_not_matter() -> None:
    quads = [
        ("<http://example.org/a>", P, "_:a", ""),
        ("_:a", Q, '"x"', ""),
        ("_:a", P, "_:b", ""),
        ("_:b", Q, "_:c", ""),
        ("_:d", Q, '"x"', ""),
    ]
    assert name(relabel(quads)[::-1]) == name(quads)


def test_copies_of_a_component_are_numbered_as_wholes() -> None:
    one = [("_:a", P, "_:b", ""), ("_:b", Q, '"x"', "")]
    two = [("_:c", P, "_:d", ""), ("_:d", Q, '"x"', "")]
    crossed = [("_:d", P, "_:c", ""), ("_:c", Q, '"x"', "")]
    assert name(one + two) == name(one + crossed)
    assert len({s for s, *_ in name(one + two)}) == 4


def test_nodes_of_two_files_stay_apart() -> None:
    taken: Counter[str] = Counter()
    first = list(name_blank_nodes([("_:a", P, '"x"', "")], taken))
    second = list(name_blank_nodes([("_:a", P, '"x"', "")], taken))
    assert first != second


def test_a_list_that_defeats_exact_canonicalisation_is_named_at_once() -> None:
    quads = [(f"_:n{i}", P, f"_:n{i + 1}", "") for i in range(5000)]
    named = name(quads)
    assert len(set(named)) == 5000


def test_nodes_are_told_apart_by_what_is_far_away() -> None:
    quads = [("_:a", P, "_:b", ""), ("_:b", P, "_:c", ""), ("_:c", Q, '"x"', "")]
    quads += [("_:d", P, "_:e", ""), ("_:e", P, "_:f", ""), ("_:f", Q, '"y"', "")]
    assert name(relabel(quads)[::-1]) == name(quads)
    assert not any("x" in s for s, *_ in name(quads))
