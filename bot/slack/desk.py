"""What a person asks for, by whatever route: each request ends in one command of the core.

Buttons, shortcuts, slash commands, forms and words after a mention all come here.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bot import carried, eval_act
from bot.carried import CARRIED_BUTTONS, CARRIED_WORDS
from bot.eval_act import EVAL_BUTTONS
from bot.slack.access import SlackAccess
from bot.slack.block import actions, button, context, section
from bot.slack.caller import Caller, place
from bot.slack.carrying import Carrying
from bot.slack.feedback import FeedbackDesk
from bot.slack.files import OutgoingFile, SlackFiles
from bot.slack.form import (
    END,
    MESSAGE_FIELD,
    MODEL_FIELD,
    NAME_FIELD,
    REASON_FIELD,
    THREAD_FIELD,
    About,
    View,
    about,
    branch_form,
    branch_picker,
    input_document,
    input_form,
    other_model_form,
)
from bot.slack.markdown import escape
from bot.slack.page import help_message, home_view, models_message, sentence, threads_message, usage_message
from bot.slack.parse import ACTION, Spot, Submission
from bot.slack.people import PLATFORM
from bot.slack.private import send_file
from bot.slack.prompt import Prompts
from bot.slack.render import SlackMessage
from bot.slack.review import Reviewer, Wish
from bot.slack.start import Starter
from bot.slack.words import Pointed, permalink
from bot.usage import PICTURE, alternative, draw_usage, legend, read_usage
from core import i18n
from core.commands.answer import answer_again, keep_answer, stop
from core.commands.branch import BranchRequest, branch
from core.commands.compare import compare_answers, reveal, vote
from core.commands.model import list_models, show_usage
from core.commands.place import message_at, thread_at
from core.commands.receipt import show_ai_input
from core.commands.services import Services
from core.commands.text import TextCommand, Word, parse_command
from core.commands.thread import last_answer, list_channels, rename, show_thread
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.view import AnswerView, ButtonAction, MessageView, ThreadItem, ThreadPage

SELF: Final = "promptflow"


class Desk:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    def __init__(
        self,
        services: Services,
        access: SlackAccess,
        files: SlackFiles,
        *,
        starter: Starter,
        reviewer: Reviewer,
        carrying: Carrying,
        prompts: Prompts,
    ) -> None:
        self.starter = starter
        self.reviewer = reviewer
        self.carrying = carrying
        self.prompts = prompts
        self.evals = prompts.evals
        self.feedback = FeedbackDesk(services=services)
        self._services = services
        self._access = access
        self._files = files

    # --- words after a mention ---------------------------------------------------------------------------------------

    async def typed(self, caller: Caller, spot: Spot, command: TextCommand) -> SlackMessage | None:
        """Carry out a command typed in a thread; what its writer is told, None where the result speaks for itself."""
        match command.word:
            case Word.THREADS | Word.MODELS | Word.USAGE | Word.HELP:
                return await self.look_up(caller, spot, command.word)
            case Word.PROMPTS:
                return await self.prompts.typed(caller, command.rest)
            case Word.COMPARE | Word.DEBATE | Word.CODRAFT | Word.WORKFLOW:
                return await self.starter.offer(caller, spot, command)
            case word if word in CARRIED_WORDS or word is Word.HANDOVER:
                thread_id = await self._named(caller, spot, word)
                return await self.carrying.typed(caller, spot, thread_id, command)
            case word:
                return await self._in_thread(caller, spot, command, await self._named(caller, spot, word))

    async def _named(self, caller: Caller, spot: Spot, word: Word) -> ThreadId:
        """The thread in which a word was typed. Raises Refusal."""
        thread = await thread_at(self._services, caller.actor, place(spot.channel, spot.thread))
        if thread is None:
            raise Refusal("slack_not_in_thread", command=word.value)
        return thread.id

    async def _in_thread(
        self, caller: Caller, spot: Spot, command: TextCommand, thread_id: ThreadId
    ) -> SlackMessage | None:
        t = caller.locale
        if command.word is Word.BRANCH:
            await self._branch(
                caller,
                spot.channel,
                BranchRequest(thread_id=thread_id, position=command.position, name=command.rest),
                key=spot.key,
            )
            return None
        if command.word is Word.STOP:
            await stop(self._services, caller.actor, thread_id=thread_id)
            return sentence(i18n.text(t, "slack.stopped"))
        if command.word is Word.RENAME:
            await rename(self._services, caller.actor, thread_id, command.rest)
            return sentence(i18n.text(t, "slack.renamed", title=" ".join(command.rest.split())))
        if command.word is Word.REVIEW:
            return await self.reviewer.offer_last(caller, thread_id, command.rest, key=spot.key)
        if command.word is Word.SAVE:
            return sentence(await self.reviewer.save_last(caller, thread_id, command.rest, key=spot.key))
        if command.word is Word.ARTIFACTS:
            return await self.reviewer.artifacts(caller, thread_id, command.rest)
        answer = last_answer(await show_thread(self._services, caller.actor, thread_id))
        if command.word is Word.INPUT:
            if answer.receipt_id is None:
                raise Refusal("receipt_not_found")
            shown = button(
                i18n.text(t, "button.show_input"), f"{ACTION}{ButtonAction.SHOW_INPUT}", answer.receipt_id
            )
            says = escape(answer.model)
            return SlackMessage(blocks=(section(f"*{says}*"), actions("answer", [shown])), text=says)
        await self._again(caller, thread_id, answer.run_id, model=command.rest or None, key=spot.key)
        return None

    async def look_up(self, caller: Caller, spot: Spot, word: Word) -> SlackMessage:
        """A list or the help, for this person."""
        actor, t = caller.actor, caller.locale
        match word:
            case Word.THREADS:
                channels = await list_channels(self._services, actor, PLATFORM)
                return threads_message(t, caller.bot.url, channels, here=spot.channel)
            case Word.MODELS:
                return models_message(t, await list_models(self._services, actor))
            case Word.USAGE:
                return await self._usage(caller)
            case _:
                return help_message(t, SELF)

    async def _usage(self, caller: Caller) -> SlackMessage:
        """The numbers by day, and the picture with what its keys stand for."""
        usage, t = await read_usage(self._services, caller.actor), caller.locale
        shown = usage_message(t, usage.days)
        if not usage.days:
            return shown
        keys = "\n".join(escape(line) for line in legend(usage, t))
        file = OutgoingFile(
            name=PICTURE,
            title=i18n.text(t, "slack.usage_title"),
            data=await draw_usage(usage),
            comment=f"{shown.text}\n{keys}",
            alternative=alternative(usage, t),
            unsent=i18n.text(t, "usage.not_sent"),
        )
        note = context(escape(i18n.text(t, "usage.direct")))
        return replace(shown, blocks=(*shown.blocks, note), file=file)

    async def home(self, caller: Caller) -> View:
        """The App Home of a person."""
        channels = await list_channels(self._services, caller.actor, PLATFORM)
        lines = await show_usage(self._services, caller.actor, by="day")
        return home_view(caller.locale, caller.bot.url, channels, lines, SELF)

    # --- buttons -----------------------------------------------------------------------------------------------------

    async def press(
        self, caller: Caller, spot: Spot, action: ButtonAction, ref: str
    ) -> SlackMessage | str | None:
        """Carry out a button that needs no form; what the person is told where nothing else shows the result."""
        match action:
            case ButtonAction.RETRY:
                await self._again(caller, await self._thread_of(caller, spot), ref, model=None, key=spot.key)
                return None
            case ButtonAction.STOP | ButtonAction.STOP_ONE | ButtonAction.STOP_RUN:
                await stop(self._services, caller.actor, run_id=ref)
                return None
            case ButtonAction.KEEP_ANSWER:
                await keep_answer(self._services, caller.actor, ref, event_key=spot.key)
                return i18n.text(caller.locale, "slack.kept")
            case ButtonAction.COMPARE_ANSWERS:
                await compare_answers(self._services, caller.actor, ref, event_key=spot.key)
                return None
            case ButtonAction.VOTE:
                await vote(self._services, caller.actor, ref, event_key=spot.key)
                return None
            case ButtonAction.REVEAL:
                await reveal(self._services, caller.actor, ref, event_key=spot.key)
                return None
            case ButtonAction.REVIEW:
                return await self.reviewer.offer(caller, Wish(answers=(ref,)), key=spot.key)
            case ButtonAction.SAVE:
                return await self.reviewer.save(caller, ref, key=spot.key)
            case _:
                return await self._press_card(caller, spot, action, ref)

    async def _press_card(self, caller: Caller, spot: Spot, action: ButtonAction, ref: str) -> str:
        """Carry out a button of a card that shows no answer."""
        if action in EVAL_BUTTONS:
            return await eval_act.pressed(self._services, caller.actor, action, ref, key=spot.key)
        if action is ButtonAction.EVAL_REPORT:
            return await self.evals.send_report(caller, ref)
        if action in CARRIED_BUTTONS:
            return await carried.pressed(self._services, caller.actor, action, ref, spot.key)
        raise ValueError(f"{action} opens a form")

    async def fill(self, caller: Caller, spot: Spot, action: ButtonAction, ref: str) -> View:
        """The form that a button opens."""
        if action is ButtonAction.SHOW_INPUT:
            return input_form(caller.locale, await show_ai_input(self._services, caller.actor, ref))
        if action is ButtonAction.EVAL_FAIL:
            return await self.evals.fail_form(caller, ref)
        thread_id = await self._thread_of(caller, spot)
        subject = About(thread=thread_id, ref=ref, channel=spot.channel)
        if action is ButtonAction.OTHER_MODEL:
            return await self._other_model(caller, subject)
        return await self._branch_form(caller, subject)

    async def fill_for_message(self, caller: Caller, spot: Spot, action: ButtonAction) -> View:
        """The form that a shortcut on a message opens."""
        found = await message_at(self._services, caller.actor, spot.channel, spot.message)
        subject = About(thread=found.thread_id, ref=found.ref, channel=spot.channel)
        match action:
            case ButtonAction.BRANCH:
                return await self._branch_form(caller, subject)
            case ButtonAction.REVIEW:
                return await self.reviewer.review_form(caller, subject)
            case ButtonAction.SAVE:
                return await self.reviewer.save_form(caller, subject)
            case _:
                return await self._answer_form(caller, subject, action)

    async def _answer_form(self, caller: Caller, subject: About, action: ButtonAction) -> View:
        page = await show_thread(self._services, caller.actor, subject.thread)
        answer = next(
            (a for a in _answers(page) if subject.ref in (a.run_id, a.message_id, a.answers_id)), None
        )
        if answer is None:
            raise Refusal("answer_not_found")
        if action is ButtonAction.OTHER_MODEL:
            return await self._other_model(caller, replace(subject, ref=answer.run_id))
        if answer.receipt_id is None:
            raise Refusal("receipt_not_found")
        return input_form(caller.locale, await show_ai_input(self._services, caller.actor, answer.receipt_id))

    async def _thread_of(self, caller: Caller, spot: Spot) -> ThreadId:
        thread = await thread_at(self._services, caller.actor, place(spot.channel, spot.thread))
        if thread is None:
            raise Refusal("thread_not_found")
        return thread.id

    async def send_input(self, caller: Caller, receipt_id: str) -> None:
        """Send a person the whole AI input as a file, in the conversation with the bot."""
        view = await show_ai_input(self._services, caller.actor, receipt_id)
        file = OutgoingFile(
            name=f"ai-input-{receipt_id[-6:]}.md",
            title=i18n.text(caller.locale, "slack.input_file", model=view.model),
            data=input_document(caller.locale, view).encode(),
        )
        await send_file(self._access, self._files, caller.bot, caller.actor.external_id, file)

    # --- forms -------------------------------------------------------------------------------------------------------

    async def _branch_form(self, caller: Caller, subject: About) -> View:
        page = await show_thread(self._services, caller.actor, subject.thread)
        return branch_form(caller.locale, subject, point=_point(caller.locale, page, subject.ref))

    async def _other_model(self, caller: Caller, subject: About) -> View:
        models = [one for one in await list_models(self._services, caller.actor) if one.allowed]
        if not models:
            raise Refusal("no_model")
        return other_model_form(caller.locale, subject, models)

    async def fill_branch_command(self, caller: Caller, spot: Spot, text: str) -> View:
        """The form of `/branch`: for a copied link its message, otherwise thread and message to choose."""
        first, _, rest = text.partition(" ")
        pointed = permalink(first) if first else None
        if pointed is not None:
            return await self._branch_at(caller, pointed)
        command = parse_command(f"{Word.BRANCH.value} {text}")
        if command is not None and command.position is not None:
            raise Refusal("slack_not_in_thread", command=f"branch {command.position} {rest}".strip())
        return await self.pick_branch(caller, About(channel=spot.channel))

    async def _branch_at(self, caller: Caller, pointed: Pointed) -> View:
        found = await message_at(self._services, caller.actor, pointed.channel, pointed.message)
        subject = About(thread=found.thread_id, ref=found.ref, channel=pointed.channel)
        return await self._branch_form(caller, subject)

    async def pick_branch(self, caller: Caller, subject: About) -> View:
        """The form that picks a thread of the channel and a message of it; only threads that the person can see."""
        threads = await self._threads_here(caller, subject.channel)
        page = await show_thread(self._services, caller.actor, subject.thread) if subject.thread else None
        return branch_picker(caller.locale, subject, threads, page)

    async def _threads_here(self, caller: Caller, channel: str) -> list[ThreadItem]:
        """The threads of a channel that the person can see, all that they can see where it has none. Raises Refusal."""
        channels = await list_channels(self._services, caller.actor, PLATFORM)
        here = [c for c in channels if c.external_id == channel] or list(channels)
        threads = [one for channel in here for one in _flat(channel.threads) if one.place.thread]
        if not threads:
            raise Refusal("thread_not_found")
        return threads

    async def fill_review_command(self, caller: Caller, spot: Spot, text: str) -> View:
        """The form of `/review`: for a copied link the answers beside it, otherwise a thread to choose."""
        pointed = permalink(text.strip())
        if pointed is None:
            threads = await self._threads_here(caller, spot.channel)
            return await self.reviewer.pick(caller, spot.channel, threads)
        found = await message_at(self._services, caller.actor, pointed.channel, pointed.message)
        subject = About(thread=found.thread_id, ref=found.ref, channel=pointed.channel)
        return await self.reviewer.review_form(caller, subject)

    async def submit_branch(self, caller: Caller, form: Submission) -> None:
        subject = about(form.metadata)
        thread = subject.thread or form.values.get(THREAD_FIELD, "")
        if not thread:
            raise Refusal("slack_choose_thread")
        chosen = form.values.get(f"{MESSAGE_FIELD}:{thread}", subject.ref)
        request = BranchRequest(
            thread_id=ThreadId(thread),
            message_id=chosen if chosen and chosen != END else None,
            name=form.values.get(NAME_FIELD, ""),
            reason=form.values.get(REASON_FIELD, ""),
        )
        await self._branch(caller, subject.channel, request, key=form.key)

    async def submit_other_model(self, caller: Caller, form: Submission) -> None:
        subject = about(form.metadata)
        model = form.values.get(MODEL_FIELD, "")
        await self._again(caller, ThreadId(subject.thread), subject.ref, model=model or None, key=form.key)

    async def _branch(self, caller: Caller, channel: str, request: BranchRequest, *, key: str) -> None:
        await self._access.check_usable(caller.bot, channel)
        await branch(self._services, caller.actor, request, event_key=key)

    async def _again(
        self, caller: Caller, thread_id: ThreadId, ref: str, *, model: str | None, key: str
    ) -> None:
        await answer_again(self._services, caller.actor, thread_id, ref, model=model, event_key=key)

    async def stop_all(self, caller: Caller, spot: Spot) -> None:
        """Stop everything that is written in a thread."""
        await stop(self._services, caller.actor, thread_id=await self._thread_of(caller, spot))


def _flat(items: tuple[ThreadItem, ...]) -> Iterator[ThreadItem]:
    for item in items:
        yield item
        yield from _flat(item.children)


def _answers(page: ThreadPage) -> Iterator[AnswerView]:
    return (item for item in reversed(page.items) if isinstance(item, AnswerView))


def _point(locale: str, page: ThreadPage, ref: str) -> str:
    """The point of a branch in words."""
    for item in page.items:
        if isinstance(item, MessageView) and ref == item.message_id:
            return i18n.text(locale, "slack.branch_point", position=item.position or 0)
        if isinstance(item, AnswerView) and ref in (item.message_id, item.run_id) and item.position:
            return i18n.text(locale, "slack.branch_point", position=item.position)
    return i18n.text(locale, "slack.branch_point_answer" if ref else "slack.branch_point_end")
