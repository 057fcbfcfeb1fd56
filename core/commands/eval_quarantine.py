"""Cases that are flaky or wrong: set aside by a person with a reason, and counted again (spec §10)."""

from core.commands.eval_set import access_eval_set
from core.commands.eval_standing import access_evals
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_set import QUARANTINE_TIME, HeldCase, QuarantineRequest
from core.domain.policy import Action, Actor
from core.domain.prompt import MAX_REASON_CHARS, MIN_REASON_CHARS, one_line
from core.store.claim import claim
from core.store.eval_quarantine import do_hold_case, do_release_case, held_cases


async def set_case_aside(
    services: Services, actor: Actor, request: QuarantineRequest, *, event_key: str
) -> None:
    """Have a case be shown and not gate for a while. Raises Refusal.

    A case that must pass every time cannot be set aside; in the evaluation of the actor's own change it gates all the
    same, where another person could have done it.
    """
    access_evals(services, actor, Action.VERIFY_PROMPT)
    reason = one_line(request.reason)
    if not MIN_REASON_CHARS <= len(reason) <= MAX_REASON_CHARS:
        raise Refusal("eval_quarantine_reason", least=MIN_REASON_CHARS, limit=MAX_REASON_CHARS)
    _, eval_set = await access_eval_set(services, actor.workspace_id, request.eval_set)
    case = next((one for one in eval_set.cases if one.id == request.case_id), None)
    if case is None:
        raise Refusal("eval_case_not_found", case=request.case_id[:100], eval_set=eval_set.id)
    if case.is_hard:
        raise Refusal("eval_quarantine_hard", case=case.id)
    now = services.clock.now()
    held = HeldCase(
        held_id=services.clock.new_id(),
        eval_set=eval_set.id,
        case_id=case.id,
        kind=request.kind,
        reason=reason,
        who=actor.name,
        owner_id=actor.person_id,
        since=now,
        until=now + QUARANTINE_TIME,
    )
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        if not await do_hold_case(session, actor.workspace_id, held):
            known = await held_cases(session, actor.workspace_id, eval_set.id)
            who = next((one.who for one in known if one.case_id == case.id and one.holds(now)), "")
            raise Refusal("eval_quarantine_already", case=case.id, who=who)


async def count_case_again(
    services: Services, actor: Actor, eval_set: str, case_id: str, *, event_key: str
) -> None:
    """Take back that a case was set aside; the record stays. Raises Refusal."""
    access_evals(services, actor, Action.VERIFY_PROMPT)
    await access_eval_set(services, actor.workspace_id, eval_set)
    now = services.clock.now()
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        known = await held_cases(session, actor.workspace_id, eval_set)
        held = next((one for one in known if one.case_id == case_id and one.holds(now)), None)
        if held is None or not await do_release_case(
            session, actor.workspace_id, held.held_id, actor.person_id, now
        ):
            raise Refusal("eval_quarantine_none", case=case_id[:100])
