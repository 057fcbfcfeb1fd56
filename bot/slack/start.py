"""Starting a mode: the form of a slash command, or words after a mention; the estimate; the thread.

Nothing is remembered here between the steps. A form carries everything along; a mention is read from Slack again when
its Start is pressed. Each names the one thread that may come of it, so that pressing twice starts one.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from bot.slack.access import SlackAccess
from bot.slack.block import actions, button
from bot.slack.caller import Caller, place
from bot.slack.parse import ACTION, SEPARATOR, Spot, Submission
from bot.slack.poster import SlackPoster
from bot.slack.render import SlackMessage
from bot.slack.start_form import (
    FIELD_CHARS,
    WORKFLOW,
    Wish,
    digest,
    estimate_blocks,
    question_message,
    setup_of,
    start_form,
    usual_values,
    wish,
)
from bot.slack.status import Statuses
from bot.slack.stream import Streams
from core import i18n
from core.commands.event import is_first
from core.commands.opening import estimate_start, usual_setup
from core.commands.say import Said, check_start, say
from core.commands.services import Services, allowed_models
from core.commands.text import TextCommand, Word
from core.domain.errors import Refusal
from core.domain.thread import Mode

View = dict[str, Any]

START_ACTION: Final = f"{ACTION}start"
MODES: Final = {
    Word.COMPARE: Mode.COMPARE,
    Word.DEBATE: Mode.DEBATE,
    Word.CODRAFT: Mode.CODRAFT,
    Word.WORKFLOW: Mode.WORKFLOW,
}
DIRECT: Final = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a Start under an estimate stands for: a person's own message, and what it said when it was estimated."""

    message: str
    thread: str
    digest: str

    def dump(self) -> str:
        return SEPARATOR.join((self.message, self.thread, self.digest))


