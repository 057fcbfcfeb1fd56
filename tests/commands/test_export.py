"""A thread as a file: whole, with hashes that hold, and no more in memory than a page of it."""

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ground import open_ground
from core.commands.branch import BranchRequest, branch
from core.commands.export import PAGE, export_for_operator, export_thread
from core.commands.message import delete_message
from core.commands.say import Upload
from core.domain.ids import ThreadId
from core.domain.thread import Mode
from tests.commands.look import new_thread, refused, whole
from tests.modes.look import started
from tests.product import World


def hash_of(document: dict[str, Any]) -> str:
    """The hash as whoever has only the file can compute it."""
    content = json.dumps(document["conversations"], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


async def test_an_exported_thread_is_whole_and_its_hashes_hold(world: World) -> None:
    aki = await world.person()
    upload = Upload(name="notes.md", media_type="text/markdown", data=b"# notes")
    thread = (await world.say(aki, "one ### #9 fake", uploads=(upload,))).thread_id
    assert thread
    await world.say(aki, "two", thread)
    new = await branch(world.services, aki, BranchRequest(thread_id=thread, position=3), event_key="b")
    text = await whole(await export_thread(world.services, aki, new.id, form="json"))
    document = json.loads(text)
    assert (document["thread"], document["parent"], document["depth"]) == (new.id, thread, 1)
    (line,) = document["conversations"]
    assert [m["text"] for m in line["messages"]] == ["one ### #9 fake", "answer 1", "two"]
    assert [m["position"] for m in line["messages"]] == [1, 2, 3]
    for each in line["messages"]:
        assert each["sha256"] == hashlib.sha256(each["text"].encode()).hexdigest()
    assert line["messages"][0]["attachments"][0]["sha256"] == hashlib.sha256(b"# notes").hexdigest()
    assert document["sha256"] == hash_of(document)
    markdown = await whole(await export_thread(world.services, aki, new.id, form="markdown"))
    for piece in ("one ### #9 fake", "answer 1", "two", document["sha256"], "notes.md"):
        assert piece in markdown
    assert await whole(await export_for_operator(world.store, new.id, form="json")) == text


async def test_a_thread_that_cannot_be_seen_is_not_exported(world: World) -> None:
    aki, ben = await world.person(), await world.person("U2", "Ben")
    thread = await new_thread(world, aki, "among us")
    world.doors.closed.add(("C1", "U2"))
    await refused(export_thread(world.services, ben, thread, form="json"), "thread_not_found")
    unknown = ThreadId("unknown")
    await refused(export_thread(world.services, aki, unknown, form="json"), "thread_not_found")
    await refused(export_for_operator(world.store, unknown, form="json"), "thread_not_found")


async def test_pages_join_without_a_seam(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    aki = await world.person()
    thread = await new_thread(world, aki, "one", "two", "three")

    async def texts(page: int) -> tuple[str, str]:
        monkeypatch.setattr("core.commands.export.PAGE", page)
        return (
            await whole(await export_thread(world.services, aki, thread, form="json")),
            await whole(await export_thread(world.services, aki, thread, form="markdown")),
        )

    at_once = await texts(PAGE)
    assert [m["position"] for m in json.loads(at_once[0])["conversations"][0]["messages"]] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    for page in (1, 2, 3, 4, 6):
        assert await texts(page) == at_once


async def test_every_line_of_a_compare_is_in_its_export(world: World) -> None:
    aki = await world.person()
    thread = await started(world, aki, Mode.COMPARE, "Which?", models=["alpha", "beta"])
    document = json.loads(await whole(await export_thread(world.services, aki, thread, form="json")))
    assert [line["model"] for line in document["conversations"]] == ["alpha", "beta"]
    assert [line["messages"][0]["text"] for line in document["conversations"]] == ["Which?"] * 2
    assert document["sha256"] == hash_of(document)


async def test_a_thread_without_messages_is_exported(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "@Ben hello", mentions_other=True)
    thread = said.thread_id
    assert thread
    await delete_message(world.services, aki, str(said.message_id), event_key="d")
    document = json.loads(await whole(await export_thread(world.services, aki, thread, form="json")))
    assert [line["messages"] for line in document["conversations"]] == [[]]
    assert document["sha256"] == hash_of(document)
    assert "# " in await whole(await export_thread(world.services, aki, thread, form="markdown"))


async def test_the_memory_of_an_export_does_not_grow_with_the_thread(tmp_path: Path) -> None:
    async with open_ground(f"sqlite:///{tmp_path / 'store.db'}") as ground:
        peaks = []
        for count in (2 * PAGE, 12 * PAGE):
            thread = (await ground.converse(count)).thread
            file = await export_for_operator(ground.store, thread.id, form="json")
            tracemalloc.start()
            try:
                size = 0
                async for part in file.parts:
                    size += len(part)
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert size > 6 * PAGE * 200
        assert peaks[1] < peaks[0] * 1.5
