"""People and channels of the local console, which has no platform behind it to ask."""

from dataclasses import dataclass

from core.commands.person import NAME_CHARS, PersonSeen, WorkspaceSeen
from core.commands.services import Services, access_thread
from core.domain.errors import Refusal
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Action, Actor
from core.store.database import Store
from core.store.workspace import (
    channels_by_id,
    do_add_channel,
    do_add_workspace,
    do_see_person,
    find_workspace,
    people,
    visible_channels,
)

PLATFORM = "console"
LOCAL = WorkspaceSeen(platform=PLATFORM, external_id="local", name="Local")

FIRST_PEOPLE = (("you", "You", "en"), ("aki", "Aki", "ja"), ("ben", "Ben", "en"))
"""Who is there on the first start: enough to try a thread with several people and both languages."""

MAX_PEOPLE = 50


@dataclass(frozen=True, slots=True)
class LocalChannels:
    """ChannelAccess of the console: public channels, and those a person is a member of."""

    store: Store

    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        async with self.store.reading() as session:
            seen = await visible_channels(session, workspace_id, person)
        return any(row.external_id == channel for row in seen)


async def in_direct(services: Services, actor: Actor, thread_id: str) -> bool:
    """Whether a thread lies in a direct conversation. Raises Refusal when the actor cannot speak there."""
    thread = await access_thread(services, actor, Action.SAY, thread_id)
    async with services.store.reading() as session:
        channel = (await channels_by_id(session, actor.workspace_id)).get(thread.place.channel)
    return channel is not None and channel.visibility == "direct"


async def set_up(services: Services) -> None:
    """Make the console's workspace with its first people and channels; does nothing once they are there."""
    async with services.store.reading() as session:
        if await find_workspace(session, PLATFORM, LOCAL.external_id) is not None:
            return
    async with services.store.writing() as session:
        workspace = await do_add_workspace(
            session, platform=PLATFORM, external_id=LOCAL.external_id, name=LOCAL.name, clock=services.clock
        )
        workspace_id = WorkspaceId(workspace.id)
        await do_add_channel(
            session,
            workspace_id,
            external_id="general",
            name="general",
            visibility="public",
            members=(),
            clock=services.clock,
        )
    members = [await _add(services, *who) for who in FIRST_PEOPLE]
    async with services.store.writing() as session:
        await do_add_channel(
            session,
            workspace_id,
            external_id="leads",
            name="leads",
            visibility="private",
            members=tuple(members[:2]),
            clock=services.clock,
        )


async def _add(services: Services, external_id: str, name: str, locale: str) -> PersonId:
    """Add a person with a direct channel of their own."""
    async with services.store.writing() as session:
        workspace = await do_add_workspace(
            session, platform=PLATFORM, external_id=LOCAL.external_id, name=LOCAL.name, clock=services.clock
        )
        workspace_id = WorkspaceId(workspace.id)
        row = await do_see_person(
            session, workspace_id, external_id=external_id, name=name, locale=locale, clock=services.clock
        )
        await do_add_channel(
            session,
            workspace_id,
            external_id=f"dm-{external_id}",
            name=name,
            visibility="direct",
            members=(PersonId(row.id),),
            clock=services.clock,
        )
    return PersonId(row.id)


async def list_people(services: Services) -> tuple[PersonSeen, ...]:
    """The local people, first come first."""
    async with services.store.reading() as session:
        workspace = await find_workspace(session, PLATFORM, LOCAL.external_id)
        rows = await people(session, WorkspaceId(workspace.id)) if workspace else []
    return tuple(
        PersonSeen(
            workspace=LOCAL, external_id=row.external_id, name=row.name, locale=row.locale, is_admin=True
        )
        for row in rows
    )


async def add_person(services: Services, *, name: str, locale: str) -> PersonSeen:
    """Add a local person, who can then be chosen to act. Raises Refusal."""
    name = " ".join(name.split())
    if not name:
        raise Refusal("empty_name")
    if len(name) > NAME_CHARS:
        raise Refusal("name_too_long", had=len(name), limit=NAME_CHARS)
    known = await list_people(services)
    if len(known) >= MAX_PEOPLE:
        raise Refusal("too_many_people", limit=MAX_PEOPLE)
    if any(person.name.casefold() == name.casefold() for person in known):
        raise Refusal("name_taken", name=name)
    external_id = services.clock.new_id()
    await _add(services, external_id, name, locale)
    return PersonSeen(workspace=LOCAL, external_id=external_id, name=name, locale=locale, is_admin=True)
