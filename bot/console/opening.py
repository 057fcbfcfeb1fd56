"""The form in which a mode is started: its fields as the setup that the core takes, and a setup as its fields. Pure.

Field names are flat, since a plain form has nothing else: `take.<alias>` and `times.<alias>` of Compare, `model.<slot>`
and `role.<letter>` where the order counts, `input.<name>` of a Workflow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.console.parse import count_of
from core.domain import codraft, compare, debate
from core.domain.errors import Refusal
from core.domain.setup import LETTERS
from core.domain.thread import Mode

STARTED_BY_FORM: Final = (Mode.COMPARE, Mode.DEBATE, Mode.CODRAFT, Mode.WORKFLOW)

SLOTS: Final = tuple(str(number) for number in range(1, codraft.MOST_MODELS + 1))
"""Places for models whose order counts."""

SEATS: Final = LETTERS[: debate.MOST_PARTICIPANTS]
FIRST_REQUEST: Final = "firstRequest"
"""The input of a Workflow that the form calls `text`, as every mode's question is called."""

_PREFIXES: Final = ("take.", "times.", "model.", "role.", "input.")
_NAMES: Final = ("text", "blind", "background", "moderator", "rebuttal_rounds", "passes", "workflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A thread that a person is about to start: where, in which mode, and the form as it is filled in."""

    mode: Mode
    channel: str
    event_key: str
    """Empty: the page makes a new one."""
    fields: Mapping[str, str]
    held: str = ""
    """Token of the files that go along; empty when there are none."""
    files: tuple[str, ...] = ()
    """Their names."""

    @property
    def text(self) -> str:
        return self.fields.get("text", "").strip()


def mode_of(value: str) -> Mode:
    """The mode that a form names. Raises Refusal for anything that is not started by a form."""
    if value not in {mode.value for mode in STARTED_BY_FORM}:
        raise Refusal("mode_unknown", allowed=", ".join(mode.value for mode in STARTED_BY_FORM))
    return Mode(value)


def wish_of(form: Mapping[str, str], *, event_key: str = "") -> Wish:
    """What a form holds; fields that are none of its own are dropped. Raises Refusal for an unknown mode."""
    known = {name: value for name, value in form.items() if name in _NAMES or name.startswith(_PREFIXES)}
    return Wish(
        mode=mode_of(form.get("mode", "")),
        channel=form.get("channel", ""),
        event_key=event_key or form.get("event_key", ""),
        fields=known,
    )


def fields_of(mode: Mode, setup: Mapping[str, Any]) -> dict[str, str]:
    """The fields that a form of the mode begins with."""
    models: list[str] = setup.get("models", [])
    match mode:
        case Mode.COMPARE:
            taken = {f"take.{alias}": "on" for alias in models}
            times = {f"times.{alias}": str(models.count(alias)) for alias in models}
            return {**taken, **times, **({"blind": "on"} if setup.get("blind") else {})}
        case Mode.DEBATE:
            seats = dict(zip(SEATS, setup["participants"], strict=False))
            return {
                **{f"model.{letter}": one["model"] for letter, one in seats.items()},
                **{f"role.{letter}": one["role"] for letter, one in seats.items()},
                "background": setup["background"],
                "moderator": setup["moderator"],
                "rebuttal_rounds": str(setup["rebuttal_rounds"]),
            }
        case Mode.CODRAFT:
            return {**_slots(models), "passes": str(setup["passes"])}
        case _:
            return _slots(models)


def setup_of(wish: Wish) -> dict[str, object]:
    """What the core is given; the text goes apart. Raises Refusal for a number that is none."""
    fields = wish.fields
    match wish.mode:
        case Mode.COMPARE:
            return {"models": _taken(fields), "blind": "blind" in fields}
        case Mode.DEBATE:
            return {
                "background": fields.get("background", ""),
                "participants": [
                    {"model": model, "role": fields.get(f"role.{letter}", "")}
                    for letter in SEATS
                    if (model := fields.get(f"model.{letter}", "").strip())
                ],
                "moderator": fields.get("moderator", ""),
                "rebuttal_rounds": _number(
                    fields, "rebuttal_rounds", debate.LEAST_REBUTTALS, debate.MOST_REBUTTALS
                ),
            }
        case Mode.CODRAFT:
            passes = _number(fields, "passes", codraft.LEAST_PASSES, codraft.MOST_PASSES)
            return {"models": _in_slots(fields), "passes": passes}
        case _:
            inputs = {
                name.removeprefix("input."): value
                for name, value in fields.items()
                if name.startswith("input.") and value.strip()
            }
            return {
                "workflow": fields.get("workflow", ""),
                "inputs": inputs,
                "models": _in_slots(fields),
            }


def _taken(fields: Mapping[str, str]) -> list[str]:
    models: list[str] = []
    for name in fields:
        if name.startswith("take."):
            alias = name.removeprefix("take.")
            models += [alias] * _number(fields, f"times.{alias}", 1, compare.MOST_MODELS)
    return models


def _slots(models: list[str]) -> dict[str, str]:
    return {f"model.{slot}": alias for slot, alias in zip(SLOTS, models, strict=False)}


def _in_slots(fields: Mapping[str, str]) -> list[str]:
    return [alias for slot in SLOTS if (alias := fields.get(f"model.{slot}", "").strip())]


def _number(fields: Mapping[str, str], name: str, least: int, most: int) -> int:
    """A whole number; the least one where the field is blank. Raises Refusal for anything else."""
    return count_of(fields.get(name, ""), name, least=least, most=most, default=least)
