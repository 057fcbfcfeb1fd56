"""Cards and forms of prompts on Discord: within its limits at their largest, and inert."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.discord.card import Card, Form, check, read_custom_id
from bot.discord.component import FormModal
from bot.discord.limit import FIELD_VALUE
from bot.discord.prompt_card import (
    back,
    history_card,
    offered_card,
    page_card,
    prompts_card,
    status_card,
    version_card,
    words_of,
)
from bot.discord.prompt_draft import ask_move, ask_save, draft_card, once_more_card, refused_card
from bot.discord.prompt_form import (
    Aim,
    aim_of,
    by_short,
    edit_form,
    move_form,
    read_aim,
    save_form,
    short,
    typed_in,
    words_in,
)
from bot.prompt_act import MOVES, ROLL_BACK, VERIFY, Drafted, Move, Seen
from core.domain.errors import Refusal
from core.domain.prompt import PartChange, PromptState, PromptText
from core.i18n import LOCALES
from tests.examples import prompt_views
from tests.examples.views import HOSTILE

NAME = f"team.{'long_' * 10}names"
ID = "0192f3a4-5b6c-7d8e-9f00-1122334455"
OPENING = "1577130608314810477"
PARTS = ("system.md", "task.md", "fragments.yaml", "few_shot.yaml", "output.schema.json", "prompt.yaml")
LONG = f"{HOSTILE}\n日本語 👍 & <b>\n```\n" * 40
ITEM = replace(prompt_views.LISTED[0], name=NAME)
ITEMS = tuple(replace(one, name=f"team.{'_' * 50}{n:03}") for n, one in enumerate((ITEM,) * 60))
VERSIONS = tuple(
    replace(one, version_id=f"{ID}{number:02x}", reason=HOSTILE * 2)
    for number, one in enumerate(prompt_views.VERSIONS * 15)
)
CHANGES = tuple(PartChange(file=part, before="one\n" * 40, after=LONG) for part in PARTS)
EVENTS = prompt_views.EVENTS * 20
FULL = prompt_views.page(
    item=ITEM, files=dict.fromkeys(PARTS, LONG), versions=VERSIONS, shown=VERSIONS[0], draft=None
)

TEXT = PromptText(name=NAME, base_id=f"{ID}00", head_id=f"{ID}01", files=FULL.files)


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
    yield from drafts(locale)
    yield from forms(locale)


def drafts(locale: str) -> Iterator[Card]:
    yield page_card(replace(FULL, draft=prompt_views.DRAFT), locale, HOSTILE)
    for known in prompt_views.CHECKS.values():
        for changes in (CHANGES, ()):
            for head in (FULL.head_id, "other"):
                page = replace(FULL, head_id=head, draft=replace(prompt_views.DRAFT, head_id=FULL.head_id))
                held = Drafted(page=page, text=TEXT, check=replace(known, changes=changes))
                yield draft_card(held, locale, HOSTILE * 20, "x" * 500)
                yield draft_card(held, locale)
    again = Move(
        kind=VERIFY, name=NAME, version_id=f"{ID}00", rev=9, reason="", acknowledged=True, override=True
    )
    yield once_more_card(NAME, ask_move(again, "x"), HOSTILE * 30, LONG, locale)
    yield once_more_card(NAME, ask_save(NAME, "x", acknowledged=True), HOSTILE, "", locale)


def forms(locale: str) -> Iterator[Form]:
    for part in PARTS:
        for words in ("", "one line", "x" * 2_999, "word\n" * 2_900, "👩‍👩‍👧 " * 1_500):
            yield edit_form(replace(TEXT, files={part: words}), part, locale)
    check = prompt_views.CHECKS["reminded"]
    for page in (FULL, replace(FULL, versions=())):
        held = Drafted(page=page, text=replace(TEXT, base_id=""), check=check)
        yield save_form(held, OPENING, "x" * 500, locale, acknowledged=True)
    for kind in MOVES:
        for flag in (True, False):
            aim = Aim(
                name=NAME, kind=kind, version=short(f"{ID}00"), acknowledged=flag, override=flag, at=99_999
            )
            yield move_form(aim, FULL, VERSIONS[0], "x" * 500, locale)
    aim = Aim(name=NAME, kind=VERIFY, version=short(f"{ID}00"), at=10**12 - 1)
    yield move_form(aim, FULL, VERSIONS[0], "", locale)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_card_and_form_of_prompts_is_within_the_limits_and_inert_at_its_largest(locale: str) -> None:
    for made in cards(locale):
        check(made)
        if isinstance(made, Form):
            assert read_custom_id(made.custom_id) == (made.action, made.ref)
            assert FormModal(made).to_dict()["components"]
        else:
            outside = "".join(made.content.split("```")[::2])
            assert "](" not in outside
            assert "<@" not in outside
            assert "https://" not in outside


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


# --- what buttons and forms carry -----------------------------------------------------------------------------------


def test_what_a_form_of_a_part_is_about_and_what_was_typed_are_read_back() -> None:
    held = "Be brief.\n\n  Always.\n" * 300
    form = edit_form(replace(TEXT, files={"system.md": held}), "system.md", "en")
    about = typed_in(form.ref)
    assert (about.name, about.file) == (NAME, "system.md")
    ids = [by_short(one)(FULL).version_id for one in (about.base, about.head)]
    assert ids == [TEXT.base_id, TEXT.head_id]
    assert words_in({field.name: field.value for field in form.fields}).rstrip() == held.rstrip()
    assert all(len(field.value) < FIELD_VALUE - 500 for field in form.fields)
    full = edit_form(replace(TEXT, files={"system.md": "x" * 2_999}), "system.md", "en")
    assert [len(field.value) for field in full.fields] == [2_999, 0]


def test_a_part_with_no_room_in_a_form_is_refused_with_how_much_there_is() -> None:
    with pytest.raises(Refusal) as refused:
        edit_form(replace(TEXT, files={"system.md": "x" * 15_001}), "system.md", "en")
    assert refused.value.code == "prompt_part_long"
    assert refused.value.fields["limit"] == "15,000"
    assert edit_form(replace(TEXT, files={"system.md": "x" * 15_000}), "system.md", "en").fields


@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_what_a_move_carries_is_read_back(kind: str, flags: tuple[bool, bool]) -> None:
    acknowledged, override = flags
    move = Move(
        kind=kind,
        name=NAME,
        version_id=VERSIONS[3].version_id,
        rev=3,
        reason="because",
        acknowledged=acknowledged,
        override=override,
    )
    aim = read_aim(aim_of(move).ref)
    assert (aim.name, aim.kind, aim.acknowledged, aim.override) == (NAME, kind, *flags)
    assert by_short(aim.version)(FULL) == VERSIONS[3]
    assert read_aim(replace(aim, at=7).ref).at == 7
    form = move_form(aim, FULL, VERSIONS[3], "", "en")
    assert bool(form.fields[0].value) is (kind == ROLL_BACK)


@pytest.mark.parametrize("ref", ["", NAME, f"{NAME}:x:0123", f"{NAME}:p:", f"{NAME}:pp:0123", "A:p:0123"])
def test_what_no_release_wrote_is_refused(ref: str) -> None:
    for read in (read_aim, typed_in):
        with pytest.raises(Refusal, match="button_outdated"):
            read(ref)


def test_an_id_that_more_than_one_version_ends_with_names_none() -> None:
    with pytest.raises(Refusal, match="prompt_version_unknown"):
        by_short("0")(FULL)
    with pytest.raises(Refusal, match="prompt_version_unknown"):
        by_short("no-such-one")(FULL)
