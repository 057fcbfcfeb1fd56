"""Discord's texts and payloads as plain arguments."""

import pytest

from bot.discord.parse import Own, answers_of, command_in, invocation_of, read_words
from core.commands.text import Word

OWN = Own(user=1, role=2)
NAMES = {"@3": "Ben", "@&4": "team", "#5": "general", "@1": "bot"}


@pytest.mark.parametrize(
    ("content", "text", "mentions_bot", "mentions_other"),
    [
        ("<@1> hello", "hello", True, False),
        ("<@!1>, hello", "hello", True, False),
        ("<@&2> hello", "hello", True, False),
        ("<@1> <@1>", "", True, False),
        ("hello <@1>", "hello @bot", True, False),
        ("<@3> and <@1>", "@Ben and @bot", True, True),
        ("<@&4> look", "@team look", False, True),
        ("<#5> is full", "#general is full", False, False),
        ("<@1> <@3> said so", "@Ben said so", True, False),
        ("<@9> who?", "@9 who?", False, True),
        ("`<@1>` is code", "`@bot` is code", True, False),
    ],
)
def test_mentions_become_names_and_the_bot_s_at_the_beginning_is_left_out(
    content: str, text: str, mentions_bot: bool, mentions_other: bool
) -> None:
    words = read_words(content, OWN, NAMES)
    assert (words.text, words.mentions_bot, words.mentions_other) == (text, mentions_bot, mentions_other)


def test_a_reply_that_pings_the_bot_mentions_it() -> None:
    assert read_words("yes", OWN, NAMES, pinged=True).mentions_bot


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("<@1> branch 10 A name", Word.BRANCH),
        ("<@1> /stop", Word.STOP),
        ("<@1> retry beta", Word.RETRY),
        ("<@1> retry the whole thing please", None),
        ("<@1> help", Word.HELP),
        ("<@1> help me with this", None),
        ("<@1> stop talking about cats", None),
        ("<@1> save", Word.SAVE),
        ("<@1> save Memo", Word.SAVE),
        ("<@1> save me some time", None),
        ("<@1> prompts", Word.PROMPTS),
        ("<@1> prompts chat.answer v1.0.0", Word.PROMPTS),
        ("<@1> prompts are what I want to learn about", None),
        ("<@1> review", Word.REVIEW),
        ("<@1> review this contract", None),
        ("<@1> compare which is better", Word.COMPARE),
        ("compare which is better", None),
        ("stop", None),
    ],
)
def test_a_command_is_typed_after_a_mention_and_a_sentence_is_none(content: str, word: Word | None) -> None:
    command = command_in(read_words(content, OWN, NAMES), ours=False)
    assert (command.word if command else None) is word


def test_in_our_own_thread_the_words_that_start_another_are_ordinary_ones() -> None:
    words = read_words("<@1> compare which is better", OWN, NAMES)
    assert command_in(words, ours=True) is None


def test_a_command_s_options_target_and_files_are_read() -> None:
    asked = invocation_of(
        {
            "name": "chat",
            "type": 1,
            "options": [
                {"name": "message", "type": 3, "value": "hi", "focused": True},
                {"name": "file", "type": 11, "value": "7"},
            ],
            "resolved": {"attachments": {"7": {"filename": "a.csv", "size": 3, "url": "https://x/a.csv"}}},
        }
    )
    assert (asked.name, asked.options["message"], asked.focused) == ("chat", "hi", "message")
    assert [(f.name, f.media_type, f.size_bytes) for f in asked.files] == [("a.csv", "", 3)]
    assert invocation_of({"name": "Branch from here", "type": 3, "target_id": 9}).target == "9"


def test_fields_of_a_form_are_read_in_both_of_their_shapes() -> None:
    rows = [
        {"type": 18, "component": {"type": 4, "custom_id": "name", "value": "N"}},
        {"type": 1, "components": [{"type": 4, "custom_id": "reason", "value": "R"}]},
        {"type": 18, "component": {"type": 3, "custom_id": "model", "values": ["beta"]}},
        {"type": 10, "content": "only text"},
    ]
    assert answers_of(rows) == {"name": "N", "reason": "R", "model": "beta"}
