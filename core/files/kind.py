"""What a file is, by its first bytes, and what its name claims."""

from enum import StrEnum
from pathlib import PurePath


class Kind(StrEnum):
    """`TEXT` holds everything that may turn out to be text; only decoding it decides."""

    TEXT = "text"
    PDF = "pdf"
    IMAGE = "image"
    OTHER = "other"


_IMAGE_NAMES = frozenset({"png", "jpg", "jpeg", "jpe", "gif", "webp"})

PDF_HEADER_WITHIN = 1024
"""Readers accept a PDF whose header stands within its first 1,024 bytes (ISO 32000-1, annex H.3, note 13)."""

BINARY_LOOK_BYTES = 8192
"""A NUL byte in this much of a file's start says that it is not text, as Git decides it too."""

_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""UTF-16 and UTF-32 begin with a byte order mark and hold NUL bytes rightly."""


def kind_of(data: bytes) -> tuple[Kind, str]:
    """Kind and media type of `data` by content alone."""
    image = _image_type(data)
    if image:
        return Kind.IMAGE, image
    if b"%PDF-" in data[:PDF_HEADER_WITHIN]:
        return Kind.PDF, "application/pdf"
    wide = data.startswith(_WIDE_MARKS) or data.startswith(b"\x00\x00\xfe\xff")
    if b"\x00" in data[:BINARY_LOOK_BYTES] and not wide:
        return Kind.OTHER, "application/octet-stream"
    return Kind.TEXT, "text/plain"


def _image_type(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def claimed_kind(name: str, media_type: str) -> Kind | None:
    """What name and declared media type say the file is; None when they say nothing that we could check.

    The name comes first: platforms derive the media type from it, and people see the name.
    """
    suffix = PurePath(name).suffix.lower().lstrip(".")
    if suffix == "pdf":
        return Kind.PDF
    if suffix in _IMAGE_NAMES:
        return Kind.IMAGE
    if suffix in {"txt", "md", "csv"}:
        return Kind.TEXT
    if suffix:
        return None
    return _claimed_by_type(media_type.partition(";")[0].strip().lower())


def _claimed_by_type(media_type: str) -> Kind | None:
    if media_type == "application/pdf":
        return Kind.PDF
    if media_type in {"image/png", "image/jpeg", "image/gif", "image/webp"}:
        return Kind.IMAGE
    return Kind.TEXT if media_type.startswith("text/") else None


def text_type(name: str) -> str:
    """Media type of a file that is text, by its name."""
    suffix = PurePath(name).suffix.lower()
    return {".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv"}.get(
        suffix, "text/plain"
    )
