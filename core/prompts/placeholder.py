r"""Placeholders in templates: `{{name}}`, replaced in one pass by exactly the values given.

There is no logic and no second look: a value that holds `{{name}}` stays as it is. A backslash keeps a mark
literal: `\{{name}}`, `\{{`, `\}}`, `\{%`.
"""

import re
from collections.abc import Mapping

NAME = r"[a-z][a-z0-9_]*"
_TOKEN = re.compile(
    rf"\\(\{{\{{[ \t]*{NAME}[ \t]*\}}\}}|\{{\{{|\}}\}}|\{{%)|\{{\{{[ \t]*({NAME})[ \t]*\}}\}}"
)
_STRAY = re.compile(r"\{\{|\}\}|\{%")


def placeholders(template: str) -> dict[str, int]:
    """Names used in a template, with the line (from 1) of the first use of each, in order of appearance."""
    lines: dict[str, int] = {}
    for match in _TOKEN.finditer(template):
        name = match[2]
        if name is not None and name not in lines:
            lines[name] = template.count("\n", 0, match.start()) + 1
    return lines


def stray_marks(template: str) -> list[tuple[int, str]]:
    """Marks that are neither a placeholder nor escaped, each with its line: most often a slip in a name."""
    rest = _TOKEN.sub(" ", template)
    return [(rest.count("\n", 0, match.start()) + 1, match[0]) for match in _STRAY.finditer(rest)]


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders replaced; raises KeyError for one without a value."""
    return _TOKEN.sub(lambda match: match[1] if match[2] is None else values[match[2]], template)
