"""What comes of a thumb under an answer, and the form that asks why."""

from dataclasses import dataclass
from typing import Final

from bot.slack.block import modal, section, text_input
from bot.slack.caller import Caller
from bot.slack.form import About, View, about, note
from bot.slack.markdown import escape
from bot.slack.parse import SEPARATOR, Submission
from core import i18n
from core.commands.feedback import give_feedback
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.feedback import COMMENT_CHARS, Thumb

FEEDBACK: Final = "form.feedback"
FEEDBACK_TITLE: Final = "slack.feedback_title"
COMMENT_FIELD: Final = "comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """Which thumb of which answer."""

    thumb: Thumb
    ref: str


def pressed(value: str) -> Pressed:
    """Raises Refusal for a value that is not ours."""
    thumb, separator, ref = value.partition(SEPARATOR)
    if not separator:
        raise Refusal("slack_form_old")
    return Pressed(thumb=Thumb.read(thumb), ref=ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackDesk:
    """All methods raise Refusal and StoreUnavailable; nothing was changed then."""

    services: Services

    async def give(self, caller: Caller, given: Pressed, *, key: str) -> str:
        """Keep a thumb, or take it back; the sentence that says which it was."""
        kept = await give_feedback(self.services, caller.actor, given.ref, given.thumb, event_key=key)
        return i18n.text(caller.locale, f"feedback.{kept.value if kept else 'withdrawn'}")

    async def give_and_ask(self, caller: Caller, given: Pressed, *, key: str) -> View:
        """The same, and a form that asks why; the thumb counts whether or not it is sent."""
        kept = await give_feedback(self.services, caller.actor, given.ref, given.thumb, event_key=key)
        t = caller.locale
        if kept is None:
            return note(t, title=FEEDBACK_TITLE, sentence=i18n.text(t, "feedback.withdrawn"))
        comment = text_input(
            COMMENT_FIELD,
            i18n.text(t, "slack.feedback_comment"),
            limit=COMMENT_CHARS,
            optional=True,
            hint=i18n.text(t, "slack.feedback_hint"),
            lines=True,
        )
        return modal(
            title=i18n.text(t, FEEDBACK_TITLE),
            callback=FEEDBACK,
            blocks=[section(escape(i18n.text(t, f"feedback.{kept.value}"))), comment],
            close=i18n.text(t, "slack.close"),
            submit=i18n.text(t, "slack.feedback_send"),
            metadata=About(ref=f"{given.thumb.value}{SEPARATOR}{given.ref}").dump(),
        )

    async def submit(self, caller: Caller, form: Submission) -> str:
        """Keep the comment with the thumb it was asked for."""
        given = pressed(about(form.metadata).ref)
        comment = form.values.get(COMMENT_FIELD, "")
        await give_feedback(
            self.services, caller.actor, given.ref, given.thumb, comment=comment, event_key=form.key
        )
        return i18n.text(caller.locale, "slack.feedback_kept")
