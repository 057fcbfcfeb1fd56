"""A thread that came by a handover, and the first call that it makes in each mode."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from core.ai_input.chat import build_chat
from core.ai_input.codraft import build_draft
from core.ai_input.compare import build_candidate
from core.ai_input.debate import build_problem_framing
from core.ai_input.delivery import delivery
from core.ai_input.handover import (
    Words,
    premises,
    prior_context,
)
from core.ai_input.material import Material
from core.ai_input.workflow import build_ask
from core.domain.debate import DebateSetup
from core.domain.handover import LISTS, DeliveryState, Field, HandoverFields
from core.domain.message import Message
from core.domain.receipt import AiInput
from core.domain.thread import Mode
from core.domain.workflow import (
    AskStep,
    Label,
    Workflow,
    WorkflowInput,
    WorkflowStep,
)
from core.ports import Turn
from tests.ai_input.conversation import THREAD, message, turn
from tests.ai_input.voices import PROMPTS

WORDS = Words(material=Material.of(PROMPTS), locale="en")
TARGETS = (Mode.CHAT, Mode.COMPARE, Mode.DEBATE, Mode.CODRAFT, Mode.WORKFLOW)

PLANTED = HandoverFields(
    source_mode=Mode.CHAT,
    summary="planted-summary",
    background="planted-background",
    open_questions=("planted-question-1", "planted-question-2"),
    constraints=("planted-constraint-1", "planted-constraint-2"),
    first_request="planted-first-request",
    conclusions=("planted-conclusion-1", "planted-conclusion-2"),
)
WORDS_OF: Mapping[Field, tuple[str, ...]] = {
    Field.SUMMARY: ("planted-summary",),
    Field.BACKGROUND: ("planted-background",),
    Field.OPEN_QUESTIONS: PLANTED.open_questions,
    Field.CONSTRAINTS: PLANTED.constraints,
    Field.FIRST_REQUEST: ("planted-first-request",),
    Field.CONCLUSIONS: PLANTED.conclusions,
}
TITLE = Label(en="A title", ja="題名")
TOPIC = "Which of the two?"
ASKED = message(1, TOPIC)


def flow(*steps: WorkflowStep) -> Workflow:
    inputs = tuple(
        WorkflowInput(name=n, title=TITLE, required=False) for n in ("firstRequest", "constraints")
    )
    return Workflow(name="flow", title=TITLE, description=TITLE, inputs=inputs, steps=steps)


def step(step_id: str, *uses: str) -> dict[str, Any]:
    return {"id": step_id, "title": TITLE, "instruction": f"Instruction of {step_id}", "uses": uses}


FLOW = flow(AskStep(**step("first", "firstRequest")), AskStep(**step("second", "first", "constraints")))
FLOW_SETUP = {"workflow": "flow", "inputs": {"firstRequest": TOPIC}, "models": ["alpha", "beta"]}


def debate_setup(fields: HandoverFields, background: str = "") -> dict[str, Any]:
    """As a handover starts a Debate, with what the person left in the background field."""
    filled = premises(background, fields, WORDS)
    raw = {
        "topic": TOPIC,
        "background": filled.text,
        "background_auto": filled.auto,
        "participants": [{"model": "alpha"}, {"model": "beta"}],
        "moderator": "mod",
        "priorContext": prior_context(fields, WORDS),
    }
    return DebateSetup.from_json(raw).to_json()


def carried_turn(
    fields: HandoverFields,
    target: Mode,
    *,
    before: Sequence[Message] = (),
    request: Message = ASKED,
    locale: str = "en",
    **changes: Any,
) -> Turn:
    """The turn of a thread that came by handover with these fields."""
    setups: Mapping[Mode, dict[str, Any]] = {
        Mode.CHAT: {},
        Mode.COMPARE: {"models": ["alpha", "beta"]},
        Mode.DEBATE: debate_setup(fields) if target is Mode.DEBATE else {},
        Mode.CODRAFT: {"task": TOPIC, "models": ["alpha", "beta"], "passes": 1},
        Mode.WORKFLOW: FLOW_SETUP,
    }
    return replace(
        turn(list(before), request),
        thread=replace(THREAD, mode=target, locale=locale),
        setup=setups[target],
        handover=fields.to_json(),
        **changes,
    )


def first_call(target: Mode, one: Turn) -> AiInput:
    """What the target's first model is sent."""
    builders: Mapping[Mode, Any] = {
        Mode.CHAT: build_chat,
        Mode.COMPARE: build_candidate,
        Mode.DEBATE: build_problem_framing,
        Mode.CODRAFT: build_draft,
        Mode.WORKFLOW: partial(build_ask, workflow=FLOW, step_id="first"),
    }
    sent: AiInput = builders[target](one, PROMPTS)
    return sent


def sent(fields: HandoverFields, target: Mode, **changes: Any) -> AiInput:
    return first_call(target, carried_turn(fields, target, **changes))


def states(fields: HandoverFields, target: Mode, ai_input: AiInput) -> dict[Field, DeliveryState]:
    return {one.field: one.state for one in delivery(fields, target, ai_input)}


def without(fields: HandoverFields, field: Field) -> HandoverFields:
    return replace(fields, **{field.value: () if field in LISTS else ""})  # type: ignore[arg-type]
