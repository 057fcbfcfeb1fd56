"""What a person does on the page: each form becomes one core command."""

from dataclasses import dataclass, replace
from typing import Final, assert_never
from urllib.parse import urlencode

from bot.console.carrying import CarryForms
from bot.console.feed import Feed
from bot.console.held import HeldFiles
from bot.console.opening import Wish, fields_of, setup_of, wish_of
from bot.console.outcome import Outcome
from bot.console.page import last_answer, last_offering
from bot.console.parse import (
    Form,
    called,
    count_of,
    event_key_of,
    local_path,
    mentions_other,
    position_of,
    split_point,
)
from bot.console.poster import PLATFORM
from bot.console.prompt_page import prompt_path
from bot.console.visit import Visit, Visits, known_person
from core import i18n
from core.commands.answer import answer_again, keep_answer, stop
from core.commands.artifact import edit_artifact, save_answer
from core.commands.branch import BranchRequest, branch
from core.commands.compare import compare_answers, join, reveal, vote
from core.commands.console import in_direct
from core.commands.feedback import give_feedback
from core.commands.message import delete_message, edit_message
from core.commands.opening import estimate_start, usual_setup
from core.commands.review import DEFAULT_REVIEWERS, ReviewRequest, cross_review
from core.commands.say import MAX_FILES, Said, say
from core.commands.sending import SendRequest, send_artifact
from core.commands.services import Services
from core.commands.text import TextCommand, Word, parse_command
from core.commands.thread import rename, show_thread
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.review import MOST_REVIEWERS
from core.domain.thread import Mode, Place
from core.domain.view import AnswerView, ButtonAction

