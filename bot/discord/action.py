"""What people ask for on Discord, by whatever route: each is one command of the core and what is said about it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import discord

from bot import carried
from bot.carried import QUOTES
from bot.discord import reply
from bot.discord.card import Card, Menu, Option
from bot.discord.channel import Channels, retitle
from bot.discord.component import NO_MENTIONS, file_of, nonce
from bot.discord.limit import OPTION_TEXT, OPTIONS, PLATFORM, head
from bot.discord.permission import NEEDED, invite, missing, names_of
from bot.discord.plan import names_in
from bot.discord.prompt_card import offered_card
from bot.discord.render import plain, thread_name
from bot.discord.review_card import offer
from bot.discord.traffic import translated
from bot.usage import draw_usage, read_usage
from core.commands.answer import answer_again, keep_answer, stop
from core.commands.artifact import list_saved, save_answer, show_artifact
from core.commands.branch import BranchRequest, branch
from core.commands.compare import compare_answers, reveal, vote
from core.commands.model import list_models
from core.commands.place import Found, message_at, thread_at
from core.commands.receipt import show_ai_input
from core.commands.review import DEFAULT_REVIEWERS, ReviewRequest, estimate_review
from core.commands.services import Services
from core.commands.text import FULL_WIDTH_DIGITS, TextCommand, Word
from core.commands.thread import last_answer, list_channels, rename, show_thread
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import Mode, Place
from core.domain.view import AnswerView, ButtonAction, MessageView, ThreadPage
from core.i18n import text

SHOWS_ITSELF: Final = (Word.BRANCH, Word.RETRY, Word.STOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where something is asked for. `thread` is False where no thread of ours can be."""

    place: Place
    guild: discord.Guild
    thread: bool
    rights: discord.Permissions | None = None
    """What the bot may do there, where Discord said so."""


