"""What the engine keeps is JSON: readable years later, and reading it never runs code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from dbos import Serializer

from core.domain.errors import FailureKind, ModelFailure, PlatformFailure, Refusal, StoreUnavailable

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]

_ERROR = "__error__"


class RecordedFailure(Exception):
    """An error, none of the product's own, that a step or a run of an earlier execution ended with."""


class JsonSerialiser(Serializer):
    """Values as JSON; errors as JSON that comes back as an equal error.

    A step that failed fails again when a resumed run passes it. The product's own errors come back with their type
    and fields, so that the code around the step decides as it did the first time.
    """

    def serialize(self, data: object) -> str:
        """Raises TypeError or ValueError for what JSON cannot hold."""
        if isinstance(data, BaseException):
            data = {_ERROR: _error_fields(data)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def deserialize(self, serialized_data: str) -> object:
        value = json.loads(serialized_data)
        if isinstance(value, dict) and value.keys() == {_ERROR}:
            return _error_from(value[_ERROR])
        return value

    def name(self) -> str:
        """Stored beside every value: under a new name no older value can be read."""
        return "promptflow_json"


def normalised(value: JsonValue) -> JsonValue:
    """The value as it will be read back: tuples become lists, keys become texts.

    Raises TypeError or ValueError for what JSON cannot hold.
    """
    return cast(JsonValue, json.loads(json.dumps(value, allow_nan=False)))


def _error_fields(error: BaseException) -> dict[str, object]:
    fields: dict[str, object] = {"type": type(error).__name__}
    match error:
        case Refusal():
            fields |= {"code": error.code, "fields": error.fields}
        case ModelFailure():
            fields |= {
                "kind": error.kind.value,
                "retryable": error.retryable,
                "partial_text": error.partial_text,
                "retry_after_s": error.retry_after_s,
            }
        case PlatformFailure():
            fields |= {"code": error.code, "retryable": error.retryable, "retry_after_s": error.retry_after_s}
        case StoreUnavailable():
            fields |= {"reason": str(error)}
        case _:
            fields |= {"text": str(error)}
    return fields


def _error_from(fields: dict[str, Any]) -> Exception:
    kind = fields.pop("type")
    match kind:
        case "Refusal":
            return Refusal(fields["code"], **fields["fields"])
        case "ModelFailure":
            return ModelFailure(FailureKind(fields.pop("kind")), **fields)
        case "PlatformFailure":
            return PlatformFailure(fields.pop("code"), **fields)
        case "StoreUnavailable":
            return StoreUnavailable(fields["reason"])
        case _:
            return RecordedFailure(f"{kind}: {fields['text']}")
