"""A thread to take along as a file, page by page, so that one of any length needs no more memory than a short one."""

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from core.commands.services import Services, access_thread
from core.domain.errors import Refusal
from core.domain.feedback import Feedback
from core.domain.message import Entry
from core.domain.policy import Action, Actor
from core.domain.thread import Thread
from core.store.database import Session, Store
from core.store.feedback import feedback_in
from core.store.message import entries_between
from core.store.page import author_shown, hidden_name
from core.store.thread import conversations, thread_anywhere

PAGE = 200
"""Messages read at one time."""

Format = Literal["markdown", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    name: str
    media_type: str
    parts: AsyncGenerator[str]
    """The text in order, to be read once and closed; it is one state of the database. Raises StoreUnavailable."""


async def export_thread(services: Services, actor: Actor, thread_id: str, *, form: Format) -> ExportedFile:
    """A thread with all its conversations, each message with its hash. Raises Refusal."""
    thread = await access_thread(services, actor, Action.EXPORT, thread_id)
    return _exported(services.store, thread, form)


async def export_for_operator(store: Store, thread_id: str, *, form: Format) -> ExportedFile:
    """The same for whoever runs the product and has the database anyway. Raises Refusal."""
    async with store.reading() as session:
        thread = await thread_anywhere(session, thread_id)
    if thread is None:
        raise Refusal("thread_not_found")
    return _exported(store, thread, form)


def _exported(store: Store, thread: Thread, form: Format) -> ExportedFile:
    if form == "json":
        name, media_type = f"thread-{thread.id}.json", "application/json"
        return ExportedFile(name=name, media_type=media_type, parts=_json(store, thread))
    name, media_type = f"thread-{thread.id}.md", "text/markdown"
    return ExportedFile(name=name, media_type=media_type, parts=_markdown(store, thread))


class _Content:
    """The conversations as JSON without blanks: what the hash of an export is made of, and a line each in the file."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._lines = 0
        self._messages = 0

    def add(self, step: "dict[str, Any] | list[dict[str, Any]]") -> str:
        """The next line of the thread, or a page of the messages of the last one."""
        if isinstance(step, dict):
            before = "]}," if self._lines else "["
            self._lines, self._messages = self._lines + 1, 0
            return self._taken(f"{before}{_dumped({**step, 'messages': []}).removesuffix(']}')}")
        pieces = [f"{',' if number else ''}{_dumped(one)}" for number, one in enumerate(step, self._messages)]
        self._messages += len(step)
        return self._taken(*pieces)

    def end(self) -> tuple[str, str]:
        """What closes the conversations, and the hash of them all."""
        closed = self._taken("]}]" if self._lines else "[]")
        return closed, self._hash.hexdigest()

    def _taken(self, *pieces: str) -> str:
        self._hash.update("".join(pieces).encode())
        return "".join(f"{piece}\n" for piece in pieces)


async def _json(store: Store, thread: Thread) -> AsyncGenerator[str]:
    content = _Content()
    async with store.reading() as session:
        yield f'{_dumped(_facts(thread)).removesuffix("}")},"conversations":\n'
        async for step in _steps(session, thread):
            yield content.add(step)
        given = await feedback_in(session, thread.workspace_id, thread.id)
    closed, sha256 = content.end()
    rest = _dumped({"feedback": [_feedback(one) for one in given], "sha256": sha256})
    yield f"{closed},{rest.removeprefix('{')}\n"


async def _markdown(store: Store, thread: Thread) -> AsyncGenerator[str]:
    content = _Content()
    async with store.reading() as session:
        yield _head(_facts(thread))
        async for step in _steps(session, thread):
            content.add(step)
            if isinstance(step, dict):
                yield f"\n## {step['line']} ({step['model']})\n"
            else:
                yield "".join(f"\n{_markdown_message(one)}\n" for one in step)
        given = [_feedback(one) for one in await feedback_in(session, thread.workspace_id, thread.id)]
    if given:
        yield "\n## feedback\n\n" + "".join(f"{_markdown_feedback(one)}\n" for one in given)
    yield f"\n---\n\nsha256 `{content.end()[1]}`\n"


async def _steps(session: Session, thread: Thread) -> AsyncIterator["dict[str, Any] | list[dict[str, Any]]"]:
    """Each line of the thread, and behind it its messages page by page."""
    for line in await conversations(session, thread.workspace_id, thread.id):
        yield {"line": line.line, "model": hidden_name(thread, thread.mode.value, line.line) or line.model}
        first = 1
        while page := await entries_between(session, line.id, first, first + PAGE - 1):
            yield [_message(thread, entry) for entry in page]
            first += PAGE


def _facts(thread: Thread) -> dict[str, Any]:
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


def _feedback(given: Feedback) -> dict[str, Any]:
    return {
        "answer": given.message_id,
        "person": given.person,
        "thumb": given.thumb.value,
        "comment": given.comment,
        "updated_at": given.updated_at.isoformat(),
    }


def _head(facts: dict[str, Any]) -> str:
    begun = f"Thread `{facts['thread']}`, {facts['mode']}, {facts['status']}, begun {facts['created_at']}"
    head = f"# {facts['title']}\n\n{begun}\n"
    if facts["parent"]:
        head += f"\nBranch of `{facts['parent']}` at #{facts['split_position']}\n"
    return head


def _markdown_message(message: dict[str, Any]) -> str:
    head = f"### #{message['position']} {message['author']}, {message['created_at']}, sha256 `{message['sha256']}`"
    files = "".join(f"\n- {a['name']} ({a['size_bytes']} bytes)" for a in message["attachments"])
    return f"{head}\n\n{message['text']}{files and chr(10) + files}"


def _markdown_feedback(given: dict[str, Any]) -> str:
    comment = given["comment"] and f": {given['comment']}"
    return f"- `{given['answer']}`: {given['thumb']}, {given['person']}{comment}"


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
