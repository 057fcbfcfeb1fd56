"""The port between a mode and the engine, which implements it in `core.engine.context`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.domain.ids import MessageId, ReceiptId
from core.domain.message import Cut
from core.domain.receipt import AiInput, Finish
from core.ports import PostRef, Turn
from core.prompts.registry import PromptLibrary

Builder = Callable[[Turn, PromptLibrary], AiInput]
"""A builder of `core.ai_input`. Pure; raises Refusal when the request cannot be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one model call left in the store."""

    step: str
    message_id: MessageId | None
    receipt_id: ReceiptId | None
    """None when the call was refused before it was made."""
    text: str
    finish: Finish
    cut: Cut
    failure: str


class RunContext(Protocol):
    """What a mode sees of the engine. Each call is a durable step named by `step`; a finished one is not repeated."""

    async def post_answer(self, step: str) -> PostRef:
        """Post the card of an answer into the run's thread, exactly once, before a word of it is written."""
        ...

    async def ask(self, step: str, build: Builder, *, post: PostRef) -> Answer:
        """Build an AI input from what is stored now, call the run's model with it, and stream the answer into `post`.

        Answer, receipt and usage are stored in one transaction. A stop keeps what was written. A refusal, before the
        call, or a failed call comes back as an Answer with `failure` set, not as an exception.
        """
        ...

    async def finish_answer(self, step: str, post: PostRef) -> None:
        """Show the answer of `step` as the store has it, for good."""
        ...

    async def open_thread(self, step: str) -> None:
        """Open the run's thread on its platform, with the header of the branch as first post."""
        ...

    async def note_parent(self, step: str) -> None:
        """Tell the parent's thread of the branch; the line is no part of its conversation."""
        ...
