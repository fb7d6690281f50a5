"""Write the help of commands: options in groups, with their values and defaults, and every name whole."""

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand, TyperGroup

SOURCE, NAMES, IN_PLACE, RULES, METHOD, PEOPLE, OUTPUT, COMPUTING, GENERAL = (
    "Source", "Names", "In place", "Rules", "Method", "People", "Output", "Computing", "General",
)  # fmt: skip
"""The groups of options, in the order in which help shows them."""
_ORDER = (SOURCE, NAMES, RULES, IN_PLACE, METHOD, PEOPLE, OUTPUT, COMPUTING)
_WIDEST = 100
_COLUMN = 28
_TIE = "\xa0"
"""A space that no line ends at."""


def folded(text: str, width: int, indent: str = "", end: str = "") -> list[str]:
    """Fold a text between words only; `end` goes to the end of each line but the last."""
    lines = textwrap.wrap(
        text, width - len(end), break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
    lines = [line.replace(_TIE, " ") for line in lines]
    return [line + end for line in lines[:-1]] + lines[-1:]


class _Help:
    """Help without boxes, which cost a quarter of a narrow terminal."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the whole help of a command."""
        formatter.write("\n".join(_lines(self, ctx, min(_WIDEST, shutil.get_terminal_size().columns))))


class Command(_Help, TyperCommand):
    """A command."""


class Group(_Help, TyperGroup):
    """The command that has all others."""


def _lines(command: Any, ctx: Any, width: int) -> Iterator[str]:
    parameters = [p for p in command.get_params(ctx) if not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    commands = getattr(command, "commands", {})
    usage = [ctx.command_path, "[OPTIONS]", *map(_argument, arguments), *(["COMMAND"] if commands else [])]
    yield from folded(f"Usage: {' '.join(usage)}", width, " " * 8)
    yield ""
    yield from _described(command.help or "", width)
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, one in commands.items():
        sentence = inspect.cleandoc(one.help or "").split("\n\n")[0].replace("\n", " ")
        groups.setdefault(one.rich_help_panel or "Commands", []).append((name, sentence))
    own: dict[str, list[tuple[str, str]]] = {name: [] for name in _ORDER}
    for parameter in parameters:
        panel = parameter.rich_help_panel or ("Arguments" if parameter in arguments else GENERAL)
        label = _argument(parameter) if parameter in arguments else _option(parameter)
        own.setdefault(panel, []).append((label, " ".join(_said(parameter))))
    groups |= {"Arguments": own.pop("Arguments", [])} | own
    groups[GENERAL] = groups.pop(GENERAL, [])
    for title, rows in groups.items():
        if rows:
            yield f"{title}:"
            yield from _table(rows, width)
            yield ""


def _described(text: str, width: int) -> Iterator[str]:
    """Fold the paragraphs of a docstring; indented lines are commands, which go on after a backslash."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        words: list[str] = []
        for line in paragraph.splitlines():
            if line.startswith("  "):
                yield from words
                words = []
                yield from folded(line.rstrip(), width, "      ", " \\")
            else:
                words.append(line)
        yield from folded(" ".join(words), width)
        yield ""


def _table(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Lay out names beside what they mean; a long name has a line of its own."""
    rows = list(rows)
    column = min(_COLUMN, max(len(name) for name, _ in rows) + 4)
    for name, meaning in rows:
        lines = folded(meaning, width - column) or [""]
        first = f"  {name}"
        if len(first) > column - 2:
            yield first
            first = ""
        yield f"{first:<{column}}{lines[0]}".rstrip()
        yield from (" " * column + line for line in lines[1:])


def _argument(parameter: Any) -> str:
    name: str = parameter.metavar or parameter.name.upper()
    name += "..." if parameter.nargs != 1 else ""
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    short = [name for name in parameter.opts if not name.startswith("--")]
    long = [name for name in parameter.opts if name.startswith("--")]
    names = ", ".join([*short, *long])
    if parameter.secondary_opts:
        names += f"/{'/'.join(parameter.secondary_opts)}"
    return names if parameter.is_flag else f"{names} {parameter.metavar or parameter.name.upper()}"


def _said(parameter: Any) -> Iterator[str]:
    """Say what a parameter is for, and its range and default."""
    if parameter.help:
        yield parameter.help
    for note in _notes(parameter):
        yield f"[{note.replace(' ', _TIE) if len(note) < _COLUMN else note}]"


def _notes(parameter: Any) -> Iterator[str]:
    low, high = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if low is not None and high is not None:
        yield f"{low:g} to {high:g}"
    elif low is not None:
        yield f"at least {low:g}"
    if parameter.required and parameter.param_type_name == "option":
        yield "required"
    default = parameter.show_default if isinstance(parameter.show_default, str) else _default(parameter)
    if default:
        yield f"default: {default}"


def _default(parameter: Any) -> str:
    value = parameter.default
    if isinstance(value, bool):
        if getattr(parameter, "secondary_opts", ()):
            return str((parameter.opts if value else parameter.secondary_opts)[0])
        return ""
    if value is None or callable(value):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
