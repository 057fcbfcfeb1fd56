"""Editing prompts: drafts, what is known about a text before it is saved, and saving it as a version (spec §10)."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from core.commands.prompt_standing import (
    Standing,
    access_prompts,
    brings_back,
    check_reminded,
    standing_of,
)
from core.commands.services import Services
from core.domain.errors import ConfigurationError, ConfigurationErrors, Refusal
from core.domain.policy import Action, Actor
from core.domain.prompt import (
    SHIPPED,
    TEAM_NAME,
    TEAM_PREFIX,
    DraftCheck,
    PromptEventKind,
    PromptProblem,
    PromptText,
    SavedVersion,
    SaveRequest,
    change_reason,
)
from core.files.charset import clean
from core.i18n import reason as reason_in
from core.prompts.bump import Bump, Level, check_version, minimum_bump, next_version, number_of
from core.prompts.contract import contract_problems
from core.prompts.example_privacy import personal_doubts, personal_problems
from core.prompts.folder import to_texts
from core.prompts.growth import Saved, growth_warnings
from core.prompts.parse import METADATA, parse_prompt
from core.prompts.three_way import part_diffs
from core.prompts.version import PromptVersion
from core.store.claim import claim, find_settled, settle
from core.store.database import Session
from core.store.prompt import (
    PromptEvent,
    StoredDraft,
    StoredPrompt,
    do_add_event,
    do_add_version,
    do_drop_draft,
    do_keep_draft,
    newest_own,
    prompt_events,
)
from core.store.prompt_pointer import NEVER_MOVED, do_propose
from core.store.workspace import people, person_name

FIRST_VERSION = "1.0.0"
NAME_CHARS = 60
DRAFT_CHARS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A text with everything that is known about it. `prompt` is None while something is wrong with the text."""

    standing: Standing
    base: StoredPrompt | None
    files: Mapping[str, str]
    prompt: PromptVersion | None
    highest: StoredPrompt | None
    """What the next version must come after; None for a first one."""
    check: DraftCheck


async def check_draft(services: Services, actor: Actor, text: PromptText) -> DraftCheck:
    """What is known about a text before it is saved; stores nothing. Raises Refusal."""
    return (await _judged(services, actor, text)).check


async def save_draft(services: Services, actor: Actor, text: PromptText, *, event_key: str) -> None:
    """Keep a text for its author as it is, right or wrong, in the place of an earlier one. Raises Refusal."""
    judged = await _judged(services, actor, text)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is None:
            await services.prompts.ensure_stored(session)
            await do_keep_draft(session, actor.workspace_id, _draft(services, actor, text, judged))


async def drop_draft(services: Services, actor: Actor, name: str, *, event_key: str) -> None:
    """Throw one's own draft of a prompt away. Raises Refusal."""
    access_prompts(services, actor, Action.EDIT_PROMPT)
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is None:
            await do_drop_draft(session, actor.workspace_id, name, actor.person_id)


async def save_version(
    services: Services, actor: Actor, request: SaveRequest, *, event_key: str
) -> SavedVersion:
    """Save a text as the next version; it is proposed, never live by itself. Raises Refusal.

    Where somebody saved another version meanwhile, nothing is saved: the text is kept as its author's draft, beside
    which the page shows what the other changed.
    """
    reason = change_reason(request.reason)
    access_prompts(services, actor, Action.EDIT_PROMPT)
    async with services.store.reading() as session:
        earlier = await find_settled(session, actor.workspace_id, event_key)
    if earlier is not None:
        return await _saved(services, actor, request.text.name, earlier)
    judged = await _judged(services, actor, request.text)
    new = _new(services, actor, judged, request, reason)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is None:
            await services.prompts.ensure_stored(session)
            if await _do_save(session, services, judged, request.text, new):
                await do_drop_draft(session, actor.workspace_id, new.name, actor.person_id)
                earlier = {"version_id": new.id, "version": new.version}
            else:
                draft = _draft(services, actor, request.text, judged)
                await do_keep_draft(session, actor.workspace_id, draft)
                earlier = {"version_id": ""}
            await settle(session, actor.workspace_id, (event_key,), earlier)
    saved = await _saved(services, actor, request.text.name, earlier)
    return replace(saved, bump=judged.check.bump, warnings=judged.check.warnings)


async def _saved(services: Services, actor: Actor, name: str, settled: Mapping[str, Any]) -> SavedVersion:
    """What came of a save. Raises Refusal where another version was first."""
    if not settled["version_id"]:
        raise await _stale(services, actor, name)
    return SavedVersion(
        version_id=str(settled["version_id"]), version=str(settled["version"]), bump="", warnings=()
    )


# --- judging a text -------------------------------------------------------------------------------------------------


