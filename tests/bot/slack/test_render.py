"""Every view within Slack's limits, harmless, and complete."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from bot.slack.markdown import JOINER, units
from bot.slack.render import PLAIN, Surroundings, render
from core.domain.thread import Place
from core.domain.view import AnswerState, Button, ButtonAction
from core.i18n import LOCALES
from tests.bot.slack.payloads import LONG, URL, everything, messages, pages
from tests.bot.slack.world import texts_of
from tests.examples import views
from tests.platforms.slack_blocks import message_problems, view_problems
from tests.tree import ROOT

SCHEMAS = ROOT.parent / "shared" / "schemas"
AROUND = Surroundings(locale="en", url=URL)
PING = re.compile(
    r"<(?:!(?:channel|here|everyone|subteam)|@[UWB]|#C(?!1\b))|(?<![\w@.])@(?:channel|here|everyone)\b"
)
LINK = re.compile(r"<(https?://[^|>]+)\|")


@pytest.mark.parametrize("locale", LOCALES)
def test_every_message_is_within_slack_s_limits(locale: str) -> None:
    problems = {
        name: found
        for name, message in messages(locale)
        if (found := message_problems([dict(b) for b in message.blocks]))
    }
    assert problems == {}


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_beside_blocks_fit_an_edit(locale: str) -> None:
    assert {name: units(m.text) for name, m in messages(locale) if not 1 <= units(m.text) <= PLAIN} == {}


@pytest.mark.parametrize("locale", LOCALES)
def test_every_form_is_within_slack_s_limits(locale: str) -> None:
    problems = {name: found for name, view in pages(locale) if (found := view_problems(view))}
    assert problems == {}


@pytest.mark.parametrize("locale", LOCALES)
def test_nothing_that_people_or_models_write_pings_or_links(locale: str) -> None:
    for name, payload in everything(locale).items():
        shown = json.dumps(payload, ensure_ascii=False)
        for text in mrkdwn_and_markdown(payload):
            assert PING.search(text) is None, (name, PING.search(text))
        for address in LINK.findall(shown):
            assert address.startswith(URL), (name, address)


def mrkdwn_and_markdown(value: Any) -> list[str]:
    """Texts that Slack reads for references; plain text is shown as it is."""
    found: list[str] = []
    if isinstance(value, dict):
        if value.get("type") in ("mrkdwn", "markdown") and isinstance(value.get("text"), str):
            found.append(value["text"])
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str) and "blocks" in value:
                found.append(inner)
            found += mrkdwn_and_markdown(inner)
    elif isinstance(value, list):
        for inner in value:
            found += mrkdwn_and_markdown(inner)
    return found


def schema(name: str, definition: str) -> Draft7Validator:
    found = json.loads((SCHEMAS / name).read_text())
    return Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": found["definitions"]})


def test_every_block_is_one_that_slack_s_types_know() -> None:
    """Compared where the published types lie beside the project; the limits above need nothing."""
    if not SCHEMAS.is_dir():
        return
    known = schema("Blocks.schema.json", "KnownBlock")
    seen: set[str] = set()
    for name, payload in everything("en").items():
        for block in payload["blocks"]:
            shape = json.dumps(block, sort_keys=True)[:4_000]
            if shape not in seen:
                seen.add(shape)
                assert known.is_valid(block), (name, block)


def test_a_long_answer_is_whole_in_several_messages() -> None:
    view = replace(views.ANSWERS["answer_done"], text=LONG)
    rendered = render(view, AROUND)
    assert len(rendered.messages) > 1
    assert rendered.file is None
    shown = "\n\n".join(b["text"] for m in rendered.messages for b in m.blocks if b["type"] == "markdown")
    assert re.sub(r"\s+", "", shown) == re.sub(r"\s+", "", LONG)
    with_buttons = [any(b["type"] == "actions" for b in m.blocks) for m in rendered.messages]
    assert with_buttons == [False] * (len(rendered.messages) - 1) + [True]


def test_an_answer_too_long_for_messages_is_a_file_with_a_pointer() -> None:
    view = replace(views.ANSWERS["answer_done"], text=LONG * 6)
    rendered = render(view, AROUND)
    assert len(rendered.messages) == 1
    assert rendered.file is not None
    assert rendered.file.data.decode() == LONG * 6
    assert rendered.file.name in texts_of({"blocks": rendered.messages[0].blocks})


def test_an_answer_being_written_shows_its_newest_text_and_a_stop_button() -> None:
    view = replace(views.ANSWERS["answer_writing"], text=f"{LONG}\n\nThe very end")
    (message,) = render(view, AROUND).messages
    shown = texts_of({"blocks": message.blocks})
    assert "The very end" in shown
    assert units(shown) < 4_000


def test_a_mention_that_is_not_complete_yet_waits() -> None:
    view = replace(views.ANSWERS["answer_writing"], text="Hello <!chan")
    (message,) = render(view, AROUND).messages
    assert "<!" not in texts_of({"blocks": message.blocks})


def test_more_buttons_than_a_row_holds_go_into_a_menu() -> None:
    actions = list(ButtonAction)[:9]
    view = replace(
        views.ANSWERS["answer_done"], buttons=tuple(Button(action=a, ref=f"r-{a}") for a in actions)
    )
    (block,) = (b for b in render(view, AROUND).messages[-1].blocks if b["type"] == "actions")
    assert [e["type"] for e in block["elements"]] == ["button"] * 4 + ["overflow"]
    assert [o["value"] for o in block["elements"][-1]["options"]] == [f"{a}|r-{a}" for a in actions[4:]]


def test_a_failed_answer_says_what_happened_where_its_text_would_stand() -> None:
    (message,) = render(views.ANSWERS["answer_failed"], AROUND).messages
    assert "taking no more requests" in texts_of({"blocks": message.blocks})
    assert "taking no more requests" in message.text


def test_stopped_before_a_word_is_said() -> None:
    view = replace(
        views.ANSWERS["answer_stopped"],
        text="",
        message_id=None,
        position=None,
        cut=type(views.ANSWERS["answer_stopped"].cut).NONE,
    )
    (message,) = render(replace(view, state=AnswerState.STOPPED), AROUND).messages
    assert "before anything was written" in texts_of({"blocks": message.blocks})


def test_the_first_post_of_a_branch_leads_back_and_brings_the_transcript() -> None:
    view = replace(
        views.HEADERS["branch_header"], parent_place=Place(platform="slack", channel="C1", thread="17.000001")
    )
    rendered = render(view, AROUND)
    shown = texts_of({"blocks": rendered.messages[0].blocks})
    assert f"<{URL}archives/C1/p17000001|Back to parent>" in shown
    assert "Try SQLite" in shown
    assert "#4" in shown
    assert rendered.file is not None
    assert rendered.file.data.decode() == view.transcript


def test_hostile_names_stay_text() -> None:
    rendered = render(views.HEADERS["branch_header_hostile"], AROUND)
    shown = texts_of({"blocks": rendered.messages[0].blocks})
    assert "&lt;script&gt;" in shown
    assert f"@{JOINER}everyone" in shown


def test_the_printed_payloads_name_every_example(tmp_path: Path) -> None:
    printed = everything("ja")
    assert {name.split("/")[0] for name in printed} >= set(views.POSTS)


def test_an_ai_input_whose_text_is_gone_says_why() -> None:
    erased, expired = "A person's content in this input was erased", "keeps them only for a time"
    told = {name: texts_of(view) for name, view in pages("en") if name.startswith("input_")}
    assert [name for name, words in told.items() if erased in words] == ["input_receipt_erased"]
    assert [name for name, words in told.items() if expired in words] == ["input_receipt_expired"]


def test_a_model_that_became_another_one_is_listed_as_that_and_its_new_name_pings_nobody() -> None:
    for locale, words in {"en": "its provider reports", "ja": "提供元の申告"}.items():
        (listed,) = [
            message.text + str(message.blocks) for name, message in messages(locale) if name == "models"
        ]
        assert words in listed
        assert "claude-sonnet-4-5-20260220 &lt;!channel&gt;" in listed


def test_the_local_model_is_listed_with_what_it_is_worth() -> None:
    note = {"en": "tiny, English only, often wrong", "ja": "ごく小型、英語のみ、誤りが多い"}
    for locale, words in note.items():
        (listed,) = [
            message.text + str(message.blocks) for name, message in messages(locale) if name == "models"
        ]
        assert words in listed
