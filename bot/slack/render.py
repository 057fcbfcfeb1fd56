"""Neutral views as messages of Slack. Pure: what is shown depends on the arguments alone.

A payload's Markdown is limited to 12,000 characters and all of its texts to about 13,200 (bolt-js#2509); the pieces
here leave room for what stands beside them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from bot.eval_outline import eval_outline
from bot.outline import Outline, outline
from bot.slack.block import Block, actions, button, context, link, literal, markdown, option, section, thumbs
from bot.slack.files import OutgoingFile
from bot.slack.markdown import defuse, escape, fit, one_line, settled, shorten, split, to_mrkdwn, units
from bot.slack.parse import ACTION, FEEDBACK_ACTION, MORE, SEPARATOR
from core import i18n
from core.domain.feedback import Thumb
from core.domain.ids import short_code
from core.domain.message import Cut
from core.domain.receipt import Usage
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
)

PIECE: Final = 9_000
"""Of Markdown in one message; with its small print and buttons the message stays under 11,500."""

LIVE: Final = 3_000
"""Of a long answer's newest text while it is being written."""

PIECES: Final = 5
"""An answer that needs more messages goes into a file."""

STOPS: Final = (ButtonAction.STOP, ButtonAction.STOP_RUN, ButtonAction.EVAL_STOP)
NOTIFICATION: Final = 300
PLAIN: Final = 3_900
"""`chat.update` takes 4,000 characters of text (docs.slack.dev, chat.update)."""

QUOTE: Final = 250
ITEMS: Final = 10
SECTION: Final = 2_900
TEXT: Final = 2_500
"""Of each text of a card that is shown as it came; three of them leave room for the lines."""

BUTTONS: Final = 5
OVERFLOW: Final = 5
"""Options of one overflow menu; the buttons that do not fit a row go there."""


