import asyncio
import json
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from aiohttp import ClientResponse

from bot.console.upload import MAX_UPLOAD_BYTES
from core.domain.errors import StoreUnavailable
from core.domain.message import MAX_MESSAGE_CHARS
from tests.bot.console.conftest import Ground
from tests.examples.views import HOSTILE
from tests.product import eventually

SOON_S = 10.0


async def events_of(response: ClientResponse) -> AsyncIterator[tuple[str, dict[str, object]]]:
    """Events of a stream, without the comments that keep it open."""
    name = ""
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


# --- the user's story without a script ----------------------------------------------------------------------------


async def test_a_newcomer_starts_a_thread_and_sees_the_answer(ground: Ground) -> None:
    home = await ground.visitor.get("/")
    assert "Your first message starts a new thread in general" in home.text
    ground.world.model.script.append("**Postgres** fits.")
    thread = await ground.visitor.start_thread("Which database?")
    page = await ground.visitor.answered(thread, 1)
    assert page.one("h1").text == "Which database?"
    assert [one.text for one in page.all("a", class_="position")] == ["#1", "#2"]
    assert page.all("strong")[-1].text == "Postgres"
    assert "Which database?" in (await ground.visitor.get("/tree", fragment=True)).text


async def test_the_model_chosen_for_a_new_thread_answers_in_it(ground: Ground) -> None:
    thread = await ground.visitor.start_thread("Hello", model="beta")
    await ground.visitor.answered(thread, 1)
    assert ground.world.model.calls[-1].model == "beta"


