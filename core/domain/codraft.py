"""Co-Draft: one model drafts a text, others criticise and revise it in turn (spec §3)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.domain.errors import Refusal
from core.domain.setup import Fields, Json

LEAST_MODELS, MOST_MODELS = 2, 6
LEAST_PASSES, MOST_PASSES = 1, 5
TASK_CHARS = 20_000

DRAFT = "draft"
ARTIFACT = "draft"
"""Name of the artifact whose versions the text goes through."""


def critique_step(number: int) -> str:
    return f"critique.{number}"


def revise_step(number: int) -> str:
    return f"revise.{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One model reads the text as it stands, says what is wrong, and writes it anew."""

    number: int
    """Within its thread, from 1."""
    model: str

    @property
    def critique(self) -> str:
        return critique_step(self.number)

    @property
    def revise(self) -> str:
        return revise_step(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDraftSetup:
    task: str
    models: tuple[str, ...]
    """The first drafts; the others, then the first again, take the passes in turn."""
    passes: int = 1

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "CoDraftSetup":
        """Raises Refusal that says what is allowed."""
        fields = Fields(raw)
        fields.only("task", "models", "passes")
        task = fields.text("task", limit=TASK_CHARS, too_long="task_too_long")
        if not task:
            raise Refusal("task_empty")
        return cls(
            task=task,
            models=fields.names("models", least=LEAST_MODELS, most=MOST_MODELS, code="codraft_model_count"),
            passes=fields.number("passes", least=LEAST_PASSES, most=MOST_PASSES, default=1),
        )

    def to_json(self) -> Json:
        return {"task": self.task, "models": list(self.models), "passes": self.passes}

    @property
    def steps(self) -> tuple[str, ...]:
        """Every step of the run, in order."""
        return (DRAFT, *(step for one in self.plan() for step in (one.critique, one.revise)))

    def plan(self) -> tuple[Pass, ...]:
        """The passes after the draft."""
        return tuple(self.next_pass(done) for done in range(self.passes))

    def next_pass(self, passes_before: int) -> Pass:
        """The pass after so many in this thread: of different models, none criticises a text that it wrote itself."""
        number = passes_before + 1
        return Pass(number=number, model=self.models[number % len(self.models)])


_REVISION = re.compile(r"revise\.(\d+)")


def passes_in(steps: Iterable[str]) -> int:
    """Number of the last pass among the steps; 0 when there is none."""
    return max((int(match[1]) for step in steps if (match := _REVISION.fullmatch(step))), default=0)
