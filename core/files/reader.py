"""Reading an attachment: what it is, its text, or the code of why it cannot be read."""

import asyncio
from dataclasses import dataclass

from core.files.charset import clean, decode
from core.files.kind import Kind, claimed_kind, kind_of, text_type
from core.files.pdf import pdf_text

MAX_FILE_BYTES = 10 * 1024 * 1024
"""Ten times the text we keep at four bytes a character, and room for the pictures in a PDF; it is held in memory."""

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""The smallest limit among the usual providers: 5 MB an image (Anthropic, Messages API, vision, November 2026)."""

MAX_TEXT_CHARS = 200_000
"""About 50,000 tokens: more than a window holds, and what one message can bring without drowning the rest."""

PDF_PROCESSES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """What came out of a file. Exactly one of three: text, an image (no text, no problem), or a problem.

    `problem` is `attachment.<code>` of the catalogue. Only `cut` comes together with text: the start of a longer one.
    """

    media_type: str
    """By content, not by what the sender said."""
    text: str = ""
    problem: str = ""


class FileReader:
    """Reads files, at most `pdf_processes` PDFs at one time; others wait for their turn."""

    def __init__(self, *, pdf_processes: int = PDF_PROCESSES) -> None:
        self._pdf_places = asyncio.Semaphore(pdf_processes)

    async def read_file(self, name: str, media_type: str, data: bytes) -> FileText:
        """The text of `data`, or why there is none. Name and declared type never decide what a file is.

        They can only make it be refused: a file that is something else than its name says is not read.
        """
        kind, found_type = kind_of(data)
        problem = _refused(kind, claimed_kind(name, media_type), len(data))
        if problem or kind is Kind.IMAGE:
            return FileText(media_type=found_type, problem=problem)
        if kind is Kind.PDF:
            async with self._pdf_places:
                text, problem = await pdf_text(data, max_chars=MAX_TEXT_CHARS)
            return _kept(found_type, clean(text), problem)
        text_found = await asyncio.to_thread(decode, data)
        if text_found is None:
            return FileText(media_type="application/octet-stream", problem="unsupported_type")
        return _kept(text_type(name), text_found, "" if text_found.strip() else "empty")


def _refused(kind: Kind, claimed: Kind | None, size_bytes: int) -> str:
    if size_bytes == 0:
        return "empty"
    if size_bytes > (MAX_IMAGE_BYTES if kind is Kind.IMAGE else MAX_FILE_BYTES):
        return "too_large"
    if claimed is not None and claimed is not kind:
        return "wrong_type"
    return "unsupported_type" if kind is Kind.OTHER else ""


def _kept(media_type: str, text: str, problem: str) -> FileText:
    if problem:
        return FileText(media_type=media_type, problem=problem)
    if len(text) > MAX_TEXT_CHARS:
        return FileText(media_type=media_type, text=text[:MAX_TEXT_CHARS], problem="cut")
    return FileText(media_type=media_type, text=text)
