"""Pins, handovers and adoptions on the page, without a script, from the first link to what stands there after it."""

import pytest

from core.domain.prior_context import ITEM_CHARS
from tests.bot.console.conftest import Ground, Visitor
from tests.bot.console.page_source import Element, PageSource
from tests.examples.views import HOSTILE
from tests.product import eventually


def links(page: PageSource, start: str) -> list[str]:
    """Addresses of the page's links that begin like this, each once."""
    found = [one.attributes["href"] for one in page.all("a") if one.attributes["href"].startswith(start)]
    return list(dict.fromkeys(found))


def forms(page: PageSource, ending: str) -> list[Element]:
    return [one for one in page.all("form") if one.attributes["action"].endswith(ending)]


async def in_japanese(visitor: Visitor) -> None:
    await visitor.post("/language", {"locale": "ja", "back": "/"})


async def press(visitor: Visitor, thread: str, path: str, ref: str = "") -> tuple[int, str, PageSource]:
    """Press a button that acts at once."""
    return await visitor.post(f"/t/{thread}/{path}", {"ref": ref, "event_key": await visitor.key()})


# --- pins ---------------------------------------------------------------------------------------------------------


async def test_an_answer_is_pinned_edited_and_removed_and_its_history_stays(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Which supplier?")
    page = await visitor.answered(thread, 1)
    opened = await visitor.get(links(page, f"/t/{thread}/pin?message=")[-1])
    assert "answer 1" in opened.one("blockquote").text
    _, path, _ = await visitor.post(f"/t/{thread}/pin", {**opened.fields(), "kind": "decision"})
    assert path == f"/t/{thread}"
    listed = await visitor.get(f"/t/{thread}/pins")
    assert listed.one("p", class_="said").text == "answer 1"
    assert "Decision" in listed.one("ul", class_="pin-list").text
    edit = await visitor.get(links(listed, f"/t/{thread}/pin/edit")[0])
    assert edit.fields()["text"] == "answer 1"
    assert edit.fields()["kind"] == "decision"
    text = f"We take Kita\n{HOSTILE}"
    _, path, listed = await visitor.post(f"/t/{thread}/pin/edit", {**edit.fields(), "text": text})
    assert path == f"/t/{thread}/pins"
    assert listed.one("p", class_="said").text == text.strip()
    removed = forms(listed, "/pin/remove")
    assert len(removed) == 1
    history = links(listed, f"/t/{thread}/pin/history")[0]
    ref = history.partition("ref=")[2]
    _, _, listed = await press(visitor, thread, "pin/remove", ref)
    assert listed.all("p", class_="said") == []
    shown = await visitor.get(history)
    assert [one.text for one in shown.all("p", class_="said")] == ["answer 1", text.strip()]
    assert "removed" in shown.one("ol", class_="pin-list").text


async def test_a_refused_pin_says_why_and_keeps_what_was_typed(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Which supplier?")
    await visitor.answered(thread, 1)
    opened = await visitor.get(f"/t/{thread}/pin")
    status, _, page = await visitor.post(
        f"/t/{thread}/pin", {**opened.fields(), "kind": "reference", "text": "x" * 4_001}
    )
    assert status == 422
    assert "4001" in page.one("p", class_="error").text
    assert page.fields()["text"] == "x" * 4_001
    assert page.fields()["kind"] == "reference"
    status, said = await visitor.say(thread, "/pin nonsense We take Kita")
    assert status == 422
    assert "Kinds:" in said["error"]
    status, said = await visitor.say(thread, "/pin constraint By May")
    assert status == 200
    assert "By May" in (await visitor.get(f"/t/{thread}/pins")).text


# --- handovers ----------------------------------------------------------------------------------------------------


async def form_of_handover(visitor: Visitor, thread: str, target: str) -> tuple[str, PageSource]:
    """The address and page of a handover whose draft has come."""
    choice = await visitor.get(f"/t/{thread}/handover")
    _, path, page = await visitor.post(f"/t/{thread}/handover", {**choice.fields(), "target": target})
    assert path.startswith("/handovers/"), page.text

    async def there() -> bool:
        shown = await visitor.get(path)
        if waits := bool(shown.all("meta", http_equiv="refresh")):
            assert "being written" in shown.text
        return not waits

    await eventually(there)
    return path, await visitor.get(path)


@pytest.fixture
async def source(ground: Ground) -> str:
    """A thread with an answer and a pinned constraint."""
    thread = await ground.visitor.start_thread("Which supplier? onlyinthesource")
    await ground.visitor.answered(thread, 1)
    await ground.visitor.say(thread, "/pin constraint Not above 40 euros")
    return thread


async def test_a_handover_to_chat_is_edited_and_goes_on_in_its_own_thread(
    ground: Ground, source: str
) -> None:
    visitor = ground.visitor
    path, form = await form_of_handover(visitor, source, "chat")
    assert form.fields()["carry.constraints.1"] == "Not above 40 euros"
    assert "onlyinthesource" in form.fields()["carry.first_request"]
    assert "not carried to this mode" in form.text
    assert "At most 10 items of 300 characters each" in form.text
    assert "at most 4,000 characters" in form.text
    sent = {
        **form.fields(),
        "carry.summary": "Two suppliers are left",
        "carry.constraints.2": "By May",
        "text": "And now?",
        "model": "beta",
    }
    kept, _, again = await visitor.post(f"{path}/keep", sent)
    assert kept == 200
    assert again.fields()["carry.constraints.2"] == "By May"
    assert again.fields()["text"] == "And now?"
    assert "carry.constraints.4" in again.fields()
    assert (await visitor.get(path)).fields()["carry.summary"] == "Two suppliers are left"
    status, target, _ = await visitor.post(f"{path}/send", again.fields())
    assert status == 200
    thread = target.removeprefix("/t/")
    page = await visitor.answered(thread, 1)
    assert "Two suppliers are left" in page.text
    assert "Not above 40 euros\n- By May" in page.text
    assert links(page, f"/t/{source}") != []
    assert ground.world.model.calls[-1].model == "beta"

    async def proved() -> bool:
        return "What the models received" in (await visitor.get(f"/t/{thread}")).text

    await eventually(proved)
    assert "This handover was sent" in (await visitor.get(path)).text
    assert f"/t/{thread}" in links(await visitor.get(f"/t/{source}"), "/t/")


@pytest.mark.soak
async def test_several_models_are_estimated_first_and_a_target_without_a_start_waits_for_its_button(
    ground: Ground, source: str
) -> None:
    visitor, model = ground.visitor, ground.world.model
    path, form = await form_of_handover(visitor, source, "compare")
    fields = {**form.fields(), "carry.summary": "Two are left"}
    calls = len(model.calls)
    status, _, confirm = await visitor.post(f"{path}/send", fields)
    assert status == 200
    assert "calls to models" in confirm.text
    assert "Nothing has been sent yet" in confirm.text
    change = {name: value for name, value in confirm.fields().items() if name != "estimate_seen"}
    _, _, changed = await visitor.post(f"{path}/keep", change)
    assert changed.fields()["carry.summary"] == "Two are left"
    status, target, page = await visitor.post(f"{path}/send", confirm.fields())
    assert status == 200, page.text
    thread = target.removeprefix("/t/")
    assert len(model.calls) == calls
    assert len(forms(page, "/begin")) == 1
    await press(visitor, thread, "begin", thread)
    page = await visitor.ended(thread)
    assert forms(page, "/begin") == []
    assert len(model.calls) > calls
    status, _, page = await press(visitor, thread, "begin", thread)
    assert status == 422
    assert "has begun already" in page.one("p", class_="error").text


@pytest.mark.soak
async def test_the_delivery_line_of_a_blind_compare_names_no_model(ground: Ground, source: str) -> None:
    visitor = ground.visitor
    path, form = await form_of_handover(visitor, source, "compare")
    _, _, confirm = await visitor.post(f"{path}/send", {**form.fields(), "blind": "on", "text": "And now?"})
    _, target, _ = await visitor.post(f"{path}/send", confirm.fields())

    async def proved() -> bool:
        return "What the models received" in (await visitor.get(target)).text

    await eventually(proved)
    card = (await visitor.get(target)).all("article", class_="card")[1].text
    assert "received: Summary" in card
    assert [name for name in ("alpha", "beta", "seer", "small") if name in card] == []
    await press(visitor, target.removeprefix("/t/"), "reveal", target.removeprefix("/t/"))
    assert "alpha" in (await visitor.get(target)).all("article", class_="card")[1].text


async def test_a_refused_handover_says_why_and_keeps_every_field(ground: Ground, source: str) -> None:
    visitor = ground.visitor
    path, form = await form_of_handover(visitor, source, "debate")
    typed = {
        **form.fields(),
        "carry.open_questions.1": "q" * (ITEM_CHARS + 1),
        "carry.background": HOSTILE,
        "background": "premises",
        "text": "The topic",
        "rebuttal_rounds": "2",
    }
    status, _, page = await visitor.post(f"{path}/send", typed)
    assert status == 422
    assert "Open question 1 has" in page.one("p", class_="error").text
    for name in ("carry.open_questions.1", "background", "text", "rebuttal_rounds"):
        assert page.fields()[name] == typed[name]
    assert page.fields()["carry.background"].strip() == HOSTILE.strip()


@pytest.mark.soak
async def test_a_handover_may_be_typed_and_offers_the_workflows(ground: Ground, source: str) -> None:
    visitor = ground.visitor
    choice = await visitor.get(f"/t/{source}/handover")
    targets = {one.attributes["value"] for one in choice.all("button", name="target")}
    assert targets == {"chat", "compare", "debate", "codraft", "workflow"}
    status, said = await visitor.say(source, "/handover nowhere")
    assert status == 422
    assert "is not a mode" in said["error"]
    _, said = await visitor.say(source, "/handover workflow")
    path = said["location"]

    async def there() -> bool:
        return bool((await visitor.get(path)).all("select", name="workflow"))

    await eventually(there)
    form = await visitor.get(path)
    assert {one.attributes["name"] for one in form.all("textarea") if "input." in one.attributes["name"]} == {
        "input.background",
        "input.constraints",
        "input.openQuestions",
    }
    own = {"input.background": "plantedinput"}
    fields = {**form.fields(), **own, "workflow": "decision_memo", "text": "Which one?"}
    _, _, confirm = await visitor.post(f"{path}/send", fields)
    status, _, page = await visitor.post(f"{path}/send", confirm.fields())
    assert status == 200, page.text
    assert page.one("span", class_="badge mode-badge").text == "Workflow (Beta)"
    await eventually(lambda: "plantedinput" in "".join(ground.world.model.sent_texts()))


# --- adoptions ----------------------------------------------------------------------------------------------------


async def grown(visitor: Visitor) -> tuple[str, str]:
    """A thread with one answer, and a branch of it with one more."""
    parent = await visitor.start_thread("Which supplier?")
    await visitor.answered(parent, 1)
    opened = await visitor.get(f"/t/{parent}/branch")
    _, path, _ = await visitor.post(f"/t/{parent}/branch", {**opened.fields(), "name": "Kita"})
    branch = path.partition("#")[0].removeprefix("/t/")
    await visitor.say(branch, "What if Kita?")
    await visitor.answered(branch, 2)
    return parent, branch


async def review_of(visitor: Visitor, branch: str) -> tuple[str, PageSource]:
    """The address and page of a review whose draft has come."""
    _, path, page = await press(visitor, branch, "adopt")
    assert path.startswith("/reviews/"), page.text

    async def there() -> bool:
        return bool((await visitor.get(path)).all("textarea", name="reason"))

    await eventually(there)
    return path, await visitor.get(path)


async def requested(visitor: Visitor, branch: str) -> None:
    path, review = await review_of(visitor, branch)
    status, _, page = await visitor.post(path, {**review.fields(), "reason": "The better offer"})
    assert status == 200, page.text


def pending(page: PageSource) -> str:
    """Id of the one request that waits, from its card."""
    (ref,) = {link.partition("ref=")[2] for link in links(page, "/t/") if "/reject?ref=" in link}
    return ref


async def test_a_branch_is_reviewed_requested_and_approved(ground: Ground) -> None:
    visitor = ground.visitor
    parent, branch = await grown(visitor)
    assert forms(await visitor.get(f"/t/{parent}"), "/adopt") == []
    path, review = await review_of(visitor, branch)
    assert [one.text for one in review.all("pre", class_="exact")] == ["What if Kita?", "answer 2"]
    typed = {**review.fields(), "review.about": "Kita's offer", "reason": " "}
    status, _, page = await visitor.post(path, typed)
    assert status == 422
    assert "Say in a few words" in page.one("p", class_="error").text
    assert page.fields()["review.about"] == "Kita's offer"
    status, where, page = await visitor.post(path, {**page.fields(), "reason": f"Cheaper {HOSTILE}"})
    assert (status, where) == (200, f"/t/{branch}")
    assert page.all("span", class_="badge adopt_pending") != []
    shown = await visitor.get(f"/t/{parent}")
    assert "Kita's offer" in shown.text
    assert "What if Kita?" not in "".join(one.text for one in shown.all("div", class_="text"))
    ref = pending(shown)
    changes = await visitor.get(f"/t/{parent}/changes?ref={ref}")
    assert [one.text for one in changes.all("pre", class_="exact")] == ["What if Kita?", "answer 2"]
    status, _, shown = await press(visitor, parent, "approve", ref)
    assert status == 200
    assert "What if Kita?" in [one.text.strip() for one in shown.all("div", class_="text")]
    assert "Approved" in shown.text
    status, _, shown = await press(visitor, parent, "approve", ref)
    assert status == 422
    assert "already" in shown.one("p", class_="error").text
    assert "Approved" in (await visitor.get(f"/t/{parent}/adoptions")).text


@pytest.mark.soak
async def test_a_request_is_rejected_with_a_reason_and_another_withdrawn(ground: Ground) -> None:
    visitor = ground.visitor
    parent, branch = await grown(visitor)
    await requested(visitor, branch)
    ref = pending(await visitor.get(f"/t/{parent}"))
    form = await visitor.get(f"/t/{parent}/reject?ref={ref}")
    status, _, page = await visitor.post(f"/t/{parent}/reject", form.fields())
    assert status == 422
    assert "why this request is rejected" in page.one("p", class_="error").text
    status, _, page = await visitor.post(f"/t/{parent}/reject", {**page.fields(), "reason": "Too dear"})
    assert status == 200
    assert "Too dear" in page.text
    assert forms(await visitor.get(f"/t/{branch}"), "/adopt") != []
    await requested(visitor, branch)
    status, _ = await visitor.say(branch, "/withdraw")
    assert status == 200
    assert "Withdrawn" in (await visitor.get(f"/t/{branch}")).text
    status, said = await visitor.say(branch, "/approve")
    assert status == 404
    assert "no such adoption" in said["error"]


async def test_a_typed_reason_stands_in_the_review_and_asks_for_nothing_yet(ground: Ground) -> None:
    visitor = ground.visitor
    parent, branch = await grown(visitor)
    status, answer = await visitor.say(branch, "/adopt The better offer")
    assert status == 200
    path = str(answer["location"])

    async def there() -> bool:
        return bool((await visitor.get(path)).all("textarea", name="reason"))

    await eventually(there)
    assert (await visitor.get(path)).fields()["reason"] == "The better offer"
    assert "The better offer" not in (await visitor.get(f"/t/{parent}")).text


@pytest.mark.soak
async def test_a_name_that_both_threads_have_needs_a_choice(ground: Ground) -> None:
    visitor = ground.visitor
    parent, branch = await grown(visitor)
    for thread, number in ((parent, 0), (branch, -1)):
        page = await visitor.get(f"/t/{thread}")
        save = await visitor.get(links(page, f"/t/{thread}/save")[number])
        await visitor.post(f"/t/{thread}/save", {**save.fields(), "name": "Offer"})
    path, review = await review_of(visitor, branch)
    boxes = {one.attributes["name"] for one in review.all("input", type="radio")}
    assert len(boxes) == 1
    choice = boxes.pop()
    fields = {**review.fields(), "reason": "The better offer"}
    del fields[choice]
    status, _, page = await visitor.post(path, fields)
    assert status == 422
    assert "Both threads have an artifact" in page.one("p", class_="error").text
    assert page.fields()["reason"] == "The better offer"
    both = {**fields, choice: "keep_both", choice.replace("choice", "new_name"): "Kita's offer"}
    status, _, page = await visitor.post(path, both)
    assert status == 200, page.text
    await press(visitor, parent, "approve", pending(await visitor.get(f"/t/{parent}")))
    saved = await visitor.get(f"/t/{parent}/artifacts")
    assert "Offer" in saved.text
    assert "Kita's offer" in saved.text


@pytest.mark.soak
async def test_every_page_is_there_in_japanese(ground: Ground, source: str) -> None:
    visitor = ground.visitor
    parent, branch = await grown(visitor)
    review, _ = await review_of(visitor, branch)
    handover, _ = await form_of_handover(visitor, source, "codraft")
    await in_japanese(visitor)
    for path, shown in (
        (f"/t/{source}/pins", "ピン"),
        (f"/t/{source}/pin", "種類"),
        (f"/t/{source}/handover", "引き継ぐ"),
        (handover, "課題"),
        (review, "採用を申請"),
        (f"/t/{parent}/adoptions", "採用"),
    ):
        assert shown in (await visitor.get(path)).one("main").text, path
