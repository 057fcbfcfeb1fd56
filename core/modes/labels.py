"""What people read above an answer of a run with several speakers: which part of the run it is."""

from collections.abc import Mapping
from typing import Any

from core.domain.codraft import DRAFT
from core.domain.compare import SUMMARY
from core.domain.debate import DebateSetup, RoundKind, rebuttals_in
from core.domain.thread import Mode
from core.domain.view import Phrase
from core.modes.compare import CONDITIONS
from core.modes.cross_review import KIND, RESULT


def label_of(kind: str, setup: Mapping[str, Any], step: str) -> Phrase | None:
    """The label of a turn; None where the model's name says it all, as in Chat."""
    if kind == Mode.DEBATE.value:
        return _debate(DebateSetup.from_json(setup), step)
    if kind == Mode.CODRAFT.value:
        return _codraft(step)
    if kind == Mode.WORKFLOW.value:
        return Phrase(key="label.workflow", fields={"step": step})
    if kind == KIND:
        seat = step.partition(":")[2]
        return (
            Phrase(key="label.result")
            if step == RESULT
            else Phrase(key="label.verdict", fields={"seat": seat})
        )
    names = {SUMMARY: "comparison", CONDITIONS: "conditions"}
    return Phrase(key=f"label.{names[step]}") if step in names else None


def _debate(setup: DebateSetup, step: str) -> Phrase | None:
    who = step.partition(":")[2]
    extra = rebuttals_in([step]) - setup.rebuttal_rounds
    if extra > 0:
        return Phrase(key="label.debate_follow_up", fields={"number": extra, "who": who})
    rounds = setup.rounds()
    for place, each in enumerate(rounds, start=1):
        if any(speaker.step == step for speaker in each.speakers):
            fields: dict[str, str | int | float] = {"number": place, "of": len(rounds)}
            if each.kind in (RoundKind.POSITIONS, RoundKind.REBUTTALS):
                fields["who"] = who
            return Phrase(key=f"label.debate_{each.kind.value}", fields=fields)
    return None


def _codraft(step: str) -> Phrase:
    if step == DRAFT:
        return Phrase(key="label.draft")
    name, _, number = step.partition(".")
    return Phrase(key=f"label.{name}", fields={"number": number})
