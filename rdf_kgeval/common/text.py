"""Text from a graph or a server, made safe to show in a terminal."""


def printable(text: str, width: int | None = None) -> str:
    r"""Write control, bidirectional and other invisible characters as escapes; cut to `width`.

    >>> printable("red \x1b[31m alert")
    'red \\x1b[31m alert'
    """
    if width is not None and len(text) > width:
        text = text[: width - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def plural(count: int, noun: str) -> str:
    """Count a noun.

    >>> plural(1, "belief"), plural(2000, "belief")
    ('1 belief', '2,000 beliefs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
