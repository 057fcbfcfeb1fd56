"""A version written back as its folder: always the same bytes for the same version, which read give it back."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from core.prompts.parse import FEW_SHOT, FRAGMENTS, METADATA, SCHEMA, SYSTEM, TASK
from core.prompts.version import PromptVersion

_WORD = re.compile(r"[a-z][a-z0-9_.]*")


def to_files(version: PromptVersion) -> dict[str, bytes]:
    """Contents by file name, in the order in which people read them; a part that is empty has no file.

    Keys are sorted, lines end in LF, text is NFC. `parse_prompt(version.name, to_files(version)) == version`.
    """
    return {name: text.encode() for name, text in to_texts(version).items()}


def to_texts(version: PromptVersion) -> dict[str, str]:
    """The same as `to_files`, as text."""
    parts = version.parts
    texts = {
        METADATA: yaml_text(_metadata(version)),
        SYSTEM: parts.system + "\n" if parts.system else "",
        TASK: parts.task + "\n" if parts.task else "",
        FRAGMENTS: yaml_text(_sorted(parts.fragments)) if parts.fragments else "",
        FEW_SHOT: yaml_text(
            [{"input": _sorted(example.values), "output": example.output} for example in parts.few_shot]
        )
        if parts.few_shot
        else "",
        SCHEMA: _json(parts.schema_json),
    }
    return {name: unicodedata.normalize("NFC", text) for name, text in texts.items() if text}


def lock_text(versions: Iterable[PromptVersion]) -> str:
    """Name → version → content hash, sorted, so that no text can change without a new version."""
    lock: dict[str, dict[str, str]] = {}
    for one in versions:
        lock.setdefault(one.name, {})[one.version] = one.sha256
    return json.dumps(lock, indent=2, sort_keys=True) + "\n"


def _metadata(version: PromptVersion) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": version.name,
        "version": version.version,
        "description": version.description,
        "target_models": list(version.parts.target_models),
        "last_updated": version.last_updated.isoformat(),
        "output_format": version.parts.output_format.value,
    }
    if version.eval_set:
        metadata["eval_set"] = version.eval_set
    if version.parts.inputs:
        metadata["inputs"] = {
            name: {"trust": given.trust.value, "description": given.description}
            for name, given in sorted(version.parts.inputs.items())
        }
    return metadata


def _sorted(values: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(values.items()))


def _json(schema_json: str) -> str:
    if not schema_json:
        return ""
    return json.dumps(json.loads(schema_json), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


class _Writer(yaml.SafeDumper):
    """Block style throughout; words and texts of several lines stand as they are, all others in quotation marks."""

    def ignore_aliases(self, data: Any) -> bool:
        # The reader refuses them.
        return True


def _text(writer: _Writer, text: str) -> yaml.ScalarNode:
    style = None if _WORD.fullmatch(text) else "|" if _plain_lines(text) else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _plain_lines(text: str) -> bool:
    """Whether a block of lines gives the text back whatever reads it."""
    return (
        "\n" in text
        and not text[0].isspace()
        and all(line == line.rstrip() for line in text.split("\n"))
        and all(letter.isprintable() or letter in "\n\u3000" for letter in text)
    )


_Writer.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """A value of texts, lists and tables as YAML that `strict_yaml` reads back; the same bytes for the same value."""
    written: str = yaml.dump(
        value, Dumper=_Writer, allow_unicode=True, sort_keys=False, default_flow_style=False, width=1_000_000
    )
    return written
