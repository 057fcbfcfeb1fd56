"""The text of one PDF, in a process of its own: PDF from standard input, one JSON object to standard output.

A PDF is the most hostile thing people send: a few kilobytes can unpack to gigabytes or loop for hours. Here it can only
spoil this process, which has its own limits and neither our environment nor our memory. It is started by its path,
so it imports nothing of ours. Any exception that is not expected ends it, and the parent calls the file damaged.
"""

import contextlib
import io
import json
import resource
import sys

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, PyPdfError

PAGE_BREAK = "\n\n"


def limit(kind: int, value: int) -> None:
    """Where a system does not know the limit (macOS has none on memory) the parent's deadline still holds."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))


def extract(data: bytes, max_chars: int) -> dict[str, str]:
    """`problem` code or empty, and `text`: up to one character more than `max_chars`, which tells that it was cut."""
    try:
        return _extract(data, max_chars)
    except (FileNotDecryptedError, DependencyError):
        return {"problem": "encrypted_pdf", "text": ""}
    except (LimitReachedError, MemoryError, RecursionError):
        return {"problem": "too_complex", "text": ""}
    except PyPdfError:
        return {"problem": "damaged", "text": ""}


def _extract(data: bytes, max_chars: int) -> dict[str, str]:
    reader = PdfReader(io.BytesIO(data))
    # Many PDFs are encrypted with an empty password, only to forbid printing; those everyone can read.
    if reader.is_encrypted and not reader.decrypt(""):
        return {"problem": "encrypted_pdf", "text": ""}
    pages: list[str] = []
    length = 0
    for page in reader.pages:
        text = page.extract_text().strip()
        if text:
            pages.append(text)
            length += len(text) + len(PAGE_BREAK)
        if length > max_chars + len(PAGE_BREAK):
            break
    text = PAGE_BREAK.join(pages)[: max_chars + 1]
    return {"problem": "" if text else "no_text", "text": text}


def main() -> None:
    """Arguments: characters to keep, bytes of memory, seconds of processor time."""
    max_chars, memory_bytes, cpu_s = (int(argument) for argument in sys.argv[1:4])
    limit(resource.RLIMIT_AS, memory_bytes)
    limit(resource.RLIMIT_CPU, cpu_s)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_CORE, 0)
    found = extract(sys.stdin.buffer.read(), max_chars)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
