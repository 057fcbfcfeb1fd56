"""Evaluations: what one would cost, starting and stopping, and results (spec §10)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from core.ai_input.estimate import OUTPUT_GUESS_TOKENS
from core.ai_input.eval_case import render_case
from core.commands.eval_model import same_words, usual_model
from core.commands.eval_standing import (
    Judged,
    access_evals,
    authorise_verdict,
    find_here,
    item_of,
    judge,
    may_hold,
    models_of,
)
from core.commands.prompt_standing import Standing, standing_of
from core.commands.prompt_tell import do_tell_eval
from core.commands.services import Services, can_see, choose_model, enqueue
from core.domain.errors import ConfigurationError, Refusal, StoreUnavailable
from core.domain.eval_run import (
    MOST_REPEATS,
    OPEN,
    EvalEstimate,
    EvalItem,
    EvalPage,
    EvalRequest,
    Side,
)
from core.domain.evaluation import CONFIRM_REPEATS
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.policy import Action, Actor, Policy
from core.domain.receipt import PromptRef
from core.engine.evaluating import EVALUATION, conditions_of, seat_of
from core.prompts.eval_masking import Masker
from core.prompts.eval_set import EvalSet, OriginType, warnings
from core.prompts.masking import Personal
from core.store.budget import check_budget
from core.store.claim import claim, find_settled, settle
from core.store.eval_set import eval_set_now, newest_eval_sets
from core.store.evaluation import (
    EvalRun,
    do_add_eval,
    evals_of,
    progress_of,
)
from core.store.prompt import StoredPrompt
from core.store.workspace import people, platform_of

log = logging.getLogger(__name__)

MOST_LISTED = 50


# --- before anything leaves -----------------------------------------------------------------------------------------


async def estimate_eval(services: Services, actor: Actor, request: EvalRequest) -> EvalEstimate:
    """What an evaluation would do and cost, and where its cases would go. Nothing is stored. Raises Refusal."""
    access_evals(services, actor, Action.EVALUATE_PROMPT)
    policy = services.policy(actor.workspace)
    plan = await plan_eval(services, actor.workspace_id, policy, request)
    return await _estimate(services, actor.workspace_id, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An evaluation that could begin."""

    request: EvalRequest
    baseline: StoredPrompt
    candidate: StoredPrompt
    eval_set: EvalSet
    aliases: Mapping[Side, str]
    refs: tuple[PromptRef, ...]


async def plan_eval(
    services: Services, workspace_id: WorkspaceId, policy: Policy, request: EvalRequest
) -> Plan:
    """What a request comes to in a workspace. Raises Refusal."""
    if not 1 <= request.repeats <= MOST_REPEATS:
        raise Refusal("eval_repeats", repeats=request.repeats, most=MOST_REPEATS)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, workspace_id, request.prompt)
    candidate = standing.version(request.candidate_id)
    baseline = _baseline(standing, request)
    eval_set = await _eval_set(services, workspace_id, candidate, baseline)
    aliases = await asyncio.to_thread(_aliases, services, policy, request, baseline, candidate)
    names = [name for name in services.prompts.shipped.versions if name != request.prompt]
    async with services.store.writing() as session:
        await services.prompts.ensure_stored(session)
        refs = await services.prompts.refs(session, workspace_id, names)
    return Plan(
        request=request,
        baseline=baseline,
        candidate=candidate,
        eval_set=eval_set,
        aliases=aliases,
        refs=refs,
    )


def _aliases(
    services: Services, policy: Policy, request: EvalRequest, baseline: StoredPrompt, candidate: StoredPrompt
) -> Mapping[Side, str]:
    """The model of each side: named, or the one that its version is written for. Where words and models would both
    differ the candidate's model answers both. Raises Refusal where that was asked for. Not on the event loop."""
    old, new = baseline.parsed(), candidate.parsed()
    same = same_words(old, new)
    model = choose_model(
        services, policy, request.model or usual_model(services, policy, old if same else new)
    )
    follows = model if request.model or not same else usual_model(services, policy, new)
    other = choose_model(services, policy, request.candidate_model or follows)
    if model != other and not same:
        raise Refusal("eval_two_changes")
    return {Side.BASELINE: model, Side.CANDIDATE: other}


def _baseline(standing: Standing, request: EvalRequest) -> StoredPrompt:
    if request.baseline_id is not None:
        return standing.version(request.baseline_id)
    if standing.live is None:
        raise Refusal("eval_nothing_live", name=standing.name)
    return standing.live


