"""Read and write the configuration file: the options of an evaluation, by their long names, in TOML.

Tables are headings that group keys; a key means the same under each of them. Paths are relative to the file.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, NoReturn, Union, get_args, get_origin
from urllib.parse import urlsplit

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError
from rdf_kgeval.verdicts.oracles import is_file

if TYPE_CHECKING:
    from rdf_kgeval.runs.config import RunConfig

TABLES = ("source", "rules", "evaluation", "publish")
"""Tables that a file may have."""
_RULES = ("ontology", "rules", "mine", "follow-imports", "max-groundings")
_SECRET = re.compile("kgeval.*|.*(user|passw|token|auth|credential|secret|key).*", re.IGNORECASE)
_LONGEST = 1_000_000


def long_name(parameter: str) -> str:
    """Return the name by which users give a parameter.

    >>> long_name("context_unknown"), long_name("format_")
    ('context-unknown', 'format')
    """
    return parameter.rstrip("_").replace("_", "-")


class _Option:
    """Describe an option of a command, from the annotation of its parameter."""

    def __init__(self, parameter: inspect.Parameter) -> None:
        annotated, info = get_args(parameter.annotation)[:2]
        given = [kind for kind in get_args(annotated) if kind is not type(None)]
        kind = given[0] if get_origin(annotated) in (Union, UnionType) else annotated
        self.parameter = parameter.name
        # In Annotated, Typer takes an option's first name for its default until it makes the command.
        names = (info.default, *(info.param_decls or ()))
        long = [name for name in names if isinstance(name, str) and name.startswith("--")]
        self.name = long[0][2:].partition("/")[0] if long else long_name(parameter.name)
        self.several = get_origin(kind) is list
        self.is_path = Path in (kind, *get_args(kind))


def read_config_file(path: Path, command: Callable[..., None]) -> dict[str, Any]:
    """Read the options of a command from a file, as texts, which click checks like those of a command line.

    Args:
        path: the file.
        command: its parameters are annotated for Typer.

    Raises:
        InputError: the file cannot be read, or has a key that is no option.
    """
    parameters = inspect.signature(command).parameters.values()
    options = {option.name: option for option in map(_Option, parameters)}
    del options["config"]
    text, content = _parse(path)
    found: dict[str, Any] = {}
    for key, value in _entries(path, content):
        place = _place(path, text, key)
        if key not in options:
            _refuse(place, key, options)
        option = options[key]
        if option.parameter in found:
            raise InputError(f"{place}: {key} is there twice; keep one")
        values = value if option.several and isinstance(value, list) else [value]
        texts = [_text(place, path, option, one) for one in values]
        found[option.parameter] = texts if option.several else texts[0]
    return found


def _parse(path: Path) -> tuple[str, dict[str, Any]]:
    import tomllib

    name = printable(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"the configuration {name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: it is not UTF-8 text; save it as UTF-8") from error
    if len(data) > _LONGEST:
        raise InputError(f"the configuration {name} is longer than {_LONGEST:,} bytes; is it the right file?")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, at = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", at)
        place = f"{name}, line {found[1]}" if found else name
        end = "; the file ends too early" if "end of document" in at else ""
        raise InputError(
            f"{place}: not valid TOML: {printable(reason, 200)}{end}; see https://toml.io"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not valid TOML: a number or a nesting has no end in sight") from error


def _entries(path: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """List all keys with their values, whatever their table."""
    for key, value in content.items():
        if not isinstance(value, dict):
            yield key, value
        elif key in TABLES:
            yield from value.items()
        else:
            raise InputError(
                f"{printable(str(path))}: there is no table [{printable(key, 60)}]; "
                f"choose from {', '.join(f'[{table}]' for table in TABLES)}"
            )


def _place(path: Path, text: str, key: str) -> str:
    """Name the file, and the line if the key is in one line only."""
    pattern = rf"^[ \t]*(?:\w+[ \t]*\.[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*="
    starts = [match.start() for match in re.finditer(pattern, text, re.MULTILINE)]
    line = f", line {text.count(chr(10), 0, starts[0]) + 1}" if len(starts) == 1 else ""
    return f"{printable(str(path))}{line}"


def _refuse(place: str, key: str, options: Iterable[str]) -> NoReturn:
    if _SECRET.fullmatch(key):
        raise InputError(
            f"{place}: {printable(key, 60)} looks like a credential, which does not belong in a file; set "
            "KGEVAL_USER and KGEVAL_PASSWORD, or KGEVAL_TOKEN, in the environment, or use netrc"
        )
    near = get_close_matches(key.replace("_", "-").removeprefix("--"), options, n=1)
    hint = f"did you mean {near[0]}?" if near else "the keys are the long options of kgeval evaluate"
    raise InputError(f"{place}: there is no key {printable(key, 60)}; {hint}")


def _text(place: str, path: Path, option: _Option, value: object) -> str:
    """Return a value as the command line has it; a path is one from where the command runs."""
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    if not isinstance(value, str):
        raise InputError(f"{place}: {option.name} must be a text in quotes, a number, or true or false")
    if not value or not value.isprintable():
        raise InputError(f"{place}: {option.name} is empty or holds a character that cannot be seen")
    if option.name.endswith("endpoint"):
        _refuse_secrets(place, option.name, value)
    is_path = option.is_path or (option.name == "oracle" and is_file(value))
    return str(path.parent / value) if is_path and value != "-" else value


def _refuse_secrets(place: str, key: str, url: str) -> None:
    from rdf_kgeval.common.http.credentials import is_redacted, redact

    try:
        is_secret = "@" in urlsplit(url).netloc or is_redacted(redact(url))
    except ValueError:  # not a URL, which is refused where it is used
        is_secret = "@" in url
    if is_secret:
        raise InputError(
            f"{place}: the URL of {key} holds what looks like a credential, which does not belong in a file; "
            f"give it by --{key}, or set KGEVAL_USER and KGEVAL_PASSWORD, or KGEVAL_TOKEN"
        )


def repeat_config(config: "RunConfig") -> str:
    """Write a configuration file that repeats a run."""
    options: dict[str, Any] = dict(config.options or {})
    rules = {key: options.pop(key) for key in _RULES if key in options}
    settings = config.settings.options() if config.evaluation else {}
    evaluation = {long_name(key): value for key, value in sorted(settings.items())}
    return write_config_file({"source": options, "rules": rules, "evaluation": evaluation})


def write_config_file(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a configuration file: options by their long names, in tables."""
    blocks = (
        f"[{table}]\n" + "".join(f"{key} = {_written(value)}\n" for key, value in options.items())
        for table, options in tables.items()
        if options
    )
    return "\n".join(blocks)


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    # JSON escapes as TOML does, except surrogate pairs, which are therefore not escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
