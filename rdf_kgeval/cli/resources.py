"""Files that ship with the package: `ontologies`, `queries` and an example."""

from pathlib import Path


def resource(name: str) -> Path:
    """Find a shipped file or folder, in an installed wheel as in a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "data" / name
    return shipped if shipped.exists() else package.parent / name
