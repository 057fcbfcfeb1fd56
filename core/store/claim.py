"""Claims: an event of a platform is taken in once, however often it is delivered (spec §12)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.ports import Clock
from core.store.tables import ClaimRow


async def claim(
    session: AsyncSession, workspace_id: WorkspaceId, keys: Sequence[str], clock: Clock
) -> dict[str, Any] | None:
    """Claim an event by each of its identities.

    Returns None when the event is ours, and what the first claimant settled when one of the keys was taken. Holds
    until the surrounding transaction ends; another transaction with the same key waits for it.
    """
    for key in keys:
        values = {"workspace_id": workspace_id, "key": key, "result": {}, "created_at": clock.now()}
        taken = await session.execute(insert_or_ignore(session, ClaimRow).values(values))
        if not taken.rowcount:  # type: ignore[attr-defined]
            settled = (await session.get_one(ClaimRow, (workspace_id, key))).result
            # The other identities that came with it lead to the same from now on.
            await settle(session, workspace_id, keys[: keys.index(key)], settled)
            return settled
    return None


async def find_settled(
    session: AsyncSession, workspace_id: WorkspaceId, key: str
) -> Mapping[str, Any] | None:
    """What came of an event, None when it is not taken in yet."""
    row = await session.get(ClaimRow, (workspace_id, key))
    return row.result if row else None


async def settle(
    session: AsyncSession, workspace_id: WorkspaceId, keys: Sequence[str], result: Mapping[str, Any]
) -> None:
    """Remember what came of an event, for whoever delivers it again."""
    await session.execute(
        update(ClaimRow)
        .where(ClaimRow.workspace_id == workspace_id, ClaimRow.key.in_(keys))
        .values(result=dict(result))
        .execution_options(synchronize_session=False)
    )


def insert_or_ignore(session: AsyncSession, table: type[Any]) -> Any:
    """An INSERT that does nothing when the row is already there; its rowcount tells which it was."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    # Without the option the count of an INSERT is -1 on Postgres, which reads as "added".
    return insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
