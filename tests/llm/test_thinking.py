import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.thinking import ThinkSplitter


def split(*pieces: str) -> tuple[str, str]:
    """Reasoning and text of a stream that came in these pieces."""
    splitter = ThinkSplitter()
    found = [part for piece in pieces for part in splitter.feed(piece)] + splitter.finish()
    assert all(text for _, text in found)
    return "".join(t for thought, t in found if thought), "".join(t for thought, t in found if not thought)


@pytest.mark.parametrize(
    ("whole", "reasoning", "text"),
    [
        ("Plain answer.", "", "Plain answer."),
        ("<think>plan</think>Answer", "plan", "Answer"),
        ("\n <think>\nplan\n</think>\n\nAnswer", "\nplan\n", "Answer"),
        ("<think></think>Answer", "", "Answer"),
        ("<think>never closed </thin", "never closed </thin", ""),
        ("<thinking about it", "", "<thinking about it"),
        ("<thin", "", "<thin"),
        ("Use <think> tags</think> like so", "", "Use <think> tags</think> like so"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("<think>a < b </ c</think>d", "a < b </ c", "d"),
        ("<think>a</think>\n", "a", ""),
        ("", "", ""),
    ],
)
def test_only_a_block_at_the_beginning_is_reasoning(whole: str, reasoning: str, text: str) -> None:
    assert split(whole) == (reasoning, text)
    assert split(*whole) == (reasoning, text), "the same when it comes letter by letter"


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "</", "a", " ", "\n", "答"])))
def test_where_the_pieces_are_cut_makes_no_difference(pieces: list[str]) -> None:
    assert split(*pieces) == split("".join(pieces))


def test_text_after_the_first_words_is_handed_on_at_once() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("Hello <") == [(False, "Hello <")]
    assert splitter.feed("think> you") == [(False, "think> you")]
