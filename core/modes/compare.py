"""Compare: the same question to several models at once, each knowing only its own earlier answers (spec §3)."""

from dataclasses import replace
from functools import partial

from core.ai_input.compare import PROMPT_NAMES, build_candidate, build_comparison, shared_sha256
from core.ai_input.structured import REPAIR_PROMPT
from core.domain.compare import SUMMARY, CompareSetup
from core.domain.receipt import AiInput
from core.modes.context import Ask, RunContext
from core.modes.presenting import candidate_names, present_comparison, present_differences
from core.ports import Turn
from core.prompts.registry import PromptLibrary

COMPARISON = "comparison"
CONDITIONS = "conditions"
"""Step that says what could not be the same for all candidates."""

PROMPTS = (*PROMPT_NAMES, REPAIR_PROMPT)


async def compare(run: RunContext) -> None:
    """Have one question answered by every candidate, or by the lines that the run names."""
    setup = CompareSetup.from_json(run.setup)
    wanted = run.args.get("lines")
    limit = run.least_output_tokens(setup.models)
    answers = await run.answer_all(
        [
            Ask(
                step=candidate.step,
                model=candidate.model,
                line=candidate.line,
                build=partial(_input, max_tokens=limit),
                replaces=True,
            )
            for candidate in setup.candidates
            if wanted is None or candidate.line in wanted
        ]
    )
    differences = await run.differences(answers)
    if differences:
        names = candidate_names(setup, run.locale)
        by_step = {candidate.step: names[candidate.letter] for candidate in setup.candidates}
        await run.publish(CONDITIONS, present_differences(differences, by_step, run.locale), {})


def _input(turn: Turn, prompts: PromptLibrary, *, max_tokens: int) -> AiInput:
    ai_input = build_candidate(turn, prompts, max_tokens=max_tokens)
    return replace(ai_input, shared_sha256=shared_sha256(ai_input))


async def comparison(run: RunContext) -> None:
    """Have one model compare the answers to a question: what they agree on, and what only one saw."""
    setup = CompareSetup.from_json(run.setup)
    await run.answer(
        Ask(
            step=SUMMARY,
            model=run.model,
            line=None,
            build=build_comparison,
            present=partial(present_comparison, setup=setup, locale=run.locale),
        )
    )
