"""The parent's end of the worker process: starts it, starts it again when it dies, and sorts what comes back."""

import asyncio
import hmac
import json
import logging
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import core
from core.domain.errors import FailureKind
from core.domain.receipt import Finish

_log: Final = logging.getLogger(__name__)
_LINE_LIMIT: Final = 64 * 1024 * 1024

# What a process of ours inherits: where things are and how the network is reached; the worker also gets cloud
# identities that providers' clients read themselves. No other secret of this process goes there.
_INHERITED: Final = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)
_CLOUD_IDENTITIES: Final = ("AWS_", "GOOGLE_", "AZURE_", "VERTEXAI_")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    ready_s: float = 120.0
    """Longest time from starting the process to its first word; on a busy machine the import takes its time."""
    ping_s: float = 10.0
    """A worker that has said nothing for so long is pinged."""
    pings: int = 4
    """Unanswered pings after which a worker is taken for stuck and started again."""
    restart_first_s: float = 0.2
    restart_most_s: float = 15.0
    """Waits between starts double from the first to the most, and begin anew after a start that worked."""
    tcp: bool = not hasattr(socket, "AF_UNIX")
    """Loopback TCP with a secret, for systems without Unix sockets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCall:
    """What the worker needs for one call to a provider."""

    model: str
    api_base: str
    api_key: str = field(repr=False)
    messages: tuple[Mapping[str, object], ...] = field(repr=False)
    params: Mapping[str, float | int]
    stream: bool
    timeout_s: float
    """Longest silence of the provider's socket; our own deadlines come first."""
    price: bool
    """Whether to look the price up, for want of one of our own."""
    response_format: Mapping[str, object] | None = None
    """What the answer must look like, for providers that can enforce it."""

    def line(self, call_id: int) -> bytes:
        order = {
            "id": call_id,
            "model": self.model,
            "api_base": self.api_base,
            "api_key": self.api_key,
            "messages": self.messages,
            "params": dict(self.params),
            "stream": self.stream,
            "timeout_s": self.timeout_s,
            "price": self.price,
            "response_format": self.response_format,
        }
        return _encoded(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    text: str
    reasoning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The provider finished. `usage` is (input, output) tokens, None when it reported none."""

    finish: Finish
    usage: tuple[int, int] | None
    reported_model_id: str
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """`error` is the class of the worker's exception, for the log; never its text."""

    kind: FailureKind
    retryable: bool
    retry_after_s: float | None
    error: str


WorkerEvent = Delta | Ended | Failed

_LOST: Final = Failed(kind=FailureKind.INTERRUPTED, retryable=True, retry_after_s=None, error="worker ended")


class Exchange:
    """One call in the worker. Events carry the loop time of their arrival."""

    def __init__(self, link: "WorkerLink", call_id: int) -> None:
        self._link = link
        self.call_id = call_id
        self.events: asyncio.Queue[tuple[float, WorkerEvent]] = asyncio.Queue()

    def close(self) -> None:
        """End the call: the worker closes the provider's connection when it is still open."""
        self._link.forget(self.call_id)


class WorkerLink:
    """A worker process that is kept alive from `start` to `close`."""

    def __init__(self, *, env: Mapping[str, str], settings: LinkSettings | None = None) -> None:
        self._settings = settings or LinkSettings()
        self._env = env
        self._exchanges: dict[int, Exchange] = {}
        self._last_id = 0
        self._settled = asyncio.Event()
        """Set while the worker is up, and for good once it is not to come back."""
        self._closing = False
        self._writer: asyncio.StreamWriter | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.process: asyncio.subprocess.Process | None = None
        self.starts = 0
        self.import_s = 0.0
        """Seconds the last start spent importing."""
        self.resident_bytes = 0
        """Memory of the worker at its last sign of life."""

    @property
    def ready(self) -> bool:
        return self._writer is not None

    def start(self) -> None:
        """Begin to start the worker, in the background. Starting twice is starting once."""
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="model worker")

    async def close(self) -> None:
        """End the worker for good, and whatever it is doing; calls in flight end as interrupted."""
        self._closing = True
        self._settled.set()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None

    async def wait_ready(self, limit_s: float) -> bool:
        """Whether the worker takes calls, or comes to do so within `limit_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._settled.wait()
        return self.ready

    async def call(self, request: WorkerCall) -> Exchange:
        """The call, on its way to the provider. Without a worker it fails at once, as one whose worker died."""
        self._last_id += 1
        exchange = Exchange(self, self._last_id)
        # Images make a line of megabytes, which takes too long to write down on the loop.
        big = any(not isinstance(message["content"], str) for message in request.messages)
        line = (
            await asyncio.to_thread(request.line, exchange.call_id) if big else request.line(exchange.call_id)
        )
        if self._writer is None:
            exchange.events.put_nowait((asyncio.get_running_loop().time(), _LOST))
        else:
            self._exchanges[exchange.call_id] = exchange
            self._writer.write(line)
        return exchange

    def forget(self, call_id: int) -> None:
        """Cancel a call unless it has ended."""
        if self._exchanges.pop(call_id, None) is not None and self._writer is not None:
            self._writer.write(_encoded({"cancel": call_id}))

    async def _keep(self) -> None:
        wait_s = self._settings.restart_first_s
        while True:
            worked = self.starts
            try:
                async with self._process() as (reader, writer):
                    await self._listen(reader, writer)
            except Exception as error:  # noqa: BLE001 - whatever ended this worker, the next one gets its chance
                _log.warning("model worker did not start or stopped answering (%s)", type(error).__name__)
            wait_s = self._settings.restart_first_s if self.starts > worked else wait_s * 2
            _log.warning("model worker ended; starting it again in %.1f s", wait_s)
            await asyncio.sleep(min(wait_s, self._settings.restart_most_s))

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A new worker process and its link, both gone on leaving."""
        opened = _over_tcp(self._environment()) if self._settings.tcp else _over_pair(self._environment())
        async with opened as (process, reader, writer):
            self.process = process
            try:
                yield reader, writer
            except TimeoutError:
                # It is stuck; waiting for it to end by itself would only keep the calls in it waiting.
                with suppress(ProcessLookupError):
                    process.kill()
                raise
            finally:
                grace_s = 3.0 if self.ready else 0.0
                self._lost()
                writer.close()
                await _ended(process, grace_s=grace_s)

    def _environment(self) -> dict[str, str]:
        identities = {k: v for k, v in self._env.items() if k.startswith(_CLOUD_IDENTITIES)}
        return {**child_environment(self._env), **identities}

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand on what the worker says until it ends; raises TimeoutError when it falls silent."""
        async with asyncio.timeout(self._settings.ready_s):
            first = await reader.readline()
        if not first:
            raise ConnectionResetError
        self.import_s = json.loads(first)["import_s"]
        self.starts += 1
        self._writer = writer
        self._settled.set()
        with suppress(ConnectionError):
            while line := await self._line(reader, writer):
                self._take(json.loads(line))

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for _ in range(self._settings.pings + 1):
            try:
                async with asyncio.timeout(self._settings.ping_s):
                    return await reader.readline()
            except TimeoutError:
                writer.write(_encoded({"ping": 1}))
        raise TimeoutError

    def _take(self, event: Mapping[str, Any]) -> None:
        if "pong" in event:
            self.resident_bytes = int(event["resident_bytes"])
            return
        exchange = self._exchanges.get(event["id"])
        if exchange is None:
            return
        read = _read(event)
        if not isinstance(read, Delta):
            del self._exchanges[event["id"]]
        exchange.events.put_nowait((asyncio.get_running_loop().time(), read))

    def _lost(self) -> None:
        """The worker is gone: every call in it is interrupted."""
        self._writer = None
        if not self._closing:
            self._settled.clear()
        left, self._exchanges = self._exchanges, {}
        now = asyncio.get_running_loop().time()
        for exchange in left.values():
            exchange.events.put_nowait((now, _LOST))


def child_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a process that runs a module of `core` is given of `env`, and where it finds that module."""
    kept = {name: value for name, value in env.items() if name.upper() in _INHERITED}
    return {**kept, "PYTHONPATH": str(Path(core.__path__[0]).parent)}


