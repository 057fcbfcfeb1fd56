"""Text made harmless and cut to size: nothing lost, nothing pinged, no fence left open."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.markdown import JOINER, defuse, escape, fit, settled, shorten, split, to_mrkdwn, units

PINGS = (
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<!subteam^S123|@team>",
    "<@U123ABC>",
    "<@W9>",
    "<#C123|general>",
    "@channel",
    "@here",
    "@everyone",
    "<!CHANNEL>",
)
LIVE_PING = re.compile(
    r"<(?:!(?:channel|here|everyone|subteam)|@[UWB][A-Z0-9]|#[CGD])|(?<![\w@.])@(?:channel|here|everyone)\b",
    re.I,
)


@pytest.mark.parametrize("ping", PINGS)
def test_nothing_that_pings_is_left(ping: str) -> None:
    for text in (ping, f"a {ping} b", f"`{ping}`", f"**{ping}**", f"x\n{ping}"):
        assert LIVE_PING.search(defuse(text)) is None, defuse(text)
        assert LIVE_PING.search(escape(text)) is None, escape(text)
        assert LIVE_PING.search(to_mrkdwn(text)) is None, to_mrkdwn(text)
        assert defuse(text).replace(JOINER, "") == text


def test_ordinary_text_and_code_stay_as_they_are() -> None:
    for text in (
        "if (a <!b) return",
        "x <@ y",
        "mail me@here.example",
        "a @channels b",
        "<!doctype html>",
        "`@decorator`",
    ):
        assert defuse(text) == text


@pytest.mark.parametrize("ping", PINGS)
def test_a_mention_cut_by_a_chunk_is_held_back_until_it_is_whole(ping: str) -> None:
    whole = f"Hello {ping} and more"
    shown = ""
    for end in range(len(whole) + 1):
        safe = defuse(settled(whole[:end]))
        assert safe.startswith(shown) or shown.startswith(safe)
        shown = max(shown, safe, key=len)
        assert LIVE_PING.search(shown) is None
    assert shown.replace(JOINER, "") == whole


def test_a_text_within_the_limit_is_one_piece() -> None:
    assert split("short", 100) == ["short"]
    assert split("", 100) == [""]


def test_pieces_break_between_paragraphs() -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "word " * 20 for n in range(20))
    pieces = split(text, 500)
    assert all(units(p) <= 500 for p in pieces)
    assert all(p.startswith("Paragraph") for p in pieces)


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"line_{n} = {n}" for n in range(200))
    pieces = split(f"Before.\n\n```python\n{code}\n```\n\nAfter.", 600)
    assert all(units(p) <= 600 for p in pieces)
    assert all(p.count("```") % 2 == 0 for p in pieces)
    assert sum("```python" in p for p in pieces) >= 5
    lines = [line for p in pieces for line in p.splitlines() if line.startswith("line_")]
    assert lines == code.splitlines()


def test_a_fence_of_tildes_with_backticks_inside_is_kept_whole() -> None:
    body = "\n".join(["```not a fence", *(f"row {n}" for n in range(100))])
    pieces = split(f"~~~\n{body}\n~~~", 300)
    assert all(p.count("~~~") == 2 for p in pieces)


def test_japanese_without_spaces_is_cut_within_the_limit() -> None:
    text = "これは長い文章です。" * 300
    pieces = split(text, 500)
    assert all(units(p) <= 500 for p in pieces)
    assert "".join(pieces) == text
    assert all(p.endswith("。") for p in pieces)


def test_a_character_of_several_parts_is_not_torn() -> None:
    family = "👩\u200d👩\u200d👧"
    for limit in range(1, 30):
        head = f"{family * 4}"[: fit(family * 4, limit)]
        assert not head.endswith("\u200d")
        assert units(head) <= limit or len(head) <= 1


@given(
    st.text(alphabet=st.sampled_from("ab \n`~#*あ👍\u200d"), max_size=400),
    st.integers(min_value=40, max_value=120),
)
def test_no_piece_is_over_the_limit_and_no_word_is_lost(text: str, limit: int) -> None:
    pieces = split(text, limit)
    assert all(units(p) <= limit for p in pieces)
    letters = re.compile(r"[abあ👍]")
    assert letters.findall(
        re.sub(r"^ {0,3}(`{3,}|~{3,}).*$", "", "\n".join(pieces), flags=re.M)
    ) == letters.findall(re.sub(r"^ {0,3}(`{3,}|~{3,}).*$", "", text, flags=re.M))


def test_markdown_becomes_slack_s_dialect_for_notifications() -> None:
    assert to_mrkdwn("**A:**x").replace(JOINER, "") == "*A:*x"
    assert to_mrkdwn("### **b** c") == "*b c*"
    assert to_mrkdwn("- one\n- two") == "• one\n• two"
    assert to_mrkdwn("~~gone~~").replace(JOINER, "") == "~gone~"
    assert to_mrkdwn("[the page](https://a.example/x)") == "the page (https://a.example/x)"
    assert to_mrkdwn("`**raw**`") == "`**raw**`"
    assert to_mrkdwn("a < b & c") == "a &lt; b &amp; c"


def test_shortening_says_that_something_was_cut() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
