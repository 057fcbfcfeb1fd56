"""A migrated, empty database of each kind, and what stands in it before a test begins."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.store.database import Store
from core.store.migrations import migrate
from tests.store.ground import Ground, prepare


@asynccontextmanager
async def _opened(url: str) -> AsyncGenerator[Store]:
    store = Store(url)
    await migrate(store)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'app.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def store(database_url: str) -> AsyncGenerator[Store]:
    async with _opened(database_url) as opened:
        yield opened


@pytest.fixture
async def sqlite_store(tmp_path: Path) -> AsyncGenerator[Store]:
    """For what does not differ between the two databases."""
    async with _opened(f"sqlite:///{tmp_path / 'app.db'}") as opened:
        yield opened


@pytest.fixture
async def ground(store: Store) -> Ground:
    return await prepare(store)


@pytest.fixture
async def sqlite_ground(sqlite_store: Store) -> Ground:
    return await prepare(sqlite_store)
