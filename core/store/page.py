"""What a thread shows, read from its rows: every card can be drawn again at any time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId, WorkspaceId
from core.domain.message import Attachment, AuthorKind, Cut, Entry, Message
from core.domain.policy import Actor
from core.domain.thread import Conversation, Thread
from core.domain.view import (
    AnswerState,
    AnswerView,
    AttachmentView,
    BranchHeaderView,
    Button,
    ButtonAction,
    MessageView,
    NoticeView,
    Phrase,
    Quote,
)
from core.store.message import (
    entries_between,
    find_message,
    latest_version,
    length,
    position_of,
    with_attachments,
)
from core.store.receipt import receipts_of_runs, usage_of
from core.store.run import Run, find_run, runs_by_id, runs_for
from core.store.tables import MessageRow, NoticeRow, ReceiptRow
from core.store.thread import conversations, find_thread

QUOTES = 3
"""Inherited messages quoted in the first post of a branch."""

QUOTE_CHARS = 200

STATES = {
    "queued": AnswerState.QUEUED,
    "running": AnswerState.WRITING,
    "done": AnswerState.DONE,
    "stopped": AnswerState.STOPPED,
    "failed": AnswerState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of a thread: what stands there in order, and how many messages come before it."""

    items: tuple[MessageView | AnswerView, ...]
    earlier: int


