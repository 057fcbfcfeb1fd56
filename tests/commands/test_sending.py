"""An artifact sent to another thread: a copy that knows where it came from, told there once, leaking nothing."""

import pytest

from core.commands.artifact import edit_artifact, list_saved, save_answer, show_artifact
from core.commands.sending import SendRequest, send_artifact
from core.domain.ids import ThreadId
from core.domain.policy import Actor
from core.domain.view import NoticeView
from tests.commands.look import new_thread, refused, rows
from tests.product import World, eventually


async def two(world: World, actor: Actor) -> tuple[ThreadId, ThreadId]:
    """A thread with the artifact "Plan" in two versions, and another one."""
    source, target = await new_thread(world, actor, "one"), await new_thread(world, actor, "two")
    (answer,) = await world.answers(actor, source)
    await save_answer(world.services, actor, str(answer.message_id), "Plan", event_key=world.clock.new_id())
    await edit_artifact(
        world.services,
        actor,
        source,
        "Plan",
        "a better plan",
        base=1,
        reason="clearer",
        event_key=world.clock.new_id(),
    )
    return source, target


async def test_a_copy_knows_where_it_came_from_and_is_told_of_once(world: World) -> None:
    aki = await world.person()
    source, target = await two(world, aki)
    request = SendRequest(thread_id=source, name="plan", to_thread_id=target)
    sent = [await send_artifact(world.services, aki, request, event_key="press") for _ in range(2)]
    assert [one.name for one in sent] == ["Plan", "Plan"]
    shown = await show_artifact(world.services, aki, target, "Plan")
    assert (shown.text, shown.version.number, shown.version.reason) == ("a better plan", 1, "clearer")
    (copy,) = [row for row in await rows(world, "artifact_version") if row["source_thread_id"]]
    original = next(row for row in await rows(world, "artifact_version") if row["text"] == "a better plan")
    assert (copy["source_thread_id"], copy["source_version_id"]) == (source, original["id"])

    def told() -> list[NoticeView]:
        posts = world.poster.posts.values()
        return [
            one for one in posts if isinstance(one, NoticeView) and one.phrase.key == "notice.artifact_sent"
        ]

    await eventually(told)
    (notice,) = told()
    assert (notice.link, notice.phrase.fields["name"]) == (source, "Plan")
    await world.say(aki, "And now?", target)
    assert "a better plan" not in world.model.sent()
    assert [item.name for item in await list_saved(world.services, aki, source)] == ["Plan"]


async def test_an_older_version_may_be_sent_under_another_name(world: World) -> None:
    aki = await world.person()
    source, target = await two(world, aki)
    request = SendRequest(thread_id=source, name="Plan", to_thread_id=target, number=1, new_name="First plan")
    await send_artifact(world.services, aki, request, event_key=world.clock.new_id())
    shown = await show_artifact(world.services, aki, target, "First plan")
    assert shown.text == "answer 1"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"name": "Nothing"}, "artifact_not_found"),
        ({"number": 7}, "version_not_found"),
        ({"to_thread_id": "nowhere"}, "thread_not_found"),
        ({"new_name": "x" * 200}, "artifact_name_too_long"),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_nothing_is_copied(
    world: World, changed: dict[str, object], code: str
) -> None:
    aki = await world.person()
    source, target = await two(world, aki)
    fields: dict[str, object] = {"thread_id": source, "name": "Plan", "to_thread_id": target, **changed}
    await refused(
        send_artifact(world.services, aki, SendRequest(**fields), event_key=world.clock.new_id()),  # type: ignore[arg-type]
        code,
    )
    assert await list_saved(world.services, aki, target) == ()


async def test_nothing_there_is_overwritten_and_closed_doors_stay_closed(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    source, target = await two(world, aki)
    request = SendRequest(thread_id=source, name="Plan", to_thread_id=target)
    await send_artifact(world.services, aki, request, event_key=world.clock.new_id())
    await refused(
        send_artifact(world.services, aki, request, event_key=world.clock.new_id()), "artifact_name_there"
    )
    same = SendRequest(thread_id=source, name="Plan", to_thread_id=source)
    await refused(
        send_artifact(world.services, aki, same, event_key=world.clock.new_id()), "artifact_same_thread"
    )
    world.doors.closed.add(("C1", "U2"))
    await refused(
        send_artifact(world.services, ben, request, event_key=world.clock.new_id()), "thread_not_found"
    )
