"""What demo models call the material they received: the names of its fences, in the language they answer in."""

import re
from typing import Final

from core.i18n import text

_ROUND: Final = r"round (?P<round>problem_framing|positions|rebuttals|synthesis)(?:\.(?P<number>\d+))?"
_NAMES: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("question", "the question"),
        ("topic", "the topic"),
        ("premises", "premises for every round"),
        ("task", "the task"),
        ("text", "the text as it stands"),
        ("critique", "the critique of the text"),
        ("message", "new message(?: in the finished work)?"),
        ("message_of", "message of (?P<author>.+)"),
        ("answer", "answer (?P<letter>[A-F])"),
        ("contribution", f"contribution of participant (?P<letter>[A-F]), {_ROUND}"),
        ("moderator", f"contribution of the moderator, {_ROUND}"),
        ("result", r"result of step (?P<step>\S+): (?P<title>.+?)"),
        ("result_answer", r"result of step (?P<step>\S+): (?P<title>.+), answer (?P<letter>[A-F])"),
        ("input", r"input (?P<input>\w+)"),
        ("summary", "carried over: summary"),
        ("background", "carried over: background"),
        ("open_questions", "carried over: open questions"),
        ("constraints", "carried over: constraints"),
        ("first_request", "carried over: first request"),
        ("conclusions", "carried over: conclusions"),
    )
)


def fence_name(locale: str, what: str) -> str:
    """What people call the material that the prompts label with `what`; the label itself where it is none of ours."""
    found = [(name, match) for name, pattern in _NAMES if (match := pattern.fullmatch(what))]
    if not found:
        return what
    name, match = found[-1]
    fields = {key: value or "" for key, value in match.groupdict().items()}
    if "round" in fields:
        number = fields.pop("number")
        fields["round"] = text(locale, f"demo_fence.round_{fields['round']}", number=number)
    return text(locale, f"demo_fence.{name}", **fields)
