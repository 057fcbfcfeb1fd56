from uuid import uuid4

import pytest

from bot.console.parse import (
    COMMANDS,
    Form,
    accepted_language,
    event_key_of,
    local_path,
    mentions_other,
    position_of,
    split_point,
    typed_again,
)
from core.commands.text import Word, parse_command
from core.domain.errors import Refusal


def test_the_composer_offers_every_command_that_text_can_give() -> None:
    assert {name for name, _ in COMMANDS} == {word.value for word in Word}
    assert all(parse_command(f"/{name}") is not None for name, _ in COMMANDS)


def test_a_form_has_the_key_it_was_made_with() -> None:
    key = str(uuid4())
    assert event_key_of(Form(fields={"event_key": key})) == key


@pytest.mark.parametrize("key", ["", "1", "x" * 36, "a" * 10_000, "0195e000-0000-7000-8000-00000000000'"])
def test_a_form_without_a_key_of_ours_is_stale(key: str) -> None:
    with pytest.raises(Refusal, match="form_stale"):
        event_key_of(Form(fields={"event_key": key}))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"message": "m1", "at": "4", "position": "4"}, ("m1", None)),
        ({"message": "m1", "at": "4", "position": " 4 "}, ("m1", None)),
        ({"message": "m1", "at": "4", "position": "2"}, (None, "2")),
        ({"message": "m1", "at": "4", "position": "x"}, (None, "x")),
        ({"message": "m1", "at": "4", "position": ""}, (None, None)),
        ({"message": "m1", "at": "", "position": ""}, ("m1", None)),
        ({"position": "0"}, (None, "0")),
        ({}, (None, None)),
    ],
)
def test_a_branch_form_means_its_message_until_the_position_is_changed(
    fields: dict[str, str], expected: tuple[str | None, str | None]
) -> None:
    assert split_point(Form(fields=fields)) == expected


@pytest.mark.parametrize(
    ("wanted", "used"),
    [
        ("/t/abc?before=3", "/t/abc?before=3"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("", "/"),
    ],
)
def test_the_way_back_never_leads_to_another_site(wanted: str, used: str) -> None:
    assert local_path(wanted) == used


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@Ben what do you think?", True),
        ("@ben?", True),
        ("@Benjamin, hello", False),
        ("@You, note this", False),
        ("Ask @Ben", False),
        ("@亜希 どう?", True),
    ],
)
def test_a_message_to_another_person_begins_by_naming_them(text: str, expected: bool) -> None:
    assert mentions_other(text, "You", ("You", "Ben", "亜希")) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("12", 12), ("0", None), ("-1", None), ("1_0", None), ("９", None), ("9" * 10, None), ("", None)],
)
def test_a_position_in_an_address_is_a_plain_number(value: str, expected: int | None) -> None:
    assert position_of(value) == expected


@pytest.mark.parametrize(
    ("header", "locale"),
    [("ja,en;q=0.8", "ja"), ("ja-JP;q=0.9", "ja"), ("en-GB,ja", "en"), ("de", "en"), ("", "en")],
)
def test_a_browser_without_a_person_gets_its_first_language(header: str, locale: str) -> None:
    assert accepted_language(header) == locale


def test_a_refused_form_is_shown_with_what_was_typed() -> None:
    again = typed_again(Form(fields={"text": "long text", "name": "n", "unknown": "x"}), event_key="k")
    assert (again.text, again.name, again.event_key) == ("long text", "n", "k")
