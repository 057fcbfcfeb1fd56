"""Chat: one model answers in the thread (spec §3)."""

from core.ai_input.chat import PROMPT_NAMES, build_chat
from core.modes.context import RunContext

ANSWER = "answer"
PROMPTS = PROMPT_NAMES


async def chat(run: RunContext) -> None:
    """Answer one message."""
    post = await run.post_answer(ANSWER)
    await run.ask(ANSWER, build_chat, post=post)
    await run.finish_answer(ANSWER, post)
