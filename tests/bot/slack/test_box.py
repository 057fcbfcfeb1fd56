"""Texts of any length in boxes: nothing is lost on the way into a form and out of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.box import BOX, boxed, boxes, room
from bot.slack.markdown import units

LINES = st.lists(st.text("ab 日👍\u200d", max_size=4_500), max_size=4).map("\n".join)


def typed(text: str, most: int) -> dict[str, str]:
    """What a form brings back that nobody touched."""
    made = boxes("carry.summary", "Summary", text, most=most, more=1)
    assert all(units(one["element"].get("initial_value", "")) <= BOX for one in made)
    assert len(made) <= most
    return {one["block_id"]: one["element"].get("initial_value", "") for one in made}


@settings(max_examples=40, deadline=None)
@given(LINES)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert boxed(typed(text, 20), "carry.summary").strip("\n") == text.strip("\n")


def test_what_has_no_room_is_told_apart() -> None:
    text = "\n".join(f"{number} {'x' * 1_000}" for number in range(9))
    held = room(text, 3)
    assert text.startswith(held)
    assert len(held) < len(text)
    assert boxed(typed(text, 3), "carry.summary") == held


def test_a_second_box_is_there_before_the_first_is_full() -> None:
    assert len(boxes("a", "A", "x" * 1_000, most=3)) == 1
    assert len(boxes("a", "A", "x" * 2_500, most=3)) == 2
    assert len(boxes("a", "A", "x" * 6_500, most=3)) == 3


def test_boxes_that_a_person_filled_are_lines_of_their_own() -> None:
    assert boxed({"a": "one", "a~2": "two", "ab": "other"}, "a") == "one\ntwo"
    assert boxed({"a": "", "a~2": "two"}, "a") == "two"
