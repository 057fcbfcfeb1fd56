"""The AI input of Co-Draft: draft, critique, revise (spec §3).

The text as it stands is given by whoever keeps its versions, because people may have edited it since a model wrote it.
"""

from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.handover import carried_request
from core.ai_input.material import MODE_FRAGMENTS, Material, compose
from core.ai_input.thread_order import opening_of, says_more
from core.domain.codraft import CoDraftSetup, critique_step
from core.domain.ids import MessageId
from core.domain.receipt import AiInput, InputPart, Origin
from core.domain.thread import Mode
from core.ports import Turn
from core.prompts.registry import PromptLibrary

DRAFT_PROMPT = "codraft.draft"
CRITIQUE_PROMPT = "codraft.critique"
REVISE_PROMPT = "codraft.revise"
PROMPT_NAMES = (DRAFT_PROMPT, CRITIQUE_PROMPT, REVISE_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that a run of Co-Draft works with."""


def build_draft(turn: Turn, prompts: PromptLibrary, *, materials: tuple[InputPart, ...] = ()) -> AiInput:
    """What the drafting model is sent. Raises Refusal `request_too_large`, as every builder here."""
    material = Material.of(prompts)
    data = [*materials, _task(turn, material), *_instruction(turn, material, follow_up=False)]
    return compose(turn, prompts, DRAFT_PROMPT, data=data)


def build_critique(
    turn: Turn,
    prompts: PromptLibrary,
    *,
    text: str,
    text_id: MessageId | None = None,
    follow_up: bool = False,
    materials: tuple[InputPart, ...] = (),
) -> AiInput:
    """What a model is sent to criticise `text`, the newest version; `text_id` is the message that brought it.

    With `follow_up`, `turn.request` is the instruction for this pass.
    """
    material = Material.of(prompts)
    data = [
        *materials,
        *_standing(turn, material, text, text_id),
        *_instruction(turn, material, follow_up=follow_up),
    ]
    return compose(turn, prompts, CRITIQUE_PROMPT, data=data)


def build_revision(
    turn: Turn,
    prompts: PromptLibrary,
    *,
    text: str,
    number: int,
    text_id: MessageId | None = None,
    follow_up: bool = False,
    materials: tuple[InputPart, ...] = (),
) -> AiInput:
    """What a model is sent to revise `text` in pass `number`, by this run's critique of it; a missing one is noted."""
    material = Material.of(prompts)
    step = critique_step(number)
    critiques = [one for one in turn.spoken if one.run_id == turn.run_id and one.step == step]
    shown = [material.spoken(one, "critique") for one in critiques[-1:]] or [material.note("no_critique")]
    data = [
        *materials,
        *_standing(turn, material, text, text_id),
        *shown,
        *_instruction(turn, material, follow_up=follow_up),
    ]
    return compose(turn, prompts, REVISE_PROMPT, data=data)


def _task(turn: Turn, material: Material) -> InputPart:
    opening = opening_of(turn) or turn.request
    task = material.data(Origin.REQUEST, "task", CoDraftSetup.from_json(turn.setup).task, opening.id)
    return carried_request(turn, material, task)


def _standing(turn: Turn, material: Material, text: str, text_id: MessageId | None) -> list[InputPart]:
    return [_task(turn, material), material.data(Origin.SPOKEN, "text", text, text_id)]


def _instruction(turn: Turn, material: Material, *, follow_up: bool) -> list[InputPart]:
    """The message that asked for this pass; or the one that started the run, where it says more than the task."""
    if not follow_up and not says_more(turn, str(turn.setup["task"]), Mode.CODRAFT):
        return []
    what = "follow_up" if follow_up else "message"
    return [material.data(Origin.REQUEST, what, turn.request.text, turn.request.id)]
