"""The pages, drawn for a visit. A form that was refused is drawn again by the same functions, with what was typed.

A thread is drawn off the event loop: the Markdown of a very long message takes up to a second.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bot.console.opening import SEATS, SLOTS, STARTED_BY_FORM, Wish, fields_of, setup_of
from bot.console.parse import COMMANDS, Typed, position_of
from bot.console.poster import PLATFORM
from bot.console.render import Renderer
from bot.console.visit import Visit
from core.commands.artifact import list_saved, show_artifact
from core.commands.model import list_models, show_usage
from core.commands.opening import usual_setup
from core.commands.receipt import show_ai_input
from core.commands.review import DEFAULT_REVIEWERS, ReviewRequest, estimate_review
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain import codraft, compare, debate
from core.domain.artifact import diff
from core.domain.debate import DebateRole
from core.domain.errors import Refusal
from core.domain.policy import Listen
from core.domain.review import MOST_REVIEWERS
from core.domain.thread import Mode
from core.domain.view import (
    AnswerView,
    ButtonAction,
    ChannelItem,
    EstimateView,
    MessageView,
    Quote,
    ThreadItem,
    ThreadPage,
)
from core.domain.workflow import Workflow

QUOTE_CHARS: Final = 300
NOTHING: Final = Typed()
START_LIMITS: Final[dict[str, Any]] = {
    "slots": SLOTS,
    "seats": SEATS,
    "roles": tuple(role.value for role in DebateRole),
    "most_times": compare.MOST_MODELS,
    "least_rebuttals": debate.LEAST_REBUTTALS,
    "most_rebuttals": debate.MOST_REBUTTALS,
    "least_passes": codraft.LEAST_PASSES,
    "most_passes": codraft.MOST_PASSES,
}
ANYWHERE: Final = ("threads", "prompts", "models", "usage", "help")
"""Commands that need no thread and begin none."""

UsageBy = Literal["day", "model", "person"]
USAGE_BY: Final[dict[str, UsageBy]] = {"day": "day", "model": "model", "person": "person"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Every page of the console as HTML. All raise Refusal and StoreUnavailable."""

    services: Services
    renderer: Renderer

    async def home(
        self, visit: Visit, channel_id: str = "", *, typed: Typed = NOTHING, error: str = ""
    ) -> str:
        """A channel: what to do first, its threads, and the composer for a new one."""
        channels = await list_channels(self.services, visit.actor, PLATFORM)
        channel = next((one for one in channels if one.external_id == channel_id), None)
        if channel_id and channel is None:
            raise Refusal("page_not_found")
        channel = channel or next(iter(channels), None)
        models = [one for one in await list_models(self.services, visit.actor) if one.allowed]
        return self.renderer.page(
            "home",
            visit.reader,
            **_frame(
                visit, channels, channel=channel.external_id if channel else "", back=_channel_path(channel)
            ),
            **_composer("channel", channel.external_id if channel else "", typed, error),
            here_channel=channel,
            models=models,
            modes=STARTED_BY_FORM,
            demo_only=bool(models) and all(one.demo or one.local for one in models),
            placeholder=self._text(visit, "placeholder_new", channel=channel.name if channel else ""),
        )

    async def thread(
        self,
        visit: Visit,
        thread_id: str,
        *,
        before: int | None = None,
        typed: Typed = NOTHING,
        error: str = "",
    ) -> str:
        """A thread with its newest messages, or those before a position."""
        page = await show_thread(self.services, visit.actor, thread_id, before=before)
        saved = await list_saved(self.services, visit.actor, thread_id)
        channels = await list_channels(self.services, visit.actor, PLATFORM)
        direct = any(c.external_id == page.place.channel and c.visibility == "direct" for c in channels)
        listens = direct or self.services.policy(visit.actor.workspace).listen is Listen.ALL
        return await asyncio.to_thread(
            self.renderer.thread,
            page,
            visit.reader,
            saved=saved,
            **_frame(visit, channels, current=thread_id, channel=page.place.channel, back=f"/t/{thread_id}"),
            **_composer("thread_id", thread_id, typed, error),
            newest=before is None,
            models=(),
            modes=(),
            placeholder=self._text(visit, "placeholder_thread" if listens else "placeholder_mention"),
        )

    async def entries(self, visit: Visit, thread_id: str) -> str:
        """The newest entries of a thread, for a page that is open already."""
        page = await show_thread(self.services, visit.actor, thread_id)
        saved = await list_saved(self.services, visit.actor, thread_id)
        return await asyncio.to_thread(self.renderer.entries, page, visit.reader, saved=saved)

    async def start(self, visit: Visit, wish: Wish, *, error: str = "") -> str:
        """The form of a mode; for a Workflow that is not chosen yet, the ones there are."""
        channel, frame = await self._channel(visit, wish.channel)
        fields = wish.fields
        if not any(name.startswith(("take.", "model.")) for name in fields):
            fields = {**fields_of(wish.mode, usual_setup(self.services, visit.actor, wish.mode)), **fields}
        models = [one for one in await list_models(self.services, visit.actor) if one.allowed]
        workflow = self._workflow(fields.get("workflow", "")) if wish.mode is Mode.WORKFLOW else None
        return self.renderer.page(
            "start" if wish.mode is not Mode.WORKFLOW or workflow else "workflows",
            visit.reader,
            fragment=visit.fragment,
            wish=replace(wish, fields=fields),
            here_channel=channel,
            models=models,
            workflow=workflow,
            workflows=self.services.workflows.values(),
            error=error,
            **START_LIMITS,
            **frame,
        )

    def _workflow(self, name: str) -> Workflow | None:
        """None for no name. Raises Refusal for one that nothing has."""
        if name and name not in self.services.workflows:
            raise Refusal("unknown_workflow", workflow=name, allowed=", ".join(self.services.workflows))
        return self.services.workflows.get(name)

    async def confirm(self, visit: Visit, wish: Wish, estimate: EstimateView) -> str:
        """What a mode is expected to cost, before anything starts."""
        channel, frame = await self._channel(visit, wish.channel)
        return self.renderer.page(
            "confirm",
            visit.reader,
            fragment=visit.fragment,
            wish=wish,
            here_channel=channel,
            setup=setup_of(wish),
            workflow=self._workflow(wish.fields.get("workflow", "")),
            estimate=estimate,
            **frame,
        )

    async def _channel(self, visit: Visit, external_id: str) -> tuple[ChannelItem, dict[str, Any]]:
        """A channel that the person can see, and the frame around a page about it. Raises Refusal."""
        channels = await list_channels(self.services, visit.actor, PLATFORM)
        channel = next((one for one in channels if one.external_id == external_id), None)
        if channel is None:
            raise Refusal("page_not_found")
        frame = _frame(visit, channels, channel=external_id, back=_channel_path(channel))
        return channel, {} if visit.fragment else frame

    async def tree(self, visit: Visit, current: str) -> str:
        """The side bar, for a page that is open already."""
        channels = await list_channels(self.services, visit.actor, PLATFORM)
        holder = next((one for one in channels if _holds(one.threads, current)), None)
        return self.renderer.tree(
            visit.reader, channels=channels, current=current, channel=holder.external_id if holder else ""
        )

    async def receipt(self, visit: Visit, receipt_id: str) -> str:
        """Show AI input."""
        view = await show_ai_input(self.services, visit.actor, receipt_id)
        frame = await self._outer(visit, current=view.thread_id, back=f"/receipts/{receipt_id}")
        return self.renderer.receipt(view, visit.reader, fragment=visit.fragment, **frame)

    async def models(self, visit: Visit) -> str:
        models = await list_models(self.services, visit.actor)
        return await self._document(visit, "models", models=models)

    async def usage(self, visit: Visit, by: str) -> str:
        """Usage by day, model or person; by day for anything else."""
        chosen = USAGE_BY.get(by, "day")
        lines = await show_usage(self.services, visit.actor, by=chosen)
        frame = await self._outer(visit, here="usage", back=f"/usage?by={chosen}")
        return self.renderer.usage(lines, visit.reader, fragment=visit.fragment, by=chosen, **frame)

    async def help(self, visit: Visit) -> str:
        return await self._document(visit, "help", commands=COMMANDS)

    async def refused(self, visit: Visit, *, error: str, way_out: str) -> str:
        """A page that says why there is nothing else to show."""
        frame: dict[str, Any] = {} if visit.fragment else _frame(visit, None, back=way_out)
        return self.renderer.page(
            "refused", visit.reader, fragment=visit.fragment, error=error, way_out=way_out, **frame
        )

    async def branch(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form of a branch, with the message it starts from."""
        item = await self._item(visit, thread_id, typed.message, typed.at)
        return await self._sheet(visit, "branch", thread_id, typed, error, quote=message_quote(item))

    async def edit(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form to edit a message; it begins with the message's own text."""
        if not error:
            item = await self._item(visit, thread_id, typed.message, typed.at)
            if item is None:
                raise Refusal("message_not_found")
            typed = replace(typed, text=item.text)
        return await self._sheet(visit, "edit", thread_id, typed, error)

    async def delete(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        item = await self._item(visit, thread_id, typed.message, typed.at)
        return await self._sheet(visit, "delete", thread_id, typed, error, quote=message_quote(item))

    async def rename(
        self, visit: Visit, thread_id: str, *, typed: Typed | None = None, error: str = ""
    ) -> str:
        """The form for a title; it begins with the one the thread has."""
        if typed is None:
            page = await show_thread(self.services, visit.actor, thread_id)
            typed = Typed(title=page.title)
        return await self._sheet(visit, "rename", thread_id, typed, error)

    async def other_model(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The models that could answer in place of the one that did."""
        models = [one for one in await list_models(self.services, visit.actor) if one.allowed]
        return await self._sheet(visit, "other_model", thread_id, typed, error, models=models)

    async def join(self, visit: Visit, thread_id: str, *, typed: Typed = NOTHING, error: str = "") -> str:
        """The models that could join a Compare."""
        models = [one for one in await list_models(self.services, visit.actor) if one.allowed]
        return await self._sheet(visit, "join", thread_id, typed, error, models=models)

    async def review(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form of a Cross Review: the answers to one question, the one that was pressed ticked."""
        position = position_of(typed.at)
        page = await show_thread(
            self.services, visit.actor, thread_id, before=position + 1 if position else None
        )
        answers = reviewable(page, typed.ref)
        if not answers:
            raise Refusal("answer_not_found")
        chosen = typed.chosen or {typed.ref}
        count = int(typed.count) if typed.count.isdecimal() else DEFAULT_REVIEWERS
        request = ReviewRequest(answers=tuple(sorted(chosen)), reviewers=count)
        return await self._sheet(
            visit,
            "review",
            thread_id,
            typed,
            error,
            answers=answers,
            chosen=chosen,
            estimate=None if error else await estimate_review(self.services, visit.actor, request),
            thread_locale=page.locale,
            least=1,
            most=MOST_REVIEWERS,
            usual=DEFAULT_REVIEWERS,
        )

    async def save(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form that saves an answer as an artifact."""
        saved = await list_saved(self.services, visit.actor, thread_id)
        return await self._sheet(visit, "save", thread_id, typed, error, saved=saved)

    async def artifacts(self, visit: Visit, thread_id: str) -> str:
        """The artifacts of a thread, each with its newest version."""
        saved = await list_saved(self.services, visit.actor, thread_id)
        return await self._sheet(visit, "artifacts", thread_id, NOTHING, "", saved=saved)

    async def artifact(self, visit: Visit, thread_id: str, name: str, version: str) -> str:
        """One version of an artifact with what changed in it, and all versions beside it."""
        shown = await show_artifact(
            self.services, visit.actor, thread_id, name, number=position_of(version) if version else None
        )
        frame = await self._outer(visit, current=thread_id, back=f"/t/{thread_id}")
        return await asyncio.to_thread(
            self.renderer.page,
            "artifact",
            visit.reader,
            fragment=visit.fragment,
            thread_id=thread_id,
            shown=shown,
            **frame,
        )

    async def edit_artifact(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form for a person's version. One that was begun from an older version shows what came since."""
        shown = await show_artifact(self.services, visit.actor, thread_id, typed.name)
        newest = shown.version.number
        if not error:
            typed = replace(typed, text=shown.text)
        overtaken = bool(typed.base) and typed.base != str(newest)
        changes = await asyncio.to_thread(diff, shown.text, typed.text) if overtaken else ()
        return await self._sheet(
            visit,
            "edit_artifact",
            thread_id,
            typed,
            error,
            newest=newest,
            overtaken=overtaken,
            changes=changes,
        )

    async def send_artifact(self, visit: Visit, thread_id: str, *, typed: Typed, error: str = "") -> str:
        """The form that sends a version to another thread the reader can see."""
        number = position_of(typed.at) if typed.at else None
        shown = await show_artifact(self.services, visit.actor, thread_id, typed.name, number=number)
        channels = await list_channels(self.services, visit.actor, PLATFORM)
        return await self._sheet(
            visit, "send_artifact", thread_id, typed, error, number=shown.version.number, places=channels
        )

    async def person(self, visit: Visit, *, typed: Typed = NOTHING, error: str = "") -> str:
        frame = await self._outer(visit, back="/people/new")
        return self.renderer.page(
            "person", visit.reader, fragment=visit.fragment, typed=typed, error=error, **frame
        )

    async def _item(self, visit: Visit, thread_id: str, ref: str, at: str) -> MessageView | AnswerView | None:
        position = position_of(at)
        before = position + 1 if position else None
        page = await show_thread(self.services, visit.actor, thread_id, before=before)
        return find_item(page, ref)

    async def _document(self, visit: Visit, name: str, **context: object) -> str:
        frame = await self._outer(visit, here=name, back=f"/{name}")
        return self.renderer.page(name, visit.reader, fragment=visit.fragment, **frame, **context)

    async def _sheet(
        self, visit: Visit, name: str, thread_id: str, typed: Typed, error: str, **context: object
    ) -> str:
        frame = await self._outer(visit, current=thread_id, back=f"/t/{thread_id}")
        return self.renderer.page(
            name,
            visit.reader,
            fragment=visit.fragment,
            thread_id=thread_id,
            typed=typed,
            error=error,
            **frame,
            **context,
        )

    async def _outer(self, visit: Visit, **where: str) -> dict[str, Any]:
        """The frame around a page; nothing for a fragment, which has none."""
        if visit.fragment:
            return {}
        return _frame(visit, await list_channels(self.services, visit.actor, PLATFORM), **where)

    def _text(self, visit: Visit, key: str, **fields: str) -> str:
        return self.renderer.text(visit.reader, key, **fields)


def find_item(page: ThreadPage, ref: str) -> MessageView | AnswerView | None:
    """The entry of a page that a message id or a run id names."""
    for item in page.items:
        if isinstance(item, MessageView) and item.message_id == ref:
            return item
        if isinstance(item, AnswerView) and ref in (item.message_id, item.run_id):
            return item
    return None


def last_answer(page: ThreadPage) -> AnswerView:
    """The newest answer that a thread keeps. Raises Refusal when there is none."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView) and item.kept:
            return item
    raise Refusal("answer_not_found")


def last_offering(page: ThreadPage, action: ButtonAction) -> AnswerView:
    """The newest answer that offers a button. Raises Refusal when none does."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView) and _offers(item, action):
            return item
    raise Refusal("answer_not_found")


def reviewable(page: ThreadPage, ref: str) -> list[AnswerView]:
    """Every answer to the question that the answer `ref` answers and that can be reviewed beside it."""
    pressed = find_item(page, ref)
    if not isinstance(pressed, AnswerView):
        return []
    return [
        item
        for item in page.items
        if isinstance(item, AnswerView)
        and item.answers_id == pressed.answers_id
        and item.message_id
        and _offers(item, ButtonAction.REVIEW)
    ]


def _offers(item: AnswerView, action: ButtonAction) -> bool:
    return any(button.action is action for button in item.buttons)


def message_quote(item: MessageView | AnswerView | None) -> Quote | None:
    if item is None:
        return None
    line = " ".join(item.text.split())
    author = item.author if isinstance(item, MessageView) else item.model
    return Quote(author=author, text=line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…")


def _holds(items: tuple[ThreadItem, ...], thread_id: str) -> bool:
    return any(one.thread_id == thread_id or _holds(one.children, thread_id) for one in items)


def _channel_path(channel: ChannelItem | None) -> str:
    return f"/c/{channel.external_id}" if channel else "/"


def _frame(
    visit: Visit,
    channels: tuple[ChannelItem, ...] | None,
    *,
    current: str = "",
    channel: str = "",
    here: str = "",
    back: str = "/",
) -> dict[str, Any]:
    return {
        "person": visit.person,
        "people": visit.people,
        "channels": channels,
        "current": current,
        "channel": channel,
        "here": here,
        "back": back,
        "flash": visit.flash,
    }


def _composer(field: str, value: str, typed: Typed, error: str) -> dict[str, Any]:
    begins = {mode.value for mode in STARTED_BY_FORM}
    outside = field == "channel"
    commands = [one for one in COMMANDS if one[0] in ANYWHERE or (one[0] in begins) is outside]
    return {"target": (field, value), "typed": typed, "error": error, "commands": commands}
