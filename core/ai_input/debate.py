"""The AI input of Debate, a builder a round (spec §3, §4).

Premises of the background field in every round, the handover's context in `problem_framing` only, participants
called A, B, C, D. `positions` see the framing and nothing else; later rounds see all that was said.
"""

from collections.abc import Sequence

from core.ai_input.caps import Left
from core.ai_input.framing import FRAGMENTS_PROMPT
from core.ai_input.material import MODE_FRAGMENTS, Material, compose, narrowed, output_schema
from core.ai_input.thread_order import opening_of, said_in, says_more
from core.domain.debate import PROBLEM_FRAMING, DebateSetup, rebuttals_in
from core.domain.errors import Refusal
from core.domain.ids import MessageId
from core.domain.prior_context import PriorContext, capped
from core.domain.receipt import AiInput, CapApplied, InputPart, Omission, Origin, Role
from core.domain.thread import Mode
from core.ports import Spoken, Turn
from core.prompts.registry import PromptLibrary

FRAMING_PROMPT = "debate.problem_framing"
POSITIONS_PROMPT = "debate.positions"
REBUTTALS_PROMPT = "debate.rebuttals"
LAST_REBUTTAL_PROMPT = "debate.last_rebuttal"
SYNTHESIS_PROMPT = "debate.synthesis"
PROMPT_NAMES = (
    FRAMING_PROMPT,
    POSITIONS_PROMPT,
    REBUTTALS_PROMPT,
    LAST_REBUTTAL_PROMPT,
    SYNTHESIS_PROMPT,
    FRAGMENTS_PROMPT,
    MODE_FRAGMENTS,
)
"""The prompts that a run of Debate works with."""

Materials = Sequence[InputPart]
"""Data of a workflow that the debate is a step of; sent in every round."""


def build_problem_framing(turn: Turn, prompts: PromptLibrary, *, materials: Materials = ()) -> AiInput:
    """What the moderator is sent first. Raises Refusal `request_too_large`, as every builder here."""
    setup, material = DebateSetup.from_json(turn.setup), Material.of(prompts)
    admitted = setup.prior_context
    prior, again = capped(admitted.context) if admitted else (PriorContext(), ())
    sends_prior = not prior.is_empty
    background = () if setup.background_auto and sends_prior else _background(turn, setup, material)
    caps: tuple[CapApplied, ...] = (*admitted.caps, *again) if admitted else ()
    dropped = len(admitted.warnings) if admitted else 0
    return compose(
        turn,
        prompts,
        FRAMING_PROMPT,
        data=[*background, *_prior(turn, prior, material), *materials, *_topic(turn, setup, material)],
        task={"participants": _roster(setup)},
        caps=caps,
        omissions=[Omission(what=Left.PRIOR_FIELDS, count=dropped)] if dropped else (),
    )


def build_position(turn: Turn, prompts: PromptLibrary, *, letter: str, materials: Materials = ()) -> AiInput:
    """What participant `letter` is sent in `positions`: nobody else's position, and none of its own before."""
    setup, material = DebateSetup.from_json(turn.setup), Material.of(prompts)
    framing = [one for one in said_in(turn).now if one.step == PROBLEM_FRAMING]
    shown = [contribution(one, material) for one in framing[-1:]] or [material.note("no_framing")]
    return compose(
        turn,
        prompts,
        POSITIONS_PROMPT,
        data=[*_premises(turn, setup, material, materials), *shown],
        system=_role(setup, letter),
        task=_role(setup, letter),
    )


def build_rebuttal(
    turn: Turn,
    prompts: PromptLibrary,
    *,
    letter: str,
    number: int,
    last: bool,
    follow_up: bool = False,
    materials: Materials = (),
) -> AiInput:
    """What participant `letter` is sent in rebuttal round `number`: all that was said before it speaks.

    With `follow_up`, `turn.request` is a new message in the finished debate, and earlier runs are sent too.
    """
    setup, material = DebateSetup.from_json(turn.setup), Material.of(prompts)
    said, omissions = _said(turn, material, follow_up=follow_up)
    return compose(
        turn,
        prompts,
        LAST_REBUTTAL_PROMPT if last else REBUTTALS_PROMPT,
        data=[
            *_premises(turn, setup, material, materials, follow_up=follow_up),
            *said,
            *_absences(turn, setup, material, () if follow_up else _rounds(number - 1)),
        ],
        system=_role(setup, letter),
        task={**_role(setup, letter), "round": f"rebuttals.{number}"},
        omissions=omissions,
    )


def build_synthesis(
    turn: Turn, prompts: PromptLibrary, *, follow_up: int = 0, materials: Materials = ()
) -> AiInput:
    """What the moderator is sent last: all rounds, and who is missing from which.

    `follow_up` is the number of the rebuttal round that a new message started, 0 in the debate itself. Raises
    Refusal `nobody_spoke` too.
    """
    setup, material = DebateSetup.from_json(turn.setup), Material.of(prompts)
    spoke = [letter for letter in setup.letters if any(_letter(one) == letter for one in turn.spoken)]
    if not spoke:
        raise Refusal("nobody_spoke")
    said, omissions = _said(turn, material, follow_up=bool(follow_up))
    rounds = [f"rebuttals.{follow_up}"] if follow_up else _rounds(setup.rebuttal_rounds)
    return compose(
        turn,
        prompts,
        SYNTHESIS_PROMPT,
        data=[
            *_premises(turn, setup, material, materials, follow_up=bool(follow_up)),
            *said,
            *_absences(turn, setup, material, rounds),
        ],
        task={"participants": _roster(setup)},
        schema=narrowed(output_schema(prompts.get(SYNTHESIS_PROMPT)), spoke),
        omissions=omissions,
    )


