"""Small models are solved as large ones are: by compiled code, unless NUMBA_DISABLE_JIT says otherwise."""

import pytest

from tests.support.kernels import compile_all_sizes


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_all_sizes(monkeypatch.setattr)
