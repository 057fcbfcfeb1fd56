"""An eval set: cases with what goes in and what must hold of what comes out (spec §10). Never changes once read."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property

from core.domain.eval_gate import LEAST_CASES
from core.domain.view import Phrase
from core.prompts.eval_check import Check

MOST_CASES = 50
"""More take long and cost much for what they add (spec §10)."""
LEAST_SHARE = 0.2
"""Of each kind of case."""
HARD = "hard"
"""Tag of a case that a candidate must pass every time."""


class CaseKind(StrEnum):
    """People read it as `eval_case_kind.<value>` of the catalogue."""

    TYPICAL = "typical"
    BOUNDARY = "boundary"
    PAST_FAILURE = "past_failure"


class OriginType(StrEnum):
    SYNTHETIC = "synthetic"
    MASKED_LOG = "masked_log"
    """From a real thread: personal data was masked, and a person looked at the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOrigin:
    type: OriginType
    masked_by: str = ""
    masked_at: str = ""


# --- what goes in ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message of a conversation; `by` is empty for the model's own."""

    by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidBefore:
    """A contribution to an earlier round; `data` is what the moderator's structured output held."""

    step: str
    text: str = ""
    stance: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Fields that came by handover."""

    summary: str = ""
    background: str = ""
    open_questions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    first_request: str = ""
    conclusions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What would stand in the store; each prompt uses the parts that its builder reads."""

    mode: str = ""
    """Of the thread that is handed over."""
    messages: tuple[Line, ...] = ()
    pins: tuple[Pinned, ...] = ()
    question: str = ""
    answers: tuple[str, ...] = ()
    """Of models, in order of letters; an empty one did not come."""
    focus: str = ""
    topic: str = ""
    background: str = ""
    participants: tuple[str, ...] = ()
    """Roles, in order of letters."""
    said: tuple[SaidBefore, ...] = ()
    carried: Carried | None = None
    task: str = ""
    text: str = ""
    critique: Mapping[str, object] = field(default_factory=dict)
    instruction: str = ""

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts by the name of their part; lists as one text, parts without any left out."""
        parts = {name: "\n".join(_texts(value)) for name, value in asdict(self).items() if name != "mode"}
        return {name: text for name, text in parts.items() if text}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    id: str
    prompt: str
    """Name of the prompt that it is a case of."""
    kind: CaseKind
    origin: CaseOrigin
    inputs: Mapping[str, str]
    """Placeholders that no builder fills by itself."""
    source: Source
    checks: tuple[Check, ...]
    """The set's and its own."""
    human: tuple[str, ...] = ()
    """Conditions for a person."""
    tags: tuple[str, ...] = ()

    @property
    def is_hard(self) -> bool:
        return HARD in self.tags

    @property
    def shown(self) -> str:
        """What people read of what goes in: every part under its name."""
        return "\n\n".join(f"{name}:\n{text}" for name, text in {**self.inputs, **self.source.texts}.items())

    @property
    def source_text(self) -> str:
        """All that the case gives the model to work with."""
        return "\n".join([*self.inputs.values(), *self.source.texts.values()])


@dataclass(frozen=True, kw_only=True)
class EvalSet:
    id: str
    version: int
    """Goes up whenever a case or a condition changes."""
    prompts: tuple[str, ...]
    cases: tuple[EvalCase, ...]
    """In the order of the files."""

    @cached_property
    def sha256(self) -> str:
        """Content hash, part of an evaluation's conditions; the same for any layout of the files."""
        content = {
            "id": self.id,
            "version": self.version,
            "prompts": self.prompts,
            "cases": [asdict(case) for case in self.cases],
        }
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def cases_of(self, prompt: str) -> tuple[EvalCase, ...]:
        """The cases that a change of this prompt is tried on; all of them for a prompt that the set does not name,
        such as the words around data, which every prompt uses."""
        if prompt not in self.prompts:
            return self.cases
        return tuple(case for case in self.cases if case.prompt == prompt)


def warnings(eval_set: EvalSet) -> tuple[Phrase, ...]:
    """What a set should be and is not; it can be run all the same. Too few cases also keep the gate shut."""
    count = len(eval_set.cases)
    size = {"had": count, "least": LEAST_CASES, "most": MOST_CASES}
    found = [] if LEAST_CASES <= count <= MOST_CASES else [Phrase(key="eval_warning.size", fields=size)]
    kinds = Counter(case.kind for case in eval_set.cases)
    for kind in CaseKind:
        if kinds[kind] < count * LEAST_SHARE:
            fields = {"kind": kind.value, "had": kinds[kind], "all": count, "least": round(LEAST_SHARE * 100)}
            found.append(Phrase(key="eval_warning.share", fields=fields))
    idle = [name for name in eval_set.prompts if not any(case.prompt == name for case in eval_set.cases)]
    if idle:
        found.append(Phrase(key="eval_warning.prompt_without_case", fields={"prompts": ", ".join(idle)}))
    return tuple(found)


# --- what a prompt's cases may hold -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a case of a prompt gives: parts of its source, and placeholders beside those that its builder fills."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    """Placeholders that the builder fills from the source."""


_JSON = ("rules", "schema")
_CALLED = (*_JSON, "letters")
_DEBATE = ("background", "said", "carried")
SHAPES: Mapping[str, Shape] = {
    "handover.draft": Shape(
        required=("mode",),
        optional=("messages", "pins", "answers", "topic", "background", "participants", "said"),
        filled=_JSON,
    ),
    "compare.summary": Shape(required=("question", "answers"), filled=_CALLED),
    "review.verdict": Shape(required=("answers",), optional=("focus",), filled=_CALLED),
    "debate.problem_framing": Shape(
        required=("topic", "participants"),
        optional=("background", "carried"),
        filled=(*_JSON, "participants"),
    ),
    "debate.positions": Shape(required=("topic", "participants"), optional=_DEBATE, filled=(*_JSON, "role")),
    "debate.rebuttals": Shape(
        required=("topic", "participants", "said"), optional=_DEBATE, filled=("rules", "role")
    ),
    "debate.last_rebuttal": Shape(
        required=("topic", "participants", "said"), optional=_DEBATE, filled=(*_JSON, "role")
    ),
    "debate.synthesis": Shape(
        required=("topic", "participants", "said"), optional=_DEBATE, filled=(*_JSON, "participants")
    ),
    "codraft.draft": Shape(required=("task",), optional=("carried",), filled=("rules",)),
    "codraft.critique": Shape(required=("task", "text"), optional=("instruction", "carried"), filled=_JSON),
    "codraft.revise": Shape(
        required=("task", "text"), optional=("critique", "instruction", "carried"), filled=_JSON
    ),
    "chat.answer": Shape(required=("messages",), filled=("request",)),
    "compare.answer": Shape(required=("messages",), filled=("request",)),
}
"""By prompt of the product. A team's own prompt has no source: its inputs are all that goes in."""

NO_SOURCE = Shape(required=())


def shape_of(prompt: str) -> Shape:
    return SHAPES.get(prompt, NO_SOURCE)


def inputs_wanted(prompt: str, declared: Sequence[str]) -> frozenset[str]:
    """The placeholders that a case must fill, of those that the prompt declares."""
    return frozenset(declared) - set(shape_of(prompt).filled)
