"""An OpenAI-compatible provider on a real socket that behaves, or misbehaves, as the name of the model says.

It speaks a little of Anthropic's and of Google's interface too; those behaviours are registered as `messages-NAME`
and `gemini-NAME`.

In a process of its own, `python -m tests.llm.fake_provider` prints its address, and for each line of input the number
of open requests.

It keeps what it was sent and which streams are open, so that a test sees what a real provider would have seen. Its
error bodies repeat the key and the messages, as some providers do.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

Handler = Callable[["Stream"], Awaitable[web.StreamResponse]]

WORDS = ("Hello ", "from ", "the ", "fake ", "provider.")
TEXT = "".join(WORDS)
PARTIAL = "".join(WORDS[:2])
USAGE = {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}
BEHAVIOURS: dict[str, Handler] = {}


def behaviour(name: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        BEHAVIOURS[name] = handler
        return handler

    return register


class FakeProvider:
    """Answers on `base_url` until closed. Use as an async context manager."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        """Requests by model name."""
        self.requests: list[dict[str, Any]] = []
        """Bodies, oldest first, with the key under `authorization` and the loop's time under `arrived_at`."""
        self.open: Counter[str] = Counter()
        """Requests whose connection is not finished, by model name."""
        self.arrived = asyncio.Event()
        """Set with each request; clear it to wait for the next."""
        self.release = asyncio.Event()
        """`gated` answers only once this is set."""
        self.base_url = ""
        self._closed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_post("/v1/messages", self._answer)
        app.router.add_post("/v1/models/{name}:streamGenerateContent", self._answer)
        # With cancellation, a handler ends when its client goes away; that is how `open` falls.
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def all_closed(self, model: str, *, within_s: float) -> bool:
        """Whether no request of `model` is open any more, at the latest after `within_s`."""
        try:
            async with asyncio.timeout(within_s):
                while self.open[model]:
                    self._closed.clear()
                    await self._closed.wait()
        except TimeoutError:
            return False
        return True

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        model = _behaviour_name(request, body)
        key = request.headers.get("authorization", "")
        now = asyncio.get_running_loop().time()
        self.requests.append({**body, "authorization": key, "arrived_at": now})
        self.hits[model] += 1
        self.open[model] += 1
        self.arrived.set()
        try:
            return await BEHAVIOURS[model](Stream(self, request, body))
        except ConnectionError:
            return web.Response()
        finally:
            self.open[model] -= 1
            self._closed.set()


def _behaviour_name(request: web.Request, body: dict[str, Any]) -> str:
    if name := request.match_info.get("name"):
        return f"gemini-{name}"
    return f"messages-{body['model']}" if request.path.endswith("/messages") else str(body["model"])


class Stream:
    """One request and the answer that is being made to it."""

    def __init__(self, provider: FakeProvider, request: web.Request, body: dict[str, Any]) -> None:
        self.provider = provider
        self.request = request
        self.body = body
        self.response = web.StreamResponse(headers={"content-type": "text/event-stream"})

    async def named(self, name: str, **fields: object) -> None:
        """An event of the Messages interface."""
        await self.send(f"event: {name}\ndata: {json.dumps({'type': name, **fields}, ensure_ascii=False)}")

    @property
    def hits(self) -> int:
        return self.provider.hits[self.body["model"]]

    async def send(self, line: str) -> None:
        if not self.response.prepared:
            await self.response.prepare(self.request)
        await self.response.write(f"{line}\n\n".encode())

    async def event(self, **fields: object) -> None:
        event = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": f"{self.body['model']}-2026-11-30",
            **fields,
        }
        await self.send(f"data: {json.dumps(event, ensure_ascii=False)}")

    async def delta(self, finish: str | None = None, **delta: object) -> None:
        await self.event(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])

    async def words(self, *words: str) -> None:
        for word in words:
            await self.delta(content=word)

    async def end(self, finish: str = "stop", *, usage: bool = True) -> web.StreamResponse:
        await self.delta(finish)
        if usage:
            await self.event(choices=[], usage=USAGE)
        await self.send("data: [DONE]")
        return self.response

    def refuse(self, status: int, code: str, text: str, **headers: str) -> web.Response:
        said = json.dumps(self.body.get("messages"), ensure_ascii=False)
        key = self.request.headers.get("authorization", "")
        error = {"message": f"{text} ({key}; {said})", "type": code, "code": code, "param": None}
        return web.json_response({"error": error}, status=status, headers=headers)


