"""Workspaces, their people, and the channels of the local console."""

from sqlalchemy import Select, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from core.domain.ids import PersonId, WorkspaceId
from core.ports import Clock
from core.store.claim import insert_or_ignore
from core.store.tables import ChannelMemberRow, ChannelRow, PersonRow, WorkspaceRow


async def find_workspace(session: AsyncSession, platform: str, external_id: str) -> WorkspaceRow | None:
    return await session.scalar(_workspace_of(platform, external_id))


def _workspace_of(platform: str, external_id: str) -> Select[WorkspaceRow]:
    return select(WorkspaceRow).where(
        WorkspaceRow.platform == platform, WorkspaceRow.external_id == external_id
    )


async def do_add_workspace(
    session: AsyncSession, *, platform: str, external_id: str, name: str, clock: Clock
) -> WorkspaceRow:
    """The workspace for a platform's tenant, added when it is new; two at once add one."""
    await session.execute(
        insert_or_ignore(session, WorkspaceRow).values(
            id=clock.new_id(), platform=platform, external_id=external_id, name=name, created_at=clock.now()
        )
    )
    return (await session.scalars(_workspace_of(platform, external_id))).one()


async def find_person(session: AsyncSession, workspace_id: WorkspaceId, external_id: str) -> PersonRow | None:
    return await session.scalar(_person_of(workspace_id, external_id))


def _person_of(workspace_id: WorkspaceId, external_id: str) -> Select[PersonRow]:
    return select(PersonRow).where(
        PersonRow.workspace_id == workspace_id, PersonRow.external_id == external_id
    )


async def do_see_person(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    *,
    external_id: str,
    name: str,
    locale: str,
    clock: Clock,
) -> PersonRow:
    """The person behind a platform id, with name and locale as the platform has them now."""
    row = await _do_ensure_person(session, workspace_id, external_id, name, locale, clock)
    row.name, row.locale = name, locale
    return row


async def do_know_person(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    *,
    external_id: str,
    name: str,
    locale: str,
    clock: Clock,
) -> PersonId:
    """The id of a person who is only mentioned: added when new, otherwise left as they are known."""
    row = await _do_ensure_person(session, workspace_id, external_id, name, locale, clock)
    return PersonId(row.id)


async def _do_ensure_person(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    external_id: str,
    name: str,
    locale: str,
    clock: Clock,
) -> PersonRow:
    """The person behind a platform id; added when new, otherwise left as they are known."""
    await session.execute(
        insert_or_ignore(session, PersonRow).values(
            id=clock.new_id(),
            workspace_id=workspace_id,
            external_id=external_id,
            name=name,
            locale=locale,
            created_at=clock.now(),
        )
    )
    return (await session.scalars(_person_of(workspace_id, external_id))).one()


async def people(session: AsyncSession, workspace_id: WorkspaceId) -> list[PersonRow]:
    """Everyone of a workspace, first come first."""
    rows = await session.scalars(
        select(PersonRow).where(PersonRow.workspace_id == workspace_id).order_by(PersonRow.id)
    )
    return list(rows)


async def do_add_channel(
    session: AsyncSession,
    workspace_id: WorkspaceId,
    *,
    external_id: str,
    name: str,
    visibility: str,
    members: tuple[PersonId, ...],
    clock: Clock,
) -> None:
    """Add a channel and its members; one that is there already stays as it is."""
    await session.execute(
        insert_or_ignore(session, ChannelRow).values(
            id=clock.new_id(),
            workspace_id=workspace_id,
            external_id=external_id,
            name=name,
            visibility=visibility,
            created_at=clock.now(),
        )
    )
    channel = (await session.scalars(_channel_of(workspace_id, external_id))).one()
    for person_id in members:
        await session.execute(
            insert_or_ignore(session, ChannelMemberRow).values(
                channel_id=channel.id, person_id=person_id, workspace_id=workspace_id
            )
        )


def _channel_of(workspace_id: WorkspaceId, external_id: str) -> Select[ChannelRow]:
    return select(ChannelRow).where(
        ChannelRow.workspace_id == workspace_id, ChannelRow.external_id == external_id
    )


async def visible_channels(
    session: AsyncSession, workspace_id: WorkspaceId, person_external_id: str
) -> list[ChannelRow]:
    """Channels of the console that the person can see: public ones, and those the person is a member of."""
    member = exists().where(
        ChannelMemberRow.channel_id == ChannelRow.id,
        ChannelMemberRow.person_id == PersonRow.id,
        PersonRow.external_id == person_external_id,
        PersonRow.workspace_id == workspace_id,
    )
    rows = await session.scalars(
        select(ChannelRow)
        .where(ChannelRow.workspace_id == workspace_id, or_(ChannelRow.visibility == "public", member))
        .order_by(ChannelRow.id)
    )
    return list(rows)


async def channels_by_id(session: AsyncSession, workspace_id: WorkspaceId) -> dict[str, ChannelRow]:
    """Channels of the console by their external id, in the order in which they were made."""
    rows = await session.scalars(
        select(ChannelRow).where(ChannelRow.workspace_id == workspace_id).order_by(ChannelRow.id)
    )
    return {row.external_id: row for row in rows}


async def all_workspaces(session: AsyncSession) -> list[WorkspaceRow]:
    """Every workspace, for the schedules only."""
    return list(await session.scalars(select(WorkspaceRow).order_by(WorkspaceRow.id)))


async def external_id_of(session: AsyncSession, workspace_id: WorkspaceId) -> str:
    """The platform's id of a workspace, by which `[policy]` names it."""
    return (
        await session.scalars(select(WorkspaceRow.external_id).where(WorkspaceRow.id == workspace_id))
    ).one()


async def platform_of(session: AsyncSession, workspace_id: WorkspaceId) -> str:
    return (await session.scalars(select(WorkspaceRow.platform).where(WorkspaceRow.id == workspace_id))).one()


async def workspace_anywhere(session: AsyncSession, external_id: str) -> WorkspaceRow | None:
    """The workspace of whatever platform with this id, for the operator's own commands only."""
    return await session.scalar(select(WorkspaceRow).where(WorkspaceRow.external_id == external_id).limit(1))


async def person_name(session: AsyncSession, workspace_id: WorkspaceId, person_id: PersonId) -> str:
    """The name a person has now; empty for an unknown one."""
    found = await session.scalar(
        select(PersonRow.name).where(PersonRow.workspace_id == workspace_id, PersonRow.id == person_id)
    )
    return found or ""
