"""Evaluations on Slack: begun in forms, told of in a thread, judged by buttons there.

Nothing is remembered here between the steps: a form carries ids, and what people say is stored at the click.
"""

from dataclasses import dataclass, replace

from bot import eval_act
from bot.eval_act import repeats_in
from bot.slack.access import SlackAccess
from bot.slack.caller import Caller
from bot.slack.eval_form import (
    ACKNOWLEDGED,
    BASELINE,
    CANDIDATE,
    CHANNEL,
    CHOOSE,
    CHOOSE_FORM,
    COMMENT,
    EVAL_TITLE,
    FAIL_FORM,
    FAIL_TITLE,
    LIST,
    LIST_FORM,
    MODEL,
    NONE,
    OTHER_MODEL,
    REPEATS,
    REPORT,
    STOP,
    Trial,
    choose_form,
    confirm_form,
    fail_form,
    list_form,
    trial,
)
from bot.slack.files import OutgoingFile, SlackFiles
from bot.slack.form import View, note
from bot.slack.opening import Openings
from bot.slack.parse import SEPARATOR, Click, Json, Submission
from bot.slack.private import explain, send_file
from core import i18n
from core.commands.eval_question import show_question
from core.commands.services import Services
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.eval_gate import Judgement
from core.domain.view import ButtonAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluations:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services
    access: SlackAccess
    files: SlackFiles
    openings: Openings

    async def opened(self, caller: Caller, name: str, *, channel: str) -> View:
        """The form that begins an evaluation of a prompt; without one the list of those there are."""
        if not name:
            return await self._list(caller, Trial())
        return await self._choose(caller, Trial(name=name, channel=channel))

    async def _choose(self, caller: Caller, about: Trial) -> View:
        offered = await eval_act.choices(self.services, caller.actor, about.name)
        return choose_form(caller.locale, about, offered)

    async def _list(self, caller: Caller, about: Trial, sentence: str = "") -> View:
        items = await eval_act.listed(self.services, caller.actor, about.name)
        return list_form(caller.locale, about, items, sentence)

    # --- buttons -----------------------------------------------------------------------------------------------------

    async def in_view(self, caller: Caller, click: Click, view: Json) -> View:
        """What stands in a form after a button in it was pressed; a refusal too."""
        about = Trial()
        try:
            if view.get("callback_id") == LIST_FORM:
                about = trial(str(view.get("private_metadata") or ""))
            return await self.press(caller, click, about)
        except (Refusal, StoreUnavailable, PlatformFailure) as problem:
            return note(caller.locale, title=EVAL_TITLE, sentence=explain(caller.locale, problem))

    async def press(self, caller: Caller, click: Click, about: Trial) -> View:
        """The form that comes of a button."""
        match click.action:
            case action if action == CHOOSE:
                name, _, version = click.value.partition(SEPARATOR)
                channel = click.spot.channel
                return await self._choose(caller, Trial(name=name, candidate=version, channel=channel))
            case action if action == LIST:
                return await self._list(caller, Trial(name=click.value if click.value != NONE else ""))
            case action if action == STOP:
                stop = ButtonAction.EVAL_STOP
                said = await eval_act.pressed(
                    self.services, caller.actor, stop, click.value, key=click.spot.key
                )
                return await self._list(caller, about, said)
            case action if action == REPORT:
                return await self._list(caller, about, await self.send_report(caller, click.value))
            case _:
                raise Refusal("eval_form_old")

    async def send_report(self, caller: Caller, run_id: str) -> str:
        """Send a person the report as a file, in the conversation with the bot; the sentence that says so."""
        made = await eval_act.report(self.services, caller.actor, run_id, caller.locale)
        file = OutgoingFile(name=f"{made.name}.html", title=made.title, data=made.text.encode())
        await send_file(self.access, self.files, caller.bot, caller.actor.external_id, file)
        return i18n.text(caller.locale, "chat_evals.report_sent")

    async def fail_form(self, caller: Caller, ref: str) -> View:
        """The form that asks what is wrong with an output; who may not say so is told at once."""
        question = await show_question(self.services, caller.actor, ref)
        return fail_form(caller.locale, Trial(ref=ref), question)

    # --- forms that were sent ----------------------------------------------------------------------------------------

    async def submit(self, caller: Caller, form: Submission) -> View:
        """Carry out a form; what stands in its place."""
        about = trial(form.metadata)
        if form.name == CHOOSE_FORM:
            return await self._estimate(caller, about, form)
        if form.name == FAIL_FORM:
            comment = form.values.get(COMMENT, "")
            said = await eval_act.judged(
                self.services, caller.actor, about.ref, Judgement.FAIL, comment, key=form.key
            )
            return note(caller.locale, title=FAIL_TITLE, sentence=said)
        await self.access.check_usable(caller.bot, about.channel)
        request = about.request(acknowledged=bool(form.values.get(ACKNOWLEDGED)))
        begun = await eval_act.begin(self.services, caller.actor, request, key=f"slack:eval:{about.key}")
        if begun.told_in:
            self.openings.watch(caller, begun.told_in)
        return note(caller.locale, title=EVAL_TITLE, sentence=begun.sentence)

    async def _estimate(self, caller: Caller, about: Trial, form: Submission) -> View:
        def chosen(name: str) -> str:
            value = form.values.get(name, "")
            return "" if value == NONE else value

        about = replace(
            about,
            candidate=chosen(CANDIDATE),
            baseline=chosen(BASELINE),
            model=chosen(MODEL),
            other_model=chosen(OTHER_MODEL),
            repeats=repeats_in(form.values.get(REPEATS, "")),
            channel=chosen(CHANNEL),
            key=self.services.clock.new_id(),
        )
        await self.access.check_usable(caller.bot, about.channel)
        found = await eval_act.estimated(self.services, caller.actor, about.request())
        return confirm_form(caller.locale, about, found)