async def test_a_branch_starts_at_its_message_and_neither_side_leaks(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    thread = await visitor.start_thread("first")
    page = await visitor.answered(thread, 1)
    await visitor.post("/say", {"thread_id": thread, "text": "second", "event_key": await visitor.key()})
    page = await visitor.answered(thread, 2)
    link = next(
        one
        for one in page.all("a", class_="action")
        if "/branch?" in one.attributes["href"] and "at=2" in one.attributes["href"]
    )
    form = await visitor.get(link.attributes["href"])
    assert form.one("cite").text == "alpha · #2"
    fields = {
        one.attributes["name"]: one.attributes["value"]
        for one in form.all("input")
        if "/branch" in link.attributes["href"]
    }
    assert fields["position"] == "2"
    _, path, branch = await visitor.post(
        f"/t/{thread}/branch", {**fields, "name": "Try SQLite", "reason": "cheap"}
    )
    branch_id = path.removeprefix("/t/")
    assert branch.one("article").text.count("Try SQLite") == 1
    assert "cheap" in branch.text
    assert "second" not in branch.one("ol", id="entries").text
    await visitor.post(
        "/say", {"thread_id": branch_id, "text": "only in the branch", "event_key": await visitor.key()}
    )
    await visitor.answered(branch_id, 2)
    assert "only in the branch" in model.sent()
    assert "second" not in model.sent()
    await visitor.post("/say", {"thread_id": thread, "text": "third", "event_key": await visitor.key()})
    parent = await visitor.answered(thread, 3)
    assert "only in the branch" not in model.sent()
    assert "Branched at #2: Try SQLite" in parent.text


async def test_show_ai_input_lists_exactly_what_the_model_got(ground: Ground) -> None:
    thread = await ground.visitor.start_thread(HOSTILE)
    page = await ground.visitor.answered(thread, 1)
    link = next(
        one for one in page.all("a", class_="action") if one.attributes["href"].startswith("/receipts/")
    )
    for fragment in (False, True):
        receipt = await ground.visitor.get(link.attributes["href"], fragment=fragment)
        assert [one.text for one in receipt.all("pre", class_="exact")] == ground.world.model.sent_texts()
        assert "matches what is stored" in receipt.text


async def test_retry_other_model_and_keep_change_which_answer_the_history_holds(ground: Ground) -> None:
    visitor = ground.visitor
    ground.world.model.script += ["first answer", "second answer"]
    thread = await visitor.start_thread("Hello")
    page = await visitor.answered(thread, 1)
    href = next(
        one.attributes["href"]
        for one in page.all("a", class_="action")
        if "/other?" in one.attributes["href"]
    )
    form = await visitor.get(href)
    assert [one.attributes["value"] for one in form.all("button", name="model")][:2] == ["alpha", "beta"]
    fields = {name: form.one("input", name=name).attributes["value"] for name in ("ref", "event_key")}
    await visitor.post(f"/t/{thread}/again", {**fields, "model": "beta"})
    page = await visitor.answered(thread, 2)
    assert page.one("details", class_="earlier-answer").text.count("first answer") == 1
    assert [one for one in page.all("form") if one.attributes["action"].endswith("/keep")]
    names = [one.attributes["value"] for one in page.all("input", name="ref") if "details" in one.inside]
    await visitor.post(f"/t/{thread}/keep", {"ref": names[0], "event_key": await visitor.key()})
    page = await visitor.answered(thread, 2)
    assert page.one("details", class_="earlier-answer").text.count("second answer") == 1


async def test_stop_keeps_what_was_written(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    model.hold = asyncio.Event()
    model.script.append("Postgres and more")
    thread = await visitor.start_thread("Hello")
    await asyncio.wait_for(model.begun.wait(), SOON_S)
    page = await visitor.get(f"/t/{thread}")
    assert [one for one in page.all("form") if one.attributes["action"].endswith("/stop")]
    ref = page.one("input", name="ref").attributes["value"]
    await visitor.post(f"/t/{thread}/stop", {"ref": ref, "event_key": await visitor.key()})

    async def stopped() -> bool:
        return bool((await visitor.get(f"/t/{thread}")).all("li", data_state="stopped"))

    await eventually(stopped)
    assert "Stopped by a person" in (await visitor.get(f"/t/{thread}")).text


async def test_an_edit_and_a_deletion_reach_the_next_ai_input(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("The budget is 5")
    page = await visitor.answered(thread, 1)
    edit, delete = (
        next(one.attributes["href"] for one in page.all("a") if f"/{verb}?" in one.attributes.get("href", ""))
        for verb in ("edit", "delete")
    )
    form = await visitor.get(edit)
    assert form.one("textarea", name="text").text == "The budget is 5"
    fields = {name: form.one("input", name=name).attributes["value"] for name in ("message", "event_key")}
    _, _, page = await visitor.post(f"/t/{thread}/edit", {**fields, "text": "The budget is 9"})
    assert "edited" in page.text
    await visitor.post("/say", {"thread_id": thread, "text": "How much?", "event_key": await visitor.key()})
    page = await visitor.answered(thread, 2)
    assert "The budget is 9" in ground.world.model.sent()
    assert "The budget is 5" not in ground.world.model.sent()
    delete = next(
        one.attributes["href"] for one in page.all("a") if "/delete?" in one.attributes.get("href", "")
    )
    form = await visitor.get(delete)
    assert "The budget is 9" in form.one("blockquote").text
    fields = {name: form.one("input", name=name).attributes["value"] for name in ("message", "event_key")}
    _, _, page = await visitor.post(f"/t/{thread}/delete", fields)
    assert "The budget is 9" not in page.one("ol", id="entries").text


async def test_files_are_taken_along_and_one_that_cannot_be_read_is_named(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "general", "text": "Look", "event_key": await visitor.key()}
    files = {"load.csv": b"minute,jobs\n0,200\n", "odd.bin": bytes(range(256))}
    status, path, page = await visitor.post("/say", fields, files=files)
    assert status == 200
    assert "load.csv" in page.text
    assert "cannot be read" in page.one("span", class_="problem-text").text
    await visitor.answered(path.removeprefix("/t/"), 1)
    assert "minute,jobs" in ground.world.model.sent()


async def test_a_thread_is_renamed_and_exported(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    form = await visitor.get(f"/t/{thread}/rename")
    assert form.one("input", name="title").attributes["value"] == "Hello"
    _, _, page = await visitor.post(f"/t/{thread}/rename", {"title": "Queue"})
    assert page.one("h1").text == "Queue"
    for name, beginning in (("markdown", b"# Queue"), ("json", b"{")):
        async with visitor.session.get(f"{visitor.base}/t/{thread}/export?format={name}") as response:
            assert response.headers["Content-Disposition"].startswith('attachment; filename="thread-')
            assert (await response.read()).startswith(beginning)


async def test_models_usage_and_help_are_pages_and_fragments(ground: Ground) -> None:
    visitor = ground.visitor
    assert "No model has been called yet" in (await visitor.get("/usage")).text
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    for fragment in (False, True):
        assert "openai/alpha-2026-01-01" in (await visitor.get("/models", fragment=fragment)).text
        assert "$0.25" in (await visitor.get("/usage?by=model", fragment=fragment)).text
        assert "/branch" in (await visitor.get("/help", fragment=fragment)).text


# --- people and languages -----------------------------------------------------------------------------------------


async def test_the_page_speaks_the_language_that_a_person_chose(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    _, path, page = await visitor.post("/language", {"locale": "ja", "back": f"/t/{thread}"})
    assert path == f"/t/{thread}"
    assert page.one("html").attributes["lang"] == "ja"
    assert "AIへの入力を見る" in page.text
    status, _, page = await visitor.post("/language", {"locale": "fr", "back": "/"})
    assert status == 422
    assert "この言語には対応していません" in page.text


@pytest.mark.soak
async def test_several_people_speak_in_one_thread_under_their_names(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    await visitor.post("/person", {"person": "ben", "back": f"/t/{thread}"})
    await visitor.post("/say", {"thread_id": thread, "text": "I am new", "event_key": await visitor.key()})
    page = await visitor.answered(thread, 2)
    assert [one.text for one in page.all("strong", class_="author")] == ["You", "alpha", "Ben", "alpha"]
    assert "Ben" in ground.world.model.sent()


async def test_a_message_to_another_person_is_kept_and_not_answered(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    key = await visitor.key()
    _, _, page = await visitor.post(
        "/say", {"thread_id": thread, "text": "@Ben what do you think?", "event_key": key}
    )
    assert len(page.all("li", data_state="done")) == 1
    assert page.all("li", data_state="queued") == page.all("li", data_state="writing") == []


async def test_a_person_is_added_and_speaks_at_once(ground: Ground) -> None:
    _, _, page = await ground.visitor.post("/people", {"name": "Chika", "locale": "ja"})
    assert page.one("span", class_="person-name").text == "Chika"
    assert page.one("html").attributes["lang"] == "ja"
    status, _, page = await ground.visitor.post("/people", {"name": "Chika", "locale": "en"})
    assert status == 422
    assert page.one("input", name="name").attributes["value"] == "Chika"
    assert page.one("p", class_="error").text


async def test_what_a_person_cannot_see_looks_like_what_is_not_there(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "leads", "text": "private plan", "event_key": await visitor.key()}
    _, path, _ = await visitor.post("/say", fields)
    await visitor.answered(path.removeprefix("/t/"), 1)
    page = await visitor.get(path)
    receipt = next(
        one.attributes["href"]
        for one in page.all("a")
        if one.attributes.get("href", "").startswith("/receipts/")
    )
    await visitor.post("/person", {"person": "ben", "back": "/"})
    unknown = (await visitor.get(f"/t/{uuid4()}", status=404)).one("main").text
    for hidden in (path, f"{path}/branch", f"{path}/rename", f"{path}/entries"):
        assert (await visitor.get(hidden, status=404)).one("main").text == unknown
    await visitor.get(receipt, status=404)
    await visitor.get("/c/leads", status=404)
    async with await visitor.stream(path.removeprefix("/t/")) as response:
        assert response.status == 404
    async with visitor.session.get(f"{visitor.base}{path}/export") as response:
        assert response.status == 404
    assert "private plan" not in (await visitor.get("/")).text


# --- refused, forged, stale, resent -------------------------------------------------------------------------------


async def test_a_message_that_is_refused_says_why_and_stays_in_the_composer(ground: Ground) -> None:
    for text in ("", "   ", "x" * (MAX_MESSAGE_CHARS + 1)):
        fields = {"channel": "general", "text": text, "event_key": await ground.visitor.key()}
        status, _, page = await ground.visitor.post("/say", fields)
        assert status == 422
        assert page.one("p", class_="error").text
        assert page.one("textarea", id="text").text == text
        assert page.all("input", name="event_key")[0].attributes["value"] != fields["event_key"]
        assert "No threads yet" in page.one("div", id="tree").text


async def test_a_forged_or_stale_form_is_refused_and_keeps_the_text(ground: Ground) -> None:
    for key in ("", "made-up", "'; drop table message"):
        fields = {"channel": "general", "text": "kept text", "event_key": key}
        status, _, page = await ground.visitor.post("/say", fields)
        assert status == 422
        assert "Reload the page" in page.one("p", class_="error").text
        assert page.one("textarea", id="text").text == "kept text"


async def test_a_form_sent_twice_is_done_once(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "general", "text": "once", "event_key": await visitor.key()}
    answers = await asyncio.gather(*(visitor.script("/say", fields) for _ in range(4)))
    assert len({said["location"] for _, said in answers}) == 1
    thread = answers[0][1]["location"].removeprefix("/t/")
    page = await visitor.answered(thread, 1)
    assert len(page.all("li", data_state="done")) == 1
    again = page.all("input", name="ref")[0]
    retry = {"ref": again.attributes["value"], "event_key": await visitor.key()}
    first, second = [await visitor.script(f"/t/{thread}/again", retry) for _ in range(2)]
    assert first[0] == second[0] == 200
    await visitor.answered(thread, 2)
    branch = {"position": "1", "name": "one", "event_key": await visitor.key()}
    made = [await visitor.script(f"/t/{thread}/branch", branch) for _ in range(2)]
    assert made[0][1]["location"] == made[1][1]["location"]


async def test_the_script_is_told_in_one_sentence_and_gets_a_fresh_key(ground: Ground) -> None:
    fields = {"channel": "general", "text": "", "event_key": await ground.visitor.key()}
    status, said = await ground.visitor.script("/say", fields)
    assert status == 422
    assert said["error"].startswith("There is nothing to send")
    assert said["key"] != fields["event_key"]


async def test_a_key_stays_while_it_is_not_known_whether_the_form_was_carried_out(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*_: object) -> None:
        raise StoreUnavailable("locked")

    monkeypatch.setattr("bot.console.form.say", locked)
    fields = {"channel": "general", "text": "kept", "event_key": await ground.visitor.key()}
    status, said = await ground.visitor.script("/say", fields)
    assert status == 503
    assert said["key"] == fields["event_key"]
    status, _, page = await ground.visitor.post("/say", fields)
    assert status == 503
    assert page.one("textarea", id="text").text == "kept"
    assert page.all("input", name="event_key")[0].attributes["value"] == fields["event_key"]


async def test_an_impossible_position_is_refused_in_the_form_with_what_is_allowed(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    for position in ("0", "-1", "99", "two", "1.5", "９９"):
        fields = {"position": position, "name": "my name", "event_key": await visitor.key()}
        status, _, page = await visitor.post(f"/t/{thread}/branch", fields)
        assert status == 422
        assert "from 1 to 2" in page.one("p", class_="error").text
        assert page.one("input", name="position").attributes["value"] == position
        assert page.one("input", name="name").attributes["value"] == "my name"


async def test_a_fifth_level_is_refused_with_the_chain(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Top")
    await visitor.answered(thread, 1)
    for level in range(1, 5):
        fields = {"name": f"level {level}", "event_key": await visitor.key()}
        _, said = await visitor.script(f"/t/{thread}/branch", fields)
        thread = said["location"].removeprefix("/t/").partition("#")[0]
    status, said = await visitor.script(
        f"/t/{thread}/branch", {"name": "5", "event_key": await visitor.key()}
    )
    assert status == 422
    assert "Top › level 1 › level 2 › level 3 › level 4" in said["error"]
    assert "Branch, level 4 of 4" in (await visitor.get(f"/t/{thread}")).text


async def test_an_upload_that_is_too_large_keeps_the_text(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.console.upload.MAX_UPLOAD_BYTES", 1000)
    fields = {"channel": "general", "text": "kept", "event_key": await ground.visitor.key()}
    status, _, page = await ground.visitor.post("/say", fields, files={"big.txt": b"x" * 200_000})
    assert status == 422
    assert "more than the console takes" in page.one("p", class_="error").text
    assert page.one("textarea", id="text").text == "kept"
    assert MAX_UPLOAD_BYTES == 64_000_000


async def test_an_address_without_anything_says_so(ground: Ground) -> None:
    for path in ("/nothing", "/t/x/y/z", "/c/none", "/receipts/none", "/t/none"):
        page = await ground.visitor.get(path, status=404)
        assert page.one("h1").text == "This did not work"


async def test_a_dialog_says_once_that_it_did_not_work_and_is_closed_where_it_stands(ground: Ground) -> None:
    dialog = await ground.visitor.get("/receipts/none", fragment=True, status=404)
    assert dialog.text.count("This did not work") == 1
    assert dialog.one("h2").text == "This did not work"
    assert dialog.one("button", data_close="").text == "Close"
    assert dialog.all("a") == []


async def test_a_bug_shows_a_sentence_and_never_its_trace(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("bot.console.page.list_models", broken)
    page = await ground.visitor.get("/models", status=500)
    assert "did not foresee" in page.text
    assert "secret detail" not in page.text
    assert "a request to the console failed" in caplog.text


# --- typed commands -----------------------------------------------------------------------------------------------


async def test_commands_typed_with_a_slash_do_what_the_buttons_do(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)

    async def typed(text: str) -> tuple[int, dict[str, object]]:
        fields = {"thread_id": thread, "text": text, "event_key": await visitor.key()}
        return await visitor.script("/say", fields)

    assert (await typed("/rename Queue"))[1]["location"] == f"/t/{thread}"
    assert (await visitor.get(f"/t/{thread}")).one("h1").text == "Queue"
    status, said = await typed("/input")
    assert str(said["location"]).startswith("/receipts/")
    assert said["panel"] is True
    await typed("/retry beta")
    await visitor.answered(thread, 2)
    assert ground.world.model.calls[-1].model == "beta"
    _, said = await typed("/branch 1 First only")
    branch = await visitor.get(str(said["location"]).partition("#")[0])
    assert branch.one("h1").text == "First only"
    for word in ("help", "models", "usage"):
        assert (await typed(f"/{word}"))[1] | {"key": ""} == {
            "location": f"/{word}",
            "panel": True,
            "flash": "",
            "key": "",
        }
    assert (await typed("/threads"))[1]["location"] == "/"
    status, said = await typed("/stop")
    assert status == 422
    status, said = await typed("/dance now")
    assert status == 422
    assert "/dance" in str(said["error"])
    texts = [call.ai_input.parts[-1].text for call in ground.world.model.calls]
    assert not [text for text in texts if "/rename" in text or "/dance" in text]


async def test_a_command_that_needs_a_thread_says_so_outside_one(ground: Ground) -> None:
    fields = {"channel": "general", "text": "/branch", "event_key": await ground.visitor.key()}
    status, said = await ground.visitor.script("/say", fields)
    assert status == 422
    assert said["error"] == "/branch works inside a thread. Open one first."


# --- live ---------------------------------------------------------------------------------------------------------


async def test_the_stream_tells_text_as_it_is_written_and_then_the_end(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    model.hold = asyncio.Event()
    model.script.append("Postgres fits")
    seen: list[tuple[str, dict[str, object]]] = []
    async with asyncio.timeout(SOON_S), await visitor.stream(thread) as response:
        assert response.content_type == "text/event-stream"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        await visitor.post("/say", {"thread_id": thread, "text": "Again", "event_key": await visitor.key()})
        async for name, data in events_of(response):
            seen.append((name, data))
            if name == "text":
                model.hold.set()
            if name == "end":
                break
    assert {"thread", "tree", "text", "end"} <= {name for name, _ in seen}
    assert next(data for name, data in seen if name == "text")["fresh"] is True
    await eventually(lambda: ground.feed.open_pages == 0)


async def test_a_change_of_another_process_reaches_the_page_too(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    monkeypatch.setattr("bot.console.events.LOOK_AGAIN_S", 0.05)
    async with asyncio.timeout(SOON_S), await visitor.stream(thread) as response:
        monkeypatch.setattr(ground.feed, "tell_change", lambda _: None)
        await visitor.post(f"/t/{thread}/rename", {"title": "Renamed elsewhere"})
        names = {(await anext(stream))[0] for stream in [events_of(response)] for _ in range(2)}
    assert names == {"thread", "tree"}


async def test_a_page_without_a_thread_hears_of_new_threads(ground: Ground) -> None:
    async with asyncio.timeout(SOON_S), await ground.visitor.stream("") as response:
        await ground.visitor.start_thread("Hello")
        name, _ = await anext(events_of(response))
    assert name == "tree"


async def test_a_stream_ends_when_the_server_closes(ground: Ground) -> None:
    async with asyncio.timeout(SOON_S), await ground.visitor.stream("") as response:
        await eventually(lambda: ground.feed.open_pages == 1)
        await ground.served.close()
        await response.read()
    assert ground.feed.open_pages == 0


async def test_the_entries_of_a_thread_come_as_a_fragment(ground: Ground) -> None:
    thread = await ground.visitor.start_thread("Hello")
    page = await ground.visitor.answered(thread, 1)
    fragment = await ground.visitor.get(f"/t/{thread}/entries", fragment=True)
    ids = [one.attributes["id"] for one in fragment.all("li")]
    assert ids == [one.attributes["id"] for one in page.all("li") if one.attributes.get("data-version")]


@pytest.mark.soak
async def test_a_long_thread_shows_its_newest_messages_and_leads_to_earlier_ones(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("message 1")
    await visitor.answered(thread, 1)
    for number in range(2, 53):
        fields = {"thread_id": thread, "text": f"@Ben message {number}", "event_key": await visitor.key()}
        await visitor.script("/say", fields)
    page = await visitor.get(f"/t/{thread}")
    entries = page.one("ol", id="entries").text
    assert "message 52" in entries
    assert "message 1\n" not in entries
    earlier = page.one("a", id="earlier")
    page = await visitor.get(earlier.attributes["href"])
    entries = page.one("ol", id="entries").text
    assert "message 1\n" in entries
    assert "message 52" not in entries
    assert "data-live" not in page.one("ol", id="entries").attributes


async def test_assets_are_kept_by_version(ground: Ground) -> None:
    for name in ("console.css", "console.js", "icon.svg"):
        visitor = ground.visitor
        version = (await visitor.get("/")).one("script").attributes["src"].partition("v=")[2]
        async with visitor.session.get(f"{visitor.base}/static/{name}?v={version}") as response:
            assert "immutable" in response.headers["Cache-Control"]
            assert await response.read()
        async with visitor.session.get(f"{visitor.base}/static/{name}?v=old") as response:
            assert response.headers["Cache-Control"] == "no-cache"
        async with visitor.session.get(f"{visitor.base}/static/../app.py") as response:
            assert response.status == 404


async def test_a_thumb_is_kept_shown_as_pressed_and_taken_back(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    page = await visitor.answered(thread, 1)
    assert len([one for one in page.all("form") if one.attributes["action"].endswith("/feedback")]) == 2
    ref = page.all("input", name="ref")[-1].attributes["value"]
    for shown in (["true", "false"], ["false", "false"]):
        sent = {"ref": ref, "thumb": "up", "event_key": await visitor.key()}
        await visitor.post(f"/t/{thread}/feedback", sent)
        page = await visitor.answered(thread, 1)
        marks = {one.text: one.attributes.get("aria-pressed") for one in page.all("button")}
        pressed = [marks[name] for name in ("Good answer", "Poor answer")]
        assert pressed == shown
    forged = {"ref": ref, "thumb": "sideways", "event_key": await visitor.key()}
    status, _, page = await visitor.post(f"/t/{thread}/feedback", forged)
    assert status == 422
    assert "no such feedback" in page.text
