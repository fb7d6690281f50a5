"""Packages that only some users need, and the command that installs them."""

from importlib.util import find_spec

PACKAGES = {
    "web": ("starlette", "uvicorn"),
    "spark": ("pyspark>=4.0,<5", "pandas>=2.2,<3", "pyarrow>=18"),
}
"""By extra, what pip must install; `rdf-kgeval[web]` would not be found, as it is on no index."""


def missing(extra: str) -> list[str]:
    """Return the names of an extra's packages that are not installed."""
    names = (package.partition(">")[0] for package in PACKAGES[extra])
    return [name for name in names if find_spec(name) is None]


def install_command(extra: str) -> str:
    """Return the command that installs an extra's packages.

    >>> install_command("web")
    'pip install starlette uvicorn'
    """
    quoted = (f"'{package}'" if ">" in package else package for package in PACKAGES[extra])
    return f"pip install {' '.join(quoted)}"