async def _eval_set(
    services: Services, workspace_id: WorkspaceId, candidate: StoredPrompt, baseline: StoredPrompt
) -> EvalSet:
    """The set that a version names, or else its baseline. Raises Refusal without one, or a case of the prompt."""
    named = (await asyncio.to_thread(candidate.parsed)).eval_set
    name = named or (await asyncio.to_thread(baseline.parsed)).eval_set
    if not name:
        raise Refusal("eval_no_set", name=candidate.name)
    async with services.store.reading() as session:
        found = await eval_set_now(session, workspace_id, services.evals, name)
        own = [one.name for one in await newest_eval_sets(session, workspace_id)]
    if found is None:
        allowed = ", ".join([*await services.evals.sets(), *own])
        raise Refusal("eval_set_unknown", eval_set=name, allowed=allowed)
    if not found.cases_of(baseline.name):
        raise Refusal("eval_no_case", name=baseline.name, eval_set=name)
    return found


async def _estimate(services: Services, workspace_id: WorkspaceId, plan: Plan) -> EvalEstimate:
    async with services.store.reading() as session:
        names = [person.name for person in await people(session, workspace_id)]
    masker = Masker.of(workspace_id, names)
    cases = plan.eval_set.cases_of(plan.request.prompt)
    libraries = {
        Side.BASELINE: await services.prompts.resolve(workspace_id, (plan.baseline.ref, *plan.refs)),
        Side.CANDIDATE: await services.prompts.resolve(workspace_id, (plan.candidate.ref, *plan.refs)),
    }
    seat = seat_of(services.models, list(plan.aliases.values()))

    def weigh() -> tuple[dict[Side, int], Counter[Personal]]:
        """Tokens of one run of all cases on either side; a case that cannot be sent has none."""
        tokens, masked = dict.fromkeys(Side, 0), Counter[Personal]()
        for case in cases:
            sent, found = masker.case(case)
            masked.update(found)
            for side in Side:
                try:
                    tokens[side] += render_case(sent, libraries[side], seat).estimate_tokens
                except (Refusal, ConfigurationError):
                    log.info("a case cannot be sent; its evaluation will say why: %s", case.id)
        return tokens, masked

    tokens, masked = await asyncio.to_thread(weigh)
    repeats, count = plan.request.repeats, len(cases)
    costs = [
        services.models.models[plan.aliases[side]].cost_usd(
            tokens[side] * repeats, OUTPUT_GUESS_TOKENS * count * repeats
        )
        for side in Side
    ]
    known = [cost for cost in costs if cost is not None]
    return EvalEstimate(
        eval_set=plan.eval_set.id,
        cases=count,
        calls=count * repeats * len(Side),
        most_calls=count * (repeats + CONFIRM_REPEATS) * len(Side),
        input_tokens=sum(tokens.values()) * repeats,
        cost_usd=sum(known) if len(known) == len(costs) else None,
        models=await models_of(services, dict.fromkeys(plan.aliases.values())),
        from_logs=sum(case.origin.type is OriginType.MASKED_LOG for case in cases),
        masked={f"personal.{kind}": number for kind, number in masked.items()},
        warnings=warnings(plan.eval_set),
    )


# --- running --------------------------------------------------------------------------------------------------------


async def start_eval(
    services: Services,
    actor: Actor,
    request: EvalRequest,
    *,
    event_key: str,
    thread_id: ThreadId | None = None,
) -> str:
    """Begin an evaluation; its id. Raises Refusal, and then nothing is begun.

    `thread_id`: a thread of the product that is told of it, where the request names no channel.
    """
    access_evals(services, actor, Action.EVALUATE_PROMPT)
    await _check_channel(services, actor, request.channel)
    async with services.store.reading() as session:
        settled = await find_settled(session, actor.workspace_id, event_key)
    if settled is not None:
        return str(settled["run_id"])
    policy = services.policy(actor.workspace)
    plan = await plan_eval(services, actor.workspace_id, policy, request)
    return await begin_eval(
        services, actor.workspace_id, plan, policy, actor=actor, event_key=event_key, thread_id=thread_id
    )


async def _check_channel(services: Services, actor: Actor, channel: str) -> None:
    """Raises Refusal for a channel that the actor cannot see: nobody is told things in a place they cannot read."""
    if not channel:
        return
    async with services.store.reading() as session:
        platform = await platform_of(session, actor.workspace_id)
    if not await can_see(services, actor, platform, channel):
        raise Refusal("eval_channel_unseen")


