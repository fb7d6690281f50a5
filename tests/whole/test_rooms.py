"""The house is signposted: rooms list their modules, doors their members, and the docs have both."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from rdf_kgeval.common.registry import Registry

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rdf_kgeval"
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/**/__init__.py"))
LOADING = {"cli", "web"}
"""Rooms that do something when they are imported: the entry point, and the check of extras."""


def name_of(room: Path) -> str:
    return room.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_lists_its_modules(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    inside = {path.stem for path in room.glob("*.py")} | {
        path.parent.name for path in room.glob("*/__init__.py")
    }
    listed = set(re.findall(r"^ +`*(\w+)`*/?:", text, re.MULTILINE))
    assert listed == inside - {"__init__"}


@pytest.mark.parametrize("room", [room for room in ROOMS if name_of(room) not in LOADING], ids=name_of)
def test_importing_a_room_does_nothing(room: Path) -> None:
    (docstring,) = ast.parse((room / "__init__.py").read_text()).body
    assert isinstance(docstring, ast.Expr)


DOORS = {
    f"{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}:{name}"
    for path in PACKAGE.rglob("*.py")
    for name in re.findall(r"^(\w+)(?:: .*)? = Registry\(", path.read_text(), re.MULTILINE)
}


def opened(door: str) -> "Registry":
    module, _, name = door.partition(":")
    found = getattr(import_module(f"rdf_kgeval.{module}"), name)
    assert isinstance(found, Registry)
    return found


def test_there_are_seven_doors() -> None:
    names = {door.partition(":")[2] for door in DOORS}
    assert names == {"METHODS", "DIALECTS", "SOURCES", "ORACLES", "DRAWERS", "AGGREGATORS", "OUTPUTS"}


@pytest.mark.parametrize("door", sorted(DOORS))
def test_every_member_of_a_door_has_its_own_name_a_sentence_and_code(door: str) -> None:
    registry = opened(door)
    assert registry
    for name, entry in registry.items():
        assert entry.name == name
        assert entry.sentence.strip()
        assert entry.load() is not None


@pytest.mark.parametrize("door", sorted(DOORS))
def test_every_door_is_in_the_docs(door: str) -> None:
    """The page of choices has a line for every member of the doors that it lists."""
    module, _, name = door.partition(":")
    assert f'"{door}"' in (ROOT / "docs" / "hooks.py").read_text(), "reference/choices.md is made from these"
    extending = (ROOT / "docs" / "develop" / "extending.md").read_text()
    assert f"`{name}` in `{module.replace('.', '/')}.py`" in extending
