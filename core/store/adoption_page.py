"""What people are shown of an adoption: the card in the parent's thread, drawn from its rows whenever it is needed."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.adoption import AdoptionStatus, Choice, ReviewTexts
from core.domain.ids import WorkspaceId
from core.domain.message import Message
from core.domain.view import AdoptionCardView, Button, ButtonAction, ConflictItem, LinkItem
from core.store.adoption import Adoption, find_adoption, own_messages
from core.store.message import find_messages
from core.store.page import quote, transcript_block
from core.store.thread import find_thread
from core.store.workspace import person_name

QUOTES = 3
"""Adopted messages quoted where the parent's thread shows what it now holds."""


async def load_adoption_card(
    session: AsyncSession, workspace_id: WorkspaceId, adoption_id: str, *, with_transcript: bool = False
) -> AdoptionCardView | None:
    """The card of a request as it stands; its messages are read only where they are asked for."""
    adoption = await find_adoption(session, workspace_id, adoption_id)
    branch = await find_thread(session, workspace_id, adoption.branch_id) if adoption else None
    if adoption is None or branch is None:
        return None
    covered = [each for ids in adoption.messages.values() for each in ids]
    newer = 0
    if adoption.status is AdoptionStatus.PENDING:
        now = [each for ids in (await own_messages(session, branch)).values() for each in ids]
        newer = len(set(now) - set(covered))
    messages: Sequence[Message] = ()
    if with_transcript:
        messages = await find_messages(session, workspace_id, covered)
    return AdoptionCardView(
        adoption_id=adoption.id,
        status=adoption.status,
        branch=LinkItem(label=branch.branch_name, thread_id=branch.id, place=branch.place),
        parent_id=adoption.parent_id,
        requester=await person_name(session, workspace_id, adoption.requested_by),
        reason=adoption.reason,
        texts=ReviewTexts.from_json(adoption.review),
        messages=len(covered),
        artifacts=len(adoption.artifacts),
        conflicts=_conflicts(adoption),
        created_at=adoption.created_at,
        expires_at=adoption.expires_at,
        decided_by=await person_name(session, workspace_id, adoption.decided_by)
        if adoption.decided_by
        else "",
        decided_at=adoption.decided_at,
        decision_reason=adoption.decision_reason,
        newer=newer,
        quotes=tuple(quote(m.author.name, m.text) for m in messages[-QUOTES:]),
        transcript="\n\n".join(transcript_block(branch, m) for m in messages),
        buttons=_buttons(adoption),
    )


def _conflicts(adoption: Adoption) -> tuple[ConflictItem, ...]:
    return tuple(
        ConflictItem(
            artifact_id=one["artifact_id"],
            name=one["name"],
            branch_version=one["version"],
            parent_version=one["parent_version"],
            choice=Choice(one["decided"]["choice"]),
            new_name=one["decided"]["new_name"],
        )
        for one in adoption.artifacts
        if one["decided"]
    )


def _buttons(adoption: Adoption) -> tuple[Button, ...]:
    if adoption.status is not AdoptionStatus.PENDING:
        return (Button(action=ButtonAction.SHOW_CHANGES, ref=adoption.id),)
    actions = (
        ButtonAction.APPROVE,
        ButtonAction.REJECT,
        ButtonAction.SHOW_CHANGES,
        ButtonAction.WITHDRAW,
    )
    return tuple(Button(action=action, ref=adoption.id) for action in actions)
