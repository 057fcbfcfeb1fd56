import itertools
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest

from bot.console.opening import Wish
from bot.console.parse import Typed
from bot.console.render import Renderer, avatar, control, entry_id
from core.domain.message import Cut
from core.domain.view import (
    AnswerState,
    AnswerView,
    Button,
    ButtonAction,
    ItemView,
    MessageView,
)
from core.i18n import LOCALES, catalogue, money, text
from tests.bot.console.page_source import PageSource
from tests.bot.console.pages import (
    CARRIED,
    ENGLISH,
    JAPANESE,
    NEVER,
    READERS,
    SHOWN,
    WISHES,
    artifact_pages,
    artifact_shown,
    entry,
    frame,
    mode_pages,
    whole_pages,
)
from tests.examples.handover_views import DELIVERIES
from tests.examples.records import CHANNELS, RECEIPTS, SAVED, USAGE_LINES
from tests.examples.views import (
    ANSWERS,
    HEADERS,
    HOSTILE,
    MESSAGES,
    NOTICES,
    PAGES,
    START,
    message_id,
    receipt_id,
    run_id,
    thread_id,
)


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    keys = itertools.count()
    return Renderer(version="v1", new_key=lambda: f"key-{next(keys)}")


# --- every kind of view -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", SHOWN)
def test_every_entry_is_one_list_item_with_its_own_id(renderer: Renderer, name: str, locale: str) -> None:
    view = SHOWN[name]
    page = entry(renderer, view, READERS[locale])
    assert [one.tag for one in page.elements if not one.inside] == ["li"]
    assert page.elements[0].attributes["id"] == entry_id(view)


def test_there_is_an_example_of_every_kind_and_state() -> None:
    assert {type(view) for view in SHOWN.values()} == set(get_args(ItemView))
    assert {view.state for view in ANSWERS.values()} == set(AnswerState)
    assert {view.cut for view in ANSWERS.values()} == set(Cut)


# The console opens its threads itself, and evaluations have pages of their own there.
CHAT_ONLY = {one for one in ButtonAction if one is ButtonAction.OPEN_AGAIN or one.value.startswith("eval_")}


@pytest.mark.parametrize("action", [one for one in ButtonAction if one not in CHAT_ONLY])
def test_every_button_leads_into_its_thread_or_to_its_receipt(action: ButtonAction) -> None:
    made = control(Button(action=action, ref="the-row"), "the-thread", 3, "en")
    assert made.href.startswith("/receipts/" if action is ButtonAction.SHOW_INPUT else "/t/the-thread/")
    assert "the-row" in (dict(made.fields)["ref"] if made.posts else made.href)


def test_a_part_of_a_handover_that_was_not_received_is_an_alarm(renderer: Renderer) -> None:
    for view in DELIVERIES:
        page = entry(renderer, view)
        assert bool(page.all("article", role="alert")) == view.failed
        assert ("MISSING" in page.text) == view.failed
        receipts = [one.attributes["href"] for one in page.all("a", class_="action")]
        assert receipts == [f"/receipts/{one.receipt_id}" for one in view.models if one.receipt_id]


def test_nothing_in_a_card_is_markup(renderer: Renderer) -> None:
    for view in CARRIED:
        tags = {one.tag for one in entry(renderer, view).elements}
        assert not tags & NEVER


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


def test_the_local_model_is_offered_with_what_it_is_worth_wherever_models_are_chosen(
    renderer: Renderer,
) -> None:
    offering = {"models True", "models False", "other_model True", "other_model False", "home"}
    for reader, words in (
        (ENGLISH, "tiny, English only, often wrong"),
        (JAPANESE, "ごく小型、英語のみ、誤りが多い"),
    ):
        shown = {name for name, html in whole_pages(renderer, reader) if words in html}
        assert offering <= shown


