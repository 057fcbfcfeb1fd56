"""Sending an artifact to another thread on Slack: which one, and what it is to be called there (spec §7)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.slack.block import OPTIONS, context, field, modal, option, section, select, text_input
from bot.slack.caller import Caller
from bot.slack.form import View
from bot.slack.markdown import escape, one_line
from bot.slack.parse import Submission
from bot.slack.people import PLATFORM
from bot.slack.picking import flat, title_of
from bot.slack.review import artifact_meant
from bot.slack.sheet import Sheet, sheet
from bot.slack.words import permalink
from core import i18n
from core.commands.artifact import show_artifact
from core.commands.place import message_at
from core.commands.sending import SendRequest, send_artifact
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.artifact import NAME_CHARS
from core.domain.errors import Refusal
from core.domain.view import ChannelItem, ThreadItem

SEND_FORM: Final = "form.send_artifact"
TO: Final = "to"
LINK: Final = "link"
NAME: Final = "name"
LINK_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Sendings:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was sent then."""

    services: Services

    async def form(self, caller: Caller, about: Sheet, means: str) -> View:
        """The form that asks where a version goes; only threads that the person can see are offered."""
        thread, number, name = artifact_meant(means)
        shown = await show_artifact(self.services, caller.actor, thread, name, number=number)
        channels = await list_channels(self.services, caller.actor, PLATFORM)
        # The channel that the person is in first.
        ordered = sorted(channels, key=lambda one: one.external_id != about.channel)
        threads = [(one, channel) for one, channel in _threads(ordered) if one.thread_id != thread]
        about = replace(about, thread=thread, ref=means)
        return send_form(caller.locale, about, shown.artifact.name, number, threads)

    async def submit(self, caller: Caller, form: Submission, *, key: str) -> str:
        """Send it; the sentence that says where it is now."""
        thread, number, name = artifact_meant(sheet(form.metadata).ref)
        pointed = permalink(form.values.get(LINK, "").strip())
        if pointed is not None:
            found = await message_at(self.services, caller.actor, pointed.channel, pointed.message)
            to = str(found.thread_id)
        elif not (to := form.values.get(TO, "")):
            raise Refusal("slack_choose_thread")
        request = SendRequest(
            thread_id=thread,
            name=name,
            to_thread_id=to,
            number=number,
            new_name=form.values.get(NAME, ""),
        )
        sent = await send_artifact(self.services, caller.actor, request, event_key=key)
        page = await show_thread(self.services, caller.actor, sent.thread_id)
        return _t(caller.locale, "sent", name=sent.name, title=page.title)


def _threads(channels: Sequence[ChannelItem]) -> Iterator[tuple[ThreadItem, ChannelItem]]:
    for channel in channels:
        yield from ((one, channel) for one in flat(channel.threads) if one.place.thread)


def send_form(
    locale: str, about: Sheet, name: str, number: int, threads: Sequence[tuple[ThreadItem, ChannelItem]]
) -> View:
    """Which thread a version is sent to, picked or by a link, and its name there."""
    blocks: list[dict[str, Any]] = [
        section(escape(_t(locale, "means", name=one_line(name, NAME_CHARS), number=number)))
    ]
    if threads:
        options = [option(title_of(one), one.thread_id, channel.name) for one, channel in threads[:OPTIONS]]
        menu = select(TO, options, placeholder=_t(locale, "choose"))
        blocks.append(field(TO, _t(locale, "thread"), menu, optional=True))
    if len(threads) > OPTIONS:
        blocks.append(context(escape(_t(locale, "more", count=len(threads) - OPTIONS))))
    return modal(
        title=_t(locale, "title"),
        callback=SEND_FORM,
        blocks=[
            *blocks,
            text_input(
                LINK, _t(locale, "link"), limit=LINK_CHARS, optional=True, hint=_t(locale, "link_hint")
            ),
            text_input(
                NAME, _t(locale, "name_there"), limit=NAME_CHARS, optional=True, hint=_t(locale, "name_hint")
            ),
        ],
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "submit"),
        metadata=about.dump(),
    )


def blamed(values: Mapping[str, str], problem: BaseException) -> str:
    """The block at which a refusal of the form is said."""
    code = problem.code if isinstance(problem, Refusal) else ""
    if code.startswith("artifact_name"):
        return NAME
    return TO if TO in values and not values.get(LINK) else LINK


def _t(locale: str, key: str, **fields: str | float) -> str:
    return i18n.text(locale, f"sending.{key}", **fields)
