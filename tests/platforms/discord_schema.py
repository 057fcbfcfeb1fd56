"""Requests held against Discord's own OpenAPI description, which is not part of this project."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator

Json = dict[str, Any]


@dataclass
class Schema:
    document: Json
    _known: dict[tuple[str, str], Json | None] = field(default_factory=dict)

    def problems(self, method: str, path: str, body: Any) -> Iterator[str]:
        """The first thing in a request that the description does not allow."""
        schema = self._schema(method, path)
        if schema is None or not body:
            return
        validator = Draft202012Validator({**schema, "components": self.document["components"]})
        errors = sorted(validator.iter_errors(_as_text(body)), key=lambda error: -len(error.path))
        for error in errors[:1]:
            yield f"{method} {path}: {'/'.join(map(str, error.path))}: {error.message[:200]}"

    def _schema(self, method: str, path: str) -> Json | None:
        for pattern, routes in self.document["paths"].items():
            wanted = re.sub(r"\{\w+\}", "[^/]+", pattern)
            if method.lower() in routes and re.fullmatch(wanted, path):
                content = routes[method.lower()].get("requestBody", {}).get("content", {})
                found: Json = content.get("application/json") or next(iter(content.values()), {})
                return found.get("schema")
        return None


def _as_text(value: Any, key: str = "") -> Any:
    """The library sends some ids as numbers, which Discord takes and its description does not."""
    if isinstance(value, dict):
        return {name: _as_text(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_as_text(inner, key) for inner in value]
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (key.endswith("_id") or (key == "id" and value < 50))
    ):
        return str(value)
    return value
