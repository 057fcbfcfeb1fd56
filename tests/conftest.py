"""What every test gets: a watch over the event loop, and a Postgres on request."""

from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster
from hypothesis import settings

import bot
import core
from tests.postgres import fresh_database, running_postgres
from tests.statement import share_compiled_statements

# How long one example takes depends on who else uses the machine.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")

MAY_BLOCK: tuple[tuple[str, str], ...] = (
    # Read on first use of a language, once in the life of a process; from then on the texts are in memory.
    ("core/i18n/__init__.py", "catalogue"),
    # Makes the path of a SQLite file absolute, once for each engine; asks nothing of the disk.
    ("sqlalchemy/dialects/sqlite/pysqlite.py", "create_connect_args"),
)
"""Functions, by file and name, under which blocking calls are allowed on the loop. Each with its reason."""


@pytest.fixture(autouse=True, scope="session")
def loop_stays_free() -> Iterator[None]:
    """Fail every test in whose course our code, on the event loop, calls something that blocks.

    Only calls with a frame of `bot` or `core` in their stack count: tests themselves may read files.
    """
    guard = BlockBuster(scanned_modules=[bot, core])
    for file, caller in MAY_BLOCK:
        for function in guard.functions.values():
            function.can_block_in(file, caller)
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()


@pytest.fixture(autouse=True, scope="session")
def statements_are_compiled_once() -> Iterator[None]:
    """Spare each test's new databases the work that those of the test before have done."""
    with pytest.MonkeyPatch.context() as patch:
        share_compiled_statements(patch)
        yield


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
