"""Oracles, which answer questions, and how users choose one.

An oracle is an object with `annotator`, `interactive` and `ask`, or a function. A new one that users choose
by name is a class in a module of its own, and a line of `ORACLES`; one of the user's own is named
`module:attribute`.
"""

import inspect
import re
import sys
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from rdf_kgeval.common.arguments import described, wrong
from rdf_kgeval.common.registry import Entry, Registry
from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.verdicts.log import Answer, Judgement, checked_note, checked_source

if TYPE_CHECKING:
    from rdf_kgeval.beliefs.evidence import Evidence, Passages
    from rdf_kgeval.beliefs.names import Names, Part
    from rdf_kgeval.beliefs.table import Triple


LONGEST_SEARCH = 300
"""Characters of a sentence to search the web for."""


class Wish(StrEnum):
    """Request of a person in place of an answer."""

    SKIP = "skip"
    UNDO = "undo"
    QUIT = "quit"


@dataclass(frozen=True, kw_only=True)
class Question:
    """Ask about one belief; its texts are made when they are read."""

    position: int
    """Its place among the beliefs to be evaluated."""
    row: int
    names: "Names"
    counted: Callable[[], str] = field(default=str, repr=False)
    """Gives the number of the question."""
    passages: Callable[[], "Passages"] = field(default=dict, repr=False)
    """Gives the evidence from a file, if there is one."""

    @cached_property
    def triple(self) -> "Triple":
        """Return the belief in N-Triples terms."""
        return self.names.beliefs.triple(self.row)

    @cached_property
    def sentence(self) -> str:
        """Return the belief in words."""
        return "".join(part.text for part in self.parts)

    @cached_property
    def parts(self) -> "list[Part]":
        """Return the sentence in parts, so that a page can keep scripts apart."""
        return self.names.parts(self.triple)

    @cached_property
    def descriptions(self) -> tuple[tuple[str, str], ...]:
        """Return names of subject, predicate and object with what the graph says that they are."""
        said = ((term, self.names.description(term)) for term in dict.fromkeys(self.triple))
        return tuple((self.names.name(term), text) for term, text in said if text)

    @property
    def description(self) -> str:
        """Return what the graph says that subject, predicate and object are, a line for each; often empty."""
        return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in self.descriptions)

    @cached_property
    def evidence(self) -> "tuple[Evidence, ...]":
        """Return where the belief comes from: passages of a file, then what the graph says; often empty."""
        from rdf_kgeval.beliefs.evidence import evidence_of

        return evidence_of(self.names, self.row, self.passages())

    @cached_property
    def progress(self) -> str:
        """Return the number of the question, such as "12 of about 140"."""
        return self.counted()

    @property
    def search(self) -> str:
        """Return the address of a web search for what the belief says."""
        return "https://duckduckgo.com/?" + urllib.parse.urlencode({"q": self.sentence[:LONGEST_SEARCH]})


class Oracle(Protocol):
    """Answer questions."""

    @property
    def annotator(self) -> str:
        """Return the name under which the answers are logged."""
        ...

    @property
    def interactive(self) -> bool:
        """Return whether a person answers; an oracle without this attribute is a program."""
        ...

    def ask(self, question: Question) -> Answer | Judgement | Wish:
        """Return the answer, bare or with a note and a source, or a wish in its place."""
        ...


AnswerFunction = Callable[[Question], bool | Answer | Judgement | None]
"""Answer a question; None skips it."""


class FunctionOracle:
    """Answer by a function.

    Args:
        function: a question that it returns None for is skipped, until only such questions are left.
        annotator: the name under which the answers are logged; by default the function's.
    """

    interactive = False

    def __init__(self, function: AnswerFunction, annotator: str | None = None) -> None:
        name = getattr(function, "__name__", "")
        self.annotator = annotator or (name if name.isidentifier() else "function")
        self._function = function
        self._skipped: set[Triple] = set()
        """Beliefs skipped since the last answer."""

    def ask(self, question: Question) -> Any:
        """Call the function."""
        given = self._function(question)
        if given is not None:
            self._skipped.clear()
            return given
        if question.triple in self._skipped:
            return Wish.QUIT
        self._skipped.add(question.triple)
        return Wish.SKIP


