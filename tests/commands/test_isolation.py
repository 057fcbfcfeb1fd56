"""Nothing passes between a thread, its branches and their siblings after the split; nothing is lost or doubled."""

import re
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.commands.answer import answer_again
from core.commands.branch import BranchRequest, branch
from core.commands.message import delete_message, edit_message
from core.commands.receipt import show_ai_input
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.thread import MAX_DEPTH
from core.domain.view import AnswerView, BranchHeaderView, MessageView
from tests.commands.look import rows
from tests.product import World, eventually

PLANTED = re.compile(r"plant\d+|answer \d+")

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "branch", "branch", "edit", "delete", "retry"]),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    min_size=6,
    max_size=12,
)


@dataclass
class Thread:
    """What a thread should hold: planted words in order; a person's own message may be edited in its thread."""

    id: ThreadId
    depth: int
    words: list[str]
    own: set[str] = field(default_factory=set)


@dataclass
class Threads:
    """The tree as a simple model, and the product beside it."""

    world: World
    actor: Actor
    threads: list[Thread] = field(default_factory=list)
    planted: int = 0

    def plant(self) -> str:
        self.planted += 1
        return f"plant{self.planted}"

    async def say(self, here: Thread) -> None:
        words = self.plant()
        await self.world.say(self.actor, words, here.id)
        answer = f"answer {len(self.world.model.calls)}"
        assert self.sent() == [*here.words, words]
        here.words += [words, answer]
        here.own.add(words)

    async def branch(self, here: Thread, choice: int) -> None:
        if here.depth == MAX_DEPTH or not here.words:
            return
        position = 1 + choice % len(here.words)
        before = await rows(self.world, "entry")
        request = BranchRequest(thread_id=here.id, position=position)
        new = await branch(self.world.services, self.actor, request, event_key=self.world.clock.new_id())
        after = await rows(self.world, "entry")
        assert [row for row in after if row in before] == before
        self.threads.append(Thread(new.id, here.depth + 1, here.words[:position]))

    async def edit(self, here: Thread, choice: int) -> None:
        if old := self.one_of_mine(here, choice):
            new = self.plant()
            await edit_message(
                self.world.services,
                self.actor,
                await self.message_id(here, old),
                new,
                event_key=self.world.clock.new_id(),
            )
            here.words[here.words.index(old)] = new
            here.own.add(new)

    async def delete(self, here: Thread, choice: int) -> None:
        if old := self.one_of_mine(here, choice):
            await delete_message(
                self.world.services,
                self.actor,
                await self.message_id(here, old),
                event_key=self.world.clock.new_id(),
            )
            here.words.remove(old)

    async def retry(self, here: Thread, choice: int) -> None:
        asked = [n for n, word in enumerate(here.words[:-1]) if self.answered(here, n)]
        if not asked:
            return
        at = asked[choice % len(asked)]
        page = await self.world.page(self.actor, here.id)
        (shown,) = [i for i in page.items if isinstance(i, AnswerView) and i.text == here.words[at + 1]]
        run_id = await answer_again(
            self.world.services,
            self.actor,
            here.id,
            shown.run_id,
            model=None,
            event_key=self.world.clock.new_id(),
        )
        await self.world.finished(run_id)
        assert self.sent() == here.words[: at + 1]
        here.words[at + 1] = f"answer {len(self.world.model.calls)}"

    @staticmethod
    def answered(here: Thread, at: int) -> bool:
        return here.words[at].startswith("plant") and here.words[at + 1].startswith("answer")

    @staticmethod
    def one_of_mine(here: Thread, choice: int) -> str:
        mine = [word for word in here.words if word in here.own]
        return mine[choice % len(mine)] if mine else ""

    async def message_id(self, here: Thread, words: str) -> str:
        page = await self.world.page(self.actor, here.id)
        (found,) = [i for i in page.items if isinstance(i, MessageView) and i.text == words]
        return found.message_id

    def sent(self) -> list[str]:
        """Planted words of the last call in order."""
        return PLANTED.findall(self.world.model.sent())

    async def check(self) -> None:
        for thread in self.threads:
            assert await self.world.texts(self.actor, thread.id) == thread.words
            page = await self.world.page(self.actor, thread.id)
            for item in page.items:
                if isinstance(item, AnswerView) and item.receipt_id and item.position:
                    receipt = await show_ai_input(self.world.services, self.actor, item.receipt_id)
                    assert receipt.hash_matches
                    assert receipt.thread_id == thread.id or item.position <= self.inherited(page.items)

    @staticmethod
    def inherited(items: tuple[object, ...]) -> int:
        return sum(item.inherited for item in items if isinstance(item, BranchHeaderView))


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    # Every example goes through the whole product; the operations are few enough to be read as they are.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(operations=OPERATIONS)
async def test_each_thread_is_sent_and_shows_its_own_words_and_no_other(
    world: World, operations: list[tuple[str, int, int]]
) -> None:
    actor = await world.person()
    first = await world.say(actor, "plant0")
    assert first.thread_id
    top = Thread(first.thread_id, 0, ["plant0", f"answer {len(world.model.calls)}"], {"plant0"})
    tree = Threads(world, actor, [top])
    for operation, which, choice in operations:
        here = tree.threads[which % len(tree.threads)]
        if operation == "say":
            await tree.say(here)
        else:
            await getattr(tree, operation)(here, choice)
    await tree.check()


async def test_titles_names_and_headers_hold_nothing_said_after_the_split(world: World) -> None:
    actor = await world.person()
    top = (await world.say(actor, "plant1 at the top")).thread_id
    assert top
    left, right = [
        await branch(world.services, actor, BranchRequest(thread_id=top, name=name), event_key=name)
        for name in ("left", "right")
    ]
    await world.say(actor, "plant2 in the parent", top)
    await world.say(actor, "plant3 on the left", left.id)
    await world.say(actor, "plant4 on the right", right.id)
    await eventually(lambda: sum(isinstance(v, BranchHeaderView) for v in world.poster.posts.values()) == 2)
    own = {top: "plant2", left.id: "plant3", right.id: "plant4"}
    for thread, word in own.items():
        shown = repr(await world.page(actor, thread))
        assert set(re.findall(r"plant\d", shown)) == {"plant1", word}
    headers = [v for v in world.poster.posts.values() if isinstance(v, BranchHeaderView)]
    assert set(re.findall(r"plant\d", repr(headers))) == {"plant1"}
