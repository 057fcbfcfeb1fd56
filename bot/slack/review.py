"""Cross Review and artifacts of a thread: their forms, and what comes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.block import (
    Block,
    checkbox,
    context,
    divider,
    field,
    literal,
    modal,
    multi_select,
    option,
    section,
    select,
    text_input,
)
from bot.slack.caller import Caller
from bot.slack.form import About, View, about
from bot.slack.markdown import escape, one_line
from bot.slack.parse import LISTED, Submission
from bot.slack.render import SlackMessage
from core import i18n
from core.commands.artifact import Shown, list_saved, save_answer, show_artifact
from core.commands.review import DEFAULT_REVIEWERS, ReviewRequest, cross_review
from core.commands.services import Services
from core.commands.thread import last_answer, show_thread
from core.domain.artifact import NAME_CHARS
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.review import FOCUS_CHARS, MOST_ANSWERS, MOST_REVIEWERS
from core.domain.view import AnswerView, ButtonAction, ThreadPage, VersionItem

REVIEW: Final = "form.review"
SAVE: Final = "form.save"
ANSWERS_FIELD: Final = "answers"
REVIEWERS_FIELD: Final = "reviewers"
FOCUS_FIELD: Final = "focus"
NAME_FIELD: Final = "artifact"
VERSION_FIELD: Final = "as_version"
SHOWN_ARTIFACTS: Final = 20
SHOWN_VERSIONS: Final = 20
QUOTES: Final = ' "“”「」『』'
PIECE: Final = 1_400
"""Characters of a paragraph, even where each takes two units."""

MOST_SHOWN: Final = 5_600
"""Characters of a text that a message shows, well within what all its blocks may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services

    # --- Cross Review ------------------------------------------------------------------------------------------------

    async def review(
        self,
        caller: Caller,
        answers: Sequence[str],
        *,
        key: str,
        reviewers: int = DEFAULT_REVIEWERS,
        focus: str = "",
    ) -> str:
        """Start a Cross Review; the sentence that says who reviews."""
        request = ReviewRequest(answers=tuple(answers), reviewers=reviewers, focus=focus)
        started = await cross_review(self.services, caller.actor, request, event_key=key)
        said = _t(caller, "answer.review", reviewers=", ".join(started.reviewers))
        if len(started.reviewers) >= started.asked:
            return said
        fewer = _t(caller, "mode_notice.fewer_reviewers", had=len(started.reviewers), asked=started.asked)
        return f"{said} {fewer}"

    async def review_last(self, caller: Caller, thread_id: ThreadId, rest: str, *, key: str) -> str:
        """`review`, `review 3`, `review 3 what to look at`: every answer to the thread's last question."""
        count, focus = (*rest.split(maxsplit=1), "", "")[:2]
        page = await show_thread(self.services, caller.actor, thread_id)
        answers = beside(page, last_reviewable(page))
        return await self.review(
            caller,
            [_ref(one, ButtonAction.REVIEW) for one in answers],
            key=key,
            reviewers=int(count) if count else DEFAULT_REVIEWERS,
            focus=focus,
        )

    async def review_form(self, caller: Caller, subject: About) -> View:
        """Which answers, how many reviewers, and what to look at; the answers to the same question are chosen."""
        page = await show_thread(self.services, caller.actor, subject.thread)
        answers = beside(page, _named(page, subject.ref))[:MOST_ANSWERS]
        options = [
            option(f"#{one.position or '–'} {one.model}: {one.text}", _ref(one, ButtonAction.REVIEW))
            for one in answers
        ]
        menu = multi_select(
            ANSWERS_FIELD,
            options,
            placeholder=_t(caller, "slack_modes.review_answers"),
            chosen=[str(one["value"]) for one in options],
            most=MOST_ANSWERS,
        )
        counts = [option(str(number), str(number)) for number in range(1, MOST_REVIEWERS + 1)]
        label = _t(caller, "slack_modes.reviewers")
        count = select(REVIEWERS_FIELD, counts, placeholder=label, chosen=str(DEFAULT_REVIEWERS))
        return modal(
            title=_t(caller, "slack_modes.review_title"),
            callback=REVIEW,
            blocks=[
                section(escape(_t(caller, "slack_modes.review_means"))),
                field(ANSWERS_FIELD, _t(caller, "slack_modes.review_answers"), menu, optional=False),
                field(
                    REVIEWERS_FIELD,
                    label,
                    count,
                    optional=False,
                    hint=_t(caller, "slack_modes.reviewers_hint"),
                ),
                text_input(
                    FOCUS_FIELD,
                    _t(caller, "slack_modes.focus"),
                    limit=FOCUS_CHARS,
                    optional=True,
                    lines=True,
                ),
            ],
            close=_t(caller, "slack.cancel"),
            submit=_t(caller, "slack_modes.review_submit"),
            metadata=subject.dump(),
        )

    async def submit_review(self, caller: Caller, form: Submission) -> str:
        _ = about(form.metadata)
        count = form.values.get(REVIEWERS_FIELD, "")
        return await self.review(
            caller,
            [ref for ref in form.values.get(ANSWERS_FIELD, "").split(LISTED) if ref],
            key=form.key,
            reviewers=int(count) if count.isdecimal() else DEFAULT_REVIEWERS,
            focus=form.values.get(FOCUS_FIELD, ""),
        )

    # --- artifacts ---------------------------------------------------------------------------------------------------

    async def save_last(self, caller: Caller, thread_id: ThreadId, name: str, *, key: str) -> str:
        """Save the thread's last answer; the sentence that says under which name."""
        answer = last_answer(await show_thread(self.services, caller.actor, thread_id))
        return await self.save(caller, _ref(answer, ButtonAction.SAVE), name.strip(QUOTES), key=key)

    async def save(
        self, caller: Caller, ref: str, name: str = "", *, key: str, as_version: bool = False
    ) -> str:
        kept = await save_answer(self.services, caller.actor, ref, name, event_key=key, as_version=as_version)
        return _t(caller, "answer.save", name=kept)

    async def save_form(self, caller: Caller, subject: About) -> View:
        """Under which name an answer is saved."""
        page = await show_thread(self.services, caller.actor, subject.thread)
        answer = _named(page, subject.ref)
        box = checkbox(VERSION_FIELD, _t(caller, "slack_modes.as_version"), "on", on=False)
        return modal(
            title=_t(caller, "slack_modes.save_title"),
            callback=SAVE,
            blocks=[
                text_input(
                    NAME_FIELD,
                    _t(caller, "slack_modes.artifact_name"),
                    limit=NAME_CHARS,
                    optional=True,
                    hint=_t(caller, "slack_modes.artifact_name_hint"),
                ),
                field(VERSION_FIELD, _t(caller, "slack_modes.name_taken"), box, optional=True),
            ],
            close=_t(caller, "slack.cancel"),
            submit=_t(caller, "button.save"),
            metadata=About(
                thread=subject.thread, ref=_ref(answer, ButtonAction.SAVE), channel=subject.channel
            ).dump(),
        )

    async def submit_save(self, caller: Caller, form: Submission) -> str:
        return await self.save(
            caller,
            about(form.metadata).ref,
            form.values.get(NAME_FIELD, ""),
            key=form.key,
            as_version=bool(form.values.get(VERSION_FIELD)),
        )

    async def artifacts(self, caller: Caller, thread_id: ThreadId, name: str) -> SlackMessage:
        """The artifacts of a thread with their versions, or one of them with its text."""
        name = name.strip(QUOTES)
        if name:
            return _whole(caller, await show_artifact(self.services, caller.actor, thread_id, name))
        saved = await list_saved(self.services, caller.actor, thread_id)
        if not saved:
            return _sentence(_t(caller, "slack_modes.artifacts_none"))
        title = escape(_t(caller, "slack_modes.artifacts_title"))
        blocks: list[Block] = [section(f"*{title}*")]
        for one in saved[:SHOWN_ARTIFACTS]:
            shown = await show_artifact(self.services, caller.actor, thread_id, one.name)
            blocks += [section(f"*{escape(one_line(one.name, 100))}*"), _versions(caller, shown.versions)]
        how = _t(caller, "slack_modes.artifacts_how", left=max(0, len(saved) - SHOWN_ARTIFACTS))
        return SlackMessage(blocks=(*blocks, context(escape(how))), text=title)


