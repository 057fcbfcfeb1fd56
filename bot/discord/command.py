"""The commands that Discord offers for us, as data: what is registered, and what the router knows. Pure."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bot.discord import limit
from core.domain.adoption import REASON_CHARS as ADOPTION_REASON_CHARS
from core.domain.artifact import NAME_CHARS
from core.domain.codraft import LEAST_PASSES, MOST_PASSES
from core.domain.debate import LEAST_REBUTTALS, MOST_REBUTTALS, TOPIC_CHARS
from core.domain.pin import PIN_CHARS, PinKind
from core.domain.review import FOCUS_CHARS, MOST_REVIEWERS
from core.domain.thread import Mode
from core.i18n import DEFAULT_LOCALE, LOCALES, text

SLASH: Final = 1
MESSAGE_MENU: Final = 3
TEXT_OPTION: Final = 3
NUMBER_OPTION: Final = 4
YES_NO_OPTION: Final = 5
FILE_OPTION: Final = 11
SERVER: Final = 0
"""Both where a command may be used (a server, not a direct message) and who may install it (a server)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOption:
    name: str
    kind: int = TEXT_OPTION
    required: bool = False
    suggests: bool = False
    """Values are suggested while one types."""
    choices: tuple[str, ...] = ()
    longest: int | None = None
    between: tuple[int, int] | None = None
    """The least and the most of a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command, or with `is_menu` an entry in the menu of a message."""

    name: str
    is_menu: bool = False
    options: tuple[CommandOption, ...] = ()


MODEL: Final = CommandOption(name="model", suggests=True, longest=100)
POSITION: Final = CommandOption(name="position", suggests=True, longest=10)

MODELS: Final = CommandOption(name="models", suggests=True, longest=limit.OPTION_VALUE)
BACKGROUND: Final = CommandOption(name="background", longest=limit.OPTION_VALUE)
ARTIFACT: Final = CommandOption(name="artifact", suggests=True, longest=NAME_CHARS)
FILE: Final = CommandOption(name="file", kind=FILE_OPTION)

COMMANDS: Final = (
    Command(
        name="chat",
        options=(
            CommandOption(name="message", required=True, longest=limit.FIELD_VALUE),
            MODEL,
            FILE,
        ),
    ),
    Command(
        name="compare",
        options=(
            CommandOption(name="question", required=True, longest=limit.OPTION_VALUE),
            MODELS,
            CommandOption(name="blind", kind=YES_NO_OPTION),
            FILE,
        ),
    ),
    Command(
        name="debate",
        options=(
            CommandOption(name="topic", required=True, longest=TOPIC_CHARS),
            MODELS,
            CommandOption(name="rounds", kind=NUMBER_OPTION, between=(LEAST_REBUTTALS, MOST_REBUTTALS)),
            CommandOption(name="moderator", suggests=True, longest=100),
            BACKGROUND,
            FILE,
        ),
    ),
    Command(
        name="codraft",
        options=(
            CommandOption(name="task", required=True, longest=limit.OPTION_VALUE),
            MODELS,
            CommandOption(name="passes", kind=NUMBER_OPTION, between=(LEAST_PASSES, MOST_PASSES)),
            FILE,
        ),
    ),
    Command(
        name="workflow",
        options=(
            CommandOption(name="workflow", required=True, suggests=True, longest=100),
            CommandOption(name="request", required=True, longest=limit.OPTION_VALUE),
            MODELS,
            BACKGROUND,
            CommandOption(name="constraints", longest=limit.OPTION_VALUE),
            FILE,
        ),
    ),
    Command(
        name="branch",
        options=(
            POSITION,
            CommandOption(name="name", longest=100),
            CommandOption(name="reason", longest=600),
        ),
    ),
    Command(name="retry", options=(MODEL,)),
    Command(name="stop"),
    Command(name="input", options=(POSITION,)),
    Command(name="rename", options=(CommandOption(name="title", required=True, longest=200),)),
    Command(
        name="review",
        options=(
            CommandOption(name="answers", suggests=True, longest=100),
            CommandOption(name="focus", longest=FOCUS_CHARS),
            CommandOption(name="reviewers", kind=NUMBER_OPTION, between=(1, MOST_REVIEWERS)),
        ),
    ),
    Command(
        name="save",
        options=(
            ARTIFACT,
            POSITION,
            CommandOption(name="as_version", kind=YES_NO_OPTION),
        ),
    ),
    Command(
        name="artifacts",
        options=(
            ARTIFACT,
            CommandOption(name="version", kind=NUMBER_OPTION, between=(1, 100_000)),
            CommandOption(name="send", kind=YES_NO_OPTION),
            CommandOption(name="to", suggests=True, longest=100),
        ),
    ),
    Command(
        name="handover", options=(CommandOption(name="target", choices=tuple(mode.value for mode in Mode)),)
    ),
    Command(
        name="pin",
        options=(
            CommandOption(name="kind", required=True, choices=tuple(kind.value for kind in PinKind)),
            CommandOption(name="text", longest=PIN_CHARS),
            POSITION,
        ),
    ),
    Command(name="pins"),
    Command(name="adopt"),
    Command(name="approve"),
    Command(
        name="reject", options=(CommandOption(name="reason", required=True, longest=ADOPTION_REASON_CHARS),)
    ),
    Command(name="withdraw"),
    Command(name="adoptions"),
    Command(name="threads"),
    Command(name="models"),
    Command(name="prompts", options=(CommandOption(name="prompt", suggests=True, longest=100),)),
    Command(name="usage", options=(CommandOption(name="by", choices=("day", "model", "person")),)),
    Command(name="help"),
    Command(name="menu_branch", is_menu=True),
    Command(name="menu_input", is_menu=True),
    Command(name="menu_keep", is_menu=True),
    Command(name="menu_review", is_menu=True),
    Command(name="menu_pin", is_menu=True),
)


