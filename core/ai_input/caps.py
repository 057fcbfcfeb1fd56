"""Names of the limits that can cut an AI input, and of what can be left out of one.

People read them as `cap.<value>` and `omitted.<value>` of the catalogue.
"""

from enum import StrEnum


class Cap(StrEnum):
    WINDOW_MESSAGES = "window_messages"
    WINDOW_TOKENS = "window_tokens"
    FIRST_MESSAGE_CHARS = "first_message_chars"
    CONTEXT_TOKENS = "context_tokens"
    IMAGES = "images"
    HANDOVER_ITEMS_CHARS = "handover_items_chars"
    HANDOVER_BLOCK_CHARS = "handover_block_chars"
    HANDOVER_PREMISES_CHARS = "handover_premises_chars"


class Left(StrEnum):
    """What was left out."""

    MESSAGES = "messages"
    ERASED_MESSAGES = "erased_messages"
    UNREAD_FILES = "unread_files"
    IMAGES = "images"
    PRIOR_FIELDS = "prior_fields"
    """Fields of a handover that came with a wrong type."""
