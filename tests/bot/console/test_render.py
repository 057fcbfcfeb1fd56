import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import Any, get_args

import pytest

from bot.console.opening import STARTED_BY_FORM
from bot.console.parse import COMMANDS, Typed
from bot.console.render import ItemView, Reader, Renderer, avatar, entry_id, money
from core.commands.console import LOCAL
from core.commands.person import PersonSeen
from core.domain.message import Cut
from core.domain.view import AnswerState, AnswerView, ButtonAction, MessageView, Quote, ThreadPage
from core.i18n import LOCALES, catalogue
from tests.bot.console.page_source import PageSource
from tests.examples.views import (
    ANSWERS,
    CHANNELS,
    HEADERS,
    HOSTILE,
    ITEMS,
    MESSAGES,
    MODELS,
    NOTICES,
    PAGES,
    RECEIPTS,
    START,
    USAGE_LINES,
    receipt_id,
        thread_id,
)

ENGLISH = Reader(locale="en", zone=UTC, today=date(2026, 3, 2))
JAPANESE = Reader(locale="ja", zone=UTC, today=date(2026, 3, 2))
READERS = {"en": ENGLISH, "ja": JAPANESE}
PERSON = PersonSeen(workspace=LOCAL, external_id="you", name=HOSTILE, locale="en")
NEVER = {"script", "img", "textarea", "style", "iframe", "object", "embed"}


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    keys = itertools.count()
    return Renderer(version="v1", new_key=lambda: f"key-{next(keys)}")


def frame(**more: Any) -> dict[str, Any]:
    shell = {
        "person": PERSON,
        "people": (PERSON,),
        "channels": CHANNELS,
        "current": thread_id(7),
        "channel": "general",
        "here": "",
        "back": "/",
        "flash": HOSTILE,
        "modes": STARTED_BY_FORM,
        "typed": Typed(text=HOSTILE, name=HOSTILE, reason=HOSTILE, title=HOSTILE, position=HOSTILE),
        "error": HOSTILE,
        "commands": COMMANDS,
        "target": ("thread_id", HOSTILE),
        "placeholder": HOSTILE,
        "models": MODELS,
        "thread_id": thread_id(1),
    }
    return {**shell, **more}


def entry(
    renderer: Renderer, view: ItemView, reader: Reader = ENGLISH, page: ThreadPage | None = None
) -> PageSource:
    return PageSource(renderer.entry(view, page or PAGES["thread"], reader))


def whole_pages(renderer: Renderer, reader: Reader) -> Iterator[tuple[str, str]]:
    """Every page and fragment, each filled with hostile text wherever people's text can stand."""
    for name, page in PAGES.items():
        yield name, renderer.thread(page, reader, newest=True, **frame())
        yield f"{name}, earlier", renderer.thread(page, reader, newest=False, **frame())
    yield "tree", renderer.tree(reader, channels=CHANNELS, current="", channel="")
    yield "tree of nobody", renderer.tree(reader, channels=(), current="", channel="")
    for fragment in (False, True):
        for name, view in RECEIPTS.items():
            yield f"{name} {fragment}", renderer.receipt(view, reader, fragment=fragment, **frame())
        for name, lines in {"usage": USAGE_LINES, "no usage": ()}.items():
            yield f"{name} {fragment}", renderer.usage(lines, reader, fragment=fragment, by="day", **frame())
        quote = Quote(author=HOSTILE, text=HOSTILE)
        for name in ("branch", "edit", "delete", "rename", "other_model", "person", "models", "help"):
            yield f"{name} {fragment}", renderer.page(name, reader, fragment=fragment, quote=quote, **frame())
        yield "refused", renderer.page("refused", reader, fragment=fragment, way_out="/", **frame())
    for channel in (*CHANNELS, None):
        yield "home", renderer.page("home", reader, here_channel=channel, demo_only=True, **frame())


