"""Posts that stand already are shown anew when something about their answers changed."""

from core.commands.answer import answer_again, keep_answer
from core.commands.compare import reveal
from core.domain.ids import ThreadId
from core.domain.thread import Mode
from core.domain.view import AnswerView
from tests.commands.look import answer, new_thread, rows
from tests.product import World, eventually


def posted(world: World) -> list[AnswerView]:
    """The posts of answers as they stand, in the order in which they were posted."""
    return [view for view in world.poster.posts.values() if isinstance(view, AnswerView)]


async def at_rest(world: World) -> None:
    async def quiet() -> bool:
        return all(row["status"] in ("done", "failed", "stopped") for row in await rows(world, "run"))

    await eventually(quiet)


async def test_earlier_posts_say_which_answer_is_kept(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "Which database?")
    first = answer(await world.page(aki, thread), "answer 1")
    await answer_again(world.services, aki, thread, first.run_id, model=None, event_key="1")
    await eventually(lambda: [view.kept for view in posted(world)] == [False, True])
    await at_rest(world)
    await keep_answer(world.services, aki, str(first.message_id), event_key="2")
    await eventually(lambda: [view.kept for view in posted(world)] == [True, False])


async def test_a_reveal_names_the_models_on_what_is_posted(world: World) -> None:
    aki = await world.person()
    setup = {"models": ["alpha", "beta"], "blind": True}
    said = await world.say(aki, "Which database?", mode=Mode.COMPARE, setup=setup, estimate_seen=True)
    assert {"alpha", "beta"} & {view.model for view in posted(world)} == set()
    await reveal(world.services, aki, str(said.thread_id), event_key="1")
    await eventually(lambda: {view.model for view in posted(world)} == {"alpha", "beta"})
    await at_rest(world)
    runs = len(await rows(world, "run"))
    await reveal(world.services, aki, str(said.thread_id), event_key="2")
    assert len(await rows(world, "run")) == runs


async def test_a_post_that_is_gone_is_passed_over(world: World) -> None:
    aki = await world.person()
    thread = ThreadId(await new_thread(world, aki, "Which database?"))
    first = answer(await world.page(aki, thread), "answer 1")
    await answer_again(world.services, aki, thread, first.run_id, model=None, event_key="1")
    await at_rest(world)
    second = answer(await world.page(aki, thread), "answer 2")
    world.poster.gone.add(f"{second.run_id}/post:{second.step}")
    await keep_answer(world.services, aki, str(first.message_id), event_key="2")
    await at_rest(world)
    assert [view.kept for view in posted(world)] == [True, True]
    assert {row["status"] for row in await rows(world, "run")} == {"done"}
