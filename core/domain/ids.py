"""The kinds of id, so that a type checker catches a swap, and the short codes that people see."""

from typing import NewType

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
