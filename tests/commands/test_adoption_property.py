"""Whatever people do with a thread and its branches: nothing leaks, is lost, doubled or displaced (spec §5, §6)."""

import asyncio
import re
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.commands.adoption import AdoptionRequest, approve, reject, request_adoption, withdraw
from core.commands.branch import BranchRequest, branch
from core.commands.message import delete_message, edit_message
from core.domain.adoption import EXPIRES_AFTER
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.thread import MAX_DEPTH
from core.domain.view import MessageView
from tests.product import FILES, World, open_world

T = TypeVar("T")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

SPOKEN = re.compile(r"\bword \d+|\banswer \d+")
MOST_THREADS = 6
ANY = st.integers(0, 999)


@dataclass(eq=False)
class Line:
    """What a thread has to hold by the rules of the spec, kept without any of the product's code."""

    thread: ThreadId
    parent: "Line | None" = None
    said: tuple[str, ...] = ()
    inherited: frozenset[str] = frozenset()
    status: str = "active"
    """`active`, `pending`, `stale` for a request that has run out, or `adopted`."""
    adoption: str = ""
    covered: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        return self.parent.depth + 1 if self.parent else 0

    @property
    def own(self) -> tuple[str, ...]:
        return tuple(text for text in self.said if text not in self.inherited)


class Threads(RuleBasedStateMachine):
    """Random sequences over one tree of threads. After each step every thread is compared, message by message."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.lines: list[Line] = []
        self.texts = 0
        self.first_said: dict[str, int] = {}
        """When what a text is a version of was first said."""
        self.home: dict[str, Line] = {}
        """Where a person said it."""

    def do(self, act: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(act)

    @initialize()
    def begin(self) -> None:
        async def begin() -> None:
            folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
            urls = [f"sqlite:///{folder / name}" for name in FILES]
            self.world: World = await self.stack.enter_async_context(open_world(*urls))
            self.aki = await self.world.person()

        self.do(begin())
        self.lines.append(Line(thread=ThreadId("")))
        self._say(self.lines[0], answered=True)

    def teardown(self) -> None:
        self.do(self.stack.aclose())
        self.runner.close()

    # --- what people do ---------------------------------------------------------------------------------------------

    @rule(number=ANY, answered=st.booleans())
    def say(self, number: int, answered: bool) -> None:
        self._say(self.lines[number % len(self.lines)], answered=answered)

    def _say(self, line: Line, *, answered: bool) -> None:
        text = self._new_text()
        self.first_said[text] = self.texts
        self.home[text] = line
        said = self.do(self.world.say(self.aki, text, line.thread or None, mentions_other=not answered))
        line.thread = said.thread_id or line.thread
        line.said += (text,)
        if answered:
            sent = [found for part in self.world.model.sent_texts() for found in SPOKEN.findall(part)]
            before = line.said[:-1]
            first = before[:1] if len(before) > 20 else ()
            assert sent == [*first, *before[-20:], text]
            answer = f"answer {len(self.world.model.calls)}"
            self.texts += 1
            self.first_said[answer] = self.texts
            line.said += (answer,)

    def _new_text(self) -> str:
        self.texts += 1
        return f"word {self.texts}"

    @precondition(lambda self: len(self.lines) < MOST_THREADS)
    @rule(number=ANY, back=st.integers(0, 5))
    def make_branch(self, number: int, back: int) -> None:
        line = self.lines[number % len(self.lines)]
        position = max(1, len(line.said) - back) if line.said else None
        request = BranchRequest(thread_id=line.thread, position=position, name=f"branch {len(self.lines)}")
        act = branch(self.world.services, self.aki, request, event_key=self.world.clock.new_id())
        if line.depth == MAX_DEPTH:
            self.refuses(act, "branch_too_deep")
            return
        made, kept = self.do(act), line.said[:position]
        self.lines.append(Line(thread=made.id, parent=line, said=kept, inherited=frozenset(kept)))
        # Both sides go on at once, so that an adoption has something to merge.
        self._say(self.lines[-1], answered=False)
        self._say(line, answered=False)

    @rule(number=ANY, delete=st.booleans())
    def change(self, number: int, delete: bool) -> None:
        """The author edits or deletes where it was said; copies in other threads stay."""
        standing = [(line, text) for line in self.lines for text in line.said if self.home.get(text) is line]
        if not standing:
            return
        line, old = standing[number % len(standing)]
        page = self.do(self.world.page(self.aki, line.thread))
        (shown,) = [item for item in page.items if isinstance(item, MessageView) and item.text == old]
        key, place = self.world.clock.new_id(), line.said.index(old)
        if delete:
            self.do(delete_message(self.world.services, self.aki, shown.message_id, event_key=key))
            line.said = (*line.said[:place], *line.said[place + 1 :])
            return
        new = self._new_text()
        self.do(edit_message(self.world.services, self.aki, shown.message_id, new, event_key=key))
        self.first_said[new], self.home[new] = self.first_said[old], line
        line.said = (*line.said[:place], new, *line.said[place + 1 :])

    @rule(number=ANY)
    def ask(self, number: int) -> None:
        branches = self.lines[1:]
        if not branches:
            return
        # Mostly a branch that has something to bring, so that many sequences get as far as an approval.
        ready = [line for line in branches if line.status == "active" and line.own]
        choice = ready if ready and number % 4 else branches
        line = choice[number // 4 % len(choice)]
        for stale in self._in("stale"):
            # Whoever asks closes what has run out.
            stale.status = "active"
        pending = self._in("pending")
        request = AdoptionRequest(branch_id=line.thread, reason="better")
        act = request_adoption(self.world.services, self.aki, request, event_key=self.world.clock.new_id())
        refusal = {"pending": "adopt_pending_already", "adopted": "adopt_adopted_already"}.get(line.status)
        if refusal is None and not line.own:
            refusal = "adopt_nothing_new"
        if refusal is None and pending:
            refusal = "adopt_another_pending"
        if refusal:
            self.refuses(act, refusal)
            return
        line.adoption = self.do(act)
        line.status, line.covered = "pending", line.own

    @rule(way=st.sampled_from((approve, approve, approve, withdraw, reject)))
    def decide(self, way: Any) -> None:
        for line in (*self._in("pending"), *self._in("stale")):
            words = ("too dear",) if way is reject else ()
            key = self.world.clock.new_id()
            act = way(self.world.services, self.aki, line.adoption, *words, event_key=key)
            if line.status == "stale":
                self.refuses(act, "adopt_closed_expired")
                line.status = "active"
                continue
            self.do(act)
            line.status = "active"
            if way is approve:
                line.status = "adopted"
                self._merge(line)

    def _merge(self, line: Line) -> None:
        parent = line.parent
        assert parent is not None
        new = [text for text in line.covered if text not in parent.said]
        parent.said = tuple(sorted((*parent.said, *new), key=lambda text: self.first_said[text]))

    @rule()
    def let_thirty_days_pass(self) -> None:
        self.world.clock.advance(EXPIRES_AFTER)
        for line in self._in("pending"):
            line.status = "stale"

    # --- what holds -------------------------------------------------------------------------------------------------

    @invariant()
    def every_thread_holds_what_it_has_to_and_nothing_else(self) -> None:
        for line in self.lines:
            assert self.do(self.world.texts(self.aki, line.thread)) == list(line.said)

    def _in(self, status: str) -> list[Line]:
        return [line for line in self.lines if line.status == status]

    def refuses(self, act: Coroutine[Any, Any, Any], code: str) -> None:
        with pytest.raises(Refusal) as refused:
            self.do(act)
        assert refused.value.code == code


TestThreads = Threads.TestCase
TestThreads.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
