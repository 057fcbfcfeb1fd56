"""A version of a prompt as a file to keep, and such files as the parts of a prompt. Not on the event loop."""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bot.prompt_outline import PARTS
from core.commands.say import Upload
from core.domain.errors import Refusal

MOST_FILES: Final = 50
MOST_BYTES: Final = 4_000_000
"""Of one part; far more than a prompt may have, so that what is too long is told as everywhere else."""

_MADE: Final = (1980, 1, 1, 0, 0, 0)
"""The same text gives the same file, whenever it is asked for."""


def zipped(name: str, files: Mapping[str, str]) -> bytes:
    """The parts of a prompt in a folder with its name."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in sorted(files):
            archive.writestr(zipfile.ZipInfo(f"{name}/{part}", _MADE), files[part], zipfile.ZIP_DEFLATED)
    return held.getvalue()


def parts_in(uploads: Iterable[Upload]) -> dict[str, str]:
    """The parts among files that a person chose, or in a ZIP file of them. Raises Refusal; then none is taken."""
    parts: dict[str, str] = {}
    for upload in uploads:
        for path, data in files_in(upload):
            part = path.replace("\\", "/").rpartition("/")[2]
            if part not in PARTS or part in parts:
                raise Refusal("prompt_upload", name=path[:100], allowed=", ".join(PARTS))
            try:
                parts[part] = data.decode("utf-8-sig").replace("\r\n", "\n")
            except UnicodeDecodeError as error:
                raise Refusal("prompt_upload_not_text", name=path[:100]) from error
    if not parts:
        raise Refusal("prompt_upload", name="", allowed=", ".join(PARTS))
    return parts


def files_in(upload: Upload) -> Iterator[tuple[str, bytes]]:
    """Path and content of a file that a person chose, or of those in a ZIP. Raises Refusal."""
    if not upload.name.lower().endswith(".zip"):
        yield upload.name, upload.data
        return
    try:
        with zipfile.ZipFile(io.BytesIO(upload.data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or any(entry.file_size > MOST_BYTES for entry in entries):
                raise Refusal("prompt_upload_zip", name=upload.name[:100])
            for entry in entries:
                with archive.open(entry) as opened:
                    yield entry.filename, opened.read(MOST_BYTES)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise Refusal("prompt_upload_zip", name=upload.name[:100]) from error
