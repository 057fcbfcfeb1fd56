"""PDF text by way of `pdf_process`, with a deadline on the clock and limits on memory and processor."""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

PDF_DEADLINE_S = 20.0
"""The 200,000 characters that we keep of a plain book take 0.4 s (measured); fifty times that is an attack."""

PDF_MEMORY_BYTES = 768 * 1024 * 1024
"""Address space. One unpacked stream has at most 75 MB by pypdf's own limit, and is copied while it is parsed."""

_PROGRAM = Path(__file__).with_name("pdf_process.py")


async def pdf_text(
    data: bytes, *, max_chars: int, deadline_s: float = PDF_DEADLINE_S, memory_bytes: int = PDF_MEMORY_BYTES
) -> tuple[str, str]:
    """Text of a PDF, at most `max_chars` + 1 characters, and the problem code that goes with an empty text.

    The process is killed when the deadline passes or the caller is cancelled.
    """
    arguments = (str(max_chars), str(memory_bytes), str(int(deadline_s) + 1))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(_PROGRAM),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(deadline_s):
            output, _ = await process.communicate(data)
    except TimeoutError:
        return "", "timed_out"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return _outcome(process.returncode, output)


def _outcome(returncode: int | None, output: bytes) -> tuple[str, str]:
    if returncode == -signal.SIGXCPU:
        return "", "timed_out"
    if returncode == -signal.SIGKILL:
        # Nobody but the system kills it before the deadline, and it does so for want of memory.
        return "", "too_complex"
    if returncode != 0:
        return "", "damaged"
    found = json.loads(output)
    return found["text"], found["problem"]