# --- every kind of view -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", ITEMS)
def test_every_entry_is_one_list_item_with_its_own_id(renderer: Renderer, name: str, locale: str) -> None:
    view = ITEMS[name]
    page = entry(renderer, view, READERS[locale])
    assert [one.tag for one in page.elements if not one.inside] == ["li"]
    assert page.elements[0].attributes["id"] == entry_id(view)


def test_there_is_an_example_of_every_kind_and_state() -> None:
    assert {type(view) for view in ITEMS.values()} == set(get_args(ItemView))
    assert {view.state for view in ANSWERS.values()} == set(AnswerState)
    assert {view.cut for view in ANSWERS.values()} == set(Cut)
    buttons = [button for view in ITEMS.values() for button in getattr(view, "buttons", ())]
    assert {button.action for button in buttons} == set(ButtonAction)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_page_is_sound_html_without_anything_a_person_put_in(renderer: Renderer, locale: str) -> None:
    for name, html in whole_pages(renderer, READERS[locale]):
        page = PageSource(html.removeprefix("<!doctype html>"))
        for one in page.elements:
            assert "style" not in one.attributes, name
            assert not [word for word in one.attributes if word.startswith("on")], name
            assert one.attributes.get("href", "/")[:1] in "/#h", name
        assert {one.attributes.get("src") for one in page.all("script")} <= {"/static/console.js?v=v1"}, name
        assert {one.attributes["src"] for one in page.all("img")} <= {"/static/icon.svg?v=v1"}, name
        assert not {"style", "iframe", "object", "embed"} & {one.tag for one in page.elements}, name
        assert not [one for one in page.all("script") if one.text], name


@pytest.mark.parametrize("locale", LOCALES)
def test_every_control_has_a_name_and_every_id_is_used_once(renderer: Renderer, locale: str) -> None:
    for name, html in whole_pages(renderer, READERS[locale]):
        page = PageSource(html)
        ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
        assert len(ids) == len(set(ids)), name
        labelled = {one.attributes.get("for") for one in page.all("label")}
        for one in page.elements:
            if one.tag in {"button", "a", "summary"}:
                assert one.text.strip() or one.attributes.get("aria-label"), (name, one)
            if one.tag in {"textarea", "select"} or (
                one.tag == "input" and one.attributes.get("type") != "hidden"
            ):
                assert "label" in one.inside or one.attributes.get("id") in labelled, (name, one)
        for form in page.all("form", method="post"):
            assert form.attributes["action"].startswith("/"), name


def test_a_page_has_its_landmarks_and_says_its_language(renderer: Renderer) -> None:
    page = PageSource(renderer.thread(PAGES["branch"], JAPANESE, newest=True, **frame()))
    assert page.one("html").attributes["lang"] == "ja"
    assert page.one("main").attributes["id"] == "main"
    assert page.one("a", class_="skip").attributes["href"] == "#main"
    assert page.one("nav", id="side").attributes["aria-label"] == "スレッド"
    assert page.one("div", id="announce").attributes["aria-live"] == "polite"
    assert len(page.all("h1")) == 1


# --- languages ----------------------------------------------------------------------------------------------------


def test_the_page_speaks_the_reader_s_language_and_posts_the_thread_s(renderer: Renderer) -> None:
    page = entry(renderer, HEADERS["branch_header"], JAPANESE, PAGES["thread"])
    assert "Comes from" in page.one("article").text
    assert page.one("article").attributes["lang"] == "en"
    assert page.one("a", class_="button").text == "親に戻る"
    page = entry(renderer, ANSWERS["answer_done"], ENGLISH, PAGES["branch"])
    assert [one.attributes["lang"] for one in page.all("p", class_="aside")] == ["ja", "ja"]
    assert "Branch from here" in page.text


@pytest.mark.parametrize(("locale", "word"), [("en", "Back to parent"), ("ja", "親に戻る")])
def test_a_branch_leads_back_to_its_parent(renderer: Renderer, locale: str, word: str) -> None:
    page = entry(renderer, HEADERS["branch_header"], READERS[locale])
    assert page.one("a", class_="button").text == word
    assert page.one("a", class_="button").attributes["href"] == f"/t/{thread_id(1)}"


