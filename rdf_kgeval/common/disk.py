"""Files: read from ordinary ones only, written whole or not at all."""

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import InputError

T = TypeVar("T")


def read_plain(path: Path) -> bytes:
    """Read an ordinary file: it neither blocks nor goes on for ever, as a pipe or a device would.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is not an ordinary file")
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read()
    finally:
        os.close(handle)


def read_bytes(path: Path) -> bytes:
    """Read a file that a user names.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{printable(str(path))} cannot be read: {error.strerror}") from error


def read_text(path: Path) -> str:
    """Read a text file that a user names, with its line ends as they are.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{printable(str(path))} is not UTF-8 text; save it as UTF-8") from error


@contextmanager
def replacing(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """Write a file or folder whole or not at all.

    Yields the path to write to, beside the final one; when the block ends, it is renamed. When the block
    raises an error, what it wrote is removed. A folder that was there before is never removed.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(path.name + suffix)
    is_foreign = new.is_dir()
    try:
        yield new
        sync(new)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            if not new.is_dir():
                new.unlink()
            elif not is_foreign:
                shutil.rmtree(new)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file that a user names, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        with replacing(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{printable(str(path))} cannot be written: {error.strerror}") from error


def sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def by_ending(path: Path, kinds: Mapping[str, T]) -> T:
    """Return what a file's ending stands for.

    Raises:
        InputError: it stands for nothing.
    """
    ending = path.suffix.lower()
    if ending not in kinds:
        *others, last = kinds
        raise InputError(
            f"the format of {printable(str(path))} cannot be told from its name; "
            f"end it in {', '.join(others)} or {last}"
        )
    return kinds[ending]
