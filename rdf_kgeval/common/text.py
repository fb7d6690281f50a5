"""Text from a graph or a server, made safe to show in a terminal or as a link."""

import urllib.parse


def printable(text: str, width: int | None = None) -> str:
    r"""Write control, bidirectional and other invisible characters as escapes; cut to `width`.

    >>> printable("red \x1b[31m alert")
    'red \\x1b[31m alert'
    """
    if width is not None and len(text) > width:
        text = text[: width - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def web_address(text: str) -> str | None:
    """Return an address that a page may link to; None for scripts, files, credentials and the like.

    >>> web_address("https://example.org/"), web_address("javascript:alert(1)")
    ('https://example.org/', None)
    """
    try:
        parts = urllib.parse.urlsplit(text)
        plain = bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    safe = text.isprintable() and not any(c.isspace() or c in '<>"{}|\\^`' for c in text)
    return text if parts.scheme in ("http", "https") and plain and safe else None


def plural(count: int, noun: str) -> str:
    """Count a noun.

    >>> plural(1, "belief"), plural(2000, "belief")
    ('1 belief', '2,000 beliefs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