def test_no_text_of_the_page_is_the_same_key_in_both_languages_by_accident(renderer: Renderer) -> None:
    english = dict(whole_pages(renderer, ENGLISH))
    japanese = dict(whole_pages(renderer, JAPANESE))
    for name in english:
        assert english[name] != japanese[name], name


@pytest.mark.parametrize(
    ("when", "english", "japanese"),
    [
        (START, "Today", "今日"),
        (START - timedelta(days=1), "Yesterday", "昨日"),
        (START - timedelta(days=40), "21 January 2026", "2026年1月21日"),
    ],
)
def test_days_are_named_as_people_say_them(
    renderer: Renderer, when: Any, english: str, japanese: str
) -> None:
    page = replace(PAGES["thread"], items=(replace(MESSAGES["message"], created_at=when),))
    for reader, expected in ((ENGLISH, english), (JAPANESE, japanese)):
        assert (
            PageSource(f"<ol>{renderer.entries(page, reader)}</ol>").one("li", class_="day").text == expected
        )


# --- what an entry says -------------------------------------------------------------------------------------------


def test_a_message_shows_author_position_files_and_that_it_was_edited(renderer: Renderer) -> None:
    page = entry(renderer, MESSAGES["message"])
    assert page.one("strong", class_="author").text == "Aiko Tanaka"
    assert page.one("a", class_="position").text == "#1"
    assert "edited" in page.text
    assert "load.csv 18 kB" in page.text
    assert "cannot be read" in page.one("span", class_="problem-text").text
    assert {"Edit", "Delete", "Branch from here"} <= {one.text for one in page.all("a", class_="action")}


def test_only_one_s_own_messages_of_this_thread_can_be_edited(renderer: Renderer) -> None:
    for view in (MESSAGES["message_inherited"], replace(MESSAGES["message"], inherited=True)):
        assert "Edit" not in {one.text for one in entry(renderer, view).all("a", class_="action")}


def test_another_program_is_labelled_as_one(renderer: Renderer) -> None:
    assert entry(renderer, MESSAGES["message_of_a_bot"]).one("span", class_="badge").text == "Bot"


def test_a_demo_answer_says_so_beside_its_model(renderer: Renderer) -> None:
    assert entry(renderer, ANSWERS["answer_stopped"]).one("span", class_="badge demo").text == "demo"
    assert (
        entry(renderer, ANSWERS["answer_stopped"], JAPANESE).one("span", class_="badge demo").text == "デモ"
    )
    assert entry(renderer, ANSWERS["answer_done"]).all("span", class_="badge demo") == []


def test_an_answer_being_written_is_plain_text_that_the_stream_can_go_on_with(renderer: Renderer) -> None:
    view = ANSWERS["answer_writing"]
    written = entry(renderer, view).one("div", data_card=entry_id(view))
    assert written.text == view.text
    assert entry(renderer, view).one("form").attributes["action"] == f"/t/{thread_id(1)}/stop"


def test_a_finished_answer_offers_its_buttons_with_ids_of_rows(renderer: Renderer) -> None:
    page = entry(renderer, ANSWERS["answer_done"])
    links = {one.text: one.attributes["href"] for one in page.all("a", class_="action")}
    assert links["Show AI input"] == f"/receipts/{receipt_id(12)}"
    assert links["Branch from here"].endswith("&at=4")
    assert links["Other model ▸"].startswith(f"/t/{thread_id(1)}/other?ref=")
    assert page.one("form").attributes["action"] == f"/t/{thread_id(1)}/again"
    assert page.one("button", class_="action").text == "Retry"
    assert "1,840 tokens in, 312 out · $0.0042" in page.text
    assert "not sent to the model: 14" in page.text


