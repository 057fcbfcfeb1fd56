"""Reading prompts: the list, one prompt with its versions, its history, and two versions side by side (spec §10)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from core.commands.prompt_standing import (
    Standing,
    access_prompts,
    standing_of,
    standings,
    was_live,
    withdrawal_of,
)
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Action, Actor, Subject, authorise
from core.domain.prompt import (
    SHIPPED,
    PartChange,
    PartMerge,
    PromptDraftView,
    PromptEventKind,
    PromptEventView,
    PromptItem,
    PromptPage,
    PromptState,
    PromptVersionView,
)
from core.domain.view import Phrase
from core.prompts.contract import contract_problems
from core.prompts.parse import METADATA
from core.prompts.strict_yaml import read_yaml
from core.prompts.three_way import part_diffs, three_way
from core.store.prompt import PromptEvent, StoredDraft, StoredPrompt, drafts_of, prompt_events
from core.store.workspace import people


async def list_prompts(services: Services, actor: Actor) -> tuple[PromptItem, ...]:
    """Every prompt of the release and of the workspace, by name. Raises Refusal."""
    access_prompts(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        found = await standings(session, services.prompts, actor.workspace_id)
        drafts = await drafts_of(session, actor.workspace_id, actor.person_id)
    # Reading and comparing texts takes a while.
    return await asyncio.to_thread(lambda: tuple(_item(standing, drafts) for standing in found.values()))


async def show_prompt(
    services: Services, actor: Actor, name: str, *, version_id: str | None = None
) -> PromptPage:
    """One prompt with the parts of a version: by default the live one, or the newest where none is live.

    Raises Refusal.
    """
    access_prompts(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
        history = await prompt_events(session, actor.workspace_id, name)
        drafts = await drafts_of(session, actor.workspace_id, actor.person_id)
        names = {person.id: person.name for person in await people(session, actor.workspace_id)}
    shown = standing.live or standing.head if version_id is None else standing.version(version_id)
    if shown is None:
        raise Refusal("prompt_not_found", name=name)
    views = tuple(_version_view(standing, one, history, names, actor) for one in standing.versions)
    return await asyncio.to_thread(_page, services, actor, standing, shown, views, drafts)


def _page(
    services: Services,
    actor: Actor,
    standing: Standing,
    shown: StoredPrompt,
    views: tuple[PromptVersionView, ...],
    drafts: Mapping[str, StoredDraft],
) -> PromptPage:
    return PromptPage(
        item=_item(standing, drafts),
        live_id=standing.live.id if standing.live else SHIPPED,
        rev=standing.production.rev,
        head_id=standing.head.id if standing.head else SHIPPED,
        files=shown.files,
        shown=next((view for view in views if view.version_id == shown.id), None),
        versions=views,
        draft=_draft_view(standing, drafts.get(standing.name)),
        diverged=_diverged(standing),
        can_edit=_may(services, actor, Action.EDIT_PROMPT),
        can_verify=_may(services, actor, Action.VERIFY_PROMPT),
        can_promote=_may(services, actor, Action.PROMOTE_PROMPT),
        four_eyes=services.policy(actor.workspace).prompt_four_eyes,
    )


async def prompt_history(services: Services, actor: Actor, name: str) -> tuple[PromptEventView, ...]:
    """Everything that was done to a prompt in the workspace, newest first. Raises Refusal."""
    access_prompts(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
        history = await prompt_events(session, actor.workspace_id, name)
    return tuple(
        PromptEventView(
            event_id=event.id,
            kind=event.kind,
            who=event.who,
            at=event.created_at,
            reason=event.reason,
            from_version=standing.number(event.from_id),
            to_version=standing.number(event.to_id),
            changes=part_diffs(event.before, event.after),
            self_approved=event.self_approved,
            eval_run_id=event.eval_run_id,
        )
        for event in history
    )


async def compare_versions(
    services: Services, actor: Actor, name: str, before_id: str, after_id: str
) -> tuple[PartChange, ...]:
    """Parts in which two versions of a prompt differ. Raises Refusal."""
    access_prompts(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, actor.workspace_id, name)
    return part_diffs(standing.version(before_id).files, standing.version(after_id).files)


def _may(services: Services, actor: Actor, action: Action) -> bool:
    try:
        authorise(actor, action, Subject(visible=True), services.policy(actor.workspace))
    except Refusal:
        return False
    return True


def _item(standing: Standing, drafts: Mapping[str, StoredDraft]) -> PromptItem:
    live, head, proposed = standing.live, standing.head, standing.proposed
    described = live or head
    return PromptItem(
        name=standing.name,
        description=_metadata(described, "description"),
        state=standing.state,
        version=live.version if live else "",
        sha256=live.sha256 if live else "",
        newest_version=head.version if head else "",
        candidate_version=proposed.version if proposed else "",
        eval_set=_metadata(described, "eval_set") or _metadata(proposed, "eval_set"),
        has_draft=standing.name in drafts,
        broken=_broken(standing),
    )


def _metadata(version: StoredPrompt | None, key: str) -> str:
    """A text of a version's metadata, which was found right when it was saved."""
    if version is None:
        return ""
    table = read_yaml(METADATA, version.files[METADATA]).value
    node = table.get(key) if isinstance(table, Mapping) else None
    return node.value if node is not None and isinstance(node.value, str) else ""


