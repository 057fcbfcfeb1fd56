"""Prompts on the page, without a script: changed by one person, looked at by another, made live, rolled back."""

from html import unescape

import pytest

from bot.console.prompt_zip import parts_in, zipped
from bot.prompt_outline import PARTS
from core.commands.say import Upload
from core.prompts.parse import FILES
from tests.bot.console.conftest import Ground, Visitor
from tests.bot.console.page_source import PageSource
from tests.bot.console.test_carry import forms, in_japanese, links
from tests.commands.prompting import as_newer_release
from tests.examples.views import HOSTILE

CHAT = "/prompts/chat.answer"
RULE = "\nAlways end with the word plantedrule.\n"


async def edited(visitor: Visitor, *, add: str = RULE, path: str = f"{CHAT}/edit") -> dict[str, str]:
    """The fields of a prompt's form with something added to its system part."""
    fields = (await visitor.get(path)).fields()
    return {**fields, "part.system.md": fields["part.system.md"] + add, "reason": "answers end abruptly"}


async def saved(visitor: Visitor, *, add: str = RULE) -> PageSource:
    """The prompt's page after a version was saved."""
    status, path, page = await visitor.post(f"{CHAT}/save", await edited(visitor, add=add))
    assert (status, path) == (200, CHAT), page.text
    return page


async def promoted(visitor: Visitor) -> PageSource:
    """The prompt's page after its proposed version was made live."""
    page = await visitor.get(CHAT)
    form = await visitor.get(links(page, f"{CHAT}/promote")[0])
    status, path, page = await visitor.post(
        f"{CHAT}/promote", {**form.fields(), "reason": "it reads better now"}
    )
    assert (status, path) == (200, CHAT), page.text
    return page


async def rolled_back(visitor: Visitor, why: str) -> tuple[int, str, PageSource]:
    page = await visitor.get(CHAT)
    form = await visitor.get(links(page, f"{CHAT}/rollback")[0])
    fields = form.fields()
    return await visitor.post(f"{CHAT}/rollback", {**fields, "reason": fields["reason"] + why})


async def as_person(visitor: Visitor, name: str) -> None:
    await visitor.post("/people", {"name": name, "locale": "en"})


async def back_to_first(visitor: Visitor) -> None:
    page = await visitor.get("/")
    first = page.all("button", name="person")[0].attributes["value"]
    await visitor.post("/person", {"person": first, "back": "/"})


async def receipt_prompts(visitor: Visitor, page: PageSource) -> list[str]:
    """Where the prompts of the newest answer's receipt lead."""
    receipt = links(page, "/receipts/")[-1]
    return links(await visitor.get(receipt), "/prompts/")


def error(page: PageSource) -> str:
    return page.one("p", class_="error").text


def test_the_form_has_a_field_for_every_part_of_a_prompt() -> None:
    assert sorted(PARTS) == sorted(FILES)


