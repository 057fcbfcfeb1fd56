"""Cross Review: models that took no part judge answers, knowing neither whose they are nor what was asked (spec §8)."""

from functools import partial

from core.ai_input.cross_review import PROMPT_NAMES, build_review
from core.ai_input.structured import REPAIR_PROMPT
from core.domain.review import ReviewSetup, aggregate, judged, verdict_step
from core.modes.context import Ask, RunContext
from core.modes.presenting import present_result, present_verdict

KIND = "cross_review"
RESULT = "result"
PROMPTS = (*PROMPT_NAMES, REPAIR_PROMPT)


async def cross_review(run: RunContext) -> None:
    """Every reviewer judges the answers in an order of its own; then what they say is put side by side."""
    setup = ReviewSetup.from_json(run.args)
    places = range(1, len(setup.reviewers) + 1)
    verdicts = await run.answer_all(
        [
            Ask(
                step=verdict_step(place),
                model=reviewer,
                line=None,
                build=partial(build_review, order=setup.order(place), focus=setup.focus),
                present=partial(present_verdict, order=setup.order(place), locale=run.locale),
            )
            for place, reviewer in zip(places, setup.reviewers, strict=True)
        ]
    )
    results = [
        judged(reviewer, setup.order(place), verdict.data)
        for place, reviewer, verdict in zip(places, setup.reviewers, verdicts, strict=True)
        if verdict.data is not None
    ]
    if results:
        text, data = present_result(setup, aggregate(results), results, locale=run.locale)
        await run.publish(RESULT, text, data)
