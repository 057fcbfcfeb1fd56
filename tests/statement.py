"""Compiled SQL that all engines of a test process share.

Every test opens databases of its own, and an engine compiles each statement anew: nearly half of all that the tests
compute. SQLAlchemy takes a cache from outside and keys it by the dialect, of which every engine has its own.
"""

import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

MOST_STATEMENTS = 5_000


def share_compiled_statements(patch: pytest.MonkeyPatch) -> None:
    """Let dialects that write the same SQL be equal, and give every connection from now on the same cache."""
    patch.setattr(DefaultDialect, "__eq__", _alike)
    patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)))
    shared: LRUCache[object, object] = LRUCache(MOST_STATEMENTS)

    @event.listens_for(Engine, "engine_connect")
    def lend(connection: Connection) -> None:
        connection.execution_options(compiled_cache=shared)


def _alike(one: DefaultDialect, other: object) -> bool:
    return type(one) is type(other) and _setting(one) == _setting(other)


def _setting(dialect: object) -> tuple[object, ...]:
    names = ("paramstyle", "server_version_info", "_json_serializer", "_json_deserializer")
    return tuple(getattr(dialect, name, None) for name in names)
