"""What every test gets: a watch over the event loop, and a Postgres on request."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster

import bot
import core
from tests.postgres import fresh_database, running_postgres

MAY_BLOCK: tuple[tuple[str, str, str], ...] = (
    # Called once at most, on first use of a language; the texts are then in memory.
    ("io.TextIOWrapper.read", "core/i18n/__init__.py", "catalogue"),
)
"""Blocking calls that are allowed on the loop: function, file, caller. Each with its reason."""


@pytest.fixture(autouse=True)
def loop_stays_free() -> Iterator[None]:
    """Fail a test in whose course our code, on the event loop, calls something that blocks.

    Only calls with a frame of `bot` or `core` in their stack count: tests themselves may read files.
    """
    guard = BlockBuster(scanned_modules=[bot, core])
    for function, file, caller in MAY_BLOCK:
        guard.functions[function].can_block_in(file, caller)
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of the maintenance database of a Postgres that lives as long as this worker's test session."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database for this test alone, as `DATABASE_URL` would name it."""
    with fresh_database(postgres_server) as url:
        yield url
