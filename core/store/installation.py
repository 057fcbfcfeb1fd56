"""Installations of the app in workspaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import WorkspaceId
from core.store.claim import insert_or_ignore
from core.store.tables import InstallationRow, WorkspaceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Tokens as they are stored. `refresh_token` is empty where tokens do not expire."""

    token: str
    refresh_token: str
    expires_at: datetime | None


async def find_installation(session: AsyncSession, platform: str, external_id: str) -> InstallationRow | None:
    """The installation in the workspace with these platform ids."""
    return await session.scalar(
        select(InstallationRow)
        .join(WorkspaceRow, WorkspaceRow.id == InstallationRow.workspace_id)
        .where(WorkspaceRow.platform == platform, WorkspaceRow.external_id == external_id)
    )


async def all_installations(session: AsyncSession, platform: str) -> list[InstallationRow]:
    """Every installation of a platform, for the change of the sealing key only."""
    rows = await session.scalars(
        select(InstallationRow)
        .join(WorkspaceRow, WorkspaceRow.id == InstallationRow.workspace_id)
        .where(WorkspaceRow.platform == platform)
        .order_by(InstallationRow.workspace_id)
    )
    return list(rows)


async def do_install(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    *,
    details: Mapping[str, Any],
    sealed: Sealed,
    installed_by: str,
    now: datetime,
) -> None:
    """Store an installation in place of an earlier one of the same workspace."""
    values = {
        "details": dict(details),
        "token": sealed.token,
        "refresh_token": sealed.refresh_token,
        "expires_at": sealed.expires_at,
        "renewing_until": None,
        "installed_by": installed_by,
        "updated_at": now,
    }
    added = insert_or_ignore(session, InstallationRow).values(workspace_id=workspace_id, **values)
    await session.execute(added)
    await session.execute(
        update(InstallationRow).where(InstallationRow.workspace_id == workspace_id).values(values)
    )


async def do_claim_renewal(
    session: AsyncSession, workspace_id: WorkspaceId, *, now: datetime, until: datetime
) -> bool:
    """Whether the caller is the one who renews the token now; nobody else is until `until`."""
    free = or_(InstallationRow.renewing_until.is_(None), InstallationRow.renewing_until < now)
    claimed = await session.execute(
        update(InstallationRow)
        .where(InstallationRow.workspace_id == workspace_id, free)
        .values(renewing_until=until)
        .returning(InstallationRow.workspace_id)
        .execution_options(synchronize_session=False)
    )
    return claimed.first() is not None


async def do_renew(
    session: AsyncSession, workspace_id: WorkspaceId, sealed: Sealed, *, now: datetime
) -> None:
    """Store renewed tokens, and let go of the claim."""
    await session.execute(
        update(InstallationRow)
        .where(InstallationRow.workspace_id == workspace_id)
        .values(
            token=sealed.token,
            refresh_token=sealed.refresh_token,
            expires_at=sealed.expires_at,
            renewing_until=None,
            updated_at=now,
        )
    )


async def do_uninstall(session: AsyncSession, workspace_id: WorkspaceId) -> None:
    """Forget an installation and its tokens; what people wrote stays."""
    await session.execute(delete(InstallationRow).where(InstallationRow.workspace_id == workspace_id))
