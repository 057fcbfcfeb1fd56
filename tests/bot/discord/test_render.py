"""Every view as messages of Discord, within its limits and in both languages."""

import re
from dataclasses import replace

import pytest

from bot.discord import reply
from bot.discord.card import (
    Card,
    Field,
    Form,
    LinkButton,
    Menu,
    Option,
    OverLimit,
    PressButton,
    TextFile,
    check,
    read_custom_id,
)
from bot.discord.limit import CONTENT, size
from bot.discord.render import address, plain, render, thread_name
from bot.usage import Usage
from core.domain.message import Cut
from core.domain.thread import Place
from core.domain.view import AnswerState, AnswerView, ButtonAction, PostView
from core.i18n import LOCALES
from tests.examples import eval_views, handover_views
from tests.examples.records import CHANNELS, MODELS, RECEIPTS, USAGE_LINES
from tests.examples.views import ANSWERS, HEADERS, HOSTILE, NOTICES, POSTS

EVERY_POST = {**POSTS, **handover_views.POSTS, **eval_views.CARDS}


def done(text: str) -> AnswerView:
    view = ANSWERS["answer_done"]
    assert isinstance(view, AnswerView)
    return replace(view, text=text)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", EVERY_POST)
def test_every_view_is_within_the_limits_and_the_same_each_time(name: str, locale: str) -> None:
    cards = render(EVERY_POST[name], locale, guild="1")
    for card in cards:
        check(card)
    assert cards == render(EVERY_POST[name], locale, guild="1")


