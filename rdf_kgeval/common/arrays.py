"""Arrays on disk: .npy files, mapped into memory and checked before compiled code trusts them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdf_kgeval.common.text import printable
from rdf_kgeval.errors import RunError


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to a file of its name."""
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def map_arrays(folder: Path, kinds: Mapping[str, type]) -> dict[str, NDArray[Any]]:
    """Map arrays into memory; `kinds` are their types.

    Raises:
        RunError: a file is missing, or is not an array of its type.
    """
    return {name: _map(folder / f"{name}.npy", np.dtype(kind)) for name, kind in kinds.items()}


def _map(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    try:
        if path.stat() and not path.is_file():
            raise ValueError("it is not a file")
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except Exception as error:  # numpy raises various errors for broken headers
        raise damaged(path, str(error)) from error
    if array.dtype != kind or array.ndim != (2 if path.stem == "latent" else 1):
        raise damaged(path, f"it holds {array.dtype} and not {kind}")
    return np.asarray(array)  # reading an element of a memmap is slow


def damaged(path: Path, reason: str) -> RunError:
    """Return the error for a file of a run that cannot be used; it is never the file with the verdicts."""
    reason = printable(reason.partition("\n")[0], 200)
    return RunError(
        f"{printable(str(path))} is missing or damaged ({reason}); restore it from a copy, or make the run "
        "again with kgeval init and copy verdicts.jsonl into it"
    )


def check_range(path: Path, array: NDArray[Any], top: int, low: int = 0) -> None:
    """Refuse numbers that are below `low` or not below `top`."""
    if len(array) and not (low <= int(array.min()) and int(array.max()) < top):
        raise damaged(path, "a number is out of range")


def check_starts(path: Path, array: NDArray[Any], rows: int, end: int, least: int = 0) -> None:
    """Refuse pointers that do not cut `end` entries into `rows` rows of at least `least`."""
    if len(array) != rows + 1 or array[0] != 0 or array[-1] != end or (np.diff(array) < least).any():
        raise damaged(path, "it does not fit the files beside it")


def check_length(path: Path, array: NDArray[Any], length: int) -> None:
    """Refuse an array of another length."""
    if len(array) != length:
        raise damaged(path, "it does not fit the files beside it")
