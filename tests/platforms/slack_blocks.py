"""What Slack refuses in blocks and views, by the limits of docs.slack.dev (Block Kit reference, 2026)."""

from collections.abc import Callable, Iterator
from typing import Any

Found = Iterator[str]

MESSAGE_BLOCKS = {
    "section",
    "divider",
    "header",
    "context",
    "actions",
    "markdown",
    "context_actions",
    "file",
    "image",
}
VIEW_BLOCKS = {"section", "divider", "header", "context", "actions", "input", "image"}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def total_text(value: Any) -> int:
    """Characters of all texts in a payload, which together must stay under about 13,200 (bolt-js#2509)."""
    if isinstance(value, list):
        return sum(map(total_text, value))
    if isinstance(value, dict):
        skipped = ("type", "block_id", "action_id", "style")
        return sum(total_text(v) for k, v in value.items() if k not in skipped)
    return units(value) if isinstance(value, str) else 0


def message_problems(blocks: Any) -> list[str]:
    """What Slack would refuse about the blocks of a message."""
    if not isinstance(blocks, list):
        return ["blocks are no list"]
    found = list(_blocks(blocks, MESSAGE_BLOCKS, most=50))
    markdown = sum(units(b.get("text", "")) for b in blocks if b.get("type") == "markdown")
    if markdown > 12_000:
        found.append(f"{markdown} characters of Markdown; 12,000 in one payload")
    if total_text(blocks) > 13_200:
        found.append("msg_blocks_too_long")
    return found


def view_problems(view: Any) -> list[str]:
    """What Slack would refuse about a modal or an App Home."""
    if not isinstance(view, dict) or view.get("type") not in ("modal", "home"):
        return ["no view"]
    found = list(_blocks(view.get("blocks") or [], VIEW_BLOCKS, most=100))
    if not view.get("blocks"):
        found.append("a view needs blocks")
    if view["type"] == "modal":
        for name in ("title", "submit", "close"):
            if name in view:
                found += _plain(view[name], 24, name)
        if "title" not in view:
            found.append("a modal needs a title")
        if any(b.get("type") == "input" for b in view.get("blocks") or []) and "submit" not in view:
            found.append("a modal with input needs submit")
    if units(view.get("private_metadata", "")) > 3_000 or units(view.get("callback_id", "")) > 255:
        found.append("metadata or callback id too long")
    return found


def _blocks(blocks: list[Any], allowed: set[str], *, most: int) -> Found:
    if len(blocks) > most:
        yield f"{len(blocks)} blocks; at most {most}"
    ids = [b.get("block_id") for b in blocks if b.get("block_id")]
    if len(ids) != len(set(ids)):
        yield "a block id twice"
    for number, block in enumerate(blocks):
        kind = block.get("type")
        if kind not in allowed:
            yield f"/{number}: a {kind} cannot stand here"
            continue
        for problem in _block(kind, block):
            yield f"/{number} ({kind}): {problem}"


def _block(kind: str, block: dict[str, Any]) -> Found:
    if units(block.get("block_id", "")) > 255:
        yield "block id too long"
    if kind in BLOCKS:
        yield from BLOCKS[kind](block)


def _section(block: dict[str, Any]) -> Found:
    yield from _any_text(block.get("text"), 3_000)
    if "accessory" in block:
        yield from _element(block["accessory"])


def _context(block: dict[str, Any]) -> Found:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 10:
        yield f"{len(elements)} elements; 1 to 10"
    for element in elements:
        yield from _any_text(element, 2_000)


def _actions(block: dict[str, Any]) -> Found:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 25:
        yield f"{len(elements)} elements; 1 to 25"
    ids = [e.get("action_id") for e in elements]
    if len(ids) != len(set(ids)):
        yield "an action id twice"
    for element in elements:
        yield from _element(element)


def _context_actions(block: dict[str, Any]) -> Found:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 5:
        yield f"{len(elements)} elements; 1 to 5"
    for element in elements:
        if element.get("type") != "feedback_buttons" or not element.get("action_id"):
            yield f"unknown element {element.get('type')}"
            continue
        if set(element) - {"type", "action_id", "positive_button", "negative_button"}:
            yield "unknown keys of feedback buttons"
        for name in ("positive_button", "negative_button"):
            made = element.get(name) or {}
            yield from _plain(made.get("text"), 75, name)
            if not made.get("value") or units(made["value"]) > 2_000:
                yield "value missing or too long"


