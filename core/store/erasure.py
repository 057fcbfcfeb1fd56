"""Blanking a person's content, and what retention lets go (spec §13).

The one place that changes message rows. Ids, hashes and positions stay, so that branches, receipts and the audit log
still hold together; texts, names and files go, in every copy.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, null, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import PersonId, ReceiptId, WorkspaceId
from core.store.carried_erasure import ERASED_NAME, IN_BULK, blanked_setup, do_blank_carried
from core.store.eval_set import do_erase_cases
from core.store.tables import (
    ArtifactVersionRow,
    AttachmentRow,
    EvalQuarantineRow,
    FeedbackRow,
    FileRow,
    HumanVerdictRow,
    MessageRow,
    NoticeRow,
    PersonRow,
    PromptDraftRow,
    ReceiptPartRow,
    ReceiptRow,
    ThreadRow,
)

ERASED_REASON = "—————"
"""As long as a reason has to be."""
ERASED_FILE = "erased"
"""Stands as the problem of a file whose content was erased."""

NAMES = ("name", "branch", "title")
"""Fields of notices that name a thread."""

BLANKED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows lost their content."""

    messages: int
    receipts: int
    attachments: int


async def do_erase_person(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> Erased:
    """Blank all that a person wrote or attached: messages, receipt parts made from them, files, titles, the name."""
    written = select(MessageRow.id).where(
        MessageRow.workspace_id == workspace_id, MessageRow.author_id == person_id
    )
    texts = await _texts(session, workspace_id, person_id)
    # Messages first: a call that ends meanwhile waits for these rows and then blanks its own receipt.
    messages = await session.execute(
        update(MessageRow)
        .where(MessageRow.workspace_id == workspace_id, MessageRow.author_id == person_id)
        .values(text="", data=null(), author_name=ERASED_NAME, erased=True)
        .execution_options(**IN_BULK)
    )
    receipts = await _do_blank_receipts(session, workspace_id, written)
    attachments = await _do_blank_attachments(session, workspace_id, written)
    await session.execute(
        update(ThreadRow)
        .where(ThreadRow.workspace_id == workspace_id, ThreadRow.owner_id == person_id)
        .values(title=ERASED_NAME, branch_name="", branch_reason="")
        .execution_options(**IN_BULK)
    )
    await _do_blank_setups(session, workspace_id, person_id)
    await _do_blank_notices(session, workspace_id, person_id)
    await session.execute(
        update(ArtifactVersionRow)
        .where(ArtifactVersionRow.workspace_id == workspace_id, ArtifactVersionRow.author_id == person_id)
        .values(text="", reason="", author_name=ERASED_NAME)
        .execution_options(**IN_BULK)
    )
    await _do_blank_comments(session, workspace_id, person_id)
    await do_blank_carried(session, workspace_id, person_id, texts)
    await do_erase_cases(session, workspace_id, list(await session.scalars(written)))
    await session.execute(
        delete(PromptDraftRow).where(
            PromptDraftRow.workspace_id == workspace_id, PromptDraftRow.author_id == person_id
        )
    )
    await session.execute(
        update(PersonRow)
        .where(PersonRow.workspace_id == workspace_id, PersonRow.id == person_id)
        .values(name=ERASED_NAME)
        .execution_options(**IN_BULK)
    )
    return Erased(messages=_count(messages), receipts=receipts, attachments=attachments)


async def _do_blank_comments(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> None:
    """What a person said of answers, of outputs of evaluations, and of cases that they set aside."""
    await session.execute(
        update(FeedbackRow)
        .where(FeedbackRow.workspace_id == workspace_id, FeedbackRow.person_id == person_id)
        .values(comment="")
        .execution_options(**IN_BULK)
    )
    await session.execute(
        update(HumanVerdictRow)
        .where(HumanVerdictRow.workspace_id == workspace_id, HumanVerdictRow.person_id == person_id)
        .values(comment="")
        .execution_options(**IN_BULK)
    )
    await session.execute(
        update(EvalQuarantineRow)
        .where(EvalQuarantineRow.workspace_id == workspace_id, EvalQuarantineRow.owner_id == person_id)
        .values(reason=ERASED_REASON)
        .execution_options(**IN_BULK)
    )


async def _texts(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> list[str]:
    """What the person's messages and titles say, by which it is known where others repeat it."""
    said = await session.scalars(
        select(MessageRow.text).where(
            MessageRow.workspace_id == workspace_id, MessageRow.author_id == person_id
        )
    )
    titles = await session.scalars(
        select(ThreadRow.title).where(ThreadRow.workspace_id == workspace_id, ThreadRow.owner_id == person_id)
    )
    return [*said, *titles]


async def _do_blank_setups(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> None:
    """What a person typed into the form a thread was started with; choices such as models stay.

    Branches, whoever made them, hold the setup of the top-level thread.
    """
    begun = select(ThreadRow.id).where(
        ThreadRow.workspace_id == workspace_id, ThreadRow.owner_id == person_id
    )
    for thread in await session.scalars(
        select(ThreadRow).where(ThreadRow.workspace_id == workspace_id, ThreadRow.top_id.in_(begun))
    ):
        thread.setup = blanked_setup(thread.setup)


async def _do_blank_notices(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> None:
    """Lines about a branch, an adoption of it or a handover hold the name or title that the person gave."""
    theirs = select(ThreadRow.id).where(
        ThreadRow.workspace_id == workspace_id, ThreadRow.owner_id == person_id
    )
    # A branch has a line about its own adoption too, which leads to its parent.
    below = (
        select(NoticeRow.id)
        .join(ThreadRow, ThreadRow.id == NoticeRow.thread_id)
        .where(ThreadRow.owner_id == person_id, ThreadRow.parent_id == NoticeRow.link_id)
    )
    for notice in await session.scalars(
        select(NoticeRow).where(
            NoticeRow.workspace_id == workspace_id,
            NoticeRow.link_id.in_(theirs) | NoticeRow.id.in_(below),
        )
    ):
        named = {each: ERASED_NAME for each in NAMES if each in notice.fields}
        notice.fields = {**notice.fields, **named}


async def do_blank_erased_parts(
    session: AsyncSession, workspace_id: WorkspaceId, receipt_id: ReceiptId
) -> None:
    """Blank what a new receipt holds of messages that were erased while its call was going on."""
    sent = select(ReceiptPartRow.message_id).where(ReceiptPartRow.receipt_id == receipt_id)
    rows = await session.execute(
        select(MessageRow.id, MessageRow.erased)
        .where(MessageRow.workspace_id == workspace_id, MessageRow.id.in_(sent))
        .with_for_update(read=True)
    )
    if gone := [row.id for row in rows if row.erased]:
        await _do_blank_receipts(session, workspace_id, gone)


async def _do_blank_receipts(session: AsyncSession, workspace_id: WorkspaceId, written: object) -> int:
    holds = select(ReceiptPartRow.receipt_id).where(ReceiptPartRow.message_id.in_(written))  # type: ignore[arg-type]
    marked = await session.execute(
        update(ReceiptRow)
        .where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.id.in_(holds))
        .values(erased=True, reasoning="")
        .execution_options(**IN_BULK)
    )
    await session.execute(
        update(ReceiptPartRow)
        .where(ReceiptPartRow.workspace_id == workspace_id, ReceiptPartRow.message_id.in_(written))  # type: ignore[arg-type]
        .values(text="", images=[])
        .execution_options(**IN_BULK)
    )
    return _count(marked)


async def _do_blank_attachments(session: AsyncSession, workspace_id: WorkspaceId, written: object) -> int:
    mine = AttachmentRow.message_id.in_(written)  # type: ignore[arg-type]
    hashes = set(await session.scalars(select(AttachmentRow.sha256).where(mine)))
    blanked = await session.execute(
        update(AttachmentRow)
        .where(AttachmentRow.workspace_id == workspace_id, mine)
        .values(text="", name=ERASED_NAME, problem=ERASED_FILE)
        .execution_options(**IN_BULK)
    )
    still_used = select(AttachmentRow.sha256).where(
        AttachmentRow.workspace_id == workspace_id, AttachmentRow.problem != ERASED_FILE
    )
    await session.execute(
        delete(FileRow)
        .where(
            FileRow.workspace_id == workspace_id,
            FileRow.sha256.in_(hashes),
            FileRow.sha256.not_in(still_used),
        )
        .execution_options(**IN_BULK)
    )
    return _count(blanked)


async def do_blank_old_receipts(session: AsyncSession, workspace_id: WorkspaceId, before: datetime) -> int:
    """Blank the texts of receipts older than the workspace's retention; hashes, tokens and cost stay.

    Returns how many it was, at most 500 at a time; 0 when nothing is left to do.
    """
    old = select(ReceiptRow.id).where(ReceiptRow.workspace_id == workspace_id, ReceiptRow.created_at < before)
    # Not by the mark: of a receipt that is marked for one person's sake, other parts may still hold text.
    full = list(
        await session.scalars(
            select(ReceiptPartRow.receipt_id)
            .where(ReceiptPartRow.receipt_id.in_(old), ReceiptPartRow.text != "")
            .distinct()
            .limit(BLANKED_AT_ONCE)
        )
    )
    await session.execute(
        update(ReceiptPartRow)
        .where(ReceiptPartRow.receipt_id.in_(full))
        .values(text="", images=[])
        .execution_options(**IN_BULK)
    )
    marked = await session.execute(
        update(ReceiptRow)
        .where(ReceiptRow.id.in_(full))
        .values(expired=True, reasoning="")
        .execution_options(**IN_BULK)
    )
    return _count(marked)


def _count(result: object) -> int:
    return int(result.rowcount)  # type: ignore[attr-defined]