async def _forever() -> None:
    await asyncio.Event().wait()


# --- answers --------------------------------------------------------------------------------------------------------


@behaviour("fine")
async def fine(stream: Stream) -> web.StreamResponse:
    if not stream.body.get("stream"):
        return _whole(stream)
    await stream.words(*WORDS)
    return await stream.end()


def _whole(stream: Stream) -> web.Response:
    message = {"role": "assistant", "content": TEXT}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    model = f"{stream.body['model']}-2026-11-30"
    return web.json_response(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": choices,
            "usage": USAGE,
        }
    )


@behaviour("long-name")
async def long_name(stream: Stream) -> web.StreamResponse:
    """Names itself in 500 characters and three lines, one of them with a character that no database takes."""
    choices = [{"index": 0, "delta": {"content": TEXT}, "finish_reason": None}]
    await stream.event(model="a\x00\nb\n" + "x" * 500, choices=choices)
    return await stream.end()


@behaviour("slow")
async def slow(stream: Stream) -> web.StreamResponse:
    """Many words, one every 20 ms."""
    for number in range(500):
        await stream.words(f"word{number} ")
        await asyncio.sleep(0.02)
    return await stream.end()


@behaviour("steady")
async def steady(stream: Stream) -> web.StreamResponse:
    """Sixty words, twenty a second."""
    for number in range(60):
        await stream.words(f"word{number} ")
        await asyncio.sleep(0.05)
    return await stream.end()


@behaviour("gated")
async def gated(stream: Stream) -> web.StreamResponse:
    await stream.provider.release.wait()
    return await fine(stream)


