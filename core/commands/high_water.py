"""What an adapter remembers between two lives: how far it read, and which commands it registered."""

from dataclasses import dataclass

from core.commands.person import WorkspaceSeen
from core.commands.services import Services
from core.domain.ids import WorkspaceId
from core.ports import Clock
from core.store.database import Store
from core.store.high_water import command_hash, do_note_command_hash, do_raise_high_water, high_water
from core.store.workspace import do_add_workspace, find_workspace


async def read_high_water(services: Services, seen: WorkspaceSeen, source: str) -> str | None:
    """The mark of a source of events in a workspace; None when nothing was recorded yet. Raises StoreUnavailable."""
    async with services.store.reading() as session:
        workspace = await find_workspace(session, seen.platform, seen.external_id)
        return await high_water(session, WorkspaceId(workspace.id), source) if workspace else None


async def raise_high_water(services: Services, seen: WorkspaceSeen, source: str, mark: str) -> None:
    """Record that everything up to `mark` is taken in; makes the workspace known. Raises StoreUnavailable."""
    async with services.store.writing() as session:
        workspace = await do_add_workspace(
            session,
            platform=seen.platform,
            external_id=seen.external_id,
            name=seen.name,
            clock=services.clock,
        )
        await do_raise_high_water(session, WorkspaceId(workspace.id), source, mark, clock=services.clock)


@dataclass(frozen=True, slots=True)
class CommandRegister:
    """What was last registered as commands with a platform, by application and scope."""

    store: Store
    clock: Clock

    async def known(self, application: str, scope: str) -> str | None:
        """Hash of the commands that were registered last; None when none were."""
        async with self.store.reading() as session:
            return await command_hash(session, application, scope)

    async def note(self, application: str, scope: str, sha256: str) -> None:
        """Remember which commands are registered now."""
        async with self.store.writing() as session:
            await do_note_command_hash(session, application, scope, sha256, clock=self.clock)
