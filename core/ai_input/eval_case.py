"""A case of an eval set as an AI input, through the very builder that the product uses for its prompt.

What would stand in the store is made up from the case's source, with ids from the case's own; so the request of an
evaluation is the request of the product, fences, labels and notes included. Pure, and the same every time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from core.ai_input import codraft
from core.ai_input.chat import CHAT_PROMPT, build_chat
from core.ai_input.codraft import build_critique, build_draft, build_revision
from core.ai_input.compare import ANSWER_PROMPT, SUMMARY_PROMPT, build_candidate, build_comparison
from core.ai_input.cross_review import VERDICT_PROMPT, build_review
from core.ai_input.debate import (
    FRAMING_PROMPT,
    LAST_REBUTTAL_PROMPT,
    POSITIONS_PROMPT,
    REBUTTALS_PROMPT,
    SYNTHESIS_PROMPT,
    build_position,
    build_problem_framing,
    build_rebuttal,
    build_synthesis,
)
from core.ai_input.drafting import DRAFT_PROMPT, build_handover_draft
from core.ai_input.estimate import estimate_parts
from core.ai_input.handover import Words, prior_context
from core.ai_input.material import SHARED_PROMPTS, Material, output_schema
from core.ai_input.structured import OutputInvalid, parse_output
from core.ai_input.window import WINDOW_MESSAGES
from core.domain.codraft import critique_step
from core.domain.debate import rebuttals_in
from core.domain.errors import Refusal
from core.domain.handover import HandoverFields
from core.domain.ids import ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.message import Author, AuthorKind, Cut, Entry, Message
from core.domain.pin import Pin, PinKind
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.domain.setup import Json
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, top_level_thread
from core.ports import Spoken, Turn, Window
from core.prompts.eval_check import Seen
from core.prompts.eval_set import Carried, EvalCase, SaidBefore
from core.prompts.eval_source_file import input_problem
from core.prompts.placeholder import placeholders
from core.prompts.problem import problem
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_examples, render_system, render_task
from core.prompts.version import PromptVersion, Trust

_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""No builder shows a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The model that answers, as the catalogue has it."""

    model: str
    context_tokens: int
    max_output_tokens: int


