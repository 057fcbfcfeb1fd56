"""A schema that no value satisfies, found as far as the schema contradicts itself in one place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Schema: TypeAlias = "Mapping[str, Schema] | Sequence[Schema] | str | float | bool | None"

_RANGES = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minimum", "maximum"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": (int, float),
    "integer": (int, float),
}


def contradiction(schema_json: str) -> str:
    """Where and why nothing satisfies the schema; empty when no contradiction is seen, which proves nothing."""
    return next(_contradictions(json.loads(schema_json), "$", needed=True), "")


def _contradictions(schema: Schema, path: str, *, needed: bool) -> Iterator[str]:
    """`needed` is false below what may be left out, where a contradiction only forbids the value."""
    if schema is False and needed:
        yield f"{path} allows no value"
    if not isinstance(schema, Mapping):
        return
    if needed:
        yield from (
            f"{path}: {reason}" for reason in (*_of_ranges(schema), *_of_values(schema), *_of_object(schema))
        )
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            yield from _contradictions(inner, f"{path}.{name}", needed=needed and name in names)
    least = schema.get("minItems")
    has_items = isinstance(least, int) and least > 0
    yield from _contradictions(schema.get("items"), f"{path}[]", needed=needed and has_items)
    every = schema.get("allOf")
    for number, inner in enumerate(every if isinstance(every, list) else []):
        yield from _contradictions(inner, f"{path}.allOf[{number}]", needed=needed)


def _of_ranges(schema: Mapping[str, Schema]) -> Iterator[str]:
    for least, most in _RANGES:
        low, high = schema.get(least), schema.get(most)
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield f"{least} {low} is more than {most} {high}"
    choices, least_items = _choices(schema.get("items")) or (), schema.get("minItems")
    distinct = schema.get("uniqueItems") is True and bool(choices)
    if distinct and isinstance(least_items, int) and least_items > len(choices):
        yield f"{least_items} different items are wanted of {len(choices)} choices"


def _choices(schema: Schema) -> Sequence[Schema] | None:
    given = schema.get("enum") if isinstance(schema, Mapping) else None
    return given if isinstance(given, list) else None


def _of_values(schema: Mapping[str, Schema]) -> Iterator[str]:
    choices = _choices(schema)
    kind = schema.get("type")
    fitting = _TYPES.get(kind) if isinstance(kind, str) else None
    if choices is not None and not choices:
        yield "enum holds no choice"
    elif choices is not None and fitting and not any(_is(choice, kind, fitting) for choice in choices):
        yield f"no choice of enum is of the type {kind}"
    if "const" in schema and choices is not None and schema["const"] not in choices:
        yield "const is no choice of enum"
    if "const" in schema and fitting and not _is(schema["const"], kind, fitting):
        yield f"const is not of the type {kind}"


def _is(value: Schema, kind: Schema, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (kind == "boolean" or not isinstance(value, bool))


def _of_object(schema: Mapping[str, Schema]) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        for name in names:
            if name not in known:
                yield f"{name} is required and not allowed"
    most = schema.get("maxProperties")
    if isinstance(most, int) and len(set(names)) > most:
        yield f"{len(set(names))} properties are required and at most {most} allowed"
