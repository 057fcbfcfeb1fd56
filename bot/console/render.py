"""Neutral views as HTML. Pure: what stands on a page depends on its arguments alone."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from functools import cache, partial
from itertools import groupby
from typing import Any, Final, assert_never

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from bot.console.chart import bar_chart
from bot.console.markdown import Markdown, visible
from bot.console.progress import progress_of
from bot.model_outline import model_notes
from bot.outline import outline
from core import i18n
from core.domain.codraft import ARTIFACT
from core.domain.eval_set import FROM_THREADS
from core.domain.feedback import Thumb
from core.domain.message import PRODUCT
from core.domain.receipt import Usage
from core.domain.thread import Mode
from core.domain.view import (
    AdoptionCardView,
    AnswerView,
    ArtifactItem,
    BranchHeaderView,
    Button,
    ButtonAction,
    DeliveryView,
    HandoverHeaderView,
    ItemView,
    MessageView,
    ModelItem,
    NoticeView,
    ReceiptView,
    ThreadPage,
    UsageLine,
)

LANGUAGES: Final = (("en", "English"), ("ja", "日本語"))
AVATAR_HUES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """For whom a page is drawn: language, time zone and the day that is today there."""

    locale: str
    zone: tzinfo | None
    """None for the zone of this machine, which is the reader's too."""
    today: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A button as the page offers it: a link that opens `dialog`, or a form that posts `fields`."""

    action: str
    label: str
    href: str
    posts: bool
    dialog: str = "form"
    fields: tuple[tuple[str, str], ...] = ()
    pressed: bool | None = None
    """Whether it is pressed already; None for a button that does not stay pressed."""


_SHEETS: Final[Mapping[ButtonAction, tuple[str, str]]] = {
    ButtonAction.BRANCH: ("branch", "message"),
    ButtonAction.PIN: ("pin", "message"),
    ButtonAction.OTHER_MODEL: ("other", "ref"),
    ButtonAction.REVIEW: ("review", "ref"),
    ButtonAction.SAVE: ("save", "ref"),
    ButtonAction.CONTINUE: ("handover", "centre"),
    ButtonAction.CONTINUE_BEST: ("handover", "centre"),
    ButtonAction.HAND_OVER: ("handover", "ref"),
    ButtonAction.REJECT: ("reject", "ref"),
    ButtonAction.SHOW_CHANGES: ("changes", "ref"),
}
"""Buttons that open a page of the thread: its path, and the field that names the row."""

_PLACED: Final = frozenset(
    {ButtonAction.BRANCH, ButtonAction.PIN, ButtonAction.REVIEW, ButtonAction.CONTINUE}
)
"""Of these, the ones whose page has to find the message again."""

_POSTS: Final[Mapping[ButtonAction, str]] = {
    ButtonAction.RETRY: "again",
    ButtonAction.STOP: "stop",
    ButtonAction.STOP_ONE: "stop",
    ButtonAction.STOP_RUN: "stop",
    ButtonAction.KEEP_ANSWER: "keep",
    ButtonAction.COMPARE_ANSWERS: "compare_answers",
    ButtonAction.VOTE: "vote",
    ButtonAction.REVEAL: "reveal",
    ButtonAction.START: "begin",
    ButtonAction.ADOPT: "adopt",
    ButtonAction.APPROVE: "approve",
    ButtonAction.WITHDRAW: "withdraw",
}
"""Buttons that act at once: the path of the form."""


def control(button: Button, thread_id: str, position: int | None, locale: str) -> Control:
    """Where a button leads on this page."""
    action = button.action
    make = partial(Control, action=action.value, label=i18n.text(locale, f"button.{action}"))
    if action is ButtonAction.SHOW_INPUT:
        return make(href=f"/receipts/{button.ref}", posts=False, dialog="panel")
    if action in _POSTS:
        return make(href=f"/t/{thread_id}/{_POSTS[action]}", posts=True, fields=(("ref", button.ref),))
    path, field = _SHEETS[action]
    at = f"&at={position}" if position and action in _PLACED else ""
    dialog = "panel" if action is ButtonAction.SHOW_CHANGES else "form"
    return make(href=f"/t/{thread_id}/{path}?{field}={button.ref}{at}", posts=False, dialog=dialog)


def thumbs(view: AnswerView, thread_id: str, locale: str) -> list[Control]:
    """The two buttons with which the reader rates an answer."""
    if not view.feedback_ref:
        return []
    return [
        Control(
            action=f"thumb_{thumb.value}",
            label=i18n.text(locale, f"thumb.{thumb.value}"),
            href=f"/t/{thread_id}/feedback",
            posts=True,
            fields=(("ref", view.feedback_ref), ("thumb", thumb.value)),
            pressed=view.thumb is thumb,
        )
        for thumb in Thumb
    ]


def entry_id(view: ItemView) -> str:
    """The element id of an entry; the same entry keeps it for ever."""
    match view:
        case MessageView():
            return f"m-{view.message_id}"
        case AnswerView():
            # A step names its model, and a blind Compare must not, not even in an address.
            return f"a-{view.run_id}-{_fingerprint(view.step)}"
        case BranchHeaderView():
            return f"h-{view.thread_id}"
        case NoticeView():
            return f"n-{_fingerprint(view)}"
        case HandoverHeaderView():
            return f"c-{view.thread_id}"
        case DeliveryView():
            return f"d-{view.thread_id}"
        case AdoptionCardView():
            return f"p-{view.adoption_id}"
        case _:
            assert_never(view)


def _fingerprint(*values: object) -> str:
    return f"{zlib.crc32(repr(values).encode()):08x}"


def fingerprint(value: object) -> str:
    """A short text that changes whenever what is shown changes."""
    return _fingerprint(value)


@cache
def _templates() -> Mapping[str, Template]:
    """Every template by its name, read and compiled once in the life of a process."""
    environment = Environment(
        loader=PackageLoader("bot.console"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return {name: environment.get_template(name) for name in environment.list_templates()}


class Renderer:
    """Draws pages and their fragments. Drawing needs no disk."""

    def __init__(self, *, version: str, new_key: Callable[[], str]) -> None:
        self._version = version
        self._new_key = new_key
        self._templates = _templates()
        self._markdown = {
            locale: Markdown(
                copy_label=i18n.text(locale, "console.copy"), image_label=i18n.text(locale, "console.image")
            )
            for locale in i18n.LOCALES
        }

    def markdown(self, locale: str) -> Markdown:
        """The converter of a language's pages."""
        return self._markdown[locale]

    def page(self, name: str, reader: Reader, *, fragment: bool = False, **context: object) -> str:
        """The page `name` with its frame, or, as a fragment, its content alone."""
        layout = "fragment.html" if fragment else "base.html"
        return self._templates[f"{name}.html"].render({**self._words(reader), "layout": layout, **context})

    def pieces(self, name: str, reader: Reader, **context: object) -> str:
        """A template that has no frame."""
        return self._templates[name].render({**self._words(reader), **context})

    def tree(self, reader: Reader, **context: object) -> str:
        """The channels and threads of the side bar."""
        return self.pieces("tree.html", reader, **context)

    def thread(
        self, page: ThreadPage, reader: Reader, *, saved: Sequence[ArtifactItem] = (), **context: Any
    ) -> str:
        """A thread's page; `entries` for its fragment. `saved` are the thread's artifacts."""
        positions = [p for item in page.items if (p := getattr(item, "position", None))]
        return self.page(
            "thread",
            reader,
            page=page,
            days=self._days(page, reader),
            ending=self._ending(page, reader, saved),
            saved=saved,
            first_position=min(positions, default=1),
            **context,
        )

    def entries(self, page: ThreadPage, reader: Reader, *, saved: Sequence[ArtifactItem] = ()) -> str:
        """The entries of a thread's page as list items."""
        context = {"days": self._days(page, reader), "ending": self._ending(page, reader, saved)}
        return self._templates["entries.html"].render({**self._words(reader), **context})

    def _ending(self, page: ThreadPage, reader: Reader, saved: Sequence[ArtifactItem]) -> list[Markup]:
        """What stands below the last entry: how far a run has come, and the text of a Co-Draft as it stands."""
        progress = progress_of(page)
        draft = next((one for one in saved if one.name == ARTIFACT), None)
        context = {
            **self._words(reader),
            **_post_words(page.locale),
            "thread_id": page.thread_id,
            "progress": progress,
            "draft": draft,
        }
        rows: list[tuple[str, str, object]] = []
        if page.mode is Mode.CODRAFT and draft is not None and progress is None:
            rows.append(("entry_draft.html", "draft-newest", draft))
        if progress is not None:
            rows.append(("entry_progress.html", f"progress-{progress.run_id}", progress))
        return [
            Markup(  # noqa: S704  the templates escape
                self._templates[name].render(
                    {**context, "id": row_id, "version": _fingerprint(what, reader.locale, page.locale)}
                )
            )
            for name, row_id, what in rows
        ]

    def receipt(self, view: ReceiptView, reader: Reader, *, fragment: bool, **context: object) -> str:
        """ "Show AI input"."""
        return self.page(
            "receipt",
            reader,
            fragment=fragment,
            view=view,
            case_prompts=FROM_THREADS,
            receipt_tokens=_receipt_tokens(view, reader.locale),
            receipt_cost=_cost(view.usage, reader.locale),
            schema=json.dumps(view.output_schema, ensure_ascii=False, indent=2) if view.output_schema else "",
            **context,
        )

    def usage(self, lines: Sequence[UsageLine], reader: Reader, *, fragment: bool, **context: object) -> str:
        """The table of usage with a chart of what its lines cost, or of tokens where nothing has a price."""
        return self.page(
            "usage",
            reader,
            fragment=fragment,
            lines=lines,
            chart=_usage_chart(lines, reader.locale),
            **context,
        )

    def entry(self, view: ItemView, page: ThreadPage, reader: Reader) -> Markup:
        """One entry of a thread as a list item."""
        context: dict[str, Any] = {
            **self._words(reader),
            **_post_words(page.locale),
            "view": view,
            "id": entry_id(view),
            "version": _fingerprint(view, reader.locale, page.locale),
            "thread_id": page.thread_id,
        }
        match view:
            case MessageView():
                name = "entry_message.html"
                context["controls"] = self._controls(view, page, reader)
            case AnswerView():
                name = "entry_answer.html"
                rated = thumbs(view, page.thread_id, reader.locale)
                context["controls"] = [*self._controls(view, page, reader), *rated]
                context["state"] = view.state.value
                context["by_model"] = view.model != PRODUCT
            case BranchHeaderView():
                name = "entry_header.html"
                context["header_from"] = _header_from(view, page.locale)
            case NoticeView():
                name = "entry_notice.html"
            case HandoverHeaderView() | DeliveryView() | AdoptionCardView():
                name = "entry_card.html"
                context["card"] = outline(view, page.locale)
                context["kind"] = _card_icon(view)
                context["receipts"] = _receipts(view)
                context["controls"] = self._controls(view, page, reader)
            case _:
                assert_never(view)
        return Markup(self._templates[name].render(context))  # noqa: S704  the template escapes

    def text(self, reader: Reader, key: str, **fields: str) -> str:
        """A sentence of the page in the reader's language."""
        return _text(reader.locale, key, **fields)

    def _controls(
        self,
        view: MessageView | AnswerView | HandoverHeaderView | DeliveryView | AdoptionCardView,
        page: ThreadPage,
        reader: Reader,
    ) -> list[Control]:
        position = view.position if isinstance(view, MessageView | AnswerView) else None
        buttons = () if isinstance(view, DeliveryView) else view.buttons
        # The line of progress has the one button that stops a run; under each of its answers it would be too many.
        return [
            control(one, page.thread_id, position, reader.locale)
            for one in buttons
            if one.action is not ButtonAction.STOP_RUN
        ]

    def _days(self, page: ThreadPage, reader: Reader) -> Iterator[tuple[date | None, list[Markup]]]:
        day = None

        def day_of(item: ItemView) -> date | None:
            nonlocal day
            made = getattr(item, "created_at", None)
            day = made.astimezone(reader.zone).date() if made else day
            return day

        for when, items in groupby(page.items, key=day_of):
            yield when, [self.entry(item, page, reader) for item in items]

    def _words(self, reader: Reader) -> dict[str, Any]:
        locale = reader.locale
        return {
            "t": partial(_text, locale),
            "phrase": partial(i18n.phrase, locale),
            "phrase_in": i18n.phrase,
            "reader": reader,
            "languages": LANGUAGES,
            "version": self._version,
            "new_key": self._new_key,
            "visible": visible,
            "markdown": self._markdown[locale].html,
            "avatar": avatar,
            "moment": partial(_moment, reader),
            "day_name": partial(_day_name, reader),
            "size": partial(_size, locale),
            "number": number,
            "money": i18n.money,
            "price": partial(_price, locale),
            "kind": partial(_kind, locale),
            "notes": lambda model: list(model_notes(model, locale)),
            "trains": partial(_trains, locale),
            "spent": partial(_spent, locale),
            "mode_name": partial(_mode_name, locale),
        }