@pytest.mark.parametrize("state", AnswerState)
@pytest.mark.parametrize("length", [0, 1, 1_499, 1_501, 2_000, 6_000, 50_000])
def test_an_answer_of_any_length_fits(state: AnswerState, length: int) -> None:
    view = replace(done("word\n" * (length // 5) + "x" * (length % 5)), state=state)
    for card in render(view, "ja", guild="1"):
        check(card)


def test_a_finished_answer_says_who_wrote_it_where_it_stands_and_what_it_cost() -> None:
    (card,) = render(done("Text."), "en", guild="1")
    assert card.content.startswith("Text.\n")
    assert card.content.endswith("-# claude-sonnet · #4 · 1,840 tokens in, 312 out · $0.0042")
    assert "left out" not in card.content
    assert "not sent to the model: 14" in card.content


@pytest.mark.parametrize("cut", [cut for cut in Cut if cut is not Cut.NONE])
def test_an_answer_that_is_not_whole_says_why(cut: Cut) -> None:
    (card,) = render(replace(done("Half."), cut=cut), "en", guild="1")
    assert card.content.split("\n")[1].startswith("*")


def test_a_live_answer_longer_than_a_message_shows_its_beginning_and_grows_a_number() -> None:
    view = replace(done("word " * 1_000), state=AnswerState.WRITING)
    (card,) = render(view, "en", guild="1")
    assert "5000 characters so far" in card.content
    assert card.content.startswith("word word")


def test_buttons_stand_under_the_last_part_only() -> None:
    cards = render(done("\n\n".join("word " * 100 for _ in range(8))), "en", guild="1")
    assert [bool(card.buttons) for card in cards] == [False] * (len(cards) - 1) + [True]
    assert 1 < len(cards) <= 3


def test_a_very_long_answer_is_a_file_with_its_beginning_and_a_pointer() -> None:
    text = "\n\n".join("word " * 100 for _ in range(40))
    (card,) = render(done(text), "en", guild="1")
    assert card.file == TextFile(name="answer.md", text=text)
    assert "is in the attached file" in card.content


def test_a_branch_header_links_to_its_parent_and_carries_the_transcript() -> None:
    (card,) = render(HEADERS["branch_header"], "en", guild="9")
    (back,) = card.buttons
    assert isinstance(back, LinkButton)
    assert back == LinkButton(
        label="Back to parent",
        url="https://discord.com/channels/9/"
        + str(address("9", HEADERS["branch_header"].parent_place)).rsplit("/", 1)[1],
    )
    assert card.file is not None


@pytest.mark.parametrize("view", [HEADERS["branch_header_hostile"], NOTICES["notice_hostile"]])
def test_names_and_quotes_can_neither_mark_up_nor_mention_nor_turn_the_writing(view: PostView) -> None:
    content = render(view, "en", guild="1")[0].content
    assert plain(HOSTILE) in content
    assert "\u202e" not in content
    assert re.sub(r"\\.", "", plain(HOSTILE, 1_000)).translate(
        {ord(c): None for c in "*_~`|<>[]()#@:"}
    ) == re.sub(r"\\.", "", plain(HOSTILE, 1_000))


def test_plain_text_is_one_line_and_shown_as_typed() -> None:
    assert plain("a\n\tb  **c**") == "a b \\*\\*c\\*\\*"
    assert plain("- a list") == "\\- a list"
    assert size(plain("x" * 200)) == 80


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("  A\nname ", "A name"),
        ("", "…"),
        ("\u202e", "…"),
        ("x" * 200, "x" * 89 + "…"),
        ("😀" * 60, "😀" * 44 + "…"),
    ],
)
def test_a_thread_s_name_is_one_that_discord_takes(words: str, name: str) -> None:
    assert thread_name(words) == name


def test_a_place_without_a_thread_is_addressed_by_its_channel() -> None:
    assert address("1", Place(platform="discord", channel="2", thread="")).endswith("/1/2")


# --- replies ------------------------------------------------------------------------------------------------------


USAGE = Usage(days=USAGE_LINES[:2] * 15, models=USAGE_LINES[2:] * 9, people=USAGE_LINES[2:] * 9)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_reply_is_within_the_limits(locale: str) -> None:
    cards = [
        reply.threads(CHANNELS, locale),
        reply.threads((), locale),
        reply.threads(CHANNELS * 30, locale),
        reply.models(MODELS, locale),
        reply.models((), locale),
        *(reply.usage(USAGE, by, b"png", locale) for by in ("day", "model", "person")),
        reply.usage(Usage(days=(), models=(), people=()), "day", None, locale),
        reply.help_card(locale, ["a problem"]),
        *(reply.receipt(view, locale) for view in RECEIPTS.values()),
    ]
    for card in cards:
        check(card)


def test_branches_stand_under_their_parents_in_the_list() -> None:
    lines = reply.threads(CHANNELS, "en").content.split("\n")
    assert lines[0] == "**<#general>**"
    assert lines[1].startswith("- Which database")
    assert lines[2].startswith("  - Try SQLite <#")
    assert lines[2].endswith("· an answer is being written")


def test_a_list_that_is_too_long_goes_on_in_a_file() -> None:
    card = reply.threads(CHANNELS * 30, "en")
    assert card.file is not None
    assert card.file.text.startswith(card.content.split("\n")[0])
    assert "attached file" in card.content


def test_a_receipt_whose_text_is_gone_says_why() -> None:
    erased, expired = "A person's content in this input was erased", "keeps them only for a time"
    told = {name: reply.receipt(view, "en").content for name, view in RECEIPTS.items()}
    assert [name for name, words in told.items() if erased in words] == ["receipt_erased"]
    assert [name for name, words in told.items() if expired in words] == ["receipt_expired"]


def test_a_receipt_holds_every_part_exactly_and_no_part_can_end_its_fence() -> None:
    view = RECEIPTS["receipt"]
    part = replace(view.parts[0], text="```\nout\n````")
    card = reply.receipt(replace(view, parts=(part, *view.parts[1:])), "en")
    assert card.file is not None
    assert "`````\n```\nout\n````\n`````" in card.file.text
    assert HOSTILE in card.file.text
    assert "Messages left out: 14" in card.content


def test_the_local_model_is_offered_with_what_it_is_worth() -> None:
    (line,) = [line for line in reply.models(MODELS, "en").content.split("\n") if "local-smollm2" in line]
    assert "tiny, English only, often wrong" in line
    assert reply.models(MODELS, "ja").content.count("ごく小型、英語のみ、誤りが多い") == 1


def test_a_model_that_became_another_one_is_listed_as_that_and_its_new_name_pings_nobody() -> None:
    for locale, words in {"en": "its provider reports", "ja": "提供元の申告"}.items():
        (line,) = [one for one in reply.models(MODELS, locale).content.split("\n") if words in one]
        assert "claude-sonnet-4-5-20260220" in line
        assert "@everyone" not in line.replace("\\@everyone", "")


def test_a_model_that_is_not_allowed_is_not_offered() -> None:
    assert "gpt" not in reply.models(MODELS, "en").content


# --- limits -------------------------------------------------------------------------------------------------------

PRESS = PressButton(label="Go", action="go", ref="1")
OPTION = Option(label="a", value="a")


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (Card(content="x" * (CONTENT + 1)), "content has 2001"),
        (Card(content="😀" * 1_001), "content has 2002"),
        (Card(content=" "), "nothing is shown"),
        (Card(content="x", buttons=(PRESS, PRESS)), "twice"),
        (Card(content="x", buttons=tuple(replace(PRESS, ref=str(n)) for n in range(26))), "6 rows"),
        (Card(content="x", buttons=(replace(PRESS, label=""),)), "label of 0"),
        (Card(content="x", buttons=(replace(PRESS, label="x" * 81),)), "label of 81"),
        (Card(content="x", buttons=(replace(PRESS, ref="x" * 100),)), "custom id"),
        (Card(content="x", buttons=(replace(PRESS, ref="a b"),)), "custom id"),
        (Card(content="x", buttons=(LinkButton(label="x", url="https://x/" + "x" * 510),)), "address"),
        (Card(content="x", menu=Menu(placeholder="p", action="go", ref="1", options=())), "0 options"),
        (
            Card(content="x", menu=Menu(placeholder="p", action="go", ref="1", options=(OPTION, OPTION))),
            "twice",
        ),
        (
            Card(content="x", menu=Menu(placeholder="p" * 151, action="go", ref="1", options=(OPTION,))),
            "placeholder",
        ),
        (
            Card(
                content="x",
                menu=Menu(placeholder="p", action="go", ref="1", options=(replace(OPTION, label="x" * 101),)),
            ),
            "option",
        ),
        (Card(content="x", file=TextFile(name="f", text="x" * 3_600_000)), "file too large"),
        (Form(title="", action="go", ref="1", fields=(Field(name="a", label="a"),)), "title of 0"),
        (Form(title="t", action="go", ref="1", fields=()), "0 fields"),
        (Form(title="t", action="go", ref="1", fields=(Field(name="a", label="a"),) * 2), "twice"),
        (Form(title="t", action="go", ref="1", fields=(Field(name="a", label="x" * 46),)), "label of 46"),
        (Form(title="t", action="go", ref="x" * 99, fields=(Field(name="a", label="a"),)), "custom id"),
        (
            Form(title="t", action="go", ref="1", fields=(Field(name="a", label="a", value="x" * 4_001),)),
            "field 'a'",
        ),
    ],
)
def test_what_discord_would_refuse_is_refused_before_it_is_sent(made: Card | Form, problem: str) -> None:
    with pytest.raises(OverLimit, match=problem):
        check(made)


@pytest.mark.parametrize("text", ["", "pf1:", "pf1:go:", "pf2:go:1", "pf1:go:1 2", "xpf1:go:1"])
def test_only_what_we_made_is_read_back(text: str) -> None:
    assert read_custom_id(text) is None
    assert read_custom_id("pf1:go:1:2") == ("go", "1:2")


LONG_ID = "0195e000-0000-7000-c000-000000000001"


@pytest.mark.parametrize(
    ("action", "ref"),
    [
        (ButtonAction.RETRY, f"{LONG_ID}/answer:{'a.b_c-d9' * 5}#2"),
        (ButtonAction.COMPARE_ANSWERS, f"{LONG_ID}/{LONG_ID}"),
    ],
)
def test_the_longest_refs_of_buttons_fit_and_are_read_back(action: ButtonAction, ref: str) -> None:
    button = PressButton(label="Go", action=action, ref=ref)
    check(Card(content="x", buttons=(button,)))
    assert read_custom_id(button.custom_id) == (action, ref)