async def begin_eval(
    services: Services,
    workspace_id: WorkspaceId,
    plan: Plan,
    policy: Policy,
    *,
    actor: Actor | None,
    event_key: str,
    thread_id: ThreadId | None = None,
) -> str:
    """Store an evaluation and hand it to the engine; its id. `actor` is None for the operator. Raises Refusal."""
    by = actor.person_id if actor else None
    estimate = await _estimate(services, workspace_id, plan)
    if estimate.needs_acknowledgement and not plan.request.acknowledged:
        raise Refusal(
            "eval_training",
            count=estimate.from_logs,
            models=", ".join(one.alias for one in estimate.models if one.trains_on_data != "no"),
        )
    now = services.clock.now()
    run = EvalRun(
        id=services.clock.new_id(),
        workspace_id=workspace_id,
        prompt=plan.request.prompt,
        baseline=plan.baseline.ref,
        candidate=plan.candidate.ref,
        refs=plan.refs,
        models=plan.aliases,
        conditions=conditions_of(plan.eval_set, services.models, plan.aliases, plan.request.repeats),
        cases=len(plan.eval_set.cases_of(plan.request.prompt)),
        author_id=by if plan.baseline.sha256 == plan.candidate.sha256 else plan.candidate.author_id,
        started_by=by,
        started_at=now,
    )
    async with services.store.writing() as session:
        await check_budget(session, workspace_id, by, policy, expected_usd=estimate.cost_usd or 0.0, now=now)
        settled = await claim(session, workspace_id, (event_key,), services.clock)
        if settled is not None:
            return str(settled["run_id"])
        told = None
        if actor is None:
            await do_add_eval(session, run)
        else:
            channel = plan.request.channel
            told = await do_tell_eval(session, services, actor, run, channel=channel, thread_id=thread_id)
        await settle(session, workspace_id, (event_key,), {"run_id": run.id})
    if told is not None:
        await enqueue(services, told)
    await enqueue_eval(services, workspace_id, run.id)
    return run.id


async def enqueue_eval(services: Services, workspace_id: WorkspaceId, run_id: str) -> None:
    """Hand a stored evaluation to the engine. Where that fails it is left to the sweep."""
    try:
        await services.engine.enqueue(
            run_id, lane="", args={"workspace_id": workspace_id, EVALUATION: True}, batch=True
        )
    except StoreUnavailable:
        log.warning(
            "an evaluation was stored and not enqueued; the sweep picks it up", extra={"run_id": run_id}
        )


async def stop_eval(services: Services, actor: Actor, run_id: str) -> bool:
    """Have an evaluation end; results that are stored stay. False, and harmless, on one that has ended.

    Raises Refusal.
    """
    access_evals(services, actor, Action.EVALUATE_PROMPT)
    run = await find_here(services, actor, run_id)
    await services.engine.request_stop(run_id)
    return run.status in OPEN


# --- looking --------------------------------------------------------------------------------------------------------


async def list_evals(services: Services, actor: Actor, prompt: str | None = None) -> tuple[EvalItem, ...]:
    """The newest evaluations of a prompt, or of all, newest first. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        runs = await evals_of(session, actor.workspace_id, prompt, most=MOST_LISTED)
        progress = await progress_of(session, actor.workspace_id, [run.id for run in runs])
    return tuple(item_of(run, *progress.get(run.id, (0, 0.0))) for run in runs)


async def show_eval(services: Services, actor: Actor, run_id: str) -> EvalPage:
    """One evaluation with everything that is known of it now. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    judged = await judge(services, actor, await find_here(services, actor, run_id))
    calls = list(judged.results.values())
    reported = {
        side: tuple(
            dict.fromkeys(
                one.reported_model_id for one in calls if one.place.side is side and one.reported_model_id
            )
        )
        for side in Side
    }
    return EvalPage(
        item=item_of(judged.run, len(calls), sum(one.sample.cost_usd or 0.0 for one in calls)),
        comparison=judged.comparison,
        review=judged.review,
        closed=judged.closed,
        reported=reported,
        can_judge=_may_judge(services, actor, judged),
        held=judged.held,
        can_hold=may_hold(services, actor),
    )


def _may_judge(services: Services, actor: Actor, judged: Judged) -> bool:
    try:
        authorise_verdict(services, actor, judged)
    except Refusal:
        return False
    return True