@pytest.mark.soak
async def test_a_change_is_seen_by_a_second_person_made_live_rolled_back_and_remembered(
    ground: Ground,
) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    await visitor.answered(thread, 1)
    page = await saved(visitor)
    assert "Version 1.1.0 is saved and proposed" in page.one("div", id="flash").text
    assert forms(page, "/verify") == []
    await visitor.say(thread, "Still as before")
    await visitor.answered(thread, 2)
    assert "plantedrule" not in ground.world.model.sent()

    await as_person(visitor, "Chika")
    page = await visitor.get(CHAT)
    compared = await visitor.get(unescape(links(page, f"{CHAT}/compare")[0]))
    assert "Always end with the word plantedrule." in [one.text for one in compared.all("td", dir="auto")]
    assert "last_updated" not in compared.text
    fields = page.fields()
    status, _, page = await visitor.post(f"{CHAT}/verify", fields)
    assert status == 422
    assert "reason" in error(page)
    fields = {**page.fields(), "reason": "dates are kept"}
    for _ in range(2):
        _, _, page = await visitor.post(f"{CHAT}/verify", fields)
    assert "Looked at by Chika" in page.text
    page = await promoted(visitor)
    assert "Live: 1.1.0" in page.text
    await visitor.say(thread, "And now?")
    answered = await visitor.answered(thread, 3)
    assert "plantedrule" in ground.world.model.sent()
    leads = [one for one in await receipt_prompts(visitor, answered) if one.startswith(CHAT)]
    assert "Text of version 1.1.0" in (await visitor.get(leads[0])).text

    status, _, page = await rolled_back(visitor, "dates were lost")
    assert status == 200
    assert "Rolled back from 1.1.0 to 1.0.0" in page.one("div", id="flash").text
    assert "Live: 1.0.0" in page.text
    history = await visitor.get(f"{CHAT}/history")
    assert "v1.1.0 → v1.0.0: dates were lost" in history.text

    base = links(page, f"{CHAT}/edit")[0]
    again = await edited(visitor, add=RULE.replace("plantedrule.", "plantedrule!"), path=base)
    status, _, page = await visitor.post(f"{CHAT}/save", again)
    assert status == 422
    assert "dates were lost" in error(page)
    assert "dates were lost" in page.one("div", id="checked").text
    assert "plantedrule!" in page.fields()["part.system.md"]
    status, path, page = await visitor.post(f"{CHAT}/save", {**page.fields(), "acknowledged": "on"})
    assert (status, path) == (200, CHAT)
    assert "is saved and proposed" in page.one("div", id="flash").text


async def test_a_rollback_wants_a_reason_after_its_opening_and_is_done_once(ground: Ground) -> None:
    visitor = ground.visitor
    await saved(visitor)
    await promoted(visitor)
    status, _, page = await rolled_back(visitor, "")
    assert status == 422
    assert "reason" in error(page)
    assert page.fields()["reason"] == "v1.1.0 → v1.0.0: "
    assert "Live: 1.1.0" in (await visitor.get(CHAT)).text
    fields = {**page.fields(), "reason": page.fields()["reason"] + "dates were lost"}
    for _ in range(2):
        status, _, page = await visitor.post(f"{CHAT}/rollback", fields)
        assert status == 200
    history = await visitor.get(f"{CHAT}/history")
    assert history.text.count("dates were lost") == 1
    status, _, page = await visitor.post(f"{CHAT}/rollback", {**fields, "event_key": await visitor.key()})
    assert status == 422


async def test_what_two_people_changed_at_once_is_laid_together_and_nothing_is_lost(ground: Ground) -> None:
    visitor = ground.visitor
    mine = await edited(visitor, add="\nMy own sentence at the end.\n")
    await as_person(visitor, "Chika")
    fields = (await visitor.get(f"{CHAT}/edit")).fields()
    system = "Chika's sentence at the beginning.\n\n" + fields["part.system.md"]
    await visitor.post(
        f"{CHAT}/save", {**fields, "part.system.md": system, "reason": "a new opening, says Chika"}
    )
    await back_to_first(visitor)
    status, _, page = await visitor.post(f"{CHAT}/save", mine)
    assert status == 422
    assert "a new opening, says Chika" in error(page)
    assert "Chika's sentence at the beginning." in page.one("section", class_="changed").text
    both = page.fields()
    assert "Chika's sentence at the beginning." in both["part.system.md"]
    assert "My own sentence at the end." in both["part.system.md"]
    assert both["reason"] == "answers end abruptly"
    assert "Your draft" in (await visitor.get("/prompts")).text
    status, path, page = await visitor.post(f"{CHAT}/save", both)
    assert (status, path) == (200, CHAT), page.text
    assert "is saved and proposed" in page.one("div", id="flash").text


async def test_changes_that_meet_stand_between_marks_that_cannot_be_saved(ground: Ground) -> None:
    visitor = ground.visitor
    mine = await edited(visitor, add="\nEnd with my words.\n")
    await as_person(visitor, "Chika")
    await saved(visitor, add="\nEnd with the words of Chika.\n")
    await back_to_first(visitor)
    _, _, page = await visitor.post(f"{CHAT}/save", mine)
    both = page.fields()
    assert "<<<<<<< mine" in both["part.system.md"]
    status, _, page = await visitor.post(f"{CHAT}/save", both)
    assert status == 422
    assert "marks of a conflict" in page.one("ul", id="problems-system.md").text
    assert page.fields()["part.system.md"] == both["part.system.md"]


