"""What the fields of the form of a mode mean."""

import json

import pytest

from bot.slack.start_form import Wish, setup_of, take, taken, usual_values, wish
from core.domain.codraft import CoDraftSetup
from core.domain.debate import BACKGROUND_CHARS, DebateSetup
from core.domain.errors import Refusal
from core.domain.thread import Mode

DEBATE = {
    "text": "Topic",
    "models": take(["alpha", "beta", "alpha"]),
    "moderator": "beta",
    "rebuttal_rounds": "1",
}


def asked(mode: Mode, values: dict[str, str]) -> Wish:
    return Wish(id="1", mode=mode, channel="C1", values=values)


def test_models_come_back_in_the_order_chosen_also_twice() -> None:
    assert taken({"models": take(["beta", "alpha", "beta"])}) == ["beta", "alpha", "beta"]
    assert taken({}) == []


def test_usual_settings_survive_the_form() -> None:
    setup = DebateSetup.from_json({**setup_of(asked(Mode.DEBATE, DEBATE)), "topic": "Topic"})
    again = usual_values(Mode.DEBATE, setup.to_json(), "Topic")
    assert again == DEBATE


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"rebuttal_rounds": "0"}, "setting_out_of_range"),
        ({"rebuttal_rounds": "many"}, "slack_form_old"),
        ({"background": "x" * (BACKGROUND_CHARS + 1)}, "background_too_long"),
        ({"models": take(["alpha"])}, "debate_participant_count"),
        ({"moderator": ""}, "moderator_missing"),
    ],
)
def test_a_forged_form_is_refused(more: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        DebateSetup.from_json({**setup_of(asked(Mode.DEBATE, DEBATE | more)), "topic": "Topic"})
    assert refused.value.code == code


def test_passes_beyond_the_limit_are_refused() -> None:
    values = {"models": take(["alpha", "beta"]), "passes": "6"}
    with pytest.raises(Refusal):
        CoDraftSetup.from_json({**setup_of(asked(Mode.CODRAFT, values)), "task": "Task"})


def test_a_form_carries_what_it_is_about_and_a_change_shows() -> None:
    first = asked(Mode.DEBATE, DEBATE)
    assert wish(first.dump(), DEBATE) == first
    assert asked(Mode.DEBATE, DEBATE | {"background": ""}).digest == first.digest
    assert asked(Mode.DEBATE, DEBATE | {"background": "x"}).digest != first.digest
    for metadata in ("", "[]", json.dumps({"i": "1", "m": "nothing", "c": "C1", "d": ""})):
        with pytest.raises(Refusal) as refused:
            wish(metadata, DEBATE)
        assert refused.value.code == "slack_form_old"
