"""Pins on Slack: marked by a form, listed in a private card or a form, edited and removed with their history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.slack.block import Block, actions, button, context, field, literal, modal, option, section, select
from bot.slack.box import boxed, boxes
from bot.slack.caller import Caller
from bot.slack.form import View
from bot.slack.markdown import escape, fit, one_line
from bot.slack.parse import ACTION, MORE, SEPARATOR, Submission
from bot.slack.render import SlackMessage
from bot.slack.sheet import Sheet, sheet
from core import i18n
from core.commands.pin import edit_pin, list_pins, pin, remove_pin, show_pin_history
from core.commands.services import Services
from core.commands.thread import show_thread
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.pin import Pin, PinKind
from core.domain.view import AnswerView, MessageView, ThreadPage

PIN_FORM: Final = "form.pin"
EDIT_FORM: Final = "form.pin_edit"
LIST_FORM: Final = "form.pins"
KIND: Final = "kind"
TEXT: Final = "text"
ADD: Final = "do.pin_add"
LIST: Final = "do.pin_list"
PIN_EDIT: Final = "pin_edit"
PIN_REMOVE: Final = "pin_remove"
REMOVE: Final = f"{ACTION}{PIN_REMOVE}"
"""The entry that takes a pin away at once."""

PIN_HISTORY: Final = "pin_history"
OF_A_PIN: Final = (PIN_EDIT, PIN_HISTORY, PIN_REMOVE)
"""What the menu beside a pin offers."""

IN_CARD: Final = 20
IN_FORM: Final = 96
LISTED_CHARS: Final = 250
SHOWN_VERSIONS: Final = 20
VERSION_UNITS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services

    async def form(self, caller: Caller, about: Sheet) -> View:
        """The form that pins a message, or typed text where `about.ref` names none."""
        quoted = ""
        if about.ref:
            page = await show_thread(self.services, caller.actor, about.thread)
            about = replace(about, ref=_message(page, about.ref))
            quoted = _quoted(page, about.ref)
        return pin_form(caller.locale, about, quoted=quoted)

    async def submit(self, caller: Caller, form: Submission, *, key: str) -> str:
        about = sheet(form.metadata)
        await pin(
            self.services,
            caller.actor,
            about.thread,
            form.values.get(KIND, ""),
            boxed(form.values, TEXT),
            message_id=about.ref or None,
            event_key=key,
        )
        return i18n.text(caller.locale, "card.pinned")

    async def edit_form(self, caller: Caller, about: Sheet) -> View:
        newest = (await show_pin_history(self.services, caller.actor, about.ref))[-1]
        return pin_form(caller.locale, replace(about, ref=newest.id), pinned=newest)

    async def submit_edit(self, caller: Caller, form: Submission, *, key: str) -> str:
        about = sheet(form.metadata)
        await edit_pin(
            self.services,
            caller.actor,
            about.ref,
            boxed(form.values, TEXT),
            kind=form.values.get(KIND) or None,
            event_key=key,
        )
        return _t(caller.locale, "pin_edited")

    async def remove(self, caller: Caller, pin_id: str, *, key: str) -> str:
        await remove_pin(self.services, caller.actor, pin_id, event_key=key)
        return _t(caller.locale, "pin_removed")

    async def history(self, caller: Caller, pin_id: str) -> View:
        return history_form(caller.locale, await show_pin_history(self.services, caller.actor, pin_id))

    async def card(self, caller: Caller, thread_id: ThreadId) -> SlackMessage:
        """The pins of a thread for one person, with what can be done with each."""
        return pins_card(caller.locale, thread_id, await list_pins(self.services, caller.actor, thread_id))

    async def list_form(self, caller: Caller, about: Sheet) -> View:
        return pins_form(caller.locale, about, await list_pins(self.services, caller.actor, about.thread))


def _message(page: ThreadPage, ref: str) -> str:
    """The message that a message's or run's id means. Raises Refusal."""
    for item in reversed(page.items):
        if isinstance(item, MessageView) and item.message_id == ref:
            return ref
        if isinstance(item, AnswerView) and ref in (item.message_id, item.run_id) and item.message_id:
            return item.message_id
    raise Refusal("message_not_found")


def _quoted(page: ThreadPage, message_id: str) -> str:
    for item in page.items:
        if isinstance(item, MessageView | AnswerView) and item.message_id == message_id:
            name = item.author if isinstance(item, MessageView) else item.model
            return one_line(f"{name}: {item.text}", 400)
    return ""


# --- pure -----------------------------------------------------------------------------------------------------------


def pin_form(locale: str, about: Sheet, *, quoted: str = "", pinned: Pin | None = None) -> View:
    """The form of a pin: for a message, for typed text, or for another version of one."""
    options = [option(i18n.text(locale, f"pin_kind.{kind.value}"), kind.value) for kind in PinKind]
    chosen = pinned.kind.value if pinned else ""
    menu = select(KIND, options, placeholder=_t(locale, "pin_kind"), chosen=chosen)
    means = _t(locale, "pin_edit_means" if pinned else "pins_mean")
    label = _t(locale, "pin_text_of_message" if quoted else "pin_text")
    return modal(
        title=_t(locale, "pin_edit_title" if pinned else "pin_title"),
        callback=EDIT_FORM if pinned else PIN_FORM,
        blocks=[
            section(escape(means)),
            *([context(escape(quoted))] if quoted else []),
            field(KIND, _t(locale, "pin_kind"), menu, optional=False),
            *boxes(TEXT, label, pinned.text if pinned else "", most=3, optional=bool(quoted)),
        ],
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "keep") if pinned else i18n.text(locale, "button.pin"),
        metadata=about.dump(),
    )


def pins_card(locale: str, thread_id: ThreadId, held: Sequence[Pin]) -> SlackMessage:
    """The first pins with their menus, and a button for the form that lists them all."""
    add = button(_t(locale, "pin_text_do"), ADD, thread_id)
    if not held:
        said = escape(_t(locale, "no_pins"))
        return SlackMessage(blocks=(section(said), actions("pins", [add])), text=said)
    blocks: list[Block] = [_line(locale, one) for one in held[:IN_CARD]]
    if len(held) > IN_CARD:
        blocks.append(context(escape(_t(locale, "pins_more", count=len(held) - IN_CARD))))
    blocks.append(actions("pins", [button(_t(locale, "pins_all"), LIST, thread_id), add]))
    return SlackMessage(blocks=tuple(blocks), text=escape(_t(locale, "pins_title")))


def pins_form(locale: str, about: Sheet, held: Sequence[Pin]) -> View:
    """Every pin of a thread with its menu."""
    lines: list[dict[str, Any]] = [dict(_line(locale, one)) for one in held[:IN_FORM]]
    if len(held) > IN_FORM:
        lines.append(context(escape(_t(locale, "pins_more", count=len(held) - IN_FORM))))
    if not held:
        lines = [section(escape(_t(locale, "no_pins")))]
    lines.append(actions("pins", [button(_t(locale, "pin_text_do"), ADD, about.thread)]))
    return modal(
        title=_t(locale, "pins_title"),
        callback=LIST_FORM,
        blocks=lines,
        close=i18n.text(locale, "slack.close"),
        metadata=about.dump(),
    )


def _line(locale: str, one: Pin) -> Block:
    kind = escape(i18n.text(locale, f"pin_kind.{one.kind.value}"))
    menu = {
        "type": "overflow",
        "action_id": f"{MORE}{one.id}",
        "options": [option(_t(locale, action), f"{action}{SEPARATOR}{one.id}") for action in OF_A_PIN],
    }
    return section(f"*{kind}*: {escape(one_line(one.text, LISTED_CHARS))}", accessory=menu)


def history_form(locale: str, versions: Sequence[Pin]) -> View:
    """Every version of a pin, the newest first."""
    blocks: list[dict[str, Any]] = []
    for one in list(reversed(versions))[:SHOWN_VERSIONS]:
        kind = i18n.text(locale, f"pin_kind.{one.kind.value}")
        gone = f" · {_t(locale, 'pin_gone')}" if one.removed else ""
        line = f"{kind} · {one_line(one.author, 60)} · {one.created_at:%Y-%m-%d %H:%M} UTC{gone}"
        blocks += [context(escape(line)), literal(one.text[: fit(one.text, VERSION_UNITS)])]
    if len(versions) > SHOWN_VERSIONS:
        blocks.append(context(escape(_t(locale, "versions_more", count=len(versions) - SHOWN_VERSIONS))))
    return modal(
        title=_t(locale, "pin_history"),
        callback=LIST_FORM,
        blocks=blocks,
        close=i18n.text(locale, "slack.close"),
    )


def _t(locale: str, name: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_carry.{name}", **fields)
