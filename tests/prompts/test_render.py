import pytest

from core.domain.errors import ConfigurationError
from core.prompts.render import render_examples, render_fragment, render_system, render_task
from tests.prompts.sample import NAME, parse


def test_each_part_takes_exactly_its_own_values() -> None:
    prompt = parse({"fragments.yaml": "note: as {{tone}}"})
    assert render_system(prompt, {"tone": "dry"}) == "You add numbers. Tone: dry"
    assert render_task(prompt, {"numbers": "1 {{tone}}"}) == "Add:\n1 {{tone}}"
    assert render_fragment(prompt, "note", {"tone": "dry"}) == "as dry"


def test_a_missing_value_is_an_error_that_names_prompt_part_and_placeholder() -> None:
    with pytest.raises(ConfigurationError) as error:
        render_system(parse(), {})
    assert str(error.value) == (
        f"{NAME}/system.md: version 1.2.3: placeholders without a value: tone; values without a place: none"
    )


def test_a_value_without_a_place_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="values without a place: tone"):
        render_task(parse(), {"numbers": "1", "tone": "dry"})


def test_an_unknown_fragment_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no fragment note"):
        render_fragment(parse(), "note", {})


def test_a_part_that_is_absent_is_empty() -> None:
    prompt = parse({"system.md": None, "task.md": "{{tone}} {{numbers}}"})
    assert render_system(prompt, {}) == ""


def test_examples_are_rendered_with_the_task() -> None:
    examples = "- {input: {numbers: 1 1}, output: '2'}\n- {input: {numbers: '{{tone}}'}, output: none}\n"
    assert render_examples(parse({"few_shot.yaml": examples})) == (
        ("Add:\n1 1", "2"),
        ("Add:\n{{tone}}", "none"),
    )
