"""Each mode on the page, without a script: its form, its estimate, its answers, and what people do with them."""

import asyncio
import re
from datetime import timedelta
from urllib.parse import quote

import pytest

from core.domain.message import MAX_MESSAGE_CHARS
from core.domain.policy import Policy
from tests.bot.console.conftest import OFF, Ground
from tests.bot.console.page_source import Element, PageSource
from tests.examples.views import HOSTILE
from tests.product import eventually

TWO = {"take.seer": OFF, "take.small": OFF}
"""A Compare of alpha and beta alone, so that others are free to review."""

LABELS = {
    "compare": [],
    "debate": ["Round 1 of 4: problem framing", "Round 2 of 4: position of A", "Round 2 of 4: position of B"],
    "codraft": ["Draft", "Pass 1: critique", "Pass 1: revision"],
    "workflow": ["Workflow (Beta), "],
}


def links(page: PageSource, text: str) -> list[Element]:
    return [one for one in page.all("a") if one.text == text]


def form_to(page: PageSource, ending: str) -> list[Element]:
    return [one for one in page.all("form") if one.attributes["action"].endswith(ending)]


# --- from the composer to the first answers -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(LABELS))
async def test_a_mode_starts_after_its_estimate_and_not_before(ground: Ground, mode: str) -> None:
    visitor, model = ground.visitor, ground.world.model
    if mode == "workflow":
        choice = await visitor.form(mode, "Which queue?")
        assert {one.attributes["value"] for one in choice.all("button", name="workflow")} >= {"decision_memo"}
    more = {"workflow": "document_polish"} if mode == "workflow" else {}
    form = await visitor.form(mode, "Which queue?", **more)
    assert form.one("textarea", name="text").text == "Which queue?"
    status, _, confirm = await visitor.post("/start/check", form.fields())
    assert status == 200
    assert "Nothing has started yet" in confirm.text
    assert "price" in confirm.text
    assert model.calls == []
    assert "Which queue?" not in (await visitor.get("/tree", fragment=True)).text
    _, path, _ = await visitor.post("/start/go", confirm.fields())
    page = await visitor.ended(path.removeprefix("/t/"))
    assert page.one("h1").text == "Which queue?"
    shown = [one.text for one in page.all("p", class_="part-label")]
    assert all(label.startswith(wanted) for label, wanted in zip(shown, LABELS[mode], strict=False)), shown
    assert len(shown) >= len(LABELS[mode])
    badge = page.one("span", class_="badge mode-badge").text
    assert badge == {"codraft": "Co-Draft", "workflow": "Workflow (Beta)"}.get(mode, mode.capitalize())


async def test_a_start_sent_twice_is_one_thread(ground: Ground) -> None:
    visitor = ground.visitor
    _, confirm = await visitor.estimate("compare", "once", **TWO)
    sent = await asyncio.gather(*(visitor.script("/start/go", confirm.fields()) for _ in range(3)))
    assert len({said["location"] for _, said in sent}) == 1
    await visitor.ended(sent[0][1]["location"].removeprefix("/t/"))
    assert len(ground.world.model.calls) == 2


async def test_typed_commands_lead_to_the_same_confirmation(ground: Ground) -> None:
    visitor = ground.visitor

    async def typed(text: str, **where: str) -> tuple[int, dict[str, object]]:
        fields = {"channel": "general", **where, "text": text, "event_key": await visitor.key()}
        return await visitor.script("/say", fields)

    for text in ("/compare Which queue?", "/debate Which queue?", "/codraft Which queue?"):
        _, said = await typed(text)
        page = PageSource(f"<div>{said['html']}</div>")
        assert "Nothing has started yet" in page.text
        assert page.all("input", name="text")[0].attributes["value"] == "Which queue?"
    _, said = await typed("/workflow decision_memo Which queue?")
    assert "Decision memo" in str(said["html"])
    for text, shown in (("/debate", "Participants"), ("/workflow", "Decision memo"), ("／compare", "Blind")):
        _, said = await typed(text)
        assert shown in str(said["html"])
        assert "Nothing has started yet" not in str(said["html"])
    for text in ("/workflow nothing Which queue?", "/workflow nothing"):
        status, said = await typed(text)
        assert status == 422
        assert "There is no workflow “nothing”" in str(said["error"])
    thread = await visitor.start_thread("Hello")
    status, said = await typed("/compare Which queue?", thread_id=thread)
    assert status == 422
    assert "begins a new thread" in str(said["error"])
    await visitor.answered(thread, 1)
    assert len(ground.world.model.calls) == 1


