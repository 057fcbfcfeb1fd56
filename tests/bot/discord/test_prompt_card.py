"""Cards and forms of prompts on Discord: within its limits at their largest, and inert."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.discord.card import Card, Form, check, read_custom_id
from bot.discord.component import FormModal
from bot.discord.prompt_card import (
    back,
    history_card,
    offered_card,
    page_card,
    prompts_card,
    refused_card,
    status_card,
    version_card,
    words_of,
)
from bot.prompt_act import MOVES, Seen
from core.domain.errors import Refusal
from core.domain.prompt import PartChange, PromptState
from core.i18n import LOCALES
from tests.examples import prompt_views
from tests.examples.views import HOSTILE

NAME = f"team.{'long_' * 10}names"
ID = "0192f3a4-5b6c-7d8e-9f00-1122334455"
OPENING = "1577130608314810477"
PARTS = ("system.md", "task.md", "fragments.yaml", "few_shot.yaml", "output.schema.json", "prompt.yaml")
LONG = f"{HOSTILE}\n日本語 👍 & <b>\n```\n" * 400
ITEM = replace(prompt_views.LISTED[0], name=NAME)
ITEMS = tuple(replace(one, name=f"team.{'_' * 50}{n:03}") for n, one in enumerate((ITEM,) * 60))
VERSIONS = tuple(
    replace(one, version_id=f"{ID}{number:02x}", reason=HOSTILE * 2)
    for number, one in enumerate(prompt_views.VERSIONS * 15)
)
CHANGES = tuple(PartChange(file=part, before="one\n" * 400, after=LONG) for part in PARTS)
EVENTS = prompt_views.EVENTS * 20
FULL = prompt_views.page(
    item=ITEM, files=dict.fromkeys(PARTS, LONG), versions=VERSIONS, shown=VERSIONS[0], draft=None
)


def cards(locale: str) -> Iterator[Card | Form]:
    """Every card as full as it can be, and as empty."""
    for page in range(4):
        yield prompts_card(ITEMS, page, OPENING, locale)
    yield offered_card(NAME, locale)
    yield status_card(prompt_views.STATUS, OPENING, locale)
    many = replace(prompt_views.STATUS, processes=prompt_views.STATUS.processes * 40)
    yield status_card(many, OPENING, locale, "Done.")
    yield refused_card(NAME, HOSTILE * 30, LONG, locale)
    for state in PromptState:
        yield page_card(prompt_views.page(state), locale)
    yield page_card(FULL, locale, HOSTILE * 5)
    yield history_card(NAME, EVENTS, locale)
    yield history_card(NAME, (), locale)
    for version in prompt_views.VERSIONS:
        known = replace(version, version_id=f"{ID}00")
        for moves in (MOVES, ()):
            yield version_card(Seen(page=FULL, version=known, changes=CHANGES, moves=moves), FULL, locale)
    yield version_card(Seen(page=FULL, version=known, changes=(), moves=()), FULL, locale)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_card_and_form_of_prompts_is_within_the_limits_at_its_largest(locale: str) -> None:
    for made in cards(locale):
        check(made)
        if isinstance(made, Form):
            assert read_custom_id(made.custom_id) == (made.action, made.ref)
            assert FormModal(made).to_dict()["components"]


def test_nothing_that_people_wrote_is_a_link_or_a_mention() -> None:
    for made in cards("en"):
        if isinstance(made, Card):
            outside = "".join(made.content.split("```")[::2])
            assert "](" not in outside.replace("\\]\\(", "")
            assert "<@" not in outside.replace("\\<\\@", "")


def test_what_is_asked_for_in_a_thread_comes_back_with_its_button() -> None:
    (button,) = offered_card("chat.answer  v1.0.0", "en").buttons
    assert read_custom_id(button.custom_id) == ("pr_ask", "chat.answer/v1.0.0")  # type: ignore[union-attr]
    assert words_of("chat.answer/v1.0.0") == "chat.answer v1.0.0"
    (button,) = offered_card("", "en").buttons
    assert words_of(button.ref) == ""  # type: ignore[union-attr]
    with pytest.raises(Refusal, match="prompt_not_found"):
        offered_card("a.b" * 100, "en")


def test_a_list_of_many_prompts_is_turned_page_by_page() -> None:
    first, last = prompts_card(ITEMS, 0, OPENING, "en"), prompts_card(ITEMS, 99, OPENING, "en")
    assert [one.label for one in first.buttons] == ["Page ▸", "Processes", "Reload"]
    assert [one.label for one in last.buttons] == ["◂ Page", "Processes", "Reload"]
    assert first.menu is not None
    assert last.menu is not None
    assert [len(first.menu.options), len(last.menu.options)] == [25, 10]
    assert back("", "en").label == "All prompts"
