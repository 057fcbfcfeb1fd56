"""What the forms of pins, handovers and adoptions carry along: ids only. Pure."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from bot.slack.block import actions, button, context, modal, section
from bot.slack.form import View
from bot.slack.markdown import escape, one_line
from core import i18n
from core.domain.errors import Refusal

WAITING: Final = "form.waiting"
"""A form that is filled in once a draft is there."""

LOOK: Final = "carry.look"
"""The button that looks for the draft again."""

HANDOVER: Final = "handover"
REVIEW: Final = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a form is about, and what it needs besides its fields to be drawn again."""

    thread: str = ""
    ref: str = ""
    """Id of the row that the form is about."""
    channel: str = ""
    root: str = ""
    """Root of the thread on Slack in which its reader is told things; empty outside threads."""
    kind: str = ""
    """What is drafted, for a form that waits; the word of a command, for one that picks a thread."""
    seen: str = ""
    """Digest of what an estimate was made for; empty before one was."""
    more: int = 0
    """Empty boxes that were asked for."""

    def dump(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value})


def sheet(metadata: str) -> Sheet:
    """What a form that came back is about. Raises Refusal for one that is not ours."""
    try:
        return Sheet(**json.loads(metadata))
    except (ValueError, TypeError):
        raise Refusal("slack_form_old") from None


def waiting(locale: str, about: Sheet) -> View:
    """What stands in a form until its draft is there."""
    look = button(_t(locale, "look_again"), LOOK, about.ref)
    return modal(
        title=_t(locale, f"{about.kind}_title"),
        callback=WAITING,
        blocks=[
            section(escape(_t(locale, f"{about.kind}_drafting"))),
            context(escape(_t(locale, "may_close"))),
            actions("waiting", [look]),
        ],
        close=i18n.text(locale, "slack.close"),
        metadata=about.dump(),
    )


def warned(sentence: str) -> dict[str, Any]:
    """A note above the fields of a form."""
    return context(escape(one_line(sentence, 900)))


def _t(locale: str, name: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_carry.{name}", **fields)