def _encoded(order: Mapping[str, object]) -> bytes:
    return json.dumps(order, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _read(event: Mapping[str, Any]) -> WorkerEvent:
    if "text" in event:
        return Delta(text=event["text"], reasoning=False)
    if "reasoning" in event:
        return Delta(text=event["reasoning"], reasoning=True)
    if "failed" in event:
        return Failed(
            kind=FailureKind(event["failed"]),
            retryable=event["retryable"],
            retry_after_s=event.get("retry_after_s"),
            error=event["error"],
        )
    usage = event["usage"]
    known = (Finish.STOP, Finish.LENGTH, Finish.CONTENT_FILTER)
    return Ended(
        finish=Finish(event["finish"]) if event["finish"] in known else Finish.UNKNOWN,
        usage=(usage["input"], usage["output"]) if usage else None,
        reported_model_id=event["model"],
        cost_usd=event["cost_usd"],
    )


_Opened = tuple[asyncio.subprocess.Process, asyncio.StreamReader, asyncio.StreamWriter]


async def _spawn(*arguments: str, env: Mapping[str, str], **options: Any) -> asyncio.subprocess.Process:
    """The worker process. Its own output goes nowhere: a library's last words can hold what people wrote."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "core.llm.worker",
        *arguments,
        env=dict(env),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        # A Ctrl-C at the terminal is for the parent, which still needs the worker to finish what is under way.
        start_new_session=True,
        **options,
    )


@asynccontextmanager
async def _over_pair(env: Mapping[str, str]) -> AsyncIterator[_Opened]:
    """Linked by a pair of sockets that only these two processes have."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    with ours, theirs:
        number = theirs.fileno()
        nothing = asyncio.subprocess.DEVNULL
        process = await _spawn("--fd", str(number), env=env, pass_fds=(number,), stdin=nothing)
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=_LINE_LIMIT)
        yield process, reader, writer


@asynccontextmanager
async def _over_tcp(env: Mapping[str, str]) -> AsyncIterator[_Opened]:
    """Linked over loopback; whoever dials in has to know the secret that only the worker was told."""
    secret = secrets.token_hex(32).encode() + b"\n"
    dialled: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def on_dial(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, ValueError):
            async with asyncio.timeout(5.0):
                if hmac.compare_digest(await reader.readline(), secret):
                    dialled.put_nowait((reader, writer))
                    return
        writer.close()

    server = await asyncio.start_server(on_dial, "127.0.0.1", 0, limit=_LINE_LIMIT)
    port = server.sockets[0].getsockname()[1]
    process = await _spawn("--port", str(port), env=env, stdin=asyncio.subprocess.PIPE)
    try:
        if process.stdin is not None:
            process.stdin.write(secret)
            process.stdin.close()
        async with asyncio.timeout(30.0):
            reader, writer = await dialled.get()
        server.close()
        yield process, reader, writer
    finally:
        server.close()
        await _ended(process, grace_s=0.0)


async def _ended(process: asyncio.subprocess.Process, *, grace_s: float) -> None:
    """Wait for the process to end by itself, as it does when its link closes; end it when it does not."""
    try:
        async with asyncio.timeout(grace_s):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.kill()
        raise
