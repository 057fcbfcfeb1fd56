"""One version of a prompt: its parts, each apart from the others, and what identifies it. Never changes."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from core.domain.receipt import PromptRef

ANY_MODEL = "any"
"""In place of a model's name: the prompt is written for no model in particular."""


class Trust(StrEnum):
    """Whether a placeholder is filled with our own words or with data from outside."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    """Never allowed in the system part."""


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    """The answer must satisfy the prompt's output schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A declared placeholder."""

    trust: Trust
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A few-shot example: values for the task template, and the answer wished for."""

    values: Mapping[str, str]
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What makes a prompt behave as it does. An absent part is empty."""

    system: str = ""
    task: str = ""
    fragments: Mapping[str, str]
    """Short texts by name that are put around stored data, such as the label of an author."""
    few_shot: tuple[Example, ...] = ()
    output_format: OutputFormat = OutputFormat.TEXT
    schema_json: str = ""
    """Output schema as canonical JSON."""
    inputs: Mapping[str, Input]
    target_models: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Content hash; the same for any layout of the files that says the same."""
        content = {
            "system": self.system,
            "task": self.task,
            "fragments": dict(self.fragments),
            "few_shot": [[dict(example.values), example.output] for example in self.few_shot],
            "output_format": self.output_format,
            "schema": self.schema_json,
            "inputs": {name: given.trust for name, given in self.inputs.items()},
            "target_models": self.target_models,
        }
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersion:
    name: str
    version: str
    """Semantic version, `major.minor.patch`."""
    description: str
    last_updated: date
    eval_set: str
    """Name of its eval set; empty while it has none."""
    parts: Parts
    sha256: str
    """Content hash of `parts`, computed once."""

    @property
    def ref(self) -> PromptRef:
        """What a receipt keeps of it."""
        return PromptRef(name=self.name, version=self.version, sha256=self.sha256)

    def retrusted(self, other: "PromptVersion") -> list[str]:
        """Inputs that both declare, with another trust; sorted."""
        mine, theirs = self.parts.inputs, other.parts.inputs
        return sorted(name for name in mine.keys() & theirs.keys() if mine[name].trust != theirs[name].trust)
