import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import rdf_kgeval


def test_all_names_exist_and_are_listed() -> None:
    assert rdf_kgeval.__all__ == sorted(rdf_kgeval.__all__)
    for name in rdf_kgeval.__all__:
        assert getattr(rdf_kgeval, name).__name__ == name
    assert dir(rdf_kgeval) == rdf_kgeval.__all__
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rdf_kgeval.nonsense


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, rdf_kgeval; print([m for m in ('numpy', 'rdflib', 'pyoxigraph') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages(rdf_kgeval.__path__, "rdf_kgeval.")])
def test_doctests(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
