"""Structured output: read by schema, and asked for once more when it cannot be read."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import jsonschema

from core.ai_input.estimate import estimate_parts
from core.ai_input.fencing import inert
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_task

REPAIR_PROMPT = "structured.repair"
PROBLEM_CHARS = 300
FENCE = "```"


class MalformedOutput(ValueError):
    """Output that does not satisfy its schema. The text says what is wrong, without quoting more than a value of it."""


def parse_output(text: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that `text` is. A Markdown code fence around all of it is allowed; nothing else is guessed.

    Raises MalformedOutput.
    """
    try:
        data = json.loads(_unfenced(text))
    except ValueError as error:
        raise MalformedOutput(f"it is not JSON ({error.args[0]})") from None
    if not isinstance(data, dict):
        raise MalformedOutput("it is not a JSON object")
    found = min(
        jsonschema.Draft202012Validator(schema).iter_errors(data),
        key=lambda error: [str(step) for step in error.absolute_path],
        default=None,
    )
    if found is not None:
        where = "/".join(str(step) for step in found.absolute_path) or "the object"
        raise MalformedOutput(f"{where}: {found.message}"[:PROBLEM_CHARS])
    return cast(Mapping[str, Any], data)


def _unfenced(text: str) -> str:
    stripped = text.strip()
    if not (stripped.startswith(FENCE) and stripped.endswith(FENCE)):
        return stripped
    head, _, body = stripped.removesuffix(FENCE).partition("\n")
    return body if head.removeprefix(FENCE).strip().lower() in ("", "json") else stripped


def build_repair(ai_input: AiInput, bad: str, problem: str, prompts: PromptLibrary) -> AiInput:
    """The same input, the answer that could not be read, and what is wrong with it."""
    prompt = prompts.get(REPAIR_PROMPT)
    parts = (
        *ai_input.parts,
        InputPart(role=Role.ASSISTANT, origin=Origin.SPOKEN, text=inert(bad)),
        InputPart(
            role=Role.USER,
            origin=Origin.INSTRUCTION,
            text=render_task(prompt, {"problem": inert(problem)}),
        ),
    )
    return replace(
        ai_input,
        parts=parts,
        prompts=(*ai_input.prompts, prompt.ref),
        estimate_tokens=estimate_parts(parts),
    )
