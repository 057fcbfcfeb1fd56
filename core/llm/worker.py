"""The process that speaks with providers; the only importer of litellm.

Importing it takes seconds and each streamed chunk costs most of a millisecond, so it lives apart from the event loop
that has to acknowledge a platform in time. Calls come in as JSON lines over an inherited socket, deltas go back
coalesced. Keys arrive with each call, never by argument or environment, and of an error only its kind goes back:
provider texts, and the exceptions that hold keys and messages, end here.

The process ends when its parent does, which it sees by the end of the socket.
"""

import asyncio
import json
import logging
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from core.domain.errors import FailureKind
from core.llm.classify import classify
from core.llm.thinking import ThinkSplitter

COALESCE_S: Final = 0.1
LINE_LIMIT: Final = 256 * 1024 * 1024
"""Longest line: a call with its images in base64."""
CLOSE_S: Final = 2.0
NAME_CHARS: Final = 200
"""As long as a model id can be stored."""
_PAGE_BYTES: Final = 4096

# Read once by litellm while it is imported: no dotenv file, no price map, tokenizer or header list from the network,
# and no error because a model repeats itself.
IMPORT_ENV: Final = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "REPEATED_STREAMING_CHUNK_LIMIT": "100000",
}

# Interfaces whose chunks are read as the provider sent them. litellm's wrapper around them makes up a finish reason
# and a usage that never came, hides the model id that answered, drops refusals, and costs ten times the CPU. Each
# one here is tried in the tests; any other goes through the wrapper.
AS_SENT: Final = frozenset(
    {"anthropic", "deepseek", "gemini", "groq", "hosted_vllm", "mistral", "openai", "openrouter", "xai"}
)

Send = Callable[[Mapping[str, object]], None]


class Outlet:
    """The way back of one call: the first delta leaves at once, later ones together every COALESCE_S."""

    def __init__(self, send: Send, call_id: int) -> None:
        self._send = send
        self._id = call_id
        self._held: list[str] = []
        self._reasoning = False
        self._timer: asyncio.TimerHandle | None = None
        self.begun = False

    def add(self, text: str, *, reasoning: bool) -> None:
        if reasoning != self._reasoning:
            self.flush()
            self._reasoning = reasoning
        self._held.append(text)
        if not self.begun:
            self.begun = True
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE_S, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            self._send({"id": self._id, "reasoning" if self._reasoning else "text": "".join(self._held)})
            self._held.clear()

    def drop(self) -> None:
        self._held.clear()
        self.flush()


class Reading:
    """What one answer has brought so far, besides the text that already left."""

    def __init__(self, outlet: Outlet, *, as_sent: bool) -> None:
        self._outlet = outlet
        self._as_sent = as_sent
        self._splitter = ThinkSplitter()
        self.finish = ""
        self.believes_finish = True
        self.usage: dict[str, int] | None = None
        self.model = ""
        """Model id that the provider names; empty where the wrapper only repeats ours."""

    def take(self, chunk: Any, part: Any) -> None:
        """Take in a chunk and its delta, or a whole response and its message: both have the same fields."""
        if self._as_sent:
            self.model = self.model or _named(getattr(chunk, "model", None))
        usage = getattr(chunk, "usage", None)
        if usage is not None and (usage.prompt_tokens or usage.completion_tokens):
            # Some report the input at the beginning and the output at the end.
            before = self.usage or {"input": 0, "output": 0}
            self.usage = {
                "input": max(before["input"], int(usage.prompt_tokens or 0)),
                "output": max(before["output"], int(usage.completion_tokens or 0)),
            }
        if part is None:
            return
        if reasoning := getattr(part, "reasoning_content", None):
            self._outlet.add(str(reasoning), reasoning=True)
        # A refusal is what the model has to say in place of an answer; people should read it.
        for text in (getattr(part, "content", None), getattr(part, "refusal", None)):
            if text:
                self._hand_on(self._splitter.feed(str(text)))

    def end_with(self, reason: str) -> None:
        """Take in a finish reason, unless it is empty or one that the library makes up."""
        if reason and (self.believes_finish or reason != "stop"):
            self.finish = reason

    def end(self) -> None:
        self._hand_on(self._splitter.finish())
        self._outlet.flush()

    def _hand_on(self, pieces: list[tuple[bool, str]]) -> None:
        for reasoning, text in pieces:
            self._outlet.add(text, reasoning=reasoning)