async def _standing(services: Services, actor: Actor, text: PromptText) -> Standing:
    """The prompt that a text is about, which may be a new one of the team. Raises Refusal."""
    name = text.name
    async with services.store.reading() as session:
        if not name.startswith(TEAM_PREFIX) or text.base_id != SHIPPED:
            return await standing_of(session, services.prompts, actor.workspace_id, name)
        if not TEAM_NAME.fullmatch(name) or len(name) > NAME_CHARS:
            raise Refusal("prompt_name", name=name[:NAME_CHARS], prefix=TEAM_PREFIX, limit=NAME_CHARS)
        try:
            return await standing_of(session, services.prompts, actor.workspace_id, name)
        except Refusal:
            return Standing(
                name=name, shipped=None, versions=(), production=NEVER_MOVED, candidate=NEVER_MOVED
            )


async def _judged(services: Services, actor: Actor, text: PromptText) -> Judged:
    access_prompts(services, actor, Action.EDIT_PROMPT)
    standing = await _standing(services, actor, text)
    base = _base(standing, text)
    files = _files(text, base)
    async with services.store.reading() as session:
        rollbacks = await prompt_events(
            session, actor.workspace_id, text.name, kinds=(PromptEventKind.ROLLBACK,)
        )
        names = [person.name for person in await people(session, actor.workspace_id)]
    # Comparing long texts takes a while.
    judged = await asyncio.to_thread(
        _judge, standing, base, files, rollbacks, services.clock.now(), actor.locale
    )
    if judged.prompt is None:
        return judged
    doubts = await asyncio.to_thread(personal_doubts, judged.prompt, names)
    return replace(judged, check=replace(judged.check, warnings=(*judged.check.warnings, *doubts)))


def _base(standing: Standing, text: PromptText) -> StoredPrompt | None:
    first = text.base_id == SHIPPED and standing.shipped is None
    return None if first else standing.version(text.base_id)


def _files(text: PromptText, base: StoredPrompt | None) -> dict[str, str]:
    """All parts of a text: what the person changed, over what the base has. Raises Refusal for far too much."""
    typed = {file: clean(written) for file, written in text.files.items()}
    files = {**(base.files if base else {}), **typed}
    kept = {file: content for file, content in files.items() if content.strip()}
    if base is None:
        kept[METADATA] = _first_metadata(text.name, kept.get(METADATA, ""))
    if sum(len(content) for content in kept.values()) > DRAFT_CHARS:
        raise Refusal("prompt_too_long", limit=DRAFT_CHARS)
    return kept


def _first_metadata(name: str, given: str) -> str:
    """What is missing in the metadata of a new prompt behind what is there; lines keep their numbers."""
    usual = {"name": name, "description": name, "target_models": "[any]", "output_format": "text"}
    missing = [
        f"{key}: {value}" for key, value in usual.items() if not re.search(rf"^{key}:", given, re.MULTILINE)
    ]
    return "\n".join([*([given.rstrip()] if given.strip() else []), *missing]) + "\n"


def _judge(
    standing: Standing,
    base: StoredPrompt | None,
    files: Mapping[str, str],
    rollbacks: list[PromptEvent],
    now: datetime,
    locale: str,
) -> Judged:
    prompt, problems = _read(standing.name, files, now.date(), locale)
    before = base.parsed() if base else None
    bump = minimum_bump(before, prompt) if before and prompt else None
    highest = _highest(standing, base)
    check = DraftCheck(
        problems=problems,
        bump=bump.level.value if bump and bump.level else "",
        because=bump.reasons if bump else (),
        version=_version(highest, bump),
        changed=bool(bump.level) if bump else prompt is not None,
        changes=part_diffs(base.files if base else {}, files),
    )
    if prompt is not None:
        check = _remarked(check, standing, before, prompt, rollbacks, now)
    return Judged(
        standing=standing,
        base=base,
        files=files,
        prompt=prompt,
        highest=highest,
        check=check,
    )


def _remarked(
    check: DraftCheck,
    standing: Standing,
    before: PromptVersion | None,
    prompt: PromptVersion,
    rollbacks: list[PromptEvent],
    now: datetime,
) -> DraftCheck:
    """With what there is to tell about a text that can be read: it piles up, cannot go live, or was there before."""
    earlier = [Saved(version=one.parsed(), saved_at=one.created_at) for one in reversed(standing.versions)]
    earlier.sort(key=lambda saved: number_of(saved.version.version))
    return replace(
        check,
        warnings=growth_warnings(before, prompt, earlier, now=now) if before else (),
        blocked=contract_problems(standing.shipped.parsed(), prompt) if standing.shipped else (),
        withdrawn=brings_back(standing, rollbacks, prompt),
    )


