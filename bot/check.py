"""What a platform's adapter found when it was tried out."""

from dataclasses import dataclass

from core.domain.view import Phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    well: bool
    phrase: Phrase
    """Of `cli` in the catalogue: what was found and, where it is not well, what to do."""
