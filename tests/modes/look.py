"""Shorthands with which tests of modes start threads, plan what models say, and look at what was sent and shown."""

from collections.abc import Callable, Mapping

from core.commands.receipt import show_ai_input
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.receipt import Origin
from core.domain.thread import Mode
from core.domain.view import AnswerState, AnswerView, ReceiptView
from core.ports import ModelCall
from tests.product import Planned, World

DEBATE = {"participants": [{"model": "alpha"}, {"model": "beta"}], "moderator": "seer"}


async def started(world: World, actor: Actor, mode: Mode, text: str, **setup: object) -> ThreadId:
    """A thread of a mode whose first run has ended."""
    said = await world.say(actor, text, mode=mode, setup=setup, estimate_seen=True)
    assert said.thread_id is not None
    return said.thread_id


async def begun(world: World, actor: Actor, mode: Mode, text: str, **setup: object) -> tuple[ThreadId, str]:
    """A thread of a mode and its first run, which is going on."""
    said = await world.say(actor, text, wait=False, mode=mode, setup=setup, estimate_seen=True)
    assert said.thread_id is not None
    assert said.run_id is not None
    return said.thread_id, said.run_id


async def steps(world: World, actor: Actor, thread: ThreadId) -> list[tuple[str, AnswerState]]:
    """Step and state of every answer, in the order in which they are shown."""
    return [(answer.step, answer.state) for answer in await world.answers(actor, thread)]


async def card(world: World, actor: Actor, thread: ThreadId, step: str) -> AnswerView:
    """The newest answer of a step."""
    return [answer for answer in await world.answers(actor, thread) if answer.step == step][-1]


def step_of(call: ModelCall) -> str:
    return call.request_id.partition("/")[2]


def by_step(answers: Mapping[str, Planned]) -> Callable[[ModelCall], Planned | None]:
    """A plan for the scripted model: what each step is answered with."""
    return lambda call: answers.get(step_of(call))


def by_model(answers: Mapping[str, Planned]) -> Callable[[ModelCall], Planned | None]:
    """A plan for the scripted model: what each model says where it is free to."""
    return lambda call: answers.get(call.model) if call.ai_input.output_schema is None else None


def sent_to(world: World, step: str) -> str:
    """The whole AI input of the newest call of a step."""
    calls = [call for call in world.model.calls if step_of(call) == step]
    return "\n".join(part.text for part in calls[-1].ai_input.parts)


def unfenced(world: World, step: str) -> str:
    """What the newest call of a step was sent outside its parts of data."""
    data = (Origin.SPOKEN, Origin.UNDER_REVIEW, Origin.REQUEST, Origin.BACKGROUND, Origin.HISTORY)
    calls = [call for call in world.model.calls if step_of(call) == step]
    return "\n".join(part.text for part in calls[-1].ai_input.parts if part.origin not in data)


async def receipt(world: World, actor: Actor, view: AnswerView) -> ReceiptView:
    assert view.receipt_id is not None
    return await show_ai_input(world.services, actor, view.receipt_id)
