"""What every adapter makes of what people write. Enrol by deriving from IntakeContract with a `talk`."""

from abc import ABC, abstractmethod

from core.domain.policy import Listen, Policy
from tests.product import World


class Talk(ABC):
    """A platform with a channel in which two people and the bot are."""

    world: World
    workspace: str
    """The platform's id of the workspace, by which policies name it."""

    @abstractmethod
    async def begin(self, text: str, *, copies: int = 1) -> str:
        """A person starts a thread with the bot, delivered `copies` times; the thread's id on the platform."""

    @abstractmethod
    async def reply(self, thread: str, text: str, *, person: int = 0, copies: int = 1) -> str:
        """A person writes in a thread without calling the bot; the message's id on the platform."""

    @abstractmethod
    async def call(self, thread: str, text: str) -> None:
        """A person calls the bot by its name in a thread."""

    @abstractmethod
    async def answered(self, thread: str, answers: int) -> None:
        """Return when a thread shows so many complete answers and nothing is being written."""

    @abstractmethod
    async def edit(self, thread: str, message: str, text: str) -> None:
        """The writer changes a message."""

    @abstractmethod
    async def delete(self, thread: str, message: str) -> None:
        """The writer deletes a message."""

    @abstractmethod
    async def conversation(self, thread: str) -> list[str]:
        """Texts that our store holds of a thread, in order."""

    @abstractmethod
    async def told(self) -> list[str]:
        """Sentences that only one person was shown."""


class IntakeContract:
    """From an event of a platform to one stored turn and one answer."""

    async def test_one_message_is_one_turn_and_one_answer(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?")
        await talk.answered(thread, 1)
        assert await talk.conversation(thread) == ["Which database?", "answer 1"]

    async def test_a_delivery_that_comes_again_changes_nothing(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?", copies=3)
        await talk.answered(thread, 1)
        await talk.reply(thread, "For 500 writers", copies=3)
        await talk.answered(thread, 2)
        texts = await talk.conversation(thread)
        assert texts == ["Which database?", "answer 1", "For 500 writers", "answer 2"]
        assert len(talk.world.model.calls) == 2

    async def test_several_people_speak_in_one_thread(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?")
        await talk.answered(thread, 1)
        await talk.reply(thread, "I know SQLite", person=1)
        await talk.answered(thread, 2)
        assert "I know SQLite" in talk.world.model.sent()
        assert "answer 1" in talk.world.model.sent()

    async def test_where_only_mentions_count_a_reply_is_kept_and_not_answered(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?")
        await talk.answered(thread, 1)
        talk.world.policies[talk.workspace] = Policy(listen=Listen.MENTIONS)
        await talk.reply(thread, "Thinking aloud")
        await talk.call(thread, "So?")
        await talk.answered(thread, 2)
        texts = await talk.conversation(thread)
        assert texts == ["Which database?", "answer 1", "Thinking aloud", "So?", "answer 2"]
        assert len(talk.world.model.calls) == 2
        assert "Thinking aloud" in talk.world.model.sent()

    async def test_an_edit_and_a_deletion_reach_what_is_sent_next(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?")
        await talk.answered(thread, 1)
        changed = await talk.reply(thread, "For 10 writers")
        await talk.answered(thread, 2)
        dropped = await talk.reply(thread, "In Cobol")
        await talk.answered(thread, 3)
        await talk.edit(thread, changed, "For 500 writers")
        await talk.delete(thread, dropped)
        await talk.reply(thread, "So?")
        await talk.answered(thread, 4)
        sent = talk.world.model.sent()
        assert "For 500 writers" in sent
        assert "For 10 writers" not in sent
        assert "In Cobol" not in sent

    async def test_what_is_too_long_is_refused_with_one_sentence_and_not_stored(self, talk: Talk) -> None:
        thread = await talk.begin("Which database?")
        await talk.answered(thread, 1)
        await talk.reply(thread, "x" * 100_001)
        assert ["100,000" in s or "100000" in s for s in await talk.told()] == [True]
        assert await talk.conversation(thread) == ["Which database?", "answer 1"]