def _in_mrkdwn(text: Mapping[str, str]) -> str:
    """A paragraph in Slack's own dialect, in which one that is shown exactly as it is has to be escaped."""
    return escape(text["text"]) if text["type"] == "plain_text" else text["text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """One message: what is shown, and what notifications and screen readers say."""

    blocks: tuple[Block, ...]
    text: str
    file: OutgoingFile | None = None
    """Goes to the direct conversation with the one person who reads the message: no file can be shown to one alone."""

    def last_resort(self) -> "SlackMessage":
        """The same with texts alone, for when Slack refuses the blocks."""
        texts = [
            to_mrkdwn(b["text"]) if b["type"] == "markdown" else _in_mrkdwn(b["text"])
            for b in self.blocks
            if b["type"] in ("markdown", "section")
        ]
        return SlackMessage(blocks=(), text=shorten("\n".join(texts) or self.text, PLAIN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A post as the messages it takes, in order, and the file that goes with it."""

    messages: tuple[SlackMessage, ...]
    file: OutgoingFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a post is rendered for: the thread's language and the address of the workspace."""

    locale: str
    url: str


def address(url: str, place: Place) -> str:
    """The address of a thread in its workspace."""
    return f"{url}archives/{place.channel}/p{place.thread.replace('.', '')}"


def render(view: PostView, around: Surroundings) -> Rendered:
    """A post, whole, in as many messages as it takes."""
    match view:
        case AnswerView():
            if view.state in (AnswerState.QUEUED, AnswerState.WRITING):
                return Rendered(messages=(_live(view, around),))
            return _answer(view, around)
        case BranchHeaderView():
            return _branch_header(view, around)
        case NoticeView():
            return Rendered(messages=(_notice(view, around),))
        case HandoverHeaderView() | DeliveryView() | AdoptionCardView():
            return _outlined(outline(view, around.locale), around)
        case EvalCardView() | EvalQuestionView():
            return _outlined(eval_outline(view, around.locale), around)
        case _:
            assert_never(view)


# --- answers --------------------------------------------------------------------------------------------------------


def _live(view: AnswerView, around: Surroundings) -> SlackMessage:
    t = around.locale
    state = i18n.text(t, "slack.queued" if view.state is AnswerState.QUEUED else "slack.writing")
    blocks: list[Block] = []
    text = defuse(settled(view.text))
    if text.strip():
        blocks.append(markdown(_newest(text)))
    blocks.append(context(f"{_speaker(view, t)} · _{escape(state)}_"))
    blocks += _buttons(view.buttons, t)
    return SlackMessage(
        blocks=tuple(blocks), text=_said(view.text) or f"{escape(view.model)}: {escape(state)}"
    )


def _newest(text: str) -> str:
    """All of a text, or of a long one the end, inside the fence it may stand in."""
    if units(text) <= LIVE:
        return text
    return "…\n" + split(text, LIVE)[-1]


def _answer(view: AnswerView, around: Surroundings) -> Rendered:
    pieces = split(defuse(view.text), PIECE) if view.text.strip() else []
    file = None
    if len(pieces) > PIECES:
        file = OutgoingFile(
            name=f"answer-{short_code(view.run_id)}.md",
            title=i18n.text(around.locale, "slack.answer_file", model=view.model),
            data=view.text.encode(),
        )
        pieces = [pieces[0]]
    messages = [SlackMessage(blocks=(markdown(piece),), text=_said(piece)) for piece in pieces[:-1]]
    last: list[Block] = [markdown(pieces[-1])] if pieces else []
    if file is not None:
        last.append(section(escape(i18n.text(around.locale, "slack.goes_on_in_file", file=file.name))))
    last += _trouble(view, around.locale)
    last.append(context(*_small_print(view, around.locale)))
    last += _buttons(view.buttons, around.locale)
    if view.feedback_ref:
        last.append(_thumbs(view.feedback_ref, around.locale))
    said = _said(pieces[-1]) if pieces else ""
    text = said or _failure(view, around.locale) or escape(view.model)
    messages.append(SlackMessage(blocks=tuple(last), text=text))
    return Rendered(messages=tuple(messages), file=file)


def _failure(view: AnswerView, locale: str) -> str:
    return escape(i18n.phrase(locale, view.failure)) if view.failure else ""


def _trouble(view: AnswerView, locale: str) -> list[Block]:
    """What went wrong, in the size of the text, since it may stand in its place."""
    cuts = {
        Cut.NONE: "",
        Cut.STOPPED: "slack.cut_stopped",
        Cut.INTERRUPTED: "slack.cut_interrupted",
        Cut.LENGTH: "slack.cut_length",
        Cut.CONTENT_POLICY: "slack.cut_content_policy",
    }
    sentences = []
    if cuts[view.cut]:
        sentences.append(escape(i18n.text(locale, cuts[view.cut])))
    elif view.state is AnswerState.STOPPED:
        sentences.append(escape(i18n.text(locale, "slack.stopped_empty")))
    if view.failure:
        sentences.append(_failure(view, locale))
    return [section(f":warning: {shorten(' '.join(sentences), 1_000)}")] if sentences else []


def _small_print(view: AnswerView, locale: str) -> Iterable[str]:
    facts = [_speaker(view, locale)]
    if view.position:
        facts.append(f"#{view.position}")
    if view.usage:
        facts.append(escape(spent(view.usage, locale)))
    yield " · ".join(facts)
    if not view.kept:
        yield escape(i18n.text(locale, "slack.not_kept"))
    if view.omitted:
        yield escape(i18n.text(locale, "slack.omitted", count=view.omitted))
    for notice in view.notices[:6]:
        yield shorten(escape(i18n.phrase(locale, notice)), 300)


def _speaker(view: AnswerView, locale: str) -> str:
    name = f"*{escape(one_line(view.model, 60))}*"
    if view.label:
        name = f"{name} · {escape(one_line(i18n.phrase(locale, view.label), 100))}"
    return f"{name} ({escape(i18n.text(locale, 'slack.demo'))})" if view.demo else name


def _said(text: str) -> str:
    """The beginning of a text for notifications, without mentions."""
    return to_mrkdwn(one_line(text, NOTIFICATION))


def spent(usage: Usage, locale: str) -> str:
    """Tokens and money of one call."""
    key = "slack.tokens_estimated" if usage.estimated else "slack.tokens"
    tokens = i18n.text(locale, key, input=f"{usage.input_tokens:,}", output=f"{usage.output_tokens:,}")
    return tokens if usage.cost_usd is None else f"{tokens} · {i18n.money(usage.cost_usd)}"


def _buttons(buttons: tuple[Button, ...], locale: str) -> list[Block]:
    if not buttons:
        return []
    shown: tuple[Button, ...] = buttons
    more: tuple[Button, ...] = ()
    if len(buttons) > BUTTONS:
        # What was sent to the model can always be seen at once; the rest keeps its order.
        proof = tuple(one for one in buttons if one.action is ButtonAction.SHOW_INPUT)
        others = tuple(one for one in buttons if one not in proof)
        room = BUTTONS - 1 - len(proof)
        shown, more = (*others[:room], *proof), others[room:]
    made: list[Block] = [
        button(
            i18n.text(locale, f"button.{one.action}"),
            f"{ACTION}{one.action}",
            one.ref,
            style="danger" if one.action in STOPS else "",
        )
        for one in shown
    ]
    for at in range(0, len(more), OVERFLOW):
        menu = [
            option(i18n.text(locale, f"button.{one.action}"), f"{one.action}{SEPARATOR}{one.ref}")
            for one in more[at : at + OVERFLOW]
        ]
        made.append({"type": "overflow", "action_id": f"{MORE}{at}", "options": menu})
    return [actions("answer", made)]


def _thumbs(ref: str, locale: str) -> Block:
    up, down = (
        (i18n.text(locale, f"thumb.{thumb}"), f"{thumb}{SEPARATOR}{ref}") for thumb in (Thumb.UP, Thumb.DOWN)
    )
    return thumbs(FEEDBACK_ACTION, up, down)


# --- branches and notices -------------------------------------------------------------------------------------------


def _branch_header(view: BranchHeaderView, around: Surroundings) -> Rendered:
    t = around.locale
    name = one_line(view.name, 100) or i18n.text(t, "slack.branch_unnamed")
    title = escape(one_line(view.parent_title, 120))
    back = link(address(around.url, view.parent_place), i18n.text(t, "slack.back_to_parent"))
    key = "slack.branch_from" if view.split_position else "slack.branch_from_empty"
    origin = escape(i18n.text(t, key, title="\0", position=view.split_position)).replace("\0", f"*{title}*")
    lines = [f"*{escape(i18n.text(t, 'slack.branch'))}: {escape(name)}*", f"{origin} {back}"]
    if view.reason:
        lines.append(escape(one_line(i18n.text(t, "slack.branch_reason", reason=view.reason), 600)))
    blocks: list[Block] = [section("\n".join(lines))]
    if view.quotes:
        quotes = [
            f"> *{escape(one_line(q.author, 60))}*: {escape(one_line(q.text, QUOTE))}"
            for q in view.quotes[-3:]
        ]
        blocks.append(section("\n".join(quotes)))
    file = None
    if view.transcript:
        file = OutgoingFile(
            name=f"transcript-{short_code(view.thread_id)}.md",
            title=one_line(i18n.text(t, "slack.transcript", title=view.parent_title), 200),
            data=view.transcript.encode(),
        )
    held = i18n.text(t, "slack.branch_holds", count=view.inherited)
    blocks.append(context(escape(held)))
    text = f"{escape(i18n.text(t, 'slack.branch'))}: {escape(name)}"
    return Rendered(messages=(SlackMessage(blocks=tuple(blocks), text=text),), file=file)


def _outlined(card: Outline, around: Surroundings) -> Rendered:
    """A card of a handover, an adoption or an evaluation; what it cuts stands whole in the file."""
    title = escape(one_line(card.title, QUOTE))
    lines = [f"{':warning: ' if card.alarm else ''}*{title}*"]
    for label, words in card.lines:
        shown = [escape(one_line(line, QUOTE)) for line in words.splitlines() if line.strip()][:ITEMS]
        head = f"*{escape(one_line(label, 100))}:* " if label else ""
        lines.append(head + (shown[0] if len(shown) == 1 else "".join(f"\n> {line}" for line in shown)))
    lines += [f"> *{escape(one_line(q.author, 60))}*: {escape(one_line(q.text, QUOTE))}" for q in card.quotes]
    lines += [
        link(address(around.url, one.place), i18n.text(around.locale, "slack.open_thread"))
        for one in card.links
        if one.place and one.place.thread
    ]
    blocks: list[Block] = [section(shorten(line, SECTION)) for line in lines]
    for label, words in card.texts:
        blocks += [section(f"*{escape(one_line(label, 100))}*"), literal(words[: fit(words, TEXT)])]
    blocks += _buttons(card.buttons, around.locale)
    file = None
    if card.document and (not card.texts or any(units(words) > TEXT for _, words in card.texts)):
        title_of_file = one_line(card.title, 200)
        file = OutgoingFile(name=card.document_name, title=title_of_file, data=card.document.encode())
    return Rendered(messages=(SlackMessage(blocks=tuple(blocks), text=title),), file=file)


def _notice(view: NoticeView, around: Surroundings) -> SlackMessage:
    sentence = escape(one_line(i18n.phrase(around.locale, view.phrase), 1_500))
    buttons = _buttons(view.buttons, around.locale)
    if view.link_place and view.link_place.thread:
        shown = link(address(around.url, view.link_place), i18n.text(around.locale, "slack.open_thread"))
        return SlackMessage(blocks=(context(f"{sentence} · {shown}"), *buttons), text=sentence)
    return SlackMessage(blocks=(context(sentence), *buttons), text=sentence)


def moment(value: datetime, locale: str) -> str:
    """A point in time that Slack shows in the reader's own zone."""
    shown = f"{value:%Y-%m-%d %H:%M} UTC"
    return f"<!date^{int(value.timestamp())}^{{date_short_pretty}} {{time}}|{shown}>"
