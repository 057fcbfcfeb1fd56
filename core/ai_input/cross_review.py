"""The AI input of Cross Review: the answers and the reviewers' instructions, nothing else (spec §8).

Of the turn this looks at `reviewed` and at the setup's focus only: no question, no history, no names, no files, no
other reviewer's words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.material import MODE_FRAGMENTS, Material, compose, narrowed, output_schema
from core.domain.errors import Refusal
from core.domain.receipt import AiInput, Origin
from core.domain.review import letters_of
from core.ports import Spoken, Turn
from core.prompts.registry import PromptLibrary

VERDICT_PROMPT = "review.verdict"
PROMPT_NAMES = (VERDICT_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that a Cross Review works with."""


def build_review(turn: Turn, prompts: PromptLibrary, *, order: Sequence[int], focus: str = "") -> AiInput:
    """What one reviewer is sent: the answers under review as A, B, … in `order`, which counts them from 0.

    Raises Refusal `review_answers_gone` when an answer is no longer there, `request_too_large`.
    """
    if len(order) != len(turn.reviewed):
        raise Refusal("review_answers_gone", had=len(order), left=len(turn.reviewed))
    return review_of(turn, prompts, answers=turn.reviewed, order=order, focus=focus)


def review_of(
    turn: Turn, prompts: PromptLibrary, *, answers: Sequence[Spoken], order: Sequence[int], focus: str
) -> AiInput:
    """As `build_review`, of answers that a workflow step names."""
    material = Material.of(prompts)
    mapping = letters_of(order)
    shown = [
        material.spoken(answers[place], "answer", Origin.UNDER_REVIEW, letter=letter)
        for letter, place in mapping.items()
    ]
    wish = [material.data(Origin.INSTRUCTION, "focus", focus)] if focus else []
    return compose(
        turn,
        prompts,
        VERDICT_PROMPT,
        data=[*shown, *wish],
        task={"letters": ", ".join(mapping)},
        schema=verdict_schema(prompts, tuple(mapping)),
        files=False,
    )


def verdict_schema(prompts: PromptLibrary, letters: Sequence[str]) -> Mapping[str, Any]:
    """The schema that only a verdict on exactly these answers satisfies: each assessed, each ranked once."""
    schema = narrowed(output_schema(prompts.get(VERDICT_PROMPT)), letters)
    properties = dict(schema["properties"])
    by_letter = {letter: properties["answers"]["properties"][letter] for letter in letters}
    properties["answers"] = {
        **properties["answers"],
        "properties": by_letter,
        "required": list(letters),
    }
    count = len(letters)
    properties["ranking"] = {
        **properties["ranking"],
        "minItems": count,
        "maxItems": count,
        "uniqueItems": True,
    }
    return {**schema, "properties": properties}
