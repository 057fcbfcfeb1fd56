"""A thread that someone is about to start in another mode than Chat: as asked for, as shown, and as read back.

Nothing of it is kept on our side: the card with the estimate carries it whole, in a file. Pure.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from bot.discord.card import Card, PressButton, TextFile
from bot.discord.limit import CONTENT, head
from bot.discord.parse import SentFile
from bot.discord.render import plain
from core.commands.text import TextCommand, Word
from core.domain.thread import Mode
from core.domain.view import EstimateView
from core.i18n import money, phrase, text

START: Final = "begin"
"""Action of the button that begins it."""

FILE: Final = "start.json"
FIRST_WORDS: Final = 300
"""Units of the question that the card itself shows."""

TEXT_OPTION: Final[Mapping[Mode, str]] = {
    Mode.COMPARE: "question",
    Mode.DEBATE: "topic",
    Mode.CODRAFT: "task",
    Mode.WORKFLOW: "request",
}
"""The option that holds what it is about, by the mode."""

WORKFLOW_INPUTS: Final = ("background", "constraints")
BETWEEN: Final = re.compile(r"[\s,、，]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    mode: Mode
    text: str
    """The question, topic, task or first request."""
    setup: Mapping[str, Any]
    """As the core takes it, the text apart."""
    files: tuple[SentFile, ...] = ()


def names_in(typed: str) -> list[str]:
    """Aliases that were typed one after another, divided by commas or blanks."""
    return [name for name in BETWEEN.split(typed) if name]


def plan_of(mode: Mode, options: Mapping[str, str], files: tuple[SentFile, ...]) -> Plan:
    """What the options of a slash command ask for; what is not given is left out."""
    return Plan(
        mode=mode, text=options.get(TEXT_OPTION[mode], ""), setup=dict(_setup(mode, options)), files=files
    )


def _setup(mode: Mode, options: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    models = names_in(options.get("models", ""))
    if models and mode is Mode.DEBATE:
        yield "participants", [{"model": model} for model in models]
    elif models:
        yield "models", models
    match mode:
        case Mode.COMPARE if "blind" in options:
            yield "blind", options["blind"] == str(True)
        case Mode.DEBATE:
            yield from ((name, options[name]) for name in ("moderator", "background") if options.get(name))
            if "rounds" in options:
                yield "rebuttal_rounds", number_in(options["rounds"])
        case Mode.CODRAFT if "passes" in options:
            yield "passes", number_in(options["passes"])
        case Mode.WORKFLOW:
            yield "workflow", options.get("workflow", "")
            yield "inputs", {name: options[name] for name in WORKFLOW_INPUTS if options.get(name)}
        case _:
            return


def number_in(typed: str) -> int | str:
    """A whole number, or what was typed: the core says what is allowed."""
    return int(typed) if re.fullmatch(r"-?[0-9]{1,9}", typed) else typed


def plan_typed(command: TextCommand) -> Plan:
    """What a typed command asks for: with the usual models; a Workflow is named before its request."""
    mode = Mode(command.word.value)
    if command.word is not Word.WORKFLOW:
        return Plan(mode=mode, text=command.rest, setup={})
    name, request = (*command.rest.split(maxsplit=1), "", "")[:2]
    return Plan(mode=mode, text=request, setup={"workflow": name, "inputs": {}})


def document(plan: Plan) -> TextFile:
    """The whole plan as a file that people can read and `read_plan` reads back, exact to the character."""
    kept = {
        "mode": plan.mode.value,
        "text": plan.text,
        "setup": plan.setup,
        "files": [asdict(file) for file in plan.files],
    }
    return TextFile(name=FILE, text=json.dumps(kept, ensure_ascii=False, indent=2) + "\n")


def read_plan(data: bytes) -> Plan:
    """The plan of a file that `document` made, of this release. Raises ValueError, KeyError or TypeError."""
    kept = json.loads(data)
    return Plan(
        mode=Mode(kept["mode"]),
        text=kept["text"],
        setup=kept["setup"],
        files=tuple(SentFile(**file) for file in kept["files"]),
    )


def offer(plan: Plan, estimate: EstimateView, locale: str, *, ref: str, in_file: bool) -> Card:
    """What starting would mean, with the one button that does it; `in_file` keeps the plan on the card."""
    lines = [
        f"**{text(locale, 'discord.start_title', mode=text(locale, f'discord.mode_{plan.mode.value}'))}**",
        f"> {plain(plan.text, FIRST_WORDS)}",
        *(f"- {name}: {value}" for name, value in settings(plan.setup, locale)),
        *(f"- {line}" for line in costs(estimate, locale)),
        *(f"⚠️ {plain(phrase(locale, note), FIRST_WORDS)}" for note in estimate.notes),
        f"-# {text(locale, 'discord.start_means_file' if in_file else 'discord.start_means')}",
    ]
    button = PressButton(label=text(locale, "discord.start"), action=START, ref=ref, strong=True)
    return Card(
        content=head("\n".join(lines), CONTENT),
        buttons=(button,),
        file=document(plan) if in_file else None,
    )


def settings(setup: Mapping[str, Any], locale: str) -> Iterator[tuple[str, str]]:
    """What the thread would begin with, each by its name."""

    def named(name: str, value: object) -> tuple[str, str]:
        return text(locale, f"discord.setting_{name}"), plain(str(value), FIRST_WORDS)

    if "workflow" in setup:
        yield named("workflow", setup["workflow"])
    models = setup.get("models") or [each["model"] for each in setup.get("participants", ())]
    if models:
        yield named("models", ", ".join(models))
    if "moderator" in setup:
        yield named("moderator", setup["moderator"])
    yield from (named(name, setup[name]) for name in ("rebuttal_rounds", "passes") if name in setup)
    given = {"background": setup.get("background", ""), **setup.get("inputs", {})}
    yield from (named(name, value) for name, value in given.items() if value)
    if setup.get("blind"):
        yield named("blind", text(locale, "discord.yes"))


def costs(estimate: EstimateView, locale: str) -> Iterator[str]:
    """What it is expected to cost, line by line."""
    yield text(
        locale,
        "discord.start_calls",
        calls=estimate.calls,
        input=f"{estimate.input_tokens:,}",
        output=f"{estimate.output_tokens:,}",
    )
    if estimate.cost_usd or not estimate.unpriced:
        yield text(locale, "discord.start_cost", cost=money(estimate.cost_usd))
    if estimate.unpriced:
        yield text(locale, "discord.start_unpriced", models=plain(", ".join(estimate.unpriced), FIRST_WORDS))
