"""What people are told in a channel about a message of theirs; an interaction is answered privately instead."""

import logging
from typing import Any, Final

import discord

from bot.discord.card import Card
from bot.discord.component import NO_MENTIONS, file_of, nonce, view_of
from bot.discord.limit import CONTENT, head
from bot.discord.permission import invite, missing, names_of
from bot.discord.traffic import translated
from core import i18n
from core.domain.errors import PlatformFailure, Refusal

log = logging.getLogger(__name__)

FORBIDDEN: Final = ("50001", "50013")
HOME_RIGHTS: Final = ("send_messages_in_threads", "create_public_threads", "read_message_history")
THREAD_RIGHTS: Final = ("send_messages_in_threads", "read_message_history")


async def reply(message: discord.Message, target: Any, card: Card, key: str) -> None:
    """Post a card about a message: as a reply where it stands, or in `target` when that is elsewhere.

    `key` makes it one post however often the message comes. What Discord does not take is only logged.
    """
    try:
        async with translated():
            here = target.id == message.channel.id
            await target.send(
                content=card.content,
                files=file_of(card),
                view=view_of(card),
                nonce=nonce(f"{key}:{message.id}"),
                reference=message.to_reference(fail_if_not_exists=False) if here else None,
                allowed_mentions=NO_MENTIONS,
                suppress_embeds=True,
            )
    except PlatformFailure as failure:
        log.warning("a reply was not taken (%s)", failure.code, extra={"message_id": message.id})


async def refuse(message: discord.Message, target: Any, refusal: Refusal, locale: str) -> None:
    """Say in one sentence why a message was not taken."""
    card = Card(content=head(i18n.refusal(locale, refusal), CONTENT))
    await reply(message, target, card, f"refusal:{refusal.code}")


def check_rights(channel: Any, wanted: tuple[str, ...], locale: str) -> None:
    """Raise a Refusal that names what the bot may not do in a channel, with the link that grants it."""
    parent = channel.parent if isinstance(channel, discord.Thread) else channel
    if parent is not None and (lacking := missing(parent.permissions_for(parent.guild.me), wanted)):
        raise rights_missing(lacking, parent.guild, locale)


def rights_missing(lacking: tuple[str, ...], guild: discord.Guild, locale: str) -> Refusal:
    return Refusal("rights_missing", rights=names_of(lacking, locale), link=invite(guild.me.id, guild.id))


def explained(
    failure: PlatformFailure, guild: discord.Guild, wanted: tuple[str, ...], locale: str
) -> Refusal:
    """What a person is told of a call that Discord refused."""
    if failure.code in FORBIDDEN:
        return rights_missing(wanted, guild, locale)
    log.warning("Discord did not take a call (%s)", failure.code)
    return Refusal("platform_refused", reason=failure.code)


def locale_of(guild: discord.Guild | None) -> str:
    """The language of a server, as far as it is ours."""
    return i18n.nearest(str(guild.preferred_locale)) if guild else i18n.DEFAULT_LOCALE
