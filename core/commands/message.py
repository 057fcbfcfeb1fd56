"""A person edits or deletes a message of theirs; the next AI input follows (spec §2)."""

import logging
from dataclasses import replace

from core.commands.services import Services, can_see
from core.domain.errors import Refusal
from core.domain.ids import MessageId, PersonId, WorkspaceId
from core.domain.message import MAX_MESSAGE_CHARS, Message
from core.domain.policy import Action, Actor, Subject, authorise
from core.domain.thread import Conversation, Thread
from core.files.charset import clean
from core.store.audit import do_audit
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.message import (
    do_add_message,
    do_lock,
    do_remove,
    do_replace,
    entry_at,
    find_external_in_channel,
    find_message,
    position_of,
)
from core.store.run import open_runs
from core.store.tables import MessageRow
from core.store.thread import conversations, find_thread
from core.store.workspace import find_workspace

log = logging.getLogger(__name__)


async def edit_message(
    services: Services, actor: Actor, message_id: str, text: str, *, event_key: str
) -> MessageId:
    """Put a new version in a message's place, in the thread it was written in; returns the new version's id.

    Branches that copied the old version keep it, and so do receipts. Raises Refusal.
    """
    text = clean(text).strip()
    if not text:
        raise Refusal("empty_message")
    if len(text) > MAX_MESSAGE_CHARS:
        raise Refusal("message_too_long", had=len(text), limit=MAX_MESSAGE_CHARS)
    row, thread = await _access(services, actor, message_id)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return MessageId(earlier["message_id"])
        old, lines = await _standing(session, thread, row)
        new = _next_version(services, old, text)
        await do_add_message(session, actor.workspace_id, new, root_id=MessageId(row.root_id))
        for line in lines:
            await do_replace(session, thread.workspace_id, line.id, old.id, new.id)
        await do_audit(
            session,
            actor.workspace_id,
            actor_id=actor.person_id,
            action="edit_message",
            subject_id=row.root_id,
            clock=services.clock,
            details={"from": old.id, "to": new.id},
        )
        await settle(session, actor.workspace_id, (event_key,), {"message_id": new.id})
    return new.id


def _next_version(services: Services, old: Message, text: str) -> Message:
    attachments = tuple(replace(a, id=type(a.id)(services.clock.new_id())) for a in old.attachments)
    return replace(old, id=MessageId(services.clock.new_id()), text=text, attachments=attachments)


async def delete_message(services: Services, actor: Actor, message_id: str, *, event_key: str) -> None:
    """Take a message out of the thread it was written in, and stop what is answering it. Raises Refusal."""
    row, thread = await _access(services, actor, message_id)
    await _take_out(services, row, thread, actor_id=actor.person_id, event_key=event_key)


async def follow_deletion(
    services: Services, platform: str, workspace: str, channel: str, external_id: str, *, event_key: str
) -> None:
    """Take out a message that its platform says was deleted there, by whoever may do so; unknown ones are nothing.

    All are the platform's ids. The platform's word stands for the right to delete, and nobody is named for it.
    """
    async with services.store.reading() as session:
        home = await find_workspace(session, platform, workspace)
        if home is None:
            return
        row = await find_external_in_channel(session, WorkspaceId(home.id), channel, external_id)
        thread = await find_thread(session, WorkspaceId(home.id), row.thread_id) if row else None
    if row is None or thread is None:
        return
    try:
        await _take_out(services, row, thread, actor_id=None, event_key=event_key)
    except Refusal:
        log.info("a deleted message was gone already", extra={"message_id": row.id})


async def _take_out(
    services: Services, row: MessageRow, thread: Thread, *, actor_id: PersonId | None, event_key: str
) -> None:
    async with services.store.writing() as session:
        if await claim(session, thread.workspace_id, (event_key,), services.clock) is not None:
            return
        old, lines = await _standing(session, thread, row)
        for line in lines:
            await do_remove(session, thread.workspace_id, line.id, old.id)
        await do_audit(
            session,
            thread.workspace_id,
            actor_id=actor_id,
            action="delete_message",
            subject_id=row.root_id,
            clock=services.clock,
            details={"message": old.id},
        )
        runs = await open_runs(session, thread.workspace_id, thread.id)
    for run in runs:
        if run.request_id == row.root_id:
            await services.engine.request_stop(run.id)


async def _standing(session: Session, thread: Thread, row: MessageRow) -> tuple[Message, list[Conversation]]:
    """The version of a message that stands in its thread now, and where; a page may have shown an older one."""
    standing: Message | None = None
    lines = await conversations(session, thread.workspace_id, thread.id)
    for line in lines:
        await do_lock(session, thread.workspace_id, line.id)
        position = await position_of(session, line.id, MessageId(row.root_id))
        entry = await entry_at(session, line.id, position) if position else None
        standing = entry.message if entry else standing
    if standing is None:
        raise Refusal("message_not_found")
    return standing, lines


async def _access(services: Services, actor: Actor, message_id: str) -> tuple[MessageRow, Thread]:
    async with services.store.reading() as session:
        row = await find_message(session, actor.workspace_id, message_id)
        thread = await find_thread(session, actor.workspace_id, row.thread_id) if row else None
    if row is None or thread is None:
        raise Refusal("message_not_found")
    if not await can_see(services, actor, thread.place.platform, thread.place.channel):
        raise Refusal("message_not_found")
    subject = Subject(visible=True, author_id=PersonId(row.author_id) if row.author_id else None)
    authorise(actor, Action.EDIT_MESSAGE, subject, services.policy(actor.workspace))
    return row, thread