async def test_the_check_names_part_line_and_step_and_stores_nothing(ground: Ground) -> None:
    visitor = ground.visitor
    before = (await visitor.get("/prompts")).text
    fields = await edited(visitor)
    pieces = await check(visitor, fields)
    assert "at least minor" in pieces.one("div", id="checked").text
    assert [one.text for one in pieces.all("option")] == [
        "1.1.0 · minor (instructions or examples), as the change asks for",
        "2.0.0 · major (output format or role), raised",
    ]
    pieces = await check(visitor, {**fields, "part.task.md": "First\n{{nothing_like_it}}"})
    assert "Line 2:" in pieces.one("ul", id="problems-task.md").text
    assert "nothing_like_it" in pieces.one("ul", id="problems-task.md").text
    pieces = await check(visitor, (await visitor.get(f"{CHAT}/edit")).fields())
    assert "Nothing has changed yet" in pieces.text
    _, _, page = await visitor.post(f"{CHAT}/check", fields)
    assert "plantedrule" in page.fields()["part.system.md"]
    assert "at least minor" in page.one("div", id="checked").text
    assert (await visitor.get("/prompts")).text == before


async def check(visitor: Visitor, fields: dict[str, str]) -> PageSource:
    """The pieces that the page's script gets for a text."""
    async with visitor._send(f"{CHAT}/check", fields, None, fragment=True) as response:
        assert response.status == 200
        return PageSource(f"<div>{await response.text()}</div>")


async def test_an_author_raises_the_version_and_cannot_lower_it(ground: Ground) -> None:
    visitor = ground.visitor
    fields = await edited(visitor)
    status, _, page = await visitor.post(f"{CHAT}/save", {**fields, "version": "1.0.1"})
    assert status == 422
    assert "1.1.0" in error(page)
    _, _, page = await visitor.post(f"{CHAT}/save", {**page.fields(), "version": "2.0.0"})
    assert "Version 2.0.0 is proposed" in page.text


async def test_a_draft_is_kept_for_its_writer_and_discarded(ground: Ground) -> None:
    visitor = ground.visitor
    _, path, page = await visitor.post(f"{CHAT}/draft", await edited(visitor))
    assert path == CHAT
    assert "You left a draft." in page.text
    shown = await visitor.get(f"{CHAT}/edit")
    assert "plantedrule" in shown.fields()["part.system.md"]
    await as_person(visitor, "Chika")
    assert "plantedrule" not in (await visitor.get(f"{CHAT}/edit")).fields()["part.system.md"]
    await back_to_first(visitor)
    await visitor.post(f"{CHAT}/drop", shown.fields())
    assert "plantedrule" not in (await visitor.get(f"{CHAT}/edit")).fields()["part.system.md"]


async def test_a_prompt_goes_out_as_a_file_and_comes_in_through_the_form(ground: Ground) -> None:
    visitor = ground.visitor
    link = links(await visitor.get(CHAT), f"{CHAT}/download")[0]
    async with visitor.session.get(f"{visitor.base}{link}") as response:
        assert 'filename="chat.answer 1.0.0.zip"' in response.headers["Content-Disposition"]
        held = parts_in([Upload(name="x.ZIP", media_type="", data=await response.read())])
    fields = await edited(visitor, add="\nTyped before.\n")
    assert held["task.md"] == fields["part.task.md"]
    assert "prompt.yaml" in held
    brought = zipped("chat.answer", {"task.md": "Answer this:\n{{request}}\n"})
    status, _, page = await visitor.post(f"{CHAT}/upload", fields, files={"chat.zip": brought})
    assert status == 200
    assert page.fields()["part.task.md"] == "Answer this:\n{{request}}\n"
    assert "Typed before." in page.fields()["part.system.md"]
    assert page.fields()["reason"] == fields["reason"]
    for files in ({"virus.exe": b"MZ"}, {"task.md": b"\xff\xfe"}, {"chat.zip": b"PK no zip"}, {}):
        status, _, page = await visitor.post(f"{CHAT}/upload", fields, files=files)
        assert status == 422, files
        assert "Nothing was taken over" in error(page)
        assert page.fields()["part.system.md"] == fields["part.system.md"]
    assert "Nobody has changed this prompt yet" in (await visitor.get(f"{CHAT}/history")).text


