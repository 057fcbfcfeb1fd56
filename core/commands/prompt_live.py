"""What is live: versions are looked at, made live, rolled back and archived, and files read again (spec §10)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from core.commands.eval import start_eval
from core.commands.prompt_gate import check_fixed, pass_gate
from core.commands.prompt_standing import (
    Standing,
    access_prompts,
    brings_back,
    check_reminded,
    standing_of,
    was_live,
)
from core.commands.prompt_tell import do_tell_rollback
from core.commands.services import Services, enqueue
from core.domain.errors import Refusal, UpstreamFailure
from core.domain.eval_run import USUAL_REPEATS, EvalRequest
from core.domain.ids import ThreadId
from core.domain.policy import Action, Actor, Subject, authorise, authorise_promotion
from core.domain.prompt import (
    ProcessStatus,
    PromoteRequest,
    PromptEventKind,
    PromptLabel,
    PromptMoved,
    PromptStatus,
    RollBackRequest,
    change_reason,
)
from core.domain.view import Phrase
from core.i18n import phrase
from core.prompts.contract import contract_problems
from core.store.claim import claim, find_settled, settle
from core.store.database import Session
from core.store.prompt import PromptEvent, StoredPrompt, do_add_event, prompt_events
from core.store.prompt_pointer import do_move_pointer, do_propose
from core.store.prompt_process import do_next_generation, generation, processes
from core.store.workspace import people

log = logging.getLogger(__name__)

MOVES = (PromptEventKind.PROMOTE, PromptEventKind.ROLLBACK, PromptEventKind.ARCHIVE)


# --- looking at a version -------------------------------------------------------------------------------------------


async def verify_version(
    services: Services, actor: Actor, name: str, version_id: str, note: str, *, event_key: str
) -> None:
    """Record that another person than the author looked at a version, and what they say of it. Raises Refusal."""
    reason = change_reason(note)
    access_prompts(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
    version = _own(standing, version_id)
    subject = Subject(visible=True, author_id=version.author_id)
    authorise(actor, Action.VERIFY_PROMPT, subject, services.policy(actor.workspace))
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is None:
            await do_add_event(
                session,
                actor.workspace_id,
                _record(services, actor, PromptEventKind.VERIFY, version, version, reason),
            )


def _own(standing: Standing, version_id: str) -> StoredPrompt:
    """A version that the workspace made; raises Refusal for any other."""
    version = standing.version(version_id)
    if version.shipped:
        raise Refusal("prompt_version_unknown", name=standing.name)
    return version


# --- making live ----------------------------------------------------------------------------------------------------


async def promote(
    services: Services, actor: Actor, request: PromoteRequest, *, event_key: str
) -> PromptMoved:
    """Make a version of the workspace live, at once and in every process; with the file of this release the workspace
    follows the files again. Raises Refusal; then nothing is moved.

    Runs that began before keep what they began with.
    """
    reason = change_reason(request.reason)
    access_prompts(services, actor, Action.PROMOTE_PROMPT)
    async with services.store.reading() as session:
        settled = await find_settled(session, actor.workspace_id, event_key)
        standing = await standing_of(session, services.prompts, actor.workspace_id, request.name)
        history = await prompt_events(session, actor.workspace_id, request.name)
    if settled is not None:
        return _moved(request.name, settled)
    version, before = _promotable(standing, request.version_id), standing.live
    if before is not None and before.id == version.id:
        raise Refusal("prompt_already_live", name=request.name, version=version.version)
    self_approved = await _approved(services, actor, version, history)
    await asyncio.to_thread(_check_usable, services, actor, standing, version)
    rollbacks = [event for event in history if event.kind is PromptEventKind.ROLLBACK]
    withdrawn = await asyncio.to_thread(brings_back, standing, rollbacks, version.parsed())
    check_reminded(withdrawn, acknowledged=request.acknowledged)
    passed = await pass_gate(services, actor, before, version, override=request.override)
    async with services.store.writing() as session:
        settled = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if settled is None:
            await services.prompts.ensure_stored(session)
            await _do_move(
                session, services, actor, standing, None if version.shipped else version.id, request.rev
            )
            if standing.proposed is not None and standing.proposed.id == version.id:
                await do_propose(session, actor.workspace_id, request.name, None)
            for kind in (*passed.records, PromptEventKind.PROMOTE):
                record = _record(services, actor, kind, before, version, reason)
                await do_add_event(
                    session,
                    actor.workspace_id,
                    replace(record, self_approved=self_approved, eval_run_id=passed.run_id),
                )
            settled = _settlement(before, version, self_approved=self_approved)
            await settle(session, actor.workspace_id, (event_key,), settled)
    return _moved(request.name, settled)


async def stands_against(services: Services, actor: Actor, name: str, version_id: str) -> tuple[Phrase, ...]:
    """Everything for which the actor could not make a version live now, an eval set's reasons last. Stores nothing.

    Raises Refusal for whoever may not make anything live, and for an unknown version.
    """
    access_prompts(services, actor, Action.PROMOTE_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
        history = await prompt_events(session, actor.workspace_id, name)
    version, before = standing.version(version_id), standing.live
    if before is not None and before.id == version.id:
        return ()
    found = []
    for asked in (
        lambda: _approved(services, actor, version, history),
        lambda: asyncio.to_thread(check_fixed, services.models, version),
        lambda: pass_gate(services, actor, before, version, override=False),
    ):
        try:
            await asked()
        except Refusal as refusal:
            found.append(Phrase(key=f"refusal.{refusal.code}", fields=refusal.fields))
    return tuple(found)


def _promotable(standing: Standing, version_id: str) -> StoredPrompt:
    """A version that can be made live; raises Refusal for what an earlier release brought, which is gone back to."""
    version = standing.version(version_id)
    if version.shipped and not standing.is_of_release(version):
        raise Refusal("prompt_of_earlier_release", version=version.version)
    return version


async def _approved(
    services: Services, actor: Actor, version: StoredPrompt, history: Sequence[PromptEvent]
) -> bool:
    """Whether a promotion counts as approved by its author alone. Raises Refusal where it may not be."""
    async with services.store.reading() as session:
        alone = len(await people(session, actor.workspace_id)) == 1
    looked_at = [event for event in history if event.kind is PromptEventKind.VERIFY]
    return authorise_promotion(
        actor,
        services.policy(actor.workspace),
        author_id=version.author_id,
        # What a release brings was written by others than whoever makes it live.
        verified=version.shipped or any(event.to_id == version.id for event in looked_at),
        alone=alone,
    )


def _settlement(
    before: StoredPrompt | None, after: StoredPrompt | None, *, self_approved: bool = False
) -> dict[str, str | bool]:
    return {
        "from": before.version if before else "",
        "to": after.version if after else "",
        "self_approved": self_approved,
    }


def _moved(name: str, settled: object) -> PromptMoved:
    if not isinstance(settled, dict):
        raise TypeError("a settlement is an object")
    return PromptMoved(
        name=name,
        from_version=str(settled["from"]),
        to_version=str(settled["to"]),
        self_approved=bool(settled["self_approved"]),
        told_in=str(settled.get("told_in", "")),
    )


def _check_usable(services: Services, actor: Actor, standing: Standing, version: StoredPrompt) -> None:
    """Raises Refusal for a version that the product cannot work with, or that was written for a model that floats."""
    _check_fits(actor, standing, version)
    check_fixed(services.models, version)


def _check_fits(actor: Actor, standing: Standing, version: StoredPrompt) -> None:
    """Raises Refusal for a version that the product's code of this release cannot work with."""
    problems = contract_problems(standing.shipped.parsed(), version.parsed()) if standing.shipped else ()
    if problems:
        sentences = "\n".join(phrase(actor.locale, problem) for problem in problems)
        raise Refusal("prompt_contract", version=version.version, problems=sentences)


