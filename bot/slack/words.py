"""What stands in a message: references, commands, links. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.carried import is_meant, is_name
from bot.prompt_outline import asked
from core.commands.text import STARTS, TextCommand, Word, parse_command
from core.domain.errors import Refusal

_REFERENCE: Final = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def people_in(text: str) -> tuple[str, ...]:
    """Ids of the people a text mentions, in order."""
    return tuple(dict.fromkeys(m[2] for m in _REFERENCE.finditer(text) if m[1] == "@"))


def plain(text: str, names: Mapping[str, str], bot: str) -> str:
    """A message as its writer sees it: references as names and addresses, escapes undone.

    Mentions of the bot at either end are how it is called and not part of what is said.
    """
    call = rf"<@{re.escape(bot)}(?:\|[^<>]*)?>"
    text = re.sub(rf"^(?:\s*{call}[\s,:、：]*)+|(?:\s*{call})+\s*$", "", text)

    def named(found: re.Match[str]) -> str:
        kind, target, label = found[1], found[2], found[3] or ""
        if kind == "@":
            return f"@{names.get(target) or label or target}"
        if kind == "#":
            return f"#{label or target}"
        if kind == "!":
            return label or f"@{target.split('^')[0]}"
        address = target.removeprefix("mailto:")
        return address if not label or label in (target, address) else f"{label} ({address})"

    text = _REFERENCE.sub(named, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def begins_with_another(text: str, bot: str) -> bool:
    """Whether a message speaks to another person: it begins with a mention that is not the bot's."""
    found = _REFERENCE.match(text.lstrip())
    return found is not None and found[1] == "@" and found[2] != bot


_NUMBERED: Final = re.compile(r"\d{1,3}(?:\s|$)")


def command_in(text: str, *, called: bool, ours: bool) -> TextCommand | None:
    """The command that a message is, None for a message that is just said.

    A command follows a mention of the bot; in the conversation with the bot alone a single word will do. Words that
    also begin ordinary sentences count only where nothing else follows them.
    """
    command = parse_command(text)
    if command is None or not is_meant(command):
        return None
    if not called:
        alone = not command.rest and command.position is None
        return command if alone and command.word not in STARTS | {Word.BRANCH} else None
    if command.word in STARTS:
        # A thread keeps its mode: inside one the same words are said to its model.
        return None if ours else command
    match command.word:
        case Word.BRANCH:
            return command if ours or command.position is not None or not command.rest else None
        case Word.RENAME | Word.PIN | Word.HANDOVER | Word.ADOPT | Word.REJECT:
            return command if ours else None
        case Word.RETRY | Word.SAVE | Word.ARTIFACTS:
            return command if is_name(command.rest) else None
        case Word.PROMPTS:
            return command if asked(command.rest) else None
        case Word.REVIEW:
            return command if not command.rest or _NUMBERED.match(command.rest) else None
        case _:
            return command if not command.rest else None


# --- links ----------------------------------------------------------------------------------------------------------

_PERMALINK: Final = re.compile(
    r"https://[\w.-]+\.slack(?:-gov)?\.com/archives/([A-Z0-9]{2,})/p(\d{10})(\d{6})(?:\?\S*)?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """A message that a link points to."""

    channel: str
    message: str


def permalink(text: str) -> Pointed | None:
    """The message behind a copied link; None for a text that is no link. Raises Refusal for any other address."""
    text = text.strip().strip("<>").partition("|")[0]
    if not text.startswith(("http://", "https://")):
        return None
    found = _PERMALINK.match(text)
    if found is None:
        raise Refusal("slack_link_malformed")
    return Pointed(channel=found[1], message=f"{found[2]}.{found[3]}")
