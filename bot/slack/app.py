"""The listeners: every delivery of Slack is verified, handed on, and acknowledged once its work is stored.

The library answers Slack when a listener has ended (`process_before_response`), so what a listener returns is what
Slack is told. An event that was not stored is not acknowledged; clicks and commands are never delivered again, so they
are acknowledged in any case and the person is told how it went.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, assert_never

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.async_context import AsyncBoltContext
from slack_bolt.response import BoltResponse

from bot.slack.access import SlackAccess
from bot.slack.acknowledging import ACK_S, acknowledged, come_again
from bot.slack.background import Background
from bot.slack.bots import Bot, Bots
from bot.slack.caller import Caller, Callers
from bot.slack.calls import Calls, Json
from bot.slack.carrying import AT_ONCE, CARRIED_SHORTCUTS, OPENING
from bot.slack.carrying import VIEWS as CARRIED_VIEWS
from bot.slack.desk import Desk
from bot.slack.eval_form import EVAL, EVAL_TITLE, Trial
from bot.slack.feedback import FEEDBACK_TITLE, pressed
from bot.slack.form import INPUT_FILE, THREAD_FIELD, About, View, about, note
from bot.slack.intake import Intake
from bot.slack.markdown import one_line
from bot.slack.modals import Modals
from bot.slack.offered import COMMANDS, FORMS, SHORTCUTS, THREADS_SHORTCUT, TITLES
from bot.slack.page import sentence
from bot.slack.parse import (
    ACTION,
    FEEDBACK_ACTION,
    SEPARATOR,
    ChannelChanged,
    Click,
    Deleted,
    Edited,
    Event,
    HomeOpened,
    Ignored,
    Removed,
    Shortcut,
    Slash,
    Spot,
    StopPressed,
    Written,
    parse_click,
    parse_event,
    parse_shortcut,
    parse_slash,
    parse_submission,
    workspace_of,
)
from bot.slack.picking import PICKING
from bot.slack.private import Private, explain
from bot.slack.prompt_form import PROMPT, PROMPT_TITLE, PROMPT_VIEWS, Leaf
from bot.slack.review import REVIEW_PICK, REVIEW_START
from bot.slack.start import MODES, START_ACTION
from bot.slack.start_form import WORKFLOW
from core import i18n
from core.commands.text import Word
from core.domain.errors import PlatformFailure, PromptflowError, Refusal, StoreUnavailable
from core.domain.feedback import Thumb
from core.domain.view import ButtonAction

log = logging.getLogger(__name__)

STORE_PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses before an event is tried again here, besides Slack's own deliveries a minute and more apart."""

ANYTHING: Final = re.compile(".*", re.DOTALL)


Listener = Callable[[Json, AsyncBoltContext], Awaitable[BoltResponse]]


