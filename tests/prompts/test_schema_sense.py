"""Schemas that nothing satisfies."""

import json

import pytest

from core.prompts.schema_sense import contradiction


def of(**inner: object) -> dict[str, object]:
    return {"type": "object", "properties": {"a": inner}, "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (of(type="string", minLength=5, maxLength=4), "$.a: minLength 5 is more than maxLength 4"),
        (of(type="array", minItems=2, maxItems=1), "$.a: minItems 2 is more than maxItems 1"),
        (of(type="integer", minimum=3, maximum=2), "$.a: minimum 3 is more than maximum 2"),
        (of(enum=[]), "$.a: enum holds no choice"),
        (of(type="integer", enum=["x", True]), "$.a: no choice of enum is of the type integer"),
        (of(const="x", enum=["y"]), "$.a: const is no choice of enum"),
        (of(type="string", const=3), "$.a: const is not of the type string"),
        (
            {"type": "object", "properties": {}, "required": ["b"], "additionalProperties": False},
            "$: b is required and not allowed",
        ),
        ({"required": ["a", "b"], "maxProperties": 1}, "$: 2 properties are required and at most 1 allowed"),
        (
            of(type="array", minItems=1, items={"type": "string", "minLength": 2, "maxLength": 1}),
            "$.a[]: minLength 2 is more than maxLength 1",
        ),
        (
            of(type="array", minItems=3, uniqueItems=True, items={"enum": ["A", "B"]}),
            "$.a: 3 different items are wanted of 2 choices",
        ),
        ({"allOf": [{"minimum": 2, "maximum": 1}]}, "$.allOf[0]: minimum 2 is more than maximum 1"),
        (False, "$ allows no value"),
    ],
)
def test_a_schema_that_contradicts_itself_is_named_with_its_place(schema: object, reason: str) -> None:
    assert contradiction(json.dumps(schema)) == reason


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        of(type="string", minLength=4, maxLength=4),
        {"type": "object", "properties": {"a": {"minLength": 5, "maxLength": 4}}},
        of(type="array", items={"minLength": 5, "maxLength": 4}),
        of(type="boolean", const=True),
    ],
)
def test_a_schema_that_something_satisfies_is_not_refused(schema: object) -> None:
    assert contradiction(json.dumps(schema)) == ""
