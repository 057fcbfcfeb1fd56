"""Cards of handovers and adoptions as a title and plain lines; each chat platform adds its own marks. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from core import i18n
from core.domain.adoption import AdoptionStatus
from core.domain.handover import DeliveryState, Field
from core.domain.thread import Mode
from core.domain.view import (
    AdoptionCardView,
    Button,
    DeliveryView,
    HandoverHeaderView,
    LinkItem,
    ModelDelivery,
    Quote,
)

LINE_CHARS = 300
CARD_CHARS = 1_000
"""Of a line, and of all lines together, that every platform's card shows whole; more stands in the document too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a card says. Texts of people and models are in it as they are: whoever shows them makes them inert."""

    title: str
    lines: tuple[tuple[str, str], ...]
    """Label and text, in order; the label may be empty."""
    alarm: bool = False
    """It says that something went wrong."""
    links: tuple[LinkItem, ...] = ()
    quotes: tuple[Quote, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    """Label and text of what people have to read as it came; as much of each is shown as there is room for."""
    buttons: tuple[Button, ...] = ()
    document: str = ""
    """What is attached as a file, Markdown; empty where the lines say everything. Where there are texts, only if one of
    them is not shown whole."""
    document_name: str = "card.md"


def outline(view: HandoverHeaderView | DeliveryView | AdoptionCardView, locale: str) -> Outline:
    """The card in a language."""
    match view:
        case HandoverHeaderView():
            return _header(view, locale)
        case DeliveryView():
            return _delivery(view, locale)
        case AdoptionCardView():
            return _adoption(view, locale)


# --- handover -------------------------------------------------------------------------------------------------------


def _header(view: HandoverHeaderView, locale: str) -> Outline:
    title = i18n.text(
        locale, "card.handed_over", title=view.source.label, mode=_mode(view.source_mode, locale)
    )
    carried = [
        (Field.SUMMARY, view.summary),
        (Field.OPEN_QUESTIONS, _list(view.open_questions)),
        (Field.CONSTRAINTS, _list(view.constraints)),
        *view.more,
    ]
    lines = [(_field(field, locale), text) for field, text in carried if text]
    behind = [field for field, text in carried if text and field not in view.sent]
    if behind:
        names = ", ".join(_field(field, locale) for field in behind)
        lines.append(
            ("", i18n.text(locale, "card.not_carried", fields=names, mode=_mode(view.target, locale)))
        )
    lines += [
        ("", i18n.text(locale, f"cap.{cap.name}", limit=cap.limit, had=cap.had, kept=cap.kept))
        for cap in view.caps
    ]
    if view.left_out:
        lines.append((i18n.text(locale, "card.left_out"), _list(view.left_out)))
    references = [link.label for link in view.links if link.place is None]
    if references:
        lines.append((i18n.text(locale, "card.references"), _list(references)))
    return Outline(
        title=title,
        lines=tuple(lines),
        links=(view.source,),
        buttons=view.buttons,
        document=_document(title, lines),
    )


def _delivery(view: DeliveryView, locale: str) -> Outline:
    key = "card.delivery_failed" if view.failed else "card.delivered"
    return Outline(
        title=i18n.text(locale, key),
        lines=tuple((model.model, _received(model, locale)) for model in view.models),
        alarm=view.failed,
    )


def _received(model: ModelDelivery, locale: str) -> str:
    """What one model got, worst first."""
    order = (DeliveryState.MISSING, DeliveryState.CUT, DeliveryState.FOUND, DeliveryState.NOT_CARRIED)
    groups = []
    for state in order:
        names = [_field(one.field, locale) for one in model.fields if one.state is state]
        if names:
            groups.append(f"{i18n.text(locale, f'delivery_state.{state.value}')}: {', '.join(names)}")
    return "; ".join(groups)


# --- adoption -------------------------------------------------------------------------------------------------------


def _adoption(view: AdoptionCardView, locale: str) -> Outline:
    title = i18n.text(locale, "card.adoption", branch=view.branch.label)
    texts = (
        ("card.about", view.texts.about),
        ("card.concluded", view.texts.concluded),
        ("card.next_steps", view.texts.next_steps),
        ("card.sources", view.texts.sources),
    )
    lines = [
        (i18n.text(locale, "card.status"), _status(view, locale)),
        (i18n.text(locale, "card.requested_by", who=view.requester), view.reason),
        *((i18n.text(locale, key), text) for key, text in texts if text),
        ("", i18n.text(locale, "card.covers", messages=view.messages, artifacts=view.artifacts)),
    ]
    for conflict in view.conflicts:
        choice = i18n.text(locale, f"adoption_choice.{conflict.choice.value}") if conflict.choice else ""
        lines.append((conflict.name, f"{choice} ({conflict.new_name})" if conflict.new_name else choice))
    if view.newer:
        lines.append(("", i18n.text(locale, "card.newer", count=view.newer)))
    if view.open_conflicts:
        lines.append((i18n.text(locale, "card.open_conflicts"), ", ".join(view.open_conflicts)))
    return Outline(
        title=title,
        lines=tuple(lines),
        links=(view.branch,),
        quotes=view.quotes,
        buttons=view.buttons,
        document=view.transcript or _document(title, lines),
    )


def _status(view: AdoptionCardView, locale: str) -> str:
    status = i18n.text(locale, f"adoption_status.{view.status.value}")
    if view.status is AdoptionStatus.PENDING:
        return f"{status} ({i18n.text(locale, 'card.until', day=f'{view.expires_at:%Y-%m-%d}')})"
    said = f": {view.decision_reason}" if view.decision_reason else ""
    return f"{status} ({view.decided_by}){said}" if view.decided_by else f"{status}{said}"


# --- pieces ---------------------------------------------------------------------------------------------------------


def _field(field: Field, locale: str) -> str:
    return i18n.text(locale, f"handover_field.{field.value}")


def _mode(mode: Mode, locale: str) -> str:
    return i18n.text(locale, f"mode_name.{mode.value}")


def _list(items: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _document(title: str, lines: list[tuple[str, str]]) -> str:
    """The card whole, where a line of it is too long to stand in the card."""
    lengths = [len(label) + len(text) for label, text in lines]
    if max(lengths) <= LINE_CHARS and sum(lengths) <= CARD_CHARS:
        return ""
    return "\n\n".join((f"# {title}", *_paragraphs(lines))) + "\n"


def _paragraphs(lines: list[tuple[str, str]]) -> Iterator[str]:
    for label, text in lines:
        yield f"## {label}\n\n{text}" if label else text