def _markdown(block: dict[str, Any]) -> Found:
    if not block.get("text"):
        yield "no text"


def _input(block: dict[str, Any]) -> Found:
    yield from _plain(block.get("label"), 2_000, "label")
    yield from _element(block.get("element") or {})
    if "hint" in block:
        yield from _plain(block["hint"], 2_000, "hint")


BLOCKS: dict[str, Callable[[dict[str, Any]], Found]] = {
    "section": _section,
    "header": lambda block: _plain(block.get("text"), 150, "text"),
    "context": _context,
    "actions": _actions,
    "context_actions": _context_actions,
    "markdown": _markdown,
    "input": _input,
}


def _any_text(text: Any, most: int) -> Found:
    if not isinstance(text, dict) or text.get("type") not in ("plain_text", "mrkdwn"):
        yield "no text object"
    elif not 1 <= units(text.get("text", "")) <= most:
        yield f"{units(text.get('text', ''))} characters; 1 to {most}"


def _plain(text: Any, most: int, name: str) -> Found:
    if not isinstance(text, dict) or text.get("type") != "plain_text":
        yield f"{name}: no plain text"
    elif not 1 <= units(text.get("text", "")) <= most:
        yield f"{name}: {units(text.get('text', ''))} characters; 1 to {most}"


def _element(element: dict[str, Any]) -> Found:
    if units(element.get("action_id", "")) > 255 or not element.get("action_id"):
        yield "action id missing or too long"
    check = ELEMENTS.get(str(element.get("type")))
    if check is None:
        yield f"unknown element {element.get('type')}"
    else:
        yield from check(element)


def _button(element: dict[str, Any]) -> Found:
    yield from _plain(element.get("text"), 75, "button")
    if units(element.get("value", "")) > 2_000:
        yield "value too long"
    if element.get("style") not in (None, "primary", "danger"):
        yield "unknown style"


def _select(element: dict[str, Any]) -> Found:
    options = element.get("options") or []
    if not 1 <= len(options) <= 100:
        yield f"{len(options)} options; 1 to 100"
    for option in options:
        yield from _option(option)
    values = [o.get("value") for o in options]
    if len(values) != len(set(values)):
        yield "an option twice"
    if "placeholder" in element:
        yield from _plain(element["placeholder"], 150, "placeholder")
    if "initial_option" in element and element["initial_option"] not in options:
        yield "the initial option is none of the options"


def _multi_select(element: dict[str, Any]) -> Found:
    yield from _select({**element, "initial_option": (element.get("options") or [None])[0]})
    yield from _initial(element)
    if not element.get("max_selected_items", 1) >= 1:
        yield "max_selected_items; at least 1"
    if len(element.get("initial_options", ())) > element.get("max_selected_items", 100):
        yield "more chosen than may be"


def _checkboxes(element: dict[str, Any]) -> Found:
    options = element.get("options") or []
    if not 1 <= len(options) <= 10:
        yield f"{len(options)} options; 1 to 10"
    for option in options:
        yield from _option(option)
    yield from _initial(element)


def _initial(element: dict[str, Any]) -> Found:
    if "initial_options" in element and not element["initial_options"]:
        yield "initial options may be left out, not empty"
    if any(one not in element.get("options", ()) for one in element.get("initial_options", ())):
        yield "an initial option is none of the options"


def _overflow(element: dict[str, Any]) -> Found:
    options = element.get("options") or []
    if not 1 <= len(options) <= 5:
        yield f"{len(options)} options; 1 to 5"
    for option in options:
        yield from _option(option)


def _option(option: dict[str, Any]) -> Found:
    yield from _plain(option.get("text"), 75, "option")
    if not 1 <= units(option.get("value", "")) <= 150:
        yield "option value; 1 to 150"
    if "description" in option:
        yield from _plain(option["description"], 75, "description")


def _text_input(element: dict[str, Any]) -> Found:
    most = element.get("max_length", 3_000)
    if not 1 <= most <= 3_000:
        yield "max_length; 1 to 3,000"
    if units(element.get("initial_value", "")) > most:
        yield "initial value too long"


ELEMENTS: dict[str, Callable[[dict[str, Any]], Found]] = {
    "button": _button,
    "overflow": _overflow,
    "static_select": _select,
    "multi_static_select": _multi_select,
    "conversations_select": lambda element: _plain(element.get("placeholder"), 150, "placeholder"),
    "checkboxes": _checkboxes,
    "plain_text_input": _text_input,
}