class SlackApp:
    """The app as Slack talks to it."""

    def __init__(
        self,
        *,
        calls: Calls,
        bots: Bots,
        access: SlackAccess,
        callers: Callers,
        intake: Intake,
        desk: Desk,
        modals: Modals,
        private: Private,
        background: Background,
    ) -> None:
        self._calls = calls
        self._bots = bots
        self._access = access
        self._callers = callers
        self._intake = intake
        self._desk = desk
        self._modals = modals
        self._private = private
        self._background = background
        self._taking: dict[str, asyncio.Task[None]] = {}

        # The library fills in arguments by name and stumbles over the `self` of a method.
        async def authorize(context: AsyncBoltContext) -> Any:
            return await self._authorize(context)

        self.bolt = AsyncApp(
            name="promptflow",
            client=calls.client(None),
            authorize=authorize,
            # Signatures are checked before the library sees a request: it would log refused bodies.
            request_verification_enabled=False,
            attaching_conversation_kwargs_enabled=False,
            process_before_response=True,
            signing_secret="",
        )
        for kind, register, listen in (
            ("event", self.bolt.event, self._on_event),
            ("click", self.bolt.action, self._on_click),
            ("shortcut", self.bolt.shortcut, self._on_shortcut),
            ("command", self.bolt.command, self._on_slash),
            ("form", self.bolt.view_submission, self._on_submission),
        ):
            register(ANYTHING)(self._timed(kind, listen))
        self.bolt.view_closed(ANYTHING)(self._on_nothing)
        self.bolt.options(ANYTHING)(self._on_nothing)

    def _timed(self, kind: str, listen: Listener) -> Listener:
        async def timed(body: Json, context: AsyncBoltContext) -> BoltResponse:
            return await self._calls.metrics.timed(kind, listen(body, context))

        return timed

    async def _authorize(self, context: AsyncBoltContext) -> AuthorizeResult | None:
        try:
            bot = await self._bot(context)
        except PlatformFailure as failure:
            if failure.retryable:
                raise
            log.warning("a delivery for a workspace without the app (%s)", failure.code)
            return None
        return AuthorizeResult(
            enterprise_id=bot.enterprise or None,
            team_id=bot.team or None,
            bot_user_id=bot.user,
            bot_id=bot.bot_id,
            bot_token=bot.token,
        )

    async def _bot(self, context: AsyncBoltContext) -> Bot:
        team, enterprise = context.team_id, context.enterprise_id
        return await self._bots.of_workspace(
            (enterprise if context.is_enterprise_install else team) or team or enterprise or ""
        )

    # --- events ------------------------------------------------------------------------------------------------------

    async def _on_event(self, body: Json, context: AsyncBoltContext) -> BoltResponse:
        event = parse_event(body)
        kind, count = type(event).__name__.lower(), self._calls.metrics.count_event
        if isinstance(event, Ignored):
            count(kind, "ignored")
            return acknowledged()
        team, enterprise = workspace_of(body)
        if isinstance(event, Removed):
            await self._bots.forget(team or enterprise)
            count(kind, "taken")
            return acknowledged()
        bot = await self._bot(context)
        key = f"{bot.workspace}:{body.get('event_id')}"
        task = self._taking.get(key)
        if task is None:
            task = self._background.start(self._take(bot, event), name="event")
            self._taking[key] = task
            task.add_done_callback(lambda _: self._taking.pop(key, None))
        # A delivery that comes again while the first is at work waits for the same work.
        done, _ = await asyncio.wait({task}, timeout=ACK_S)
        if not done:
            log.info("an event is not stored yet and will be delivered again")
            count(kind, "again")
            return come_again()
        problem = task.exception()
        if problem is None:
            count(kind, "taken")
            return acknowledged()
        if isinstance(problem, StoreUnavailable) or (
            isinstance(problem, PlatformFailure) and problem.retryable
        ):
            log.warning("an event was not stored (%s) and will be delivered again", problem)
            count(kind, "again")
            return come_again()
        log.error("an event could not be taken in", exc_info=problem)
        count(kind, "failed")
        if isinstance(event, Written) and (event.direct or event.mentions(bot.user)):
            spot = Spot(channel=event.channel, user=event.user, thread=event.thread)
            sentence = explain(self._callers.language(bot, event.user), problem)
            self._background.leave(self._private.say(bot, spot, sentence), name="apology")
        return acknowledged()

    async def _take(self, bot: Bot, event: Event) -> None:
        """Take an event in, and again for a while where the store is busy."""
        for pause_s in (*STORE_PAUSES_S, None):
            try:
                await self._hand_on(bot, event)
            except StoreUnavailable:
                if pause_s is None:
                    raise
                await asyncio.sleep(pause_s)
            else:
                return

    async def _hand_on(self, bot: Bot, event: Event) -> None:
        match event:
            case Written():
                await self._intake.written(bot, event)
            case Edited():
                await self._intake.edited(bot, event)
            case Deleted():
                await self._intake.deleted(bot, event)
            case HomeOpened():
                if event.tab == "home":
                    await self._publish_home(bot, event.user)
            case StopPressed():
                await self._stop(bot, event)
            case ChannelChanged():
                self._access.changed(bot, event.channel)
                self._access.withdrawn(bot, event.channel, event.user)
            case Removed() | Ignored():
                pass
            case _:
                assert_never(event)

    async def _publish_home(self, bot: Bot, user: str) -> None:
        caller = await self._callers.caller(bot, user)
        view = await self._desk.home(caller)
        await self._calls.call(bot, "views.publish", user_id=user, view=view)

    async def _stop(self, bot: Bot, event: StopPressed) -> None:
        caller = await self._callers.caller(bot, event.user, channel=event.channel)
        spot = Spot(channel=event.channel, user=event.user, thread=event.thread)
        try:
            await self._desk.stop_all(caller, spot)
        except Refusal as refused:
            log.info("nothing to stop (%s)", refused.code)

    # --- clicks, shortcuts, commands ---------------------------------------------------------------------------------

    async def _on_click(self, body: Json, context: AsyncBoltContext) -> BoltResponse:
        click = parse_click(body)
        bot = await self._bot(context)
        work = self._click_in_view(bot, click, click.view) if click.view else self._click(bot, click)
        return await self._acknowledge_after(bot, click.spot, work)

    async def _click(self, bot: Bot, click: Click) -> None:
        if click.action == START_ACTION and SEPARATOR in click.value:
            # The button of a thread that waits is called the same and names the thread alone.
            caller = await self._callers.caller(bot, click.spot.user, channel=click.spot.channel)
            anew = await self._intake.begin(caller, click.spot, click.value)
            if anew is not None:
                await self._private.tell(bot, click.spot, anew)
            return
        if click.action == REVIEW_START:
            caller = await self._callers.caller(bot, click.spot.user, channel=click.spot.channel)
            said = await self._desk.reviewer.begin(caller, click.value)
            await self._private.say(bot, click.spot, said)
            return
        if click.action == FEEDBACK_ACTION:
            await self._rate(bot, click)
            return
        if (opened := self._opened_by(click)) is not None:
            await self._modals.open(bot, click.spot, *opened)
            return
        name = click.action.removeprefix(ACTION)
        if click.action in AT_ONCE:
            caller = await self._callers.caller(bot, click.spot.user, channel=click.spot.channel)
            said = await self._desk.carrying.act(caller, click.spot, click.action, click.value)
            await self._private.say(bot, click.spot, said)
            return
        if not click.action.startswith(ACTION) or name not in set(ButtonAction):
            log.info("a click on something that is no button of ours")
            return
        action = ButtonAction(name)
        if action in FORMS:
            await self._modals.open(
                bot,
                click.spot,
                FORMS[action],
                lambda caller: self._desk.fill(caller, click.spot, action, click.value),
            )
            return
        caller = await self._callers.caller(bot, click.spot.user, channel=click.spot.channel)
        told = await self._desk.press(caller, click.spot, action, click.value)
        if told:
            message = sentence(told) if isinstance(told, str) else told
            await self._private.tell(bot, click.spot, message)

    def _opened_by(self, click: Click) -> tuple[str, Callable[[Caller], Awaitable[View]]] | None:
        """The title of the form that a button of a feature opens, and what fills it in; None for any other button."""
        carrying, prompts = self._desk.carrying, self._desk.prompts
        if click.action.startswith(PROMPT):
            return PROMPT_TITLE, lambda caller: prompts.press(caller, click, Leaf())
        if click.action.startswith(EVAL):
            return EVAL_TITLE, lambda caller: prompts.evals.press(caller, click, Trial())
        title = carrying.title(click.action)
        if title is None:
            return None
        return title, lambda caller: carrying.fill(caller, click.spot, click.action, click.value)

    async def _rate(self, bot: Bot, click: Click) -> None:
        """A thumb under an answer: up is noted, down also asks why."""
        given, spot, desk = pressed(click.value), click.spot, self._desk.feedback
        if given.thumb is Thumb.DOWN:
            await self._modals.open(
                bot, spot, FEEDBACK_TITLE, lambda caller: desk.give_and_ask(caller, given, key=spot.key)
            )
            return
        caller = await self._callers.caller(bot, spot.user, channel=spot.channel)
        await self._private.say(bot, spot, await desk.give(caller, given, key=spot.key))

    async def _click_in_view(self, bot: Bot, click: Click, view: Json) -> None:
        """A click inside a form of ours: another thread was chosen, or a file is asked for."""
        caller = await self._callers.caller(bot, click.spot.user)
        if view.get("callback_id") in CARRIED_VIEWS:
            after = await self._desk.carrying.in_view(caller, click, view)
            if after is not None and await self._modals.show(bot, str(view["id"]), after):
                self._modals.follow(bot, click.spot.user, str(view["id"]), after)
            return
        if click.action.startswith(EVAL):
            await self._modals.show(bot, str(view["id"]), await self._desk.evals.in_view(caller, click, view))
            return
        if view.get("callback_id") in PROMPT_VIEWS:
            await self._modals.show(
                bot, str(view["id"]), await self._desk.prompts.in_view(caller, click, view)
            )
            return
        if click.action == THREAD_FIELD:
            subject = about(str(view.get("private_metadata") or ""))
            chosen = About(thread=click.value, channel=subject.channel)
            if view.get("callback_id") == REVIEW_PICK:
                picked = await self._desk.reviewer.picked(caller, chosen)
                await self._modals.show(bot, str(view["id"]), picked)
                return
            await self._modals.show(bot, str(view["id"]), await self._desk.pick_branch(caller, chosen))
        elif click.action == WORKFLOW:
            filled = {**click.state, WORKFLOW: click.value}
            metadata = str(view.get("private_metadata") or "")
            await self._modals.show(bot, str(view["id"]), self._desk.starter.refill(caller, metadata, filled))
        elif click.action == INPUT_FILE:
            await self._desk.send_input(caller, click.value)
            sent = i18n.text(caller.locale, "slack.input_sent")
            await self._modals.show(
                bot, str(view["id"]), note(caller.locale, title="slack.input_title", sentence=sent)
            )

    async def _on_shortcut(self, body: Json, context: AsyncBoltContext) -> BoltResponse:
        shortcut = parse_shortcut(body)
        bot = await self._bot(context)
        return await self._acknowledge_after(bot, shortcut.spot, self._shortcut(bot, shortcut))

    async def _shortcut(self, bot: Bot, shortcut: Shortcut) -> None:
        spot = shortcut.spot
        action = SHORTCUTS.get(shortcut.name)
        if action is not None:
            await self._modals.open(
                bot, spot, TITLES[action], lambda caller: self._desk.fill_for_message(caller, spot, action)
            )
        elif shortcut.name in CARRIED_SHORTCUTS:
            name, carrying = CARRIED_SHORTCUTS[shortcut.name], self._desk.carrying
            await self._modals.open(
                bot, spot, OPENING[name], lambda caller: carrying.fill_for_message(caller, spot, name)
            )
        elif shortcut.name == THREADS_SHORTCUT:
            await self._modals.open(
                bot, spot, "slack.threads_title", lambda caller: self._threads(caller, spot)
            )

    async def _threads(self, caller: Caller, spot: Spot) -> View:
        shown = await self._desk.look_up(caller, spot, Word.THREADS)
        view = note(caller.locale, title="slack.threads_title", sentence="")
        return {**view, "blocks": [dict(block) for block in shown.blocks]}

    async def _on_slash(self, body: Json, context: AsyncBoltContext) -> BoltResponse:
        slash = parse_slash(body)
        bot = await self._bot(context)
        return await self._acknowledge_after(bot, slash.spot, self._slash(bot, slash))

    async def _slash(self, bot: Bot, slash: Slash) -> None:
        word = COMMANDS.get(slash.command)
        if word in MODES:
            mode = MODES[word]
            await self._modals.open(
                bot,
                slash.spot,
                f"slack_modes.{mode.value}",
                lambda caller: self._desk.starter.fill(caller, slash.spot.channel, mode, slash.text),
            )
            return
        if word is Word.PROMPTS:
            await self._modals.open(
                bot,
                slash.spot,
                PROMPT_TITLE,
                lambda caller: self._desk.prompts.opened(caller, slash.text, channel=slash.spot.channel),
            )
            return
        if word in PICKING:
            picks = word
            await self._modals.open(
                bot,
                slash.spot,
                f"slack_carry.title_{picks.value}",
                lambda caller: self._desk.carrying.pick(caller, slash.spot, picks),
            )
            return
        if word is Word.BRANCH:
            await self._modals.open(
                bot,
                slash.spot,
                FORMS[ButtonAction.BRANCH],
                lambda caller: self._desk.fill_branch_command(caller, slash.spot, slash.text),
            )
            return
        if word is Word.REVIEW:
            await self._modals.open(
                bot,
                slash.spot,
                TITLES[ButtonAction.REVIEW],
                lambda caller: self._desk.fill_review_command(caller, slash.spot, slash.text),
            )
            return
        caller = await self._callers.caller(bot, slash.spot.user, channel=slash.spot.channel)
        if word is None:
            raise Refusal("unknown_command", command=one_line(slash.command, 30))
        await self._private.tell(bot, slash.spot, await self._desk.look_up(caller, slash.spot, word))

    async def _on_submission(self, body: Json, context: AsyncBoltContext) -> BoltResponse:
        return await self._modals.submit(await self._bot(context), parse_submission(body))

    async def _on_nothing(self) -> BoltResponse:
        return acknowledged()

    # --- acknowledging -----------------------------------------------------------------------------------------------

    async def _acknowledge_after(self, bot: Bot, spot: Spot, work: Coroutine[Any, Any, None]) -> BoltResponse:
        """Acknowledge when `work` is done, or goes on without making Slack wait longer."""
        task = self._background.start(self._telling(bot, spot, work), name="request")
        await asyncio.wait({task}, timeout=ACK_S)
        return acknowledged()

    async def _telling(self, bot: Bot, spot: Spot, work: Coroutine[Any, Any, None]) -> None:
        """Carry out what a person asked for, and tell them when it cannot be done."""
        try:
            await work
        except Exception as problem:
            if not isinstance(problem, PromptflowError):
                log.exception("a request failed")
            locale = self._callers.language(bot, spot.user)
            if spot.channel:
                await self._private.say(bot, spot, explain(locale, problem))
