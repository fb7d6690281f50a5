"""Write `config.json` with a check sum that fits, whatever it says."""

import hashlib
import json
from pathlib import Path
from typing import Any


def read_entries(folder: Path) -> Any:
    """Read the entries of `config.json`, without the check sum."""
    entries = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if isinstance(entries, dict):
        entries.pop("check", None)
    return entries


def write_entries(folder: Path, entries: dict[str, Any]) -> None:
    """Write entries with their check sum, as kgeval does."""
    check = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    text = json.dumps({**entries, "check": check}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
