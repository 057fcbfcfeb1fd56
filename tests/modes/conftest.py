"""A product for each test of a mode."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.product import World, open_world

FILES = ("app.db", "engine.db")


def urls(folder: Path) -> list[str]:
    return [f"sqlite:///{folder / name}" for name in FILES]


@pytest.fixture(scope="session")
def empty_product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both databases as a first start leaves them: making their tables costs more than most tests."""
    folder = tmp_path_factory.mktemp("empty")

    async def make() -> None:
        async with open_world(*urls(folder)):
            pass

    asyncio.run(make())
    return folder


@pytest.fixture
async def world(tmp_path: Path, empty_product: Path) -> AsyncGenerator[World]:
    """The product on two SQLite files."""
    for name in FILES:
        shutil.copy(empty_product / name, tmp_path / name)
    async with open_world(*urls(tmp_path)) as opened:
        yield opened
