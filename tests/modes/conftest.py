"""A product for each test of a mode."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.product import FILES, World, open_world


def urls(folder: Path) -> list[str]:
    return [f"sqlite:///{folder / name}" for name in FILES]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    """The product on two SQLite files."""
    async with open_world(*urls(tmp_path)) as opened:
        yield opened
