"""A small correct prompt folder for tests to spoil."""

from collections.abc import Mapping

import pytest

from core.domain.errors import ConfigurationErrors
from core.i18n import reason
from core.prompts.parse import parse_prompt
from core.prompts.version import PromptVersion

NAME = "demo.sum"
METADATA = """\
name: demo.sum
version: "1.2.3"
description: Adds numbers.
target_models: [any]
last_updated: "2026-11-30"
output_format: text
inputs:
  tone: {trust: trusted, description: How to speak.}
  numbers: {trust: untrusted, description: What to add.}
"""
FILES: Mapping[str, str] = {
    "prompt.yaml": METADATA,
    "system.md": "You add numbers. Tone: {{tone}}\n",
    "task.md": "Add:\n{{ numbers }}\n",
}


def parse(changes: Mapping[str, str | bytes | None] | None = None, *, folder: str = NAME) -> PromptVersion:
    """The sample with some files replaced, or left out where None."""
    files = {**FILES, **(changes or {})}
    data = {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in files.items()
        if content is not None
    }
    return parse_prompt(folder, data)


def problems(changes: Mapping[str, str | bytes | None], *, folder: str = NAME) -> list[str]:
    """What is wrong with the changed sample, as `file:line: reason`; fails when it is accepted."""
    with pytest.raises(ConfigurationErrors) as error:
        parse(changes, folder=folder)
    found = error.value.problems
    assert all(reason("ja", one) != reason("en", one) == one.reason for one in found)
    return [str(problem) for problem in found]


def metadata(old: str, new: str) -> dict[str, str]:
    """The sample's metadata with one spelling changed."""
    assert METADATA.count(old) == 1
    return {"prompt.yaml": METADATA.replace(old, new)}