def last_reviewable(page: ThreadPage) -> AnswerView:
    """The newest answer that can be reviewed. Raises Refusal when none can."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView) and _ref(item, ButtonAction.REVIEW):
            return item
    raise Refusal("answer_not_found")


def beside(page: ThreadPage, answer: AnswerView) -> list[AnswerView]:
    """Every answer to the same question that can be reviewed, in order. Raises Refusal when none can."""
    found = [
        item
        for item in page.items
        if isinstance(item, AnswerView)
        and item.answers_id == answer.answers_id
        and _ref(item, ButtonAction.REVIEW)
    ]
    if not found:
        raise Refusal("slack_nothing_to_review")
    return found


def _ref(item: AnswerView, action: ButtonAction) -> str:
    """What an answer's button names; empty where the answer has no such button."""
    return next((button.ref for button in item.buttons if button.action is action), "")


def _named(page: ThreadPage, ref: str) -> AnswerView:
    """The newest answer that a message or run means. Raises Refusal."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView) and ref in (item.run_id, item.message_id, item.answers_id):
            return item
    raise Refusal("answer_not_found")


def _versions(caller: Caller, versions: Sequence[VersionItem]) -> dict[str, Any]:
    """The newest versions, newest first, in small print."""
    lines = []
    for one in list(reversed(versions))[:SHOWN_VERSIONS]:
        line = _t(
            caller,
            "slack_modes.version",
            number=one.number,
            author=one_line(one.author, 60),
            chars=f"{one.chars:,}",
        )
        lines.append(escape(f"{line} {one_line(one.reason, 80)}".strip()))
    return context("\n".join(lines))


def _whole(caller: Caller, shown: Shown) -> SlackMessage:
    name = escape(one_line(shown.artifact.name, 100))
    head = _t(caller, "slack_modes.artifact_version", number=shown.version.number)
    blocks: list[Block] = [
        section(f"*{name}* · {escape(head)}"),
        _versions(caller, shown.versions),
        divider(),
    ]
    pieces = [shown.text[at : at + PIECE] for at in range(0, min(len(shown.text), MOST_SHOWN), PIECE)]
    blocks += [literal(piece) for piece in pieces]
    if len(shown.text) > MOST_SHOWN:
        cut = _t(caller, "slack_modes.artifact_cut", shown=MOST_SHOWN, chars=len(shown.text))
        blocks.append(context(escape(cut)))
    return SlackMessage(blocks=tuple(blocks), text=name)


def _sentence(text: str) -> SlackMessage:
    safe = escape(text)
    return SlackMessage(blocks=(section(safe),), text=safe)


def _t(caller: Caller, key: str, **fields: str | float) -> str:
    return i18n.text(caller.locale, key, **fields)
