"""Cases of an eval set as text: written out for a file, and cut out of one."""

from collections.abc import Collection, Mapping
from typing import Any

from core.prompts.eval_set import EvalCase, OriginType
from core.prompts.folder import yaml_text
from core.prompts.strict_yaml import Node, read_yaml

NOTHING = "[]\n"
"""A file without a case."""


def log_case_text(case: EvalCase) -> str:
    """A case from a real thread as a file of its own, which `eval_file` reads back; it has conditions for a person
    only, and of its source the messages."""
    origin = {"type": case.origin.type.value, "masked_by": case.origin.masked_by}
    table: dict[str, Any] = {
        "id": case.id,
        "prompt": case.prompt,
        "kind": case.kind.value,
        "origin": {**origin, "masked_at": case.origin.masked_at},
        "source": {
            "messages": [
                {"by": line.by, "text": line.text} if line.by else {"text": line.text}
                for line in case.source.messages
            ]
        },
        "human": list(case.human),
    }
    if case.origin.type is not OriginType.MASKED_LOG:
        raise ValueError(f"case {case.id} is of no real thread")
    return yaml_text([{key: value for key, value in table.items() if value}])


def without_cases(text: str, cases: Collection[str]) -> str:
    """The text of a file without these cases. Where the lines of a case are not its alone, the file goes with it."""
    root = read_yaml("", text)
    items = root.value if isinstance(root.value, tuple) else ()
    kept = [item for item in items if _id(item) not in cases]
    if len(kept) == len(items):
        return text
    lines = text.splitlines(keepends=True)
    begin = [item.line - 1 for item in items]
    if (
        not kept
        or len(set(begin)) < len(begin)
        or not all(lines[at].lstrip(" ").startswith("-") for at in begin)
    ):
        return NOTHING
    ends = [*begin[1:], len(lines)]
    pieces = [
        "".join(lines[start:end])
        for item, start, end in zip(items, begin, ends, strict=True)
        if _id(item) not in cases
    ]
    return "".join([*lines[: begin[0]], *pieces])


def _id(item: Node) -> str:
    node = item.value.get("id") if isinstance(item.value, Mapping) else None
    return node.value if node is not None and isinstance(node.value, str) else ""