@dataclass(frozen=True, slots=True)
class Actions:
    services: Services
    channels: Channels
    reads_everything: Callable[[], bool]

    async def typed(self, actor: Actor, spot: Spot, command: TextCommand, *, key: str) -> Card | None:
        """Carry out a command typed after a mention; what is said about it stands where everyone there sees it.

        None where the thread itself shows what came of it.
        """
        rest = command.rest
        acts: dict[Word, Callable[[], Awaitable[Card]]] = {
            Word.BRANCH: lambda: self.branch_here(actor, spot, command.position, rest, "", key=key),
            Word.RETRY: lambda: self.retry(actor, spot, rest or None, key=key),
            Word.STOP: lambda: self.stop_here(actor, spot),
            Word.INPUT: lambda: self.input_here(actor, spot, None),
            Word.RENAME: lambda: self.rename(actor, spot, rest),
            Word.REVIEW: lambda: self._review_typed(actor, spot, key),
            Word.SAVE: lambda: self.save_here(actor, spot, "", rest.strip(QUOTES), as_version=False, key=key),
            Word.ARTIFACTS: lambda: self.artifacts(actor, spot, rest.strip(QUOTES), ""),
            Word.THREADS: lambda: self.threads(actor, only=spot.place.channel),
            Word.MODELS: lambda: self.models(actor),
            Word.PROMPTS: lambda: self.prompts(actor, rest),
            # What the workspace spends is for whoever asks, not for everyone in the channel.
            Word.USAGE: lambda: self.only_private(actor, "/usage"),
            Word.HELP: lambda: self.help(actor, spot),
        }
        card = await acts[command.word]()
        return None if command.word in SHOWS_ITSELF else card

    # --- in a thread ----------------------------------------------------------------------------------------------

    async def thread(self, actor: Actor, spot: Spot, command: str) -> ThreadId:
        """Our thread at the spot. Raises Refusal when there is none that the actor can see."""
        found = await thread_at(self.services, actor, spot.place) if spot.thread else None
        if found is None:
            raise Refusal("command_needs_thread", command=command)
        return found.id

    async def branch_here(
        self, actor: Actor, spot: Spot, position: str | None, name: str, reason: str, *, key: str
    ) -> Card:
        thread_id = await self.thread(actor, spot, "/branch")
        request = BranchRequest(thread_id=thread_id, position=position, name=name, reason=reason)
        return await self._branch(actor, request, key=key)

    async def branch_at(
        self, actor: Actor, thread_id: ThreadId, ref: str, name: str, reason: str, *, key: str
    ) -> Card:
        request = BranchRequest(thread_id=thread_id, message_id=ref, name=name, reason=reason)
        return await self._branch(actor, request, key=key)

    async def _branch(self, actor: Actor, request: BranchRequest, *, key: str) -> Card:
        made = await branch(self.services, actor, request, event_key=f"discord:{key}")
        return reply.branched(made, actor.locale)

    async def found(self, actor: Actor, spot: Spot, message: str) -> Found:
        """What a message of Discord is to us. Raises Refusal."""
        return await message_at(self.services, actor, spot.place.channel, message)

    async def retry(self, actor: Actor, spot: Spot, model: str | None, *, key: str) -> Card:
        thread_id = await self.thread(actor, spot, "/retry")
        answer = await self._last_answer(actor, thread_id)
        return await self.again(actor, thread_id, answer.run_id, model, key=key)

    async def again(
        self, actor: Actor, thread_id: ThreadId, ref: str, model: str | None, *, key: str
    ) -> Card:
        await answer_again(self.services, actor, thread_id, ref, model=model, event_key=f"discord:{key}")
        return Card(content=text(actor.locale, "discord.asked_again"))

    async def keep(self, actor: Actor, message_id: str, *, key: str) -> Card:
        await keep_answer(self.services, actor, message_id, event_key=f"discord:{key}")
        return Card(content=text(actor.locale, "discord.kept"))

    async def on_answer(self, actor: Actor, action: str, ref: str, *, key: str) -> Card | None:
        """Carry out a button of the modes in which several models speak; None when it is none of them."""
        services, event_key, fields = self.services, f"discord:{key}", dict[str, str]()
        match action:
            case ButtonAction.COMPARE_ANSWERS:
                await compare_answers(services, actor, ref, event_key=event_key)
            case ButtonAction.VOTE:
                await vote(services, actor, ref, event_key=event_key)
            case ButtonAction.REVEAL:
                await reveal(services, actor, ref, event_key=event_key)
            case ButtonAction.SAVE:
                fields["name"] = await save_answer(services, actor, ref, event_key=event_key)
            case _ if action in carried.CARRIED_BUTTONS:
                return Card(
                    content=await carried.pressed(services, actor, ButtonAction(action), ref, event_key)
                )
            case _:
                return None
        return Card(content=text(actor.locale, f"answer.{action}", **fields))

    async def _post(self, channel: discord.Thread, card: Card, key: str) -> None:
        """Post a card for all to see, once for each key."""
        async with translated():
            await channel.send(
                content=card.content,
                files=file_of(card),
                nonce=nonce(key),
                allowed_mentions=NO_MENTIONS,
                suppress_embeds=True,
            )

    async def review_of(
        self, actor: Actor, spot: Spot, positions: str, focus: str, reviewers: str
    ) -> ReviewRequest:
        """What asks for a Cross Review of the answers at positions, or of the last ones that can be reviewed."""
        thread_id = await self.thread(actor, spot, "/review")
        if positions.strip():
            wanted = [_position(one) for one in names_in(positions)]
            found = [await self._offering(actor, thread_id, one, ButtonAction.REVIEW) for one in wanted]
            answers = tuple(ref for refs in found for ref in refs)
        else:
            answers = last_reviewable(await show_thread(self.services, actor, thread_id))
        count = int(reviewers) if reviewers else DEFAULT_REVIEWERS
        return ReviewRequest(answers=answers, focus=focus, reviewers=count)

    async def _review_typed(self, actor: Actor, spot: Spot, key: str) -> Card:
        request = await self.review_of(actor, spot, "", "", "")
        return await self.offer_review(actor, request, f"{actor.external_id}:{key.rpartition(':')[2]}")

    async def offer_review(self, actor: Actor, request: ReviewRequest, ref: str) -> Card:
        """What a Cross Review would cost, with Start; nothing is stored or called. `ref` comes back with the button."""
        return offer(request, await estimate_review(self.services, actor, request), ref, actor.locale)

    async def save_here(
        self, actor: Actor, spot: Spot, position: str, name: str, *, as_version: bool, key: str
    ) -> Card:
        """Save the answer at a position, or the newest one."""
        thread_id = await self.thread(actor, spot, "/save")
        if position:
            ref = (await self._offering(actor, thread_id, _position(position), ButtonAction.SAVE))[0]
        else:
            ref = last_offered(await show_thread(self.services, actor, thread_id), ButtonAction.SAVE)
        kept = await save_answer(
            self.services, actor, ref, name, event_key=f"discord:{key}", as_version=as_version
        )
        return Card(content=text(actor.locale, "answer.save", name=plain(kept)))

    async def artifacts(
        self, actor: Actor, spot: Spot, name: str, version: str, *, send: bool = False, key: str = ""
    ) -> Card:
        """The saved results of a thread, or one of them whole with its versions; with `send` everyone there gets it."""
        thread_id = await self.thread(actor, spot, "/artifacts")
        if not name:
            return reply.artifacts(await list_saved(self.services, actor, thread_id), actor.locale)
        number = int(version) if version else None
        shown = await show_artifact(self.services, actor, thread_id, name, number=number)
        if not send:
            return reply.artifact(shown, actor.locale)
        channel = await self.channels.find(int(spot.place.thread))
        if not isinstance(channel, discord.Thread):
            raise Refusal("command_needs_thread", command="/artifacts")
        await self._post(channel, reply.sent_artifact(shown, actor.name, actor.locale), f"artifact:{key}")
        return Card(content=text(actor.locale, "discord.artifact_sent"))

    async def _offering(
        self, actor: Actor, thread_id: ThreadId, position: int, action: ButtonAction
    ) -> list[str]:
        """What the answers at a position, several in a Compare, offer for a button. Raises Refusal."""
        page = await show_thread(self.services, actor, thread_id, before=position + 1)
        refs = [
            button.ref
            for item in page.items
            if isinstance(item, AnswerView) and item.position == position
            for button in item.buttons
            if button.action is action
        ]
        if not refs:
            raise Refusal("no_answer_at", position=position)
        return refs

    async def stop_here(self, actor: Actor, spot: Spot) -> Card:
        thread_id = await self.thread(actor, spot, "/stop")
        await stop(self.services, actor, thread_id=thread_id)
        return Card(content=text(actor.locale, "discord.stopping"))

    async def stop_run(self, actor: Actor, run_id: str) -> Card:
        await stop(self.services, actor, run_id=run_id)
        return Card(content=text(actor.locale, "discord.stopping"))

    async def rename(self, actor: Actor, spot: Spot, title: str) -> Card:
        thread_id = await self.thread(actor, spot, "/rename")
        await rename(self.services, actor, thread_id, title)
        taken = await retitle(self.channels, spot.place, thread_name(title))
        return Card(content=text(actor.locale, "discord.renamed" if taken else "discord.renamed_here_only"))

    async def input_here(self, actor: Actor, spot: Spot, position: str | None) -> Card:
        thread_id = await self.thread(actor, spot, "/input")
        if position is None:
            answer = await self._last_answer(actor, thread_id)
        else:
            answer = await self._answer_at(actor, thread_id, position)
        return await self._input_of(actor, answer)

    async def input_at(self, actor: Actor, found: Found) -> Card:
        """The AI input behind a message of an answer."""
        return await self._input_of(actor, await self._answer_of(actor, found, "no_ai_input"))

    async def keep_at(self, actor: Actor, found: Found, *, key: str) -> Card:
        """Keep the answer that a message is part of."""
        return await self.keep(actor, await self.answer_id_of(actor, found), key=key)

    async def answer_id_of(self, actor: Actor, found: Found) -> str:
        """The stored answer that a message of Discord is part of. Raises Refusal."""
        answer = await self._answer_of(actor, found, "not_an_answer")
        if answer.message_id is None:
            raise Refusal("not_an_answer")
        return answer.message_id

    async def message_id_of(self, actor: Actor, found: Found) -> str:
        """What was said in a message of Discord, by a person or by a model. Raises Refusal."""
        page = await show_thread(self.services, actor, found.thread_id)
        said = (one for one in page.items if isinstance(one, MessageView))
        if any(one.message_id == found.ref for one in said):
            return found.ref
        return await self.answer_id_of(actor, found)

    async def message_id_at(self, actor: Actor, thread_id: ThreadId, position: str) -> str:
        """What stands at a position of a thread. Raises Refusal."""
        wanted = _position(position)
        page = await show_thread(self.services, actor, thread_id, before=wanted + 1)
        for item in page.items:
            if isinstance(item, AnswerView | MessageView) and item.position == wanted and item.message_id:
                return item.message_id
        raise Refusal("no_message_at", position=wanted)

    async def _answer_of(self, actor: Actor, found: Found, otherwise: str) -> AnswerView:
        page = await show_thread(self.services, actor, found.thread_id)
        for item in page.items:
            if isinstance(item, AnswerView) and found.ref in (item.run_id, item.message_id):
                return item
        raise Refusal(otherwise)

    async def input(self, actor: Actor, receipt_id: str) -> Card:
        return reply.receipt(await show_ai_input(self.services, actor, receipt_id), actor.locale)

    async def _input_of(self, actor: Actor, answer: AnswerView) -> Card:
        if answer.receipt_id is None:
            raise Refusal("no_ai_input")
        return await self.input(actor, answer.receipt_id)

    async def _last_answer(self, actor: Actor, thread_id: ThreadId) -> AnswerView:
        return last_answer(await show_thread(self.services, actor, thread_id))

    async def _answer_at(self, actor: Actor, thread_id: ThreadId, position: str) -> AnswerView:
        wanted = _position(position)
        page = await show_thread(self.services, actor, thread_id, before=wanted + 1)
        for item in page.items:
            if isinstance(item, AnswerView) and item.position == wanted:
                return item
        raise Refusal("no_answer_at", position=wanted)

    async def other_models(self, actor: Actor, ref: str) -> Card:
        """A menu of the models that may answer instead."""
        models = [m for m in await list_models(self.services, actor) if m.allowed][:OPTIONS]
        if not models:
            raise Refusal("no_model")
        options = tuple(
            Option(label=head(m.alias, OPTION_TEXT), value=m.alias, description=head(m.model_id, OPTION_TEXT))
            for m in models
        )
        menu = Menu(
            placeholder=text(actor.locale, "discord.choose_model"),
            action="answer_with",
            ref=ref,
            options=options,
        )
        return Card(content=text(actor.locale, "discord.choose_model_how"), menu=menu)

    # --- anywhere -------------------------------------------------------------------------------------------------

    async def threads(self, actor: Actor, *, only: str | None = None) -> Card:
        channels = await list_channels(self.services, actor, PLATFORM)
        if only is not None:
            channels = tuple(channel for channel in channels if channel.external_id == only)
        return reply.threads(channels, actor.locale)

    async def models(self, actor: Actor) -> Card:
        return reply.models(await list_models(self.services, actor), actor.locale)

    async def usage(self, actor: Actor, by: str) -> Card:
        usage = await read_usage(self.services, actor)
        picture = await draw_usage(usage) if usage.days else None
        return reply.usage(usage, by, picture, actor.locale)

    async def prompts(self, actor: Actor, words: str) -> Card:
        """What is told in a thread: prompts themselves are for whoever presses, not for everyone there."""
        return offered_card(words, actor.locale)

    async def only_private(self, actor: Actor, command: str) -> Card:
        return Card(content=text(actor.locale, "discord.only_private", command=command))

    async def help(self, actor: Actor, spot: Spot) -> Card:
        guild = spot.guild
        problems = []
        if not self.reads_everything():
            problems.append(text(actor.locale, "discord.content_hidden"))
        if spot.rights is not None and (lacking := missing(spot.rights, NEEDED)):
            link = invite(guild.me.id, guild.id)
            problems.append(
                text(
                    actor.locale, "refusal.rights_missing", rights=names_of(lacking, actor.locale), link=link
                )
            )
        return reply.help_card(actor.locale, problems)


def _position(typed: str) -> int:
    """A position as typed, with or without its sign. Raises Refusal."""
    digits = typed.strip().lstrip("#＃").translate(FULL_WIDTH_DIGITS)
    if not (digits.isascii() and digits.isdigit()):
        raise Refusal("no_answer_at", position=typed[:20])
    return int(digits[:9])


def last_offered(page: ThreadPage, action: ButtonAction) -> str:
    """What the newest answer that has a button offers for it. Raises Refusal when none has."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView):
            for button in item.buttons:
                if button.action is action:
                    return button.ref
    raise Refusal("answer_not_found")


def last_reviewable(page: ThreadPage) -> tuple[str, ...]:
    """The answers that a Cross Review takes without being told: in a Compare all to the last question, else the newest.

    Raises Refusal.
    """
    offered = [
        (item.answers_id, button.ref)
        for item in page.items
        if isinstance(item, AnswerView)
        for button in item.buttons
        if button.action is ButtonAction.REVIEW
    ]
    if not offered:
        # The core says in which modes there is something to review.
        return (last_answer(page).message_id or "",)
    question, newest = offered[-1]
    if page.mode is not Mode.COMPARE:
        return (newest,)
    return tuple(ref for asked, ref in offered if asked == question)
