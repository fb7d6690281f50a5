"""The files of a run directory, each named here and nowhere else."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunLayout:
    """The paths of a run directory."""

    folder: Path

    @property
    def config(self) -> Path:
        """What the run was made from, how it is evaluated, and the digests of what never changes."""
        return self.folder / "config.json"

    @property
    def beliefs(self) -> Path:
        """The folder of the beliefs."""
        return self.folder / "beliefs"

    @property
    def coupling(self) -> Path:
        """The folder of the rules and the coupling graph."""
        return self.folder / "coupling"

    @property
    def verdicts(self) -> Path:
        """The log of what people said."""
        return self.folder / "verdicts.jsonl"

    @property
    def draws(self) -> Path:
        """The log of what was drawn from an endpoint, where beliefs stay there."""
        return self.folder / "draws.jsonl"

    @property
    def drawn_rules(self) -> Path:
        """The rules that the drawn beliefs are coupled by."""
        return self.folder / "rules.json"

    @property
    def web_secret(self) -> Path:
        """The secret that personal links to the pages follow from."""
        return self.folder / "web-secret"

    @property
    def guidelines(self) -> Path:
        """What annotators read before they judge, in Markdown."""
        return self.folder / "guidelines.md"

    @property
    def evidence(self) -> Path:
        """Passages for people who judge, as CSV."""
        return self.folder / "evidence.csv"

    @property
    def exported(self) -> Path:
        """The ids of tasks that were given to other tools."""
        return self.folder / "exported.txt"

    @property
    def pages(self) -> Path:
        """The folder of what a pull has fetched; only while the run is made."""
        return self.folder / "pages"

    @property
    def draw_plan(self) -> Path:
        """What the first sample is drawn by; only while the run is made."""
        return self.folder / "draws.json"

    @property
    def lock(self) -> Path:
        """The lock of the process that makes the run; only while the run is made."""
        return self.folder / ".kgeval-lock"

    @property
    def unfinished(self) -> "RunLayout":
        """The directory beside this one in which the run is made."""
        return RunLayout(self.folder.with_name(self.folder.name + ".partial"))

    @property
    def parts(self) -> tuple[Path, Path]:
        """The folders that never change, or that can be made again from the draws."""
        return self.beliefs, self.coupling

    @staticmethod
    def after_draws(part: Path) -> Path:
        """Return the file in a part that says after how many draws it was made."""
        return part / "after-draws"