def test_a_model_that_became_another_one_and_an_id_that_floats_are_listed_as_that(
    renderer: Renderer,
) -> None:
    for reader, changed, floats in (
        (ENGLISH, "its provider reports", "names no fixed version"),
        (JAPANESE, "提供元の申告", "特定の版を指していません"),
    ):
        (html,) = [html for name, html in whole_pages(renderer, reader) if name == "models True"]
        assert changed in html
        assert "claude-sonnet-4-5-20260220 &lt;!channel&gt;" in html
        assert floats in html


def test_an_answer_being_written_is_markdown_that_the_stream_can_go_on_with(renderer: Renderer) -> None:
    view = ANSWERS["answer_writing"]
    page = entry(renderer, view)
    assert page.one("div", data_card=entry_id(view)).text.startswith("Postgres fits better here, ")
    assert page.all("b") == []
    assert "better" in [one.text for one in page.all("strong")]
    assert entry(renderer, view).one("form").attributes["action"] == f"/t/{thread_id(1)}/stop"


def test_a_finished_answer_offers_its_buttons_with_ids_of_rows(renderer: Renderer) -> None:
    page = entry(renderer, ANSWERS["answer_done"])
    links = {one.text: one.attributes["href"] for one in page.all("a", class_="action")}
    assert links["Show AI input"] == f"/receipts/{receipt_id(12)}"
    assert links["Branch from here"].endswith("&at=4")
    assert links["Other model ▸"].startswith(f"/t/{thread_id(1)}/other?ref=")
    thread = f"/t/{thread_id(1)}"
    paths = [one.attributes["action"] for one in page.all("form")]
    assert paths == [f"{thread}/again", f"{thread}/feedback", f"{thread}/feedback"]
    buttons = {one.text: one.attributes.get("aria-pressed") for one in page.all("button", class_="action")}
    assert buttons == {"Retry": None, "Good answer": "true", "Poor answer": "false"}
    assert "1,840 tokens in, 312 out · $0.0042" in page.text
    assert "not sent to the model: 14" in page.text


def test_every_form_of_an_entry_carries_a_key_of_its_own(renderer: Renderer) -> None:
    keys = [
        one.attributes["value"]
        for view in (ANSWERS["answer_done"], ANSWERS["answer_failed"], ANSWERS["answer_done"])
        for one in entry(renderer, view).all("input", name="event_key")
    ]
    assert len(keys) == len(set(keys)) == 7


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


# --- several models ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "english", "japanese"),
    [
        (
            "answer_of_a_debate",
            "Round 2 of 4: position of A",
            text("ja", "label.debate_positions", number=2, of=4, who="A"),
        ),
        ("answer_of_a_codraft", "Pass 1: revision", text("ja", "label.revise", number=1)),
    ],
)
def test_a_card_says_above_the_model_which_part_it_is(
    renderer: Renderer, name: str, english: str, japanese: str
) -> None:
    view = ANSWERS[name]
    assert entry(renderer, view).one("p", class_="part-label").text == english
    ja = replace(PAGES["debate"], locale="ja")
    assert entry(renderer, view, ENGLISH, ja).one("p", class_="part-label").text == japanese
    assert entry(renderer, ANSWERS["answer_done"]).all("p", class_="part-label") == []


@pytest.mark.parametrize("locale", LOCALES)
def test_every_button_of_the_modes_leads_to_its_place(renderer: Renderer, locale: str) -> None:
    page = entry(renderer, ANSWERS["answer_blind"], READERS[locale], PAGES["blind"])
    base = f"/t/{thread_id(9)}"
    answer = message_id(32)
    assert [(form.attributes["action"], form.text) for form in page.all("form")] == [
        (f"{base}/{name}", text(locale, f"button.{name}")) for name in ("compare_answers", "vote", "reveal")
    ]
    refs = [one.attributes["value"] for one in page.all("input", name="ref")]
    assert refs == [run_id(30), answer, thread_id(9)]
    links = {one.text: one.attributes["href"] for one in page.all("a", class_="action")}
    assert links[text(locale, "button.review")] == f"{base}/review?ref={answer}&at=2"
    assert links[text(locale, "button.save")] == f"{base}/save?ref={answer}"


