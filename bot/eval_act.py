"""What people do with evaluations in chat: the same steps on every chat platform, each a command of the core."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.eval_report import EvalReport, html_report
from bot.prompt_outline import version_in
from core import i18n
from core.commands.eval import estimate_eval, list_evals, show_eval, start_eval, stop_eval
from core.commands.eval_question import answer_question
from core.commands.model import list_models
from core.commands.prompt import show_prompt
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_gate import Judgement
from core.domain.eval_run import MOST_REPEATS, EvalEstimate, EvalItem, EvalRequest
from core.domain.policy import Actor
from core.domain.prompt import PromptPage
from core.domain.view import ButtonAction, ModelItem

VERDICTS: Final = {
    ButtonAction.EVAL_PASS: Judgement.PASS,
    ButtonAction.EVAL_FAIL: Judgement.FAIL,
    ButtonAction.EVAL_HOLD: Judgement.HOLD,
}
EVAL_BUTTONS: Final = frozenset({ButtonAction.EVAL_STOP, ButtonAction.EVAL_PASS, ButtonAction.EVAL_HOLD})
"""Buttons that need no form; a fail asks for the reason, and the report is a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What an evaluation of a prompt can be begun with."""

    page: PromptPage
    models: Sequence[ModelItem]
    candidate: str
    """Id of the version that is tried where nothing else is chosen: the proposed one, or else the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """What was chosen, and what it would come to."""

    request: EvalRequest
    estimate: EvalEstimate
    before: str
    """How people call the version; likewise `after`."""
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An evaluation that has begun."""

    sentence: str
    """What says so."""
    told_in: str
    """Id of the thread that is told of it, which a platform may not open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    name: str
    """Without its ending."""
    title: str
    text: str


# --- beginning ------------------------------------------------------------------------------------------------------


async def choices(services: Services, actor: Actor, name: str) -> Choices:
    """What the form of an evaluation offers. Raises Refusal."""
    page = await show_prompt(services, actor, name)
    models = [one for one in await list_models(services, actor) if one.allowed]
    proposed = next((one.version_id for one in page.versions if one.candidate), page.head_id)
    return Choices(page=page, models=models, candidate=proposed)


def repeats_in(typed: str) -> int:
    """The number of runs that was typed. Raises Refusal."""
    words = typed.strip()
    if not words.isdecimal() or not 1 <= int(words[:4]) <= MOST_REPEATS:
        raise Refusal("eval_number", typed=words[:20], most=MOST_REPEATS)
    return int(words)


async def estimated(services: Services, actor: Actor, request: EvalRequest) -> Estimated:
    """What an evaluation would do, cost and send where. Raises Refusal."""
    page = await show_prompt(services, actor, request.prompt)
    estimate = await estimate_eval(services, actor, request)
    return Estimated(
        request=request,
        estimate=estimate,
        before=version_in(page, request.baseline_id or page.live_id).version,
        after=version_in(page, request.candidate_id).version,
    )


async def begin(services: Services, actor: Actor, request: EvalRequest, *, key: str) -> Begun:
    """Begin an evaluation, once for each key. Raises Refusal."""
    run_id = await start_eval(services, actor, request, event_key=key)
    items = await list_evals(services, actor, request.prompt)
    told_in = next((one.thread_id for one in items if one.run_id == run_id), None)
    sentence = i18n.text(actor.locale, "chat_evals.started", name=request.prompt)
    return Begun(sentence=sentence, told_in=told_in or "")


# --- while it is going on, and after --------------------------------------------------------------------------------


async def pressed(services: Services, actor: Actor, action: ButtonAction, ref: str, *, key: str) -> str:
    """Carry out one of the buttons of `EVAL_BUTTONS`; what whoever pressed it is told. Raises Refusal."""
    if action is ButtonAction.EVAL_STOP:
        going_on = await stop_eval(services, actor, ref)
        return i18n.text(actor.locale, "chat_evals.stopping" if going_on else "chat_evals.stopped_before")
    return await judged(services, actor, ref, VERDICTS[action], key=key)


async def judged(
    services: Services, actor: Actor, ref: str, judgement: Judgement, comment: str = "", *, key: str
) -> str:
    """Keep what a person says of an output; the sentence that says so. Raises Refusal."""
    await answer_question(services, actor, ref, judgement, comment, event_key=key)
    said = i18n.text(actor.locale, f"eval_judgement.{judgement.value}")
    return i18n.text(actor.locale, "chat_evals.verdict_kept", judgement=said)


async def report(services: Services, actor: Actor, run_id: str, locale: str) -> ReportFile:
    """An evaluation as a page that stands alone. Raises Refusal."""
    page = await show_eval(services, actor, run_id)
    whole = EvalReport(
        prompt=page.item.prompt,
        baseline=page.item.baseline.version,
        candidate=page.item.candidate.version,
        comparison=page.comparison,
        closed=page.closed,
    )
    return ReportFile(
        name=f"{whole.prompt} {whole.baseline} {whole.candidate}",
        title=i18n.text(locale, "eval_report.title", prompt=whole.prompt),
        text=await asyncio.to_thread(html_report, whole, locale),
    )


async def listed(services: Services, actor: Actor, name: str = "") -> tuple[EvalItem, ...]:
    """The newest evaluations of a prompt, or of all. Raises Refusal."""
    return await list_evals(services, actor, name or None)