@behaviour("half-gated")
async def half_gated(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    await stream.provider.release.wait()
    await stream.words(*WORDS[2:])
    return await stream.end()


@behaviour("no-usage")
async def no_usage(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS)
    return await stream.end(usage=False)


@behaviour("length")
async def length(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS)
    return await stream.end("length")


@behaviour("content-filter")
async def content_filter(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    return await stream.end("content_filter")


@behaviour("content-filter-empty")
async def content_filter_empty(stream: Stream) -> web.StreamResponse:
    return await stream.end("content_filter")


@behaviour("reasoning")
async def reasoning(stream: Stream) -> web.StreamResponse:
    await stream.delta(reasoning_content="First I ")
    await stream.delta(reasoning_content="think.")
    await stream.words(*WORDS)
    return await stream.end()


@behaviour("think-tags")
async def think_tags(stream: Stream) -> web.StreamResponse:
    await stream.words("<th", "ink>First I ", "think.</", "think", ">\n\n", *WORDS)
    return await stream.end()


@behaviour("only-reasoning")
async def only_reasoning(stream: Stream) -> web.StreamResponse:
    await stream.delta(reasoning_content="I think for ever.")
    return await stream.end("length")


@behaviour("refusal")
async def refusal(stream: Stream) -> web.StreamResponse:
    await stream.delta(refusal="I cannot help with that.")
    return await stream.end()


@behaviour("same-words")
async def same_words(stream: Stream) -> web.StreamResponse:
    await stream.words(*["ha "] * 150)
    return await stream.end()


# --- refusals -------------------------------------------------------------------------------------------------------


def _refusing(name: str, status: int, code: str, text: str, **headers: str) -> None:
    @behaviour(name)
    async def refuse(stream: Stream) -> web.StreamResponse:
        return stream.refuse(status, code, text, **headers)


_refusing("401", 401, "invalid_api_key", "Incorrect API key provided")
_refusing("403", 403, "permission_denied", "You are not allowed to sample from this model")
_refusing("404", 404, "model_not_found", "The model does not exist")
_refusing("429", 429, "rate_limit_exceeded", "Rate limit reached")
_refusing("429-wait-60", 429, "rate_limit_exceeded", "Rate limit reached", **{"retry-after": "60"})
_refusing("quota", 429, "insufficient_quota", "You exceeded your current quota, please check your plan")
_refusing("402", 402, "payment_required", "Insufficient balance")
_refusing("400", 400, "invalid_request_error", "Unknown parameter")
_refusing("500", 500, "server_error", "The server had an error")
_refusing("502", 502, "bad_gateway", "Bad gateway")
_refusing("503", 503, "unavailable", "Service unavailable")
_refusing("529", 529, "overloaded_error", "Overloaded")
_refusing(
    "context",
    400,
    "context_length_exceeded",
    "This model's maximum context length is 8192 tokens, however you sent 9000",
)
_refusing(
    "policy",
    400,
    "content_filter",
    "The response was filtered due to the prompt triggering content management policy",
)


@behaviour("429-once")
async def limited_once(stream: Stream) -> web.StreamResponse:
    if stream.hits == 1:
        return stream.refuse(429, "rate_limit_exceeded", "Rate limit reached", **{"retry-after": "0.3"})
    return await fine(stream)


@behaviour("500-once")
async def failing_once(stream: Stream) -> web.StreamResponse:
    return (
        stream.refuse(500, "server_error", "The server had an error")
        if stream.hits == 1
        else await fine(stream)
    )


@behaviour("500-four-times")
async def failing_four_times(stream: Stream) -> web.StreamResponse:
    return (
        stream.refuse(500, "server_error", "The server had an error")
        if stream.hits <= 4
        else await fine(stream)
    )


@behaviour("html-502")
async def html_502(_: Stream) -> web.StreamResponse:
    return web.Response(status=502, text="<html><h1>Bad gateway</h1></html>", content_type="text/html")


# --- broken streams -------------------------------------------------------------------------------------------------


@behaviour("html")
async def html(_: Stream) -> web.StreamResponse:
    """A login page in place of an answer, as a captive proxy gives."""
    return web.Response(text="<html><h1>Please log in</h1></html>", content_type="text/html")


@behaviour("hang")
async def hang(stream: Stream) -> web.StreamResponse:
    """Not even headers."""
    await _forever()
    return stream.response


@behaviour("mute")
async def mute(stream: Stream) -> web.StreamResponse:
    """Headers, and nothing more."""
    await stream.response.prepare(stream.request)
    await _forever()
    return stream.response


@behaviour("stall")
async def stall(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    await _forever()
    return stream.response


@behaviour("keep-alive")
async def keep_alive(stream: Stream) -> web.StreamResponse:
    while True:
        await stream.send(": keep-alive")
        await asyncio.sleep(0.05)


@behaviour("keep-alive-after-words")
async def keep_alive_after_words(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    return await keep_alive(stream)


@behaviour("drop")
async def drop(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    await asyncio.sleep(0.05)
    if stream.request.transport is not None:
        stream.request.transport.abort()
    return stream.response


@behaviour("drop-first")
async def drop_first(stream: Stream) -> web.StreamResponse:
    if stream.request.transport is not None:
        stream.request.transport.abort()
    return stream.response


@behaviour("cut")
async def cut(stream: Stream) -> web.StreamResponse:
    """A clean end of the connection before the answer's."""
    await stream.words(*WORDS[:2])
    return stream.response


@behaviour("cut-done")
async def cut_done(stream: Stream) -> web.StreamResponse:
    """The end marker, yet no finish reason."""
    await stream.words(*WORDS[:2])
    await stream.send("data: [DONE]")
    return stream.response


@behaviour("error-event")
async def error_event(stream: Stream) -> web.StreamResponse:
    await stream.words(*WORDS[:2])
    error = {"message": f"upstream failed {stream.body['messages']}", "type": "server_error", "code": 500}
    await stream.send(f"data: {json.dumps({'error': error})}")
    return stream.response


@behaviour("error-event-first")
async def error_event_first(stream: Stream) -> web.StreamResponse:
    error = {"message": f"upstream failed {stream.body['messages']}", "type": "server_error", "code": 500}
    await stream.send(f"data: {json.dumps({'error': error})}")
    return stream.response


@behaviour("malformed")
async def malformed(stream: Stream) -> web.StreamResponse:
    """A chunk that is no JSON, in the middle."""
    await stream.words(*WORDS[:2])
    await stream.send('data: {"choices": [{"delta": {"cont')
    await stream.words(*WORDS[2:])
    return await stream.end()


@behaviour("empty")
async def empty(stream: Stream) -> web.StreamResponse:
    return await stream.end()


@behaviour("nothing")
async def nothing(stream: Stream) -> web.StreamResponse:
    await stream.response.prepare(stream.request)
    return stream.response


# --- the Messages interface -----------------------------------------------------------------------------------------


async def _message_words(stream: Stream, *words: str) -> None:
    message: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{stream.body['model']}-2026-11-30",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 40, "output_tokens": 1},
    }
    await stream.named("message_start", message=message)
    await stream.named("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for word in words:
        await stream.named("content_block_delta", index=0, delta={"type": "text_delta", "text": word})


@behaviour("messages-fine")
async def messages_fine(stream: Stream) -> web.StreamResponse:
    await _message_words(stream, *WORDS)
    await stream.named("content_block_stop", index=0)
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    await stream.named("message_delta", delta=end, usage={"output_tokens": 5})
    await stream.named("message_stop")
    return stream.response


@behaviour("messages-cut")
async def messages_cut(stream: Stream) -> web.StreamResponse:
    await _message_words(stream, *WORDS[:2])
    return stream.response


@behaviour("messages-overloaded")
async def messages_overloaded(stream: Stream) -> web.StreamResponse:
    await _message_words(stream, *WORDS[:2])
    await stream.named("error", error={"type": "overloaded_error", "message": "Overloaded"})
    return stream.response


@behaviour("messages-stall")
async def messages_stall(stream: Stream) -> web.StreamResponse:
    await _message_words(stream, *WORDS[:2])
    await _forever()
    return stream.response


BEHAVIOURS["messages-claude-haiku-4-5-20251001"] = messages_fine
_refusing("messages-401", 401, "authentication_error", "invalid x-api-key")
_refusing("messages-529", 529, "overloaded_error", "Overloaded")


# --- Google's interface ---------------------------------------------------------------------------------------------


async def _gemini_words(stream: Stream, *words: str, finish: str = "") -> None:
    for number, word in enumerate(words, start=1):
        candidate: dict[str, object] = {"content": {"parts": [{"text": word}], "role": "model"}, "index": 0}
        if finish and number == len(words):
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 40, "candidatesTokenCount": 5, "totalTokenCount": 45}
        event = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2026-11-30"}
        await stream.send(f"data: {json.dumps(event)}")


@behaviour("gemini-fine")
async def gemini_fine(stream: Stream) -> web.StreamResponse:
    await _gemini_words(stream, *WORDS, finish="STOP")
    return stream.response


@behaviour("gemini-cut")
async def gemini_cut(stream: Stream) -> web.StreamResponse:
    await _gemini_words(stream, *WORDS[:2])
    return stream.response


@behaviour("gemini-safety")
async def gemini_safety(stream: Stream) -> web.StreamResponse:
    await _gemini_words(stream, *WORDS[:2], finish="SAFETY")
    return stream.response


@behaviour("gemini-stall")
async def gemini_stall(stream: Stream) -> web.StreamResponse:
    await _gemini_words(stream, *WORDS[:2])
    await _forever()
    return stream.response


_refusing("gemini-400", 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")
_refusing("gemini-429", 429, "RESOURCE_EXHAUSTED", "Resource has been exhausted")
_refusing("gemini-503", 503, "UNAVAILABLE", "The model is overloaded")


async def _main() -> None:
    async with FakeProvider() as provider:
        _say(provider.base_url)
        while await asyncio.to_thread(sys.stdin.readline):
            _say(provider.open.total())


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main())
