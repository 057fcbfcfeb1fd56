"""Threads that Slack may not open: whoever asked for one is written to then, with the button to try again."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from bot.slack.background import Background
from bot.slack.block import actions, button, section
from bot.slack.bots import Bot
from bot.slack.caller import Caller, Callers
from bot.slack.markdown import escape, one_line
from bot.slack.parse import ACTION
from bot.slack.private import Private
from bot.slack.render import SlackMessage
from core import i18n
from core.commands.place import Standing, standing_of
from core.commands.services import Services
from core.commands.thread import show_thread
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)

FIRST_LOOK_S: Final = 0.5
LAST_LOOK_S: Final = 3.0
PATIENCE_S: Final = 300.0
"""Pauses between the looks, which grow, and when looking ends: an opening that goes on has a deadline before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Openings:
    services: Services
    callers: Callers
    private: Private
    background: Background

    def watch(self, caller: Caller, thread_id: str) -> None:
        """Have a person told if the thread that they asked for is not opened."""
        self.background.leave(self._watch(caller.bot, caller.actor.external_id, thread_id), name="opening")

    async def _watch(self, bot: Bot, user: str, thread_id: str) -> None:
        loop, pause_s = asyncio.get_running_loop(), FIRST_LOOK_S
        deadline = loop.time() + PATIENCE_S
        while loop.time() < deadline:
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LAST_LOOK_S)
            try:
                caller = await self.callers.caller(bot, user)
                standing = await standing_of(self.services, caller.actor, thread_id)
                if standing is Standing.NOT_OPENED:
                    await self._tell(caller, thread_id)
            except Refusal:
                return
            except (StoreUnavailable, PlatformFailure) as problem:
                log.info("looking for a thread again (%s)", problem)
                continue
            if standing is not Standing.OPENING:
                return

    async def _tell(self, caller: Caller, thread_id: str) -> None:
        page = await show_thread(self.services, caller.actor, thread_id)
        said = escape(i18n.text(caller.locale, "card.not_opened", title=one_line(page.title, 200)))
        label = i18n.text(caller.locale, "button.open_again")
        again = button(label, f"{ACTION}{ButtonAction.OPEN_AGAIN.value}", thread_id, style="primary")
        message = SlackMessage(blocks=(section(said), actions("opening", [again])), text=said)
        await self.private.write(caller.bot, caller.actor.external_id, message)
