"""Care for data: take a thread along as a file, erase a person's content (spec §13)."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from core.commands.services import Services, access_thread
from core.domain.errors import Refusal
from core.domain.feedback import Feedback
from core.domain.ids import PersonId, WorkspaceId
from core.domain.message import Entry
from core.domain.policy import Action, Actor, Subject, authorise
from core.domain.thread import Conversation, Thread
from core.ports import Clock
from core.store.audit import do_audit
from core.store.database import Store
from core.store.erasure import Erased, do_erase_person
from core.store.feedback import feedback_in
from core.store.message import entries_between
from core.store.page import author_shown, hidden_name
from core.store.thread import conversations, thread_anywhere
from core.store.workspace import find_person, workspace_anywhere

ALL = 10**9

Format = Literal["markdown", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    name: str
    media_type: str
    text: str


async def export_thread(services: Services, actor: Actor, thread_id: str, *, form: Format) -> ExportedFile:
    """A thread with all its conversations, each message with its hash. Raises Refusal."""
    thread = await access_thread(services, actor, Action.EXPORT, thread_id)
    return await _exported(services.store, thread, form)


async def export_for_operator(store: Store, thread_id: str, *, form: Format) -> ExportedFile:
    """The same for whoever runs the product and has the database anyway. Raises Refusal."""
    async with store.reading() as session:
        thread = await thread_anywhere(session, thread_id)
    if thread is None:
        raise Refusal("thread_not_found")
    return await _exported(store, thread, form)


async def _exported(store: Store, thread: Thread, form: Format) -> ExportedFile:
    async with store.reading() as session:
        lines = [
            (line, await entries_between(session, line.id, 1, ALL))
            for line in await conversations(session, thread.workspace_id, thread.id)
        ]
        given = await feedback_in(session, thread.workspace_id, thread.id)
    document = _document(thread, lines, given)
    if form == "json":
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        return ExportedFile(name=f"thread-{thread.id}.json", media_type="application/json", text=text)
    return ExportedFile(name=f"thread-{thread.id}.md", media_type="text/markdown", text=_markdown(document))


def _document(
    thread: Thread, lines: list[tuple[Conversation, list[Entry]]], given: list[Feedback]
) -> dict[str, Any]:
    conversations_json = [
        {
            "line": line.line,
            "model": hidden_name(thread, thread.mode.value, line.line) or line.model,
            "messages": [_message(thread, entry) for entry in entries],
        }
        for line, entries in lines
    ]
    content = json.dumps(conversations_json, ensure_ascii=False, separators=(",", ":"))
    return {
        "thread": thread.id,
        "title": thread.title,
        "mode": thread.mode.value,
        "status": thread.status.value,
        "parent": thread.parent_id,
        "depth": thread.depth,
        "split_message": thread.split_message_id,
        "split_position": thread.split_position,
        "branch_name": thread.branch_name,
        "branch_reason": thread.branch_reason,
        "created_at": thread.created_at.isoformat(),
        "conversations": conversations_json,
        "feedback": [
            {
                "answer": one.message_id,
                "person": one.person,
                "thumb": one.thumb.value,
                "comment": one.comment,
                "updated_at": one.updated_at.isoformat(),
            }
            for one in given
        ],
        "sha256": hashlib.sha256(content.encode()).hexdigest(),
    }


def _message(thread: Thread, entry: Entry) -> dict[str, Any]:
    message = entry.message
    return {
        "position": entry.position,
        "id": message.id,
        "author_kind": message.author.kind.value,
        "author": author_shown(thread, message),
        "created_at": message.created_at.isoformat(),
        "text": message.text,
        "cut": message.cut.value,
        "erased": message.erased,
        "attachments": [
            {"name": a.name, "media_type": a.media_type, "size_bytes": a.size_bytes, "sha256": a.sha256}
            for a in message.attachments
        ],
        "sha256": hashlib.sha256(message.text.encode()).hexdigest(),
    }


def _markdown(document: dict[str, Any]) -> str:
    blocks = [
        f"# {document['title']}",
        f"Thread `{document['thread']}`, {document['mode']}, {document['status']}, "
        f"begun {document['created_at']}, sha256 `{document['sha256']}`",
    ]
    if document["parent"]:
        blocks.append(f"Branch of `{document['parent']}` at #{document['split_position']}")
    for line in document["conversations"]:
        blocks.append(f"## {line['line']} ({line['model']})")
        blocks += [_markdown_message(message) for message in line["messages"]]
    if document["feedback"]:
        lines = [
            f"- `{one['answer']}`: {one['thumb']}, {one['person']}{one['comment'] and ': ' + one['comment']}"
            for one in document["feedback"]
        ]
        blocks += ["## feedback", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _markdown_message(message: dict[str, Any]) -> str:
    head = f"### #{message['position']} {message['author']}, {message['created_at']}, sha256 `{message['sha256']}`"
    files = "".join(f"\n- {a['name']} ({a['size_bytes']} bytes)" for a in message["attachments"])
    return f"{head}\n\n{message['text']}{files and chr(10) + files}"


async def erase_person(services: Services, actor: Actor, person_external_id: str) -> Erased:
    """Blank all content of a person in the actor's workspace; one's own, or anyone's for an administrator.

    Raises Refusal. The act is in the audit log, the content is not.
    """
    async with services.store.reading() as session:
        person = await find_person(session, actor.workspace_id, person_external_id)
    if person is None:
        raise Refusal("person_not_found", person=person_external_id)
    subject = Subject(visible=True, author_id=PersonId(person.id))
    authorise(actor, Action.ERASE, subject, services.policy(actor.workspace))
    return await _erased(
        services.store, services.clock, actor.workspace_id, PersonId(person.id), actor.person_id
    )


async def erase_for_operator(store: Store, clock: Clock, workspace: str, person_external_id: str) -> Erased:
    """The same for whoever runs the product; `workspace` is the platform's id of it. Raises Refusal."""
    async with store.reading() as session:
        row = await workspace_anywhere(session, workspace)
        if row is None:
            raise Refusal("workspace_not_found", workspace=workspace)
        person = await find_person(session, WorkspaceId(row.id), person_external_id)
    if person is None:
        raise Refusal("person_not_found", person=person_external_id)
    return await _erased(store, clock, WorkspaceId(row.id), PersonId(person.id), None)


async def _erased(
    store: Store, clock: Clock, workspace_id: WorkspaceId, person_id: PersonId, actor_id: PersonId | None
) -> Erased:
    async with store.writing() as session:
        erased = await do_erase_person(session, workspace_id, person_id)
        await do_audit(
            session,
            workspace_id,
            actor_id=actor_id,
            action="erase",
            subject_id=person_id,
            clock=clock,
            details={
                "messages": erased.messages,
                "receipts": erased.receipts,
                "attachments": erased.attachments,
            },
        )
    return erased
