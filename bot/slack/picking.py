"""The form of a slash command that is about a thread: Slack has no such commands inside threads, so it is picked."""

from collections.abc import Iterator, Sequence
from typing import Final

from bot.slack.block import OPTIONS, field, modal, option, section, select, text_input
from bot.slack.form import View
from bot.slack.markdown import escape
from bot.slack.sheet import Sheet
from core import i18n
from core.commands.text import Word
from core.domain.adoption import REASON_CHARS
from core.domain.thread import Status
from core.domain.view import ChannelItem, ThreadItem

PICK: Final = "form.pick"
PICKED: Final = "picked"
REASON: Final = "reason"

PICKING: Final = (
    Word.HANDOVER,
    Word.ADOPT,
    Word.APPROVE,
    Word.REJECT,
    Word.WITHDRAW,
    Word.ADOPTIONS,
    Word.PINS,
    Word.ARTIFACTS,
)
"""Words whose slash command asks for a thread first."""

DECIDES: Final = (Word.APPROVE, Word.REJECT, Word.WITHDRAW)
NONE_THERE: Final = {Word.ADOPT: "slack_none_to_adopt", **dict.fromkeys(DECIDES, "slack_none_pending")}
"""What is said where no thread is one that the word can be about."""


def eligible(word: Word, channels: Sequence[ChannelItem], here: str) -> list[ThreadItem]:
    """The threads of a channel that a word can be about, of every channel where there is none in this one."""
    found = [c for c in channels if c.external_id == here] or list(channels)
    every = [one for channel in found for one in flat(channel.threads) if one.place.thread]
    if word is Word.ADOPT:
        return [one for one in every if one.depth and one.status is Status.ACTIVE]
    if word in DECIDES:
        return [one for one in every if one.status is Status.ADOPT_PENDING]
    return every


def flat(items: tuple[ThreadItem, ...]) -> Iterator[ThreadItem]:
    for item in items:
        yield item
        yield from flat(item.children)


def pick_form(locale: str, about: Sheet, threads: Sequence[ThreadItem]) -> View:
    """Which thread the word in `about.kind` is about."""
    options = [option(title_of(one), one.thread_id) for one in threads[:OPTIONS]]
    menu = select(PICKED, options, placeholder=i18n.text(locale, "slack.branch_thread_choose"))
    blocks = [
        section(escape(_t(locale, f"pick_{about.kind}"))),
        field(PICKED, i18n.text(locale, "slack.branch_thread"), menu, optional=False),
    ]
    if about.kind == Word.REJECT.value:
        label = _t(locale, "reject_reason")
        blocks.append(text_input(REASON, label, limit=REASON_CHARS, optional=False, lines=True))
    return modal(
        title=_t(locale, f"title_{about.kind}"),
        callback=PICK,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, f"submit_{about.kind}"),
        metadata=about.dump(),
    )


def title_of(item: ThreadItem) -> str:
    return f"{'› ' * item.depth}{item.title or item.branch_name or item.thread_id}"


def _t(locale: str, name: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_carry.{name}", **fields)
