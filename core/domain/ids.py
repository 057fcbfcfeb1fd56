"""The kinds of id, so that a type checker catches a swap, and the short codes that people see."""

import secrets
import time
from collections.abc import Callable
from typing import Final, NewType
from uuid import UUID

WorkspaceId = NewType("WorkspaceId", str)
PersonId = NewType("PersonId", str)
ThreadId = NewType("ThreadId", str)
ConversationId = NewType("ConversationId", str)
MessageId = NewType("MessageId", str)
RunId = NewType("RunId", str)
ReceiptId = NewType("ReceiptId", str)
AttachmentId = NewType("AttachmentId", str)

SHORT_CODE_LENGTH = 6


def short_code(row_id: str) -> str:
    """The code that people see in place of a UUIDv7: its last six hex digits, which are random bits."""
    return row_id.replace("-", "")[-SHORT_CODE_LENGTH:]


_TICKS: Final = 4096
"""Parts of a millisecond that an id tells apart: what twelve bits hold."""


class IdSource:
    """Makes UUIDv7 in the order in which they are asked for, each with the moment at which it was (RFC 9562 §6.2,
    method 3).

    However many are made at once, their time does not run ahead of the clock, as it would if each took a millisecond
    of its own: posts are looked up from the moment in their key on.
    """

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns = now_ns
        self._last = 0

    def new(self) -> str:
        self._last = max(self._now_ns() * _TICKS // 1_000_000, self._last + 1)
        millisecond, part = divmod(self._last, _TICKS)
        return str(UUID(int=millisecond << 80 | 7 << 76 | part << 64 | 2 << 62 | secrets.randbits(62)))
