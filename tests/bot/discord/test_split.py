"""Long texts in pieces: nothing is lost, no piece is too long, no fence stays open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.discord.limit import head, size
from bot.discord.split import balanced, split

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "```python",
                "```",
                "````",
                "~~~",
                "   ```",
                "```" + "i" * 150,
                "``` not `a` fence",
                "x" * 500,
                "😀" * 150,
                "word " * 80,
                "",
            ]
        ),
        st.text(max_size=40),
    ),
    max_size=30,
)


@given(LINES, st.integers(200, 400))
def test_pieces_joined_are_the_text_within_the_limit_with_every_fence_closed(
    lines: list[str], limit: int
) -> None:
    text = "\n".join(lines)
    pieces = split(text, limit)
    assert "".join(piece.body for piece in pieces) == text
    for piece in pieces:
        assert piece.body
        assert size(piece.text) <= limit
        assert balanced(piece.text) == piece.text


def test_a_fence_is_reopened_with_its_language() -> None:
    first, second = split("```python\n" + "line\n" * 60 + "```\n", 250)
    assert first.text.endswith("\n```")
    assert second.text.startswith("```python\nline")


def test_a_fence_with_a_long_info_string_is_reopened_bare() -> None:
    first, second = split("```" + "i" * 120 + "\n" + "line\n" * 40 + "```\n", 250)
    assert second.opening == "```\n"
    assert first.opening == ""


def test_a_paragraph_is_kept_whole_where_that_leaves_half_a_piece() -> None:
    first, second = split("a " * 80 + "\n\n" + "b " * 60, 200)
    assert set(first.body) == {"a", " ", "\n"}
    assert set(second.body) == {"b", " "}


def test_a_line_without_spaces_is_cut_between_characters() -> None:
    pieces = split("😀" * 300, 201)
    assert [len(piece.body) for piece in pieces] == [100, 100, 100]


def test_what_breaks_off_inside_a_fence_is_closed() -> None:
    assert balanced("```js\nlet a") == "```js\nlet a\n```"
    assert balanced("done ```") == "done ```"


@pytest.mark.parametrize(("text", "limit", "kept"), [("abc", 3, "abc"), ("abcd", 3, "abc"), ("a😀b", 2, "a")])
def test_a_beginning_never_ends_inside_a_character(text: str, limit: int, kept: str) -> None:
    assert head(text, limit) == kept
