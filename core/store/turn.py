"""What one answer needs, read in one transaction."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.ports import Turn
from core.store.message import entry_at, position_of, read_window
from core.store.run import Run
from core.store.tables import ConversationRow
from core.store.thread import find_thread, to_conversation


async def load_turn(
    session: AsyncSession, run: Run, *, context_tokens: int, max_output_tokens: int, vision: bool
) -> Turn | None:
    """The request of a run in its present version, with the window before it; None when the request was taken out."""
    if run.conversation_id is None or run.request_id is None:
        return None
    thread = await find_thread(session, run.workspace_id, run.thread_id)
    conversation = await session.scalar(
        select(ConversationRow).where(
            ConversationRow.workspace_id == run.workspace_id, ConversationRow.id == run.conversation_id
        )
    )
    position = await position_of(session, run.conversation_id, run.request_id)
    if thread is None or conversation is None or position is None:
        return None
    request = await entry_at(session, run.conversation_id, position)
    if request is None:
        return None
    return Turn(
        thread=thread,
        conversation=to_conversation(conversation),
        window=await read_window(session, run.conversation_id, position),
        request=request.message,
        model=run.model,
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        vision=vision,
        prompts=run.prompts,
        run_id=run.id,
        line=conversation.line,
    )
