"""Random RDF for property-based tests."""

import pyoxigraph as ox
from hypothesis import strategies as st

XSD = "http://www.w3.org/2001/XMLSchema#"

# Characters that break careless code: quotes, escapes, line ends, terminal codes, bidi marks, other planes.
nasty_text = st.text(
    st.one_of(
        st.sampled_from("\"'\\\n\r\t\x1b\x00\x7f<>{}|^`;-#%?$ \u202e\u2028😀é"), st.characters(codec="utf-8")
    ),
    max_size=12,
)
iris = st.one_of(
    st.sampled_from([ox.NamedNode(f"http://example.org/{n}") for n in "abcdefg"]),
    st.text(st.sampled_from("abz09-._~:/?#[]@!$&'()*+,;=é日"), max_size=8)
    .map(lambda t: "http://example.org/" + t)
    .filter(lambda text: _is_iri(text))
    .map(ox.NamedNode),
)
blank_nodes = st.sampled_from([ox.BlankNode(n) for n in "uvwxyz"])
literals = st.one_of(
    nasty_text.map(ox.Literal),
    st.builds(
        lambda t, lang: ox.Literal(t, language=lang), nasty_text, st.sampled_from(["en", "de-at", "zh-hant"])
    ),
    st.builds(
        lambda t, d: ox.Literal(t, datatype=ox.NamedNode(XSD + d)),
        nasty_text,
        st.sampled_from(["integer", "string", "date", "anyURI"]),
    ),
)
graphs = st.one_of(
    st.just(ox.DefaultGraph()), st.sampled_from([ox.NamedNode(f"http://example.org/g{n}") for n in "12"])
)
ground_quads = st.lists(st.builds(ox.Quad, iris, iris, st.one_of(iris, literals), graphs), max_size=20)
quads = st.lists(
    st.builds(ox.Quad, st.one_of(iris, blank_nodes), iris, st.one_of(iris, literals, blank_nodes), graphs),
    max_size=20,
)


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True
