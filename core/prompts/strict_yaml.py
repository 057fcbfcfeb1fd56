"""YAML as people write it by hand, read without surprises.

Every scalar is a string (`1.10` stays `1.10`, `no` stays `no`); duplicate keys, anchors, tags and a second
document are refused; every node knows its line.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from core.prompts.problem import problem

MAX_DEPTH = 20

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"
"""A document without its line numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    line: int
    """Counted from 1."""
    value: "str | tuple[Node, ...] | Mapping[str, Node]"

    def plain(self) -> Plain:
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, tuple):
            return [item.plain() for item in self.value]
        return {key: item.plain() for key, item in self.value.items()}


def read_yaml(file: str, text: str) -> Node:
    """The one document in `text`; raises ConfigurationError naming `file` and the line."""
    try:
        _refuse_cleverness(file, text)
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise problem(file, "yaml", line=line, detail=error.problem or str(error)) from error
    except yaml.YAMLError as error:
        raise problem(file, "yaml", detail=str(error).splitlines()[0]) from error
    if root is None:
        raise problem(file, "empty")
    return _convert(file, root)


def _refuse_cleverness(file: str, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise problem(file, "yaml_anchor", line=line)
        if getattr(event, "tag", None) is not None:
            raise problem(file, "yaml_tag", line=line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        # The composer recurses once a level; the event stream does not.
        if depth > MAX_DEPTH:
            raise problem(file, "yaml_depth", line=line, limit=MAX_DEPTH)


def _convert(file: str, node: yaml.Node) -> Node:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Node(line=line, value=dict(_pairs(file, node)))
    if isinstance(node, yaml.SequenceNode):
        return Node(line=line, value=tuple(_convert(file, item) for item in node.value))
    return Node(line=line, value=_text(file, node.value, line))


def _text(file: str, value: str, line: int) -> str:
    """In NFC, also where it was written with escapes, which nothing that looks at the file as a whole sees."""
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise problem(file, "half_character", line=line)
    return unicodedata.normalize("NFC", value)


def _pairs(file: str, node: yaml.MappingNode) -> Iterator[tuple[str, Node]]:
    seen: set[str] = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise problem(file, "yaml_key", line=line)
        name = _text(file, key.value, line)
        if name in seen:
            raise problem(file, "key_twice", line=line, name=name)
        seen.add(name)
        converted = _convert(file, value)
        # A key's own line is where a reader looks for it; the value may start one line below.
        yield name, Node(line=line, value=converted.value)