# --- what people read beside a synthesis ----------------------------------------------------------------------------


def stances(spoken: Sequence[Spoken]) -> dict[str, tuple[str, ...]]:
    """The stances that each participant took, oldest first, by letter; taken from structured output only."""
    found: dict[str, tuple[str, ...]] = {}
    for one in spoken:
        stance = (one.data or {}).get("stance")
        if isinstance(stance, str) and (letter := _letter(one)):
            found[letter] = (*found.get(letter, ()), stance)
    return found


def rounds_of_run(turn: Turn, setup: DebateSetup) -> list[str]:
    """Names of the rounds of this run in which participants speak: all, or the one that a follow-up began."""
    steps = [one.step for one in turn.spoken if one.run_id == turn.run_id]
    if any(step.startswith("positions:") for step in steps):
        return _rounds(setup.rebuttal_rounds)
    number = rebuttals_in(steps) or rebuttals_in(one.step for one in turn.spoken) + 1
    return [f"rebuttals.{number}"]


def absences(turn: Turn, setup: DebateSetup, rounds: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(letter, round) of every contribution to these rounds of this run that did not come."""
    steps = {one.step for one in turn.spoken if one.run_id == turn.run_id}
    return tuple(
        (letter, round_) for round_ in rounds for letter in setup.letters if f"{round_}:{letter}" not in steps
    )


# --- pieces ---------------------------------------------------------------------------------------------------------


def _premises(
    turn: Turn, setup: DebateSetup, material: Material, materials: Materials, *, follow_up: bool = False
) -> list[InputPart]:
    topic = _topic(turn, setup, material, follow_up=follow_up)
    return [*_background(turn, setup, material), *materials, *topic]


def _opening_id(turn: Turn) -> MessageId:
    """The message that brought topic and background, so that erasing it finds them."""
    opening = opening_of(turn)
    return opening.id if opening else turn.request.id


def _background(turn: Turn, setup: DebateSetup, material: Material) -> tuple[InputPart, ...]:
    if not setup.background:
        return ()
    return (material.data(Origin.BACKGROUND, "premises", setup.background, _opening_id(turn)),)


def _topic(turn: Turn, setup: DebateSetup, material: Material, *, follow_up: bool = False) -> list[InputPart]:
    """The topic, and the message that started this debate where it says more; a follow-up shows its own elsewhere."""
    topic = material.data(Origin.REQUEST, "topic", setup.topic, _opening_id(turn))
    if follow_up or not says_more(turn, setup.topic, Mode.DEBATE):
        return [topic]
    return [topic, material.data(Origin.REQUEST, "message", turn.request.text, turn.request.id)]


def _prior(turn: Turn, prior: PriorContext, material: Material) -> tuple[InputPart, ...]:
    """One part; fields that are empty are not sent."""
    contents = {
        "prior_summary": prior.summary,
        "prior_background": prior.background,
        "prior_open_questions": "\n".join(f"- {item}" for item in prior.open_questions),
        "prior_constraints": "\n".join(f"- {item}" for item in prior.constraints),
        "prior_first_request": prior.first_request,
    }
    blocks = [material.fenced(what, content) for what, content in contents.items() if content]
    if not blocks:
        return ()
    text = "\n".join(blocks)
    return (InputPart(role=Role.USER, origin=Origin.PRIOR_CONTEXT, text=text, message_id=turn.handover_id),)


def _said(turn: Turn, material: Material, *, follow_up: bool) -> tuple[list[InputPart], tuple[Omission, ...]]:
    said = said_in(turn)
    now = [contribution(one, material) for one in said.now]
    if not follow_up:
        return now, ()
    before = [
        contribution(one, material) if isinstance(one, Spoken) else material.said(one) for one in said.before
    ]
    note = [material.omitted(said.omitted)] if said.omitted else []
    asked = material.data(Origin.REQUEST, "follow_up", turn.request.text, turn.request.id)
    counts = {Left.MESSAGES: said.omitted, Left.ERASED_MESSAGES: said.erased}
    omissions = tuple(Omission(what=what, count=count) for what, count in counts.items() if count)
    return [*note, *before, asked, *now], omissions


def contribution(one: Spoken, material: Material) -> InputPart:
    round_, _, letter = one.step.partition(":")
    if letter:
        return material.spoken(one, "contribution", letter=letter, round=round_)
    return material.spoken(one, "moderator_contribution", round=round_)


def _letter(one: Spoken) -> str:
    return one.step.partition(":")[2]


def _rounds(rebuttals: int) -> list[str]:
    return ["positions", *(f"rebuttals.{number}" for number in range(1, rebuttals + 1))]


def _absences(turn: Turn, setup: DebateSetup, material: Material, rounds: Sequence[str]) -> list[InputPart]:
    return [
        material.note("absent", letter=letter, round=round_)
        for letter, round_ in absences(turn, setup, rounds)
    ]


def _roster(setup: DebateSetup) -> str:
    return ", ".join(f"{p.letter} ({p.role})" for p in setup.participants)


def _role(setup: DebateSetup, letter: str) -> dict[str, str]:
    participant = setup.participant(letter)
    return {"letter": letter, "role": participant.role.value}
