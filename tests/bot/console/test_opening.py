from collections.abc import Mapping
from typing import Any

import pytest

from bot.console.opening import STARTED_BY_FORM, Wish, fields_of, mode_of, setup_of, wish_of
from core.domain.errors import Refusal
from core.domain.thread import Mode

SETUPS: dict[Mode, dict[str, Any]] = {
    Mode.COMPARE: {"models": ["alpha", "alpha", "beta"], "blind": True},
    Mode.DEBATE: {
        "background": "Budget: 5",
        "participants": [{"model": "alpha", "role": "skeptic"}, {"model": "beta", "role": "analyst"}],
        "moderator": "seer",
        "rebuttal_rounds": 3,
    },
    Mode.CODRAFT: {"models": ["beta", "alpha", "beta"], "passes": 5},
    Mode.WORKFLOW: {"models": ["alpha", "beta"]},
}


def wish(mode: Mode, fields: Mapping[str, str]) -> Wish:
    return Wish(mode=mode, channel="general", event_key="k", fields=fields)


@pytest.mark.parametrize("mode", STARTED_BY_FORM)
def test_a_form_that_nobody_changes_gives_back_its_setup(mode: Mode) -> None:
    setup = SETUPS[mode]
    given = setup_of(wish(mode, fields_of(mode, setup)))
    assert {name: given[name] for name in setup} == setup


def test_only_the_ticked_models_are_asked_each_as_often_as_its_number_says() -> None:
    fields = {"times.alpha": "6", "take.beta": "on", "times.beta": "2", "take.seer": "on", "times.seer": ""}
    assert setup_of(wish(Mode.COMPARE, fields)) == {"models": ["beta", "beta", "seer"], "blind": False}


def test_an_empty_seat_or_slot_is_nobody() -> None:
    debate = setup_of(
        wish(Mode.DEBATE, {"model.A": "alpha", "model.B": " ", "model.C": "beta", "role.C": "analyst"})
    )
    assert debate["participants"] == [{"model": "alpha", "role": ""}, {"model": "beta", "role": "analyst"}]
    assert setup_of(wish(Mode.CODRAFT, {"model.1": "", "model.4": "beta"}))["models"] == ["beta"]


def test_blank_inputs_of_a_workflow_are_not_given() -> None:
    fields = {
        "workflow": "decision_memo",
        "input.background": " ",
        "input.constraints": "5",
        "model.1": "alpha",
    }
    assert setup_of(wish(Mode.WORKFLOW, fields)) == {
        "workflow": "decision_memo",
        "inputs": {"constraints": "5"},
        "models": ["alpha"],
    }


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "９", "1e3", "0", "99999999999", "' or 1=1"])
@pytest.mark.parametrize(
    ("mode", "name", "more"),
    [
        (Mode.COMPARE, "times.alpha", {"take.alpha": "on"}),
        (Mode.DEBATE, "rebuttal_rounds", {}),
        (Mode.CODRAFT, "passes", {}),
    ],
)
def test_a_number_that_is_none_is_refused(mode: Mode, name: str, more: dict[str, str], value: str) -> None:
    with pytest.raises(Refusal, match="setting_not_number"):
        setup_of(wish(mode, {**more, name: value}))


@pytest.mark.parametrize(("mode", "name"), [(Mode.DEBATE, "rebuttal_rounds"), (Mode.CODRAFT, "passes")])
def test_a_number_beyond_its_limits_is_refused_with_them(mode: Mode, name: str) -> None:
    with pytest.raises(Refusal, match="setting_out_of_range") as refused:
        setup_of(wish(mode, {name: "6"}))
    assert refused.value.fields["most"] in {3, 5}


@pytest.mark.parametrize("value", ["", "chat", "Compare", "handover", "../compare"])
def test_only_modes_with_a_form_are_started_by_one(value: str) -> None:
    with pytest.raises(Refusal, match="mode_unknown"):
        mode_of(value)


def test_fields_that_are_none_of_the_form_are_dropped() -> None:
    made = wish_of(
        {"mode": "compare", "channel": "c", "event_key": "k", "text": " t ", "back": "/x", "take.a": "on"},
        event_key="fresh",
    )
    assert made == Wish(
        mode=Mode.COMPARE, channel="c", event_key="fresh", fields={"text": " t ", "take.a": "on"}
    )
    assert made.text == "t"
