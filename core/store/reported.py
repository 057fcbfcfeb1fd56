"""Which model providers say they answered with: one row a configured model, the same for every workspace."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.reported import ReportedModel
from core.store.claim import insert_or_ignore
from core.store.tables import ReportedModelRow


async def do_note_reported(
    session: AsyncSession, model: str, model_id: str, reported_id: str, *, now: datetime
) -> ReportedModel | None:
    """Remember what a call reported; the change when it is another model than the call before reported.

    None for what is known already, for the first report of a model, and where nothing was reported. Of calls at the
    same moment one finds the change.
    """
    if not reported_id:
        return None
    row = ReportedModelRow
    first = {"model": model, "model_id": model_id, "reported_id": reported_id, "before": "", "since": now}
    mine = (row.model == model, row.model_id == model_id)
    # Read first: nearly every call reports what the one before did, and then nothing is written.
    before = await session.scalar(select(row.reported_id).where(*mine))
    if before is None:
        added = await session.execute(insert_or_ignore(session, row).values(first))
        if added.rowcount:  # type: ignore[attr-defined]
            return None
        before = await session.scalar(select(row.reported_id).where(*mine))
    if before is None or before == reported_id:
        return None
    moved = await session.execute(
        update(row)
        .where(*mine, row.reported_id == before)
        .values(reported_id=reported_id, before=before, since=now)
        .execution_options(synchronize_session=False)
    )
    if not moved.rowcount:  # type: ignore[attr-defined]
        return None
    return ReportedModel(model=model, model_id=model_id, reported_id=reported_id, before=before, since=now)


async def reported_models(session: AsyncSession) -> dict[tuple[str, str], ReportedModel]:
    """What every model reported last, by alias and configured id; models that were never called are missing."""
    rows = await session.scalars(select(ReportedModelRow))
    return {
        (row.model, row.model_id): ReportedModel(
            model=row.model,
            model_id=row.model_id,
            reported_id=row.reported_id,
            before=row.before,
            since=row.since,
        )
        for row in rows
    }
