from uuid import uuid4

import pytest

from bot.console.parse import (
    COMMANDS,
    Form,
    accepted_language,
    attachment,
    called,
    count_of,
    event_key_of,
    local_path,
    mentions_other,
    picked,
    position_of,
    split_point,
    typed_again,
)
from core.commands.text import Word, parse_command
from core.domain.errors import Refusal


def test_the_composer_offers_every_command_that_text_can_give() -> None:
    words = {name for name, _ in COMMANDS}
    assert words == {word.value for word in Word}
    assert all(parse_command(f"/{name}") is not None for name in words)


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
    ("text", "expected"),
    [
        ("@promptflow So?", ("So?", True)),
        (" @PromptFlow、どう思う?", ("どう思う?", True)),
        ("@promptflowさん", ("さん", True)),
        ("What does @promptflow say?", ("What does @promptflow say?", True)),
        ("@promptflows", ("@promptflows", False)),
        ("mail me@promptflow.example", ("mail me@promptflow.example", False)),
        ("promptflow", ("promptflow", False)),
        ("", ("", False)),
    ],
)
def test_a_message_calls_the_product_by_its_name(text: str, expected: tuple[str, bool]) -> None:
    assert called(text) == expected


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


def test_what_was_ticked_is_known_by_its_id() -> None:
    form = Form(fields={"pick.a1": "on", "pick.b2": "on", "text": "x"})
    assert picked(form) == typed_again(form, event_key="k").chosen == {"a1", "b2"}


@pytest.mark.parametrize(("value", "expected"), [("", 2), (" ", 2), ("1", 1), (" 4 ", 4)])
def test_a_count_that_is_left_blank_is_the_usual_one(value: str, expected: int) -> None:
    assert count_of(value, "reviewers", least=1, most=4, default=2) == expected


@pytest.mark.parametrize(
    ("value", "code"),
    [("5", "setting_out_of_range"), ("0", "setting_not_number"), ("two", "setting_not_number")],
)
def test_a_count_that_cannot_be_is_refused(value: str, code: str) -> None:
    with pytest.raises(Refusal, match=code):
        count_of(value, "reviewers", least=1, most=4, default=2)


@pytest.mark.parametrize(
    ("name", "plain", "full"),
    [
        ("Memo v2", "Memo v2", "Memo%20v2"),
        ("結果 1", "__ 1", "%E7%B5%90%E6%9E%9C%201"),
        ('a"; filename="evil.exe', "a__ filename__evil.exe", "a_%3B%20filename%3D_evil.exe"),
        ("../../etc/passwd", "_.._etc_passwd", "_.._etc_passwd"),
        ("x\r\nSet-Cookie: a=b", "x__Set-Cookie_ a_b", "x__Set-Cookie_%20a%3Db"),
        ("CON", "_CON", "_CON"),
        ("con.txt", "_con.txt", "_con.txt"),
        ("...", "artifact", "artifact"),
        ("\u202egpj", "_gpj", "_gpj"),
    ],
)
def test_a_download_has_a_name_that_is_safe_everywhere(name: str, plain: str, full: str) -> None:
    assert attachment(name, "md") == f"attachment; filename=\"{plain}.md\"; filename*=UTF-8''{full}.md"


def test_a_download_s_name_is_never_too_long() -> None:
    assert len(attachment("漢" * 500, "txt")) < 1_000
