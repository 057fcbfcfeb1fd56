"""The outside of a soak: a slow model and a chat platform on a loopback socket, in a process of their own.

One JSON object a line each way. Everything is written down in order, so that a series can be judged afterwards by what
the outside saw rather than by what the killed process believed.
"""

import asyncio
import json
import secrets
import sys
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass, field
from typing import Any

ANSWER_S = (0.03, 0.15)
POST_S = (0.01, 0.06)
"""A post lands at once; its response takes this long."""

CHANCE = secrets.SystemRandom()


@dataclass
class World:
    events: list[dict[str, Any]] = field(default_factory=list)
    posts: dict[str, int] = field(default_factory=dict)

    async def handle(self, reader: StreamReader, writer: StreamWriter) -> None:
        line = await reader.readline()
        if not line.endswith(b"\n"):
            # Its process was killed before it had said anything.
            writer.close()
            return
        message = json.loads(line)
        answer = await getattr(self, f"on_{message['op']}")(message)
        if message["op"] == "ask" and not reader.at_eof():
            # Nobody is there to hear the answer when the process was killed meanwhile.
            self.note(message | {"op": "answered"})
        writer.write(json.dumps(answer).encode() + b"\n")
        try:
            await writer.drain()
        except ConnectionError:
            # Its process was killed while it waited.
            return
        finally:
            writer.close()

    async def on_ask(self, message: dict[str, Any]) -> str:
        self.note(message)
        await asyncio.sleep(CHANCE.uniform(*ANSWER_S))
        return f"answer to {message['step']}"

    async def on_kept(self, message: dict[str, Any]) -> None:
        self.note(message)

    async def on_post(self, message: dict[str, Any]) -> str:
        self.note(message)
        key = message["key"]
        self.posts[key] = self.posts.get(key, 0) + 1
        await asyncio.sleep(CHANCE.uniform(*POST_S))
        return f"post of {key}"

    async def on_find(self, message: dict[str, Any]) -> str | None:
        self.note(message)
        return f"post of {message['key']}" if message["key"] in self.posts else None

    async def on_update(self, message: dict[str, Any]) -> None:
        self.note(message)

    async def on_wait(self, message: dict[str, Any]) -> None:
        """Comes back once a run asked for a step."""
        wanted = ("ask", message["run"], message["step"])
        while not any((e["op"], e.get("run"), e.get("step")) == wanted for e in self.events):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def on_report(self, _message: dict[str, Any]) -> list[dict[str, Any]]:
        return self.events

    def note(self, message: dict[str, Any]) -> None:
        self.events.append(message | {"at": asyncio.get_running_loop().time()})


async def call(port: int, **message: object) -> Any:
    """The outside's answer to one message."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 * 1024 * 1024)
    try:
        writer.write(json.dumps(message).encode() + b"\n")
        return json.loads(await reader.readline())
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(World().handle, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
