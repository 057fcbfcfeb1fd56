"""What each process of the installation has loaded, and the counter that has them read the files again."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.store.tables import PromptGenerationRow, PromptProcessRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One process and what it works with."""

    process_id: str
    host: str
    pid: int
    generation: int
    versions: int
    error: str
    loaded_at: datetime
    seen_at: datetime


async def do_report(session: AsyncSession, loaded: Loaded) -> None:
    """Say what a process has loaded, in the place of what it said before."""
    await session.merge(
        PromptProcessRow(
            id=loaded.process_id,
            host=loaded.host,
            pid=loaded.pid,
            generation=loaded.generation,
            versions=loaded.versions,
            error=loaded.error,
            loaded_at=loaded.loaded_at,
            seen_at=loaded.seen_at,
        )
    )
    await session.flush()


async def do_forget_silent(session: AsyncSession, before: datetime) -> None:
    """Drop processes that said nothing since a moment: they have ended."""
    await session.execute(delete(PromptProcessRow).where(PromptProcessRow.seen_at < before))


async def do_forget(session: AsyncSession, process_id: str) -> None:
    await session.execute(delete(PromptProcessRow).where(PromptProcessRow.id == process_id))


async def processes(session: AsyncSession) -> list[Loaded]:
    rows = await session.scalars(select(PromptProcessRow).order_by(PromptProcessRow.id))
    return [
        Loaded(
            process_id=row.id,
            host=row.host,
            pid=row.pid,
            generation=row.generation,
            versions=row.versions,
            error=row.error,
            loaded_at=row.loaded_at,
            seen_at=row.seen_at,
        )
        for row in rows
    ]


async def generation(session: AsyncSession) -> int:
    return (await session.scalars(select(PromptGenerationRow.generation))).one()


async def do_next_generation(session: AsyncSession) -> None:
    """Have every process read the files again."""
    await session.execute(
        update(PromptGenerationRow)
        .values(generation=PromptGenerationRow.generation + 1)
        .execution_options(synchronize_session=False)
    )
