"""The forms of an adoption: the review before it is asked for, why it is rejected, and what it brings. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.block import (
    actions,
    button,
    context,
    divider,
    field,
    header,
    literal,
    modal,
    option,
    section,
    select,
    text_input,
)
from bot.slack.box import BOX, boxed, boxes
from bot.slack.form import View
from bot.slack.markdown import escape, fit, one_line, units
from bot.slack.sheet import Sheet, warned
from core import i18n
from core.commands.adoption import AdoptionChanges, AdoptionRequest, AdoptionReview
from core.domain.adoption import REASON_CHARS, Choice, Conflict, ReviewTexts
from core.domain.artifact import NAME_CHARS, Change, DiffRow
from core.domain.errors import Refusal
from core.domain.message import Message
from core.domain.pin import Pin
from core.domain.thread import Thread

REVIEW_FORM: Final = "form.adoption"
REJECT_FORM: Final = "form.reject"
CHANGES: Final = "form.changes"
CHANGES_FILE: Final = "carry.changes_file"
REVIEW_FILE: Final = "carry.review_file"
REASON: Final = "reason"
TEXTS: Final = ("about", "concluded", "next_steps", "sources")
MOST_CONFLICTS: Final = 12
"""What a form has room for beside the messages; each takes four blocks."""

SHOWN_MESSAGES: Final = 12
PREVIEW_UNITS: Final = 9_000
DIFF_UNITS: Final = 1_200
SHOWN_PINS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """An artifact that meets one of the same name, and what changes from the parent's to the branch's."""

    conflict: Conflict
    changes: tuple[DiffRow, ...]


def review_form(
    locale: str, about: Sheet, review: AdoptionReview, meetings: Sequence[Meeting], pins: Sequence[Pin]
) -> View:
    """The review as the requester reads and edits it before asking."""
    draft = review.draft
    into = _t(locale, "adopt_means", parent=one_line(review.parent.title, 200))
    blocks: list[dict[str, Any]] = [section(escape(into))]
    if draft is not None and not draft.by_model:
        blocks.append(warned(_t(locale, "review_plain")))
    if draft is not None and draft.contradictions:
        lines = "\n".join(f"• {escape(one_line(each, 300))}" for each in draft.contradictions[:8])
        blocks.append(section(f"*{escape(_t(locale, 'contradictions'))}*\n{lines}"))
    texts = draft.texts if draft is not None else ReviewTexts()
    for name in TEXTS:
        label = i18n.text(locale, f"card.{name}")
        blocks += boxes(f"review.{name}", label, getattr(texts, name), most=2)
    if pins:
        kinds = [(i18n.text(locale, f"pin_kind.{one.kind.value}"), one.text) for one in pins[:SHOWN_PINS]]
        lines = "\n".join(f"• *{escape(kind)}*: {escape(one_line(text, 200))}" for kind, text in kinds)
        blocks.append(section(f"*{escape(_t(locale, 'pinned_here'))}*\n{lines}"))
    for meeting in meetings:
        blocks += _conflict(locale, meeting)
    blocks.append(
        text_input(
            REASON,
            _t(locale, "adopt_reason"),
            limit=REASON_CHARS,
            optional=False,
            value=review.form.reason if review.form else "",
            lines=True,
        )
    )
    blocks += [divider(), header(_t(locale, "covered"))]
    blocks.append(context(escape(_t(locale, "covered_means", artifacts=review.artifacts))))
    blocks += _covered(locale, review.branch, review.messages)
    blocks.append(actions("file", [button(_t(locale, "whole_file"), REVIEW_FILE, about.ref)]))
    return modal(
        title=_t(locale, "review_title"),
        callback=REVIEW_FORM,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "adopt_submit"),
        metadata=about.dump(),
    )


def _conflict(locale: str, meeting: Meeting) -> list[dict[str, Any]]:
    """What differs between two artifacts of one name, and what is to happen."""
    one = meeting.conflict
    versions = _t(locale, "conflict_versions", branch=one.branch_version, parent=one.parent_version)
    title = _t(locale, "conflict", name=one_line(one.name, 120))
    options = [option(i18n.text(locale, f"adoption_choice.{each.value}"), each.value) for each in Choice]
    menu = select(f"choice.{one.branch_artifact}", options, placeholder=_t(locale, "conflict_choose"))
    return [
        section(f"*{escape(title)}*\n{escape(versions)}"),
        literal(unified(locale, meeting.changes, DIFF_UNITS)),
        field(f"choice.{one.branch_artifact}", _t(locale, "conflict_choose"), menu, optional=False),
        text_input(
            f"new_name.{one.branch_artifact}", _t(locale, "conflict_name"), limit=NAME_CHARS, optional=True
        ),
    ]


_MARKS: Final = {Change.SAME: "  ", Change.REMOVED: "− ", Change.ADDED: "+ ", Change.SKIPPED: "… "}


def unified(locale: str, rows: Sequence[DiffRow], limit: int) -> str:
    """Changes line by line, each behind its mark, as far as `limit` units go."""
    lines: list[str] = []
    left = limit
    for place, row in enumerate(rows):
        text = _t(locale, "lines_skipped", count=row.count) if row.change is Change.SKIPPED else row.text
        line = f"{_MARKS[row.change]}{one_line(text, 400) if text.strip() else ''}".rstrip() or " "
        left -= units(line) + 1
        if left < 0:
            lines.append(_t(locale, "lines_more", count=len(rows) - place))
            break
        lines.append(line)
    return "\n".join(lines) or _t(locale, "no_changes")


def _covered(
    locale: str, branch: Thread, messages: Mapping[str, Sequence[Message]]
) -> Iterator[dict[str, Any]]:
    """The exact messages, as many as a form shows; the file holds them all."""
    left, shown = PREVIEW_UNITS, 0
    every = [one for line in messages.values() for one in line]
    for one in every[:SHOWN_MESSAGES]:
        if left <= 0:
            break
        text = one.text or " "
        yield context(
            f"*{escape(one_line(_author(locale, branch, one), 100))}* · {one.created_at:%Y-%m-%d %H:%M} UTC"
        )
        while text and left > 0:
            end = fit(text, min(BOX, left))
            yield literal(text[:end])
            left -= units(text[:end])
            text = text[end:]
        if text:
            yield context(escape(_t(locale, "message_cut", left=len(text))))
        shown += 1
    if shown < len(every):
        yield context(escape(_t(locale, "messages_more", count=len(every) - shown)))


def _author(locale: str, branch: Thread, message: Message) -> str:
    hidden = message.is_answer and branch.setup.get("blind")
    return _t(locale, "hidden") if hidden else message.author.name


def request_of(branch_id: str, values: Mapping[str, str]) -> AdoptionRequest:
    """The request that a review's form asks for."""
    artifacts = [name.removeprefix("choice.") for name in values if name.startswith("choice.")]
    return AdoptionRequest(
        branch_id=branch_id,
        reason=values.get(REASON, ""),
        texts={name: boxed(values, f"review.{name}") for name in TEXTS},
        choices={
            one: {"choice": values[f"choice.{one}"], "new_name": values.get(f"new_name.{one}", "")}
            for one in artifacts
        },
    )


