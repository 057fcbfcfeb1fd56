"""What is masked, what must not be, and what the report says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.prompts.masking import BLIND_SPOTS, Doubt, Personal, find_personal, fold, is_my_number, mask

KEY = b"a workspace's key"
SLACK_TOKEN = "xox" + "b-123456789012-abcdefABCDEF"
OPENAI_KEY = "sk" + "-proj-abcdefghij0123456789"
AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB_KEY = "gh" + "p_" + "a1B2" * 9
JWT = "eyJ" + "hbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + ".SflKxwRJSM"

HITS = [
    ("mail to aoi.tanaka@example.co.jp please", Personal.MAIL, "aoi.tanaka@example.co.jp"),
    ("連絡先:ａｏｉ＠example.jp です", Personal.MAIL, "ａｏｉ＠example.jp"),
    ("first+tag@sub.example.org.", Personal.MAIL, "first+tag@sub.example.org"),
    ("電話は03-1234-5678です", Personal.PHONE, "03-1234-5678"),
    ("携帯は090-1234-5678", Personal.PHONE, "090-1234-5678"),
    ("tel 09012345678", Personal.PHONE, "09012345678"),
    ("tel 0312345678", Personal.PHONE, "0312345678"),
    ("０９０−１２３４−５６７８まで", Personal.PHONE, "０９０−１２３４−５６７８"),
    ("０３（１２３４）５６７８へ", Personal.PHONE, "０３（１２３４）５６７８"),
    ("(03) 1234-5678", Personal.PHONE, "(03) 1234-5678"),
    ("call +81 90 1234 5678 now", Personal.PHONE, "+81 90 1234 5678"),
    ("call +81-3-1234-5678", Personal.PHONE, "+81-3-1234-5678"),
    ("+81 (0)90-1234-5678", Personal.PHONE, "+81 (0)90-1234-5678"),
    ("+819012345678", Personal.PHONE, "+819012345678"),
    ("US: +1 415-555-2671", Personal.PHONE, "+1 415-555-2671"),
    ("UK: +44 20 7946 0958", Personal.PHONE, "+44 20 7946 0958"),
    ("フリーダイヤル 0120-123-456", Personal.PHONE, "0120-123-456"),
    ("IP電話 050-1234-5678", Personal.PHONE, "050-1234-5678"),
    ("0467-12-3456", Personal.PHONE, "0467-12-3456"),
    ("〒150-0002 に送付", Personal.POSTAL, "〒150-0002"),
    ("〒1500002", Personal.POSTAL, "〒1500002"),
    ("郵便番号は１５０－０００２です", Personal.POSTAL, "１５０－０００２"),
    ("postcode 150-0002", Personal.POSTAL, "150-0002"),
    ("番号 123456789018 を確認", Personal.MY_NUMBER, "123456789018"),
    ("番号 1234-5678-9018", Personal.MY_NUMBER, "1234-5678-9018"),
    ("１２３４ ５６７８ ９０１８", Personal.MY_NUMBER, "１２３４ ５６７８ ９０１８"),
    ("card 4111 1111 1111 1111", Personal.CARD, "4111 1111 1111 1111"),
    ("card 4111-1111-1111-1111.", Personal.CARD, "4111-1111-1111-1111"),
    ("5500000000000004", Personal.CARD, "5500000000000004"),
    ("amex 378282246310005", Personal.CARD, "378282246310005"),
    ("カード４１１１１１１１１１１１１１１１です", Personal.CARD, "４１１１１１１１１１１１１１１１"),
    ("ask <@U024BE7LH> about it", Personal.CHAT_ID, "<@U024BE7LH>"),
    ("ask <@!123456789012345678>", Personal.CHAT_ID, "<@!123456789012345678>"),
    ("user U024BE7LH wrote", Personal.CHAT_ID, "U024BE7LH"),
    ("id 123456789012345678", Personal.CHAT_ID, "123456789012345678"),
    ("in <#C024BE91L|general>", Personal.CHAT_ID, "<#C024BE91L|general>"),
    (f"token {SLACK_TOKEN}", Personal.SECRET, SLACK_TOKEN),
    (f"key={OPENAI_KEY}", Personal.SECRET, OPENAI_KEY),
    (f"aws {AWS_KEY} x", Personal.SECRET, AWS_KEY),
    (f"push with {GITHUB_KEY}", Personal.SECRET, GITHUB_KEY),
    (f"Authorization: Bearer {JWT}", Personal.SECRET, JWT),
]

CLEAN = [
    "2026-11-30",
    "2026/11/30 10:30",
    "2026年11月30日",
    "予算は300,000円以内",
    "30万円",
    "$1,234,567.89",
    "version 1.10.2",
    "192.168.100.200",
    "order 20261130001",
    "INC-20417",
    "commit 9f86d081884c7d65",
    "1764460800000",
    "4111 1111 1111 1112",
    "123456789012",
    "1234567",
    "10-20 people",
    "pages 100-120",
    "https://example.com/a/0312",
    "UNDERSTAND this",
    "0.1234567890",
    "sk-short",
    "user@localhost",
    "[PHONE_e088] と [MAIL_1a2b]",
    "ratio 3:1, 50%",
    "90 days, 1,234 items",
    "000000000000",
]


@pytest.mark.parametrize(("text", "kind", "found"), HITS)
def test_personal_data_is_found_at_its_place(text: str, kind: Personal, found: str) -> None:
    assert [(span.kind, text[span.start : span.end]) for span in find_personal(text)] == [(kind, found)]
    masked = mask(text, key=KEY)
    assert found not in masked.text
    assert f"[{kind.upper()}_" in masked.text
    assert masked.counts == {kind: 1}


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_looks_like_it_stays(text: str) -> None:
    masked = mask(text, key=KEY)
    assert masked.text == text
    assert masked.counts == {}


def test_one_number_in_three_notations_gives_one_token_and_another_number_another() -> None:
    masked = mask("090-1234-5678 / +81 90 1234 5678 / ０９０１２３４５６７８ / 090-1234-5679", key=KEY).text
    first, second, third, other = masked.split(" / ")
    assert first == second == third != other


def test_the_token_depends_on_the_key() -> None:
    assert mask("090-1234-5678", key=KEY).text != mask("090-1234-5678", key=b"another").text


def test_names_are_masked_as_given_the_longest_first_and_latin_ones_as_whole_words() -> None:
    masked = mask(
        "田中葵さんと田中さん、Ann Lee and annlee, Ann", key=KEY, names=["田中", "田中葵", "Ann Lee", "Ann"]
    )
    assert masked.counts == {Personal.NAME: 4}
    assert "annlee" in masked.text
    assert "田中" not in masked.text
    assert masked.text.count("さん") == 2


def test_the_report_names_what_a_person_should_look_at_and_what_cannot_be_seen() -> None:
    masked = mask("郵便1500002、番号123456789012、林さん", key=KEY, names=["林"])
    assert [(one.doubt, one.text) for one in masked.to_check] == [
        (Doubt.SEVEN_DIGITS, "1500002"),
        (Doubt.TWELVE_DIGITS, "123456789012"),
        (Doubt.SHORT_NAME, "林"),
    ]
    assert masked.blind_spots == BLIND_SPOTS
    assert mask("東京都渋谷区1-2-3", key=KEY).text == "東京都渋谷区1-2-3"


def test_a_masked_number_is_not_to_be_checked_again() -> None:
    assert mask("〒1500002", key=KEY).to_check == ()


def test_only_one_check_digit_fits_a_my_number() -> None:
    assert [digit for digit in "0123456789" if is_my_number("12345678901" + digit)] == ["8"]


@given(st.text(max_size=200))
def test_folding_keeps_every_place(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.text(alphabet="0123456789-+() .@a〒", max_size=120))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask(text, key=KEY).text
    assert mask(once, key=KEY).text == once


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text", ["a" * 300_000, "0" * 300_000, "a." * 150_000, "0 " * 150_000, "+1" * 150_000]
)
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    find_personal(text)
