"""Answers that must satisfy a schema: read strictly, repaired once by the model, never guessed at."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from core.ai_input.estimate import estimate_parts
from core.ai_input.fencing import clean_name
from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.material import MODE_FRAGMENTS, Material
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_task

REPAIR_PROMPT = "structured.repair"
PROMPT_NAMES = (REPAIR_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""What a run holds on to besides, when one of its steps has a schema."""

PROBLEM_CHARS = 300
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL | re.IGNORECASE)


class OutputInvalid(ValueError):
    """An answer that does not satisfy its schema. `reason` says where and why, for the model and for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_output(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that a model answered with. One code fence around all of it is taken off; nothing else is.

    Raises OutputInvalid for anything else than one JSON object that satisfies `schema`.
    """
    bare = text.strip()
    if fenced := _FENCED.fullmatch(bare):
        bare = fenced[1]
    try:
        data = json.loads(bare, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise OutputInvalid(f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise OutputInvalid("nested too deeply") from error
    if not isinstance(data, dict):
        raise OutputInvalid("the value must be a JSON object")
    mismatch = best_match(Draft202012Validator(schema).iter_errors(data))
    if mismatch is not None:
        raise OutputInvalid(f"{mismatch.json_path}: {mismatch.message}"[:PROBLEM_CHARS])
    return data


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise OutputInvalid("an object holds a key twice")
    return table


def _no_constant(name: str) -> None:
    raise OutputInvalid(f"{name} is not JSON")


def build_repair(ai_input: AiInput, bad_text: str, problem: str, prompts: PromptLibrary) -> AiInput:
    """The same AI input with the model's answer, as data, and what is wrong with it at the end; same schema."""
    material, prompt = Material.of(prompts), prompts.get(REPAIR_PROMPT)
    task = {
        "problem": clean_name(problem, limit=PROBLEM_CHARS),
        "bad_output": material.fenced("bad_output", bad_text),
    }
    asked = InputPart(role=Role.USER, origin=Origin.INSTRUCTION, text=render_task(prompt, task))
    parts = (*ai_input.parts, asked)
    return replace(
        ai_input,
        parts=parts,
        prompts=(*ai_input.prompts, prompt.ref),
        estimate_tokens=estimate_parts(parts),
    )