def blamed(values: Mapping[str, str], problem: BaseException) -> str:
    """The block at which a refusal of the review's form is said."""
    code = problem.code if isinstance(problem, Refusal) else ""
    if code.startswith(("adopt_new_name", "artifact_name")):
        both = [name for name, value in values.items() if value == Choice.KEEP_BOTH.value]
        return both[0].replace("choice.", "new_name.", 1) if both else REASON
    return REASON


def reject_form(locale: str, about: Sheet, branch: str) -> View:
    """Why a request is rejected."""
    return modal(
        title=_t(locale, "reject_title"),
        callback=REJECT_FORM,
        blocks=[
            section(escape(_t(locale, "reject_means", branch=one_line(branch, 200)))),
            text_input(REASON, _t(locale, "reject_reason"), limit=REASON_CHARS, optional=False, lines=True),
        ],
        close=i18n.text(locale, "slack.cancel"),
        submit=i18n.text(locale, "button.reject"),
        metadata=about.dump(),
    )


# --- Show changes ---------------------------------------------------------------------------------------------------


def changes_form(locale: str, changes: AdoptionChanges) -> View:
    """What a request brings into the parent: texts, artifacts, and the exact messages."""
    texts = ReviewTexts.from_json(changes.adoption.review)
    blocks: list[dict[str, Any]] = [
        section(f"*{escape(one_line(changes.branch.branch_name or changes.branch.title, 200))}*")
    ]
    if changes.adoption.reason:
        blocks.append(
            section(escape(_t(locale, "reason_given", reason=one_line(changes.adoption.reason, 1_000))))
        )
    for name in TEXTS:
        if text := getattr(texts, name):
            blocks.append(context(f"*{escape(i18n.text(locale, f'card.{name}'))}*"))
            blocks.append(literal(text[: fit(text, 1_500)]))
    if changes.adoption.artifacts:
        lines = "\n".join(f"• {escape(one_line(line, 250))}" for line in _artifacts(locale, changes)[:10])
        blocks.append(section(f"*{escape(_t(locale, 'artifacts_covered'))}*\n{lines}"))
    blocks += [divider(), header(_t(locale, "covered"))]
    blocks += _covered(locale, changes.branch, changes.messages)
    blocks.append(actions("file", [button(_t(locale, "whole_file"), CHANGES_FILE, changes.adoption.id)]))
    return modal(
        title=_t(locale, "changes_title"),
        callback=CHANGES,
        blocks=blocks,
        close=i18n.text(locale, "slack.close"),
    )


def _artifacts(locale: str, changes: AdoptionChanges) -> list[str]:
    lines = []
    for one in changes.adoption.artifacts:
        line = _t(locale, "artifact_covered", name=one["name"], version=one["version"])
        if decided := one["decided"]:
            choice = i18n.text(locale, f"adoption_choice.{decided['choice']}")
            line = f"{line} · {choice} {decided['new_name']}".rstrip()
        lines.append(line)
    return lines


def covered_document(
    locale: str, branch: Thread, messages: Mapping[str, Sequence[Message]], heads: Sequence[str]
) -> str:
    """All that a request covers, to the letter, as a document."""
    parts = [f"# {branch.branch_name or branch.title}", *(f"- {head}" for head in heads)]
    for number, line in enumerate((one for one in messages.values() if one), start=1):
        if len(messages) > 1:
            parts.append(f"## {_t(locale, 'covered_line', number=number)}")
        parts += [
            f"### {_author(locale, branch, one)}, {one.created_at:%Y-%m-%d %H:%M} UTC\n\n{one.text}"
            for one in line
        ]
    return "\n\n".join(parts) + "\n"


def artifact_heads(locale: str, changes: AdoptionChanges) -> list[str]:
    """The artifacts of a request, for the head of its document."""
    return _artifacts(locale, changes)


def _t(locale: str, key: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_carry.{key}", **fields)
