"""Numba, imported so that it does not take coverage.py beside this file for the package of that name."""

import sys

if "numba" not in sys.modules:
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]
import numba

if sys.modules.get("coverage", sys) is None:
    del sys.modules["coverage"]

__all__ = ["numba"]
