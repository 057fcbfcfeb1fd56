"""Installations of the app in workspaces, with their tokens in the clear only here and in the adapter that asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core.commands.person import WorkspaceSeen
from core.domain.ids import WorkspaceId
from core.ports import Clock
from core.store.audit import do_audit
from core.store.database import Store
from core.store.installation import (
    Sealed,
    all_installations,
    do_claim_renewal,
    do_install,
    do_renew,
    do_uninstall,
    find_installation,
)
from core.store.sealing import Sealer
from core.store.tables import InstallationRow
from core.store.workspace import do_add_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What an installation works with. `refresh_token` is empty where tokens do not expire."""

    token: str = field(repr=False)
    refresh_token: str = field(repr=False, default="")
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    workspace_id: WorkspaceId
    details: Mapping[str, Any]
    """What the platform said about the app and its bot there."""
    tokens: Tokens


class Installations:
    """Stores installations of one platform. All methods raise StoreUnavailable; reading raises ConfigurationError."""

    def __init__(self, store: Store, clock: Clock, sealer: Sealer, *, platform: str) -> None:
        self._store = store
        self._clock = clock
        self._sealer = sealer
        self._platform = platform

    async def find(self, external_id: str) -> Installation | None:
        """The installation in a workspace, by its platform id."""
        async with self._store.reading() as session:
            row = await find_installation(session, self._platform, external_id)
        return self._opened(row) if row else None

    async def install(
        self, seen: WorkspaceSeen, tokens: Tokens, *, details: Mapping[str, Any], installed_by: str
    ) -> None:
        """Store an installation, in place of an earlier one of the same workspace."""
        async with self._store.writing() as session:
            workspace = await do_add_workspace(
                session,
                platform=seen.platform,
                external_id=seen.external_id,
                name=seen.name,
                clock=self._clock,
            )
            workspace_id = WorkspaceId(workspace.id)
            await do_install(
                session,
                workspace_id,
                details=details,
                sealed=self._sealed(workspace_id, tokens),
                installed_by=installed_by,
                now=self._clock.now(),
            )
            await do_audit(
                session,
                workspace_id,
                actor_id=None,
                action="install",
                subject_id=workspace_id,
                clock=self._clock,
                details={"by": installed_by},
            )

    async def remove(self, external_id: str) -> None:
        """Forget an installation; one that is not there needs nothing."""
        async with self._store.writing() as session:
            row = await find_installation(session, self._platform, external_id)
            if row is None:
                return
            workspace_id = WorkspaceId(row.workspace_id)
            await do_uninstall(session, workspace_id)
            await do_audit(
                session,
                workspace_id,
                actor_id=None,
                action="uninstall",
                subject_id=workspace_id,
                clock=self._clock,
            )

    async def claim_renewal(self, workspace_id: WorkspaceId, *, for_s: float) -> bool:
        """Whether the caller is the one who renews the token now; nobody else is for `for_s` seconds."""
        now = self._clock.now()
        async with self._store.writing() as session:
            return await do_claim_renewal(
                session, workspace_id, now=now, until=now + timedelta(seconds=for_s)
            )

    async def renew(self, workspace_id: WorkspaceId, tokens: Tokens) -> None:
        """Store renewed tokens."""
        async with self._store.writing() as session:
            await do_renew(session, workspace_id, self._sealed(workspace_id, tokens), now=self._clock.now())

    async def seal_anew(self) -> int:
        """Seal with the newest key what an older one sealed; how many that were. Raises ConfigurationError."""
        count = 0
        async with self._store.writing() as session:
            for row in await all_installations(session, self._platform):
                if self._sealer.is_current(row.token):
                    continue
                workspace_id = WorkspaceId(row.workspace_id)
                sealed = self._sealed(workspace_id, self._opened(row).tokens)
                await do_renew(session, workspace_id, sealed, now=self._clock.now())
                count += 1
        return count

    def _sealed(self, workspace_id: WorkspaceId, tokens: Tokens) -> Sealed:
        return Sealed(
            token=self._sealer.seal(tokens.token, place=f"{workspace_id}/token"),
            refresh_token=self._sealer.seal(tokens.refresh_token, place=f"{workspace_id}/refresh")
            if tokens.refresh_token
            else "",
            expires_at=tokens.expires_at,
        )

    def _opened(self, row: InstallationRow) -> Installation:
        place = row.workspace_id
        return Installation(
            workspace_id=WorkspaceId(place),
            details=row.details,
            tokens=Tokens(
                token=self._sealer.open(row.token, place=f"{place}/token"),
                refresh_token=self._sealer.open(row.refresh_token, place=f"{place}/refresh")
                if row.refresh_token
                else "",
                expires_at=row.expires_at,
            ),
        )
