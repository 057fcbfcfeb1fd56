from html import unescape

import pytest

from bot.console.markdown import Markdown, visible
from tests.bot.console.page_source import PageSource
from tests.examples.views import HOSTILE, MARKDOWN


@pytest.fixture
def markdown() -> Markdown:
    return Markdown(copy_label="Copy", image_label="Image")


def parsed(markdown: Markdown, text: str) -> PageSource:
    return PageSource(f"<div>{markdown.html(text)}</div>")


def test_usual_markdown_becomes_html_with_tables_and_code(markdown: Markdown) -> None:
    page = parsed(markdown, MARKDOWN)
    assert page.one("strong").text == "Three reasons"
    assert len(page.all("li")) == 3
    assert [cell.text for cell in page.all("td", class_="right")] == ["1", "many", "4", "6"]
    assert page.one("figcaption").text == "pythonCopy"
    assert "await connection.execute(statement)" in page.one("pre").text


def test_a_difference_has_a_class_for_each_line_and_keeps_its_text(markdown: Markdown) -> None:
    text = f"@@ unchanged lines: 3 @@\n  same\n- {HOSTILE}\n+ new\n\n  end\n"
    page = parsed(markdown, f"```diff\n{text}```")
    lines = [one for one in page.all("span") if one.classes & {"added", "removed", "hunk", "same"}]
    assert [one.attributes["class"] for one in lines] == ["hunk", "same", "removed", "added", "same", "same"]
    assert page.one("code").text == text
    assert not parsed(markdown, "```python\n- x\n```").all("span", class_="removed")


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](/t/0195)",
        "[x](//evil.example)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "[x]: javascript:alert(1)\n\n[x]",
        "[x](\u202ejavascript:alert(1))",
    ],
)
def test_a_link_that_does_not_lead_to_the_web_or_to_mail_stays_text(markdown: Markdown, text: str) -> None:
    assert parsed(markdown, text).all("a") == []


def test_links_of_the_web_open_apart_and_tell_nothing_about_us(markdown: Markdown) -> None:
    page = parsed(markdown, "[a](https://ok.example/?q=1&r=2) <https://auto.example> [m](mailto:a@b.example)")
    links = page.all("a")
    assert [link.attributes["href"] for link in links] == [
        "https://ok.example/?q=1&r=2",
        "https://auto.example",
        "mailto:a@b.example",
    ]
    assert {link.attributes["rel"] for link in links} == {"noopener noreferrer nofollow"}
    assert {link.attributes["target"] for link in links} == {"_blank"}


def test_an_image_is_shown_as_a_link_and_never_loaded(markdown: Markdown) -> None:
    page = parsed(markdown, "![a *chart*](https://tracker.example/p.png)")
    assert page.all("img") == []
    link = page.one("a")
    assert link.attributes["href"] == "https://tracker.example/p.png"
    assert link.text.startswith("Image: ")


@pytest.mark.parametrize(
    "around",
    ["{}", "# {}", "- {}", "> {}", "**{}**", "`{}`", "```\n{}\n```", "    {}", "| {} |\n|---|\n| {} |"],
)
def test_hostile_text_cannot_make_an_element(markdown: Markdown, around: str) -> None:
    page = parsed(markdown, around.replace("{}", HOSTILE))
    assert {"script", "img", "textarea", "style", "iframe"} & {one.tag for one in page.elements} == set()
    handlers = [
        name for one in page.elements for name in one.attributes if name.startswith("on") or name == "style"
    ]
    assert handlers == []
    assert "<script>alert(1)</script>" in page.text


def test_the_language_of_a_code_block_cannot_leave_its_label(markdown: Markdown) -> None:
    page = parsed(markdown, '```"><script>\ncode\n```')
    assert page.one("figcaption").text == "Copy"
    assert page.one("code").text == "code\n"


def test_headings_of_a_message_stand_below_those_of_the_page(markdown: Markdown) -> None:
    page = parsed(markdown, "# a\n\n## b\n\n###### c")
    assert [one.tag for one in page.elements[1:]] == ["h3", "h4", "h6"]


def test_a_line_break_that_a_person_typed_is_kept(markdown: Markdown) -> None:
    assert len(parsed(markdown, "予算は月5万円までです。\n来週まで。").all("br")) == 1


def test_direction_characters_are_marked_and_survive_a_copy() -> None:
    text = "user\u202etxt.exe\u2066\u200f"
    page = PageSource(f"<p>{visible(text)}</p>")
    assert page.text == text
    assert [one.attributes["data-code"] for one in page.all("span")] == ["U+202E", "U+2066", "U+200F"]


def test_the_exact_text_survives_escaping() -> None:
    assert unescape(str(visible("a & <b> \"c\" 'd'"))) == "a & <b> \"c\" 'd'"


def test_a_long_text_made_to_be_slow_is_done_in_time(markdown: Markdown) -> None:
    for text in ("![[" * 3_000, "*a **b " * 3_000, "> " * 3_000, "[a](b" * 3_000):
        assert markdown.html(text)