def as_answer(given: Any, annotator: str) -> Answer | Judgement | Wish:
    """Return what an oracle answered, where it is an answer or a wish.

    Raises:
        InputError: it is something else.
    """
    if isinstance(given, Wish | Judgement):
        return given
    if isinstance(given, str) and given in tuple(Answer):
        return Answer(given)
    if hasattr(given, "dtype") and getattr(given, "size", 0) == 1:  # one of numpy's
        given = given.item()
    if isinstance(given, int | float) and given in (True, False):
        return Answer.TRUE if given else Answer.FALSE
    raise InputError(
        f"the oracle {printable(annotator, 40)} answered {described(given)}; "
        "let it return True, False, an Answer, a Judgement, or None to skip"
    )


class PromptOracle:
    """Ask a person at a terminal."""

    interactive = True

    def __init__(
        self, annotator: str = "me", source: IO[str] | None = None, screen: IO[str] | None = None
    ) -> None:
        self.annotator = annotator
        self._source = source or sys.stdin
        self._screen = screen or sys.stderr

    def ask(self, question: Question) -> Answer | Judgement | Wish:
        """Show the belief and read an answer or wish, or its first letter; the end of input quits."""
        note = source = None
        cut = self._put(question, whole=False)
        while True:
            more, m = (", more", "/m") if cut else ("", "")
            word = self._read(f"true, false, ambiguous, note, skip, undo{more} or quit [t/f/a/n/s/u{m}/q]? ")
            if word is None:
                return Wish.QUIT
            word = word.lower()
            if word in ("note", "n"):
                note = self._read_checked("note, in a line (empty for none): ", checked_note)
                source = self._read_checked("web page that says so (empty for none): ", checked_source)
            if word in ("more", "m"):
                self._put(question, whole=True)
            for answer in Answer:
                if word in (answer, answer[0]):
                    return Judgement(answer=answer, note=note, source=source)
            for wish in Wish:
                if word in (wish, wish[0]):
                    return wish

    def _put(self, question: Question, *, whole: bool) -> bool:
        """Show a question; return whether anything of it was cut."""
        evidence = [f"evidence: {piece}" for piece in question.evidence]
        lines = [
            (f"\n{printable(question.progress)}: ", question.sentence, 300),
            ("  ", " ".join(question.triple), 500),
            *(("  ", line, 300) for line in (*question.description.splitlines(), *evidence)),
        ]
        for before, text, width in lines:
            self._show(before + printable(text, None if whole else width))
        self._show(f"  {question.search}")
        return any(len(text) > width for _, text, width in lines)

    def _read_checked(self, prompt: str, check: Callable[[str], str | None]) -> str | None:
        """Read a line until it passes a check."""
        while True:
            try:
                return check(self._read(prompt) or "")
            except InputError as error:
                self._show(f"{error}")

    def _read(self, prompt: str) -> str | None:
        """Read a line; None at the end of input."""
        self._show(prompt, end="")
        line = self._source.readline()
        if not line:
            self._show("")
            return None
        return line.strip()

    def _show(self, text: str, end: str = "\n") -> None:
        self._screen.write(text + end)
        self._screen.flush()


@dataclass(frozen=True)
class NamedOracle(Entry):
    """Oracle that users choose by name; its code takes the annotator's name."""

    pages: bool = False
    """Whether it is a `Consult` that serves pages to several people, not an `Oracle`."""


