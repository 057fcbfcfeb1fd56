"""Usage as chats show it: by day, by model and by person, with one picture of all three (spec §11, §14)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from bot.picture import COLOURS, Bar, draw
from core import i18n
from core.commands.model import show_usage
from core.commands.services import Services
from core.domain.policy import Actor
from core.domain.view import UsageLine

PICTURE: Final = "usage.png"
KEYED: Final = 6
"""Models and people with a bar of their own; what the others used is one bar, marked +."""
REST: Final = "+"
NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The last 30 days of a workspace, as one person may see them."""

    days: tuple[UsageLine, ...]
    """Oldest first; days without a call are missing."""
    models: tuple[UsageLine, ...]
    """The costliest first, as are people."""
    people: tuple[UsageLine, ...]


async def read_usage(services: Services, actor: Actor) -> Usage:
    return Usage(
        days=await show_usage(services, actor, by="day"),
        models=await show_usage(services, actor, by="model"),
        people=await show_usage(services, actor, by="person"),
    )


def together(lines: Sequence[UsageLine], label: str = "") -> UsageLine:
    """Several lines as one."""
    return UsageLine(
        label=label,
        calls=sum(line.calls for line in lines),
        input_tokens=sum(line.input_tokens for line in lines),
        output_tokens=sum(line.output_tokens for line in lines),
        cost_usd=sum(line.cost_usd for line in lines),
        unpriced_calls=sum(line.unpriced_calls for line in lines),
    )


def model_key(place: int) -> str:
    """What a model's bar is labelled with: 1, 2, 3 … by its place in `Usage.models`, counted from 0."""
    return str(place + 1) if place < KEYED else REST


def person_key(place: int) -> str:
    """What a person's bar is labelled with: A, B, C …"""
    return chr(ord("A") + place) if place < KEYED else REST


def legend(usage: Usage, locale: str) -> tuple[str, ...]:
    """Which key stands for which model and person; names as they are, to be escaped by whoever shows them."""

    def told(lines: Sequence[UsageLine], sign: str, keys: Sequence[str]) -> str:
        named = [f"{key} {_short(line.label)}" for key, line in zip(keys, lines[:KEYED], strict=False)]
        if rest := len(lines) - KEYED:
            named += [i18n.text(locale, "usage.rest", sign=REST, count=rest)] if rest > 0 else []
        return i18n.text(locale, f"usage.{sign}", names=" · ".join(named))

    return (
        told(usage.models, "models", [model_key(n) for n in range(KEYED)]),
        told(usage.people, "people", [person_key(n) for n in range(KEYED)]),
    )


def alternative(usage: Usage, locale: str) -> str:
    """What the picture says, for people who do not see it; names and numbers stand in the message beside it."""
    total = together(usage.days)
    return i18n.text(
        locale,
        "usage.alternative",
        calls=f"{total.calls:,}",
        tokens=f"{total.input_tokens + total.output_tokens:,}",
        cost=i18n.money(total.cost_usd),
    )


async def draw_usage(usage: Usage) -> bytes:
    """The picture, a PNG: days on top, models and people below. Drawn off the event loop."""
    bands = _days(usage.days), _keyed(usage.models, model_key), _keyed(usage.people, person_key)
    return await asyncio.to_thread(draw, bands)


def _days(lines: Sequence[UsageLine]) -> list[Bar]:
    """A bar for every day from the first with a call to the last."""
    by_day = {date.fromisoformat(line.label): line for line in lines}
    first, last = min(by_day), max(by_day)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [_bar(f"{day:%m-%d}", by_day.get(day) or together(()), 0) for day in days]


def _keyed(lines: Sequence[UsageLine], key: Callable[[int], str]) -> list[Bar]:
    bars = [_bar(key(place), line, place) for place, line in enumerate(lines[:KEYED])]
    return [*bars, _bar(REST, together(lines[KEYED:]), len(COLOURS) - 1)] if len(lines) > KEYED else bars


def _bar(label: str, line: UsageLine, colour: int) -> Bar:
    return Bar(label=label, usd=line.cost_usd, tokens=line.input_tokens + line.output_tokens, colour=colour)


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1] + "…"
