"""Artifacts: save an answer under a name, look at its versions, change a version by hand (spec §7)."""

from dataclasses import dataclass
from itertools import count

from core import i18n
from core.commands.services import Services, access_answer, access_thread
from core.domain.artifact import REASON_CHARS, TEXT_CHARS, DiffRow, artifact_name, diff, name_key
from core.domain.errors import Refusal
from core.domain.message import Author, AuthorKind
from core.domain.policy import Action, Actor
from core.domain.thread import Thread
from core.domain.view import ArtifactItem, VersionItem
from core.store.artifact import (
    NewVersion,
    artifact_by_id,
    do_add_artifact,
    do_add_version,
    find_artifact,
    list_artifacts,
    versions,
)
from core.store.audit import do_audit
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.page import hidden_name
from core.store.receipt import receipt_of_answer
from core.store.tables import ArtifactRow, ArtifactVersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One version of an artifact, what changed in it, and all versions beside it."""

    artifact: ArtifactItem
    version: VersionItem
    text: str
    changes: tuple[DiffRow, ...]
    """Against the version before; empty for the first."""
    versions: tuple[VersionItem, ...]


async def save_answer(
    services: Services,
    actor: Actor,
    message_id: str,
    name: str = "",
    *,
    event_key: str,
    as_version: bool = False,
) -> str:
    """Save a stored answer under a name; returns the name as kept. Without one it is called "Result 1", 2, ….

    A name that the thread has already is refused unless `as_version` says to add a version to it. Raises Refusal.
    """
    wanted = artifact_name(name) if name.strip() else ""
    thread, answer = await access_answer(services, actor, Action.SAVE, message_id)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return str(earlier["name"])
        name = wanted or await _free_name(session, thread)
        artifact = await find_artifact(session, actor.workspace_id, thread.id, name)
        if artifact is not None and not as_version:
            raise Refusal("artifact_name_taken", name=artifact.name)
        if artifact is None:
            artifact = await do_add_artifact(
                session, actor.workspace_id, thread.id, name=name, kind="text", clock=services.clock
            )
        if artifact is None:
            raise Refusal("artifact_name_taken", name=name)
        receipt = await receipt_of_answer(session, actor.workspace_id, answer.id)
        new = NewVersion(
            text=answer.text,
            author=Author(kind=AuthorKind.MODEL, name=answer.author_name),
            reason="",
            message_id=answer.id,
            receipt_id=receipt.id if receipt else None,
        )
        await do_add_version(session, artifact, new, clock=services.clock)
        await _do_record(session, services, actor, "save_artifact", artifact)
        await settle(session, actor.workspace_id, (event_key,), {"name": artifact.name})
        return artifact.name


async def _free_name(session: Session, thread: Thread) -> str:
    held = await list_artifacts(session, thread.workspace_id, thread.id)
    taken = {name_key(artifact.name) for artifact, _ in held}
    names = (i18n.text(thread.locale, "artifact.unnamed", number=n) for n in count(len(held) + 1))
    return next(name for name in names if name_key(name) not in taken)


async def _do_record(
    session: Session, services: Services, actor: Actor, action: str, artifact: ArtifactRow
) -> None:
    await do_audit(
        session,
        actor.workspace_id,
        actor_id=actor.person_id,
        action=action,
        subject_id=artifact.id,
        clock=services.clock,
    )


async def edit_artifact(
    services: Services,
    actor: Actor,
    thread_id: str,
    name: str,
    text: str,
    *,
    base: int,
    reason: str,
    event_key: str,
) -> int:
    """Add a person's version; returns its number. `base` is the version it was made from. Raises Refusal."""
    thread = await access_thread(services, actor, Action.SAVE, thread_id)
    if not text.strip():
        raise Refusal("artifact_empty")
    if len(text) > TEXT_CHARS:
        raise Refusal("artifact_too_long", had=len(text), limit=TEXT_CHARS)
    if len(reason) > REASON_CHARS:
        raise Refusal("reason_too_long", had=len(reason), limit=REASON_CHARS)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return int(earlier["number"])
        artifact = await find_artifact(session, actor.workspace_id, thread.id, name, lock=True)
        if artifact is None:
            raise Refusal("artifact_not_found", name=name)
        held = await versions(session, actor.workspace_id, artifact.id)
        if held[-1].number != base:
            raise Refusal("artifact_changed", name=name, newest=held[-1].number, base=base)
        author = Author(kind=AuthorKind.PERSON, name=actor.name, person_id=actor.person_id)
        row = await do_add_version(
            session, artifact, NewVersion(text=text, author=author, reason=reason), clock=services.clock
        )
        await _do_record(session, services, actor, "edit_artifact", artifact)
        await settle(session, actor.workspace_id, (event_key,), {"number": row.number})
    return row.number


async def list_saved(services: Services, actor: Actor, thread_id: str) -> tuple[ArtifactItem, ...]:
    """The artifacts of a thread by name. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    async with services.store.reading() as session:
        return tuple(
            _item(thread, artifact, newest)
            for artifact, newest in await list_artifacts(session, actor.workspace_id, thread.id)
        )


async def saved_by_id(services: Services, actor: Actor, artifact_id: str) -> ArtifactItem:
    """The artifact that a button means. Raises Refusal."""
    async with services.store.reading() as session:
        artifact = await artifact_by_id(session, actor.workspace_id, artifact_id)
    if artifact is None:
        raise Refusal("artifact_gone")
    thread = await access_thread(services, actor, Action.READ, artifact.thread_id, unknown="artifact_gone")
    async with services.store.reading() as session:
        held = await versions(session, actor.workspace_id, artifact.id)
    return _item(thread, artifact, held[-1])


async def show_artifact(
    services: Services, actor: Actor, thread_id: str, name: str, *, number: int | None = None
) -> Shown:
    """One version, the newest unless `number` says which, with its changes. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    async with services.store.reading() as session:
        artifact = await find_artifact(session, actor.workspace_id, thread.id, name)
        if artifact is None:
            raise Refusal("artifact_not_found", name=name)
        held = await versions(session, actor.workspace_id, artifact.id)
    by_number = {row.number: row for row in held}
    row = by_number.get(number or held[-1].number)
    if row is None:
        raise Refusal("version_not_found", name=name, number=number or 0, newest=held[-1].number)
    before = by_number.get(row.number - 1)
    return Shown(
        artifact=_item(thread, artifact, held[-1]),
        version=_version(thread, row),
        text=row.text,
        changes=diff(before.text, row.text) if before else (),
        versions=tuple(_version(thread, each) for each in held),
    )


def _item(thread: Thread, artifact: ArtifactRow, newest: ArtifactVersionRow) -> ArtifactItem:
    return ArtifactItem(
        artifact_id=artifact.id, thread_id=thread.id, name=artifact.name, newest=_version(thread, newest)
    )


def _version(thread: Thread, row: ArtifactVersionRow) -> VersionItem:
    by_model = row.author_kind == AuthorKind.MODEL.value
    hidden = hidden_name(thread, thread.mode.value, None) if by_model else ""
    return VersionItem(
        number=row.number,
        author=hidden or row.author_name,
        author_kind=AuthorKind(row.author_kind),
        reason=row.reason,
        chars=len(row.text),
        sha256=row.sha256,
        message_id=row.message_id,
        receipt_id=row.receipt_id,
        created_at=row.created_at,
    )
