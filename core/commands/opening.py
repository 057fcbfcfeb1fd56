"""What a new thread begins with, by its mode: the checked setup, its lines, and the calls it will make."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.ai_input.estimate import OUTPUT_GUESS_TOKENS, estimate_tokens
from core.ai_input.workflow import prompt_missing
from core.commands.services import Services, allowed_models, choose_model
from core.domain.codraft import CoDraftSetup
from core.domain.compare import CompareSetup
from core.domain.debate import DebateSetup
from core.domain.errors import Refusal
from core.domain.message import MAX_MESSAGE_CHARS
from core.domain.policy import Actor, Policy
from core.domain.review import shuffled_order
from core.domain.setup import repeated, spread
from core.domain.thread import MAIN_LINE, Mode
from core.domain.view import EstimateView, Phrase
from core.domain.workflow import STEP_PLACEHOLDERS, PromptedStep, Workflow, WorkflowSetup, planned_calls
from core.prompts.placeholder import placeholders
from core.prompts.version import OutputFormat, PromptVersion

PROMPT_GUESS_TOKENS = 600
"""What the product's own prompt adds to each call."""

DEFAULT_COUNT = 3
"""Models of a Compare or Co-Draft, and participants of a Debate, where a person names none and defaults are short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    mode: Mode
    setup: Mapping[str, Any]
    """As the thread keeps it."""
    lines: tuple[tuple[str, str], ...]
    """Name and model of each conversation."""
    calls: tuple[str, ...]
    """The model of each call that the first run makes, in order."""
    grows: bool
    """Later calls read what earlier ones wrote."""
    notes: tuple[Phrase, ...] = ()
    """What people should know before they start, though it is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What a person asked for, and within which bounds."""

    services: Services
    policy: Policy
    allowed: tuple[str, ...]
    """Aliases that the workspace may use."""
    given: Mapping[str, object]
    """What a form or command gave; each mode adds its defaults."""
    text: str
    model: str | None


def open_mode(
    services: Services, policy: Policy, mode: Mode, given: Mapping[str, object], text: str, model: str | None
) -> Opening:
    """The opening for `text` (question, topic or task) with what a form or command gave. Raises Refusal.

    Whatever is not given comes from `[defaults]`, different models first.
    """
    allowed = allowed_models(services, policy)
    opening = _OPENINGS[mode](
        _Wish(services=services, policy=policy, allowed=allowed, given=given, text=text, model=model)
    )
    for alias in {model for _, model in opening.lines} | set(opening.calls):
        if alias not in allowed:
            raise Refusal("unknown_model", model=alias, allowed=", ".join(allowed))
    return opening


def _chat(wish: _Wish) -> Opening:
    alias = choose_model(wish.services, wish.policy, wish.model)
    return Opening(mode=Mode.CHAT, setup={}, lines=((MAIN_LINE, alias),), calls=(alias,), grows=False)


def _compare(wish: _Wish) -> Opening:
    models = _several(wish.services.models.defaults.compare, wish.allowed)
    setup = CompareSetup.from_json({"models": list(models), **wish.given})
    if setup.blind:
        # In the order in which they were named, whoever named them would know who is who.
        order = shuffled_order(wish.services.clock.new_id(), 0, len(setup.models))
        setup = replace(setup, models=tuple(setup.models[place] for place in order))
    return Opening(
        mode=Mode.COMPARE,
        setup=setup.to_json(),
        lines=tuple((candidate.line, candidate.model) for candidate in setup.candidates),
        calls=setup.models,
        grows=False,
        notes=_same_twice(setup.models),
    )


def _debate(wish: _Wish) -> Opening:
    models = _several(wish.services.models.defaults.debate, wish.allowed)
    usual = {
        "participants": [{"model": alias} for alias in models],
        "moderator": _one(wish.services.models.defaults.moderator, wish.allowed),
    }
    setup = DebateSetup.from_json({**usual, **wish.given, "topic": wish.text})
    return Opening(
        mode=Mode.DEBATE,
        setup=setup.to_json(),
        lines=((MAIN_LINE, setup.moderator),),
        calls=tuple(speaker.model for each in setup.rounds() for speaker in each.speakers),
        grows=True,
        notes=_same_twice(tuple(participant.model for participant in setup.participants)),
    )


def _codraft(wish: _Wish) -> Opening:
    models = _several(wish.services.models.defaults.compare, wish.allowed)[:2]
    setup = CoDraftSetup.from_json({"models": list(models), **wish.given, "task": wish.text})
    passes = [model for each in setup.plan() for model in (each.model, each.model)]
    return Opening(
        mode=Mode.CODRAFT,
        setup=setup.to_json(),
        lines=((MAIN_LINE, setup.models[0]),),
        calls=(setup.models[0], *passes),
        grows=True,
        notes=_same_twice(setup.models),
    )


def _workflow(wish: _Wish) -> Opening:
    models = _several(wish.services.models.defaults.compare, wish.allowed)
    given = wish.given.get("inputs")
    inputs = {"firstRequest": wish.text, **(given if isinstance(given, dict) else {})}
    setup = WorkflowSetup.from_json(
        {"models": list(models), **wish.given, "inputs": inputs}, wish.services.workflows
    )
    return Opening(
        mode=Mode.WORKFLOW,
        setup=setup.to_json(),
        lines=((MAIN_LINE, setup.models[0]),),
        calls=planned_calls(wish.services.workflows[setup.workflow], setup),
        grows=True,
    )


async def check_step_prompts(services: Services, actor: Actor, opening: Opening) -> None:
    """Return when every prompt of the workspace that a workflow's steps name is live and fits them.

    Raises Refusal that names file, line and reason.
    """
    if opening.mode is not Mode.WORKFLOW:
        return
    workflow = services.workflows[str(opening.setup["workflow"])]
    names = tuple(dict.fromkeys(step.prompt for step in workflow.prompted))
    async with services.store.reading() as session:
        refs = await services.prompts.own_refs(session, actor.workspace_id, names)
    library = await services.prompts.resolve(actor.workspace_id, refs)
    for step in workflow.prompted:
        if step.prompt not in library.versions:
            raise prompt_missing(workflow, step)
        _check_fits(workflow, step, library.get(step.prompt))


def _check_fits(workflow: Workflow, step: PromptedStep, prompt: PromptVersion) -> None:
    place: dict[str, str | float] = {"file": workflow.file, "line": step.prompt_line, "step": step.id}
    place |= {"name": prompt.name, "version": prompt.version}
    if prompt.parts.output_format is not OutputFormat.TEXT:
        raise Refusal("workflow_prompt_format", **place)
    used = placeholders(f"{prompt.parts.system}\n{prompt.parts.task}").keys()
    if unknown := ", ".join(sorted(used - STEP_PLACEHOLDERS)):
        allowed = ", ".join(sorted(STEP_PLACEHOLDERS))
        raise Refusal("workflow_prompt_placeholders", **place, names=unknown, allowed=allowed)


_OPENINGS = {
    Mode.CHAT: _chat,
    Mode.COMPARE: _compare,
    Mode.DEBATE: _debate,
    Mode.CODRAFT: _codraft,
    Mode.WORKFLOW: _workflow,
}


def _several(defaults: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    usable = [alias for alias in (*defaults, *allowed) if alias in allowed]
    return spread(usable, min(DEFAULT_COUNT, max(2, len(set(usable)))))


def _one(default: str, allowed: tuple[str, ...]) -> str:
    return default if default in allowed or not allowed else allowed[0]


def _same_twice(models: tuple[str, ...]) -> tuple[Phrase, ...]:
    twice = repeated(models)
    return (Phrase(key="mode_notice.same_model_twice", fields={"models": ", ".join(twice)}),) if twice else ()


def estimate(services: Services, opening: Opening, text: str) -> EstimateView:
    """What the first run of a thread is expected to cost, before anything is called (spec §14)."""
    tokens = estimate_tokens(text) + PROMPT_GUESS_TOKENS
    cost, unpriced, sent = 0.0, [], 0
    for number, alias in enumerate(opening.calls):
        reads = tokens + (number * OUTPUT_GUESS_TOKENS if opening.grows else 0)
        sent += reads
        price = services.models.models[alias].cost_usd(reads, OUTPUT_GUESS_TOKENS)
        if price is None:
            unpriced.append(alias)
        else:
            cost += price
    return EstimateView(
        calls=len(opening.calls),
        input_tokens=sent,
        output_tokens=len(opening.calls) * OUTPUT_GUESS_TOKENS,
        cost_usd=cost,
        unpriced=tuple(dict.fromkeys(unpriced)),
        notes=opening.notes,
    )


def usual_setup(services: Services, actor: Actor, mode: Mode) -> Mapping[str, Any]:
    """What a form of a mode begins with: models, roles and numbers as `[defaults]` has them. Raises Refusal.

    The question, topic or task is left out; for a Workflow there are only `models`, since the rest is its own.
    """
    basis = Mode.COMPARE if mode is Mode.WORKFLOW else mode
    opening = open_mode(services, services.policy(actor.workspace), basis, {}, "-", None)
    left_out = ("topic", "task", *(("blind",) if mode is Mode.WORKFLOW else ()))
    return {name: value for name, value in opening.setup.items() if name not in left_out}


def estimate_start(
    services: Services, actor: Actor, mode: Mode, given: Mapping[str, object], text: str
) -> EstimateView:
    """What a thread that begins like this is expected to cost; nothing is stored or called. Raises Refusal."""
    if len(text) > MAX_MESSAGE_CHARS:
        raise Refusal("message_too_long", had=len(text), limit=MAX_MESSAGE_CHARS)
    opening = open_mode(services, services.policy(actor.workspace), mode, given, text, None)
    if not text.strip():
        raise Refusal("empty_message")
    return estimate(services, opening, text)
