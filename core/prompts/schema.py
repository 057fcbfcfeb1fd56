"""What a change of an output schema means for those who read the output."""

import json
from collections.abc import Mapping
from typing import Any

TEXTS = ("title", "description", "$comment", "examples")
"""Keywords that only explain; no answer is judged by them."""


def without_texts(schema_json: str) -> Any:
    """What a schema demands, without what it explains; None for no schema."""
    return _bare(json.loads(schema_json)) if schema_json else None


def _bare(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    bare: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            bare[key] = {name: _bare(inner) for name, inner in value.items()}
        elif key == "required" and isinstance(value, list):
            bare[key] = sorted(value)
        elif isinstance(value, list):
            bare[key] = [_bare(inner) for inner in value]
        elif key not in TEXTS:
            bare[key] = _bare(value)
    return bare


def optional_fields(before: Any, after: Any) -> tuple[str, ...] | None:
    """Names of the fields that `after` allows besides, when it demands nothing else than `before`; otherwise None.

    Both as `without_texts` gives them.
    """
    if before == after:
        return ()
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return None
    added: list[str] = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        inner = _properties(old, new, after) if key == "properties" else _keyword_fields(key, old, new)
        if inner is None:
            return None
        added += inner
    return tuple(sorted(added))


def _keyword_fields(key: str, old: Any, new: Any) -> tuple[str, ...] | None:
    if key == "items":
        return optional_fields(old, new)
    return () if old == new else None


def _properties(old: Any, new: Any, after: Mapping[str, Any]) -> list[str] | None:
    old, new = old or {}, new or {}
    if old.keys() - new.keys() or (new.keys() - old.keys()) & set(after.get("required", ())):
        return None
    added = sorted(new.keys() - old.keys())
    for name in old:
        inner = optional_fields(old[name], new[name])
        if inner is None:
            return None
        added += inner
    return added
