"""The modes as readable control flow: who speaks next, and when it ends. A mode sees only its RunContext."""

from collections.abc import Awaitable, Callable, Mapping

from core.domain.thread import Mode
from core.modes import branching, chat
from core.modes.context import RunContext

RUNS: Mapping[str, Callable[[RunContext], Awaitable[None]]] = {
    Mode.CHAT.value: chat.chat,
    branching.KIND: branching.open_branch,
}
"""What carries out a run, by its kind."""

PROMPTS: Mapping[str, tuple[str, ...]] = {Mode.CHAT.value: chat.PROMPTS}
"""The prompts a run of a mode holds on to from its beginning."""
