"""Answers: stop, retry, another model, which one is kept, and how they fail."""

import asyncio

import pytest

from core.commands.answer import answer_again, keep_answer, stop
from core.commands.branch import BranchRequest, branch
from core.commands.say import SaidResult
from core.domain.errors import FailureKind
from core.domain.ids import ThreadId
from core.domain.message import Cut
from core.domain.policy import Actor, Policy
from core.domain.view import AnswerState, AnswerView, ButtonAction
from tests.commands.look import answer, buttons, count, message, new_thread, refused, rows, speaks
from tests.product import WORKSPACE, World


async def being_answered(world: World, actor: Actor, text: str = "go") -> SaidResult:
    """A message whose answer stays at its first three characters."""
    world.model.hold = asyncio.Event()
    said = await world.say(actor, text, wait=False)
    await world.model.begun.wait()
    return said


async def test_a_stop_keeps_what_was_written_marked_and_the_thread_goes_on(world: World) -> None:
    aki = await world.person()
    said = await being_answered(world, aki)
    assert said.thread_id
    assert said.run_id
    later = await world.say(aki, "next", said.thread_id, wait=False)
    assert await stop(world.services, aki, run_id=said.run_id) == 1
    await world.finished(said.run_id)
    assert world.model.closed == 1
    assert world.model.hold
    world.model.hold.set()
    assert later.run_id
    await world.finished(later.run_id)
    page = await world.page(aki, said.thread_id)
    stopped = answer(page, "ans")
    assert (stopped.state, stopped.cut, stopped.failure) == (AnswerState.STOPPED, Cut.STOPPED, None)
    assert ButtonAction.RETRY in buttons(stopped)
    assert await world.texts(aki, said.thread_id) == ["go", "ans", "next", "answer 2"]
    assert "ans\n⟦note: this answer was cut off: a person stopped it⟧" in world.model.sent()
    (first, _) = await rows(world, "receipt")
    assert (first["finish"], first["tokens_estimated"], first["failure"]) == ("stopped", True, "")


async def test_what_is_stopped_before_its_turn_is_never_sent(world: World) -> None:
    aki = await world.person()
    said = await being_answered(world, aki)
    assert said.thread_id
    waiting = await world.say(aki, "never mind", said.thread_id, wait=False)
    assert waiting.run_id
    await stop(world.services, aki, run_id=waiting.run_id)
    assert world.model.hold
    world.model.hold.set()
    await world.finished(waiting.run_id)
    assert len(world.model.calls) == 1
    assert await count(world, "receipt") == 1
    (_, second) = await world.answers(aki, said.thread_id)
    assert (second.state, second.text, second.receipt_id) == (AnswerState.STOPPED, "", None)
    assert world.poster.posts[f"{waiting.run_id}/post:answer"] == second
    await world.say(aki, "on we go", said.thread_id)
    assert (await world.texts(aki, said.thread_id))[-1] == "answer 2"


