"""Editing prompts: what is known before saving, saving, and many people at once."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.care import erase_for_operator
from core.commands.prompt import compare_versions, list_prompts, prompt_history, show_prompt
from core.commands.prompt_edit import check_draft, drop_draft, save_draft
from core.domain.errors import Refusal
from core.domain.policy import Actor, Policy
from core.domain.prompt import PromptEventKind, PromptState, PromptText, SavedVersion
from tests.commands.look import count, refused, rows
from tests.commands.prompting import CHAT, RULE, edited, make_live, page, save, withdraw
from tests.product import World, open_world


@pytest.fixture(params=["sqlite", "postgres"])
async def each_world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[World]:
    """The product on each database in turn."""
    sqlite = f"sqlite:///{tmp_path / 'app.db'}"
    url = sqlite if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    async with open_world(url, f"sqlite:///{tmp_path / 'engine.db'}") as opened:
        yield opened


async def test_a_saved_version_is_proposed_recorded_and_not_live(world: World) -> None:
    aki = await world.person()
    before = await page(world, aki)
    assert before.item.state is PromptState.FOLLOWS
    saved = await save(world, aki, await edited(world, aki, RULE), reason="  too many\nexclamation marks ")
    assert (saved.version, saved.bump) == ("1.1.0", "minor")
    after = await page(world, aki)
    assert (after.live_id, after.item.version) == (before.live_id, before.item.version)
    assert (after.item.candidate_version, after.item.newest_version) == ("1.1.0", "1.1.0")
    (event,) = await prompt_history(world.services, aki, CHAT)
    assert (event.kind, event.who, event.reason) == (
        PromptEventKind.SAVE,
        "Aki",
        "too many exclamation marks",
    )
    assert [(c.file, c.after.removeprefix(c.before)) for c in event.changes] == [("system.md", RULE)]
    (row,) = await rows(world, "prompt_event")
    assert row["before"]["system.md"] + RULE == row["after"]["system.md"]
    shown = await show_prompt(world.services, aki, CHAT, version_id=saved.version_id)
    assert 'version: "1.1.0"' in shown.files["prompt.yaml"] or "version: 1.1.0" in shown.files["prompt.yaml"]
    (change,) = await compare_versions(world.services, aki, CHAT, before.live_id, saved.version_id)
    assert change.file == "system.md"


async def test_what_no_database_takes_is_left_out_of_texts_and_reasons(world: World) -> None:
    aki = await world.person()
    dirty = await edited(world, aki, RULE + "\x00\ud800")
    await save_draft(world.services, aki, dirty, event_key="d1")
    draft = (await page(world, aki)).draft
    assert draft is not None
    assert draft.files["system.md"].endswith(RULE + "\ufffd")
    version = await save(world, aki, dirty, reason="dates\x00 are lost")
    kept = await show_prompt(world.services, aki, CHAT, version_id=version.version_id)
    assert kept.files["system.md"].rstrip().endswith((RULE + "\ufffd").strip())
    assert kept.shown is not None
    assert kept.shown.reason == "dates are lost"


async def with_example(
    world: World, actor: Actor, *, context: str = "Nothing yet.", output: str = "Wait."
) -> PromptText:
    """The live text with an example, whose inputs are those of its task."""
    seen = await page(world, actor)
    names = re.findall(r"{{\s*(\w+)\s*}}", seen.files["task.md"])
    inputs = "".join(f"    {name}: {json.dumps(context, ensure_ascii=False)}\n" for name in names)
    few_shot = f"- input:\n{inputs}  output: {json.dumps(output, ensure_ascii=False)}\n"
    return PromptText(
        name=CHAT, base_id=seen.live_id, head_id=seen.head_id, files={"few_shot.yaml": few_shot}
    )


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        (
            "en",
            [
                "few_shot.yaml: example 1 holds mail addresses, and examples go out with every call: write something "
                "made up or a mark such as [MAIL] in their place",
                "few_shot.yaml: example 1 holds phone numbers, and examples go out with every call: write something "
                "made up or a mark such as [PHONE] in their place",
            ],
        ),
        (
            "ja",
            [
                "few_shot.yaml: 例 1 にメールアドレスが含まれています。例はすべての呼び出しで送信されます。"
                "架空の内容か [MAIL] のような印に置き換えてください",
                "few_shot.yaml: 例 1 に電話番号が含まれています。例はすべての呼び出しで送信されます。"
                "架空の内容か [PHONE] のような印に置き換えてください",
            ],
        ),
    ],
)
async def test_personal_data_in_an_example_is_refused_by_kind_and_nothing_is_stored(
    world: World, locale: str, said: list[str]
) -> None:
    aki = replace(await world.person(), locale=locale)
    mail = "mika" + "@example.org"
    text = await with_example(
        world, aki, context=f"Write to {mail}.", output="０３－１２３４－５６７８ でどうぞ"
    )
    check = await check_draft(world.services, aki, text)
    assert [str(one) for one in check.problems] == said
    refusal = await refused(save(world, aki, text), "prompt_invalid")
    assert refusal.fields["problems"] == "\n".join(said)
    assert await count(world, "prompt_event") == 0
    # A mark that masking left, and what is nobody's, may stand there.
    await save(
        world, aki, await with_example(world, aki, context="Write to [MAIL_e088].", output="30万円まで")
    )


async def test_names_and_doubtful_digits_in_an_example_are_warned_of_and_can_be_saved(world: World) -> None:
    aki = await world.person("U1", "Mika Sato")
    text = await with_example(world, aki, context="Mika Sato called.", output="Room 1234567")
    check = await check_draft(world.services, aki, text)
    assert check.problems == ()
    keys = [one.key for one in check.warnings if one.key.startswith("example_doubt")]
    assert keys == ["example_doubt.name", "example_doubt.seven_digits"]
    saved = await save(world, aki, text)
    assert [one.key for one in saved.warnings if one.key in keys] == keys


async def test_what_is_wrong_with_a_text_is_told_in_the_reader_s_language(world: World) -> None:
    aki = replace(await world.person(), locale="ja")
    seen = await page(world, aki)
    text = PromptText(
        name=CHAT, base_id=seen.live_id, head_id=seen.head_id, files={"task.md": "{{nobody}} {{request}}"}
    )
    problems = [str(one) for one in (await check_draft(world.services, aki, text)).problems]
    assert problems
    assert all(re.search("[\u3040-\u30ff\u4e00-\u9fff]", one) for one in problems)
    assert any("nobody" in one for one in problems)


async def test_a_change_without_a_reason_is_refused_and_nothing_is_stored(world: World) -> None:
    aki = await world.person()
    text = await edited(world, aki, RULE)
    for reason in ("", "   ", "fix"):
        await refused(save(world, aki, text, reason=reason), "prompt_reason_missing")
    assert await count(world, "prompt_event") == 0
    assert (await page(world, aki)).item.candidate_version == ""


async def test_everything_wrong_is_told_at_once_with_part_and_line(world: World) -> None:
    aki = await world.person()
    text = await edited(world, aki, "Rules for {{nobody}}\n")
    text = replace(text, files={**text.files, "task.md": "{{request}} {{ oops\n", "notes.md": "x"})
    check = await check_draft(world.services, aki, text)
    told = [(problem.file, problem.line > 0) for problem in check.problems]
    assert ("system.md", True) in told
    assert ("task.md", True) in told
    assert ("notes.md", False) in told
    caught = await refused(save(world, aki, text), "prompt_invalid")
    assert "nobody" in str(caught.fields["problems"])
    assert await count(world, "prompt_event") == 0


async def test_the_least_step_is_taken_and_an_author_may_take_a_greater_one(world: World) -> None:
    aki = await world.person()
    text = await edited(world, aki, RULE)
    check = await check_draft(world.services, aki, text)
    assert (check.bump, check.version, check.changed) == ("minor", "1.1.0", True)
    assert check.because
    await refused(save(world, aki, text, version="1.0.1"), "version_step_too_small")
    await refused(save(world, aki, text, version="0.9.0"), "version_not_newer")
    await refused(save(world, aki, text, version="two"), "version_not_semantic")
    assert (await save(world, aki, text, version="2.0.0")).version == "2.0.0"


async def test_an_unchanged_text_is_not_saved(world: World) -> None:
    aki = await world.person()
    await refused(save(world, aki, await edited(world, aki, "")), "prompt_unchanged")


async def test_a_text_that_the_product_cannot_work_with_may_be_saved_and_never_goes_live(
    world: World,
) -> None:
    aki = await world.person()
    seen = await page(world, aki)
    metadata = "\n".join(
        line
        for line in seen.files["prompt.yaml"].splitlines()
        if not line.startswith(("inputs", " ", "eval_set"))
    )
    text = PromptText(
        name=CHAT,
        base_id=seen.live_id,
        head_id=seen.head_id,
        files={"prompt.yaml": metadata, "task.md": "Answer.\n"},
    )
    check = await check_draft(world.services, aki, text)
    assert check.blocked
    saved = await save(world, aki, text)
    assert saved.bump == "major"
    caught = await refused(make_live(world, aki, saved.version_id), "prompt_contract")
    assert "request" in str(caught.fields["problems"])
    assert (await page(world, aki)).live_id == seen.live_id


async def test_a_second_press_saves_once_and_tells_the_same(world: World) -> None:
    aki = await world.person()
    text = await edited(world, aki, RULE)
    first = await save(world, aki, text, version="1.2.0", key="press")
    again = await save(world, aki, text, version="1.2.0", key="press")
    assert (again.version_id, again.version) == (first.version_id, first.version)
    assert await count(world, "prompt_event") == 1


async def test_of_eight_people_who_save_at_once_one_does_and_seven_keep_their_text(each_world: World) -> None:
    world = each_world
    people = [await world.person(f"U{n}", f"Person {n}") for n in range(8)]
    texts = [await edited(world, one, f"\nRule number {n} of person {n}.\n") for n, one in enumerate(people)]
    outcomes = await asyncio.gather(
        *(save(world, one, text) for one, text in zip(people, texts, strict=True)), return_exceptions=True
    )
    saved = [each for each in outcomes if isinstance(each, SavedVersion)]
    lost = [each for each in outcomes if isinstance(each, Refusal)]
    assert (len(saved), [each.code for each in lost]) == (1, ["prompt_stale"] * 7)
    winner = outcomes.index(saved[0])
    assert {each.fields["who"] for each in lost} == {f"Person {winner}"}
    for n, (one, text) in enumerate(zip(people, texts, strict=True)):
        draft = (await page(world, one)).draft
        if n == winner:
            assert draft is None
            continue
        assert draft is not None
        assert draft.files["system.md"] == text.files["system.md"]
        (merge,) = draft.stale
        assert merge.theirs == texts[winner].files["system.md"]
        assert merge.conflicts == 1
    assert await count(world, "prompt_draft") == 7


async def test_a_stale_save_can_be_saved_after_looking(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    mine = await edited(world, ben, "\nBe kind.\n")
    theirs = await save(world, aki, await edited(world, aki, RULE))
    await refused(save(world, ben, mine, key="k"), "prompt_stale")
    await refused(save(world, ben, mine, key="k"), "prompt_stale")
    seen = await page(world, ben)
    assert seen.head_id == theirs.version_id
    both = replace(
        mine,
        base_id=theirs.version_id,
        head_id=theirs.version_id,
        files={"system.md": mine.files["system.md"] + RULE},
    )
    assert (await save(world, ben, both)).version == "1.2.0"
    assert (await page(world, ben)).draft is None


async def test_a_draft_keeps_any_text_for_its_author_alone(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    text = await edited(world, aki, "{{ half done\n")
    await save_draft(world.services, aki, text, event_key="d1")
    draft = (await page(world, aki)).draft
    assert draft is not None
    assert draft.files["system.md"] == text.files["system.md"]
    assert (await page(world, ben)).draft is None
    assert [i.name for i in await list_prompts(world.services, aki) if i.has_draft] == [CHAT]
    await drop_draft(world.services, ben, CHAT, event_key="d2")
    assert (await page(world, aki)).draft is not None
    await drop_draft(world.services, aki, CHAT, event_key="d3")
    assert (await page(world, aki)).draft is None


async def test_a_text_near_to_what_was_withdrawn_is_saved_only_by_somebody_who_knows_why(
    world: World,
) -> None:
    aki = await world.person()
    dry = "\nAnswer in one short sentence and leave out all pleasantries.\n"
    saved = await save(world, aki, await edited(world, aki, dry))
    await make_live(world, aki, saved.version_id)
    await withdraw(world, aki, reason="people found it rude")
    again = await edited(world, aki, dry.replace("short sentence", "brief sentence"))
    check = await check_draft(world.services, aki, again)
    assert check.withdrawn is not None
    assert (check.withdrawn.version, check.withdrawn.reason) == ("1.1.0", "people found it rude")
    caught = await refused(save(world, aki, again), "prompt_withdrawn_before")
    assert (caught.fields["who"], caught.fields["version"]) == ("Aki", "1.1.0")
    other = await edited(world, aki, "\nQuote numbers exactly as they were given to you.\n")
    assert (await check_draft(world.services, aki, other)).withdrawn is None
    second = await save(world, aki, again, acknowledged=True)
    await refused(make_live(world, aki, second.version_id), "prompt_withdrawn_before")
    await make_live(world, aki, second.version_id, acknowledged=True)


async def test_a_team_makes_a_prompt_of_its_own(world: World) -> None:
    aki = await world.person()
    text = PromptText(name="team.minutes", files={"system.md": "Write minutes of the meeting.\n"})
    saved = await save(world, aki, text)
    assert saved.version == "1.0.0"
    seen = await page(world, aki, "team.minutes")
    assert (seen.item.state, seen.live_id) == (PromptState.NOT_LIVE, "")
    await make_live(world, aki, saved.version_id, "team.minutes")
    assert (await page(world, aki, "team.minutes")).item.state is PromptState.TEAM
    await refused(save(world, aki, text), "prompt_stale")
    for name in ("team.", "team.Bad name", "team." + "x" * 60):
        await refused(save(world, aki, replace(text, name=name)), "prompt_name")
    await refused(save(world, aki, replace(text, name="nobody.knows")), "prompt_not_found")


async def test_an_unknown_version_and_a_text_beyond_all_bounds_are_refused(world: World) -> None:
    aki = await world.person()
    text = await edited(world, aki, RULE)
    await refused(save(world, aki, replace(text, base_id="nothing")), "prompt_version_unknown")
    huge = replace(text, files={"system.md": "x" * 400_001})
    await refused(save(world, aki, huge), "prompt_too_long")
    await refused(show_prompt(world.services, aki, CHAT, version_id="nothing"), "prompt_version_unknown")


async def test_only_people_with_the_role_edit_and_guests_see_nothing(world: World) -> None:
    aki, guest = await world.person(), await world.person("U9", "Guest", is_guest=True)
    text = await edited(world, aki, RULE)
    await refused(list_prompts(world.services, guest), "prompt_not_allowed")
    world.policies["W1"] = Policy(prompt_editors=("U7",))
    for act in (save(world, aki, text), check_draft(world.services, aki, text)):
        await refused(act, "prompt_edit_not_allowed")
    await refused(save_draft(world.services, aki, text, event_key="d"), "prompt_edit_not_allowed")
    assert not (await page(world, aki)).can_edit
    assert await count(world, "prompt_draft") == 0


async def test_erasing_a_person_takes_their_drafts_and_their_name_and_leaves_the_versions(
    world: World,
) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    await save(world, aki, await edited(world, aki, RULE))
    await save_draft(world.services, aki, await edited(world, aki, "\nhalf done\n"), event_key="d1")
    await save_draft(world.services, ben, await edited(world, ben, "\nhalf done\n"), event_key="d2")
    await erase_for_operator(world.store, world.clock, "W1", "U1")
    assert [row["author_id"] for row in await rows(world, "prompt_draft")] == [ben.person_id]
    (event,) = await prompt_history(world.services, ben, CHAT)
    assert "Aki" not in event.who
    assert (await page(world, ben)).item.candidate_version == "1.1.0"
