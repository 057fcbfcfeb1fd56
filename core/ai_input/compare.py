"""The AI input of Compare: one line's own conversation for each candidate, and the comparison of their answers (§4).

A candidate is built like Chat, from the window of its own line, so no other model's words can be in it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.ai_input.chat import build_conversation
from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.material import MODE_FRAGMENTS, SHARED_PROMPTS, Material, compose, narrowed, output_schema
from core.ai_input.window import WINDOW_MESSAGES
from core.domain.compare import Candidate, CompareSetup
from core.domain.errors import Refusal
from core.domain.message import Entry
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.ports import Spoken, Turn, Window
from core.prompts.registry import PromptLibrary

ANSWER_PROMPT = "compare.answer"
SUMMARY_PROMPT = "compare.summary"
PROMPT_NAMES = (ANSWER_PROMPT, SUMMARY_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that a run of Compare works with."""

LEAST_ANSWERS = 2


def build_candidate(turn: Turn, prompts: PromptLibrary, *, max_tokens: int | None = None) -> AiInput:
    """What the candidate of `turn.line` is sent; `max_tokens` is the least that all candidates of the run allow.

    What was said before a late joiner came goes before its own history, with a note, and within the window. Raises
    Refusal `request_too_large`.
    """
    ahead: tuple[InputPart, ...] = ()
    if turn.late:
        ahead = (Material.of(prompts).note("late"),)
        turn = replace(turn, window=_with_earlier(turn))
    ai_input = build_conversation(turn, prompts, name=ANSWER_PROMPT, ahead=ahead)
    refs = prompts.refs(ANSWER_PROMPT, *SHARED_PROMPTS)
    limit = turn.max_output_tokens if max_tokens is None else max_tokens
    return replace(ai_input, prompts=refs, params={"max_tokens": limit})


def _with_earlier(turn: Turn) -> Window:
    """The window as if the line had begun with what was said before its model joined."""
    window, count = turn.window, len(turn.late)
    own = tuple(replace(entry, position=entry.position + count) for entry in window.recent)
    earlier = tuple(Entry(position=place, message=one) for place, one in enumerate(turn.late, start=1))
    # Where the line is longer than what was read, the questions lie before the part that was not.
    whole = own if len(own) < window.total_before_request else (*earlier, *own)
    recent = whole[-WINDOW_MESSAGES:]
    return Window(
        first=None if earlier[0] in recent else earlier[0],
        recent=recent,
        total_before_request=window.total_before_request + count,
    )


# --- same conditions ------------------------------------------------------------------------------------------------


def is_shared(part: InputPart) -> bool:
    """Whether all candidates must be sent this part: everything but their own answers and notes on their history."""
    own = (Origin.OMITTED_NOTE, Origin.INSTRUCTION)
    return part.role is not Role.ASSISTANT and part.origin not in own


def shared_sha256(ai_input: AiInput) -> str:
    """Hash of what all candidates of a question share: system prompt, people's messages, files, parameters.

    Equal hashes prove equal bytes; where they differ, `forced_differences` says why.
    """
    content = {
        "parts": [
            [part.role, part.text, [image.sha256 for image in part.images]]
            for part in ai_input.parts
            if is_shared(part)
        ],
        "params": dict(sorted(ai_input.params.items())),
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Forced(StrEnum):
    """What had to differ; people read it as `forced.<value>` of the catalogue."""

    PARAMETER = "parameter"
    IMAGES = "images"
    QUESTIONS = "questions"
    LATE = "late"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedDifference:
    what: Forced
    name: str
    """Name of the parameter; empty for the others."""
    values: Mapping[str, float]
    """By line: the parameter, or how many were sent."""


def forced_differences(inputs: Mapping[str, AiInput]) -> tuple[ForcedDifference, ...]:
    """In what the AI inputs of one question, by line, are not the same; empty exactly when their hashes are equal
    and nobody joined late."""
    names = sorted({name for ai_input in inputs.values() for name in ai_input.params})
    found = [
        *(
            ForcedDifference(
                what=Forced.PARAMETER,
                name=name,
                values={line: ai_input.params.get(name, 0) for line, ai_input in inputs.items()},
            )
            for name in names
        ),
        *(
            ForcedDifference(
                what=what, name="", values={line: _count(ai_input, what) for line, ai_input in inputs.items()}
            )
            for what in (Forced.IMAGES, Forced.QUESTIONS, Forced.LATE)
        ),
    ]
    differing = tuple(one for one in found if len(set(one.values.values())) > 1)
    hashes = [shared_sha256(ai_input) for ai_input in inputs.values()]
    if differing or len(set(hashes)) <= 1:
        return differing
    groups = {line: float(hashes.index(digest)) for line, digest in zip(inputs, hashes, strict=True)}
    return (ForcedDifference(what=Forced.TEXT, name="", values=groups),)


def _count(ai_input: AiInput, what: Forced) -> int:
    shared = [part for part in ai_input.parts if is_shared(part)]
    if what is Forced.IMAGES:
        return sum(len(part.images) for part in shared)
    if what is Forced.LATE:
        return sum(part.origin is Origin.INSTRUCTION for part in ai_input.parts)
    return sum(part.origin in {Origin.FIRST_MESSAGE, Origin.HISTORY, Origin.REQUEST} for part in shared)


# --- comparison -----------------------------------------------------------------------------------------------------


def answers_to_compare(turn: Turn) -> tuple[tuple[tuple[Candidate, Spoken], ...], tuple[Candidate, ...]]:
    """The answers to the request with their candidates, in the thread's order, and the candidates without one."""
    by_step = {one.step: one for one in turn.spoken}
    candidates = CompareSetup.from_json(turn.setup).candidates
    came = tuple((c, by_step[c.step]) for c in candidates if c.step in by_step)
    return came, tuple(c for c in candidates if c.step not in by_step)


def build_comparison(
    turn: Turn, prompts: PromptLibrary, *, question: str = "", materials: Sequence[InputPart] = ()
) -> AiInput:
    """What the comparing model is sent: the question and the answers to it, called A, B, …, whoever wrote them.

    `turn.request` is the question unless a step of a workflow gives one, with its materials. Raises Refusal
    `too_few_answers`, `request_too_large`.
    """
    came, missing = answers_to_compare(turn)
    if len(came) < LEAST_ANSWERS:
        raise Refusal("too_few_answers", had=len(came), least=LEAST_ANSWERS)
    material = Material.of(prompts)
    asked = material.data(Origin.REQUEST, "question", question or turn.request.text, turn.request.id)
    answers = [material.spoken(spoken, "answer", letter=candidate.letter) for candidate, spoken in came]
    notes = [material.note("missing_answer", letter=candidate.letter) for candidate in missing]
    letters = [candidate.letter for candidate, _ in came]
    return compose(
        turn,
        prompts,
        SUMMARY_PROMPT,
        data=[*materials, asked, *answers, *notes],
        task={"letters": ", ".join(letters)},
        schema=narrowed(output_schema(prompts.get(SUMMARY_PROMPT)), letters),
    )