def payload() -> list[dict[str, Any]]:
    """All commands as they are registered, in one call that replaces whatever was there."""
    return [_command(command) for command in COMMANDS]


def manifest() -> str:
    """The same as a document to read, compare and keep."""
    return json.dumps(payload(), ensure_ascii=False, indent=2) + "\n"


def payload_hash() -> str:
    """SHA-256 of what is registered, by which a second registration is known to be needless."""
    return hashlib.sha256(json.dumps(payload(), sort_keys=True).encode()).hexdigest()


def shown_name(command: Command, locale: str) -> str:
    """The name that people see."""
    return text(locale, f"discord_name.{command.name}")


def command_named(registered: str, *, is_menu: bool) -> Command | None:
    """The command behind a registered name; None for one that an earlier or later release registered."""
    found = (c for c in COMMANDS if c.is_menu is is_menu and shown_name(c, DEFAULT_LOCALE) == registered)
    return next(found, None)


def _command(command: Command) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": MESSAGE_MENU if command.is_menu else SLASH,
        "name": shown_name(command, DEFAULT_LOCALE),
        "name_localizations": _others(f"discord_name.{command.name}"),
        "contexts": [SERVER],
        "integration_types": [SERVER],
    }
    if not command.is_menu:
        made |= _described(f"discord_command.{command.name}")
    if command.options:
        made["options"] = [_option(option) for option in command.options]
    return made


def _option(option: CommandOption) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": option.kind,
        "name": option.name,
        "name_localizations": _others(f"discord_option.{option.name}"),
        "required": option.required,
        **_described(f"discord_option_help.{option.name}"),
    }
    if option.suggests:
        made["autocomplete"] = True
    if option.longest is not None:
        made["max_length"] = option.longest
    if option.between is not None:
        made["min_value"], made["max_value"] = option.between
    if option.choices:
        made["choices"] = [
            {
                "name": text(DEFAULT_LOCALE, f"discord_choice.{choice}"),
                "name_localizations": _others(f"discord_choice.{choice}"),
                "value": choice,
            }
            for choice in option.choices
        ]
    return made


def _described(key: str) -> dict[str, Any]:
    return {"description": text(DEFAULT_LOCALE, key), "description_localizations": _others(key)}


def _others(key: str) -> dict[str, str]:
    """A text in our languages beside the default; Discord names Japanese as we do."""
    return {locale: text(locale, key) for locale in LOCALES if locale != DEFAULT_LOCALE}


def problems(commands: list[dict[str, Any]]) -> Iterator[str]:
    """What Discord would refuse of a registration."""
    for kind, most in ((SLASH, limit.COMMANDS), (MESSAGE_MENU, limit.MESSAGE_MENUS)):
        if sum(c["type"] == kind for c in commands) > most:
            yield f"more than {most} commands of type {kind}"
    for command in commands:
        name = command["name"]
        if len(_longest_texts(command)) > limit.COMMAND_CHARS:
            yield f"{name}: texts too long together"
        if len(command.get("options", ())) > limit.OPTIONS:
            yield f"{name}: too many options"
        required = [option["required"] for option in command.get("options", ())]
        if required != sorted(required, reverse=True):
            yield f"{name}: a required option after others"


def _longest_texts(command: dict[str, Any]) -> str:
    """Names, descriptions and values of a command and its options, each in its longest language."""
    texts = ""
    for key in ("name", "description"):
        if key in command:
            texts += max([command[key], *command[f"{key}_localizations"].values()], key=len)
    texts += str(command.get("value", ""))
    for inner in (*command.get("options", ()), *command.get("choices", ())):
        texts += _longest_texts(inner)
    return texts
