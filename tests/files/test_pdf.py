"""PDFs that try to harm: each ends within its limits, and no process is left behind."""

import asyncio
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import pytest

from core.files.pdf import pdf_text
from core.files.reader import FileReader
from tests.files.pdf_maker import line, pdf

ENDLESS = pdf(line("x") * 1_000_000, compress=True)
"""Some kilobytes that unpack to 40 MB of page description, which takes minutes to read."""


class Started:
    """The processes that were started, as they come."""

    def __init__(self) -> None:
        self.processes: asyncio.Queue[Process] = asyncio.Queue()
        self._start = asyncio.create_subprocess_exec

    async def __call__(self, *arguments: Any, **options: Any) -> Process:
        process = await self._start(*arguments, **options)
        self.processes.put_nowait(process)
        return process

    async def next(self) -> Process:
        async with asyncio.timeout(10):
            return await self.processes.get()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    started = Started()
    monkeypatch.setattr(asyncio, "create_subprocess_exec", started)
    return started


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_pdf_that_unpacks_to_more_than_any_page_holds_is_too_complex() -> None:
    bomb = pdf(b"\n" * 200_000_000, compress=True)
    assert len(bomb) < 300_000
    assert await pdf_text(bomb, max_chars=100) == ("", "too_complex")


async def test_a_pdf_that_needs_more_memory_than_it_may_have_is_too_complex() -> None:
    assert await pdf_text(ENDLESS, max_chars=100, memory_bytes=200 * 1024 * 1024) == ("", "too_complex")


async def test_a_pdf_that_takes_too_long_is_ended_at_its_deadline(started: Started) -> None:
    async with asyncio.timeout(10):
        assert await pdf_text(ENDLESS, max_chars=100, deadline_s=1.0) == ("", "timed_out")
    assert (await started.next()).returncode == -9


async def test_cancelling_the_reader_ends_the_process(started: Started) -> None:
    task = asyncio.create_task(pdf_text(ENDLESS, max_chars=100))
    process = await started.next()
    await cancelled(task)
    assert process.returncode == -9


async def test_only_so_many_pdfs_are_read_at_one_time(started: Started) -> None:
    reader = FileReader(pdf_processes=1)
    slow = asyncio.create_task(reader.read_file("a.pdf", "", ENDLESS))
    await started.next()
    quick = asyncio.create_task(reader.read_file("b.pdf", "", pdf(line("quick"))))
    assert (await reader.read_file("c.txt", "", b"no turn needed")).text == "no turn needed"
    assert started.processes.empty()
    await cancelled(slow)
    assert (await quick).text == "quick"


async def test_the_process_sees_nothing_of_our_environment(
    monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "hidden")
    task = asyncio.create_task(pdf_text(ENDLESS, max_chars=100))
    process = await started.next()
    environment = await asyncio.to_thread(Path(f"/proc/{process.pid}/environ").read_bytes)
    await cancelled(task)
    assert b"hidden" not in environment