COMMAND_CHARS: Final = 200
MODE_WORDS: Final = (Word.COMPARE, Word.DEBATE, Word.CODRAFT, Word.WORKFLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services
    visits: Visits
    feed: Feed
    held: HeldFiles

    async def say(self, visit: Visit, form: Form) -> Outcome:
        """A message, or a command typed with a slash, for a thread or for a new one in a channel."""
        text = form["text"]
        if text.lstrip().startswith(("/", "／")):
            command = parse_command(text.strip())
            if not form.uploads or (command is not None and command.word in MODE_WORDS):
                return await self._command(visit, form, text.strip())
        place = None
        if not form["thread_id"]:
            place = Place(platform=PLATFORM, channel=form["channel"], thread="")
        names = [person.name for person in visit.people]
        text, mentioned = called(text)
        result = await say(
            self.services,
            visit.actor,
            Said(
                text=text,
                event_key=event_key_of(form),
                external_id=event_key_of(form),
                # Whoever begins a thread speaks to the product, and so does everybody in a direct conversation.
                mentions_bot=mentioned
                or place is not None
                or await in_direct(self.services, visit.actor, form["thread_id"]),
                mentions_other=mentions_other(text, visit.actor.name, names),
                place=place,
                thread_id=ThreadId(form["thread_id"]) if place is None else None,
                uploads=form.uploads,
                model=form["model"] or None,
            ),
        )
        return self._changed(result.thread_id or "")

    def wish(self, visit: Visit, form: Form, *, event_key: str = "") -> Wish:
        """The form of a mode as it is filled in, its files held until it is started. Raises Refusal."""
        return self._holding(visit, form, wish_of(form.fields, event_key=event_key))

    def _holding(self, visit: Visit, form: Form, wish: Wish) -> Wish:
        """The wish with the files that came with a form and those that wait, but for those that are left out."""
        before = self.held.of(visit.actor.person_id, form["held"]) or ()
        kept = tuple(one for place, one in enumerate(before) if f"drop.{place}" not in form.fields)
        uploads = (*kept, *form.uploads)
        if not uploads:
            return wish
        token = form["held"] if uploads == before else self.held.hold(visit.actor.person_id, uploads)
        return replace(wish, held=token, files=tuple(upload.name for upload in uploads))

    def _check_files(self, visit: Visit, form: Form, wish: Wish) -> None:
        """Return when all files are there that the person was shown. Raises Refusal."""
        if form["held"] and self.held.of(visit.actor.person_id, form["held"]) is None:
            raise Refusal("files_gone")
        if len(wish.files) > MAX_FILES:
            raise Refusal("too_many_files", had=len(wish.files), limit=MAX_FILES)

    async def fill_in(self, visit: Visit, form: Form) -> Outcome:
        """The form of a mode, with what was typed and attached for it so far."""
        return Outcome(location="", wish=self.wish(visit, form))

    async def check(self, visit: Visit, form: Form) -> Outcome:
        """What a mode is expected to cost with this form; nothing starts before the person has seen it."""
        wish = self.wish(visit, form)
        self._check_files(visit, form, wish)
        estimate = estimate_start(self.services, visit.actor, wish.mode, setup_of(wish), wish.text)
        return Outcome(location="", wish=wish, confirm=estimate)

    async def start(self, visit: Visit, form: Form) -> Outcome:
        """A new thread in another mode than Chat, after its estimate was shown."""
        wish = self.wish(visit, form)
        self._check_files(visit, form, wish)
        said = Said(
            text=wish.text,
            event_key=event_key_of(form),
            external_id=event_key_of(form),
            mentions_bot=True,
            place=Place(platform=PLATFORM, channel=wish.channel, thread=""),
            mode=wish.mode,
            setup=setup_of(wish),
            uploads=self.held.of(visit.actor.person_id, wish.held) or (),
            estimate_seen=True,
        )
        result = await say(self.services, visit.actor, said)
        return self._changed(result.thread_id or "")

    async def compare_answers(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await compare_answers(self.services, visit.actor, form["ref"], event_key=event_key_of(form))
        return self._done(visit, thread_id, "answer.compare_answers")

    async def vote(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await vote(self.services, visit.actor, form["ref"], event_key=event_key_of(form))
        return self._done(visit, thread_id, "answer.vote")

    async def reveal(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await reveal(self.services, visit.actor, thread_id, event_key=event_key_of(form))
        return self._done(visit, thread_id, "answer.reveal")

    async def join(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await join(self.services, visit.actor, thread_id, form["model"], event_key=event_key_of(form))
        return self._done(visit, thread_id, "console.joined", model=form["model"])

    async def review(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """A Cross Review of the answers that were ticked, in the order in which they stand."""
        request = ReviewRequest(
            answers=tuple(name.removeprefix("pick.") for name in form.fields if name.startswith("pick.")),
            reviewers=count_of(
                form["count"], "reviewers", least=1, most=MOST_REVIEWERS, default=DEFAULT_REVIEWERS
            ),
            focus=form["focus"],
        )
        started = await cross_review(self.services, visit.actor, request, event_key=event_key_of(form))
        done = self._done(visit, thread_id, "answer.review", reviewers=", ".join(started.reviewers))
        if len(started.reviewers) >= started.asked:
            return done
        fewer = i18n.text(
            visit.reader.locale,
            "mode_notice.fewer_reviewers",
            had=len(started.reviewers),
            asked=started.asked,
        )
        return replace(done, flash=f"{done.flash} {fewer}")

    async def save(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        name = await save_answer(
            self.services,
            visit.actor,
            form["ref"],
            form["name"],
            event_key=event_key_of(form),
            as_version=bool(form["as_version"]),
        )
        return self._done(visit, thread_id, "answer.save", name=name)

    async def edit_artifact(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """A person's version of an artifact."""
        number = await edit_artifact(
            self.services,
            visit.actor,
            thread_id,
            form["name"],
            form["text"],
            base=position_of(form["base"]) or 0,
            reason=form["reason"],
            event_key=event_key_of(form),
        )
        done = self._done(visit, thread_id, "console.version_saved", number=number)
        return replace(done, location=f"/t/{thread_id}/artifact?{urlencode({'name': form['name']})}")

    async def send_artifact(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """One version of an artifact into another thread, which is opened then."""
        request = SendRequest(
            thread_id=thread_id,
            name=form["name"],
            to_thread_id=form["ref"],
            number=position_of(form["at"]),
            new_name=form["title"],
        )
        sent = await send_artifact(self.services, visit.actor, request, event_key=event_key_of(form))
        done = self._done(visit, sent.thread_id, "console.artifact_sent", name=sent.name)
        return replace(done, location=f"/t/{sent.thread_id}")

    async def branch(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        message_id, position = split_point(form)
        request = BranchRequest(
            thread_id=ThreadId(thread_id),
            message_id=message_id,
            position=position,
            name=form["name"],
            reason=form["reason"],
        )
        made = await branch(self.services, visit.actor, request, event_key=event_key_of(form))
        self.feed.tell_change(thread_id)
        return Outcome(location=f"/t/{made.id}#h-{made.id}")

    async def again(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """Retry, or the same with the model that was chosen."""
        await answer_again(
            self.services,
            visit.actor,
            thread_id,
            form["ref"],
            model=form["model"] or None,
            event_key=event_key_of(form),
        )
        return self._changed(thread_id)

    async def keep(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await keep_answer(self.services, visit.actor, form["ref"], event_key=event_key_of(form))
        return self._changed(thread_id)

    async def feedback(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        """A thumb for an answer, or the same one taken back."""
        kept = await give_feedback(
            self.services, visit.actor, form["ref"], form["thumb"], event_key=event_key_of(form)
        )
        return self._done(visit, thread_id, f"feedback.{kept.value if kept else 'withdrawn'}")

    async def stop(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await stop(self.services, visit.actor, run_id=form["ref"] or None, thread_id=thread_id)
        return self._changed(thread_id)

    async def edit(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await edit_message(
            self.services, visit.actor, form["message"], form["text"], event_key=event_key_of(form)
        )
        return self._changed(thread_id)

    async def delete(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await delete_message(self.services, visit.actor, form["message"], event_key=event_key_of(form))
        return self._changed(thread_id)

    async def rename(self, visit: Visit, form: Form, thread_id: str) -> Outcome:
        await rename(self.services, visit.actor, thread_id, form["title"])
        return self._changed(thread_id)

    async def add_person(self, form: Form) -> Outcome:
        added = await self.visits.add(form["name"], form["locale"])
        return Outcome(location="/", person=added.external_id)

    async def choose_person(self, visit: Visit, form: Form) -> Outcome:
        """Who speaks from now on. The way back may lead to a thread that this person cannot see; it says so then."""
        return Outcome(location=local_path(form["back"]), person=known_person(visit, form["person"]))

    async def choose_language(self, visit: Visit, form: Form) -> Outcome:
        await self.visits.set_language(visit, form["locale"])
        return Outcome(location=local_path(form["back"]))

    def _changed(self, thread_id: str) -> Outcome:
        self.feed.tell_change(thread_id)
        return Outcome(location=f"/t/{thread_id}")

    def _done(self, visit: Visit, thread_id: str, key: str, **fields: str | int) -> Outcome:
        return replace(self._changed(thread_id), flash=i18n.text(visit.reader.locale, key, **fields))

    async def _command(self, visit: Visit, form: Form, text: str) -> Outcome:
        command = parse_command(text)
        if command is None:
            raise Refusal("unknown_command", command=text[:COMMAND_CHARS].split()[0])
        match command.word:
            case Word.THREADS:
                return Outcome(location=f"/c/{form['channel']}" if form["channel"] else "/")
            case Word.PROMPTS:
                name = command.rest.partition(" ")[0]
                return Outcome(location=prompt_path(name) if name else "/prompts")
            case Word.MODELS | Word.USAGE | Word.HELP:
                return Outcome(location=f"/{command.word.value}", panel=True)
            case Word.COMPARE | Word.DEBATE | Word.CODRAFT | Word.WORKFLOW:
                return self._begin(visit, form, command)
            case (
                Word.BRANCH
                | Word.RETRY
                | Word.STOP
                | Word.INPUT
                | Word.RENAME
                | Word.REVIEW
                | Word.SAVE
                | Word.ARTIFACTS
            ):
                if not form["thread_id"]:
                    raise Refusal("command_needs_thread", command=f"/{command.word.value}")
                return await self._thread_command(visit, form, command, ThreadId(form["thread_id"]))
            case (
                Word.PIN
                | Word.PINS
                | Word.HANDOVER
                | Word.ADOPT
                | Word.APPROVE
                | Word.REJECT
                | Word.WITHDRAW
                | Word.ADOPTIONS
            ):
                if not form["thread_id"]:
                    raise Refusal("command_needs_thread", command=f"/{command.word.value}")
                carry = CarryForms(services=self.services, feed=self.feed)
                return await carry.command(visit, form, command, form["thread_id"])
            case _:
                assert_never(command.word)

    def _begin(self, visit: Visit, form: Form, command: TextCommand) -> Outcome:
        """A mode with its defaults: the estimate where a question was typed, the empty form otherwise."""
        if form["thread_id"]:
            raise Refusal("command_needs_channel", command=f"/{command.word.value}")
        mode, text, named = Mode(command.word.value), command.rest, {}
        if mode is Mode.WORKFLOW and text:
            name, _, text = text.partition(" ")
            named = {"workflow": name}
        usual = fields_of(mode, usual_setup(self.services, visit.actor, mode))
        wish = Wish(
            mode=mode,
            channel=form["channel"],
            event_key=event_key_of(form),
            fields={**usual, **named, "text": text.strip()},
        )
        wish = self._holding(visit, form, wish)
        if not wish.text:
            return Outcome(location="", wish=wish)
        estimate = estimate_start(self.services, visit.actor, mode, setup_of(wish), wish.text)
        return Outcome(location="", wish=wish, confirm=estimate)

    def _sheet(self, thread_id: ThreadId, command: TextCommand, answer: AnswerView) -> Outcome:
        """The form that a command opens for an answer."""
        query = urlencode({"ref": answer.message_id or "", "name": command.rest})
        return Outcome(location=f"/t/{thread_id}/{command.word.value}?{query}", panel=True)

    async def _thread_command(
        self, visit: Visit, form: Form, command: TextCommand, thread_id: ThreadId
    ) -> Outcome:
        if command.word is Word.BRANCH:
            request = BranchRequest(thread_id=thread_id, position=command.position, name=command.rest)
            made = await branch(self.services, visit.actor, request, event_key=event_key_of(form))
            self.feed.tell_change(thread_id)
            return Outcome(location=f"/t/{made.id}#h-{made.id}")
        if command.word is Word.ARTIFACTS:
            return Outcome(location=f"/t/{thread_id}/artifacts", panel=True)
        if command.word is Word.STOP:
            await stop(self.services, visit.actor, thread_id=thread_id)
        elif command.word is Word.RENAME:
            await rename(self.services, visit.actor, thread_id, command.rest)
        else:
            page = await show_thread(self.services, visit.actor, thread_id)
            if command.word is Word.REVIEW:
                return self._sheet(thread_id, command, last_offering(page, ButtonAction.REVIEW))
            answer = last_answer(page)
            if command.word is Word.INPUT:
                if answer.receipt_id is None:
                    raise Refusal("receipt_not_found")
                return Outcome(location=f"/receipts/{answer.receipt_id}", panel=True)
            if command.word is Word.SAVE:
                return self._sheet(thread_id, command, answer)
            await answer_again(
                self.services,
                visit.actor,
                thread_id,
                answer.run_id,
                model=command.rest or None,
                event_key=event_key_of(form),
            )
        return self._changed(thread_id)
