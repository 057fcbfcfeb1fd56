"""Discord's messages and interactions as plain arguments of commands. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import discord

from bot.carried import is_meant, is_name
from bot.discord.limit import PLATFORM
from bot.prompt_outline import asked
from core.commands.person import PersonSeen, WorkspaceSeen
from core.commands.say import Earlier
from core.commands.text import STARTS, TextCommand, Word, parse_command
from core.domain.message import AuthorKind

MENTION: Final = re.compile(r"<(@!?|@&|#)(\d{1,20})>")
SPOKEN: Final = (discord.MessageType.default, discord.MessageType.reply)
"""Kinds of message that a person wrote; the others are Discord's own notes."""

WITHOUT_ARGUMENTS: Final = (
    Word.STOP,
    Word.INPUT,
    Word.REVIEW,
    Word.THREADS,
    Word.MODELS,
    Word.USAGE,
    Word.HELP,
    Word.PINS,
    Word.ADOPTIONS,
    Word.APPROVE,
    Word.WITHDRAW,
)
SENTENCES: Final = (Word.HANDOVER, Word.ADOPT, Word.REJECT)
"""Outside our threads, where there is nothing to do them to, these begin ordinary sentences."""

WITH_ONE_NAME: Final = (Word.RETRY, Word.SAVE, Word.ARTIFACTS)
"""Typed with more they are ordinary words; the slash command takes whatever is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """How people mention the bot: its user, and the role that Discord manages for it."""

    user: int
    role: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a message says."""

    text: str
    """Mentions are written as names; those of the bot at the beginning are left out."""
    mentions_bot: bool
    mentions_other: bool
    """It begins by mentioning somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file of a message, still with Discord."""

    name: str
    media_type: str
    size_bytes: int
    url: str


def is_for_people(message: discord.Message) -> bool:
    """Whether a person said it: no bot, no webhook, none of Discord's own notes."""
    return not message.author.bot and message.webhook_id is None and message.type in SPOKEN


def own_of(guild: discord.Guild) -> Own:
    role = guild.self_role
    return Own(user=guild.me.id, role=role.id if role else None)


def words_of(message: discord.Message, own: Own) -> Words:
    """What a message says; a reply that pings one of our posts mentions us too."""
    names = {f"@{user.id}": user.display_name for user in message.mentions}
    names |= {f"@&{role.id}": role.name for role in message.role_mentions}
    names |= {f"#{c.id}": c.name for c in message.channel_mentions if hasattr(c, "name")}
    pinged = any(user.id == own.user for user in message.mentions)
    return read_words(message.content, own, names, pinged=pinged)


def read_words(content: str, own: Own, names: Mapping[str, str], *, pinged: bool = False) -> Words:
    """`names` are by sign and id, as `@1`, `@&2`, `#3`."""
    mine = {f"@{own.user}"} | ({f"@&{own.role}"} if own.role else set())
    mentioned = [(kind.rstrip("!"), number) for kind, number in MENTION.findall(content)]
    rest = content.lstrip()
    mentions_other = False
    while found := MENTION.match(rest):
        if found[1].rstrip("!") + found[2] not in mine:
            mentions_other = found[1].startswith("@") and rest == content.lstrip()
            break
        rest = rest[found.end() :].lstrip(" \t\n,:、，：")
    text = MENTION.sub(lambda m: _name(m[1].rstrip("!"), m[2], names), rest)
    return Words(
        text=text.strip(),
        mentions_bot=pinged or any(kind + number in mine for kind, number in mentioned),
        mentions_other=mentions_other,
    )


def _name(kind: str, number: str, names: Mapping[str, str]) -> str:
    sign = "#" if kind == "#" else "@"
    return f"{sign}{names.get(kind + number, number)}"


def command_in(words: Words, *, ours: bool) -> TextCommand | None:
    """The command that is typed after a mention; a sentence that only begins like one is none.

    In a thread of `ours` no other thread is started, so there the words for that are ordinary ones.
    """
    command = parse_command(words.text) if words.mentions_bot else None
    if command is None or (ours and command.word in STARTS) or not is_meant(command):
        return None
    if command.word is Word.PROMPTS and asked(command.rest) is None:
        return None
    if not ours and command.rest and command.word in SENTENCES:
        return None
    if command.rest and command.word in WITHOUT_ARGUMENTS:
        return None
    if command.word in WITH_ONE_NAME and not is_name(command.rest):
        return None
    return command


def files_of(message: discord.Message) -> tuple[SentFile, ...]:
    return tuple(
        SentFile(name=a.filename, media_type=a.content_type or "", size_bytes=a.size, url=a.url)
        for a in message.attachments
    )


def workspace_of(guild: discord.Guild) -> WorkspaceSeen:
    return WorkspaceSeen(platform=PLATFORM, external_id=str(guild.id), name=guild.name)


def person_of(member: discord.Member, locale: str | None) -> PersonSeen:
    """A member as Discord vouches for them. Without a locale the server's language is the guess."""
    rights = member.guild_permissions
    return PersonSeen(
        workspace=workspace_of(member.guild),
        external_id=str(member.id),
        name=member.display_name,
        locale=locale or str(member.guild.preferred_locale),
        locale_is_guess=locale is None,
        is_admin=rights.administrator or rights.manage_guild,
    )


def earlier_of(messages: Iterable[discord.Message], own: Own) -> tuple[Earlier, ...]:
    """What stood in a human thread before, in the order given; our own posts are no part of it."""
    taken = []
    for message in messages:
        if message.author.id == own.user or message.type not in SPOKEN:
            continue
        by_bot = message.author.bot or message.webhook_id is not None
        taken.append(
            Earlier(
                external_id=str(message.id),
                author_external_id=str(message.author.id),
                author_name=message.author.display_name,
                author_kind=AuthorKind.BOT if by_bot else AuthorKind.PERSON,
                text=words_of(message, own).text,
                created_at=message.created_at,
            )
        )
    return tuple(taken)


# --- interactions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A command that was given: its name as registered, its options as typed, its target and files."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    focused: str = ""
    """The option that is being typed, for suggestions."""
    target: str = ""
    """Id of the message that a menu command was called on."""
    files: tuple[SentFile, ...] = ()


def invocation_of(data: Mapping[str, Any]) -> Invocation:
    """What an interaction's data asks for; data of other kinds than commands is refused with KeyError."""
    options: Sequence[Mapping[str, Any]] = data.get("options") or ()
    attached = (data.get("resolved") or {}).get("attachments") or {}
    chosen = [o["value"] for o in options if o["type"] == discord.AppCommandOptionType.attachment.value]
    return Invocation(
        name=data["name"],
        options={o["name"]: str(o.get("value", "")) for o in options},
        focused=next((o["name"] for o in options if o.get("focused")), ""),
        target=str(data.get("target_id") or ""),
        files=tuple(_file(attached[key]) for key in map(str, chosen) if key in attached),
    )


def _file(attached: Mapping[str, Any]) -> SentFile:
    return SentFile(
        name=attached["filename"],
        media_type=attached.get("content_type") or "",
        size_bytes=attached["size"],
        url=attached["url"],
    )


def answers_of(components: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The fields of a submitted form by their names."""
    found: dict[str, str] = {}
    for component in components:
        inner = component.get("component")
        for leaf in [inner] if inner else component.get("components") or ():
            if "custom_id" in leaf:
                values = leaf.get("values")
                found[leaf["custom_id"]] = values[0] if values else str(leaf.get("value") or "")
    return found