async def test_stop_in_a_thread_stops_all_that_is_open_and_says_when_nothing_is(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    said = await being_answered(world, aki)
    assert said.thread_id
    later = await world.say(aki, "next", said.thread_id, wait=False)
    assert await stop(world.services, ben, thread_id=said.thread_id) == 2
    for run_id in (said.run_id, later.run_id):
        assert run_id
        await world.finished(run_id)
    assert len(world.model.calls) == 1
    await refused(stop(world.services, ben, thread_id=said.thread_id), "nothing_to_stop")
    await refused(stop(world.services, ben, run_id=said.run_id), "nothing_to_stop")
    await refused(stop(world.services, ben, run_id="unknown"), "answer_not_found")
    await refused(stop(world.services, ben, thread_id="unknown"), "thread_not_found")
    world.doors.closed.add(("C1", "U2"))
    await refused(stop(world.services, ben, run_id=said.run_id), "answer_not_found")
    await refused(stop(world.services, ben, thread_id=said.thread_id), "thread_not_found")


async def test_a_retry_answers_the_same_message_and_is_the_answer_kept(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two")
    first = answer(await world.page(aki, thread), "answer 1")
    run_id = await answer_again(world.services, aki, thread, first.run_id, model=None, event_key="r")
    await world.finished(run_id)
    assert world.model.calls[-1].model == "alpha"
    assert world.model.sent_texts()[1:] == world.model.sent_texts(0)[1:]
    assert await world.texts(aki, thread) == ["one", "answer 3", "two", "answer 2"]
    page = await world.page(aki, thread)
    old, new = answer(page, "answer 1"), answer(page, "answer 3")
    assert (old.kept, old.position, new.kept, new.position) == (False, None, True, 2)
    assert ButtonAction.KEEP_ANSWER in buttons(old)
    assert ButtonAction.BRANCH not in buttons(old)
    assert ButtonAction.KEEP_ANSWER not in buttons(new)
    await world.say(aki, "three", thread)
    assert "answer 3" in world.model.sent()
    assert "answer 1" not in world.model.sent()


async def test_a_person_picks_the_answer_that_the_history_keeps(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    first = answer(await world.page(aki, thread), "answer 1")
    run_id = await answer_again(world.services, ben, thread, first.run_id, model="beta", event_key="r")
    await world.finished(run_id)
    assert world.model.calls[-1].model == "beta"
    second = answer(await world.page(aki, thread), "answer 2")
    assert (second.model, second.kept) == ("beta", True)
    assert first.message_id
    for event_key in ("k1", "k1", "k2"):
        assert await keep_answer(world.services, ben, first.message_id, event_key=event_key) == thread
    shown = [item.text for item in (await world.page(aki, thread)).items if hasattr(item, "text")]
    assert shown == ["one", "answer 1", "answer 2"]
    assert await world.texts(aki, thread) == ["one", "answer 1"]
    await world.say(aki, "two", thread)
    assert "answer 1" in world.model.sent()
    assert "answer 2" not in world.model.sent()


async def test_an_answer_can_be_asked_for_by_its_message(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    message_id = answer(await world.page(aki, thread), "answer 1").message_id
    assert message_id
    await world.finished(
        await answer_again(world.services, aki, thread, message_id, model="beta", event_key="r")
    )
    assert await world.texts(aki, thread) == ["one", "answer 2"]


async def test_two_people_who_press_retry_at_once_get_one_answer(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    run_id = (await world.answers(aki, thread))[0].run_id
    world.model.hold = asyncio.Event()
    results = await asyncio.gather(
        answer_again(world.services, aki, thread, run_id, model=None, event_key="r1"),
        answer_again(world.services, ben, thread, run_id, model=None, event_key="r2"),
        answer_again(world.services, ben, thread, run_id, model=None, event_key="r2"),
        return_exceptions=True,
    )
    started = {result for result in results if isinstance(result, str)}
    assert len(started) == 1
    assert {getattr(r, "code", None) for r in results if not isinstance(r, str)} <= {"already_answering"}
    # With another model it is another wish.
    other = await answer_again(world.services, ben, thread, run_id, model="beta", event_key="r3")
    world.model.hold.set()
    await world.finished(other)
    assert [call.model for call in world.model.calls] == ["alpha", "alpha", "beta"]


async def test_a_retry_in_a_branch_stays_in_the_branch(world: World) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one")
    inherited = (await world.answers(aki, thread))[0]
    variant = await branch(world.services, aki, BranchRequest(thread_id=thread), event_key="b")
    await world.finished(
        await answer_again(world.services, aki, variant.id, inherited.run_id, model="beta", event_key="r")
    )
    assert await world.texts(aki, variant.id) == ["one", "answer 2"]
    assert await world.texts(aki, thread) == ["one", "answer 1"]
    assert [a.text for a in await world.answers(aki, thread)] == ["answer 1"]


async def test_what_cannot_be_answered_again_is_refused(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    other = await new_thread(world, aki, "elsewhere")
    shown = (await world.answers(aki, thread))[0]
    elsewhere = (await world.answers(aki, other))[0]
    services, calls = world.services, len(world.model.calls)

    async def again(ref: str, model: str | None = None) -> None:
        await answer_again(services, ben, thread, ref, model=model, event_key=world.clock.new_id())

    await refused(again("unknown"), "answer_not_found")
    await refused(again(elsewhere.run_id), "answer_not_found")
    await refused(again(shown.run_id, "gamma"), "unknown_model")
    await refused(keep_answer(services, ben, "unknown", event_key="k"), "answer_not_found")
    question = message(await world.page(aki, thread), "one").message_id
    await refused(keep_answer(services, ben, question, event_key="k"), "answer_not_found")
    world.policies[WORKSPACE.external_id] = Policy(allowed_models=("beta",))
    await refused(again(shown.run_id), "unknown_model")
    world.doors.closed.add(("C1", "U2"))
    await refused(again(shown.run_id), "thread_not_found")
    assert shown.message_id
    await refused(keep_answer(services, ben, shown.message_id, event_key="k"), "answer_not_found")
    assert len(world.model.calls) == calls


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.CONTENT_POLICY])
async def test_a_call_that_fails_without_text_says_why_and_offers_what_is_next(
    world: World, kind: FailureKind
) -> None:
    aki = await world.person()
    world.model.script = [kind]
    said = await world.say(aki, "hello")
    assert said.thread_id
    (failed,) = await world.answers(aki, said.thread_id)
    assert (failed.state, failed.text, failed.cut) == (AnswerState.FAILED, "", Cut.NONE)
    assert "alpha" in speaks(failed.failure)
    assert buttons(failed) == [ButtonAction.RETRY, ButtonAction.OTHER_MODEL, ButtonAction.SHOW_INPUT]
    assert list(world.poster.posts.values()) == [failed]
    (receipt,) = await rows(world, "receipt")
    assert (receipt["failure"], receipt["finish"], receipt["answer_id"]) == (kind.value, "failed", None)
    assert await world.texts(aki, said.thread_id) == ["hello"]
    await world.say(aki, "are you there?", said.thread_id)
    assert await world.texts(aki, said.thread_id) == ["hello", "are you there?", "answer 2"]


@pytest.mark.parametrize(
    ("kind", "cut", "note"),
    [
        (FailureKind.INTERRUPTED, Cut.INTERRUPTED, "the connection broke"),
        (FailureKind.CONTENT_POLICY, Cut.CONTENT_POLICY, "the provider's content filter ended it"),
    ],
)
async def test_a_call_that_breaks_in_the_middle_keeps_its_text_marked(
    world: World, kind: FailureKind, cut: Cut, note: str
) -> None:
    aki = await world.person()
    world.model.script = [("half an answ", kind)]
    thread = await new_thread(world, aki, "hello", "go on")
    broken = answer(await world.page(aki, thread), "half an answ")
    assert (broken.state, broken.cut, broken.position) == (AnswerState.FAILED, cut, 2)
    assert speaks(broken.failure)
    assert broken.usage
    assert broken.usage.estimated
    assert f"half an answ\n⟦note: this answer was cut off: {note}⟧" in world.model.sent()


async def test_every_kind_of_failure_can_be_shown(world: World) -> None:
    aki = await world.person()
    kinds = [kind for kind in FailureKind if kind is not FailureKind.MALFORMED]
    world.model.script = list(kinds)
    thread = await new_thread(world, aki, *(f"try {kind}" for kind in kinds))
    answers = await world.answers(aki, thread)
    assert [a.failure.key for a in answers if a.failure] == [f"model_failure.{kind}" for kind in kinds]
    assert len({speaks(a.failure) for a in answers}) == len(kinds)


async def test_a_retry_after_a_failure_answers_the_message(world: World) -> None:
    aki = await world.person()
    world.model.script = [FailureKind.PROVIDER_DOWN]
    thread = await new_thread(world, aki, "hello")
    (failed,) = await world.answers(aki, thread)
    run_id = await answer_again(world.services, aki, thread, failed.run_id, model=None, event_key="r")
    await world.finished(run_id)
    assert await world.texts(aki, thread) == ["hello", "answer 2"]
    assert [a.state for a in await world.answers(aki, thread)] == [AnswerState.FAILED, AnswerState.DONE]


async def test_a_request_over_budget_is_refused_before_the_call(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "one")
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=0.2)
    assert (await refusal_shown(world, aki, thread)).endswith("Nothing was sent.")
    await world.say(ben, "my own budget", thread)
    assert len(world.model.calls) == 2
    world.policies[WORKSPACE.external_id] = Policy(budget_workspace_usd_month=0.4)
    assert "the workspace's budget" in await refusal_shown(world, ben, thread)
    assert len(world.model.calls) == 2
    assert await count(world, "receipt") == 2
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=0.3, budget_workspace_usd_month=9)
    await world.say(aki, "enough again", thread)
    assert len(world.model.calls) == 3


async def test_the_price_of_the_call_itself_counts_towards_the_budget(world: World) -> None:
    aki = await world.person()
    world.policies[WORKSPACE.external_id] = Policy(budget_person_usd_month=0.01)
    said = await world.say(aki, "hello", model="small")
    assert said.thread_id
    (refused_answer,) = await world.answers(aki, said.thread_id)
    assert "0 of 0.01 USD are spent" in speaks(refused_answer.failure)
    assert world.model.calls == []


async def test_a_request_too_large_for_its_model_is_refused_with_the_numbers(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "長い依頼です。" * 1_000, model="small")
    assert said.thread_id
    (refused_answer,) = await world.answers(aki, said.thread_id)
    assert refused_answer.state is AnswerState.FAILED
    assert "3000 are allowed" in speaks(refused_answer.failure)
    assert world.model.calls == []
    assert await count(world, "receipt") == 0
    assert buttons(refused_answer) == [ButtonAction.RETRY, ButtonAction.OTHER_MODEL]
    await world.finished(
        await answer_again(
            world.services, aki, said.thread_id, refused_answer.run_id, model="alpha", event_key="r"
        )
    )
    assert len(world.model.calls) == 1


async def refusal_shown(world: World, actor: Actor, thread: ThreadId) -> str:
    """What is shown in place of an answer to one more message."""
    await world.say(actor, "one more", thread)
    shown = [v for v in world.poster.posts.values() if isinstance(v, AnswerView)][-1]
    assert shown.state is AnswerState.FAILED
    return speaks(shown.failure)
