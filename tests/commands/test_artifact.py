"""Saving under a name: any case and width is the same name, and of two who write at once nobody's text is lost."""

import asyncio

from core.commands.artifact import edit_artifact, list_saved, save_answer, show_artifact
from core.domain.errors import Refusal
from core.domain.policy import Actor
from tests.commands.look import count, new_thread, refused, rows
from tests.product import World


async def answers(world: World, actor: Actor, *said: str) -> tuple[str, list[str]]:
    thread = await new_thread(world, actor, *said)
    return thread, [str(answer.message_id) for answer in await world.answers(actor, thread)]


async def test_a_name_in_another_case_or_width_is_taken_and_can_be_a_new_version(world: World) -> None:
    aki = await world.person()
    thread, (first, second) = await answers(world, aki, "one", "two")
    await save_answer(world.services, aki, first, "Plan", event_key="1")
    for name in ("plan", "ＰＬＡＮ"):
        refusal = await refused(
            save_answer(world.services, aki, second, name, event_key=name), "artifact_name_taken"
        )
        assert refusal.fields == {"name": "Plan"}
    assert await count(world, "artifact_version") == 1
    kept = await save_answer(world.services, aki, second, "ｐｌａｎ", event_key="2", as_version=True)
    assert kept == "Plan"
    (shown,) = await list_saved(world.services, aki, thread)
    assert (shown.name, shown.newest.number) == ("Plan", 2)
    assert (await show_artifact(world.services, aki, thread, "plan")).text == "answer 2"


async def test_an_answer_saved_without_a_name_gets_one_that_is_free(world: World) -> None:
    aki = await world.person()
    thread, (first, second) = await answers(world, aki, "one", "two")
    await save_answer(world.services, aki, first, "result 2", event_key="1")
    assert await save_answer(world.services, aki, second, event_key="2") == "Result 3"
    assert [item.name for item in await list_saved(world.services, aki, thread)] == ["Result 3", "result 2"]


async def test_of_two_who_save_under_one_name_at_once_the_second_is_told(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    _, (first, second) = await answers(world, aki, "one", "two")
    results = await asyncio.gather(
        save_answer(world.services, aki, first, "Plan", event_key="1"),
        save_answer(world.services, ben, second, "plan", event_key="2"),
        return_exceptions=True,
    )
    (told,) = [each for each in results if isinstance(each, Refusal)]
    (kept,) = [each for each in results if isinstance(each, str)]
    assert (told.code, told.fields) == ("artifact_name_taken", {"name": kept})
    assert [row["name"] for row in await rows(world, "artifact")] == [kept]


async def test_of_two_who_change_one_version_at_once_the_second_is_told(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread, (first,) = await answers(world, aki, "one")
    await save_answer(world.services, aki, first, "Plan", event_key="1")
    results = await asyncio.gather(
        *(
            edit_artifact(
                world.services,
                actor,
                thread,
                "plan",
                f"by {actor.name}",
                base=1,
                reason="",
                event_key=actor.name,
            )
            for actor in (aki, ben)
        ),
        return_exceptions=True,
    )
    (told,) = [each for each in results if isinstance(each, Refusal)]
    assert told.code == "artifact_changed"
    assert results.count(2) == 1
    assert (await show_artifact(world.services, aki, thread, "Plan")).version.number == 2
