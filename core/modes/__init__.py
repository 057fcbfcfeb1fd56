"""The modes as readable control flow: who speaks next, and when it ends. A mode sees only its RunContext."""

from collections.abc import Awaitable, Callable, Mapping

from core.domain.thread import Mode
from core.modes import (
    adopting,
    branching,
    chat,
    codraft,
    compare,
    cross_review,
    debate,
    drafting,
    evaluating,
    handing_over,
    redrawing,
    sending,
    telling,
    workflow,
)
from core.modes.context import CarryingContext

RUNS: Mapping[str, Callable[[CarryingContext], Awaitable[None]]] = {
    Mode.CHAT.value: chat.chat,
    Mode.COMPARE.value: compare.compare,
    compare.COMPARISON: compare.comparison,
    Mode.DEBATE.value: debate.debate,
    Mode.CODRAFT.value: codraft.codraft,
    Mode.WORKFLOW.value: workflow.workflow,
    cross_review.KIND: cross_review.cross_review,
    branching.KIND: branching.open_branch,
    drafting.KIND: drafting.draft_handover,
    drafting.REVIEW_KIND: drafting.draft_review,
    handing_over.OPEN: handing_over.open_target,
    adopting.CARD: adopting.show_card,
    adopting.CLOSED: adopting.show_closed,
    redrawing.KIND: redrawing.redraw,
    telling.KIND: telling.tell_rollback,
    sending.KIND: sending.tell_sent,
    evaluating.BEGUN: evaluating.tell_begun,
    evaluating.TOLD: evaluating.tell_how_it_stands,
}
"""What carries out a run, by its kind."""

PROMPTS: Mapping[str, tuple[str, ...]] = {
    Mode.CHAT.value: chat.PROMPTS,
    Mode.COMPARE.value: compare.PROMPTS,
    compare.COMPARISON: compare.PROMPTS,
    Mode.DEBATE.value: debate.PROMPTS,
    Mode.CODRAFT.value: codraft.PROMPTS,
    Mode.WORKFLOW.value: workflow.PROMPTS,
    cross_review.KIND: cross_review.PROMPTS,
    drafting.KIND: drafting.PROMPTS,
    drafting.REVIEW_KIND: drafting.REVIEW_PROMPTS,
    branching.KIND: (),
    handing_over.OPEN: handing_over.PROMPTS,
    adopting.CARD: (),
    adopting.CLOSED: (),
    redrawing.KIND: (),
    sending.KIND: (),
    telling.KIND: (),
    evaluating.BEGUN: (),
    evaluating.TOLD: (),
}
"""The prompts that a run of a kind holds on to from its beginning."""
