"""Building stones of Slack's Block Kit, each within its own limit. Pure.

Limits: docs.slack.dev, Block Kit reference, 2026.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bot.slack.markdown import escape, one_line, shorten

Block = Mapping[str, Any]

SECTION: Final = 3000
CONTEXT: Final = 2000
HEADER: Final = 150
BUTTON: Final = 75
OPTION: Final = 75
OPTIONS: Final = 100
VALUE: Final = 150
TITLE: Final = 24
HINT: Final = 2000


def plain_text(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": one_line(text, limit) or "…", "emoji": False}


def section(text: str, *, accessory: Block | None = None) -> dict[str, Any]:
    """A paragraph in Slack's own dialect; what it holds must be escaped already."""
    block: dict[str, Any] = {
        "type": "section",
        "text": {"type": "mrkdwn", "text": _cut(text, SECTION), "verbatim": True},
    }
    if accessory:
        block["accessory"] = accessory
    return block


def literal(text: str) -> dict[str, Any]:
    """A paragraph that is shown exactly as it is."""
    return {
        "type": "section",
        "text": {"type": "plain_text", "text": shorten(text, SECTION) or " ", "emoji": False},
    }


def markdown(text: str) -> dict[str, Any]:
    """Markdown as models write it; defused already."""
    return {"type": "markdown", "text": text}


def context(*texts: str) -> dict[str, Any]:
    """Small print: escaped texts in Slack's own dialect, at most ten."""
    return {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": _cut(t, CONTEXT), "verbatim": True} for t in texts if t][:10],
    }


def header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": plain_text(text, HEADER)}


def divider() -> dict[str, Any]:
    return {"type": "divider"}


def button(label: str, action: str, value: str, *, style: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "button",
        "text": plain_text(label, BUTTON),
        "action_id": action,
        "value": value,
    }
    if style:
        made["style"] = style
    return made


def actions(block_id: str, elements: Iterable[Block]) -> dict[str, Any]:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def thumbs(action: str, up: tuple[str, str], down: tuple[str, str]) -> dict[str, Any]:
    """The two thumbs with which people rate what an agent wrote, each as label and value."""

    def made(label: str, value: str) -> dict[str, Any]:
        return {"text": plain_text(label, BUTTON), "value": value}

    element = {
        "type": "feedback_buttons",
        "action_id": action,
        "positive_button": made(*up),
        "negative_button": made(*down),
    }
    return {"type": "context_actions", "block_id": "feedback", "elements": [element]}


def option(label: str, value: str, description: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"text": plain_text(label, OPTION), "value": value[:VALUE]}
    if description:
        made["description"] = plain_text(description, OPTION)
    return made


def select(
    action: str, options: list[dict[str, Any]], *, placeholder: str, chosen: str = ""
) -> dict[str, Any]:
    """A menu of at least one and at most a hundred options."""
    made: dict[str, Any] = {
        "type": "static_select",
        "action_id": action,
        "placeholder": plain_text(placeholder, 150),
        "options": options[:OPTIONS],
    }
    initial = next((one for one in made["options"] if one["value"] == chosen), None)
    if initial:
        made["initial_option"] = initial
    return made


def conversations(action: str, *, placeholder: str, chosen: str = "") -> dict[str, Any]:
    """A menu of the channels that Slack shows the person, among them their conversation with the bot."""
    made: dict[str, Any] = {
        "type": "conversations_select",
        "action_id": action,
        "placeholder": plain_text(placeholder, 150),
        "filter": {"include": ["public", "private", "im", "mpim"]},
    }
    if chosen:
        made["initial_conversation"] = chosen
    return made


def multi_select(
    action: str, options: list[dict[str, Any]], *, placeholder: str, chosen: Sequence[str], most: int
) -> dict[str, Any]:
    """A menu of at least one option from which several can be taken, `chosen` to begin with, in their order."""
    offered = {one["value"]: one for one in options[:OPTIONS]}
    made: dict[str, Any] = {
        "type": "multi_static_select",
        "action_id": action,
        "placeholder": plain_text(placeholder, 150),
        "options": list(offered.values()),
        "max_selected_items": most,
    }
    initial = [offered[value] for value in chosen if value in offered][:most]
    if initial:
        made["initial_options"] = initial
    return made


def checkbox(action: str, label: str, value: str, *, on: bool) -> dict[str, Any]:
    """One box to tick."""
    only = option(label, value)
    made: dict[str, Any] = {"type": "checkboxes", "action_id": action, "options": [only]}
    if on:
        made["initial_options"] = [only]
    return made


def text_input(
    block_id: str,
    label: str,
    *,
    limit: int,
    optional: bool,
    value: str = "",
    hint: str = "",
    lines: bool = False,
) -> dict[str, Any]:
    element: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": block_id,
        "max_length": limit,
        "multiline": lines,
    }
    if value:
        element["initial_value"] = value[:limit]
    return field(block_id, label, element, optional=optional, hint=hint)


def field(
    block_id: str, label: str, element: Block, *, optional: bool, hint: str = "", reports: bool = False
) -> dict[str, Any]:
    """A labelled element of a form; one that `reports` tells the form at once when it changes."""
    made: dict[str, Any] = {
        "type": "input",
        "block_id": block_id,
        "label": plain_text(label, 150),
        "element": element,
        "optional": optional,
    }
    if hint:
        made["hint"] = plain_text(hint, HINT)
    if reports:
        made["dispatch_action"] = True
    return made


def link(address: str, label: str, limit: int = 150) -> str:
    """A link in Slack's own dialect to an address of ours."""
    return f"<{address}|{escape(one_line(label, limit)).replace('|', '¦')}>"


def modal(
    *,
    title: str,
    callback: str,
    blocks: list[dict[str, Any]],
    close: str,
    submit: str = "",
    metadata: str = "",
) -> dict[str, Any]:
    view: dict[str, Any] = {
        "type": "modal",
        "callback_id": callback,
        "title": plain_text(title, TITLE),
        "close": plain_text(close, TITLE),
        "blocks": blocks[:100],
        "private_metadata": metadata,
    }
    if submit:
        view["submit"] = plain_text(submit, TITLE)
    return view


def _cut(text: str, limit: int) -> str:
    """Escaped text cut so that no entity and no link is left open."""
    if len(text) <= limit:
        return text or " "
    head = text[: limit - 1]
    for opening, closing in (("<", ">"), ("&", ";")):
        at = head.rfind(opening)
        if at >= 0 and closing not in head[at:]:
            head = head[:at]
    return f"{head}…"
