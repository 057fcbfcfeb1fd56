"""Prompts on Slack: looked at, edited, saved, looked after and rolled back in forms that only their reader sees.

Nothing is remembered here between the steps: a form carries ids, and what was typed is the person's draft in the store.
"""

from dataclasses import dataclass, replace
from typing import Final

from bot.prompt_act import (
    MOVED,
    MOVES,
    STALE,
    WITHDRAWN,
    Move,
    all_the_same,
    by_id,
    by_number,
    carry_out,
    drafted,
    join_changes,
    keep_part,
    save,
    see_version,
)
from bot.prompt_outline import (
    EVAL,
    PARTS,
    RELOAD,
    STATUS,
    asked,
    begun_from,
    history_document,
    parts_document,
    version_in,
)
from bot.slack.access import SlackAccess
from bot.slack.caller import Caller
from bot.slack.eval_form import eval_message
from bot.slack.evaluation import Evaluations
from bot.slack.files import OutgoingFile, SlackFiles
from bot.slack.form import View
from bot.slack.opening import Openings
from bot.slack.parse import Click, Json, Submission
from bot.slack.private import explain, send_file
from bot.slack.prompt_form import (
    DO_RELOAD,
    DRAFT,
    DRAFT_FILE,
    DROP,
    EDIT,
    EDIT_FORM,
    HISTORY,
    HISTORY_FILE,
    JOIN,
    LIST,
    OPEN,
    PROMPT,
    REASON,
    SAVE_FORM,
    SHOW_STATUS,
    STEP,
    TEXT,
    TEXT_FILE,
    VERSION,
    Leaf,
    draft_form,
    edit_form,
    history_form,
    in_form,
    item_message,
    leaf,
    move_form,
    page_form,
    prompts_message,
    said,
    status_message,
    version_form,
)
from bot.slack.render import SlackMessage
from core import i18n
from core.commands.prompt import list_prompts, prompt_history, show_prompt
from core.commands.prompt_edit import drop_draft
from core.commands.prompt_live import prompt_status, reload_prompts
from core.commands.services import Services
from core.domain.errors import PlatformFailure, Refusal, StoreUnavailable
from core.domain.prompt import PromptText

