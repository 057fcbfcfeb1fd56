"""A product for each test of a command."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.product import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """The product on two SQLite files."""
    async with open_world(
        f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}"
    ) as opened:
        yield opened


@pytest.fixture
async def postgres_world(tmp_path: Path, postgres_url: str) -> AsyncGenerator[World]:
    """The product with its own data on Postgres, where writers do not queue in the process."""
    async with open_world(postgres_url, f"sqlite:///{tmp_path / 'engine.db'}") as opened:
        yield opened