def _card_icon(view: HandoverHeaderView | DeliveryView | AdoptionCardView) -> str:
    return "adopt" if isinstance(view, AdoptionCardView) else "hand_over"


def _receipts(view: HandoverHeaderView | DeliveryView | AdoptionCardView) -> list[tuple[str, str]]:
    """Where each model's first call of a handover can be looked up."""
    if not isinstance(view, DeliveryView):
        return []
    return [(one.model, one.receipt_id) for one in view.models if one.receipt_id]


def _post_words(locale: str) -> dict[str, Any]:
    return {
        "post": partial(i18n.phrase, locale),
        "post_text": partial(_text, locale),
        "post_locale": locale,
    }


def _text(locale: str, key: str, **fields: str | float) -> str:
    return i18n.text(locale, key if "." in key else f"console.{key}", **fields)


def _mode_name(locale: str, mode: Mode) -> str:
    return _text(locale, f"mode_{mode.value}")


def avatar(name: str, kind: str = "person") -> Markup:
    """Initials on a colour that follows from the name; decoration, hidden from screen readers."""
    words = [word for word in name.split() if word[0].isalnum()] or ["?"]
    initials = words[0][0] + (words[1][0] if len(words) > 1 and words[1][0].isascii() else "")
    hue = zlib.crc32(name.encode()) % AVATAR_HUES
    return Markup('<span class="avatar {} hue-{}" aria-hidden="true">{}</span>').format(
        kind, hue, initials.upper()
    )


