import asyncio

import pytest

from core.domain.errors import FailureKind, ModelFailure
from core.domain.ids import WorkspaceId
from core.llm.admission import Admission, AdmissionSettings
from core.llm.catalogue import Model

ONE = Model(alias="one", id="x/one", api_key_env="K", concurrency=1)
OTHER = Model(alias="other", id="y/other", api_key_env="K", concurrency=1)


class Crowd:
    """Calls that stay until they are told to go, and the order in which they got their places."""

    def __init__(self, admission: Admission, group: asyncio.TaskGroup) -> None:
        self._admission = admission
        self._group = group
        self._leave: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.order: list[str] = []

    async def come(self, name: str, workspace: str, model: Model = ONE) -> None:
        self._leave[name] = asyncio.Event()
        self._tasks[name] = self._group.create_task(self._stay(name, WorkspaceId(workspace), model))
        await settle()

    def tell_to_go(self, name: str) -> None:
        self._leave[name].set()

    async def go(self, name: str) -> None:
        self.tell_to_go(name)
        await settle()

    async def give_up(self, name: str) -> None:
        self._tasks[name].cancel()
        await settle()
        assert self._tasks[name].cancelled()

    async def _stay(self, name: str, workspace_id: WorkspaceId, model: Model) -> None:
        async with self._admission.place(workspace_id, model):
            self.order.append(name)
            await self._leave[name].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_within_a_workspace_first_come_first_served_and_workspaces_take_turns() -> None:
    admission = Admission(AdmissionSettings())
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        for name, workspace in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("a4", "a"), ("b1", "b"), ("c1", "c")):
            await crowd.come(name, workspace)
        assert (admission.active, admission.queued) == (1, 5)
        for name in ("a1", "a2", "b1", "c1", "a3", "a4"):
            await crowd.go(name)
        assert crowd.order == ["a1", "a2", "b1", "c1", "a3", "a4"]
    assert (admission.active, admission.queued) == (0, 0)


async def test_a_full_model_does_not_hold_up_calls_to_another() -> None:
    admission = Admission(AdmissionSettings())
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        await crowd.come("one", "a")
        await crowd.come("waiting", "a")
        await crowd.come("other", "a", OTHER)
        assert crowd.order == ["one", "other"]
        for name in ("one", "other", "waiting"):
            await crowd.go(name)


@pytest.mark.parametrize("settings", [AdmissionSettings(total=1), AdmissionSettings(account=1)])
async def test_account_and_worker_have_limits_of_their_own(settings: AdmissionSettings) -> None:
    admission = Admission(settings)
    wide = Model(alias="wide", id="x/wide", api_key_env="K", concurrency=9)
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        await crowd.come("one", "a")
        await crowd.come("two", "b", wide)
        assert crowd.order == ["one"]
        await crowd.go("one")
        assert crowd.order == ["one", "two"]
        await crowd.go("two")


async def test_one_workspace_may_only_have_so_many_waiting() -> None:
    admission = Admission(AdmissionSettings(waiting=1))
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        await crowd.come("one", "a")
        await crowd.come("two", "a")
        with pytest.raises(ModelFailure) as caught:
            async with admission.place(WorkspaceId("a"), ONE):
                pass
        assert caught.value.kind is FailureKind.OVERLOADED
        await crowd.come("three", "b")
        for name in ("one", "two", "three"):
            await crowd.go(name)
    assert sorted(crowd.order) == ["one", "three", "two"]


async def test_who_waits_too_long_is_refused_and_leaves_the_line() -> None:
    admission = Admission(AdmissionSettings(wait_s=0.05))
    async with admission.place(WorkspaceId("a"), ONE) as waited_s:
        assert waited_s < 0.05
        with pytest.raises(ModelFailure) as caught:
            async with admission.place(WorkspaceId("a"), ONE):
                pass
        assert caught.value.kind is FailureKind.OVERLOADED
        assert caught.value.retryable
        assert admission.queued == 0
    assert admission.active == 0


async def test_a_cancelled_wait_gives_its_turn_to_the_next() -> None:
    admission = Admission(AdmissionSettings())
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        await crowd.come("one", "a")
        await crowd.come("gone", "a")
        await crowd.come("next", "a")
        await crowd.give_up("gone")
        assert admission.queued == 1
        await crowd.go("one")
        assert crowd.order == ["one", "next"]
        await crowd.go("next")
    assert (admission.active, admission.queued) == (0, 0)


async def test_a_place_that_comes_in_the_moment_of_a_cancel_is_given_back() -> None:
    admission = Admission(AdmissionSettings())
    async with asyncio.TaskGroup() as group:
        crowd = Crowd(admission, group)
        await crowd.come("one", "a")
        await crowd.come("gone", "a")
        crowd.tell_to_go("one")
        for _ in range(5):
            if not admission.queued:
                break
            await asyncio.sleep(0)
        # "one" has left and its place is given to "gone", who has not run since.
        assert (crowd.order, admission.active, admission.queued) == (["one"], 1, 0)
        await crowd.give_up("gone")
        assert (admission.active, admission.queued) == (0, 0)
        await crowd.come("next", "a")
        assert crowd.order == ["one", "next"]
        await crowd.go("next")