def _read(
    name: str, files: Mapping[str, str], today: date, locale: str
) -> tuple[PromptVersion | None, tuple[PromptProblem, ...]]:
    dated = {**files, METADATA: _stamped(files.get(METADATA, ""), today)}
    problems: tuple[ConfigurationError, ...]
    try:
        prompt = parse_prompt(name, {file: content.encode() for file, content in dated.items()})
        problems = personal_problems(prompt)
    except ConfigurationErrors as errors:
        problems = errors.problems
    if not problems:
        return prompt, ()
    return None, tuple(
        PromptProblem(file=each.file.removeprefix(f"{name}/"), reason=reason_in(locale, each), line=each.line)
        for each in problems
    )


def _stamped(metadata: str, today: date) -> str:
    """The metadata with a version and today's date in the place of whatever stood there; lines keep their numbers."""
    for key, value in (("version", FIRST_VERSION), ("last_updated", today.isoformat())):
        line = f'{key}: "{value}"'
        metadata, found = re.subn(rf"^{key}:.*$", line, metadata, count=1, flags=re.MULTILINE)
        if not found:
            metadata = f"{metadata.rstrip()}\n{line}\n"
    return metadata


def _highest(standing: Standing, base: StoredPrompt | None) -> StoredPrompt | None:
    known = [version for version in (*standing.own, base) if version is not None]
    return max(known, key=lambda version: number_of(version.version), default=None)


def _version(highest: StoredPrompt | None, bump: Bump | None) -> str:
    if highest is None:
        return FIRST_VERSION
    return next_version(highest.version, bump.level) if bump and bump.level else highest.version


# --- saving ---------------------------------------------------------------------------------------------------------


def _checked(judged: Judged, request: SaveRequest) -> PromptVersion:
    """The text as it is to be saved, with its version. Raises Refusal."""
    check, prompt = judged.check, judged.prompt
    if prompt is None:
        problems = "\n".join(map(str, check.problems))
        raise Refusal("prompt_invalid", count=len(check.problems), problems=problems)
    if not check.changed:
        raise Refusal("prompt_unchanged", name=prompt.name)
    check_reminded(check.withdrawn, acknowledged=request.acknowledged)
    version = request.version.strip() or check.version
    if judged.highest and check.bump:
        check_version(judged.highest.parsed(), version, Level(check.bump))
    else:
        number_of(version)
    return replace(prompt, version=version)


def _new(services: Services, actor: Actor, judged: Judged, request: SaveRequest, reason: str) -> StoredPrompt:
    """The version to be; its place in the order is found when it is stored. Raises Refusal."""
    prompt = _checked(judged, request)
    return StoredPrompt(
        id=services.clock.new_id(),
        workspace_id=actor.workspace_id,
        name=prompt.name,
        version=prompt.version,
        seq=0,
        sha256=prompt.sha256,
        files=to_texts(prompt),
        parent_id=judged.base.id if judged.base else None,
        author_id=actor.person_id,
        reason=reason,
        source=request.source,
        created_at=services.clock.now(),
    )


async def _do_save(
    session: Session, services: Services, judged: Judged, text: PromptText, new: StoredPrompt
) -> bool:
    """Store a version with its record, and propose it; False when another one was saved since the author began."""
    workspace_id = new.workspace_id
    if workspace_id is None:
        raise ValueError("a version that a person saves belongs to a workspace")
    newest = await newest_own(session, workspace_id, new.name)
    head = newest or judged.standing.shipped
    seen = judged.standing.find(text.head_id)
    if (seen.id if seen else "") != (head.id if head else ""):
        return False
    new = replace(new, seq=newest.seq + 1 if newest else 1)
    # On Postgres two may get here at once; the numbers of versions let one of them through.
    if not await do_add_version(session, new):
        return False
    await do_add_event(
        session,
        workspace_id,
        PromptEvent(
            id=services.clock.new_id(),
            name=new.name,
            kind=PromptEventKind.SAVE,
            from_id=new.parent_id,
            to_id=new.id,
            actor_id=new.author_id,
            reason=new.reason,
            before=judged.base.files if judged.base else {},
            after=new.files,
            created_at=services.clock.now(),
        ),
    )
    await do_propose(session, workspace_id, new.name, new.id)
    return True


def _draft(services: Services, actor: Actor, text: PromptText, judged: Judged) -> StoredDraft:
    seen = judged.standing.find(text.head_id)
    return StoredDraft(
        name=text.name,
        author_id=actor.person_id,
        base_id=judged.base.id if judged.base else SHIPPED,
        head_id=seen.id if seen else SHIPPED,
        files=judged.files,
        updated_at=services.clock.now(),
    )


async def _stale(services: Services, actor: Actor, name: str) -> Refusal:
    """Who saved what meanwhile."""
    async with services.store.reading() as session:
        head = (await standing_of(session, services.prompts, actor.workspace_id, name)).head
        author = head.author_id if head else None
        who = await person_name(session, actor.workspace_id, author) if author else ""
    version = head.version if head else ""
    if head is None or head.shipped:
        return Refusal("prompt_stale_release", name=name, version=version)
    return Refusal("prompt_stale", name=name, version=version, who=who, reason=head.reason)