def offer(value: str) -> Offer:
    """Raises Refusal for a value that is not ours."""
    parts = value.split(SEPARATOR)
    if len(parts) != 3:
        raise Refusal("slack_form_old")
    return Offer(message=parts[0], thread=parts[1], digest=parts[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A mode named in a message, with what the message gives it."""

    mode: Mode
    setup: Mapping[str, object]
    text: str


CHAT: Final = Typed(mode=Mode.CHAT, setup={}, text="")
"""A message that names no mode."""


def typed_start(command: TextCommand) -> Typed:
    """What words after a mention ask for; a Workflow is named before its request."""
    mode = MODES[command.word]
    if mode is not Mode.WORKFLOW:
        return Typed(mode=mode, setup={}, text=command.rest)
    name, *rest = command.rest.split(maxsplit=1) or [""]
    return Typed(mode=mode, setup={"workflow": name}, text=rest[0] if rest else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was started then."""

    services: Services
    access: SlackAccess
    poster: SlackPoster
    streams: Streams
    statuses: Statuses
    _starting: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    # --- the form ----------------------------------------------------------------------------------------------------

    async def fill(self, caller: Caller, channel: str, mode: Mode, text: str) -> View:
        """The form of a mode with the usual settings."""
        await self.access.check_usable(caller.bot, channel)
        chosen = ""
        if mode is Mode.WORKFLOW:
            named = text.split(maxsplit=1)
            if named and named[0] in self.services.workflows:
                chosen, text = named[0], named[1] if len(named) > 1 else ""
        if len(text) > FIELD_CHARS:
            raise Refusal("slack_question_long", had=len(text), limit=FIELD_CHARS)
        values = usual_values(mode, usual_setup(self.services, caller.actor, mode), text)
        if mode is Mode.WORKFLOW:
            values[WORKFLOW] = chosen or next(iter(self.services.workflows), "")
        opened = Wish(id=self.services.clock.new_id(), mode=mode, channel=channel, values=values)
        return self._form(caller, opened)

    def refill(self, caller: Caller, metadata: str, values: Mapping[str, str]) -> View:
        """The same form for another workflow."""
        return self._form(caller, replace(wish(metadata, values), seen=""))

    def _form(self, caller: Caller, asked: Wish, **more: Any) -> View:
        models = allowed_models(self.services, self.services.policy(caller.actor.workspace))
        return start_form(caller.locale, asked, models=models, workflows=self.services.workflows, **more)

    async def submit(self, caller: Caller, form: Submission) -> View | None:
        """The estimate where none was seen for exactly this; otherwise the thread is started, and there is no view."""
        asked = wish(form.metadata, form.values)
        if asked.seen == asked.digest:
            await self._start(caller, asked)
            return None
        await self.access.check_usable(caller.bot, asked.channel)
        view = estimate_start(self.services, caller.actor, asked.mode, setup_of(asked), asked.text)
        await check_start(self.services, caller.actor, self._said(caller, asked, ""))
        return self._form(caller, replace(asked, seen=asked.digest), estimate=view)

    async def _start(self, caller: Caller, asked: Wish) -> None:
        """Post the question and begin the thread under it; once, however often it is asked for."""
        lock = self._starting.setdefault(asked.id, asyncio.Lock())
        async with lock:
            await self.access.check_usable(caller.bot, asked.channel)
            if await check_start(self.services, caller.actor, self._said(caller, asked, "")) is not None:
                return
            again = not await is_first(self.services, caller.actor, f"question:{asked.id}")
            workspace_id = caller.actor.workspace_id
            question = question_message(caller.locale, asked, caller.actor.name, self.services.workflows)
            root = await self.poster.open_with(
                workspace_id, asked.channel, question, key=f"{asked.id}/question", again=again
            )
            try:
                result = await say(self.services, caller.actor, self._said(caller, asked, root))
            except Refusal:
                if not again:
                    await self.poster.take_back(workspace_id, asked.channel, root)
                raise
        if result.duplicate:
            return
        bot, user = caller.bot, caller.actor.external_id
        self.streams.reads(asked.channel, root, user=user, team=caller.team)
        if asked.channel.startswith(DIRECT):
            self.statuses.begin(bot, asked.channel, root, user)

    def _said(self, caller: Caller, asked: Wish, root: str) -> Said:
        return Said(
            text=asked.text,
            event_key=f"start:{asked.id}",
            external_id=root,
            mentions_bot=True,
            place=place(asked.channel, root),
            mode=asked.mode,
            setup=setup_of(asked),
            estimate_seen=True,
            locale=caller.locale,
        )

    # --- words after a mention ---------------------------------------------------------------------------------------

    async def offer(self, caller: Caller, spot: Spot, command: TextCommand) -> SlackMessage:
        """The estimate for a mode named in a message, with the usual settings, and its Start."""
        asked = typed_start(command)
        view = estimate_start(self.services, caller.actor, asked.mode, asked.setup, asked.text)
        said = Said(
            text=asked.text,
            event_key=spot.key,
            external_id=spot.message,
            mentions_bot=True,
            place=place(spot.channel, spot.thread),
            mode=asked.mode,
            setup=asked.setup,
            estimate_seen=True,
        )
        await check_start(self.services, caller.actor, said)
        means = Offer(message=spot.message, thread=spot.thread, digest=digest(_whole(asked)))
        t = caller.locale
        start = button(i18n.text(t, "slack_modes.start"), START_ACTION, means.dump(), style="primary")
        usual = usual_setup(self.services, caller.actor, asked.mode)
        blocks = (*estimate_blocks(t, asked.mode, usual, view), actions("start", [start]))
        title = i18n.text(
            t, "slack_modes.estimate_title", mode=i18n.text(t, f"slack_modes.{asked.mode.value}")
        )
        return SlackMessage(blocks=blocks, text=title)


def still_says(meant: Offer, asked: Typed) -> bool:
    """Whether a message says what it said when it was estimated."""
    return meant.digest == digest(_whole(asked))


def _whole(asked: Typed) -> str:
    return "\n".join((asked.mode.value, str(asked.setup.get("workflow", "")), asked.text))
