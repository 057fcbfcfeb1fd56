"""Templates of a prompt with their values put in.

Values are strict both ways: one missing or one too many raises ConfigurationError naming the prompt and its part,
because prompt and caller have come apart.
"""

from collections.abc import Mapping

from core.domain.errors import ConfigurationError
from core.prompts.placeholder import fill, placeholders
from core.prompts.version import PromptVersion


def render_system(prompt: PromptVersion, values: Mapping[str, str]) -> str:
    """The system part; empty when the prompt has none."""
    return _render(prompt, "system.md", prompt.parts.system, values)


def render_task(prompt: PromptVersion, values: Mapping[str, str]) -> str:
    """The task part; empty when the prompt has none."""
    return _render(prompt, "task.md", prompt.parts.task, values)


def render_fragment(prompt: PromptVersion, name: str, values: Mapping[str, str]) -> str:
    """The fragment called `name`; raises ConfigurationError when the prompt has none of that name."""
    if name not in prompt.parts.fragments:
        raise ConfigurationError(f"{prompt.name}/fragments.yaml", f"no fragment {name}")
    return _render(prompt, f"fragments.yaml ({name})", prompt.parts.fragments[name], values)


def render_examples(prompt: PromptVersion) -> tuple[tuple[str, str], ...]:
    """Few-shot examples as pairs of request and answer, in the order of the file."""
    return tuple((render_task(prompt, example.values), example.output) for example in prompt.parts.few_shot)


def _render(prompt: PromptVersion, part: str, template: str, values: Mapping[str, str]) -> str:
    used = placeholders(template).keys()
    if used != values.keys():
        missing = ", ".join(sorted(used - values.keys())) or "none"
        unknown = ", ".join(sorted(values.keys() - used)) or "none"
        raise ConfigurationError(
            f"{prompt.name}/{part}",
            f"version {prompt.version}: placeholders without a value: {missing}; values without a place: {unknown}",
        )
    return fill(template, values)