def number(value: float, decimals: int = 0) -> str:
    return f"{value:,.{decimals}f}"


def _price(locale: str, usd: float | None, is_demo: bool) -> str:  # noqa: FBT001  called from a template
    if usd is None:
        return _text(locale, "free" if is_demo else "unknown")
    return f"${usd:,.2f}"


def _kind(locale: str, model: ModelItem) -> str:
    """What has to be known of a model before it is chosen; empty where nothing has to."""
    if model.demo:
        return _text(locale, "demo")
    return _text(locale, "local_model.note") if model.local else ""


def _trains(locale: str, answer: str) -> str:
    return _text(locale, answer if answer in ("yes", "no") else "unknown")


def _moment(reader: Reader, when: datetime, *, full: bool = False) -> Markup:
    local = when.astimezone(reader.zone)
    shown = f"{_date(reader.locale, local.date())} {local:%H:%M:%S}" if full else f"{local:%H:%M}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        local.isoformat(timespec="seconds"), f"{_date(reader.locale, local.date())} {local:%H:%M}", shown
    )


def _date(locale: str, day: date) -> str:
    return i18n.text(
        locale,
        "console.date",
        year=day.year,
        month=i18n.text(locale, f"console.month_{day.month}"),
        day=day.day,
    )


def _day_name(reader: Reader, day: date) -> str:
    age = (reader.today - day).days
    if age in (0, 1):
        return _text(reader.locale, "today" if age == 0 else "yesterday")
    return _date(reader.locale, day)


