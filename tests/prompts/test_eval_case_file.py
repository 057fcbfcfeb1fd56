"""Cases as text: what is written is read back, and what is cut out leaves the rest as it was."""

import pytest

from core.prompts.eval_case_file import NOTHING, log_case_text, without_cases
from core.prompts.eval_file import parse_eval_set, stored_eval_set
from core.prompts.eval_set import CaseKind, CaseOrigin, EvalCase, Line, OriginType, Source
from core.prompts.registry import load_library
from tests.examples.views import HOSTILE

HEAD = "id: team-chat\nversion: 1\nprompts: [chat.answer]\n"
TWO = "# why\n- id: A1\n  kind: typical\n- id: B2\n  kind: boundary\n  human:\n    - is it real?\n"


def from_log(*lines: Line) -> EvalCase:
    return EvalCase(
        id="L1",
        prompt="chat.answer",
        kind=CaseKind.PAST_FAILURE,
        origin=CaseOrigin(type=OriginType.MASKED_LOG, masked_by="p1", masked_at="2026-01-31"),
        inputs={},
        source=Source(messages=lines),
        checks=(),
        human=("The date is right.",),
    )


def test_a_written_case_is_read_back_as_it_was() -> None:
    said = [
        Line(by="[NAME_ab12]", text=HOSTILE),
        Line(by="", text="- id: X\n  kind: {{a}}\n\u2028… 日本語"),
        Line(by="no", text="1.10"),
    ]
    case = from_log(*said)
    files = {"set.yaml": HEAD.encode(), "cases/log.yaml": log_case_text(case).encode()}
    (read,) = parse_eval_set("team-chat", files, load_library()).cases
    assert read.source.messages == tuple(Line(by=one.by, text=one.text.strip()) for one in said)
    assert (read.id, read.prompt, read.kind, read.origin, read.human) == (
        case.id,
        case.prompt,
        case.kind,
        case.origin,
        case.human,
    )


def test_a_stored_set_is_read_without_its_prompts() -> None:
    """What a prompt became since takes nothing from a set that was right when it was stored."""
    cases = "- {id: A1, kind: typical, origin: synthetic, inputs: {gone: x}, human: [right]}\n"
    files = {"set.yaml": HEAD.replace("chat.answer", "team.gone"), "cases/a.yaml": cases}
    assert stored_eval_set("team-chat", files).cases[0].inputs == {"gone": "x"}


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        (TWO, {"A1"}, "# why\n- id: B2\n  kind: boundary\n  human:\n    - is it real?\n"),
        (TWO, {"B2"}, "# why\n- id: A1\n  kind: typical\n"),
        (TWO, {"A1", "B2"}, NOTHING),
        (TWO, {"C3"}, TWO),
        ("[{id: A1}, {id: B2}]\n", {"A1"}, NOTHING),
        ("-\n  id: A1\n- id: B2\n", {"B2"}, NOTHING),
        ("[]\n", {"A1"}, "[]\n"),
    ],
)
def test_cases_are_cut_out_of_a_file(text: str, gone: set[str], left: str) -> None:
    assert without_cases(text, gone) == left
