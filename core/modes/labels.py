"""What people read above an answer of a run with several speakers: which part of the run it is."""

from collections.abc import Mapping
from typing import Any

from core.domain.view import Phrase


def label_of(kind: str, setup: Mapping[str, Any], step: str) -> Phrase | None:
    """The label of a turn; None where the model's name says it all, as in Chat."""
    return None