def test_a_blind_answer_names_its_model_nowhere(renderer: Renderer) -> None:
    view = replace(ANSWERS["answer_blind"], step="answer:claude-sonnet")
    assert "claude-sonnet" not in str(renderer.entry(view, PAGES["blind"], ENGLISH))


def test_only_a_model_s_words_are_marked_as_ai(renderer: Renderer) -> None:
    view = ANSWERS["answer_of_a_review"]
    assert entry(renderer, view).all("span", class_="badge model")
    assert entry(renderer, replace(view, model="promptflow")).all("span", class_="badge model") == []


def test_the_shared_hash_is_short_and_whole_in_its_title(renderer: Renderer) -> None:
    shared = entry(renderer, ANSWERS["answer_of_a_compare"]).one("span", class_="shared")
    assert shared.text == "Same conditions 4ab6691e"
    assert "4ab6691e" * 8 in shared.attributes["title"]


def test_the_progress_says_the_round_and_who_is_writing(renderer: Renderer) -> None:
    debate_page = PageSource(f"<ol>{renderer.entries(PAGES['debate'], ENGLISH)}</ol>")
    debate = debate_page.one("li", class_="progress")
    assert "Round 2 of 4" in debate.text
    assert "writing: gpt-large" in debate.text
    compare = PageSource(f"<ol>{renderer.entries(PAGES['compare'], JAPANESE)}</ol>")
    assert "2 件中 1 件" in compare.one("li", class_="progress").text
    assert compare.one("progress").attributes["value"] == "1"
    stops = [one for one in compare.all("form") if one.attributes["action"].endswith("/stop")]
    assert [one.text.strip() for one in stops] == ["この回答を停止", "すべて停止"]
    english = [
        one.text.strip() for one in debate_page.all("form") if one.attributes["action"].endswith("/stop")
    ]
    assert english == ["Stop this answer", "Stop the run"]


def test_nothing_is_in_progress_when_nothing_is_written(renderer: Renderer) -> None:
    for name in ("blind", "codraft", "thread"):
        page = PageSource(f"<ol>{renderer.entries(PAGES[name], ENGLISH)}</ol>")
        assert page.all("li", class_="progress") == [], name


def test_a_codraft_leads_to_its_newest_version(renderer: Renderer) -> None:
    page = PageSource(f"<ol>{renderer.entries(PAGES['codraft'], ENGLISH, saved=SAVED)}</ol>")
    row = page.one("li", id="draft-newest")
    assert "Version 2" in row.text
    link = next(one for one in page.all("a") if one.text == "Newest version")
    assert link.attributes["href"] == f"/t/{thread_id(11)}/artifact?name=draft"
    assert (
        PageSource(f"<ol>{renderer.entries(PAGES['codraft'], ENGLISH)}</ol>").all("li", class_="newest") == []
    )


def test_a_mode_is_named_and_the_workflow_is_marked_beta(renderer: Renderer) -> None:
    for name, english in (("compare", "Compare"), ("debate", "Debate"), ("run_hostile", "Workflow (Beta)")):
        page = PageSource(renderer.thread(PAGES[name], ENGLISH, newest=True, **frame()))
        assert page.one("span", class_="badge mode-badge").text == english
        assert page.one("p", class_="facts").text.count("demo-careful") == 0
        assert bool([one for one in page.all("a") if one.text == "Add a model"]) == (name == "compare")


@pytest.mark.parametrize(("name", "one"), list(WISHES.items()))
def test_a_form_of_a_mode_shows_what_was_typed_and_chosen(renderer: Renderer, name: str, one: Wish) -> None:
    page = PageSource(
        dict(mode_pages(renderer, ENGLISH, fragment=True))[f"start {name} True"].join(("<div>", "</div>"))
    )
    held = page.fields()
    for field, value in one.fields.items():
        assert held[field] == value, field