def _broken(standing: Standing) -> tuple[Phrase, ...]:
    """Why runs that need the prompt fail: a release has moved on from what the workspace made live."""
    live, shipped = standing.live, standing.shipped
    if live is None or shipped is None or live.id == shipped.id:
        return ()
    return contract_problems(shipped.parsed(), live.parsed())


def _draft_view(standing: Standing, draft: StoredDraft | None) -> PromptDraftView | None:
    if draft is None:
        return None
    head = standing.head
    stale: tuple[PartMerge, ...] = ()
    if head is not None and draft.head_id != head.id:
        seen = standing.find(draft.head_id)
        stale = three_way(seen.files if seen else {}, draft.files, head.files)
    return PromptDraftView(
        base_id=draft.base_id,
        head_id=draft.head_id,
        files=draft.files,
        updated_at=draft.updated_at,
        stale=stale,
    )


def _diverged(standing: Standing) -> tuple[PartMerge, ...]:
    base, live, shipped = standing.base, standing.live, standing.shipped
    if standing.state is not PromptState.DIVERGED or base is None or live is None or shipped is None:
        return ()
    return three_way(base.files, live.files, shipped.files)


def _version_view(
    standing: Standing,
    version: StoredPrompt,
    history: Sequence[PromptEvent],
    names: Mapping[str, str],
    actor: Actor,
) -> PromptVersionView:
    about = [event for event in history if version.id in (event.from_id, event.to_id)]
    to_it = [event for event in about if event.to_id == version.id]
    withdrawn = _first(about, PromptEventKind.ROLLBACK, from_id=version.id)
    override = _first(to_it, PromptEventKind.EVAL_OVERRIDE)
    verified = dict.fromkeys(event.who for event in to_it if event.kind is PromptEventKind.VERIFY)
    live, proposed, parent = standing.live, standing.proposed, standing.find(version.parent_id or "-")
    return PromptVersionView(
        version_id=version.id,
        version=version.version,
        sha256=version.sha256,
        shipped=version.shipped,
        of_release=standing.is_of_release(version),
        live=live is not None and live.id == version.id,
        was_live=was_live(version, history),
        candidate=proposed is not None and proposed.id == version.id,
        author=names.get(version.author_id, "") if version.author_id else "",
        mine=version.author_id == actor.person_id,
        reason=version.reason,
        source=version.source,
        parent_version=parent.version if parent else "",
        created_at=version.created_at,
        verified_by=tuple(verified),
        withdrawn=withdrawal_of(standing, withdrawn) if withdrawn else None,
        overridden=override.reason if override else "",
        self_approved=any(event.self_approved for event in to_it),
    )


def _first(
    events: Iterable[PromptEvent], kind: PromptEventKind, *, from_id: str | None = None
) -> PromptEvent | None:
    """The newest record of a kind, of a way from a version where one is named."""
    return next((e for e in events if e.kind is kind and (from_id is None or e.from_id == from_id)), None)