def test_every_form_of_an_entry_carries_a_key_of_its_own(renderer: Renderer) -> None:
    keys = [
        one.attributes["value"]
        for view in (ANSWERS["answer_done"], ANSWERS["answer_failed"], ANSWERS["answer_done"])
        for one in entry(renderer, view).all("input", name="event_key")
    ]
    assert len(keys) == len(set(keys)) == 3


def test_an_answer_that_is_not_kept_is_folded_and_can_be_kept(renderer: Renderer) -> None:
    page = entry(renderer, ANSWERS["answer_replaced"])
    assert page.one("summary").text == "Another answer, which the conversation does not contain"
    assert page.all("a", class_="position") == []
    assert page.one("form").attributes["action"] == f"/t/{thread_id(1)}/keep"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("answer_stopped", "Stopped by a person."),
        ("answer_interrupted", "broke off here"),
        ("answer_cut_by_length", "length limit"),
        ("answer_cut_by_content_policy", "content rules"),
    ],
)
def test_an_incomplete_answer_says_why_it_ends(renderer: Renderer, name: str, sentence: str) -> None:
    assert sentence in entry(renderer, ANSWERS[name]).one("p", class_="cut").text


def test_a_failed_answer_says_what_happened_and_what_to_do(renderer: Renderer) -> None:
    page = entry(renderer, ANSWERS["answer_failed"])
    assert page.one("p", class_="failure").text.startswith("gpt-large did not answer")


def test_a_notice_leads_to_its_thread(renderer: Renderer) -> None:
    page = entry(renderer, NOTICES["notice"])
    assert "Branched at #4: Try SQLite" in page.text
    assert page.one("a").attributes["href"] == f"/t/{thread_id(2)}"


def test_a_hostile_author_cannot_turn_the_line_or_make_elements(renderer: Renderer) -> None:
    for view in (MESSAGES["message_hostile"], ANSWERS["answer_hostile"], HEADERS["branch_header_hostile"]):
        page = entry(renderer, view)
        assert not NEVER & {one.tag for one in page.elements}
        turns = page.all("span", class_="ctl")
        assert turns
        assert {one.text for one in turns} == {"\u202e", "\u202c"}


def test_an_entry_s_version_changes_with_what_it_shows_and_with_the_language(renderer: Renderer) -> None:
    view = ANSWERS["answer_writing"]
    versions = [
        entry(renderer, view).elements[0].attributes["data-version"],
        entry(renderer, view, JAPANESE).elements[0].attributes["data-version"],
        entry(renderer, replace(view, text="more")).elements[0].attributes["data-version"],
    ]
    assert len(set(versions)) == 3
    assert entry(renderer, view).elements[0].attributes["data-version"] == versions[0]


# --- the tree, a thread, a receipt --------------------------------------------------------------------------------


def test_branches_stand_under_their_parents_to_the_fourth_level(renderer: Renderer) -> None:
    page = PageSource(
        f"<nav>{renderer.tree(ENGLISH, channels=CHANNELS, current=thread_id(7), channel='')}</nav>"
    )
    depth = {one.attributes["href"]: one.inside.count("ul") for one in page.all("a", class_="thread-link")}
    assert [depth[f"/t/{thread_id(number)}"] for number in (1, 2, 5, 6, 7)] == [1, 2, 3, 4, 5]
    assert page.one("a", aria_current="page").attributes["href"] == f"/t/{thread_id(7)}"
    assert page.one("span", class_="badge adopted").text == "Adopted"
    assert page.one("span", class_="badge adopt_pending").text == "Adoption pending"
    assert page.one("span", class_="dot").attributes["aria-label"] == "An answer is being written"


def test_a_thread_names_what_is_above_it_and_offers_earlier_messages(renderer: Renderer) -> None:
    page = PageSource(renderer.thread(PAGES["branch"], ENGLISH, newest=True, **frame()))
    assert page.one("p", class_="chain").text.startswith(
        "Which database should hold the job queue? › Try SQLite"
    )
    assert page.one("a", id="earlier").attributes["href"] == f"/t/{thread_id(7)}?before=2"
    assert "Branch, level 4 of 4" in page.text
    assert not [one for one in page.all("a") if one.text == "Rename"]


