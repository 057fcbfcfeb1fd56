"""Reasons for changes of prompts."""

import pytest

from core.domain.errors import Refusal
from core.domain.prompt import MAX_REASON_CHARS, change_reason


@pytest.mark.parametrize(
    "text", ["", "   \n ", "fix", "a b", "\u200b" * 10, "\x00" * 10, "\u2060 \ufeff \u200d"]
)
def test_a_change_without_a_reason_that_says_something_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        change_reason(text)
    assert refused.value.code == "prompt_reason_missing"


def test_a_reason_of_any_length_is_no_reason() -> None:
    assert change_reason("x" * MAX_REASON_CHARS) == "x" * MAX_REASON_CHARS
    with pytest.raises(Refusal) as refused:
        change_reason("x" * (MAX_REASON_CHARS + 1))
    assert refused.value.code == "prompt_reason_long"


def test_a_reason_is_kept_in_one_line() -> None:
    assert change_reason("  dates lost\n in   summaries ") == "dates lost in summaries"
    assert change_reason("dates\x00lost\x1b \ud800in 要約 👩\u200d🔧") == "dates lost in 要約 👩\u200d🔧"
