"""Debate: a moderator lays out a topic, participants take positions and answer each other, the moderator sums up."""

from functools import partial

from core.ai_input.debate import (
    PROMPT_NAMES,
    build_position,
    build_problem_framing,
    build_rebuttal,
    build_synthesis,
)
from core.ai_input.structured import REPAIR_PROMPT
from core.domain.debate import DebateSetup, Round, RoundKind, Speaker, rebuttals_in
from core.modes.context import Ask, Builder, RunContext
from core.modes.presenting import present_debate

PROMPTS = (*PROMPT_NAMES, REPAIR_PROMPT)


async def debate(run: RunContext) -> None:
    """The whole debate; a message in a finished one starts one more rebuttal round and synthesis on it."""
    setup = DebateSetup.from_json(run.setup)
    before = await run.steps_before()
    rebuttals = rebuttals_in(before)
    follow_up = rebuttals + 1 if before else 0
    for each in setup.follow_up_rounds(rebuttals) if before else setup.rounds():
        asks = [_ask(run, setup, each, speaker, follow_up=follow_up) for speaker in each.speakers]
        if each.at_once:
            answers = await run.answer_all(asks)
        else:
            answers = ()
            for ask in asks:
                if await run.stopped():
                    return
                answers = (*answers, await run.answer(ask))
        nobody_spoke = each.kind is RoundKind.POSITIONS and not any(answer.message_id for answer in answers)
        if nobody_spoke or await run.stopped():
            return


def _ask(run: RunContext, setup: DebateSetup, each: Round, speaker: Speaker, *, follow_up: int) -> Ask:
    """One contribution; `follow_up` is the number of the rebuttal round that a new message started, else 0."""
    builders: dict[RoundKind, Builder] = {
        RoundKind.PROBLEM_FRAMING: build_problem_framing,
        RoundKind.POSITIONS: partial(build_position, letter=speaker.letter),
        RoundKind.REBUTTALS: partial(
            build_rebuttal,
            letter=speaker.letter,
            number=each.rebuttal,
            last=each.last_rebuttal,
            follow_up=bool(follow_up),
        ),
        RoundKind.SYNTHESIS: partial(build_synthesis, follow_up=follow_up),
    }
    return Ask(
        step=speaker.step,
        model=speaker.model,
        build=builders[each.kind],
        present=partial(present_debate, setup=setup, kind=each.kind, locale=run.locale),
    )
