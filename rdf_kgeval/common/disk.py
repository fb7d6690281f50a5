"""Ordinary files: reading one neither waits nor goes on for ever, as a pipe or a device would."""

import errno
import os
import stat
from pathlib import Path


def read_plain(path: Path) -> bytes:
    """The content of an ordinary file.

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