def quote(author: str, text: str) -> Quote:
    """A message cut to one short paragraph."""
    line = " ".join(text.split())
    return Quote(author=author, text=line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…")


def answer_buttons(
    run_id: RunId,
    state: AnswerState,
    message_id: MessageId | None,
    receipt_id: ReceiptId | None,
    *,
    kept: bool,
) -> tuple[Button, ...]:
    """The buttons under an answer, by where it stands."""
    if state in (AnswerState.QUEUED, AnswerState.WRITING):
        return (Button(action=ButtonAction.STOP, ref=run_id),)
    buttons = []
    if message_id and kept:
        buttons.append(Button(action=ButtonAction.BRANCH, ref=message_id))
    if message_id and not kept:
        buttons.append(Button(action=ButtonAction.KEEP_ANSWER, ref=message_id))
    buttons += [
        Button(action=ButtonAction.RETRY, ref=run_id),
        Button(action=ButtonAction.OTHER_MODEL, ref=run_id),
    ]
    if receipt_id:
        buttons.append(Button(action=ButtonAction.SHOW_INPUT, ref=receipt_id))
    return tuple(buttons)


def unread_files(attachments: Sequence[Attachment]) -> tuple[Phrase, ...]:
    """One line for each file of a request that could not be read, or not whole."""
    return tuple(
        Phrase(key="notice.file_not_read" if a.is_unread else "notice.file_cut", fields={"name": a.name})
        for a in attachments
        if a.problem
    )


def to_answer_view(
    run: Run,
    *,
    message: Message | None,
    receipt: ReceiptRow | None,
    position: int | None,
    request: Message | None,
    step: str = "answer",
) -> AnswerView:
    """The card of one answer from its rows."""
    state = STATES[run.status]
    kept = message is None or position is not None
    omitted = sum(o["count"] for o in receipt.omissions if o["what"] == "messages") if receipt else 0
    message_id = message.id if message else None
    receipt_id = ReceiptId(receipt.id) if receipt else None
    return AnswerView(
        run_id=run.id,
        step=step,
        model=run.model,
        state=state,
        text=message.text if message else "",
        message_id=message_id,
        position=position,
        answers_id=run.request_id,
        kept=kept,
        cut=message.cut if message else Cut.NONE,
        failure=run.failure,
        receipt_id=receipt_id,
        usage=usage_of(receipt) if receipt else None,
        omitted=omitted,
        notices=unread_files(request.attachments) if request else (),
        demo=run.model.startswith("demo"),
        buttons=answer_buttons(run.id, state, message_id, receipt_id, kept=kept),
        created_at=message.created_at if message else run.created_at,
    )


async def load_answer_view(
    session: AsyncSession, workspace_id: WorkspaceId, run_id: str, step: str
) -> AnswerView | None:
    """The card of a run's answer as the store has it now."""
    run = await find_run(session, workspace_id, run_id)
    if run is None:
        return None
    receipt = (await receipts_of_runs(session, workspace_id, [run.id])).get(run.id)
    message, position = None, None
    if receipt and receipt.answer_id:
        row = await find_message(session, workspace_id, receipt.answer_id)
        message = (await with_attachments(session, [row]))[0] if row else None
        if message and run.conversation_id:
            position = await position_of(session, run.conversation_id, message.id)
    request = None
    if run.request_id and (asked := await latest_version(session, run.request_id)):
        request = (await with_attachments(session, [asked]))[0]
    return to_answer_view(
        run, message=message, receipt=receipt, position=position, request=request, step=step
    )


async def read_stretch(
    session: AsyncSession,
    thread: Thread,
    conversation: Conversation,
    reader: Actor,
    *,
    before: int | None,
    limit: int,
) -> Stretch:
    """The last `limit` entries before position `before` (or the end), with the answers that are not kept."""
    last = await length(session, conversation.id)
    if before is not None:
        last = min(last, before - 1)
    first = max(1, last - limit + 1)
    entries = await entries_between(session, conversation.id, first, last)
    roots = await _roots(session, entries)
    asked = [roots[e.message.id] for e in entries if not e.message.is_answer]
    own_runs = await runs_for(session, thread.workspace_id, thread.id, asked)
    written_by = [e.message.run_id for e in entries if e.message.run_id]
    receipts = await receipts_of_runs(
        session, thread.workspace_id, [*written_by, *(run.id for run in own_runs)]
    )
    kept_runs = set(written_by)
    runs = {run.id: run for run in [*own_runs, *await runs_by_id(session, thread.workspace_id, written_by)]}
    requests = {roots[e.message.id]: e.message for e in entries if not e.message.is_answer}
    others: dict[str, list[AnswerView]] = defaultdict(list)
    for run in own_runs:
        if run.id not in kept_runs and run.request_id:
            view = await _other_answer(session, run, receipts.get(run.id), requests)
            others[run.request_id].append(view)
    items: list[MessageView | AnswerView] = []
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        message = entry.message
        if message.is_answer:
            run = runs[RunId(message.run_id or "")]
            items.append(
                to_answer_view(
                    run,
                    message=message,
                    receipt=receipts.get(run.id),
                    position=entry.position,
                    request=requests.get(message.answers_id or ""),
                )
            )
            items += [a for a in others[message.answers_id or ""] if a.run_id > run.id]
        else:
            root = roots[message.id]
            items.append(_message_view(thread, entry, reader, edited=root != message.id))
            # All answers to a message stand in the order in which they were asked for.
            kept = following.message.run_id if following and following.message.answers_id == root else None
            items += [a for a in others[root] if kept is None or a.run_id < kept]
    return Stretch(items=tuple(items), earlier=first - 1 if entries else 0)


async def _roots(session: AsyncSession, entries: Sequence[Entry]) -> dict[str, str]:
    ids = [entry.message.id for entry in entries]
    rows = await session.execute(select(MessageRow.id, MessageRow.root_id).where(MessageRow.id.in_(ids)))
    return {row.id: row.root_id for row in rows}


async def _other_answer(
    session: AsyncSession,
    run: Run,
    receipt: ReceiptRow | None,
    requests: Mapping[str, Message],
) -> AnswerView:
    message = None
    if receipt and receipt.answer_id:
        row = await find_message(session, run.workspace_id, receipt.answer_id)
        message = (await with_attachments(session, [row]))[0] if row else None
    request = requests.get(run.request_id or "")
    return to_answer_view(run, message=message, receipt=receipt, position=None, request=request)


def _message_view(thread: Thread, entry: Entry, reader: Actor, *, edited: bool) -> MessageView:
    message = entry.message
    mine = message.author.person_id == reader.person_id and message.thread_id == thread.id
    return MessageView(
        message_id=message.id,
        author=message.author.name,
        author_kind=message.author.kind,
        text=message.text,
        created_at=message.created_at,
        position=entry.position,
        attachments=tuple(
            AttachmentView(
                name=a.name,
                size_bytes=a.size_bytes,
                problem=Phrase(key=f"attachment.{a.problem}") if a.problem else None,
            )
            for a in message.attachments
        ),
        mine=mine,
        inherited=message.thread_id != thread.id,
        edited=edited,
        buttons=(Button(action=ButtonAction.BRANCH, ref=message.id),),
    )


def to_notice_view(row: NoticeRow) -> NoticeView:
    return NoticeView(
        phrase=Phrase(key=row.key, fields=row.fields),
        link=ThreadId(row.link_id) if row.link_id else None,
        created_at=row.created_at,
    )


async def load_branch_header(
    session: AsyncSession, branch: Thread, *, with_transcript: bool = False
) -> BranchHeaderView | None:
    """The first post of a branch: its parent, its split point, and what it inherited.

    The transcript, which reads every inherited message, is made only where it is asked for.
    """
    parent = await find_thread(session, branch.workspace_id, branch.parent_id) if branch.parent_id else None
    if parent is None:
        return None
    lines = await conversations(session, branch.workspace_id, branch.id)
    first_quoted = 1 if with_transcript else max(1, lines[0].inherited - QUOTES + 1)
    inherited = [
        entry.message
        for line in (lines if with_transcript else lines[:1])
        for entry in await entries_between(session, line.id, first_quoted, line.inherited)
    ]
    split_row = (
        await find_message(session, branch.workspace_id, branch.split_message_id)
        if branch.split_message_id
        else None
    )
    return BranchHeaderView(
        thread_id=branch.id,
        name=branch.branch_name,
        reason=branch.branch_reason,
        parent_id=parent.id,
        parent_title=parent.title,
        parent_place=parent.place,
        split_position=branch.split_position,
        inherited=sum(line.inherited for line in lines),
        split_quote=quote(split_row.author_name, split_row.text) if split_row else None,
        quotes=tuple(quote(m.author.name, m.text) for m in inherited[-QUOTES:]),
        transcript=transcript(inherited) if with_transcript else "",
    )


def transcript(messages: Sequence[Message]) -> str:
    """Messages as Markdown, each under its author and time."""
    blocks = [
        f"### {m.author.name}{' (AI)' if m.author.kind is AuthorKind.MODEL else ''}, "
        f"{m.created_at:%Y-%m-%d %H:%M} UTC\n\n{m.text}"
        for m in messages
    ]
    return "\n\n".join(blocks) + "\n" if blocks else ""
