import sys

import pytest

from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.errors import InputError

COLOURS = Registry(
    "colour",
    Entry("red", "no.such.module:red", "Warm."),
    Entry("text", "common.text:printable", "Printable."),
)


def test_names_keep_their_order_and_load_nothing() -> None:
    assert list(COLOURS) == ["red", "text"]
    assert len(COLOURS) == 2
    assert "rdf_kgeval.no" not in sys.modules


def test_an_entry_loads_its_code() -> None:
    assert COLOURS.choose("text").load()("a") == "a"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no colour 'rad'; did you mean red"):
        COLOURS.choose("rad")
    with pytest.raises(InputError, match="choose one of red, text"):
        COLOURS.choose("zzz")
