"""Who acts: a person of Slack as the core's actor."""

from dataclasses import dataclass

from bot.slack.access import SlackAccess
from bot.slack.bots import Bot
from bot.slack.people import PLATFORM, People
from core.commands.person import identify
from core.commands.services import Services
from core.domain.policy import Actor
from core.domain.thread import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    bot: Bot
    actor: Actor
    team: str
    """The person's own, which another than the bot's can be: an organisation has several, a shared channel too."""

    @property
    def locale(self) -> str:
        return self.actor.locale


class Callers:
    """Identifies people. An event of theirs from a channel is Slack's word that they can see it."""

    def __init__(self, services: Services, people: People, access: SlackAccess) -> None:
        self._services = services
        self._people = people
        self._access = access

    async def caller(self, bot: Bot, user: str, *, channel: str = "") -> Caller:
        """Raises PlatformFailure and StoreUnavailable."""
        if channel:
            self._access.vouch(bot, channel, user)
        seen = await self._people.seen(bot, user)
        team = await self._people.team(bot, user)
        return Caller(bot=bot, actor=await identify(self._services, seen), team=team)

    def language(self, bot: Bot, user: str) -> str:
        """The person's language as far as it is known without asking."""
        return self._people.known_language(bot, user)


def place(channel: str, thread: str) -> Place:
    return Place(platform=PLATFORM, channel=channel, thread=thread)