async def _do_move(
    session: Session,
    services: Services,
    actor: Actor,
    standing: Standing,
    version_id: str | None,
    rev: int,
) -> None:
    """Raises Refusal, which names the mover, when what is live was moved since it was seen."""
    production = PromptLabel.PRODUCTION
    if rev == standing.production.rev and await do_move_pointer(
        session, actor.workspace_id, standing.name, production, version_id, rev=rev
    ):
        return
    moves = await prompt_events(session, actor.workspace_id, standing.name, kinds=MOVES)
    raise Refusal(
        "prompt_moved",
        name=standing.name,
        who=moves[0].who if moves else "",
        reason=moves[0].reason if moves else "",
    )


def _record(
    services: Services,
    actor: Actor,
    kind: PromptEventKind,
    before: StoredPrompt | None,
    after: StoredPrompt | None,
    reason: str,
) -> PromptEvent:
    version = after or before
    return PromptEvent(
        id=services.clock.new_id(),
        name=version.name if version else "",
        kind=kind,
        from_id=before.id if before else None,
        to_id=after.id if after else None,
        actor_id=actor.person_id,
        reason=reason,
        before=before.files if before else {},
        after=after.files if after else {},
        created_at=services.clock.now(),
    )


# --- going back -----------------------------------------------------------------------------------------------------


