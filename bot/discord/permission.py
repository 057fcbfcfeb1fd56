"""What the bot must be allowed to do in a server, each with its reason, and the link that grants it."""

from typing import Final
from urllib.parse import urlencode

import discord

from core.i18n import text

NEEDED: Final = (
    "view_channel",  # to see where it is mentioned
    "send_messages",  # to post the message that a thread hangs on
    "send_messages_in_threads",  # to answer; the right to send in channels does not count in threads
    "create_public_threads",  # to open a thread for a mention, /chat or a branch
    "create_private_threads",  # so that a branch of a private thread stays private
    "attach_files",  # transcripts, AI inputs and long answers
    "read_message_history",  # to read what it missed, and a thread that it is mentioned in
)
"""Rights in every channel where it works, by the library's names."""

PERMISSIONS: Final = discord.Permissions(**dict.fromkeys(NEEDED, True)).value

INVITE: Final = "https://discord.com/oauth2/authorize"


def missing(rights: discord.Permissions, wanted: tuple[str, ...] = NEEDED) -> tuple[str, ...]:
    """Those of `wanted` that `rights` do not hold, in their order."""
    return tuple(name for name in wanted if not getattr(rights, name))


def names_of(rights: tuple[str, ...], locale: str) -> str:
    """Rights as Discord's own settings call them."""
    return text(locale, "discord.list_comma").join(text(locale, f"discord_right.{name}") for name in rights)


def invite(application: int, guild: int | None = None) -> str:
    """The address where an administrator grants everything needed, also again in a server that has the bot."""
    query = {
        "client_id": application,
        "scope": "bot applications.commands",
        "permissions": PERMISSIONS,
        **({"guild_id": guild, "disable_guild_select": "true"} if guild else {}),
    }
    return f"{INVITE}?{urlencode(query)}"
