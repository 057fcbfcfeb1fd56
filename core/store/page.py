"""What a thread shows, read from its rows: every card can be drawn again at any time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.compare import CompareSetup
from core.domain.handover import ROUTES
from core.domain.ids import MessageId, ReceiptId, ThreadId, WorkspaceId
from core.domain.message import Attachment, AuthorKind, Cut, Entry, Message
from core.domain.policy import Actor
from core.domain.receipt import REPAIR, Usage
from core.domain.thread import Conversation, Mode, Status, Thread
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
from core.domain.workflow import Workflow
from core.i18n import text
from core.modes.labels import label_of
from core.store.message import (
    entries_between,
    find_message,
    find_messages,
    latest_version,
    length,
    position_of,
    to_message,
    with_attachments,
)
from core.store.receipt import find_receipt_row, first_calls, receipts_by_id, together, usage_of
from core.store.run import OPEN, Run, find_run, runs_by_id, runs_for
from core.store.step import Step, find_run_step, steps_of
from core.store.tables import EntryRow, MessageRow, NoticeRow, ReceiptRow
from core.store.thread import conversations, find_thread

QUOTES = 3
"""Inherited messages quoted in the first post of a branch."""

QUOTE_CHARS = 200

TRANSCRIPT_PIECE = 200
"""Messages read at a time for the transcript of a branch; about 10 ms of work."""

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


CROSS_REVIEW = "cross_review"
REVIEWABLE = frozenset({Mode.COMPARE.value, Mode.DEBATE.value, Mode.WORKFLOW.value})


def answer_buttons(thread: Thread, card: "Card", state: AnswerState, *, kept: bool) -> tuple[Button, ...]:
    """The buttons under an answer, by its mode and by where it stands; what most people want first."""
    run, message, receipt = card.run, card.message, card.receipt
    if state in (AnswerState.QUEUED, AnswerState.WRITING):
        return _stops(card)
    prefix = _prefix(thread, run)
    answer = message.id if message else None
    result = prefix + answer if answer else None
    is_chat, is_compare = run.kind == Mode.CHAT.value, run.kind == Mode.COMPARE.value
    is_blind = is_compare and bool(thread.setup.get("blind"))
    offers = {
        ButtonAction.BRANCH: answer if card.position is not None else None,
        ButtonAction.KEEP_ANSWER: None if kept else answer,
        ButtonAction.RETRY: _again_ref(card) if is_chat or is_compare else None,
        ButtonAction.OTHER_MODEL: run.id if is_chat else None,
        ButtonAction.COMPARE_ANSWERS: prefix + run.id if is_compare and answer else None,
        ButtonAction.VOTE: result if is_blind else None,
        ButtonAction.REVEAL: thread.id if is_blind else None,
        ButtonAction.REVIEW: result if run.kind in REVIEWABLE else None,
        ButtonAction.SAVE: result,
        ButtonAction.CONTINUE: answer if is_compare and card.position is not None else None,
        ButtonAction.CONTINUE_BEST: _best_reviewed(card) if ROUTES[thread.mode] else None,
        ButtonAction.HAND_OVER: answer if ROUTES[thread.mode] and card.position is not None else None,
        ButtonAction.ADOPT: thread.id if _may_be_adopted(thread, run) else None,
        ButtonAction.PIN: answer,
        ButtonAction.SHOW_INPUT: receipt.id if receipt else None,
    }
    return tuple(Button(action=action, ref=ref) for action, ref in offers.items() if ref)


def _prefix(thread: Thread, run: Run) -> str:
    """An inherited answer names the branch too: what is done with it is done there, and the parent stays as it is."""
    return f"{thread.id}/" if run.thread_id != thread.id else ""


SEVERAL = frozenset(mode.value for mode in Mode if mode is not Mode.CHAT) | {CROSS_REVIEW}
"""Kinds of runs in which there may be several answers."""


def _stops(card: "Card") -> tuple[Button, ...]:
    """What can be stopped while an answer is written: it alone and the run, or both at once where they are the same."""
    run, turn = card.run, card.turn
    if turn is None or run.kind not in SEVERAL:
        return (Button(action=ButtonAction.STOP, ref=run.id),)
    return (
        Button(action=ButtonAction.STOP_ONE, ref=f"{run.id}/{turn.ordinal}"),
        Button(action=ButtonAction.STOP_RUN, ref=run.id),
    )


def _again_ref(card: "Card") -> str:
    """What a retry names: the run, and in a Compare the candidate's turn in it."""
    if card.run.kind == Mode.COMPARE.value and card.turn is not None:
        return f"{card.run.id}/{card.turn.step}"
    return card.run.id


