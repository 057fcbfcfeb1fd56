"""The console keeps the contracts of the ports. Its page is drawn from the store, so a post is what the page draws."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import delete

from bot.console.feed import Feed
from bot.console.form import Forms
from bot.console.held import HeldFiles
from bot.console.parse import Form
from bot.console.poster import PLATFORM, ConsolePoster
from bot.console.render import Reader, Renderer
from bot.console.visit import Visit, Visits
from core import i18n
from core.commands.console import LOCAL, LocalChannels, list_people, set_up
from core.commands.person import identify
from core.commands.services import Services
from core.commands.thread import show_thread
from core.domain.errors import Refusal
from core.domain.ids import WorkspaceId
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, MessageView, PageView, PostView
from core.ports import Poster, PostRef
from core.store.tables import ChannelMemberRow
from core.store.workspace import channels_by_id, find_person
from tests.bot.console.page_source import PageSource
from tests.contracts.access import AccessContract, Doors
from tests.contracts.intake import IntakeContract, Talk
from tests.contracts.poster import PosterContract, PosterGround
from tests.examples import views
from tests.product import World, eventually, open_world


@dataclass
class ConsoleWorld:
    world: World
    services: Services
    feed: Feed


@pytest.fixture
async def console(tmp_path: Path) -> AsyncGenerator[ConsoleWorld]:
    feed = Feed()
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, posters={PLATFORM: ConsolePoster(feed)}) as world:
        services = replace(world.services, access={PLATFORM: LocalChannels(world.store)})
        await set_up(services)
        yield ConsoleWorld(world, services, feed)


class Drawn:
    """The console's poster, and beside it the entries that the page draws for what is stored."""

    def __init__(self, poster: Poster, renderer: Renderer) -> None:
        self._poster = poster
        self._renderer = renderer
        self.entries: dict[tuple[Place, str], PostView] = {}

    async def open_thread(
        self, workspace_id: WorkspaceId, channel: str, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        ref = await self._poster.open_thread(workspace_id, channel, view, key=key, locale=locale)
        self.entries[ref.place, key] = view
        return ref

    async def post(
        self, workspace_id: WorkspaceId, place: Place, view: PostView, *, key: str, locale: str
    ) -> PostRef:
        ref = await self._poster.post(workspace_id, place, view, key=key, locale=locale)
        self.entries[place, key] = view
        return ref

    async def find(self, workspace_id: WorkspaceId, place: Place, *, key: str) -> PostRef | None:
        return await self._poster.find(workspace_id, place, key=key)

    async def update(
        self, workspace_id: WorkspaceId, ref: PostRef, view: PostView, *, final: bool, locale: str
    ) -> PostRef:
        shown = await self._poster.update(workspace_id, ref, view, final=final, locale=locale)
        if final:
            self.entries[ref.place, ref.ids[0]] = view
        return shown

    def html(self, place: Place) -> list[str]:
        reader = Reader(locale="en", zone=None, today=views.START.date())
        page = replace(views.PAGES["thread"], items=())
        return [
            str(self._renderer.entry(view, page, reader))
            for (at, _), view in self.entries.items()
            if at == place and isinstance(view, PageView)
        ]


class ConsoleGround(PosterGround):
    workspace_id = WorkspaceId("w")
    channel = "general"

    def __init__(self, drawn: Drawn) -> None:
        self.poster = self._drawn = drawn

    async def thread(self) -> Place:
        return views.PLACE

    async def shown(self, place: Place) -> list[str]:
        return [PageSource(html).text for html in self._drawn.html(place)]

    async def pings(self) -> int:
        """A page cannot call anyone but by a script; none may stand in an entry."""
        return sum("<script" in html for html in self._drawn.html(views.PLACE))

    async def lose_next_answer(self) -> None:
        """Nothing is sent anywhere, so nothing can be lost."""


class TestPoster(PosterContract):
    @pytest.fixture
    async def ground(self) -> ConsoleGround:
        renderer = await asyncio.to_thread(lambda: Renderer(version="1", new_key=lambda: "k"))
        return ConsoleGround(Drawn(ConsolePoster(Feed()), renderer))


class ConsoleDoors(Doors):
    public, private, direct = "general", "leads", "dm-you"
    insider, outsider = "you", "ben"

    def __init__(self, console: ConsoleWorld, workspace_id: WorkspaceId) -> None:
        self.access = console.services.access[PLATFORM]
        self.workspace_id = workspace_id
        self._store = console.world.store

    async def let_in(self, person: str, channel: str) -> None:
        async with self._store.writing() as session:
            room = (await channels_by_id(session, self.workspace_id))[channel]
            row = await find_person(session, self.workspace_id, person)
            assert row is not None
            session.add(
                ChannelMemberRow(channel_id=room.id, person_id=row.id, workspace_id=self.workspace_id)
            )

    async def put_out(self, person: str, channel: str) -> None:
        async with self._store.writing() as session:
            room = (await channels_by_id(session, self.workspace_id))[channel]
            row = await find_person(session, self.workspace_id, person)
            assert row is not None
            await session.execute(
                delete(ChannelMemberRow).where(
                    ChannelMemberRow.channel_id == room.id, ChannelMemberRow.person_id == row.id
                )
            )


class TestAccess(AccessContract):
    @pytest.fixture
    async def doors(self, console: ConsoleWorld) -> ConsoleDoors:
        person = (await list_people(console.services))[0]
        return ConsoleDoors(console, (await identify(console.services, person)).workspace_id)


class ConsoleTalk(Talk):
    workspace = LOCAL.external_id

    def __init__(self, console: ConsoleWorld) -> None:
        self.world = console.world
        self._services = console.services
        held = HeldFiles(console.services.clock)
        self._forms = Forms(
            services=console.services, visits=Visits(console.services), feed=console.feed, held=held
        )
        self._told: list[str] = []

    async def _visit(self, number: int = 0) -> Visit:
        people = await list_people(self._services)
        person = (people[0], people[2])[number]
        actor = await identify(self._services, person)
        reader = Reader(locale=actor.locale, zone=None, today=views.START.date())
        return Visit(actor=actor, person=person, people=people, reader=reader, flash="", fragment=False)

    async def begin(self, text: str, *, copies: int = 1) -> str:
        fields = {"text": text, "channel": "general", "event_key": self._services.clock.new_id()}
        places = {
            (await self._forms.say(await self._visit(), Form(fields=fields))).location for _ in range(copies)
        }
        (place,) = places
        return place.removeprefix("/t/").partition("#")[0]

    async def reply(self, thread: str, text: str, *, person: int = 0, copies: int = 1) -> str:
        fields = {"text": text, "thread_id": thread, "event_key": self._services.clock.new_id()}
        for _ in range(copies):
            try:
                await self._forms.say(await self._visit(person), Form(fields=fields))
            except Refusal as refused:
                self._told.append(i18n.refusal("en", refused))
        return text

    async def call(self, thread: str, text: str) -> None:
        await self.reply(thread, f"@promptflow {text}")

    async def answered(self, thread: str, answers: int) -> None:
        async def complete() -> bool:
            items = (await show_thread(self._services, (await self._visit()).actor, thread)).items
            cards = [item for item in items if isinstance(item, AnswerView)]
            return len(cards) >= answers and all(card.state is AnswerState.DONE for card in cards)

        await eventually(complete)

    async def _message(self, thread: str, text: str) -> str:
        page = await show_thread(self._services, (await self._visit()).actor, thread)
        return next(i.message_id for i in page.items if isinstance(i, MessageView) and i.text == text)

    async def edit(self, thread: str, message: str, text: str) -> None:
        fields = {
            "message": await self._message(thread, message),
            "text": text,
            "event_key": self._services.clock.new_id(),
        }
        await self._forms.edit(await self._visit(), Form(fields=fields), thread)

    async def delete(self, thread: str, message: str) -> None:
        fields = {"message": await self._message(thread, message), "event_key": self._services.clock.new_id()}
        await self._forms.delete(await self._visit(), Form(fields=fields), thread)

    async def conversation(self, thread: str) -> list[str]:
        page = await show_thread(self._services, (await self._visit()).actor, thread)
        spoken = [item for item in page.items if isinstance(item, MessageView | AnswerView)]
        return [item.text for item in spoken if item.position is not None]

    async def told(self) -> list[str]:
        return self._told


class TestIntake(IntakeContract):
    @pytest.fixture
    async def talk(self, console: ConsoleWorld) -> ConsoleTalk:
        return ConsoleTalk(console)
