"""A product for each test of a command, on both databases where a test asks for `world`."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.product import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """The product on two SQLite files."""
    async with open_world(f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}") as opened:
        yield opened
