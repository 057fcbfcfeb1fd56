"""Telling a thread of an evaluation: that it began, how it ended, and which outputs wait for a person (spec §10)."""

from core.modes.context import EvaluationContext

BEGUN = "evaluation_begun"
TOLD = "evaluation_told"


async def tell_begun(run: EvaluationContext) -> None:
    """Post the card of the evaluation, which opens its thread where it has one of its own."""
    await run.post_evaluation()


async def tell_how_it_stands(run: EvaluationContext) -> None:
    """Put the next questions to people, and bring the card up to date."""
    await run.ask_people()
    await run.show_evaluation()
