"""Cross Review: have answers judged by models that took no part in their conversation (spec §8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.ai_input.estimate import OUTPUT_GUESS_TOKENS, estimate_tokens
from core.commands.opening import PROMPT_GUESS_TOKENS
from core.commands.services import Services, access_answer, allowed_models, do_begin_run, enqueue
from core.domain.errors import Refusal
from core.domain.ids import MessageId, RunId
from core.domain.policy import Action, Actor
from core.domain.review import FOCUS_CHARS, ReviewSetup, pick_reviewers
from core.domain.setup import models_in
from core.domain.thread import Mode, Thread
from core.domain.view import EstimateView, Phrase
from core.modes.cross_review import KIND
from core.store.budget import check_budget
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import find_message, find_messages, models_of_thread
from core.store.page import hidden_name
from core.store.run import Run

REVIEWABLE = (Mode.COMPARE, Mode.DEBATE, Mode.WORKFLOW)
DEFAULT_REVIEWERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    answers: tuple[str, ...]
    """Stored answers of one thread in the order in which they were named; `thread/id` where a branch inherited one."""
    reviewers: int = DEFAULT_REVIEWERS
    focus: str = ""
    """What the reviewers should look at above all; the one thing they are told besides the answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStarted:
    run_id: RunId
    reviewers: tuple[str, ...]
    asked: int
    """Reviewers wished for; fewer are there when not so many models took no part."""


async def cross_review(
    services: Services, actor: Actor, request: ReviewRequest, *, event_key: str
) -> ReviewStarted:
    """Start a Cross Review of answers of one thread. Raises Refusal that says what is allowed."""
    thread, answers = await _reviewed(services, actor, request.answers)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return ReviewStarted(
                run_id=RunId(earlier["run_id"]),
                reviewers=tuple(earlier["reviewers"]),
                asked=earlier["asked"],
            )
        setup = await _setup(session, services, actor, request, thread, answers)
        expected = await _expected(session, services, actor, setup)
        if expected.calls > 1:
            await check_budget(
                session,
                actor.workspace_id,
                actor.person_id,
                services.policy(actor.workspace),
                expected_usd=expected.cost_usd,
                now=services.clock.now(),
            )
        run = await _run(session, services, actor, thread, ReviewSetup.from_json(setup.to_json()))
        started = ReviewStarted(run_id=run.id, reviewers=setup.reviewers, asked=setup.asked)
        await settle(
            session,
            actor.workspace_id,
            (event_key,),
            {"run_id": run.id, "reviewers": list(setup.reviewers), "asked": setup.asked},
        )
    await enqueue(services, run)
    return started


async def estimate_review(services: Services, actor: Actor, request: ReviewRequest) -> EstimateView:
    """What a Cross Review is expected to cost; nothing is stored or called (spec §14). Raises Refusal."""
    thread, answers = await _reviewed(services, actor, request.answers)
    async with services.store.reading() as session:
        setup = await _setup(session, services, actor, request, thread, answers)
        return await _expected(session, services, actor, setup)


async def _setup(
    session: Session,
    services: Services,
    actor: Actor,
    request: ReviewRequest,
    thread: Thread,
    answers: tuple[MessageId, ...],
) -> ReviewSetup:
    focus = request.focus.strip()
    if len(focus) > FOCUS_CHARS:
        raise Refusal("focus_too_long", name="focus", had=len(focus), limit=FOCUS_CHARS)
    return ReviewSetup(
        answers=answers,
        reviewers=await _reviewers(session, services, actor, thread, request.reviewers),
        asked=request.reviewers,
        focus=focus,
        seed=services.clock.new_id(),
    )


async def _expected(session: Session, services: Services, actor: Actor, setup: ReviewSetup) -> EstimateView:
    texts = [one.text for one in await find_messages(session, actor.workspace_id, setup.answers)]
    reads = estimate_tokens("\n".join((*texts, setup.focus))) + PROMPT_GUESS_TOKENS
    prices = {
        alias: services.models.models[alias].cost_usd(reads, OUTPUT_GUESS_TOKENS) for alias in setup.reviewers
    }
    calls = len(prices)
    return EstimateView(
        calls=calls,
        input_tokens=reads * calls,
        output_tokens=OUTPUT_GUESS_TOKENS * calls,
        cost_usd=sum(price for price in prices.values() if price is not None),
        unpriced=tuple(alias for alias, price in prices.items() if price is None),
        notes=_fewer(calls, setup.asked),
        models=setup.reviewers,
    )


def _fewer(had: int, asked: int) -> tuple[Phrase, ...]:
    """What people should know where not so many models took no part."""
    if had >= asked:
        return ()
    return (Phrase(key="mode_notice.fewer_reviewers", fields={"had": had, "asked": asked}),)


async def _reviewers(
    session: Session, services: Services, actor: Actor, thread: Thread, count: int
) -> tuple[str, ...]:
    """Models that took no part, in the order of `[defaults]`. Raises Refusal where there is none."""
    took_part = [*await models_of_thread(session, actor.workspace_id, thread.id), *models_in(thread.setup)]
    allowed = allowed_models(services, services.policy(actor.workspace))
    return _picked(_in_order(services.models.defaults.reviewers, allowed), took_part, count, thread)


def _picked(
    available: Sequence[str], took_part: Sequence[str], asked: int, thread: Thread
) -> tuple[str, ...]:
    try:
        return pick_reviewers(available, took_part, asked)
    except Refusal as refusal:
        # The refusal names who took part, which a blind Compare does not tell.
        hidden = hidden_name(thread, thread.mode.value, None)
        raise Refusal(
            refusal.code, **{**refusal.fields, **({"took_part": hidden} if hidden else {})}
        ) from refusal


async def _reviewed(
    services: Services, actor: Actor, refs: Sequence[str]
) -> tuple[Thread, tuple[MessageId, ...]]:
    """The one thread whose answers these are, and their ids. Raises Refusal."""
    found = [await access_answer(services, actor, Action.REVIEW, ref) for ref in dict.fromkeys(refs)]
    if not found:
        raise Refusal("answer_not_found")
    thread = found[0][0]
    if any(other.id != thread.id for other, _ in found):
        raise Refusal("review_one_thread")
    if thread.mode not in REVIEWABLE:
        raise Refusal("review_not_here", allowed=", ".join(mode.value for mode in REVIEWABLE))
    return thread, tuple(MessageId(answer.id) for _, answer in found)


def _in_order(preferred: Sequence[str], allowed: Sequence[str]) -> list[str]:
    return [alias for alias in dict.fromkeys([*preferred, *allowed]) if alias in allowed]


async def _run(session: Session, services: Services, actor: Actor, thread: Thread, setup: ReviewSetup) -> Run:
    first = await find_message(session, actor.workspace_id, setup.answers[0])
    return await do_begin_run(
        session,
        services,
        thread,
        KIND,
        by=actor.person_id,
        request_id=MessageId(first.answers_id) if first and first.answers_id else None,
        model=setup.reviewers[0],
        args=setup.to_json(),
    )
