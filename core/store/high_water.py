"""How far events of a platform were taken in, and which commands were registered with it."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.ports import Clock
from core.store.claim import insert_or_ignore
from core.store.tables import CommandSyncRow, HighWaterRow


async def high_water(session: AsyncSession, workspace_id: WorkspaceId, source: str) -> str | None:
    """The platform's id of the last event that needs no second reading; None when none was recorded yet."""
    return await session.scalar(
        select(HighWaterRow.mark).where(
            HighWaterRow.workspace_id == workspace_id, HighWaterRow.source == source
        )
    )


async def do_raise_high_water(
    session: AsyncSession, workspace_id: WorkspaceId, source: str, mark: str, *, clock: Clock
) -> None:
    """Record that everything up to `mark` is taken in."""
    values = {"workspace_id": workspace_id, "source": source, "mark": mark, "updated_at": clock.now()}
    await session.execute(insert_or_ignore(session, HighWaterRow).values(values))
    row = await session.get_one(HighWaterRow, (workspace_id, source))
    row.mark, row.updated_at = mark, clock.now()


async def command_hash(session: AsyncSession, application: str, scope: str) -> str | None:
    """SHA-256 of the commands last registered for an application in a scope; None before the first time."""
    return await session.scalar(
        select(CommandSyncRow.sha256).where(
            CommandSyncRow.application == application, CommandSyncRow.scope == scope
        )
    )


async def do_note_command_hash(
    session: AsyncSession, application: str, scope: str, sha256: str, *, clock: Clock
) -> None:
    """Record what is registered now."""
    values = {"application": application, "scope": scope, "sha256": sha256, "updated_at": clock.now()}
    await session.execute(insert_or_ignore(session, CommandSyncRow).values(values))
    row = await session.get_one(CommandSyncRow, (application, scope))
    row.sha256, row.updated_at = sha256, clock.now()