# --- refusals -----------------------------------------------------------------------------------------------------


IMPOSSIBLE: list[tuple[str, str, dict[str, str], str]] = [
    (
        "compare",
        "kept",
        {"take.alpha": OFF, "take.beta": OFF, "take.seer": OFF, "take.small": OFF},
        "Compare takes 2 to 6 models; 0",
    ),
    ("compare", "kept", {"times.alpha": "x"}, "whole number from 1 to 6"),
    ("compare", "kept", {"times.alpha": "6", "take.alpha": "on"}, "Compare takes 2 to 6"),
    ("compare", "kept", {"take.no-such-model": "on"}, "no model “no-such-model”"),
    ("compare", " ", {}, "nothing to send"),
    ("compare", "x" * (MAX_MESSAGE_CHARS + 1), {}, "at most"),
    ("debate", "t" * 4_001, {}, "at most 4000"),
    ("debate", "kept", {"background": "b" * 8_001}, "at most 8000"),
    ("debate", "kept", {"role.A": "king"}, "is not a role"),
    ("debate", "kept", {"model.B": "", "model.C": ""}, "2 to 4 participants; 1"),
    ("debate", "kept", {"rebuttal_rounds": "4"}, "1 to 3 are allowed"),
    ("debate", "", {}, "needs a topic"),
    ("codraft", "kept", {"passes": "0"}, "from 1 to 5"),
    ("codraft", "", {}, "needs a task"),
    ("workflow", "", {"workflow": "decision_memo"}, "needs “firstRequest”"),
]
"""Mode, text, what is changed in its form, and a piece of the refusal."""


@pytest.mark.soak
async def test_a_form_that_cannot_be_keeps_everything_and_says_what_is_allowed(ground: Ground) -> None:
    for mode, text, changes, sentence in IMPOSSIBLE:
        more = {"workflow": changes["workflow"]} if "workflow" in changes else {}
        fields = {**(await ground.visitor.form(mode, text, **more)).fields(), **changes}
        fields = {name: value for name, value in fields.items() if value != OFF}
        status, _, page = await ground.visitor.post("/start/check", fields)
        assert status == 422
        assert sentence in page.one("p", class_="error").text
        assert page.one("textarea", name="text").text == text
        status, _, page = await ground.visitor.post("/start/go", fields)
        assert status == 422
        assert page.one("textarea", name="text").text == text
    assert ground.world.model.calls == []


async def test_hostile_or_stale_starts_begin_nothing(ground: Ground) -> None:
    visitor = ground.visitor
    good = (await visitor.estimate("compare", HOSTILE, **TWO))[1].fields()
    for changes, expected in (
        ({"event_key": "made-up"}, 422),
        ({"mode": "chat"}, 422),
        ({"mode": HOSTILE}, 422),
        ({"channel": "dm-aki"}, 404),
        ({"channel": HOSTILE}, 404),
    ):
        status, _, page = await visitor.post("/start/go", {**good, **changes})
        assert status in {expected, 404, 422}, (changes, status)
        assert not {"script"} & {one.tag for one in page.elements if "main" in one.inside}
    status, _ = await visitor.script("/start/check", {**good, "channel": "dm-aki"})
    assert status == 404
    await visitor.get(f"/start?mode={quote(HOSTILE)}&channel=general", status=422)
    await visitor.get("/start?mode=workflow&workflow=nothing&channel=general", status=422)
    await visitor.get("/start?mode=compare&channel=nowhere", status=404)
    assert ground.world.model.calls == []
    assert (await visitor.get("/tree", fragment=True)).all("a", class_="thread-link") == []


# --- Compare ------------------------------------------------------------------------------------------------------