def _size(locale: str, size_bytes: int) -> str:
    if size_bytes < 1000:
        return _text(locale, "size_bytes", count=size_bytes)
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1000:.0f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def _spent(locale: str, usage: Usage) -> str:
    tokens = _text(
        locale,
        "tokens_estimated" if usage.estimated else "tokens",
        input=number(usage.input_tokens),
        output=number(usage.output_tokens),
    )
    return f"{tokens} · {i18n.money(usage.cost_usd)}" if usage.cost_usd is not None else tokens


def _receipt_tokens(view: ReceiptView, locale: str) -> str:
    estimate = number(view.estimate_tokens)
    if view.usage is None:
        return _text(locale, "receipt.tokens_estimate", estimate=estimate)
    return _text(
        locale,
        "receipt.tokens_guessed" if view.usage.estimated else "receipt.tokens_used",
        estimate=estimate,
        input=number(view.usage.input_tokens),
        output=number(view.usage.output_tokens),
    )


def _cost(usage: Usage | None, locale: str) -> str:
    if usage is None or usage.cost_usd is None:
        return _text(locale, "receipt.cost_unknown")
    return i18n.money(usage.cost_usd)


def _header_from(view: BranchHeaderView, locale: str) -> Markup:
    """Where a branch comes from, with its parent's title as a link."""
    link = Markup('<a href="/t/{}"><bdi>{}</bdi></a>').format(view.parent_id, visible(view.parent_title))
    key = "console.header_from" if view.split_position else "console.header_from_empty"
    sentence = i18n.text(locale, key, title="\0", position=view.split_position)
    before, _, after = sentence.partition("\0")
    return Markup("{}{}{}").format(before, link, after)


def _usage_chart(lines: Sequence[UsageLine], locale: str) -> Markup:
    priced = any(line.cost_usd for line in lines)
    bars: Mapping[str, tuple[float, str]] = {
        line.label: (line.cost_usd, i18n.money(line.cost_usd))
        if priced
        else (tokens := line.input_tokens + line.output_tokens, number(tokens))
        for line in lines
    }
    return bar_chart(bars, title=_text(locale, "chart_cost" if priced else "chart_tokens"))
