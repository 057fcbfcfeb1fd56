"""An answer as it is written: Markdown from the first line on, converted at a cost that follows its length."""

from typing import Any

import pytest
from markupsafe import Markup

from bot.console.events import Told
from bot.console.feed import TextWritten, ThreadChanged, WritingEnded
from bot.console.markdown import Markdown
from bot.console.written import GROWTH, Piece, Written
from tests.examples.views import MARKDOWN

DOCUMENT = (
    MARKDOWN
    + """

# Which one?

Kita is **cheaper**, Minami is [nearer](https://example.org/a "title").
It has `no` minimum.

- one
- two
  with more

  and a paragraph

1. first
2. second

| a | b |
|---|---|
| 1 | 2 |

```diff
- old
+ new
```

> quoted
> twice

Setext
------

<b>not HTML</b> \u202eturned
"""
)


class Page:
    """What a browser makes of the pieces."""

    def __init__(self) -> None:
        self.settled = ""
        self.last = ""

    def take(self, piece: Piece | None) -> str:
        if piece is not None:
            self.settled = ("" if piece.fresh else self.settled) + piece.settled
            self.last = piece.last
        return self.settled + self.last


class CountingMarkdown(Markdown):
    """Counts the characters that it converts."""

    chars = 0

    def blocks(self, text: str, links: dict[str, Any]) -> tuple[Markup, int, Markup]:
        self.chars += len(text)
        return super().blocks(text, links)


def markdown() -> CountingMarkdown:
    return CountingMarkdown(copy_label="Copy", image_label="Image")


@pytest.mark.parametrize("step", [1, 7, 40])
def test_at_every_moment_the_page_shows_what_the_whole_text_so_far_is_in_html(step: int) -> None:
    converter, page = markdown(), Page()
    written = Written(converter)
    for end in range(step, len(DOCUMENT) + step, step):
        text = DOCUMENT[:end]
        assert page.take(written.piece(text)) == converter.html(text), repr(text[-60:])
    assert "<b>not" not in page.settled + page.last
    assert "<strong>cheaper</strong>" in page.settled


def test_blocks_that_are_complete_are_sent_once() -> None:
    written = Written(markdown())
    first = written.piece("# Title\n\nOne.\n\nTw")
    second = written.piece("# Title\n\nOne.\n\nTwo.\n\nThree")
    assert first == Piece(fresh=True, settled="<h3>Title</h3>\n", last="<p>One.</p>\n<p>Tw</p>\n")
    assert second == Piece(fresh=False, settled="<p>One.</p>\n", last="<p>Two.</p>\n<p>Three</p>\n")


def test_a_text_that_begins_anew_begins_the_page_anew() -> None:
    written = Written(markdown())
    written.piece("One.\n\nTwo.\n\nThree.\n")
    assert written.piece("Other.") == Piece(fresh=True, settled="", last="<p>Other.</p>\n")


def test_a_link_that_was_defined_in_a_settled_block_is_one_further_down() -> None:
    page, written = Page(), Written(markdown())
    page.take(written.piece("[a]: https://example.org\n\nOne.\n\nTwo.\n\n"))
    assert 'href="https://example.org"' in page.take(
        written.piece("[a]: https://example.org\n\nOne.\n\nTwo.\n\nSee [a].\n")
    )


@pytest.mark.parametrize(
    "unit", ["Some words, and more of them. ", "A line.\n", "- item\n", "Paragraph.\n\n"]
)
def test_the_work_follows_the_length_of_the_text_and_not_its_square(unit: str) -> None:
    """Twice the text is about twice the work, whatever it is made of, and only little of it is not shown yet."""
    work = []
    for chars in (3_000, 6_000):
        converter, shown = markdown(), 0
        written = Written(converter)
        whole = ("```\n" if unit == "A line.\n" else "") + unit * (chars // len(unit))
        for end in range(100, len(whole) + 1, 100):
            if written.piece(whole[:end]) is not None:
                shown = end
        work.append(converter.chars)
        assert len(whole) - shown <= 100 + len(whole) / GROWTH
    assert work[1] < 3 * work[0]


async def test_a_page_is_told_in_html_and_forgets_an_answer_that_has_ended() -> None:
    told = Told(markdown())
    first = await told.lines([TextWritten(card="r1", text="**bo"), ThreadChanged()])
    assert first.decode().split("\n\n") == [
        'event: text\ndata: {"card": "r1", "fresh": true, "settled": "", "last": "<p>**bo</p>\\n"}',
        "event: thread\ndata: {}",
        "",
    ]
    second = await told.lines([TextWritten(card="r1", text="**bold**"), WritingEnded(card="r1")])
    assert b'"fresh": false, "settled": "", "last": "<p><strong>bold</strong></p>' in second
    assert b'"fresh": true' in await told.lines([TextWritten(card="r1", text="**bold** again")])