async def roll_back(
    services: Services, actor: Actor, request: RollBackRequest, *, event_key: str
) -> PromptMoved:
    """Go back to any version that was live; SHIPPED follows the files again. No gate stands before it, so that what
    never was live has to be promoted. Raises Refusal."""
    reason = change_reason(request.reason)
    access_prompts(services, actor, Action.PROMOTE_PROMPT)
    async with services.store.reading() as session:
        settled = await find_settled(session, actor.workspace_id, event_key)
        standing = await standing_of(session, services.prompts, actor.workspace_id, request.name)
        moves = await prompt_events(session, actor.workspace_id, request.name, kinds=MOVES)
    if settled is not None:
        return _moved(request.name, settled)
    before, target = standing.live, standing.version(request.version_id)
    if before is None:
        raise Refusal("prompt_not_live", name=request.name)
    if before.id == target.id:
        raise Refusal("prompt_already_live", name=request.name, version=target.version)
    if not was_live(target, moves):
        raise Refusal("prompt_never_live", version=target.version)
    await asyncio.to_thread(_check_fits, actor, standing, target)
    follows = standing.is_of_release(target)
    run = None
    async with services.store.writing() as session:
        settled = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if settled is None:
            await services.prompts.ensure_stored(session)
            await _do_move(session, services, actor, standing, None if follows else target.id, request.rev)
            kind = PromptEventKind.ROLLBACK
            await do_add_event(
                session, actor.workspace_id, _record(services, actor, kind, before, target, reason)
            )
            settled = _settlement(before, target)
            run = await do_tell_rollback(session, services, actor, _moved(request.name, settled), reason)
            settled["told_in"] = run.thread_id if run else ""
            await settle(session, actor.workspace_id, (event_key,), settled)
    if run is not None:
        await enqueue(services, run)
    await _evaluate_after(
        services,
        actor,
        before,
        request,
        event_key=f"{event_key}/eval",
        thread_id=run.thread_id if run else None,
    )
    return _moved(request.name, settled)


async def _evaluate_after(
    services: Services,
    actor: Actor,
    left: StoredPrompt,
    request: RollBackRequest,
    *,
    event_key: str,
    thread_id: ThreadId | None,
) -> None:
    """Try what is live again against what was left, where there is an eval set. A rollback stands without it; what it
    finds is told in the thread that tells of the rollback."""
    wanted = EvalRequest(
        prompt=request.name, baseline_id=left.id, candidate_id=request.version_id, repeats=USUAL_REPEATS
    )
    try:
        await start_eval(services, actor, wanted, event_key=event_key, thread_id=thread_id)
    except (Refusal, UpstreamFailure) as trouble:
        log.info("no evaluation was begun after a rollback of %s: %s", request.name, trouble)


async def archive(
    services: Services, actor: Actor, name: str, rev: int, reason: str, *, event_key: str
) -> None:
    """Take a team's own prompt out of use; its versions and history stay. Raises Refusal."""
    why = change_reason(reason)
    access_prompts(services, actor, Action.PROMOTE_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
    if standing.shipped is not None:
        raise Refusal("prompt_archive_shipped", name=name)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return
        await _do_move(session, services, actor, standing, None, rev)
        await do_propose(session, actor.workspace_id, name, None)
        before = standing.live or standing.head
        await do_add_event(
            session, actor.workspace_id, _record(services, actor, PromptEventKind.ARCHIVE, before, None, why)
        )


# --- the files ------------------------------------------------------------------------------------------------------


async def reload_prompts(services: Services, actor: Actor, *, event_key: str) -> PromptStatus:
    """Have every process read the files of the release again; this one has when it returns. Raises Refusal."""
    access_prompts(services, actor, Action.PROMOTE_PROMPT)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is None:
            await do_next_generation(session)
            await do_add_event(
                session, actor.workspace_id, _record(services, actor, PromptEventKind.RELOAD, None, None, "")
            )
    await services.prompts.look()
    await services.prompts.report()
    return await _status(services)


async def prompt_status(services: Services, actor: Actor) -> PromptStatus:
    """Which process has loaded what. Raises Refusal."""
    access_prompts(services, actor, Action.READ_PROMPT)
    return await _status(services)


async def _status(services: Services) -> PromptStatus:
    async with services.store.reading() as session:
        newest = await generation(session)
        listed = await processes(session)
    return PromptStatus(
        generation=newest,
        processes=tuple(
            ProcessStatus(
                process_id=one.process_id,
                host=one.host,
                pid=one.pid,
                generation=one.generation,
                loaded_at=one.loaded_at,
                seen_at=one.seen_at,
                versions=one.versions,
                error=one.error,
                current=one.generation == newest and not one.error,
            )
            for one in listed
        ),
    )