async def test_a_prompt_of_one_s_own_is_made_live_and_archived(ground: Ground) -> None:
    visitor = ground.visitor
    form = (await visitor.get("/new-prompt")).fields()
    assert form["name"] == "team."
    typed = {
        **form,
        "name": "team.Weekly Report",
        "part.system.md": "Report in brief.",
        "reason": "for Mondays",
    }
    status, _, page = await visitor.post("/new-prompt", typed)
    assert status == 422
    assert page.fields()["part.system.md"] == "Report in brief."
    for name in ("", "weekly_report", "chat.answer", "../team.x"):
        status, _, page = await visitor.post("/new-prompt", {**typed, "name": name})
        assert (status, "Write team." in error(page)) == (422, True), name
        assert page.fields()["part.system.md"] == "Report in brief."
    where = "/prompts/team.weekly_report"
    status, path, page = await visitor.post("/new-prompt", {**page.fields(), "name": "team.weekly_report"})
    assert (status, path) == (200, where), page.text
    assert "Not live" in page.text
    form = (await visitor.get(links(page, f"{where}/promote")[0])).fields()
    _, _, page = await visitor.post(f"{where}/promote", {**form, "reason": "for Mondays"})
    assert "Approved by its author alone" in page.text
    archive = (await visitor.get(f"{where}/archive")).fields()
    status, _, page = await visitor.post(f"{where}/archive", archive)
    assert status == 422
    assert "reason" in error(page)
    _, path, page = await visitor.post(f"{where}/archive", {**page.fields(), "reason": "no more Mondays"})
    assert path == where
    assert "Not live" in page.text
    assert "no more Mondays" in (await visitor.get(f"{where}/history")).text


async def test_a_new_prompt_takes_all_its_parts_at_once(ground: Ground) -> None:
    visitor = ground.visitor
    form = (await visitor.get("/new-prompt")).fields()
    assert {f"part.{part}" for part in PARTS} <= form.keys()
    typed = {
        **form,
        "name": "team.minutes",
        "part.system.md": "Write minutes.",
        "part.task.md": "Minutes of this:\n{{notes}}",
        "part.few_shot.yaml": "- input:\n    notes: We met.\n  output: A meeting took place.\n",
        "part.prompt.yaml": "description: Minutes of meetings\n"
        "inputs:\n  notes:\n    trust: untrusted\n    description: What was said\n",
        "reason": "for Mondays",
    }
    wrong = {**typed, "part.task.md": "Minutes of {{talk}}"}
    status, _, page = await visitor.post("/new-prompt", wrong)
    assert status == 422
    assert "task.md" in error(page)
    kept = page.fields()
    assert {name: kept[name] for name in wrong if name != "event_key"} == {
        name: text for name, text in wrong.items() if name != "event_key"
    }
    status, path, page = await visitor.post("/new-prompt", {**typed, "event_key": kept["event_key"]})
    assert (status, path) == (200, "/prompts/team.minutes"), page.text
    saved_as = (await visitor.get("/prompts/team.minutes/edit")).fields()
    for part in ("part.system.md", "part.task.md"):
        assert saved_as[part].strip() == typed[part].strip()
    assert "We met." in saved_as["part.few_shot.yaml"]
    settings = saved_as["part.prompt.yaml"]
    for line in ("name: team.minutes", 'description: "Minutes of meetings"', "output_format: text", "- any"):
        assert line in settings


async def test_a_text_of_a_newer_release_is_made_live_and_followed_again(ground: Ground) -> None:
    visitor, world = ground.visitor, ground.world
    await saved(visitor)
    await promoted(visitor)
    await as_newer_release(world.services.prompts)
    page = await visitor.get(CHAT)
    (leads,) = links(page, f"{CHAT}/promote")
    form = await visitor.get(leads)
    assert "follows it, also when a later release changes it" in form.text
    status, _, page = await visitor.post(f"{CHAT}/promote", {**form.fields(), "reason": "theirs is better"})
    assert status == 200, page.text
    assert "Live: 1.3.0" in page.text
    assert "As shipped" in page.text


