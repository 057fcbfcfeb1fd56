"""What is live: promotion, rollback, roles, and what runs are sent."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from bot import prompt_outline
from core.commands import prompt_edit, prompt_live
from core.commands.prompt import list_prompts, prompt_history
from core.commands.prompt_live import archive, promote, prompt_status, reload_prompts, verify_version
from core.commands.receipt import show_ai_input
from core.domain.errors import Refusal
from core.domain.ids import ThreadId, WorkspaceId
from core.domain.policy import Actor, Policy
from core.domain.prompt import (
    SHIPPED,
    PromoteRequest,
    PromptEventKind,
    PromptMoved,
    PromptState,
    PromptText,
)
from core.domain.view import AnswerState, NoticeView
from core.store.database import Store
from core.store.prompt_library import Prompts
from core.store.workspace import do_add_workspace
from tests.commands.look import count, refused, rows
from tests.commands.prompting import CHAT, RULE, as_newer_release, edited, make_live, page, save, withdraw
from tests.product import World, eventually, open_world

PROMPT_TABLES = ("prompt_version", "prompt_pointer", "prompt_event", "prompt_draft", "claim")
MORE = "\nQuote numbers exactly as they were given to you.\n"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    sqlite = f"sqlite:///{tmp_path / 'app.db'}"
    return sqlite if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def each_world(url: str, tmp_path: Path) -> AsyncGenerator[World]:
    """The product on each database in turn."""
    async with open_world(url, f"sqlite:///{tmp_path / 'engine.db'}") as opened:
        yield opened


async def live_rule(world: World, actor: Actor, rule: str = RULE) -> str:
    """A version with a rule more, made live; its id."""
    saved = await save(world, actor, await edited(world, actor, rule))
    await make_live(world, actor, saved.version_id)
    return saved.version_id


# --- what runs are sent ---------------------------------------------------------------------------------------------


async def test_a_promotion_reaches_the_next_answer_and_its_receipt(world: World) -> None:
    aki = await world.person()
    thread = (await world.say(aki, "before")).thread_id
    assert RULE.strip() not in world.model.sent()
    await live_rule(world, aki)
    await world.say(aki, "after", thread)
    assert RULE.strip() in world.model.sent()
    assert thread
    receipts = [
        await show_ai_input(world.services, aki, answer.receipt_id)
        for answer in await world.answers(aki, thread)
        if answer.receipt_id
    ]
    live = await page(world, aki)
    named = [next(p for p in receipt.prompts if p.name == CHAT) for receipt in receipts]
    assert [ref.version for ref in named] == ["1.0.0", "1.1.0"]
    assert named[1].sha256 == live.item.sha256
    await withdraw(world, aki)
    await world.say(aki, "back", thread)
    assert RULE.strip() not in world.model.sent()


async def test_another_process_over_the_same_database_follows_at_once(each_world: World, url: str) -> None:
    aki = await each_world.person()
    store = Store(url)
    try:
        there = Prompts(store, each_world.services.prompts.shipped, each_world.clock)
        await there.start()
        await live_rule(each_world, aki)
        async with store.writing() as session:
            refs = await there.refs(session, aki.workspace_id, [CHAT])
        assert [ref.version for ref in refs] == ["1.1.0"]
        found = await there.resolve(aki.workspace_id, refs)
        assert RULE.strip() in found.get(CHAT).parts.system
    finally:
        await store.close()


async def test_a_run_keeps_what_it_began_with_through_a_promotion(world: World) -> None:
    aki = await world.person()
    thread = (await world.say(aki, "first")).thread_id
    world.model.hold = asyncio.Event()
    await world.say(aki, "held", thread, wait=False)
    await world.model.begun.wait()
    waiting = await world.say(aki, "queued before", thread, wait=False)
    await live_rule(world, aki)
    world.model.hold.set()
    assert waiting.run_id
    await world.finished(waiting.run_id)
    assert RULE.strip() not in world.model.sent()
    await world.say(aki, "queued after", thread)
    assert RULE.strip() in world.model.sent()


async def test_a_run_goes_on_with_its_own_versions_after_the_process_died(tmp_path: Path) -> None:
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, patient=False) as world:
        aki = await world.person()
        first = await live_rule(world, aki)
        thread = (await world.say(aki, "one")).thread_id
        world.model.hold = asyncio.Event()
        held = await world.say(aki, "held", thread, wait=False)
        await world.model.begun.wait()
        await live_rule(world, aki, MORE)
        assert first
    async with open_world(*urls) as again:
        assert held.run_id
        await again.finished(held.run_id)
        sent = again.model.sent()
        assert RULE.strip() in sent
        assert MORE.strip() not in sent


async def test_a_version_that_is_gone_fails_the_run_and_no_other_text_is_sent(world: World) -> None:
    aki = await world.person()
    world.model.hold = asyncio.Event()
    thread = (await world.say(aki, "held", wait=False)).thread_id
    await world.model.begun.wait()
    lost = await world.say(aki, "lost", thread, wait=False)
    gone = [{"name": CHAT, "version": "9.9.9", "sha256": "f" * 64}]
    async with world.store.writing() as session:
        await session.execute(
            sql("UPDATE run SET prompts = :prompts WHERE id = :id"),
            {"prompts": json.dumps(gone), "id": lost.run_id},
        )
    world.model.hold.set()
    assert lost.run_id
    assert thread
    await world.finished(lost.run_id)
    assert len(world.model.calls) == 1
    failed = (await world.answers(aki, thread))[-1]
    assert failed.state is AnswerState.FAILED
    assert failed.failure is not None
    assert failed.failure.key == "run_failure.prompt"
    assert "9.9.9" in str(failed.failure.fields["problem"])


async def test_tenants_do_not_mix(world: World) -> None:
    aki = await world.person()
    mine = await live_rule(world, aki)
    async with world.store.writing() as session:
        row = await do_add_workspace(
            session, platform="test", external_id="W2", name="Others", clock=world.clock
        )
        refs = await world.services.prompts.refs(session, WorkspaceId(row.id), [CHAT])
    assert [ref.version for ref in refs] == ["1.0.0"]
    stranger = replace(aki, workspace_id=WorkspaceId(row.id), workspace="W2")
    theirs = await page(world, stranger)
    assert theirs.item.state is PromptState.FOLLOWS
    assert [version.shipped for version in theirs.versions] == [True]
    assert await prompt_history(world.services, stranger, CHAT) == ()
    await refused(make_live(world, stranger, mine), "prompt_version_unknown")
    await refused(withdraw(world, stranger, mine), "prompt_version_unknown")
    team = await save(world, aki, PromptText(name="team.ours", files={"system.md": "Ours alone.\n"}))
    assert team.version == "1.0.0"
    await refused(page(world, stranger, "team.ours"), "prompt_not_found")
    assert "team.ours" not in [item.name for item in await list_prompts(world.services, stranger)]


# --- moving what is live --------------------------------------------------------------------------------------------


async def test_of_six_moves_from_one_view_one_is_made(each_world: World) -> None:
    world = each_world
    aki = await world.person()
    ids = []
    for n in range(6):
        seen = await page(world, aki)
        text = PromptText(
            name=CHAT,
            base_id=seen.live_id,
            head_id=seen.head_id,
            files={"system.md": seen.files["system.md"] + f"\nRule number {n}.\n"},
        )
        ids.append((await save(world, aki, text)).version_id)
    outcomes = await asyncio.gather(
        *(
            promote(
                world.services,
                aki,
                PromoteRequest(name=CHAT, version_id=one, rev=0, reason="all at once", override=True),
                event_key=f"k{n}",
            )
            for n, one in enumerate(ids)
        ),
        return_exceptions=True,
    )
    moved = [each for each in outcomes if isinstance(each, PromptMoved)]
    lost = [each for each in outcomes if isinstance(each, Refusal)]
    assert (len(moved), [each.code for each in lost]) == (1, ["prompt_moved"] * 5)
    seen = await page(world, aki)
    assert (seen.rev, seen.item.version) == (1, moved[0].to_version)
    history = await prompt_history(world.services, aki, CHAT)
    assert sum(event.kind is PromptEventKind.PROMOTE for event in history) == 1


async def test_a_second_press_moves_once(world: World) -> None:
    aki = await world.person()
    saved = await save(world, aki, await edited(world, aki, RULE))
    first = await make_live(world, aki, saved.version_id, key="press")
    assert await make_live(world, aki, saved.version_id, key="press") == first
    assert (first.from_version, first.to_version) == ("1.0.0", "1.1.0")
    back = await withdraw(world, aki, key="back")
    assert await withdraw(world, aki, key="back") == back
    assert (await page(world, aki)).rev == 2


async def test_a_rollback_needs_a_reason_which_stays_with_the_version(world: World) -> None:
    aki = await world.person()
    version = await live_rule(world, aki)
    for reason in ("", "  ", "bad"):
        await refused(withdraw(world, aki, reason=reason), "prompt_reason_missing")
    assert (await page(world, aki)).item.version == "1.1.0"
    await withdraw(world, aki, reason="dates lost in summaries")
    seen = await page(world, aki)
    assert (seen.item.version, seen.item.state) == ("1.0.0", PromptState.FOLLOWS)
    withdrawn = next(v.withdrawn for v in seen.versions if v.version_id == version)
    assert withdrawn is not None
    assert (withdrawn.version, withdrawn.to_version, withdrawn.reason) == (
        "1.1.0",
        "1.0.0",
        "dates lost in summaries",
    )
    record = (await prompt_history(world.services, aki, CHAT))[0]
    assert (record.kind, record.from_version, record.to_version) == (
        PromptEventKind.ROLLBACK,
        "1.1.0",
        "1.0.0",
    )
    await refused(withdraw(world, aki), "prompt_already_live")
    assert (await withdraw(world, aki, version, reason="it was right after all")).to_version == "1.1.0"


async def test_nobody_rolls_back_to_what_was_never_live_past_the_gate_and_other_eyes(world: World) -> None:
    aki = await world.person()
    passed_over = (await save(world, aki, await edited(world, aki, RULE))).version_id
    newer = (await save(world, aki, await edited(world, aki, RULE + "\n- Name no rival."))).version_id
    await refused(withdraw(world, aki, passed_over), "prompt_never_live")
    await make_live(world, aki, newer)
    before = await page(world, aki)
    await refused(withdraw(world, aki, passed_over), "prompt_never_live")
    assert await page(world, aki) == before
    offered = {
        row.version.version_id: (row.can_promote, row.can_roll_back) for row in prompt_outline.rows(before)
    }
    assert offered[passed_over] == (True, False)
    assert offered[before.versions[-1].version_id] == (False, True)
    await make_live(world, aki, passed_over)
    await withdraw(world, aki, newer)


async def test_a_prompt_with_an_eval_set_goes_live_by_a_run_or_past_it_on_record(world: World) -> None:
    aki = await world.person()
    seen = await page(world, aki)
    metadata = "\n".join(
        line for line in seen.files["prompt.yaml"].splitlines() if not line.startswith("eval_set")
    )
    text = replace(
        await edited(world, aki, RULE),
        files={
            "system.md": seen.files["system.md"] + RULE,
            "prompt.yaml": f"{metadata}\neval_set: chat-v1\n",
        },
    )
    saved = await save(world, aki, text)
    await refused(make_live(world, aki, saved.version_id, override=False), "prompt_needs_eval")
    await make_live(world, aki, saved.version_id)
    await withdraw(world, aki)
    (view,) = [v for v in (await page(world, aki)).versions if v.version_id == saved.version_id]
    assert view.overridden == "tried by hand for a week"
    kinds = [event.kind for event in await prompt_history(world.services, aki, CHAT)]
    assert kinds.count(PromptEventKind.EVAL_OVERRIDE) == 1


async def test_a_model_that_floats_is_no_target_of_what_is_live(world: World) -> None:
    aki = await world.person()
    seen = await page(world, aki)
    for models, allowed in (
        ("[openai/gpt-latest]", False),
        ("[somebody-s-alias]", False),
        ("[alpha]", True),
    ):
        metadata = "\n".join(
            f"target_models: {models}" if line.startswith("target_models") else line
            for line in seen.files["prompt.yaml"].splitlines()
            if not line.startswith("- ")
        )
        now = await page(world, aki)
        text = PromptText(
            name=CHAT, base_id=seen.live_id, head_id=now.head_id, files={"prompt.yaml": metadata}
        )
        saved = await save(world, aki, text)
        if allowed:
            await make_live(world, aki, saved.version_id)
        else:
            await refused(make_live(world, aki, saved.version_id), "prompt_model_floating")


# --- roles ----------------------------------------------------------------------------------------------------------


async def test_four_eyes_want_another_person_to_look_and_to_promote(world: World) -> None:
    aki, ben = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    world.policies["W1"] = Policy(prompt_four_eyes=True)
    saved = await save(world, aki, await edited(world, aki, RULE))
    services, version = world.services, saved.version_id
    await refused(make_live(world, aki, version), "prompt_own_version")
    await refused(make_live(world, ben, version), "prompt_not_verified")
    await refused(
        verify_version(services, aki, CHAT, version, "looks right", event_key="v"), "prompt_own_version"
    )
    await refused(verify_version(services, ben, CHAT, version, "ok", event_key="v"), "prompt_reason_missing")
    await verify_version(services, ben, CHAT, version, "read every line", event_key="v1")
    await refused(make_live(world, aki, version), "prompt_own_version")
    moved = await make_live(world, ben, version)
    assert not moved.self_approved
    (view,) = [v for v in (await page(world, ben)).versions if v.version_id == version]
    assert (view.verified_by, view.self_approved) == (("Ben",), False)


@pytest.mark.parametrize("four_eyes", [False, True])
async def test_a_person_alone_promotes_their_own_and_that_is_on_record(
    world: World, *, four_eyes: bool
) -> None:
    aki = await world.person()
    world.policies["W1"] = Policy(prompt_four_eyes=four_eyes)
    saved = await save(world, aki, await edited(world, aki, RULE))
    assert (await make_live(world, aki, saved.version_id)).self_approved
    (view,) = [v for v in (await page(world, aki)).versions if v.version_id == saved.version_id]
    assert view.self_approved
    assert (await prompt_history(world.services, aki, CHAT))[0].self_approved


async def test_only_promoters_move_what_is_live(world: World) -> None:
    aki = await world.person()
    version = await live_rule(world, aki)
    world.policies["W1"] = Policy(prompt_promoters=("U7",), prompt_verifiers=("U7",))
    code = "prompt_promote_not_allowed"
    await refused(make_live(world, aki, version), code)
    await refused(withdraw(world, aki), code)
    await refused(archive(world.services, aki, CHAT, 1, "not needed", event_key="a"), code)
    await refused(reload_prompts(world.services, aki, event_key="r"), code)
    ben = await world.person("U2", "Ben")
    await refused(
        verify_version(world.services, ben, CHAT, version, "looks right", event_key="v"),
        "prompt_verify_not_allowed",
    )
    seen = await page(world, aki)
    assert (seen.can_edit, seen.can_verify, seen.can_promote) == (True, False, False)
    assert seen.item.version == "1.1.0"


# --- archive, reload ------------------------------------------------------------------------------------------------


async def test_a_team_s_prompt_is_archived_and_keeps_its_versions(world: World) -> None:
    aki = await world.person()
    name = "team.minutes"
    saved = await save(world, aki, PromptText(name=name, files={"system.md": "Write minutes.\n"}))
    await refused(withdraw(world, aki, saved.version_id, name), "prompt_not_live")
    await make_live(world, aki, saved.version_id, name)
    await refused(archive(world.services, aki, name, 0, "not needed", event_key="a0"), "prompt_moved")
    await refused(archive(world.services, aki, name, 1, "", event_key="a1"), "prompt_reason_missing")
    await archive(world.services, aki, name, 1, "not needed any more", event_key="a2")
    await archive(world.services, aki, name, 1, "not needed any more", event_key="a2")
    seen = await page(world, aki, name)
    assert (seen.item.state, seen.live_id, seen.rev) == (PromptState.NOT_LIVE, SHIPPED, 2)
    assert [v.version for v in seen.versions] == ["1.0.0"]
    await make_live(world, aki, saved.version_id, name)
    await refused(
        archive(world.services, aki, CHAT, 0, "not needed", event_key="a3"), "prompt_archive_shipped"
    )


async def test_a_reload_is_on_record_and_the_status_names_every_process(world: World) -> None:
    aki = await world.person()
    before = await prompt_status(world.services, aki)
    after = await reload_prompts(world.services, aki, event_key="r")
    assert (await reload_prompts(world.services, aki, event_key="r")).generation == after.generation
    assert after.generation == before.generation + 1
    (process,) = after.processes
    assert (process.current, process.error) == (True, "")
    assert process.versions == len(world.services.prompts.shipped.versions)
    assert await count(world, "prompt_event") == 1
    assert (await prompt_status(world.services, aki)).generation == after.generation


async def test_a_file_that_moves_on_under_an_edited_prompt_is_shown_as_diverged(world: World) -> None:
    aki = await world.person()
    await live_rule(world, aki)
    assert (await page(world, aki)).item.state is PromptState.EDITED
    await as_newer_release(world.services.prompts)
    seen = await page(world, aki)
    assert seen.item.state is PromptState.DIVERGED
    assert seen.item.version == "1.1.0"
    (merge,) = seen.diverged
    assert RULE.strip() in merge.mine
    assert "A rule of the new release." in merge.theirs
    assert "A rule of the new release." not in merge.base


async def test_a_newer_text_of_the_release_goes_live_like_any_and_is_followed_from_then_on(
    world: World,
) -> None:
    aki = await world.person()
    own = await live_rule(world, aki)
    await as_newer_release(world.services.prompts)
    (newer,) = [one for one in (await page(world, aki)).versions if one.of_release]
    moved = await make_live(world, aki, newer.version_id, override=False)
    assert (moved.from_version, moved.to_version, moved.self_approved) == ("1.1.0", "1.3.0", False)
    assert (await page(world, aki)).item.state is PromptState.FOLLOWS
    await world.say(aki, "Hello?")
    assert "A rule of the new release." in world.model.sent()
    assert RULE.strip() not in world.model.sent()
    (promotion,) = [row for row in await rows(world, "prompt_event") if row["to_id"] == newer.version_id]
    assert (promotion["kind"], promotion["from_id"]) == ("promote", own)
    await as_newer_release(world.services.prompts, add="And one of the next.", version="1.4.0")
    await world.say(aki, "Hello again?")
    assert "And one of the next." in world.model.sent()


async def test_what_an_earlier_release_brought_is_gone_back_to_and_not_made_live(world: World) -> None:
    aki = await world.person()
    first = (await page(world, aki)).live_id
    await live_rule(world, aki)
    await as_newer_release(world.services.prompts)
    refusal = await refused(make_live(world, aki, first), "prompt_of_earlier_release")
    assert refusal.fields["version"] == "1.0.0"
    assert (await page(world, aki)).item.version == "1.1.0"
    await withdraw(world, aki, first)
    assert (await page(world, aki)).item.version == "1.0.0"


async def test_where_four_eyes_are_asked_for_one_person_is_enough_for_a_text_of_the_release(
    world: World,
) -> None:
    aki, _ = await world.person("U1", "Aki"), await world.person("U2", "Ben")
    await live_rule(world, aki)
    await as_newer_release(world.services.prompts)
    world.policies["W1"] = Policy(prompt_four_eyes=True)
    (newer,) = [one for one in (await page(world, aki)).versions if one.of_release]
    await make_live(world, aki, newer.version_id)
    assert (await page(world, aki)).item.version == "1.3.0"


async def test_a_rollback_is_told_in_the_channel_set_for_it_once(world: World) -> None:
    aki = await world.person()
    await live_rule(world, aki)
    await withdraw(world, aki)
    assert world.poster.posts == {}
    world.policies["W1"] = Policy(prompt_channel="C-prompts")
    await live_rule(world, aki, MORE)
    await withdraw(world, aki, reason="dates lost in summaries", key="press")
    await withdraw(world, aki, reason="dates lost in summaries", key="press")
    await eventually(lambda: world.poster.posts)
    (view,) = world.poster.posts.values()
    assert isinstance(view, NoticeView)
    assert view.phrase.fields == {
        "who": "Aki",
        "name": CHAT,
        "before": "1.2.0",
        "after": "1.0.0",
        "reason": "dates lost in summaries",
    }
    assert [place.channel for place in world.poster.places] == ["C-prompts"]
    (run,) = await rows(world, "run")
    await world.finished(run["id"])
    thread = (await rows(world, "thread"))[0]
    assert (thread["title"], thread["place"]) == (f"{CHAT} 1.2.0 → 1.0.0", "opened-0")
    await world.say(aki, "why?", ThreadId(thread["id"]))
    assert [item.text for item in await world.answers(aki, ThreadId(thread["id"]))] == ["answer 1"]


@pytest.mark.parametrize("step", ["do_add_event", "settle"])
async def test_a_command_that_breaks_off_in_the_middle_leaves_everything_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    aki = await world.person()
    saved = await save(world, aki, await edited(world, aki, RULE))
    before = {table: await rows(world, table) for table in PROMPT_TABLES}

    async def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    for module in (prompt_edit, prompt_live):
        monkeypatch.setattr(module, step, breaks)
    text = await edited(world, aki, MORE)
    text = replace(text, head_id=saved.version_id)
    for act in (save(world, aki, text, key="k1"), make_live(world, aki, saved.version_id, key="k2")):
        with pytest.raises(ZeroDivisionError):
            await act
    assert {table: await rows(world, table) for table in PROMPT_TABLES} == before
    monkeypatch.undo()
    await make_live(world, aki, saved.version_id, key="k2")
    live = {table: await rows(world, table) for table in PROMPT_TABLES}
    for module in (prompt_edit, prompt_live):
        monkeypatch.setattr(module, step, breaks)
    with pytest.raises(ZeroDivisionError):
        await withdraw(world, aki, key="k3")
    assert {table: await rows(world, table) for table in PROMPT_TABLES} == live
