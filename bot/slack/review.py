"""Cross Review and artifacts of a thread: their forms, and what comes of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.carried import QUOTES
from bot.slack.adoption_form import unified
from bot.slack.block import (
    OPTIONS,
    Block,
    actions,
    button,
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
from bot.slack.files import OutgoingFile
from bot.slack.form import THREAD_FIELD, About, View, about, note, thread_title
from bot.slack.markdown import escape, one_line
from bot.slack.page import sentence
from bot.slack.parse import ACTION, LISTED, SEPARATOR, Submission
from bot.slack.render import SlackMessage
from bot.slack.start_form import digest, estimate_shown
from core import i18n
from core.commands.artifact import Shown, list_saved, save_answer, show_artifact
from core.commands.review import (
    DEFAULT_REVIEWERS,
    REVIEWABLE,
    ReviewRequest,
    cross_review,
    estimate_review,
)
from core.commands.services import Services
from core.commands.thread import last_answer, show_thread
from core.domain.artifact import NAME_CHARS
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.review import FOCUS_CHARS, MOST_ANSWERS, MOST_REVIEWERS
from core.domain.view import (
    AnswerView,
    ButtonAction,
    EstimateView,
    ThreadItem,
    ThreadPage,
    VersionItem,
)

REVIEW: Final = "form.review"
REVIEW_PICK: Final = "form.review_pick"
REVIEW_START: Final = f"{ACTION}start_review"
SAVE: Final = "form.save"
ANSWERS_FIELD: Final = "answers"
REVIEWERS_FIELD: Final = "reviewers"
FOCUS_FIELD: Final = "focus"
FOCUS_TYPED: Final = 1_000
"""What to look at, where it has to fit into a button with all the answers."""

NAME_FIELD: Final = "artifact"
VERSION_FIELD: Final = "as_version"
SHOWN_ARTIFACTS: Final = 20
ARTIFACT: Final = "do.artifact"
"""The button that opens a version of an artifact."""

ARTIFACT_SEND: Final = "do.artifact_send"
"""The button that asks which thread one is sent to."""

ARTIFACT_FILE: Final = "do.artifact_file"
"""The button that sends one as a file."""

SHOWN_VERSIONS: Final = 20
PIECE: Final = 1_400
"""Characters of a paragraph, even where each takes two units."""

MOST_SHOWN: Final = 5_600
"""Characters of a text that a message shows, well within what all its blocks may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A Cross Review that a person is about to start."""

    answers: tuple[str, ...]
    reviewers: int = DEFAULT_REVIEWERS
    focus: str = ""

    @property
    def request(self) -> ReviewRequest:
        return ReviewRequest(answers=self.answers, reviewers=self.reviewers, focus=self.focus)

    @property
    def digest(self) -> str:
        return digest(json.dumps([sorted(self.answers), self.reviewers, self.focus.strip()]))

    def dump(self, key: str) -> str:
        """As a button holds it; `key` names the one review that may come of it."""
        whole = [key, *self.answers], self.reviewers, self.focus
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def wish_of(value: str) -> tuple[Wish, str]:
    """What a Start stands for, and the key of the one review that may come of it. Raises Refusal."""
    try:
        (key, *answers), reviewers, focus = json.loads(value)
        return Wish(answers=tuple(map(str, answers)), reviewers=int(reviewers), focus=str(focus)), str(key)
    except (ValueError, TypeError):
        raise Refusal("slack_form_old") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services

    # --- Cross Review ------------------------------------------------------------------------------------------------

    async def start(self, caller: Caller, wish: Wish, *, key: str) -> str:
        """Start a Cross Review; the sentence that says who reviews."""
        started = await cross_review(self.services, caller.actor, wish.request, event_key=key)
        said = _t(caller, "answer.review", reviewers=", ".join(started.reviewers))
        if len(started.reviewers) >= started.asked:
            return said
        fewer = _t(caller, "mode_notice.fewer_reviewers", had=len(started.reviewers), asked=started.asked)
        return f"{said} {fewer}"

    async def offer(self, caller: Caller, wish: Wish, *, key: str) -> SlackMessage:
        """What a Cross Review is expected to cost, and its Start; one that calls one model starts at once."""
        view = await estimate_review(self.services, caller.actor, wish.request)
        if view.calls <= 1:
            return sentence(await self.start(caller, wish, key=key))
        start = button(_t(caller, "slack_modes.start"), REVIEW_START, wish.dump(key), style="primary")
        title = _t(caller, "slack_modes.estimate_title", mode=_t(caller, "slack_modes.review_title"))
        return SlackMessage(blocks=(*_estimate(caller, view), actions("start", [start])), text=title)

    async def offer_last(self, caller: Caller, thread_id: ThreadId, rest: str, *, key: str) -> SlackMessage:
        """`review`, `review 3`, `review 3 what to look at`: every answer to the thread's last question."""
        count, focus = (*rest.split(maxsplit=1), "", "")[:2]
        if len(focus) > FOCUS_TYPED:
            raise Refusal("slack_focus_long", had=len(focus), limit=FOCUS_TYPED)
        page = await show_thread(self.services, caller.actor, thread_id)
        answers = beside(page, last_reviewable(page))
        wish = Wish(
            answers=tuple(_ref(one, ButtonAction.REVIEW) for one in answers),
            reviewers=int(count) if count else DEFAULT_REVIEWERS,
            focus=focus,
        )
        return await self.offer(caller, wish, key=key)

    async def begin(self, caller: Caller, value: str) -> str:
        """Start what an estimate was shown for; once, however often its Start is pressed."""
        wish, key = wish_of(value)
        return await self.start(caller, wish, key=key)

    # --- its form ----------------------------------------------------------------------------------------------------

    async def pick(self, caller: Caller, channel: str, threads: Sequence[ThreadItem]) -> View:
        """Which thread of the channel to review; its answers are asked for next."""
        fitting = [one for one in threads if one.mode in REVIEWABLE]
        if not fitting:
            raise Refusal("slack_no_review_thread", allowed=", ".join(mode.value for mode in REVIEWABLE))
        options = [option(thread_title(one), one.thread_id) for one in fitting[:OPTIONS]]
        menu = select(THREAD_FIELD, options, placeholder=_t(caller, "slack.branch_thread_choose"))
        return modal(
            title=_t(caller, "slack_modes.review_title"),
            callback=REVIEW_PICK,
            blocks=[
                section(escape(_t(caller, "slack_modes.review_means"))),
                actions("pick", [menu]),
            ],
            close=_t(caller, "slack.cancel"),
            metadata=About(channel=channel).dump(),
        )

    async def picked(self, caller: Caller, subject: About) -> View:
        """The form for the answers to the last question of a thread that was picked."""
        page = await show_thread(self.services, caller.actor, subject.thread)
        return await self.review_form(caller, replace(subject, ref=last_reviewable(page).run_id))

    async def review_form(
        self, caller: Caller, subject: About, *, asked: Wish | None = None, view: EstimateView | None = None
    ) -> View:
        """Which answers, how many reviewers, and what to look at; the answers to the same question are chosen.

        With `asked` as it was filled in, and with `view` the estimate for it above.
        """
        page = await show_thread(self.services, caller.actor, subject.thread)
        answers = beside(page, _named(page, subject.ref))[:MOST_ANSWERS]
        options = [
            option(f"#{one.position or '–'} {one.model}: {one.text}", _ref(one, ButtonAction.REVIEW))
            for one in answers
        ]
        asked = asked or Wish(answers=tuple(str(one["value"]) for one in options))
        menu = multi_select(
            ANSWERS_FIELD,
            options,
            placeholder=_t(caller, "slack_modes.review_answers"),
            chosen=asked.answers,
            most=MOST_ANSWERS,
        )
        counts = [option(str(number), str(number)) for number in range(1, MOST_REVIEWERS + 1)]
        label = _t(caller, "slack_modes.reviewers")
        count = select(REVIEWERS_FIELD, counts, placeholder=label, chosen=str(asked.reviewers))
        means = section(escape(_t(caller, "slack_modes.review_means")))
        return modal(
            title=_t(caller, "slack_modes.review_title"),
            callback=REVIEW,
            blocks=[
                *([*_estimate(caller, view), divider()] if view else [means]),
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
                    value=asked.focus,
                    lines=True,
                ),
            ],
            close=_t(caller, "slack.cancel"),
            submit=_t(caller, "slack_modes.review_submit" if view else "slack_modes.to_estimate"),
            metadata=_metadata(subject, asked.digest if view else ""),
        )

    async def submit_review(self, caller: Caller, form: Submission) -> View:
        """The estimate where none was seen for exactly this and more than one model is called; otherwise it starts."""
        subject = about(form.metadata)
        count = form.values.get(REVIEWERS_FIELD, "")
        asked = Wish(
            answers=tuple(ref for ref in form.values.get(ANSWERS_FIELD, "").split(LISTED) if ref),
            reviewers=int(count) if count.isdecimal() else DEFAULT_REVIEWERS,
            focus=form.values.get(FOCUS_FIELD, ""),
        )
        if _seen(form.metadata) != asked.digest:
            view = await estimate_review(self.services, caller.actor, asked.request)
            if view.calls > 1:
                return await self.review_form(caller, subject, asked=asked, view=view)
        said = await self.start(caller, asked, key=form.key)
        return note(caller.locale, title="slack_modes.review_title", sentence=said)

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

    async def artifact(
        self, caller: Caller, thread_id: str, name: str, number: int | None = None
    ) -> SlackMessage:
        """One version, the newest unless `number` says which: its text, what changed in it, and the file."""
        shown = await show_artifact(self.services, caller.actor, thread_id, name, number=number)
        message = _whole(caller, shown)
        means = SEPARATOR.join((thread_id, str(shown.version.number), shown.artifact.name))
        buttons = [
            button(_t(caller, "slack_carry.artifact_file"), ARTIFACT_FILE, means),
            button(_t(caller, "sending.button"), ARTIFACT_SEND, means),
        ]
        if shown.version.number > 1:
            before = SEPARATOR.join((thread_id, str(shown.version.number - 1), shown.artifact.name))
            buttons.append(button(_t(caller, "slack_carry.artifact_before"), ARTIFACT, before))
        changes: list[Block] = []
        if shown.changes:
            changed = context(escape(_t(caller, "slack_carry.artifact_changes")))
            changes = [changed, literal(unified(caller.locale, shown.changes, PIECE))]
        blocks = (*message.blocks, *changes, actions("artifact", buttons))
        return SlackMessage(blocks=blocks, text=message.text)

    async def artifact_file(self, caller: Caller, means: str) -> OutgoingFile:
        """A version as the file that a person asked for by its button."""
        thread_id, number, name = artifact_meant(means)
        shown = await show_artifact(self.services, caller.actor, thread_id, name, number=number)
        return OutgoingFile(name=f"{name}.md", title=name, data=shown.text.encode())

    async def artifacts(self, caller: Caller, thread_id: ThreadId, name: str) -> SlackMessage:
        """The artifacts of a thread with their versions, or one of them with its text."""
        name = name.strip(QUOTES)
        if name:
            return await self.artifact(caller, thread_id, name)
        saved = await list_saved(self.services, caller.actor, thread_id)
        if not saved:
            return sentence(_t(caller, "slack_modes.artifacts_none"))
        title = escape(_t(caller, "slack_modes.artifacts_title"))
        blocks: list[Block] = [section(f"*{title}*")]
        for one in saved[:SHOWN_ARTIFACTS]:
            shown = await show_artifact(self.services, caller.actor, thread_id, one.name)
            means = SEPARATOR.join((thread_id, str(shown.version.number), one.name))
            opens = button(_t(caller, "slack_carry.artifact_open"), ARTIFACT, means)
            named = section(f"*{escape(one_line(one.name, 100))}*", accessory=opens)
            blocks += [named, _versions(caller, shown.versions)]
        how = _t(caller, "slack_modes.artifacts_how", left=max(0, len(saved) - SHOWN_ARTIFACTS))
        return SlackMessage(blocks=(*blocks, context(escape(how))), text=title)


def _estimate(caller: Caller, view: EstimateView) -> list[dict[str, Any]]:
    models = _t(caller, "slack_modes.order_reviewers", models=", ".join(view.models))
    name, then = (_t(caller, f"slack_modes.{key}") for key in ("review_title", "review_nothing_yet"))
    return estimate_shown(caller.locale, name, models, view, then=then)


def _metadata(subject: About, seen: str) -> str:
    return json.dumps({**json.loads(subject.dump()), "d": seen})


def _seen(metadata: str) -> str:
    """Digest of what the estimate in a form was made for; empty where there was none."""
    return str(json.loads(metadata).get("d", ""))


def artifact_meant(means: str) -> tuple[str, int, str]:
    """Thread, version and name that a button names. Raises Refusal for a value that is not ours."""
    thread_id, _, rest = means.partition(SEPARATOR)
    number, _, name = rest.partition(SEPARATOR)
    if not number.isdecimal():
        raise Refusal("slack_form_old")
    return thread_id, int(number), name


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


def _t(caller: Caller, key: str, **fields: str | float) -> str:
    return i18n.text(caller.locale, key, **fields)
