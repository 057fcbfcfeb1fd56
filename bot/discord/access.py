"""Who may see a channel or a thread of Discord at this moment."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

import discord

from bot.discord.channel import Channels, ThreadParent, is_hidden
from bot.discord.traffic import translated
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId

log = logging.getLogger(__name__)

MEMBER_S: Final = 3.0
"""How long the roles of a member are believed after Discord told them; channels and roles are told as they change."""

MEMBERS: Final = 2_000


@dataclass
class Members:
    """Members as Discord vouched for them a moment ago, so that one event asks once."""

    seen: dict[tuple[int, int], tuple[float, discord.Member]] = field(default_factory=dict)

    def see(self, member: discord.Member) -> None:
        """Remember a member as an event brought them."""
        now = asyncio.get_running_loop().time()
        if len(self.seen) >= MEMBERS:
            self.seen = {key: kept for key, kept in self.seen.items() if kept[0] > now - MEMBER_S}
        self.seen[member.guild.id, member.id] = (now, member)

    async def member(self, guild: discord.Guild, person: int) -> discord.Member | None:
        """The member, asked for unless known a moment ago; None for someone who is none. Raises PlatformFailure."""
        known = self.seen.get((guild.id, person))
        if known and known[0] > asyncio.get_running_loop().time() - MEMBER_S:
            return known[1]
        try:
            async with translated():
                member = await guild.fetch_member(person)
        except PlatformFailure as failure:
            if isinstance(failure.__cause__, discord.NotFound):
                return None
            raise
        self.see(member)
        return member


@dataclass
class DiscordAccess:
    """ChannelAccess of Discord. A channel is a text channel or a forum, or a private thread, which counts as its own.

    What cannot be found out is answered with no.
    """

    channels: Channels
    members: Members

    async def can_see(self, workspace_id: WorkspaceId, channel: str, person: str) -> bool:
        if not (channel.isdecimal() and person.isdecimal()):
            return False
        try:
            return await self._can_see(int(channel), int(person))
        except PlatformFailure as failure:
            log.info("rights could not be asked for (%s); answered with no", failure.code)
            return False

    async def _can_see(self, channel_id: int, person: int) -> bool:
        channel = await self.channels.find(channel_id)
        thread = channel if isinstance(channel, discord.Thread) else None
        parent = thread.parent if thread else channel
        if parent is None or isinstance(parent, discord.Thread) or is_hidden(parent):
            return False
        member = await self.members.member(parent.guild, person)
        if member is None or not _may_read(parent, member):
            return False
        return thread is None or not thread.is_private() or await self._is_in(thread, parent, member)

    async def _is_in(self, thread: discord.Thread, parent: ThreadParent, member: discord.Member) -> bool:
        """Membership of a private thread, which the library's own permission check leaves out."""
        if parent.permissions_for(member).manage_threads:
            return True
        try:
            async with translated():
                await thread.fetch_member(member.id)
        except PlatformFailure as failure:
            if isinstance(failure.__cause__, discord.NotFound):
                return False
            raise
        return True


def _may_read(parent: ThreadParent, member: discord.Member) -> bool:
    rights = parent.permissions_for(member)
    return rights.view_channel and rights.read_message_history