FILES: Final = (TEXT_FILE, HISTORY_FILE, DRAFT_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services
    access: SlackAccess
    files: SlackFiles
    openings: Openings
    evals: Evaluations

    # --- asked for in words ------------------------------------------------------------------------------------------

    async def typed(self, caller: Caller, rest: str) -> SlackMessage:
        """What is told in a thread after `prompts`: the list, one prompt, or the processes."""
        wanted = asked(rest)
        if wanted is None:
            raise Refusal("prompts_asked")
        if wanted.word == STATUS:
            return status_message(caller.locale, await prompt_status(self.services, caller.actor))
        if wanted.word == RELOAD:
            return await self._reload(caller, self.services.clock.new_id())
        if wanted.word == EVAL:
            return eval_message(caller.locale, wanted.name)
        if not wanted.name:
            return await self._list(caller)
        page = await show_prompt(self.services, caller.actor, wanted.name)
        return item_message(caller.locale, page.item)

    async def opened(self, caller: Caller, rest: str, *, channel: str) -> View:
        """The form of `/prompts`, which also takes the number of a version. `channel` is where it was typed."""
        wanted = asked(rest)
        if wanted is not None and wanted.word == EVAL:
            return await self.evals.opened(caller, wanted.name, channel=channel)
        if wanted is not None and wanted.version:
            number = by_number(wanted.version)
            seen = await see_version(self.services, caller.actor, wanted.name, number)
            return version_form(caller.locale, seen)
        if wanted is not None and wanted.name:
            return await self._page(caller, wanted.name)
        return in_form(caller.locale, await self.typed(caller, rest), back=bool(rest))

    async def _list(self, caller: Caller) -> SlackMessage:
        items = await list_prompts(self.services, caller.actor)
        return prompts_message(caller.locale, items, key=self.services.clock.new_id())

    async def _reload(self, caller: Caller, key: str) -> SlackMessage:
        status = await reload_prompts(self.services, caller.actor, event_key=f"slack:reload:{key}")
        done = i18n.text(caller.locale, "console.prompts_reloaded")
        return status_message(caller.locale, status, done)

    async def _page(self, caller: Caller, name: str, sentence: str = "") -> View:
        return page_form(caller.locale, await show_prompt(self.services, caller.actor, name), sentence)

    # --- buttons -----------------------------------------------------------------------------------------------------

    async def in_view(self, caller: Caller, click: Click, view: Json) -> View:
        """What stands in a form after a button in it was pressed; a refusal too, with the way back."""
        about = Leaf()
        try:
            about = leaf(str(view.get("private_metadata") or ""))
            return await self.press(caller, click, about)
        except (Refusal, StoreUnavailable, PlatformFailure) as problem:
            long = isinstance(problem, Refusal) and problem.code == "prompt_part_long"
            return said(caller.locale, about, explain(caller.locale, problem), file=long)

    async def press(self, caller: Caller, click: Click, about: Leaf) -> View:
        """The form that comes of a button, in a form or under a private card."""
        action, value = click.action.partition(":")[0], click.value
        if action.removeprefix(PROMPT) in MOVES:
            kind = action.removeprefix(PROMPT)
            return await self._move_form(caller, replace(about, version=value, move=kind))
        if action in FILES:
            return await self._send(caller, action, value, about)
        match action:
            case action if action == VERSION:
                seen = await see_version(self.services, caller.actor, about.name, by_id(value))
                return version_form(caller.locale, seen)
            case action if action == EDIT:
                return await self._edit(caller, Leaf(name=about.name, part=value))
            case action if action in (DRAFT, JOIN, DROP):
                return await self._draft(caller, action, value, key=click.spot.key)
            case _:
                return await self._look(caller, action, value)

    async def _look(self, caller: Caller, action: str, value: str) -> View:
        """What the buttons show that are under private cards too."""
        t = caller.locale
        match action:
            case action if action == OPEN:
                return await self._page(caller, value)
            case action if action == LIST:
                return in_form(t, await self._list(caller))
            case action if action == SHOW_STATUS:
                shown = status_message(t, await prompt_status(self.services, caller.actor))
                return in_form(t, shown, back=True)
            case action if action == DO_RELOAD:
                return in_form(t, await self._reload(caller, value), back=True)
            case action if action == HISTORY:
                return history_form(t, value, await prompt_history(self.services, caller.actor, value))
            case _:
                raise Refusal("slack_form_old")

    async def _edit(self, caller: Caller, about: Leaf) -> View:
        page = await show_prompt(self.services, caller.actor, about.name)
        if about.part not in PARTS:
            raise Refusal("slack_form_old")
        return edit_form(caller.locale, replace(about, key=self.services.clock.new_id()), begun_from(page))

    async def _draft(self, caller: Caller, action: str, name: str, *, key: str) -> View:
        if action == DROP:
            await drop_draft(self.services, caller.actor, name, event_key=f"slack:{key}")
            done = i18n.text(caller.locale, "console.prompt_draft_dropped")
            return await self._page(caller, name, done)
        if action == JOIN:
            await join_changes(self.services, caller.actor, name, key=f"slack:{key}")
        return await self._save_form(caller, name)

    async def _save_form(self, caller: Caller, name: str) -> View:
        found = await drafted(self.services, caller.actor, name)
        return draft_form(caller.locale, found, key=self.services.clock.new_id())

    async def _move_form(self, caller: Caller, about: Leaf) -> View:
        page = await show_prompt(self.services, caller.actor, about.name)
        about = replace(about, rev=page.rev, key=self.services.clock.new_id())
        return move_form(caller.locale, about, page, version_in(page, about.version))

    async def _send(self, caller: Caller, action: str, value: str, about: Leaf) -> View:
        """Send a person a text whole, in the conversation with the bot."""
        name, t = about.name, caller.locale
        if action == HISTORY_FILE:
            events = await prompt_history(self.services, caller.actor, name)
            text = history_document(name, events, t)
        elif action == DRAFT_FILE:
            found = await drafted(self.services, caller.actor, name)
            text = parts_document(name, found.text.files)
        else:
            chosen = value if value != name else None
            page = await show_prompt(self.services, caller.actor, name, version_id=chosen)
            shown = page.shown.version if page.shown else ""
            text = parts_document(f"{name} {shown}".strip(), page.files)
        file = OutgoingFile(name=f"{name}.md", title=name, data=text.encode())
        await send_file(self.access, self.files, caller.bot, caller.actor.external_id, file)
        return said(t, about, i18n.text(t, "slack.input_sent"))

    # --- forms that were sent ----------------------------------------------------------------------------------------

    async def submit(self, caller: Caller, form: Submission) -> View:
        """Carry out a form; what stands in its place."""
        about = leaf(form.metadata)
        if form.name == EDIT_FORM:
            text = PromptText(name=about.name, base_id=about.base, head_id=about.head)
            key = f"slack:draft:{self.services.clock.new_id()}"
            typed = form.values.get(about.block(TEXT), "")
            await keep_part(self.services, caller.actor, text, about.part, typed, key=key)
            return await self._save_form(caller, about.name)
        return await (self._save if form.name == SAVE_FORM else self._move)(caller, about, form)

    async def _save(self, caller: Caller, about: Leaf, form: Submission) -> View:
        reason, step = form.values.get(about.block(REASON), ""), form.values.get(about.block(STEP), "")
        try:
            done = await save(
                self.services,
                caller.actor,
                about.name,
                reason=reason,
                version=step,
                acknowledged=about.ack,
                key=f"slack:prompt:{about.key}",
            )
        except Refusal as refused:
            if refused.code not in (*STALE, WITHDRAWN):
                raise
            found = await drafted(self.services, caller.actor, about.name)
            stale = refused.code in STALE
            return draft_form(
                caller.locale,
                found,
                key=self.services.clock.new_id() if stale else about.key,
                ack=about.ack or not stale,
                reason=reason,
                step=step,
                sentence=explain(caller.locale, refused),
            )
        return await self._page(caller, about.name, done)

    async def _move(self, caller: Caller, about: Leaf, form: Submission) -> View:
        reason = form.values.get(about.block(REASON), "")
        move = Move(
            kind=about.move,
            name=about.name,
            version_id=about.version,
            rev=about.rev,
            reason=reason,
            acknowledged=about.ack,
            override=about.override,
        )
        try:
            done = await carry_out(self.services, caller.actor, move, key=f"slack:prompt:{about.key}")
        except Refusal as refused:
            wanted = all_the_same(move, refused)
            page = await show_prompt(self.services, caller.actor, about.name)
            again = replace(
                about,
                ack=wanted.acknowledged,
                override=wanted.override,
                rev=page.rev if refused.code == MOVED else about.rev,
            )
            version = version_in(page, about.version)
            why = explain(caller.locale, refused)
            return move_form(caller.locale, again, page, version, reason=reason, sentence=why)
        if done.told_in:
            self.openings.watch(caller, done.told_in)
        return await self._page(caller, about.name, done.sentence)
