"""Shorthands with which tests of commands look at what is stored and shown."""

from collections.abc import Awaitable
from contextlib import aclosing
from typing import Any

import pytest
from sqlalchemy import func, select

from core.commands.export import ExportedFile
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.view import AnswerView, ButtonAction, MessageView, Phrase, ThreadPage
from core.i18n import LOCALES, phrase, refusal
from core.store.tables import Row
from tests.product import World


async def refused(act: Awaitable[object], code: str) -> Refusal:
    """The refusal that `act` ends in, after making sure that people can read it in both languages."""
    with pytest.raises(Refusal) as caught:
        await act
    assert caught.value.code == code
    for locale in LOCALES:
        assert refusal(locale, caught.value)
    return caught.value


async def count(world: World, table: str) -> int:
    """Rows of a table."""
    async with world.store.reading() as session:
        counted = await session.scalar(select(func.count()).select_from(Row.metadata.tables[table]))
    return int(counted or 0)


async def rows(world: World, table: str) -> list[dict[str, Any]]:
    """All rows of a table in the order of their first column."""
    async with world.store.reading() as session:
        found = await session.execute(select(Row.metadata.tables[table]))
        return sorted((dict(row) for row in found.mappings()), key=lambda row: str(next(iter(row.values()))))


async def whole(file: ExportedFile) -> str:
    """The text of an export."""
    async with aclosing(file.parts) as parts:
        return "".join([part async for part in parts])


def message(page: ThreadPage, text: str) -> MessageView:
    """The one message of a person with this text."""
    (found,) = [item for item in page.items if isinstance(item, MessageView) and item.text == text]
    return found


def answer(page: ThreadPage, text: str) -> AnswerView:
    """The one answer with this text."""
    (found,) = [item for item in page.items if isinstance(item, AnswerView) and item.text == text]
    return found


def buttons(view: AnswerView | MessageView) -> list[ButtonAction]:
    return [button.action for button in view.buttons]


def speaks(value: Phrase | None) -> str:
    """The phrase in English, after making sure that it can be read in both languages."""
    assert value is not None
    for locale in LOCALES:
        assert phrase(locale, value)
    return phrase("en", value)


async def new_thread(world: World, actor: Actor, *said: str) -> Any:
    """A thread in which these things were said and answered, one after another."""
    first, *more = said
    thread = (await world.say(actor, first)).thread_id
    for text in more:
        await world.say(actor, text, thread)
    return thread
