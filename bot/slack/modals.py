"""Forms on a person's screen: opened at once, filled in after, and carried out when they are sent."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from slack_bolt.response import BoltResponse

from bot.slack.acknowledging import ACK_S, acknowledged, answered
from bot.slack.background import Background
from bot.slack.bots import Bot
from bot.slack.caller import Caller, Callers
from bot.slack.calls import Calls
from bot.slack.carrying import SENT as CARRIED_FORMS
from bot.slack.desk import Desk
from bot.slack.eval_form import CHOOSE_FORM, SENT_EVALS
from bot.slack.eval_form import blamed as blamed_in_choice
from bot.slack.feedback import FEEDBACK
from bot.slack.form import BRANCH, OTHER, View, loading, note, sent_again, typed_in
from bot.slack.offered import SENT_FORMS
from bot.slack.page import sentence as told
from bot.slack.parse import Spot, Submission
from bot.slack.private import Private, explain
from bot.slack.prompt_form import SENT_PROMPTS
from bot.slack.review import REVIEW, SAVE
from bot.slack.start_form import START, blamed
from core import i18n
from core.domain.errors import PlatformFailure, PromptflowError, Refusal, StoreUnavailable

log = logging.getLogger(__name__)


class Modals:
    """Opens, shows and carries out forms."""

    def __init__(
        self, calls: Calls, callers: Callers, desk: Desk, background: Background, private: Private
    ) -> None:
        self._calls = calls
        self._callers = callers
        self._desk = desk
        self._background = background
        self._private = private

    async def open(self, bot: Bot, spot: Spot, title: str, fill: Callable[[Caller], Awaitable[View]]) -> None:
        """Open a form at once and fill it in after; what keeps it from being filled in is said in it."""
        locale = self._callers.language(bot, spot.user)
        try:
            opened = await self._calls.send(
                bot.token, "views.open", trigger_id=spot.trigger, view=loading(locale, title)
            )
        except PlatformFailure as failure:
            if failure.code in ("expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id"):
                raise Refusal("slack_trigger_expired") from None
            raise
        view_id = str(opened["view"]["id"])
        try:
            caller = await self._callers.caller(bot, spot.user, channel=spot.channel)
            locale = caller.locale
            view = await fill(caller)
        except (Refusal, StoreUnavailable, PlatformFailure) as problem:
            view = note(locale, title=title, sentence=explain(locale, problem))
        if await self.show(bot, view_id, view):
            self.follow(bot, spot.user, view_id, view)

    def follow(self, bot: Bot, user: str, view_id: str, view: View) -> None:
        """Have a form that waits for a draft filled in once that is there."""
        self._desk.carrying.follow(bot, user, view, lambda filled: self.show(bot, view_id, filled))

    async def show(self, bot: Bot, view_id: str, view: View) -> bool:
        """Show a view in an open form; False for one that was closed meanwhile, which needs nothing."""
        try:
            await self._calls.call(bot, "views.update", view_id=view_id, view=view)
        except PlatformFailure as failure:
            if failure.code not in ("not_found", "view_not_found"):
                raise
            return False
        return True

    async def submit(self, bot: Bot, form: Submission) -> BoltResponse:
        """Carry out a form that was sent; what Slack is answered, in time."""
        locale = self._callers.language(bot, form.user)
        task = self._background.start(self._submit(bot, form), name="form")
        done, _ = await asyncio.wait({task}, timeout=ACK_S)
        title = SENT_FORMS.get(form.name, "slack_modes.title")
        if not done:
            self._background.leave(self._show_outcome(bot, form, task, title), name="form")
            view = note(locale, title=title, sentence=i18n.text(locale, "slack.working"))
            return answered({"response_action": "update", "view": view})
        problem = task.exception()
        if problem is None:
            after = task.result()
            if after:
                self.follow(bot, form.user, form.view_id, after)
            return answered({"response_action": "update", "view": after}) if after else acknowledged()
        if not isinstance(problem, PromptflowError):
            log.error("a form could not be carried out", exc_info=problem)
        sentence = explain(self._callers.language(bot, form.user), problem)
        block = self._blamed(form, problem)
        if block:
            return answered({"response_action": "errors", "errors": {block: sentence}})
        return answered({"response_action": "update", "view": note(locale, title=title, sentence=sentence)})

    def _blamed(self, form: Submission, problem: BaseException) -> str:
        """The block at which a refusal is said; empty for a form without fields."""
        if form.name == START:
            return blamed(form.values, problem)
        if form.name in CARRIED_FORMS:
            return self._desk.carrying.blamed(form, problem)
        if form.name == CHOOSE_FORM:
            return blamed_in_choice(problem)
        return next(iter(form.values), "")

    async def _submit(self, bot: Bot, form: Submission) -> View | None:
        """Carry out a form; what is shown in its place, None where it closes."""
        caller = await self._callers.caller(bot, form.user)
        said = ""
        if form.name == START:
            return await self._desk.starter.submit(caller, form)
        if form.name in CARRIED_FORMS:
            after = await self._desk.carrying.submit(caller, form)
            title = SENT_FORMS[form.name]
            return note(caller.locale, title=title, sentence=after) if isinstance(after, str) else after
        if form.name in SENT_PROMPTS:
            return await self._desk.prompts.submit(caller, form)
        if form.name in SENT_EVALS:
            return await self._desk.evals.submit(caller, form)
        if form.name == REVIEW:
            return await self._desk.reviewer.submit_review(caller, form)
        if form.name == BRANCH:
            await self._desk.submit_branch(caller, form)
        elif form.name == OTHER:
            await self._desk.submit_other_model(caller, form)
        elif form.name == FEEDBACK:
            said = await self._desk.feedback.submit(caller, form)
        elif form.name == SAVE:
            said = await self._desk.reviewer.submit_save(caller, form)
        return note(caller.locale, title=SENT_FORMS[form.name], sentence=said) if said else None

    async def _show_outcome(
        self, bot: Bot, form: Submission, task: "asyncio.Task[View | None]", title: str
    ) -> None:
        """Say in a form that took long how it ended."""
        await asyncio.wait({task})
        locale = self._callers.language(bot, form.user)
        problem = task.exception()
        view = task.result() if problem is None else None
        if view is not None:
            if await self.show(bot, form.view_id, view):
                self.follow(bot, form.user, form.view_id, view)
            return
        if problem is None:
            done = note(locale, title=title, sentence=i18n.text(locale, "slack.done"))
            await self.show(bot, form.view_id, done)
            return
        if not isinstance(problem, PromptflowError):
            log.error("a form could not be carried out", exc_info=problem)
        sentence = explain(locale, problem)
        if not await self.show(bot, form.view_id, sent_again(form.view, sentence)):
            # Whoever closed the form while it said that it is at work takes it for done.
            typed = typed_in(form.view)
            key = "slack.refused_late_typed" if typed else "slack.refused_late"
            said = i18n.text(locale, key, form=i18n.text(locale, title), reason=sentence)
            await self._private.write(bot, form.user, told(said), typed=typed)
