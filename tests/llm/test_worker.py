"""The worker by itself: each interface it speaks, and its own end."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import core
from core.domain.errors import FailureKind, ModelFailure
from core.domain.receipt import Finish
from core.llm.answer import Answer, Deadlines
from core.llm.link import LinkSettings, WorkerCall, WorkerLink
from core.llm.worker import AS_SENT
from tests.llm.calls import KEY, SECRET
from tests.llm.fake_provider import PARTIAL, TEXT, FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEADLINES = Deadlines(first_s=15.0, idle_s=0.6, total_s=20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    text: str
    answer: Answer
    failure: ModelFailure | None


async def ask(link: WorkerLink, model: str, address: str) -> Result:
    call = WorkerCall(
        model=model,
        api_base=address,
        api_key=KEY,
        messages=({"role": "user", "content": SECRET},),
        params={"max_tokens": 50},
        stream=True,
        timeout_s=20.0,
        price=True,
    )
    exchange = await link.call(call)
    now = asyncio.get_running_loop().time()
    answer = Answer(exchange, DEADLINES, sent_at=now, end_at=now + DEADLINES.total_s)
    try:
        async for _ in answer.deltas():
            pass
    except ModelFailure as failure:
        return Result(text=answer.text, answer=answer, failure=failure)
    finally:
        exchange.close()
    return Result(text=answer.text, answer=answer, failure=None)


@pytest.mark.parametrize(
    ("behaviour", "kind", "text"),
    [
        ("401", FailureKind.AUTH, ""),
        ("quota", FailureKind.QUOTA, ""),
        ("429", FailureKind.RATE_LIMITED, ""),
        ("context", FailureKind.CONTEXT_TOO_LONG, ""),
        ("policy", FailureKind.CONTENT_POLICY, ""),
        ("500", FailureKind.PROVIDER_DOWN, ""),
        ("error-event-first", FailureKind.PROVIDER_DOWN, ""),
        ("nothing", FailureKind.EMPTY, ""),
        ("malformed", FailureKind.INTERRUPTED, PARTIAL),
        ("error-event", FailureKind.INTERRUPTED, PARTIAL),
        ("drop", FailureKind.INTERRUPTED, PARTIAL),
        ("cut", FailureKind.INTERRUPTED, PARTIAL),
        ("cut-done", FailureKind.INTERRUPTED, PARTIAL),
        ("stall", FailureKind.TIMEOUT_IDLE, PARTIAL),
    ],
)
async def test_openais_own_interface_fails_by_the_same_kinds_and_is_asked_once(
    link: WorkerLink, provider: FakeProvider, behaviour: str, kind: FailureKind, text: str
) -> None:
    result = await ask(link, f"openai/{behaviour}", provider.base_url)
    assert result.failure is not None
    assert result.failure.kind is kind
    assert result.text == text
    assert provider.hits[behaviour] == 1, "the library's own silent retries are off"
    assert await provider.all_closed(behaviour, within_s=0.5)


@pytest.mark.parametrize(
    "interface", ["deepseek", "groq", "hosted_vllm", "mistral", "openai", "openrouter", "xai"]
)
async def test_interfaces_like_openais_report_what_the_provider_said_and_nothing_it_did_not(
    link: WorkerLink, provider: FakeProvider, interface: str
) -> None:
    assert interface in AS_SENT
    fine = (await ask(link, f"{interface}/fine", provider.base_url)).answer
    silent = (await ask(link, f"{interface}/no-usage", provider.base_url)).answer
    unfinished = await ask(link, f"{interface}/cut-done", provider.base_url)
    stalled = await ask(link, f"{interface}/stall", provider.base_url)
    assert fine.text == silent.text == TEXT
    assert fine.ended.usage == (40, 5)
    assert fine.ended.reported_model_id == "fine-2026-11-30"
    assert silent.ended.usage is None
    assert unfinished.failure is not None
    assert unfinished.failure.kind is FailureKind.INTERRUPTED
    assert stalled.failure is not None
    assert await provider.all_closed("stall", within_s=0.5)


async def test_any_other_interface_goes_through_the_librarys_own_reading(
    link: WorkerLink, provider: FakeProvider
) -> None:
    assert "together_ai" not in AS_SENT
    fine = (await ask(link, "together_ai/fine", provider.base_url)).answer
    dropped = await ask(link, "together_ai/drop", provider.base_url)
    stalled = await ask(link, "together_ai/stall", provider.base_url)
    assert (fine.text, fine.ended.usage, fine.ended.reported_model_id) == (TEXT, (40, 5), "")
    assert (dropped.text, stalled.text) == (PARTIAL, PARTIAL)
    assert dropped.failure is not None
    assert dropped.failure.kind is FailureKind.INTERRUPTED
    assert await provider.all_closed("stall", within_s=0.5)


async def test_a_name_that_a_provider_reports_is_one_line_and_no_longer_than_can_be_stored(
    link: WorkerLink, provider: FakeProvider
) -> None:
    named = (await ask(link, "hosted_vllm/long-name", provider.base_url)).answer
    assert named.text == TEXT
    assert named.ended.reported_model_id == "ab" + "x" * 198


async def test_anthropics_interface_streams_and_prices_a_known_model(
    link: WorkerLink, provider: FakeProvider
) -> None:
    address = provider.base_url.removesuffix("/v1")
    unknown = (await ask(link, "anthropic/fine", address)).answer
    known = (await ask(link, "anthropic/claude-haiku-4-5-20251001", address)).answer
    assert unknown.text == known.text == TEXT
    assert unknown.ended.finish is Finish.STOP
    assert unknown.ended.usage == known.ended.usage == (40, 5)
    assert unknown.ended.reported_model_id == "fine-2026-11-30"
    assert unknown.ended.cost_usd is None
    assert known.ended.cost_usd == pytest.approx((40 * 1.0 + 5 * 5.0) / 1_000_000)
    assert provider.requests[0]["max_tokens"] == 50


async def test_googles_interface_streams(link: WorkerLink, provider: FakeProvider) -> None:
    fine = (await ask(link, "gemini/fine", provider.base_url)).answer
    filtered = (await ask(link, "gemini/safety", provider.base_url)).answer
    assert fine.text == TEXT
    assert (fine.ended.finish, fine.ended.usage) == (Finish.STOP, (40, 5))
    assert fine.ended.reported_model_id == "gemini-2026-11-30"
    assert (filtered.text, filtered.ended.finish) == (PARTIAL, Finish.CONTENT_FILTER)


@pytest.mark.parametrize(
    ("model", "kind", "text"),
    [
        ("anthropic/401", FailureKind.AUTH, ""),
        ("anthropic/529", FailureKind.PROVIDER_DOWN, ""),
        ("anthropic/cut", FailureKind.INTERRUPTED, PARTIAL),
        ("anthropic/overloaded", FailureKind.INTERRUPTED, PARTIAL),
        ("anthropic/stall", FailureKind.TIMEOUT_IDLE, PARTIAL),
        ("gemini/400", FailureKind.AUTH, ""),
        ("gemini/429", FailureKind.RATE_LIMITED, ""),
        ("gemini/503", FailureKind.PROVIDER_DOWN, ""),
        ("gemini/cut", FailureKind.INTERRUPTED, PARTIAL),
        ("gemini/stall", FailureKind.TIMEOUT_IDLE, PARTIAL),
    ],
)
async def test_anthropics_and_googles_interfaces_fail_by_the_same_kinds(
    link: WorkerLink, provider: FakeProvider, model: str, kind: FailureKind, text: str
) -> None:
    google = model.startswith("gemini/")
    address = provider.base_url if google else provider.base_url.removesuffix("/v1")
    result = await ask(link, model, address)
    behaviour = model.replace("/", "-") if google else model.replace("anthropic/", "messages-")
    assert result.failure is not None
    assert result.failure.kind is kind
    assert result.text == text
    assert provider.hits[behaviour] == 1
    assert await provider.all_closed(behaviour, within_s=0.5)


async def test_the_worker_knows_no_secret_of_this_process_and_no_key_by_argument(link: WorkerLink) -> None:
    assert link.process is not None
    folder = Path(f"/proc/{link.process.pid}")
    environment = await asyncio.to_thread((folder / "environ").read_bytes)
    arguments = await asyncio.to_thread((folder / "cmdline").read_bytes)
    names = {entry.partition(b"=")[0] for entry in environment.split(b"\0") if entry}
    assert b"PATH" in names
    assert not {name for name in names if b"KEY" in name or b"TOKEN" in name or name.startswith(b"PYTEST")}
    assert arguments.split(b"\0")[1:3] == [b"-m", b"core.llm.worker"]


async def test_a_worker_that_does_not_react_is_replaced(provider: FakeProvider) -> None:
    own = WorkerLink(env=os.environ, settings=LinkSettings(ping_s=0.3, pings=9, restart_first_s=0.05))
    own.start()
    try:
        assert await own.wait_ready(60.0)
        first = own.process
        assert first is not None
        os.kill(first.pid, signal.SIGSTOP)
        stuck = await ask(own, "hosted_vllm/fine", provider.base_url)
        assert stuck.failure is not None
        assert stuck.failure.kind is FailureKind.INTERRUPTED
        assert await own.wait_ready(60.0)
        assert own.process is not first
        assert first.returncode == -signal.SIGKILL
        assert (await ask(own, "hosted_vllm/fine", provider.base_url)).text == TEXT
    finally:
        await own.close()


PARENT = """
import asyncio, os
from core.llm.link import WorkerLink

async def main():
    link = WorkerLink(env=os.environ)
    link.start()
    assert await link.wait_ready(60)
    print(link.process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_worker_ends_when_its_parent_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        env={**os.environ, "PYTHONPATH": str(Path(core.__path__[0]).parent)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    async with asyncio.timeout(60):
        pid = int(await parent.stdout.readline())
    assert _is_running(pid)
    parent.kill()
    await parent.wait()
    for _ in range(100):
        if not _is_running(pid):
            return
        await asyncio.sleep(0.05)
    pytest.fail("the worker outlived its parent by 5 s")


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
