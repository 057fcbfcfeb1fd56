"""What a person does on the page: each form becomes one core command."""

from dataclasses import dataclass
from typing import Final, assert_never

from bot.console.feed import Feed
from bot.console.page import last_answer
from bot.console.parse import Form, event_key_of, local_path, mentions_other, split_point
from bot.console.poster import PLATFORM
from bot.console.visit import Visit, Visits, known_person
from core.commands.answer import answer_again, keep_answer, stop
from core.commands.branch import BranchRequest, branch
from core.commands.message import delete_message, edit_message
from core.commands.say import Said, say
from core.commands.services import Services
from core.commands.text import TextCommand, Word, parse_command
from core.commands.thread import rename, show_thread
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.thread import Place

COMMAND_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where the person goes after a form that was carried out."""

    location: str
    panel: bool = False
    """The page's script shows it beside the thread in place of leaving the thread."""
    person: str = ""
    """The person who speaks from now on, when that changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services
    visits: Visits
    feed: Feed

    async def say(self, visit: Visit, form: Form) -> Outcome:
        """A message, or a command typed with a slash, for a thread or for a new one in a channel."""
        text = form["text"]
        if text.lstrip().startswith(("/", "／")) and not form.uploads:
            return await self._command(visit, form, text.strip())
        place = None
        if not form["thread_id"]:
            place = Place(platform=PLATFORM, channel=form["channel"], thread="")
        names = [person.name for person in visit.people]
        result = await say(
            self.services,
            visit.actor,
            Said(
                text=text,
                event_key=event_key_of(form),
                external_id=event_key_of(form),
                mentions_bot=True,
                mentions_other=mentions_other(text, visit.actor.name, names),
                place=place,
                thread_id=ThreadId(form["thread_id"]) if place is None else None,
                uploads=form.uploads,
                model=form["model"] or None,
            ),
        )
        return self._changed(result.thread_id or "")

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

    async def keep(self, visit: Visit, form: Form) -> Outcome:
        return self._changed(
            await keep_answer(self.services, visit.actor, form["ref"], event_key=event_key_of(form))
        )

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

    async def _command(self, visit: Visit, form: Form, text: str) -> Outcome:
        command = parse_command(text)
        if command is None:
            raise Refusal("unknown_command", command=text[:COMMAND_CHARS].split()[0])
        match command.word:
            case Word.THREADS:
                return Outcome(location=f"/c/{form['channel']}" if form["channel"] else "/")
            case Word.MODELS | Word.USAGE | Word.HELP:
                return Outcome(location=f"/{command.word.value}", panel=True)
            case Word.BRANCH | Word.RETRY | Word.STOP | Word.INPUT | Word.RENAME:
                if not form["thread_id"]:
                    raise Refusal("command_needs_thread", command=f"/{command.word.value}")
                return await self._thread_command(visit, form, command, ThreadId(form["thread_id"]))
            case _:
                assert_never(command.word)

    async def _thread_command(
        self, visit: Visit, form: Form, command: TextCommand, thread_id: ThreadId
    ) -> Outcome:
        if command.word is Word.BRANCH:
            request = BranchRequest(thread_id=thread_id, position=command.position, name=command.rest)
            made = await branch(self.services, visit.actor, request, event_key=event_key_of(form))
            self.feed.tell_change(thread_id)
            return Outcome(location=f"/t/{made.id}#h-{made.id}")
        if command.word is Word.STOP:
            await stop(self.services, visit.actor, thread_id=thread_id)
        elif command.word is Word.RENAME:
            await rename(self.services, visit.actor, thread_id, command.rest)
        else:
            answer = last_answer(await show_thread(self.services, visit.actor, thread_id))
            if command.word is Word.INPUT:
                if answer.receipt_id is None:
                    raise Refusal("receipt_not_found")
                return Outcome(location=f"/receipts/{answer.receipt_id}", panel=True)
            await answer_again(
                self.services,
                visit.actor,
                thread_id,
                answer.run_id,
                model=command.rest or None,
                event_key=event_key_of(form),
            )
        return self._changed(thread_id)
