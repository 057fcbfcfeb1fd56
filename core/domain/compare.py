"""Compare: the same question to several models, each in a line of its own (spec §3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.domain.errors import Refusal
from core.domain.setup import LETTERS, Fields, Json

LEAST_MODELS, MOST_MODELS = 2, 6

SUMMARY = "summary"
"""Step that compares the answers to one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One model of a Compare. Its line keeps only its own answers."""

    letter: str
    """What it is called in the AI input of the comparison, and before people while the Compare is blind."""
    line: str
    """Alias of the model; its letter where the Compare began blind, so that no id or step gives the model away."""
    model: str
    name: str
    """What people read once names are shown; a model's second line is `alias#2`."""

    @property
    def step(self) -> str:
        """Step in which it answers."""
        return answer_step(self.line)


def answer_step(line: str) -> str:
    return f"answer:{line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSetup:
    """Two to six models in the order in which they are shown. The same model may come twice."""

    models: tuple[str, ...]
    blind: bool = False
    """Model names are hidden until someone reveals them or votes."""
    lettered: bool = False
    """Lines are named by letters, because it began blind; stays when names are revealed."""

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "CompareSetup":
        """Raises Refusal that says what is allowed."""
        fields = Fields(raw)
        fields.only("models", "blind", "lettered")
        models = fields.names("models", least=LEAST_MODELS, most=MOST_MODELS, code="compare_model_count")
        blind, lettered = fields.flag("blind"), fields.flag("lettered")
        return cls(models=models, blind=blind, lettered=blind or lettered)

    def to_json(self) -> Json:
        return {
            "models": list(self.models),
            "blind": self.blind,
            **({"lettered": True} if self.lettered else {}),
        }

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """In order."""
        return tuple(
            Candidate(letter=letter, line=letter if self.lettered else name, model=model, name=name)
            for letter, name, model in zip(LETTERS, _names(self.models), self.models, strict=False)
        )

    def candidate(self, line: str) -> Candidate:
        """Raises KeyError for a line that is none of ours."""
        return {candidate.line: candidate for candidate in self.candidates}[line]

    def joined_by(self, model: str) -> "CompareSetup":
        """With one more model at the end; earlier lines keep their names. Raises Refusal when it is full."""
        if len(self.models) >= MOST_MODELS:
            raise Refusal(
                "compare_model_count", had=len(self.models) + 1, least=LEAST_MODELS, most=MOST_MODELS
            )
        return replace(self, models=(*self.models, model))


def _names(models: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    for model in models:
        number, name = 1, model
        while name in names:
            number += 1
            name = f"{model}#{number}"
        names.append(name)
    return names