async def test_a_live_version_that_moved_meanwhile_is_not_moved_again(ground: Ground) -> None:
    visitor = ground.visitor
    await saved(visitor)
    old = (await visitor.get(links(await visitor.get(CHAT), f"{CHAT}/promote")[0])).fields()
    await promoted(visitor)
    await rolled_back(visitor, "dates were lost")
    status, _, page = await visitor.post(f"{CHAT}/promote", {**old, "reason": "it reads better now"})
    assert status == 422
    assert "withdrawn" in error(page)
    fields = {**old, "reason": "it reads better now", "acknowledged": "on"}
    status, _, page = await visitor.post(f"{CHAT}/promote", fields)
    assert status == 422
    assert "was changed meanwhile" in error(page)
    status, _, page = await visitor.post(f"{CHAT}/promote", page.fields() | {"acknowledged": "on"})
    assert status == 200
    assert "Live: 1.1.0" in page.text


async def test_forged_forms_are_refused_with_a_sentence_and_store_nothing(ground: Ground) -> None:
    visitor = ground.visitor
    before = (await visitor.get(f"{CHAT}/history")).text
    fields = {
        "event_key": await visitor.key(),
        "version_id": HOSTILE,
        "rev": "-7",
        "reason": "forged reason",
        "version": "1",
        "part.system.md": "{{",
        "base": HOSTILE,
        "head": HOSTILE,
    }
    wrong: list[tuple[str, dict[str, str]]] = [
        (f"{CHAT}/{path}", fields) for path in ("save", "verify", "promote", "rollback", "archive")
    ]
    wrong += [(path, {**fields, "event_key": "x"}) for path, _ in wrong]
    wrong += [(f"/prompts/no.such/{path}", fields) for path in ("save", "draft", "verify", "check")]
    for path, sent in wrong:
        status, _, page = await visitor.post(path, sent)
        assert status in (404, 422), path
        assert page.all("h1"), path
    assert (await visitor.get(f"{CHAT}/history")).text == before


async def test_nothing_that_people_wrote_becomes_markup(ground: Ground) -> None:
    visitor = ground.visitor
    await in_japanese(visitor)
    hostile = HOSTILE.replace("{{", "\\{{").replace("}}", "\\}}")
    fields = await edited(visitor, add=f"\n{hostile}\n")
    status, _, page = await visitor.post(f"{CHAT}/save", {**fields, "reason": f"why {HOSTILE}"})
    assert status == 200, error(page)
    await promoted(visitor)
    await rolled_back(visitor, HOSTILE)
    pages = [await visitor.get(path) for path in (CHAT, f"{CHAT}/history", "/prompts")]
    pages += [await visitor.get(unescape(links(pages[0], f"{CHAT}/compare")[0]))]
    newest = links(pages[0], f"{CHAT}?version=")[0]
    edit = newest.replace("?version=", "/edit?base=")
    pages += [await visitor.get(newest), await visitor.get(edit), page]
    for one in pages:
        assert len(one.all("script")) == 1
        assert not {"iframe", "object", "embed"} & {element.tag for element in one.elements}
        assert not [a for e in one.elements for a in e.attributes if a.startswith("on")]
    assert all("</textarea></div><script>" in one.text for one in pages if one is not pages[2])


async def test_prompts_are_reached_by_command_and_reloaded_in_every_process(ground: Ground) -> None:
    visitor = ground.visitor
    thread = await visitor.start_thread("Hello")
    assert (await visitor.say(thread, "/prompts"))[1]["location"] == "/prompts"
    assert (await visitor.say(thread, "／prompts chat.answer"))[1]["location"] == CHAT
    _, path, page = await visitor.post("/reload-prompts", {"event_key": await visitor.key()})
    assert path == "/prompts"
    assert "Up to date" in page.text
    assert "no.such" in (await visitor.get("/prompts/no.such", status=404)).text
    assert "has no such version" in (await visitor.get(f"{CHAT}?version=none", status=422)).text
