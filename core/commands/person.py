"""Who acts: the platform's word about a person becomes an Actor."""

from dataclasses import dataclass

from core.commands.services import Services
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Actor
from core.files.charset import clean
from core.i18n import nearest
from core.store.tables import PersonRow, WorkspaceRow
from core.store.workspace import do_add_workspace, do_see_person, find_person, find_workspace

NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSeen:
    """A tenant as its platform names it."""

    platform: str
    external_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSeen:
    """A person as the platform vouches for them with this event."""

    workspace: WorkspaceSeen
    external_id: str
    name: str
    locale: str
    locale_is_guess: bool = False
    """The platform did not say: for someone who is known already, the language that is known stays."""
    is_guest: bool = False
    is_external: bool = False
    is_admin: bool = False


async def identify(services: Services, seen: PersonSeen) -> Actor:
    """The actor for a person, who is registered when new and renamed when the platform has another name now."""
    place, locale, name = seen.workspace, nearest(seen.locale), clean(seen.name)[:NAME_CHARS]
    async with services.store.reading() as session:
        workspace = await find_workspace(session, place.platform, place.external_id)
        person = (
            await find_person(session, WorkspaceId(workspace.id), seen.external_id) if workspace else None
        )
    if person is not None and seen.locale_is_guess:
        locale = person.locale
    if workspace is None or person is None or (person.name, person.locale) != (name, locale):
        async with services.store.writing() as session:
            workspace = await do_add_workspace(
                session,
                platform=place.platform,
                external_id=place.external_id,
                name=place.name,
                clock=services.clock,
            )
            person = await do_see_person(
                session,
                WorkspaceId(workspace.id),
                external_id=seen.external_id,
                name=name,
                locale=locale,
                clock=services.clock,
            )
    return _actor(workspace, person, seen)


def _actor(workspace: WorkspaceRow, person: PersonRow, seen: PersonSeen) -> Actor:
    return Actor(
        workspace_id=WorkspaceId(workspace.id),
        workspace=seen.workspace.external_id,
        person_id=PersonId(person.id),
        external_id=person.external_id,
        name=person.name,
        locale=person.locale,
        is_guest=seen.is_guest,
        is_external=seen.is_external,
        is_admin=seen.is_admin,
    )
