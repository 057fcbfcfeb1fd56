"""The guards of the test run themselves: a guard that sleeps would let everything through."""

import asyncio
import socket
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from blockbuster import BlockingError

import core

PRODUCT_FILE = str(Path(core.__file__).with_name("made_up.py"))


def product_function(body: str) -> Callable[..., Any]:
    """A function that counts as the product's own, because its code says that it lies in `core`."""
    names: dict[str, Any] = {"time": time, "open": open}
    exec(compile(f"def act(*given):\n    {body}\n", PRODUCT_FILE, "exec"), names)  # noqa: S102 our own line
    act: Callable[..., Any] = names["act"]
    return act


async def test_the_product_may_not_sleep_on_the_event_loop() -> None:
    with pytest.raises(BlockingError, match=r"time\.sleep"):
        product_function("time.sleep(0)")()


async def test_the_product_may_not_read_a_file_on_the_event_loop(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    read = product_function("with open(given[0]) as file: return file.read()")
    with pytest.raises(BlockingError, match="read"):
        read(file)
    assert await asyncio.to_thread(read, file) == "text"


def test_nothing_leaves_this_machine() -> None:
    with socket.socket() as outside, pytest.raises(UserWarning, match=r"192\.0\.2\.1"):
        outside.connect(("192.0.2.1", 80))


def test_a_warning_fails_a_test() -> None:
    with pytest.raises(ResourceWarning, match="left open"):
        warnings.warn("left open", ResourceWarning, stacklevel=1)


def test_every_test_has_its_own_postgres_database(postgres_url: str, postgres_server: str) -> None:
    assert postgres_url != postgres_server
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() == (0,)
        connection.execute("CREATE TABLE left_behind (id integer)")


def test_what_one_test_leaves_in_postgres_the_next_does_not_see(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() == (0,)
        connection.execute("CREATE TABLE left_behind (id integer)")