@pytest.mark.parametrize("locale", LOCALES)
def test_nothing_starts_without_the_estimate_on_the_page(renderer: Renderer, locale: str) -> None:
    pages = dict(mode_pages(renderer, READERS[locale], fragment=False))
    page = PageSource(pages["confirm compare estimate_unpriced False"])
    for name in ("house-model", "1,300", "1,400", "$0.00"):
        assert name in page.one("main").text
    start, change = (
        next(form for form in page.all("form") if form.attributes["action"] == path)
        for path in ("/start/go", "/start")
    )
    assert start.text.strip() == text(locale, "console.start")
    assert change.text.strip() == text(locale, "console.change")
    held = [one.attributes["name"] for one in page.all("input") if one.attributes["name"].startswith("take.")]
    assert sorted(held) == sorted(["take.gpt-large", "take.demo-careful"] * 2)


def test_an_artifact_shows_its_changes_versions_and_downloads(renderer: Renderer) -> None:
    page = PageSource(renderer.page("artifact", ENGLISH, shown=artifact_shown(), **frame()))
    assert [one.attributes["class"] for one in page.all("tr", class_="added")] == ["added", "added"]
    assert page.one("tr", class_="skipped").text == text("en", "present.lines_skipped", count=3)
    links = [one.attributes["href"] for one in page.all("a") if "/download" in one.attributes.get("href", "")]
    assert links == [
        f"/t/{thread_id(1)}/artifact/download?name=draft&version=2&as={kind}" for kind in ("md", "txt")
    ]
    assert "Version 1" in page.one("ol", class_="versions").text


def test_a_version_begun_from_an_older_one_shows_what_came_since_and_keeps_the_text(
    renderer: Renderer,
) -> None:
    pages = dict(artifact_pages(renderer, ENGLISH, fragment=False))
    page = PageSource(pages["edit artifact True False"])
    assert "Version 2 came meanwhile" in page.one("p", class_="aside").text
    assert page.one("textarea", name="text").text == f"\n{HOSTILE}"
    assert page.one("input", name="base").attributes["value"] == "2"


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


def test_an_ai_input_of_a_mode_marks_its_origins_and_folds_its_schema(renderer: Renderer) -> None:
    view = RECEIPTS["receipt_of_a_debate"]
    page = PageSource(f"<div>{renderer.receipt(view, ENGLISH, fragment=True, **frame())}</div>")
    marks = [
        next(c for c in one.classes if c.startswith("from-"))
        for one in page.all("li")
        if "part" in one.classes
    ]
    assert marks == [f"from-{part.origin.value}" for part in view.parts]
    schema = page.all("details")[-1]
    assert "JSON Schema" in schema.text
    assert "open" not in schema.attributes
    assert view.shared_sha256 in page.text


def test_the_ai_input_of_a_blind_answer_hides_what_would_give_the_model_away(renderer: Renderer) -> None:
    page = PageSource(
        f"<div>{renderer.receipt(RECEIPTS['receipt_blind'], ENGLISH, fragment=True, **frame())}</div>"
    )
    assert page.one("dl", class_="facts-list").text.count("Hidden until someone votes") == 3


@pytest.mark.parametrize(
    ("record", "reason"),
    [("receipt_erased", "was erased"), ("receipt_expired", "keeps them only for a time")],
)
def test_an_ai_input_whose_text_is_gone_says_why_and_that_its_hash_no_longer_matches(
    renderer: Renderer, record: str, reason: str
) -> None:
    page = PageSource(f"<div>{renderer.receipt(RECEIPTS[record], ENGLISH, fragment=True)}</div>")
    assert reason in page.one("p", class_="failure").text
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
    assert entry_id(view) == entry_id(replace(view, state=AnswerState.DONE, text="done"))
    assert entry_id(view) != entry_id(replace(view, step="answer:beta"))
    assert "beta" not in entry_id(replace(view, step="answer:beta"))
    assert isinstance(MESSAGES["message"], MessageView)
    assert re.fullmatch(r"m-[0-9a-f-]{36}", entry_id(MESSAGES["message"]))
