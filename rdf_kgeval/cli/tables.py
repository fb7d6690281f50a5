"""Print tables and text that fit the terminal; no name is cut or broken."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence

import typer

from rdf_kgeval.cli.help import folded

MOST = 20
"""Rows of a table for a person; where there are more, those with the largest counts are shown."""
_GAP = 2


def width() -> int | None:
    """Return the columns to fit; None where a program reads, for which nothing is folded or left out."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def print_text(text: str) -> None:
    """Print a text, folded between words on a terminal."""
    _print("\n".join(folded(text, width() or 80)) if sys.stdout.isatty() else text)


def _print(text: str) -> None:
    """Print in the encoding that the user chose; without a file, typer would take UTF-8 in place of ASCII."""
    typer.echo(text, file=sys.stdout)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, lists_all: str) -> None:
    """Print names with their figures; the most important row comes first.

    Args:
        header: what the names are, then what each figure is.
        rows: a name, then its figures.
        lists_all: where a person finds the rows that are left out.
    """
    room = width()
    shown = rows if room is None else rows[:MOST]
    for line in table_lines(header, shown, room):
        _print(line)
    if len(rows) > len(shown):
        _print(f"{len(rows) - len(shown):,} more: see {lists_all}")


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], room: int | None = None
) -> Iterator[str]:
    """Lay out names beside the figures that there are; a name that leaves no room has lines of its own.

    Figures that do not fit in one line are laid out in several tables.
    """
    from rich.cells import cell_len

    told = [i for i in range(len(header)) if not i or any(row[i] for row in rows)]
    header, rows = [header[i] for i in told], [[row[i] for i in told] for row in rows]
    titles = [title.split(" ") if room else [title] for title in header[1:]]
    sizes = [
        max(map(cell_len, [*title, *(row[column] for row in rows)]))
        for column, title in enumerate(titles, start=1)
    ]
    names = max(cell_len(name) for name in [header[0], *(row[0] for row in rows)])
    room = room or sum(sizes) + _GAP * len(sizes) + names
    part = _first_part(sizes, room + _GAP)  # where no name stands beside them, figures begin at the edge
    figures = sum(sizes[:part]) + _GAP * part
    names = min(names, max(room - figures, 0))

    def line(name: str, cells: Sequence[str]) -> str:
        padded = (
            " " * (_GAP + size - cell_len(cell)) + cell for size, cell in zip(sizes, cells, strict=False)
        )
        whole = f"{name}{' ' * (names - cell_len(name))}{''.join(padded)}".rstrip()
        return whole if names else whole[_GAP:]

    beside = cell_len(header[0]) <= names
    if not beside:
        yield header[0]
    depth = max(map(len, titles[:part]), default=1)
    for level in range(depth):
        last = level == depth - 1
        above = ([""] * (depth - len(title)) + title for title in titles[:part])
        yield line(header[0] if last and beside else "", [title[level] for title in above])
    for row in rows:
        fits = cell_len(row[0]) <= names
        if not fits:
            yield from folded(row[0], room)
        yield line(row[0] if fits else "", row[1 : part + 1])
    if part < len(sizes):
        yield ""
        yield from table_lines(
            [header[0], *header[part + 1 :]], [[row[0], *row[part + 1 :]] for row in rows], room
        )


def _first_part(sizes: Sequence[int], room: int) -> int:
    """Count the columns of figures that fit in one line, at least one."""
    part, used = 0, 0
    while part < len(sizes) and (not part or used + sizes[part] + _GAP <= room):
        used += sizes[part] + _GAP
        part += 1
    return part
