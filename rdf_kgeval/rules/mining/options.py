"""Options of mining: the rules to look for, and those to keep."""

from dataclasses import dataclass

from rdf_kgeval.common.arguments import check_fields
from rdf_kgeval.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningOptions:
    """The rules to look for, and those to keep."""

    max_length: int = 3
    """Triples of the longest path: 1 to 3, or 0 for no paths."""
    constants: bool = True
    """Whether to look for rules with constants."""
    types: bool = True
    """Whether to look for type signatures."""
    min_support: int = 10
    """The least support; a confidence that few heads support is chance."""
    min_head_coverage: float = 0.01
    """The least head coverage."""
    min_confidence: float = 0.5
    """The least PCA confidence; inference ignores a rule at 0.5 or less."""
    keep_redundant: bool = False
    """Whether to keep rules that are not better than a simpler one with the same head."""
    max_per_head: int | None = 50
    """The most rules to keep for a head's predicate, the best first; classes count apart."""
    max_groundings: int = 1_000_000
    """The most groundings of a rule to keep; where there are more, each says next to nothing."""
    max_walks: float = 2e9
    """The most walks to follow, about 1e9 a minute; the costliest paths are left out with a note."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.max_length <= 3:
            raise InputError(f"the longest path is {self.max_length}; choose 0 to 3")
        if self.min_support < 1:
            raise InputError(f"the least support is {self.min_support}; choose 1 or more")
        for share in (self.min_head_coverage, self.min_confidence):
            if not 0 <= share <= 1:
                raise InputError(f"the least head coverage or confidence is {share}; choose from 0 to 1")
