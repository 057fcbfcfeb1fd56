"""Logs as JSON lines on standard error, each with what it is about (run, thread) and never with content."""

import json
import logging
import sys
from datetime import UTC, datetime
from traceback import extract_tb

from core.domain.errors import PromptflowError

CONTEXT = ("workspace_id", "thread_id", "run_id")


class JsonLines(logging.Formatter):
    """One object a record: time, level, logger, message, ids, and where an error was raised, without its values."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in CONTEXT:
            value = getattr(record, name, None)
            if value is not None:
                line[name] = str(value)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = described(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def described(error: BaseException) -> str:
    """Where an error came from, with its causes. Messages only of our own errors: others may quote content or keys."""
    lines: list[str] = []
    current: BaseException | None = error
    while current is not None:
        name = type(current).__name__
        lines.append(f"{name}: {current}" if isinstance(current, PromptflowError) else name)
        lines += [
            f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(current.__traceback__)
        ]
        if isinstance(current, BaseExceptionGroup):
            lines += [described(inner) for inner in current.exceptions]
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n".join(lines)


def set_up_logs(level: int = logging.INFO) -> None:
    """Send everything from `level` up to standard error, once; libraries only from WARNING up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("core", "bot"):
        logging.getLogger(ours).setLevel(level)
