"""One genuine worker process and one fake provider for all tests of this room: a start costs seconds."""

import os
from collections.abc import AsyncIterator

import pytest_asyncio

from core.llm.link import WorkerLink
from tests.llm.fake_provider import FakeProvider


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def link() -> AsyncIterator[WorkerLink]:
    worker = WorkerLink(env=os.environ)
    worker.start()
    try:
        assert await worker.wait_ready(60.0)
        yield worker
    finally:
        await worker.close()


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as running:
        yield running
