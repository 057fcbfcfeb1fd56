"""Neutral views as messages of Discord. Pure: what is sent depends on the arguments alone."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, assert_never

from bot.discord import limit
from bot.discord.card import Card, LinkButton, PressButton, TextFile
from bot.discord.limit import head, size
from bot.discord.split import balanced, split
from bot.eval_outline import eval_outline
from bot.outline import Outline, outline
from core.domain.message import Cut
from core.domain.thread import Place
from core.domain.view import (
    AdoptionCardView,
    AnswerState,
    AnswerView,
    BranchHeaderView,
    Button,
    ButtonAction,
    DeliveryView,
    EvalCardView,
    EvalQuestionView,
    HandoverHeaderView,
    NoticeView,
    PostView,
    Quote,
)
from core.i18n import money, phrase, text

MARKUP: Final = re.compile(r"([\\*_~`|<>\[\]()#@:])")
LINE_START: Final = re.compile(r"^([-+]|\d+\.)(?=\s)", re.MULTILINE)
SUMMARY: Final = 1_200
"""Units of a long answer that its message shows; the whole is in the file."""
FOOTER: Final = 500
"""Units kept free for what stands below an answer."""
NAME: Final = 80
QUOTE: Final = 200
TEXT: Final = 450
"""Of each text of a card that is shown as it came."""
ITEMS: Final = 10
STRONG: Final = (
    ButtonAction.STOP,
    ButtonAction.STOP_RUN,
    ButtonAction.KEEP_ANSWER,
    ButtonAction.EVAL_STOP,
    ButtonAction.EVAL_PASS,
)
"""Lines of a list that a card shows."""


def plain(words: str, longest: int = NAME) -> str:
    """A name or a quoted text on one line: marks are shown as typed, and nothing in it is a link or a mention."""
    shown = "".join(" " if _invisible(c) else c for c in words)
    line = " ".join(shown.split())
    cut = line if size(line) <= longest else head(line, longest - 1) + "…"
    return LINE_START.sub(r"\\\1", MARKUP.sub(r"\\\1", cut))


def plain_lines(words: str) -> str:
    """Several lines that may hold what people typed, as one message."""
    return head("\n".join(plain(line, QUOTE) for line in words.splitlines()), limit.CONTENT)


def _invisible(character: str) -> bool:
    """Controls, and what turns the direction of writing; joiners that emoji and scripts need stay."""
    category = unicodedata.category(character)
    return category == "Cc" or (category == "Cf" and character not in "\u200c\u200d")


def thread_name(words: str) -> str:
    """A name that Discord takes for a thread: one line, never empty, within its limit."""
    line = " ".join("".join(" " if _invisible(c) else c for c in words).split())
    if not line:
        return "…"
    return line if size(line) <= limit.THREAD_NAME else head(line, limit.THREAD_NAME - 1) + "…"


def address(guild: str, place: Place) -> str:
    """Where a thread is found by whoever may see it."""
    return f"https://discord.com/channels/{guild}/{place.thread or place.channel}"


def render(view: PostView, locale: str, *, guild: str) -> tuple[Card, ...]:
    """The messages that show a view, in order. Buttons stand under the last."""
    match view:
        case AnswerView(state=AnswerState.QUEUED | AnswerState.WRITING):
            return (_unfinished(view, locale),)
        case AnswerView():
            return _finished(view, locale)
        case BranchHeaderView():
            return (_header(view, locale, guild),)
        case NoticeView():
            return (_notice(view, locale, guild),)
        case HandoverHeaderView() | DeliveryView() | AdoptionCardView():
            return (_outlined(outline(view, locale), locale, guild),)
        case EvalCardView() | EvalQuestionView():
            return (_outlined(eval_outline(view, locale), locale, guild),)
        case _:
            assert_never(view)


def _unfinished(view: AnswerView, locale: str) -> Card:
    key = "discord.state_queued" if view.state is AnswerState.QUEUED else "discord.state_writing"
    footer = f"-# {text(locale, key, model=_model(view, locale))}"
    buttons = presses(view.buttons, locale)
    if not view.text.strip():
        return Card(content=footer, buttons=buttons)
    room = limit.CONTENT - FOOTER
    if size(view.text) <= room:
        return Card(content=f"{balanced(view.text.rstrip())}\n{footer}", buttons=buttons)
    so_far = f"-# {text(locale, 'discord.so_far', count=len(view.text))}"
    return Card(content=f"{split(view.text, room)[0].text.rstrip()}\n{so_far}\n{footer}", buttons=buttons)


def _finished(view: AnswerView, locale: str) -> tuple[Card, ...]:
    footer = "\n".join(_footer(view, locale))
    buttons = presses(view.buttons, locale)
    body = view.text.strip("\n")
    if not body.strip():
        return (Card(content=head(footer, limit.CONTENT), buttons=buttons),)
    room = limit.CONTENT - size(footer) - 1
    if size(body) <= room:
        return (Card(content=f"{balanced(body)}\n{footer}", buttons=buttons),)
    pieces = [piece.text for piece in split(body, limit.CONTENT)]
    if size(pieces[-1]) > room:
        pieces[-1:] = [piece.text for piece in split(pieces[-1], room)]
    if len(pieces) <= limit.PARTS:
        cards = [Card(content=piece.strip("\n") or "…") for piece in pieces[:-1]]
        return (*cards, Card(content=f"{pieces[-1].strip(chr(10))}\n{footer}", buttons=buttons))
    note = text(locale, "discord.whole_in_file", count=len(view.text))
    content = f"{split(body, SUMMARY)[0].text.rstrip()}\n\n**{note}**\n{footer}"
    return (Card(content=content, buttons=buttons, file=TextFile(name="answer.md", text=view.text)),)


def _footer(view: AnswerView, locale: str) -> Iterator[str]:
    """Lines below an answer: why it is not whole, what was left out, and who wrote it at what cost."""
    if view.failure:
        yield head(phrase(locale, view.failure), FOOTER)
    if view.cut is not Cut.NONE:
        yield text(locale, f"discord.cut_{view.cut.value}")
    if not view.kept:
        yield f"-# {text(locale, 'discord.not_kept')}"
    if view.omitted:
        yield f"-# {text(locale, 'discord.omitted', count=view.omitted)}"
    yield from (f"-# {plain(phrase(locale, notice), QUOTE)}" for notice in view.notices[:3])
    yield f"-# {' · '.join(_facts(view, locale))}"


def _facts(view: AnswerView, locale: str) -> Iterator[str]:
    yield _model(view, locale)
    if view.label:
        yield plain(phrase(locale, view.label))
    if view.position:
        yield f"#{view.position}"
    if view.state is AnswerState.STOPPED:
        yield text(locale, "discord.state_stopped")
    if view.state is AnswerState.FAILED:
        yield text(locale, "discord.state_failed")
    if usage := view.usage:
        counts = {"input": f"{usage.input_tokens:,}", "output": f"{usage.output_tokens:,}"}
        yield text(locale, f"discord.tokens{'_estimated' if usage.estimated else ''}", **counts)
        if usage.cost_usd is not None:
            yield money(usage.cost_usd)


def _model(view: AnswerView, locale: str) -> str:
    name = plain(view.model)
    return text(locale, "discord.demo_model", model=name) if view.demo else name


def presses(buttons: tuple[Button, ...], locale: str) -> tuple[PressButton, ...]:
    return tuple(press(one, locale) for one in buttons)


def press(button: Button, locale: str) -> PressButton:
    """A button of a view as Discord shows it."""
    return PressButton(
        label=text(locale, f"button.{button.action.value}"),
        action=button.action.value,
        ref=button.ref,
        strong=button.action in STRONG,
    )


def _header(view: BranchHeaderView, locale: str, guild: str) -> Card:
    name = plain(view.name) or text(locale, "discord.branch_unnamed")
    parent = plain(view.parent_title)
    came = "discord.header_from" if view.split_position else "discord.header_from_empty"
    lines = [
        f"**{text(locale, 'discord.header', name=name)}**",
        text(locale, came, title=parent, position=view.split_position),
    ]
    if view.reason.strip():
        lines.append(text(locale, "discord.header_reason", reason=plain(view.reason, QUOTE * 2)))
    if view.split_quote:
        lines += [text(locale, "discord.header_split"), _quote(view.split_quote)]
    if view.inherited:
        lines.append(text(locale, "discord.header_inherited", count=view.inherited))
    lines += [_quote(quote) for quote in view.quotes if quote != view.split_quote]
    back = LinkButton(label=text(locale, "discord.back_to_parent"), url=address(guild, view.parent_place))
    file = TextFile(name="transcript.md", text=view.transcript) if view.transcript else None
    return Card(content=head("\n".join(lines), limit.CONTENT), buttons=(back,), file=file)


def _outlined(card: Outline, locale: str, guild: str) -> Card:
    """A card of a handover, an adoption or an evaluation; what it cuts stands whole in the file."""
    lines = [f"{'⚠️ ' if card.alarm else ''}**{plain(card.title, QUOTE)}**"]
    for label, words in card.lines:
        shown = [plain(line, QUOTE) for line in words.splitlines() if line.strip()][:ITEMS]
        head_of = f"**{plain(label)}:** " if label else ""
        lines.append(head_of + (shown[0] if len(shown) == 1 else "".join(f"\n> {line}" for line in shown)))
    for label, words in card.texts:
        shown = [plain(line, QUOTE) for line in head(words, TEXT).splitlines() if line.strip()]
        lines += [f"**{plain(label)}**", *(f"> {line}" for line in shown)]
    lines += [_quote(quote) for quote in card.quotes]
    pressed: list[PressButton | LinkButton] = [*presses(card.buttons, locale)]
    pressed += [
        LinkButton(label=text(locale, "discord.open_thread"), url=address(guild, one.place))
        for one in card.links
        if one.place and one.place.thread
    ]
    content = "\n".join(lines)
    cut = size(content) > limit.CONTENT or any(size(words) > QUOTE for _, words in card.texts)
    attached = card.document and (cut or not card.texts)
    file = TextFile(name=card.document_name, text=card.document) if attached else None
    return Card(content=head(content, limit.CONTENT), buttons=tuple(pressed), file=file)


def _quote(quote: Quote) -> str:
    return f"> **{plain(quote.author, NAME // 2)}** {plain(quote.text, QUOTE)}"


def _notice(view: NoticeView, locale: str, guild: str) -> Card:
    buttons: tuple[PressButton | LinkButton, ...] = presses(view.buttons, locale)
    if view.link_place and view.link_place.thread:
        link = LinkButton(label=text(locale, "discord.open_thread"), url=address(guild, view.link_place))
        buttons = (*buttons, link)
    fields = {
        name: plain(value) if isinstance(value, str) else value for name, value in view.phrase.fields.items()
    }
    return Card(content=text(locale, view.phrase.key, **fields), buttons=buttons)
