"""Chat: one model answers in the thread (spec §3)."""

from core.ai_input.chat import PROMPT_NAMES, build_chat
from core.modes.context import Ask, RunContext

ANSWER = "answer"
PROMPTS = PROMPT_NAMES


async def chat(run: RunContext) -> None:
    """Answer one message."""
    await run.answer(Ask(step=ANSWER, model=run.model, build=build_chat, replaces=True))