def test_an_empty_thread_says_what_to_do(renderer: Renderer) -> None:
    page = PageSource(renderer.thread(PAGES["empty"], ENGLISH, newest=True, **frame()))
    assert "Type the first message below" in page.one("div", class_="empty").text


def test_a_refused_message_stays_in_the_composer(renderer: Renderer) -> None:
    typed = frame(typed=Typed(text="</textarea><b>kept"), error="Too long.")
    page = PageSource(renderer.thread(PAGES["empty"], ENGLISH, newest=True, **typed))
    assert page.one("textarea", id="text").text == "</textarea><b>kept"
    assert page.one("p", class_="error").text == "Too long."
    assert page.one("p", class_="error").attributes["role"] == "alert"


def test_the_ai_input_lists_its_parts_in_order_with_their_exact_text(renderer: Renderer) -> None:
    view = RECEIPTS["receipt"]
    page = PageSource(f"<div>{renderer.receipt(view, ENGLISH, fragment=True, **frame())}</div>")
    exact = [one.text for one in page.all("pre", class_="exact")]
    assert exact == [*(part.text for part in view.parts), view.reasoning]
    shown = page.text
    origins = [shown.index(catalogue("en")[f"origin.{part.origin.value}"]) for part in view.parts]
    assert origins == sorted(origins)
    for fact in ("chat 1.2.0", "anthropic/claude-sonnet-4-5-20250929", "$0.0042", "4.2 s", view.input_sha256):
        assert fact in shown
    assert "matches what is stored" in page.one("span", class_="badge good").text
    assert "Messages left out: 14" in shown
    assert "6,000 of 9,120" in shown
    assert "sketch.png" in shown
    assert page.all("details")[0].attributes.get("open") is None


def test_an_erased_ai_input_says_so_and_that_its_hash_no_longer_matches(renderer: Renderer) -> None:
    page = PageSource(f"<div>{renderer.receipt(RECEIPTS['receipt_erased'], ENGLISH, fragment=True)}</div>")
    assert "erased" in page.one("p", class_="failure").text
    assert "no longer matches" in page.one("span", class_="badge bad").text


def test_the_usage_chart_shows_cost_or_tokens_where_nothing_has_a_price(renderer: Renderer) -> None:
    priced = renderer.usage(USAGE_LINES, ENGLISH, fragment=True, by="day")
    assert 'aria-label="Cost in US dollars"' in priced
    free = [replace(line, cost_usd=0.0) for line in USAGE_LINES]
    assert 'aria-label="Tokens, in and out together"' in renderer.usage(
        free, ENGLISH, fragment=True, by="day"
    )


@pytest.mark.parametrize(
    ("usd", "text"), [(0.0, "$0.00"), (0.0042, "$0.0042"), (0.5, "$0.50"), (1234.5, "$1,234.50")]
)
def test_money_below_a_cent_keeps_its_digits(usd: float, text: str) -> None:
    assert money(usd) == text


@pytest.mark.parametrize(
    ("name", "initials"),
    [("Aiko Tanaka", "AT"), ("Ben", "B"), ("田中 愛子", "田"), ("", "?"), ("<b>", "?"), ("a <x>", "A")],
)
def test_an_avatar_shows_initials(name: str, initials: str) -> None:
    assert PageSource(str(avatar(name))).text == initials


def test_the_same_entry_keeps_its_id_while_it_changes() -> None:
    view = ANSWERS["answer_writing"]
    assert isinstance(view, AnswerView)
    assert (
        entry_id(view)
        == entry_id(replace(view, state=AnswerState.DONE, text="done"))
    )
    assert entry_id(view) != entry_id(replace(view, step="answer:beta"))
    assert "beta" not in entry_id(replace(view, step="answer:beta"))
    assert isinstance(MESSAGES["message"], MessageView)
    assert re.fullmatch(r"m-[0-9a-f-]{36}", entry_id(MESSAGES["message"]))
