import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.prompts.placeholder import fill, placeholders, stray_marks


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{a}} and {{ b }}", "1 and 2"),
        ("{{a}}{{a}}", "11"),
        ("{{\ta}}", "1"),
        (r"\{{a}} stays", "{{a}} stays"),
        (r"\{{ a }} \{{ \}} \{% x", "{{ a }} {{ }} {% x"),
        ('{"k": {"n": {{a}} } }', '{"k": {"n": 1 } }'),
        ("$a ${a} %s {0} {a}", "$a ${a} %s {0} {a}"),
        ("", ""),
    ],
)
def test_a_template_is_filled_in_one_pass(template: str, filled: str) -> None:
    assert stray_marks(template) == []
    assert fill(template, {"a": "1", "b": "2"}) == filled


@given(st.text())
def test_a_value_is_never_looked_at_again(value: str) -> None:
    assert fill("<{{a}}|{{b}}>", {"a": value, "b": "{{a}}"}) == f"<{value}|{{{{a}}}}>"


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="b"):
        fill("{{a}} {{b}}", {"a": "1"})


def test_placeholders_come_with_the_line_of_their_first_use() -> None:
    assert placeholders("{{a}}\n\n{{b}} {{a}}\n" + r"\{{c}}") == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("template", "marks"),
    [
        ("{{A}}", [(1, "{{"), (1, "}}")]),
        ("{{a-b}}", [(1, "{{"), (1, "}}")]),
        ("ok\n{{ a", [(2, "{{")]),
        ("{{a}}\n}}", [(2, "}}")]),
        ("x\n\n{% if a %}", [(3, "{%")]),
        ("{{a\n}}", [(1, "{{"), (2, "}}")]),
        ("{{{a}}}", []),
        ("{{1a}}", [(1, "{{"), (1, "}}")]),
    ],
)
def test_marks_that_are_no_placeholder_are_found_with_their_line(
    template: str, marks: list[tuple[int, str]]
) -> None:
    assert stray_marks(template) == marks