def _may_be_adopted(thread: Thread, run: Run) -> bool:
    """Whether an answer is a branch's own, so that there is something to adopt."""
    return thread.parent_id is not None and thread.status is Status.ACTIVE and run.thread_id == thread.id


def _best_reviewed(card: "Card") -> str | None:
    """The answer that a Cross Review puts first, under its result; None where several share the place."""
    data = card.message.data if card.message else None
    if card.run.kind != CROSS_REVIEW or data is None or data.get("best") is None:
        return None
    return str(data["answers"][data["best"]])


def unread_files(attachments: Sequence[Attachment]) -> tuple[Phrase, ...]:
    """One line for each file of a request that could not be read, or not whole."""
    return tuple(
        Phrase(key="notice.file_not_read" if a.is_unread else "notice.file_cut", fields={"name": a.name})
        for a in attachments
        if a.problem
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The rows behind one answer."""

    run: Run
    turn: Step | None
    """None for a run whose first turn has not begun."""
    message: Message | None = None
    receipt: ReceiptRow | None = None
    first_call: Usage | None = None
    """What the call cost whose malformed output `receipt` mended."""
    position: int | None = None
    request: Message | None = None


def to_answer_view(thread: Thread, card: Card, workflows: Mapping[str, Workflow]) -> AnswerView:
    """The card of one answer from its rows; `workflows` are the ones there are, by name."""
    run, turn, message, receipt = card.run, card.turn, card.message, card.receipt
    state = _state(run, turn)
    aside = turn is not None and turn.line is None
    kept = message is None or card.position is not None or aside
    omitted = sum(o["count"] for o in receipt.omissions if o["what"] == "messages") if receipt else 0
    model = turn.model if turn else run.model
    # What the product worked out itself has no line, and no name to hide.
    hidden = hidden_name(thread, run.kind, turn.line if turn else None) if not aside else ""
    return AnswerView(
        run_id=run.id,
        step=turn.step if turn else "",
        model=hidden or model,
        state=state,
        text=message.text if message else "",
        label=label_of(thread, run.kind, turn.step, workflows) if turn else None,
        message_id=message.id if message else None,
        position=card.position,
        answers_id=run.request_id,
        kept=kept,
        cut=message.cut if message else Cut.NONE,
        failure=masked((turn.failure if turn else None) or run.failure, hidden),
        receipt_id=ReceiptId(receipt.id) if receipt else None,
        usage=together(card.first_call, usage_of(receipt)) if receipt and not hidden else None,
        omitted=omitted,
        shared_sha256=receipt.shared_sha256 if receipt else "",
        notices=unread_files(card.request.attachments) if card.request else (),
        demo=model.startswith("demo"),
        buttons=answer_buttons(thread, card, state, kept=kept),
        feedback_ref=_prefix(thread, run) + message.id if message and message.text else "",
        created_at=message.created_at if message else run.created_at,
    )


def hidden_name(thread: Thread, kind: str, line: str | None) -> str:
    """What stands in place of a model's name while a Compare is blind; empty where names are shown (spec §3)."""
    if kind != Mode.COMPARE.value or thread.mode is not Mode.COMPARE or not thread.setup.get("blind"):
        return ""
    setup = CompareSetup.from_json(thread.setup)
    letters = {candidate.line: candidate.letter for candidate in setup.candidates}
    return text(thread.locale, "present.blind_name", letter=letters.get(line or "", "?"))


def author_shown(thread: Thread, message: Message) -> str:
    """The name of a message's author as people may read it in this thread."""
    kind, _, line = message.step.partition(":")
    hidden = hidden_name(thread, Mode.COMPARE.value, line) if kind == "answer" else ""
    return hidden or message.author.name


def masked(failure: Phrase | None, hidden: str) -> Phrase | None:
    """A failure without the name of the model, where that is hidden."""
    if failure is None or not hidden or "model" not in failure.fields:
        return failure
    return Phrase(key=failure.key, fields={**failure.fields, "model": hidden})


def _state(run: Run, turn: Step | None) -> AnswerState:
    """Where an answer stands: its turn says so once it has ended, its run before that."""
    if turn is not None and turn.status != "running":
        return STATES[turn.status]
    if run.status in OPEN:
        return AnswerState.WRITING if turn is not None else AnswerState.QUEUED
    # The run ended without the turn: it failed or was stopped in between.
    return AnswerState.FAILED if run.status == "done" else STATES[run.status]


async def load_answer_view(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    run_id: str,
    step: str,
    *,
    workflows: Mapping[str, Workflow],
) -> AnswerView | None:
    """The card of one turn of a run as the store has it now."""
    run = await find_run(session, workspace_id, run_id)
    thread = await find_thread(session, workspace_id, run.thread_id) if run else None
    if run is None or thread is None:
        return None
    request = None
    if run.request_id and (asked := await latest_version(session, run.request_id)):
        request = (await with_attachments(session, [asked]))[0]
    turn = await find_run_step(session, workspace_id, run_id, step)
    message, receipt, position = None, None, None
    mended: Mapping[str, Usage] = {}
    if turn and turn.receipt_id:
        receipt = await find_receipt_row(session, workspace_id, turn.receipt_id)
        if turn.step + REPAIR == (receipt.step if receipt else ""):
            mended = await first_calls(session, workspace_id, [turn])
    if turn and turn.message_id:
        message = (await find_messages(session, workspace_id, [turn.message_id]))[0]
        lines = {line.line: line for line in await conversations(session, workspace_id, thread.id)}
        if turn.line in lines:
            position = await position_of(session, lines[turn.line].id, message.id)
    return to_answer_view(
        thread,
        Card(
            run=run,
            turn=turn,
            message=message,
            receipt=receipt,
            first_call=mended.get(receipt.id) if receipt else None,
            position=position,
            request=request,
        ),
        workflows,
    )


async def read_stretch(
    session: AsyncSession,
    thread: Thread,
    lines: Sequence[Conversation],
    reader: Actor,
    *,
    before: int | None,
    limit: int,
    workflows: Mapping[str, Workflow],
) -> Stretch:
    """The last `limit` entries of the main line before position `before` (or the end), each message with its answers.

    Answers to a message stand behind it in the order in which they were asked for, from every line of the thread, kept
    or not. An answer whose message is not among the entries stands where it is.
    """
    last = await length(session, lines[0].id)
    if before is not None:
        last = min(last, before - 1)
    first = max(1, last - limit + 1)
    entries = await entries_between(session, lines[0].id, first, last)
    roots = await _roots(session, entries)
    requests = {roots[e.message.id]: e.message for e in entries if not e.message.is_answer}
    cards = await _cards(session, thread, lines, entries, requests)
    answers: dict[str, list[Card]] = defaultdict(list)
    for card in cards:
        answers[card.run.request_id or ""].append(card)
    items: list[MessageView | AnswerView] = []
    for entry in entries:
        root = roots[entry.message.id]
        if not entry.message.is_answer:
            items.append(_message_view(thread, entry, reader, edited=root != entry.message.id))
            items += [to_answer_view(thread, card, workflows) for card in answers[root]]
        elif entry.message.answers_id not in requests:
            alone = [c for c in answers[entry.message.answers_id or ""] if c.position == entry.position]
            items += [to_answer_view(thread, card, workflows) for card in alone[:1]]
    return Stretch(items=tuple(items), earlier=first - 1 if entries else 0)


async def _cards(
    session: AsyncSession,
    thread: Thread,
    lines: Sequence[Conversation],
    entries: Sequence[Entry],
    requests: Mapping[str, Message],
) -> list[Card]:
    """Cards of all answers to the messages of a stretch, and of those in it, run by run and turn by turn."""
    own = {run.id: run for run in await runs_for(session, thread.workspace_id, thread.id, list(requests))}
    placed = await _placed(session, lines, list(requests))
    placed |= {e.message.id: e.position for e in entries if e.message.is_answer}
    messages = {m.id: m for m in await find_messages(session, thread.workspace_id, list(placed))}
    written_by = [m.run_id for m in messages.values() if m.run_id and m.run_id not in own]
    inherited = {run.id: run for run in await runs_by_id(session, thread.workspace_id, written_by)}
    turns = await steps_of(session, thread.workspace_id, [*own, *inherited])
    apart = [t.message_id for t in turns if t.run_id in own and t.message_id and t.message_id not in messages]
    messages |= {m.id: m for m in await find_messages(session, thread.workspace_id, apart)}
    receipts = await receipts_by_id(
        session, thread.workspace_id, [t.receipt_id for t in turns if t.receipt_id]
    )
    mended = await first_calls(session, thread.workspace_id, turns)
    cards = [
        Card(
            run=own.get(turn.run_id) or inherited[turn.run_id],
            turn=turn,
            message=messages.get(turn.message_id) if turn.message_id else None,
            receipt=receipts.get(turn.receipt_id or ""),
            first_call=mended.get(turn.receipt_id or ""),
            position=placed.get(turn.message_id) if turn.message_id else None,
            request=requests.get((own.get(turn.run_id) or inherited[turn.run_id]).request_id or ""),
        )
        for turn in turns
        # Of a run of another thread only what was copied from it stands here.
        if turn.run_id in own or turn.message_id in placed
    ]
    begun = {turn.run_id for turn in turns}
    cards += [
        Card(run=run, turn=None, request=requests.get(run.request_id or ""))
        for run in own.values()
        if run.id not in begun
    ]
    return sorted(cards, key=lambda card: (card.run.id, card.turn.ordinal if card.turn else 0))


async def _placed(
    session: AsyncSession, lines: Sequence[Conversation], request_ids: Sequence[str]
) -> dict[MessageId, int]:
    """Positions of the answers to some messages (root ids) that stand in the lines of a thread."""
    # From the answers to their places: SQLite reads an inner join the other way round, which is whole conversations.
    rows = await session.execute(
        select(MessageRow.id, EntryRow.position)
        .outerjoin(
            EntryRow,
            and_(
                EntryRow.message_id == MessageRow.id,
                EntryRow.conversation_id.in_([line.id for line in lines]),
            ),
        )
        .where(MessageRow.answers_id.in_(request_ids))
    )
    return {MessageId(row.id): row.position for row in rows if row.position is not None}


async def _roots(session: AsyncSession, entries: Sequence[Entry]) -> dict[str, str]:
    ids = [entry.message.id for entry in entries]
    rows = await session.execute(select(MessageRow.id, MessageRow.root_id).where(MessageRow.id.in_(ids)))
    return {row.id: row.root_id for row in rows}


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
        buttons=(
            Button(action=ButtonAction.BRANCH, ref=message.id),
            Button(action=ButtonAction.PIN, ref=message.id),
        ),
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
    last = lines[0].inherited
    quoted = await entries_between(session, lines[0].id, max(1, last - QUOTES + 1), last)
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
        split_quote=quote(author_shown(branch, to_message(split_row)), split_row.text) if split_row else None,
        quotes=tuple(quote(author_shown(branch, e.message), e.message.text) for e in quoted),
        transcript=await _transcript(session, branch, lines) if with_transcript else "",
    )


async def _transcript(session: AsyncSession, branch: Thread, lines: Sequence[Conversation]) -> str:
    """The inherited messages of all lines as Markdown, each under its author and time.

    Read piece by piece: a hundred thousand rows at once would hold the event loop up for seconds.
    """
    blocks = []
    for line in lines:
        for first in range(1, line.inherited + 1, TRANSCRIPT_PIECE):
            last = min(first + TRANSCRIPT_PIECE - 1, line.inherited)
            blocks += [
                transcript_block(branch, e.message)
                for e in await entries_between(session, line.id, first, last)
            ]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def transcript_block(branch: Thread, message: Message) -> str:
    by_model = " (AI)" if message.author.kind is AuthorKind.MODEL else ""
    author = author_shown(branch, message)
    return f"### {author}{by_model}, {message.created_at:%Y-%m-%d %H:%M} UTC\n\n{message.text}"
