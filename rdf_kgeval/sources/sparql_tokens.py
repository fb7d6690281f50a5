"""SPARQL tokens: the terminals that can hide a brace, a keyword or a codepoint escape from a search."""

import re

ESCAPE = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
"""A codepoint escape."""
_OPEN, _CLOSE = (rf"\\(?:u|U0000)003[{letter}]" for letter in ("cC", "eE"))

TOKEN = re.compile(
    rf"""
    (?P<comment> \#[^\n\r]* )
    | (?: < | {_OPEN} ) [^<>"{{}}|^`\x00-\x20]* (?: > | {_CLOSE} )
    | (?P<string> \"{{3}} (?:[^\\]|\\.)*? \"{{3}} | '{{3}} (?:[^\\]|\\.)*? '{{3}}
                | "(?:[^"\\\n\r]|\\.)*" | '(?:[^'\\\n\r]|\\.)*' )
    | [?$]\w+
    | (?P<brace> [{{}}] )
    | [\w.-]*:(?:[\w.:%-]|\\[^uU])*
    | (?P<word> [A-Za-z]\w* )
    | {ESCAPE}
    """,
    re.VERBOSE | re.DOTALL,
)
"""A comment, an IRI, a string, a variable, a brace, a prefixed name, another word, or an escape.

Codepoint escapes may stand for the brackets of an IRI; operators, numbers and punctuation lie between tokens.
"""
