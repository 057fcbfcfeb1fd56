"""One genuine worker process and one fake provider for all tests of this room: a start costs seconds."""

import os
from collections.abc import AsyncIterator

import pytest_asyncio

from core.llm.gateway import GatewaySettings
from core.llm.link import WorkerLink
from tests.llm.calls import make_call, make_gateway, make_model, run
from tests.llm.fake_provider import FakeProvider


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def link() -> AsyncIterator[WorkerLink]:
    worker = WorkerLink(env=os.environ)
    worker.start()
    try:
        assert await worker.wait_ready(60.0)
        await _warm_up(worker)
        yield worker
    finally:
        await worker.close()


async def _warm_up(worker: WorkerLink) -> None:
    """Make a call and a failure: the library imports more on its first of each, which short deadlines mistake."""
    async with FakeProvider() as running:
        models = [make_model(name, running.base_url) for name in ("fine", "401")]
        gateway, _ = make_gateway(models, worker, GatewaySettings())
        for model in models:
            await run(gateway, make_call(model.alias))


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as running:
        yield running
