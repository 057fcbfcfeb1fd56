import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.files.charset import clean, decode

JAPANESE = "売上報告書です。2026年11月の売上は、前年同月より12%増えました。\n担当:テスト課の山田\n"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp932", "euc_jp", "iso2022_jp"],
)
def test_japanese_text_is_read_in_each_encoding_it_comes_in(encoding: str) -> None:
    assert decode(JAPANESE.encode(encoding)) == JAPANESE


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_wide_text_is_read_in_both_byte_orders(mark: bytes) -> None:
    encoding = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    assert decode(mark + JAPANESE.encode(encoding)) == JAPANESE


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("名前,年齢\n山田,3\n", "cp932"),
        ("テスト", "cp932"),
        ("テスト", "euc_jp"),
        ("Le café est fermé à Noël, dit-il.\nÇa va?", "cp1252"),
        ("Größe;Straße\nÄpfel;Öl\n", "cp1252"),
        ("Привет, как дела? Отчёт за ноябрь.", "cp1251"),
        ("你好,世界。这是一个测试文件。", "gb18030"),
        ("안녕하세요. 보고서입니다.", "cp949"),
    ],
)
def test_short_text_in_an_older_encoding_is_read(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_unicode_text_comes_out_as_it_went_in(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@given(st.binary(max_size=200))
def test_whatever_comes_out_can_be_stored(data: bytes) -> None:
    text = decode(data)
    if text is not None:
        assert "\x00" not in text
        assert "\r" not in text
        assert text.encode().decode() == text


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert clean("a\ud83db") == "a\ufffdb"
