"""Eval sets on the page, without a script: listed, brought in, refused where something is wrong, taken out again."""

import io
import zipfile

from bot.console.prompt_zip import zipped
from core.commands.eval_set import next_version
from tests.bot.console.conftest import Ground, Visitor
from tests.bot.console.page_source import PageSource
from tests.bot.console.test_carry import in_japanese, links
from tests.bot.console.test_prompts import error
from tests.examples.views import HOSTILE

SET = "team-chat"
WHERE = f"/eval-sets/{SET}"
HEAD = f"id: {SET}\nversion: 1\nprompts: [chat.answer]\n"
CASE = """\
- id: {id}
  kind: typical
  origin: synthetic
  source: {{messages: [{{by: Ann, text: "{text}"}}]}}
  human: ["The answer is short."]
"""


async def form(visitor: Visitor, head: str, cases: str, **more: str) -> tuple[int, str, PageSource]:
    """Send the form of a new set with these two files typed in."""
    fields = (await visitor.get("/new-eval-set")).fields()
    fields |= {"file.set.yaml": head, "file.cases/cases.yaml": cases, "reason": "answers were long", **more}
    return await visitor.post("/new-eval-set", fields)


async def test_a_set_is_typed_in_listed_beside_the_shipped_ones_and_changed(ground: Ground) -> None:
    visitor = ground.visitor
    assert "/eval-sets" in links(await visitor.get("/prompts"), "/eval-sets")
    status, path, page = await form(visitor, HEAD, CASE.format(id="A1", text="How long?"))
    assert (status, path) == (200, WHERE), error(page)
    assert "Version 1 of team-chat is saved, with 1 cases." in page.one("div", id="flash").text
    assert "The set has 1 cases" in page.text
    assert "How long?" in page.one("details", class_="prompt-part eval-case").text
    listed = await visitor.get("/eval-sets")
    assert links(listed, "/eval-sets/")[0] == WHERE
    assert "/eval-sets/handover-v1" in links(listed, "/eval-sets/")
    assert "answers were long" in listed.text

    change = await visitor.get(links(page, "/new-eval-set?set=")[0])
    assert "version: 2" in change.fields()["file.set.yaml"]
    more = change.fields()["file.cases/cases.yaml"] + CASE.format(id="A2", text="How wide?")
    fields = {**change.fields(), "file.cases/cases.yaml": more, "reason": "one case more"}
    _, path, page = await visitor.post("/new-eval-set", fields)
    assert path == WHERE
    assert [one.text for one in page.all("p", dir="auto")] == ["one case more", "answers were long"]
    assert len(page.all("details", class_="prompt-part eval-case")) == 2


async def test_a_problem_is_told_by_file_and_line_and_what_was_typed_or_chosen_stays(ground: Ground) -> None:
    visitor = ground.visitor
    wrong = CASE.format(id="A1", text=HOSTILE.replace("\\", "").replace('"', "'").splitlines()[0])
    wrong += "- id: A1\n  kind: odd\n  origin: synthetic\n"
    status, _, page = await form(visitor, HEAD, wrong)
    assert status == 422
    assert "Nothing was saved" in error(page)
    assert "cases/cases.yaml:7: kind must be one of typical, boundary, past_failure" in error(page)
    assert page.fields()["file.cases/cases.yaml"] == wrong
    assert page.fields()["reason"] == "answers were long"
    fields = {**(await visitor.get("/new-eval-set")).fields(), "reason": "answers were long"}
    given = {"set.yaml": HEAD.encode(), "more.yaml": b"- id: B1\n"}
    status, _, page = await visitor.post("/new-eval-set", fields, files=given)
    assert status == 422
    assert "cases/more.yaml:1: a case lacks kind" in error(page)
    assert page.fields()["file.cases/more.yaml"] == "- id: B1\n"
    assert page.fields()["file.set.yaml"] == HEAD
    assert "file.cases/cases.yaml" not in page.fields()
    for files in ({"virus.exe": b"MZ"}, {"a.zip": b"PK no zip"}):
        status, _, page = await visitor.post("/new-eval-set", fields, files=files)
        assert status == 422, files
        assert "Nothing was taken over" in error(page)
    await visitor.get(WHERE, status=404)
    await in_japanese(visitor)
    status, _, page = await form(visitor, HEAD, wrong)
    assert "何も保存していません" in error(page)
    status, _, page = await form(visitor, HEAD, "- {id: A1, id: A2}\n")
    assert "cases/cases.yaml:1: キーが二度書かれています: id" in error(page)


async def test_a_set_goes_out_as_a_file_and_comes_in_again(ground: Ground) -> None:
    visitor = ground.visitor
    await form(visitor, HEAD, CASE.format(id="A1", text="How long?"))
    async with visitor.session.get(f"{visitor.base}{WHERE}/download") as response:
        assert 'filename="team-chat 1.zip"' in response.headers["Content-Disposition"]
        kept = await response.read()
    with zipfile.ZipFile(io.BytesIO(kept)) as archive:
        files = {name.removeprefix(f"{SET}/"): archive.read(name).decode() for name in archive.namelist()}
    assert files == {"set.yaml": HEAD, "cases/cases.yaml": CASE.format(id="A1", text="How long?")}
    fields = {**(await visitor.get("/new-eval-set")).fields(), "reason": "from a file"}
    brought = zipped(SET, next_version(files))
    status, path, page = await visitor.post("/new-eval-set", fields, files={"set.zip": brought})
    assert (status, path) == (200, WHERE), error(page)
    assert "Version 2 of team-chat" in page.one("div", id="flash").text
    await visitor.get("/eval-sets/handover-v1/download", status=422)
    assert links(await visitor.get("/eval-sets/handover-v1"), "/new-eval-set") == []