@pytest.mark.soak
async def test_the_answers_of_a_compare_are_compared_reviewed_saved_and_joined(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    ground.world.policies["local"] = Policy(allowed_models=("alpha", "beta", "seer", "small"))
    model.script = ["pomegranate", "quince"]
    thread = await visitor.begin("compare", "Which fruit?", **TWO)
    page = await visitor.ended(thread)
    assert [one.attributes["data-author"] for one in page.all("li", data_state="done")] == ["alpha", "beta"]
    hashes = {one.text for one in page.all("span", class_="shared")}
    assert len(hashes) == 1
    compare = form_to(page, "/compare_answers")[0].attributes["action"]
    ref = next(one for one in page.all("input", name="ref")).attributes["value"].partition("/")[0]
    _, _, page = await visitor.post(compare, {"ref": ref, "event_key": await visitor.key()})
    assert "being compared" in page.one("div", id="flash").text
    page = await visitor.ended(thread)
    assert page.one("div", id="flash").text == ""
    assert "Comparison" in [one.text for one in page.all("p", class_="part-label")]

    review = await visitor.get(links(page, "Cross Review")[1].attributes["href"])
    assert review.one("div", class_="estimate").text.startswith("2")
    ticks = review.all("input", type="checkbox")
    assert ["checked" in one.attributes for one in ticks] == [False, True]
    fields = {**review.fields(), **{one.attributes["name"]: "on" for one in ticks}}
    status, _, page = await visitor.post(f"/t/{thread}/review", {**fields, "count": "9"})
    assert status == 422
    assert "1 to 4" in page.one("p", class_="error").text
    assert ["checked" in one.attributes for one in page.all("input", type="checkbox")] == [True, True]
    _, _, page = await visitor.post(f"/t/{thread}/review", {**fields, "count": "4", "focus": "taste"})
    flash = page.one("div", id="flash").text
    assert "seer, small" in flash
    assert "Only 2 of 4 reviewers" in flash
    page = await visitor.ended(thread)
    assert "Cross Review, result" in [one.text for one in page.all("p", class_="part-label")]
    assert page.all("table")

    save = await visitor.get(links(page, "Save")[0].attributes["href"])
    _, _, page = await visitor.post(f"/t/{thread}/save", {**save.fields(), "name": "Fruit"})
    assert "Saved as “Fruit”" in page.one("div", id="flash").text
    again = {**save.fields(), "name": "ＦＲＵＩＴ", "event_key": await visitor.key()}
    status, _, page = await visitor.post(f"/t/{thread}/save", again)
    assert status == 422
    assert page.one("input", name="name").attributes["value"] == "ＦＲＵＩＴ"
    status, _, _ = await visitor.post(f"/t/{thread}/save", {**again, "as_version": "on"})
    assert status == 200
    assert "Version 2" in (await visitor.get(f"/t/{thread}/artifacts")).text

    join = await visitor.get(f"/t/{thread}/join")
    _, _, page = await visitor.post(f"/t/{thread}/join", {**join.fields(), "model": "seer"})
    assert "seer joins from the next question on" in page.one("ol", id="entries").text
    await visitor.say(thread, "And which vegetable?")
    page = await visitor.ended(thread)
    # What had to differ for the one that came late is told last, by the product itself.
    assert [one.attributes["data-author"] for one in page.all("li", data_state="done")][-4:] == [
        "alpha",
        "beta",
        "seer",
        "promptflow",
    ]


async def test_a_blind_compare_shows_no_name_before_a_vote(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.begin("compare", "Which fruit?", blind="on", **TWO)
    page = await visitor.ended(thread)
    assert [one.attributes["data-author"] for one in page.all("li", data_state="done")] == [
        "Model A",
        "Model B",
    ]
    assert not re.search(r"\b(alpha|beta)\b", page.one("ol", id="entries").text)
    receipt = await visitor.get(links(page, "Show AI input")[0].attributes["href"])
    assert "Hidden until someone votes" in receipt.text
    assert not re.search(r"\b(alpha|beta)\b", receipt.one("main").text)
    vote = form_to(page, "/vote")[0].attributes["action"]
    answer = links(page, "Save")[0].attributes["href"].partition("ref=")[2]
    _, _, page = await visitor.post(vote, {"ref": answer, "event_key": await visitor.key()})
    assert "Your vote counts" in page.one("div", id="flash").text
    names = {one.attributes["data-author"] for one in page.all("li", data_state="done")}
    assert names == {"alpha", "beta"}
    status, _, page = await visitor.post(vote, {"ref": answer, "event_key": await visitor.key()})
    assert status == 422
    assert form_to(page, "/reveal") == []


# --- Debate -------------------------------------------------------------------------------------------------------


async def test_a_debate_shows_its_round_and_stops(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    model.hold = asyncio.Event()
    thread = await visitor.begin("debate", "Ship on Friday?")

    async def writing() -> bool:
        return bool((await visitor.get(f"/t/{thread}")).all("li", class_="progress"))

    await eventually(writing)
    page = await visitor.get(f"/t/{thread}")
    assert "Round 1 of 4" in page.one("li", class_="progress").text
    stop = form_to(page, "/stop")[-1].attributes["action"]
    ref = page.all("input", name="ref")[-1].attributes["value"]
    await visitor.post(stop, {"ref": ref, "event_key": await visitor.key()})
    page = await visitor.ended(thread)
    assert page.all("li", class_="progress") == []
    assert [one.attributes["data-state"] for one in page.all("li") if "data-state" in one.attributes] == [
        "stopped"
    ]
    assert len(model.calls) == 1


@pytest.mark.soak
async def test_one_answer_of_a_compare_is_stopped_beside_the_button_of_the_run(ground: Ground) -> None:
    visitor, model = ground.visitor, ground.world.model
    model.hold, model.held = asyncio.Event(), "answer:beta"
    thread = await visitor.begin("compare", "Which?")
    await model.begun.wait()

    async def one_is_left() -> bool:
        return "2 of 3" in (await visitor.get(f"/t/{thread}")).one("li", class_="progress").text

    await eventually(one_is_left)
    page = await visitor.get(f"/t/{thread}")
    one, run = form_to(page, "/stop")
    assert [form.text.strip() for form in (one, run)] == ["Stop this answer", "Stop the run"]
    run_ref = page.all("input", name="ref")[-1].attributes["value"]
    refs = {field.attributes["value"] for field in page.all("input", name="ref")}
    ref = f"{run_ref}/2"
    assert ref in refs
    await visitor.post(one.attributes["action"], {"ref": ref, "event_key": await visitor.key()})
    page = await visitor.ended(thread)
    states = [li.attributes["data-state"] for li in page.all("li") if "data-state" in li.attributes]
    assert states == ["done", "stopped", "done"]
    status, _, page = await visitor.post(
        one.attributes["action"], {"ref": ref, "event_key": await visitor.key()}
    )
    assert status == 422
    assert "Nothing is being written" in page.text


# --- artifacts ----------------------------------------------------------------------------------------------------


async def test_a_draft_is_looked_at_edited_and_taken_away(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.begin("codraft", "A note to all")
    page = await visitor.ended(thread)
    newest = links(page, "Newest version")[0].attributes["href"]
    shown = await visitor.get(newest)
    assert "Version 2 · newest" in shown.text
    assert shown.all("tr", class_="added")
    first = await visitor.get(f"{newest}&version=1")
    assert first.all("table", class_="difference") == []

    edit = await visitor.get(f"/t/{thread}/artifact/edit?name=draft")
    fields = {**edit.fields(), "text": "By hand\r\nTwo lines", "reason": "tone"}
    status, path, page = await visitor.post(f"/t/{thread}/artifact/edit", fields)
    assert (status, path) == (200, f"/t/{thread}/artifact?name=draft")
    assert "Version 3 is saved" in page.one("div", id="flash").text
    assert "tone" in page.text

    stale = {**fields, "text": f"Mine {HOSTILE}", "event_key": await visitor.key()}
    status, _, page = await visitor.post(f"/t/{thread}/artifact/edit", stale)
    assert status == 422
    assert "has changed since" in page.one("p", class_="error").text
    assert page.fields()["text"] == f"Mine {HOSTILE}"
    assert page.all("tr", class_="removed")
    status, _, _ = await visitor.post(f"/t/{thread}/artifact/edit", page.fields())
    assert status == 200

    for kind, media in (("md", "text/markdown"), ("txt", "text/plain")):
        address = f"{visitor.base}/t/{thread}/artifact/download?name=draft&version=3&as={kind}"
        async with visitor.session.get(address) as response:
            assert response.content_type == media
            assert response.headers["Content-Disposition"].startswith(
                f'attachment; filename="draft v3.{kind}"'
            )
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert await response.text() == "By hand\nTwo lines"


async def test_what_is_not_there_or_not_allowed_is_refused_in_one_sentence(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.begin("codraft", "A note to all")
    await visitor.ended(thread)
    for path in (
        "artifact?name=nothing",
        "artifact?name=draft&version=99",
        "artifact/edit?name=",
        "artifact/download?name=nothing",
        f"artifact?name={quote(HOSTILE)}",
        "review?ref=none",
    ):
        page = await visitor.get(f"/t/{thread}/{path}", status=404)
        assert page.one("h1").text == "This did not work", path
    for path in (
        "artifacts",
        "artifact?name=draft",
        "artifact/download?name=draft",
        "review?ref=x",
        "save?ref=x",
    ):
        await visitor.get(f"/t/none/{path}", status=404)
    fields = {"name": "draft", "base": "x", "text": "kept", "reason": "", "event_key": await visitor.key()}
    status, _, page = await visitor.post(f"/t/{thread}/artifact/edit", fields)
    assert status == 422
    assert page.fields()["text"] == "kept"
    status, _, page = await visitor.post(f"/t/{thread}/artifact/edit", {**fields, "base": "2", "text": " "})
    assert status == 422
    assert "needs some text" in page.text


async def test_review_save_and_artifacts_are_typed_too(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.begin("compare", "Which fruit?", **TWO)
    await visitor.ended(thread)
    _, said = await visitor.say(thread, "/review")
    assert said["panel"] is True
    assert len((await visitor.get(said["location"])).all("input", type="checkbox")) == 2
    _, said = await visitor.say(thread, "/save Fruit")
    assert (await visitor.get(said["location"])).one("input", name="name").attributes["value"] == "Fruit"
    _, said = await visitor.say(thread, "/artifacts")
    assert "Nothing is saved yet" in (await visitor.get(said["location"])).text


# --- files ----------------------------------------------------------------------------------------------------------

NOTES = {"notes.md": b"# planted-notes\n"}


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(LABELS))
async def test_files_given_to_the_composer_or_the_form_of_a_mode_reach_the_model(
    ground: Ground, mode: str
) -> None:
    visitor, model = ground.visitor, ground.world.model
    fields = {"channel": "general", "text": "Which queue?", "event_key": await visitor.key(), "mode": mode}
    _, _, page = await visitor.post("/start", fields, files=NOTES)
    if mode == "workflow":
        more = {**page.fields(), "workflow": "document_polish"}
        _, _, page = await visitor.post("/start", more)
    assert "notes.md" in page.text
    _, _, confirm = await visitor.post(
        "/start/check", form_fields(page), files={"more.csv": b"planted-rows\n"}
    )
    assert "notes.md" in confirm.text
    assert "more.csv" in confirm.text
    assert model.calls == []
    _, path, _ = await visitor.post("/start/go", confirm.fields())
    page = await visitor.ended(path.removeprefix("/t/"))
    assert "planted-notes" in model.sent(0)
    assert "planted-rows" in model.sent(0)
    assert "notes.md" in page.text


def form_fields(page: PageSource) -> dict[str, str]:
    """The fields of the form of a mode as it stands, with nothing left out."""
    return {name: value for name, value in page.fields().items() if not name.startswith("drop.")}


@pytest.mark.soak
async def test_a_file_can_be_left_out_again_and_a_refused_form_keeps_the_others(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "general", "text": "", "event_key": await visitor.key(), "mode": "debate"}
    _, _, page = await visitor.post("/start", fields, files={**NOTES, "old.txt": b"planted-old\n"})
    status, _, page = await visitor.post("/start/check", {**form_fields(page), "drop.1": "on"})
    assert status == 422
    assert "notes.md" in page.text
    assert "old.txt" not in page.text
    _, _, confirm = await visitor.post("/start/check", {**form_fields(page), "text": "Ship?"})
    _, path, _ = await visitor.post("/start/go", confirm.fields())
    await visitor.ended(path.removeprefix("/t/"))
    assert "planted-notes" in ground.world.model.sent(0)
    assert "planted-old" not in ground.world.model.sent(0)


async def test_files_that_are_gone_are_told_and_nothing_starts(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "general", "text": "Ship?", "event_key": await visitor.key(), "mode": "debate"}
    _, _, page = await visitor.post("/start", fields, files=NOTES)
    _, _, confirm = await visitor.post("/start/check", form_fields(page))
    for late in (timedelta(hours=3), timedelta()):
        ground.world.clock.advance(late)
        status, _, page = await visitor.post("/start/go", confirm.fields())
        assert status == 422
        assert "no longer here" in page.one("p", class_="error").text
    assert ground.world.model.calls == []


async def test_more_files_than_a_message_holds_are_refused_with_the_numbers(ground: Ground) -> None:
    visitor = ground.visitor
    form = form_fields(await visitor.form("compare", "Which queue?"))
    status, _, page = await visitor.post(
        "/start/check", form, files={f"{number}.txt": b"x" for number in range(11)}
    )
    assert status == 422
    assert "There are 11 files; at most 10 fit one message." in page.text


async def test_a_mode_typed_as_a_command_takes_the_files_along(ground: Ground) -> None:
    visitor = ground.visitor
    fields = {"channel": "general", "text": "/compare Which queue?", "event_key": await visitor.key()}
    _, _, confirm = await visitor.post("/say", fields, files=NOTES)
    assert "notes.md" in confirm.text
    _, path, _ = await visitor.post("/start/go", confirm.fields())
    await visitor.ended(path.removeprefix("/t/"))
    assert "planted-notes" in ground.world.model.sent(0)
