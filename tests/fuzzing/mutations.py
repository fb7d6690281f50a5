"""Broken and hostile versions of valid files: most inputs get past the first check, and fail at a later one."""

import json
import random
import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")

HOSTILE = [
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xae", b"\x1b[31m", b"\r",
    b"\\ud800", b"\\u0000", b"\\uD83D", b"%00", b"NaN", b"Infinity", b"-1", b"1e999", b"9" * 400, b"0x10", b"1_0",
    b"null", b"true", b"[]", b"{}", b'"', b"'", b"<", b">", b"<>", b"_:", b"_:b", b"?x", b"@en", b"^^", b"<<(", b")>>",
    b"&amp;", b"<!--", b"]]>", b"<![CDATA[", b"\\", b"\n", b"\t", b",", b";", b".", b"#", b"#+", b"{", b"}", b"(", b")",
    b"A" * 5000, b"[" * 3000, b"{" * 3000, b"(" * 3000, b"<a>" * 1000, b'{"a":' * 3000, b"http://[", b"http://a b/",
    b"file:///etc/passwd", b"../../etc/passwd", b"OPTIONAL {", b"UNION {", b"SERVICE <http://127.0.0.1:9/> {",
    b"VALUES ?x {", b"BIND(1 AS ?x)", b"FILTER(", b"a", b"*", b"+", b"/", b"^", b"|", b"!", b"<=", b"=>",
]  # fmt: skip
VALUES: list[object] = [
    None, True, False, 0, -1, 1, 3, 10**30, 0.5, -0.0, float("nan"), float("inf"), "", "x", "\0", "\ud800", "a" * 64,
    "true", "\x1b[31m", "../../etc/passwd", "1", [], {}, [[]], [None], {"a": 1}, "A" * 10_000, ["x"] * 1000,
]  # fmt: skip


def mutate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """One to a few changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(_CHANGES)(rng, data, others)
    return data[:200_000]


def _tokens(change: Callable[[random.Random, list[bytes], Sequence[bytes]], None]) -> "_Change":
    def apply(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
        tokens = _TOKEN.findall(data) or [b""]
        change(rng, tokens, others)
        return b"".join(tokens)

    return apply


_Change = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


@_tokens
def _replace(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    tokens[rng.randrange(len(tokens))] = rng.choice(HOSTILE)


@_tokens
def _insert(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    tokens.insert(rng.randrange(len(tokens) + 1), rng.choice(HOSTILE))


@_tokens
def _delete(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    at = rng.randrange(len(tokens))
    del tokens[at : at + rng.choice((1, 1, 2, 10))]


@_tokens
def _exchange(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]


@_tokens
def _borrow(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    donor = _TOKEN.findall(rng.choice(others)) or [b""]
    at = rng.randrange(len(donor))
    tokens[rng.randrange(len(tokens)) : 0] = donor[at : at + rng.choice((1, 3, 20))]


@_tokens
def _repeat(rng: random.Random, tokens: list[bytes], others: Sequence[bytes]) -> None:
    at = rng.randrange(len(tokens))
    end = at + rng.choice((1, 5, 30))
    tokens[at:end] = tokens[at:end] * rng.choice((2, 3, 200))


def _line(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = rng.randrange(len(lines))
    lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [lines[0]], lines[at:] + lines[:at]))
    return b"".join(lines)


def _cut(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return rng.choice((data[:at], data[at:]))


def _flip(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 4))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _json(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change a value, a key or a type inside JSON, or inside a line of it."""
    lines = data.split(b"\n")
    single = any(line.startswith(b"{") and line.endswith(b"}") for line in lines[:-1])
    at = rng.randrange(len(lines)) if single else 0
    try:
        value = json.loads(lines[at] if single else data)
    except (ValueError, RecursionError):
        return _flip(rng, data, others)
    text = json.dumps(_changed(rng, value)).encode()
    return b"\n".join([*lines[:at], text, *lines[at + 1 :]]) if single else text


def _changed(rng: random.Random, value: object) -> object:
    inside: list[object] = list(value) if isinstance(value, dict | list) else []
    if not inside or rng.random() < 0.15:
        return rng.choice(VALUES)
    if isinstance(value, dict):
        key = rng.choice(inside)
        what = rng.random()
        kept = {k: v for k, v in value.items() if k != key or what > 0.2}
        return (
            {**kept, "surplus": 1}
            if what > 0.95
            else {**kept, **({key: _changed(rng, value[key])} if what > 0.2 else {})}
        )
    at = rng.randrange(len(inside))
    inside[at : at + 1] = rng.choice(
        ([], [inside[at]] * 2, [_changed(rng, inside[at])], [_changed(rng, inside[at])])
    )
    return inside


_CHANGES: list[_Change] = [
    _replace, _replace, _insert, _delete, _exchange, _borrow, _repeat, _line, _cut, _flip, _json, _json,
]  # fmt: skip
