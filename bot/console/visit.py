"""Who is looking at the page: which local person, in which language."""

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote

from aiohttp import web

from bot.console.render import Reader
from core import i18n
from core.commands.console import add_person, list_people, set_up
from core.commands.person import PersonSeen, identify
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Actor

PERSON_COOKIE: Final = "promptflow_person"
PERSON_COOKIE_S: Final = 365 * 24 * 3600
FLASH_COOKIE: Final = "promptflow_flash"
FLASH_S: Final = 60
FLASH_CHARS: Final = 300
"""Nine bytes each at worst; a cookie holds four thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request's person, and what the frame of the page says about people."""

    actor: Actor
    person: PersonSeen
    people: tuple[PersonSeen, ...]
    reader: Reader
    flash: str
    """What the last form of a page without script is to say; shown once."""
    fragment: bool
    """The page's script asks: for a part of the page, or for JSON after a form."""


class Visits:
    """Finds the person of a request. The choice is kept in a cookie; it is no protection, the token is."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def visit(self, request: web.Request) -> Visit:
        """The visit of a request; the first person when none was chosen yet. Raises StoreUnavailable."""
        people = await list_people(self._services)
        if not people:
            await set_up(self._services)
            people = await list_people(self._services)
        chosen = request.cookies.get(PERSON_COOKIE, "")
        person = next((one for one in people if one.external_id == chosen), people[0])
        actor = await identify(self._services, person)
        today = self._services.clock.now().astimezone().date()
        return Visit(
            actor=actor,
            person=person,
            people=people,
            reader=Reader(locale=actor.locale, zone=None, today=today),
            flash=unquote(request.cookies.get(FLASH_COOKIE, "")),
            fragment=request.headers.get("X-Fragment") == "1",
        )

    async def add(self, name: str, locale: str) -> PersonSeen:
        """Add a local person. Raises Refusal."""
        if locale not in i18n.LOCALES:
            raise Refusal("language_unknown")
        return await add_person(self._services, name=name, locale=locale)

    async def set_language(self, visit: Visit, locale: str) -> None:
        """Show the page to this person in another language from now on. Raises Refusal."""
        if locale not in i18n.LOCALES:
            raise Refusal("language_unknown")
        await identify(self._services, replace(visit.person, locale=locale))


def known_person(visit: Visit, external_id: str) -> str:
    """The id of a person on the list. Raises Refusal for any other."""
    if external_id not in {one.external_id for one in visit.people}:
        raise Refusal("person_unknown")
    return external_id


def choose(response: web.StreamResponse, external_id: str) -> None:
    """Make a person the one who speaks from now on."""
    response.set_cookie(
        PERSON_COOKIE, external_id, max_age=PERSON_COOKIE_S, httponly=True, samesite="Strict", path="/"
    )


def remember_flash(response: web.StreamResponse, sentence: str) -> None:
    """Have the next page say this."""
    value = quote(sentence[:FLASH_CHARS])
    response.set_cookie(FLASH_COOKIE, value, max_age=FLASH_S, httponly=True, samesite="Strict", path="/")


def forget_flash(response: web.StreamResponse) -> None:
    response.del_cookie(FLASH_COOKIE, path="/", samesite="Strict", httponly=True)