async def test_nothing_that_a_set_holds_becomes_markup(ground: Ground) -> None:
    visitor = ground.visitor
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    await in_japanese(visitor)
    cases = CASE.format(id="A1", text=hostile).replace("The answer is short.", hostile)
    status, _, page = await form(visitor, HEAD, cases, reason=f"why {hostile}")
    assert status == 200, error(page)
    for one in (page, await visitor.get("/eval-sets"), await visitor.get(f"/new-eval-set?set={SET}")):
        assert len(one.all("script")) == 1
        assert not [a for e in one.elements for a in e.attributes if a.startswith("on")]
        assert "alert(1)" in one.text


async def test_a_case_is_set_aside_with_a_reason_and_counted_again(ground: Ground) -> None:
    visitor = ground.visitor
    await form(visitor, HEAD, CASE.format(id="A1", text="How long?"))
    page = await visitor.get(WHERE)
    status, _, page = await visitor.post(f"{WHERE}/hold", {**page.fields(), "reason": "no"})
    assert status == 422
    assert "why the case is not to count" in error(page)
    assert page.fields()["reason"] == "no"
    fields = {**page.fields(), "kind": "wrong", "reason": "nobody asks this any more"}
    status, path, page = await visitor.post(f"{WHERE}/hold", fields)
    assert (status, path) == (200, WHERE)
    assert "A1 is set aside" in page.one("div", id="flash").text
    assert "nobody asks this any more" in page.one("p", class_="aside").text
    assert "Asks for what is not wanted" in page.one("p", class_="aside").text
    _, _, page = await visitor.post(f"{WHERE}/release", page.fields())
    assert "A1 counts again" in page.one("div", id="flash").text
    assert "counted again by" in page.one("p", class_="aside").text
    for forged in ({"kind": "odd"}, {"case": HOSTILE}, {"event_key": "x"}):
        sent = {**page.fields(), "kind": "wrong", "reason": "nobody asks this any more", **forged}
        status, _, refused = await visitor.post(f"{WHERE}/hold", sent)
        assert status in (404, 422), forged
        assert refused.all("p", class_="error")


async def test_an_answer_becomes_a_case_after_it_was_shown_masked_and_confirmed(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Write to mika@example.org, says Mikachan. 1234567")
    page = await visitor.answered(thread, 1)
    receipt = links(page, "/receipts/")[-1]
    opened = await visitor.get(receipt)
    assert f"{receipt}/case" in links(opened, receipt)
    case = await visitor.get(f"{receipt}/case")
    stored = case.one("ol", class_="parts").text
    assert "mika@example.org" not in stored
    assert "Mikachan" in stored
    report = case.one("div", class_="aside").text
    assert "mail addresses 1" in report
    assert "1234567 Seven digits" in report
    assert "Postal addresses are not found." in report
    fields = {**case.fields(), "also_mask": "Mikachan", "human": "It is short."}
    status, _, unseen = await visitor.post(f"{receipt}/case", {**fields, "reason": "it was long"})
    assert status == 422
    assert "no longer what you were shown" in error(unseen)
    assert "no case" not in (await visitor.get("/eval-sets")).text
    await visitor.get("/eval-sets/team-chat-answer", status=404)

    _, _, looked = await visitor.post(f"{receipt}/case/look", {**unseen.fields(), "reason": "it was long"})
    assert "Mikachan" not in looked.one("ol", class_="parts").text
    assert looked.fields()["human"] == "It is short."
    wrong = {**looked.fields(), "case_id": "not a name"}
    status, _, refused = await visitor.post(f"{receipt}/case", wrong)
    assert status == 422
    assert "cannot be the name of a case" in error(refused)
    assert refused.fields()["case_id"] == "not a name"
    assert refused.fields()["human"] == "It is short."
    status, path, page = await visitor.post(f"{receipt}/case", looked.fields())
    assert (status, path) == (200, "/eval-sets/team-chat-answer"), error(page)
    kept = page.one("details", class_="prompt-part eval-case").text
    assert "from real threads" in kept
    assert "It is short." in kept
    assert "Mikachan" not in kept
    await visitor.get("/receipts/none/case", status=404)
    await in_japanese(visitor)
    assert "保存される内容" in (await visitor.get(f"{receipt}/case")).text


async def test_a_prompt_that_is_to_have_a_set_is_tried_on_it_before_it_goes_live(ground: Ground) -> None:
    visitor = ground.visitor
    await form(visitor, HEAD, CASE.format(id="A1", text="How long?"))
    chat = "/prompts/chat.answer"
    fields = (await visitor.get(f"{chat}/edit")).fields()
    fields |= {"part.prompt.yaml": fields["part.prompt.yaml"] + f"eval_set: {SET}\n", "reason": "to be tried"}
    status, _, page = await visitor.post(f"{chat}/save", fields)
    assert status == 200, error(page)
    assert f"{chat}/evals" in links(page, chat)
    asked = (await visitor.get(f"{chat}/evals")).chosen()
    asked = {name: value for name, value in asked.items() if name != "locale"} | {"repeats": "1"}
    estimate = await visitor.get(f"{chat}/eval?" + "&".join(f"{name}={asked[name]}" for name in asked))
    assert SET in estimate.text
    assert estimate.one("div", class_="estimate").text.startswith("1Cases2calls")
