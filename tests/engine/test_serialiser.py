"""What is kept is JSON and comes back equal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import FailureKind, ModelFailure, PlatformFailure, Refusal, StoreUnavailable
from core.engine.serialiser import JsonSerialiser, JsonValue, RecordedFailure, normalised

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_values_come_back_equal(value: JsonValue) -> None:
    serialiser = JsonSerialiser()

    assert serialiser.deserialize(serialiser.serialize(value)) == value
    assert normalised(value) == value


@pytest.mark.parametrize(
    "error",
    [
        Refusal("depth", chain="a > b", depth=5),
        ModelFailure(FailureKind.OVERLOADED, retryable=True, partial_text="半分", retry_after_s=2.5),
        PlatformFailure("ratelimited", retryable=True, retry_after_s=30),
        StoreUnavailable("locked"),
    ],
)
def test_our_errors_come_back_with_type_and_fields(error: Exception) -> None:
    serialiser = JsonSerialiser()

    back = serialiser.deserialize(serialiser.serialize(error))

    assert type(back) is type(error)
    assert vars(back) == vars(error)
    assert str(back) == str(error)


def test_other_errors_come_back_as_recorded_failures() -> None:
    serialiser = JsonSerialiser()

    back = serialiser.deserialize(serialiser.serialize(LookupError("no such thing")))

    assert isinstance(back, RecordedFailure)
    assert str(back) == "LookupError: no such thing"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("nan")])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="JSON"):
        JsonSerialiser().serialize(value)


def test_results_look_the_same_at_once_as_after_a_resume() -> None:
    assert normalised({"ids": ("a", "b")}) == {"ids": ["a", "b"]}


def test_what_is_stored_is_readable() -> None:
    assert JsonSerialiser().serialize({"text": "推敲"}) == '{"text": "推敲"}'
    assert json.loads(JsonSerialiser().serialize(StoreUnavailable("locked"))) == {
        "__error__": {"type": "StoreUnavailable", "reason": "locked"}
    }
