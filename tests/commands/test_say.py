"""Saying something: what is stored, what is sent, what is shown."""

from tests.product import World


async def test_a_first_message_begins_a_thread_and_is_answered(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier fits us best?")
    assert said.thread_id
    assert await world.texts(aki, said.thread_id) == ["Which supplier fits us best?", "answer 1"]
    assert "Which supplier fits us best?" in world.model.sent()