def render_case(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    """What the model is sent for a case, with the prompts of one side.

    Raises Refusal, such as `request_too_large`; ConfigurationError when a placeholder is not filled, because prompt
    and case have come apart.
    """
    build = _BUILDERS.get(case.prompt)
    for name, value in case.inputs.items() if build else ():
        if reason := input_problem(case.id, name, value, case.source):
            code = reason.key.removeprefix("problem.")
            raise problem(case.id, code, line=0, **reason.fields)
    return build(case, prompts, seat) if build else _own(case, prompts, seat)


def request_text(ai_input: AiInput) -> str:
    """The rendered request, all parts of it, as conditions on the request read it."""
    return "\n\n".join(part.text for part in ai_input.parts)


def seen(
    case: EvalCase,
    ai_input: AiInput,
    output: str,
    *,
    latency_ms: int | None = None,
    cost_usd: float | None = None,
) -> Seen:
    """What the case's conditions look at, the output read as the product reads it."""
    data: Json | None = None
    problem = ""
    if ai_input.output_schema is not None:
        try:
            data = parse_output(output, ai_input.output_schema)
        except OutputInvalid as invalid:
            problem = invalid.reason
    return Seen(
        output=output,
        data=data,
        problem=problem,
        request=request_text(ai_input),
        source=case.source_text,
        texts=case.source.texts,
        latency_ms=latency_ms,
        cost_usd=cost_usd,
    )


# --- a turn ---------------------------------------------------------------------------------------------------------


def _turn(
    case: EvalCase,
    seat: Seat,
    mode: Mode,
    request: str,
    *,
    messages: tuple[Message, ...] = (),
    setup: Json | None = None,
    spoken: tuple[Spoken, ...] = (),
) -> Turn:
    """A turn of a thread that began with `request`; `messages` stand in its conversation."""
    thread_id = ThreadId(case.id)
    thread = top_level_thread(
        thread_id=thread_id,
        workspace_id=WorkspaceId(case.id),
        place=Place(platform="", channel="", thread=""),
        mode=mode,
        title="",
        owner_id=PersonId(case.id),
        locale="ja" if any("\u3040" <= char <= "\u30ff" for char in case.source_text) else "en",
        created_at=_AT,
    )
    return Turn(
        thread=thread,
        conversation=Conversation(
            id=ConversationId(case.id), thread_id=thread_id, line=MAIN_LINE, model=seat.model
        ),
        window=_window(messages),
        request=_message(case, 1, "", request),
        model=seat.model,
        context_tokens=seat.context_tokens,
        max_output_tokens=seat.max_output_tokens,
        vision=False,
        prompts=(),
        run_id=RunId(case.id),
        line=MAIN_LINE,
        handover=_handover(case.source.carried).to_json() if case.source.carried else None,
        setup=setup or {},
        spoken=spoken,
    )


def _message(case: EvalCase, number: int, by: str, text: str) -> Message:
    kind = AuthorKind.PERSON if by or number == 1 else AuthorKind.MODEL
    return Message(
        id=MessageId(f"{case.id}:{number}"),
        thread_id=ThreadId(case.id),
        author=Author(kind=kind, name=by),
        text=text,
        created_at=_AT,
    )


def _conversation(case: EvalCase) -> tuple[Message, ...]:
    return tuple(
        _message(case, number, line.by, line.text)
        for number, line in enumerate(case.source.messages, start=1)
    )


def _window(messages: tuple[Message, ...]) -> Window:
    """What the store reads of a conversation that holds these messages."""
    entries = tuple(Entry(position=place, message=one) for place, one in enumerate(messages, start=1))
    recent = entries[-WINDOW_MESSAGES:]
    first = entries[0] if entries and entries[0] not in recent else None
    return Window(first=first, recent=recent, total_before_request=len(entries))


def _spoken(case: EvalCase, step: str, text: str, data: Json | None = None) -> Spoken:
    return Spoken(
        run_id=RunId(case.id),
        step=step,
        model="",
        message_id=MessageId(f"{case.id}:{step}"),
        text=text,
        data=data,
        cut=Cut.NONE,
    )


def _handover(carried: Carried) -> HandoverFields:
    return HandoverFields(
        source_mode=Mode.CHAT,
        summary=carried.summary,
        background=carried.background,
        open_questions=carried.open_questions,
        constraints=carried.constraints,
        first_request=carried.first_request,
        conclusions=carried.conclusions,
    )


# --- builders -------------------------------------------------------------------------------------------------------

Builder = Callable[[EvalCase, PromptLibrary, Seat], AiInput]


def _handover_draft(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    source, mode = case.source, Mode(case.source.mode)
    pins = tuple(
        Pin(
            id=f"{case.id}:pin:{number}",
            root_id=f"{case.id}:pin:{number}",
            kind=PinKind(pin.kind),
            text=pin.text,
            message_id=None,
            author="",
            created_at=_AT,
        )
        for number, pin in enumerate(source.pins)
    )
    if mode is Mode.DEBATE:
        # What was said belongs to runs before the one that drafts.
        turn = replace(_debate(case, prompts, seat), run_id=RunId(f"{case.id}:drafting"))
    else:
        messages = _conversation(case)
        setup, answers = _candidates(case) if mode is Mode.COMPARE else ({}, ())
        turn = _turn(case, seat, mode, "", messages=messages, setup=setup, spoken=answers)
        turn = replace(turn, request=messages[0])
    return build_handover_draft(replace(turn, pins=pins), prompts, target=Mode(case.inputs["target"]))


def _candidates(case: EvalCase) -> tuple[Json, tuple[Spoken, ...]]:
    """The setup of a compare of as many models as there are answers, and the answers that came."""
    names = [f"model-{number}" for number in range(1, len(case.source.answers) + 1)]
    answers = tuple(
        _spoken(case, f"answer:{name}", text)
        for name, text in zip(names, case.source.answers, strict=True)
        if text
    )
    return {"models": names}, answers


def _comparison(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    setup, answers = _candidates(case)
    turn = _turn(case, seat, Mode.COMPARE, case.source.question, setup=setup, spoken=answers)
    return build_comparison(turn, prompts)


def _review(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    answers = _candidates(case)[1]
    turn = replace(_turn(case, seat, Mode.CHAT, ""), reviewed=answers)
    return build_review(turn, prompts, order=range(len(answers)), focus=case.source.focus)


def _answering(
    build: Callable[[Turn, PromptLibrary], AiInput], case: EvalCase, prompts: PromptLibrary, seat: Seat
) -> AiInput:
    *before, request = _conversation(case)
    turn = _turn(case, seat, Mode.CHAT, "", messages=tuple(before))
    return build(replace(turn, request=request), prompts)


def _debate(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> Turn:
    source = case.source
    setup: Json = {
        "topic": source.topic,
        "background": source.background,
        "participants": [{"model": "model", "role": role} for role in source.participants],
        "moderator": "model",
        "rebuttal_rounds": max(rebuttals_in(one.step for one in source.said), 1),
    }
    spoken = tuple(_spoken(case, one.step, one.text, _data(one)) for one in source.said)
    turn = _turn(case, seat, Mode.DEBATE, source.topic, setup=setup, spoken=spoken)
    if source.carried is None:
        return turn
    words = Words(material=Material.of(prompts), locale=turn.thread.locale)
    carried = prior_context(_handover(source.carried), words)
    return replace(turn, setup={**setup, "priorContext": carried})


def _data(one: SaidBefore) -> Json | None:
    if one.data:
        return dict(one.data)
    return {"stance": one.stance, "text": one.text} if one.stance else None


def _framing(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    return build_problem_framing(_debate(case, prompts, seat), prompts)


def _position(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    return build_position(_debate(case, prompts, seat), prompts, letter=case.inputs["letter"])


def _rebuttal(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    number = int(case.inputs["round"].removeprefix("rebuttals."))
    turn, last = _debate(case, prompts, seat), case.prompt == LAST_REBUTTAL_PROMPT
    return build_rebuttal(turn, prompts, letter=case.inputs["letter"], number=number, last=last)


def _synthesis(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    return build_synthesis(_debate(case, prompts, seat), prompts)


def _draft(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    return build_draft(_codraft(case, seat), prompts)


def _critique(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    turn, follow_up = _codraft(case, seat), bool(case.source.instruction)
    return build_critique(turn, prompts, text=case.source.text, follow_up=follow_up)


def _revision(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    turn, follow_up = _codraft(case, seat), bool(case.source.instruction)
    return build_revision(turn, prompts, text=case.source.text, number=1, follow_up=follow_up)


def _codraft(case: EvalCase, seat: Seat) -> Turn:
    """A pass of a run; with an instruction, the pass that a later message asked for."""
    source = case.source
    setup = {"task": source.task, "models": ["model", "model"], "passes": 1}
    critique = (_spoken(case, critique_step(1), "", dict(source.critique)),) if source.critique else ()
    turn = _turn(case, seat, Mode.CODRAFT, source.task, setup=setup, spoken=critique)
    if not source.instruction:
        return turn
    asked = _message(case, 3, "-", source.instruction)
    return replace(turn, window=_window((turn.request, _message(case, 2, "", source.text))), request=asked)


_BUILDERS: Mapping[str, Builder] = {
    DRAFT_PROMPT: _handover_draft,
    SUMMARY_PROMPT: _comparison,
    VERDICT_PROMPT: _review,
    FRAMING_PROMPT: _framing,
    POSITIONS_PROMPT: _position,
    REBUTTALS_PROMPT: _rebuttal,
    LAST_REBUTTAL_PROMPT: _rebuttal,
    SYNTHESIS_PROMPT: _synthesis,
    codraft.DRAFT_PROMPT: _draft,
    codraft.CRITIQUE_PROMPT: _critique,
    codraft.REVISE_PROMPT: _revision,
    CHAT_PROMPT: partial(_answering, build_chat),
    ANSWER_PROMPT: partial(_answering, build_candidate),
}
"""For every prompt with a shape of its own in `core.prompts.eval_set`."""


# --- a team's own prompt ----------------------------------------------------------------------------------------------


def _own(case: EvalCase, prompts: PromptLibrary, seat: Seat) -> AiInput:
    """System part, examples and task of a prompt that no builder of the product uses; data from outside is fenced."""
    prompt, material = prompts.get(case.prompt), Material.of(prompts)
    values = {name: _value(prompt, material, name, text) for name, text in case.inputs.items()}
    system = render_system(prompt, _used(prompt.parts.system, values))
    parts = [
        *([InputPart(role=Role.SYSTEM, origin=Origin.SYSTEM_PROMPT, text=system)] if system else []),
        *(
            InputPart(role=role, origin=Origin.EXAMPLE, text=text)
            for pair in render_examples(prompt)
            for role, text in zip((Role.USER, Role.ASSISTANT), pair, strict=True)
        ),
        InputPart(
            role=Role.USER,
            origin=Origin.INSTRUCTION,
            text=render_task(prompt, _used(prompt.parts.task, values)),
        ),
    ]
    tokens, room = estimate_parts(parts), seat.context_tokens - seat.max_output_tokens
    if tokens > room:
        raise Refusal("request_too_large", needed=tokens, allowed=max(room, 0), model=seat.model)
    return AiInput(
        parts=tuple(parts),
        prompts=prompts.refs(case.prompt, *SHARED_PROMPTS),
        estimate_tokens=tokens,
        params={"max_tokens": seat.max_output_tokens},
        output_schema=output_schema(prompt),
    )


def _value(prompt: PromptVersion, material: Material, name: str, text: str) -> str:
    declared = prompt.parts.inputs.get(name)
    if declared is not None and declared.trust is Trust.TRUSTED:
        return text
    return material.fenced("input", text, input=name)


def _used(template: str, values: Mapping[str, str]) -> Mapping[str, str]:
    """The values that a part has a place for; one without a value is refused when the part is rendered."""
    return {name: values[name] for name in placeholders(template) if name in values}