GOLD = Entry("GOLD.csv", "verdicts.gold:GoldOracle", "a file with labels")
"""Oracle for every other name, which is a path."""
ORACLES = Registry(
    "oracle",
    NamedOracle("prompt", "verdicts.oracles:PromptOracle", "you here"),
    NamedOracle("web", "web.server:Pages", "people on a web page", pages=True),
)
"""Oracles by name, for `--oracle`."""


def as_oracle(given: Oracle | AnswerFunction | None) -> Oracle:
    """Return an oracle: the object itself if a person answers, else one that calls it.

    Raises:
        InputError: it is neither an object with `ask` nor a function of a question.
    """
    need = "oracle takes a function of a question, or an object with ask"
    if isinstance(given, str | Path):
        remedy = "GoldOracle(path) answers from a file of labels, and PromptOracle() asks you"
        raise wrong(given, need, remedy)
    if isinstance(given, Mapping):
        raise wrong(given, need, "give a function, such as lambda question: labels[question.triple]")
    if isinstance(given, type):
        raise wrong(given, need, f"write {given.__name__}(...) to make one")
    ask = getattr(given, "ask", given)
    if not callable(ask):
        raise wrong(given, need, "write for example oracle=lambda question: ask_me(question.sentence)")
    _check_callable(ask)
    if is_interactive(given):
        return cast(Oracle, given)
    own = getattr(given, "annotator", None if ask is given else type(given).__name__)
    return FunctionOracle(ask, own)


def _check_callable(ask: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(ask):
        raise InputError(
            "the oracle is asynchronous, and nobody awaits it; give a function that does, such as "
            "lambda question: asyncio.run(judge(question))"
        )
    try:
        inspect.signature(ask).bind(None)
    except TypeError as error:
        raise InputError(
            f"the oracle cannot be called with a question ({printable(str(error), 80)}); "
            "let it take one argument, the question"
        ) from error
    except ValueError:
        pass  # a function in C tells nothing of its arguments


def is_interactive(oracle: object) -> bool:
    """Return whether a person answers."""
    return bool(getattr(oracle, "interactive", False))


def is_file(name: str) -> bool:
    """Return whether a user means a file with labels, not an oracle by name nor `module:attribute`.

    >>> is_file("gold.csv"), is_file("prompt"), is_file("judges.llm:judge")
    (True, False, False)
    """
    return name not in ORACLES and not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name)


def choose_oracle(name: str, annotator: str) -> Oracle:
    """Return the oracle that a user means: by name, as `module:attribute`, or by a file with labels.

    Args:
        name: what the user gave.
        annotator: the name under which a person's answers are logged.

    Raises:
        InputError: there is none.
    """
    if name in ORACLES:
        if ORACLES[name].pages:
            raise InputError(f"{name} serves pages to several people, not questions to one; use kgeval serve")
        oracle: Oracle = ORACLES[name].load()(annotator)
    elif is_file(name):
        if not Path(name).exists():
            near = get_close_matches(name.lower(), ORACLES, n=1)
            raise InputError(
                f"--oracle takes {', '.join(sorted(ORACLES, reverse=True))} or a CSV file; there is no file "
                f"{printable(name, 200)!r}.{f' Did you mean {near[0]}?' if near else ''}"
            )
        oracle = GOLD.load()(Path(name))
    else:
        oracle = _import(name)
    return oracle


def _import(name: str) -> Oracle:
    """Import an oracle of the user's own, installed or from the folder where the command runs."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.append("")  # last, so that a file there hides no module of ours
    try:
        found: Any = getattr(import_module(module), attribute)
    except Exception as error:
        raise InputError(
            f"the oracle {printable(name, 100)} cannot be imported: {type(error).__name__}: "
            f"{printable(str(error), 200)}; "
            "name a module that is here or installed, and a function or object in it"
        ) from error
    if isinstance(found, type) or not (callable(found) or hasattr(found, "ask")):
        raise InputError(
            f"the oracle {printable(name, 100)} is neither a function of a question nor an object with ask; "
            "name one that is"
        )
    return as_oracle(found)