class Worker:
    """Runs calls side by side until the link ends. `litellm` is the imported module."""

    def __init__(self, litellm: Any, send: Send) -> None:
        self._litellm = litellm
        self._send = send
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            order = json.loads(line)
            if "ping" in order:
                self._send({"pong": order["ping"], "resident_bytes": _resident_bytes()})
            elif "cancel" in order:
                if task := self._tasks.get(order["cancel"]):
                    task.cancel()
            else:
                task = asyncio.create_task(self._answer(order))
                self._tasks[order["id"]] = task
                task.add_done_callback(partial(self._forget, order["id"]))
        left = list(self._tasks.values())
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CLOSE_S)

    async def _answer(self, order: Mapping[str, Any]) -> None:
        outlet = Outlet(self._send, order["id"])
        try:
            end = await self._call(order, outlet)
        except asyncio.CancelledError:
            outlet.drop()
            raise
        except Exception as error:  # noqa: BLE001 - the job ends here; the parent learns the kind and the class
            outlet.flush()
            failure = classify(error, begun=outlet.begun)
            end = {
                "failed": failure.kind.value,
                "retryable": failure.retryable,
                "retry_after_s": failure.retry_after_s,
                "error": type(error).__name__,
            }
        self._send({"id": order["id"], **end})

    def _forget(self, call_id: int, _: asyncio.Task[None]) -> None:
        del self._tasks[call_id]

    async def _call(self, order: Mapping[str, Any], outlet: Outlet) -> dict[str, object]:
        provider = order["model"].partition("/")[0]
        reading = Reading(outlet, as_sent=provider in AS_SENT)
        streaming = bool(order["stream"])
        response = await self._litellm.acompletion(
            model=order["model"],
            messages=order["messages"],
            api_base=order["api_base"] or None,
            api_key=order["api_key"] or None,
            stream=streaming,
            timeout=order["timeout_s"],
            max_retries=0,
            num_retries=0,
            drop_params=True,
            **({"stream_options": {"include_usage": True}} if streaming else {}),
            **({"response_format": order["response_format"]} if order["response_format"] else {}),
            **order["params"],
        )
        if streaming:
            await self._read_stream(response, reading, provider)
        else:
            choice = response.choices[0] if response.choices else None
            reading.take(response, choice.message if choice else None)
            reading.end_with(str(choice.finish_reason or "") if choice else "")
        reading.end()
        if not reading.finish:
            kind = FailureKind.INTERRUPTED if outlet.begun else FailureKind.EMPTY
            return {"failed": kind.value, "retryable": True, "error": "no finish reason"}
        return {
            "finish": reading.finish,
            "usage": reading.usage,
            "model": reading.model,
            "cost_usd": self._cost_usd(order, reading.usage),
        }

    async def _read_stream(self, response: Any, reading: Reading, provider: str) -> None:
        try:
            stream = await _as_sent(response, reading, provider) if provider in AS_SENT else response
            async for chunk in stream:
                # Between the chunks as sent stand litellm's own remarks about lines that hold none.
                choices = getattr(chunk, "choices", None)
                choice = choices[0] if choices else None
                reading.take(chunk, choice.delta if choice else None)
                if choice is not None:
                    reading.end_with(str(choice.finish_reason or ""))
                # A burst of buffered chunks would otherwise keep the loop from every other call for seconds.
                await asyncio.sleep(0)
        finally:
            # Leaving the loop does not close the provider's connection; it would go on generating, and charging.
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await response.aclose()

    def _cost_usd(self, order: Mapping[str, Any], usage: Mapping[str, int] | None) -> float | None:
        """litellm's price for the call; None when asked for none or when it is 0, which it says of unknown models."""
        if usage is None or not order["price"]:
            return None
        try:
            prices = self._litellm.cost_per_token(
                model=order["model"], prompt_tokens=usage["input"], completion_tokens=usage["output"]
            )
        except Exception:  # noqa: BLE001 - its errors for unmapped models have no common class
            return None
        return sum(prices) or None


async def _as_sent(response: Any, reading: Reading, provider: str) -> Any:
    """The chunks behind litellm's wrapper; for some providers the request only leaves here."""
    if response.completion_stream is None:
        await response.fetch_stream()
    if provider == "gemini":
        _watch_google(response.completion_stream, reading)
    return response.completion_stream


def _named(model: object) -> str:
    """The model id that a provider names, on one line and as long as is kept of it."""
    return "".join(character for character in str(model or "") if character.isprintable())[:NAME_CHARS]


def _watch_google(stream: Any, reading: Reading) -> None:
    """Make `reading` believe a finish reason only once Google has named one.

    Its iterator says `stop` for each chunk that has none, so that a broken answer would pass for a whole one.
    """
    parse = stream.chunk_parser
    reading.believes_finish = False

    def watched(chunk: Mapping[str, Any]) -> Any:
        if any(candidate.get("finishReason") for candidate in chunk.get("candidates") or ()):
            reading.believes_finish = True
        return parse(chunk)

    stream.chunk_parser = watched


def _resident_bytes() -> int:
    """Memory of this process; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def _load_litellm() -> Any:
    os.environ.update(IMPORT_ENV)
    import litellm  # noqa: PLC0415 - it reads the environment set above while it is imported

    litellm.suppress_debug_info = True
    # Its log lines can hold what people wrote.
    logging.disable(logging.CRITICAL)
    return litellm


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with suppress(ConnectionError):
        while line := await reader.readline():
            yield line


async def _connect(arguments: list[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The link to the parent: `--fd N`, or `--port N` with a secret on standard input that proves who we are."""
    way, number = arguments
    if way == "--fd":
        return await asyncio.open_connection(sock=socket.socket(fileno=int(number)), limit=LINE_LIMIT)
    secret = sys.stdin.buffer.readline()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(number), limit=LINE_LIMIT)
    writer.write(secret)
    return reader, writer


async def _main(arguments: list[str]) -> None:
    reader, writer = await _connect(arguments)

    def send(event: Mapping[str, object]) -> None:
        writer.write(json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")

    begun = time.monotonic()
    litellm = _load_litellm()
    send({"ready": True, "import_s": time.monotonic() - begun})
    await Worker(litellm, send).serve(_lines(reader))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
    # Idle connections and helper threads of the providers' clients would keep the process for seconds more.
    os._exit(0)
