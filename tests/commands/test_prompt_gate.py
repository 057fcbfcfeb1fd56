"""What a version has to have been tried with before it goes live: its texts, its models, its eval set."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from core.commands.prompt import prompt_history
from core.domain.eval_run import Side
from core.domain.policy import Actor
from core.domain.prompt import PromptEventKind, PromptText
from core.ports import ModelCall
from tests.commands.evaluating import SUMMARY, answering, eval_set, evaluated, library, text_of
from tests.commands.look import refused, rows, speaks
from tests.commands.prompting import CHAT, RULE, as_newer_release, make_live, page, save, withdraw
from tests.product import Planned, World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, eval_library=library(eval_set())) as opened:
        opened.model.plan = answering({})
        yield opened


async def version(
    world: World, actor: Actor, *, name: str = SUMMARY, rule: str = "", **metadata: str | None
) -> str:
    """A version of the live text with other lines in its metadata (None drops one), and a rule more; its id."""
    seen = await page(world, actor, name)
    kept = seen.files["prompt.yaml"].splitlines()
    lines = [line for line in kept if line.partition(":")[0] not in metadata]
    if "target_models" in metadata:
        lines = [line for line in lines if not line.startswith("- ")]
    lines += [f"{key}: {value}" for key, value in metadata.items() if value is not None]
    files = {"prompt.yaml": "\n".join(lines) + "\n", "system.md": seen.files["system.md"] + rule}
    text = PromptText(name=name, base_id=seen.live_id, head_id=seen.head_id, files=files)
    return (await save(world, actor, text)).version_id


async def shut(world: World, actor: Actor, version_id: str, code: str, name: str = SUMMARY) -> str:
    """The reason for which a version does not go live; nothing is moved by trying."""
    live = (await page(world, actor, name)).live_id
    refusal = await refused(make_live(world, actor, version_id, name, override=False), code)
    assert (await page(world, actor, name)).live_id == live
    return str(refusal)


async def recorded(world: World, actor: Actor, name: str = SUMMARY) -> list[PromptEventKind]:
    return [event.kind for event in await prompt_history(world.services, actor, name)]


async def test_what_a_demo_model_says_lets_nothing_live_where_there_are_real_ones(world: World) -> None:
    aki = await world.person()
    candidate_id = await version(world, aki, rule=RULE)
    seen = await evaluated(world, aki, candidate_id, model="demo-sage")
    assert [reason.key for reason in seen.closed] == ["eval_gate.other_model"]
    assert "demo-sage" in speaks(seen.closed[0])
    await shut(world, aki, candidate_id, "prompt_gate_shut")
    await evaluated(world, aki, candidate_id, model="beta")
    await make_live(world, aki, candidate_id, SUMMARY, override=False)


async def test_a_version_is_tried_with_every_model_that_it_names(world: World) -> None:
    aki = await world.person()
    candidate_id = await version(world, aki, rule=RULE, target_models="[alpha, openai/beta-2026-01-01]")
    await evaluated(world, aki, candidate_id, model="seer")
    refusal = await refused(
        make_live(world, aki, candidate_id, SUMMARY, override=False), "prompt_needs_eval_with"
    )
    assert refusal.fields["models"] == "openai/alpha-2026-01-01, openai/beta-2026-01-01"
    # With nobody naming a model, it is one of those that the version is written for.
    first = await evaluated(world, aki, candidate_id, model="")
    assert (first.item.baseline_model, first.closed) == ("alpha", ())
    refusal = await refused(
        make_live(world, aki, candidate_id, SUMMARY, override=False), "prompt_needs_eval_with"
    )
    assert refusal.fields["models"] == "openai/beta-2026-01-01"
    await evaluated(world, aki, candidate_id, model="beta")
    await make_live(world, aki, candidate_id, SUMMARY, override=False)


async def test_a_switch_of_model_needs_both_models_compared_under_the_same_words(world: World) -> None:
    aki = await world.person()
    await make_live(world, aki, await version(world, aki, target_models="[alpha]"), SUMMARY)
    candidate_id = await version(world, aki, target_models="[beta]")
    await shut(world, aki, candidate_id, "prompt_needs_eval_with")
    # Beta against beta tells nothing of what the switch changes.
    await evaluated(world, aki, candidate_id, model="beta")
    await shut(world, aki, candidate_id, "prompt_needs_eval_with")
    world.model.calls.clear()
    seen = await evaluated(world, aki, candidate_id, model="")
    assert (seen.item.baseline_model, seen.item.candidate_model) == ("alpha", "beta")
    sent = {
        side: {text_of(call) for call in world.model.calls if call.model == model}
        for side, model in ((Side.BASELINE, "alpha"), (Side.CANDIDATE, "beta"))
    }
    assert len(sent[Side.BASELINE]) == len(seen.comparison.cases)
    assert sent[Side.BASELINE] == sent[Side.CANDIDATE]
    await make_live(world, aki, candidate_id, SUMMARY, override=False)
    (record,) = [
        row
        for row in await rows(world, "prompt_event")
        if row["kind"] == "promote" and row["to_id"] == candidate_id
    ]
    assert record["eval_run_id"] == seen.item.run_id


@pytest.mark.soak
async def test_a_switch_whose_new_model_does_worse_is_kept_out(world: World) -> None:
    aki = await world.person()
    await make_live(world, aki, await version(world, aki, target_models="[alpha]"), SUMMARY)
    candidate_id = await version(world, aki, target_models="[beta]")
    world.model.plan = lambda call: "It is gone." if call.model == "beta" else "It is kept."
    await evaluated(world, aki, candidate_id, model="")
    assert await shut(world, aki, candidate_id, "prompt_gate_shut")


async def test_words_and_models_do_not_change_at_once(world: World) -> None:
    aki = await world.person()
    await make_live(world, aki, await version(world, aki, target_models="[alpha]"), SUMMARY)
    candidate_id = await version(world, aki, rule=RULE, target_models="[beta]")
    await evaluated(world, aki, candidate_id, model="")
    await shut(world, aki, candidate_id, "prompt_two_changes")
    await make_live(world, aki, candidate_id, SUMMARY, override=True)
    assert PromptEventKind.EVAL_OVERRIDE in await recorded(world, aki)


async def test_a_switch_without_an_eval_set_goes_live_on_record_only(world: World) -> None:
    aki = await world.person()
    await make_live(world, aki, await version(world, aki, name=CHAT, target_models="[alpha]"))
    assert PromptEventKind.EVAL_OVERRIDE not in await recorded(world, aki, CHAT)
    for targets in ("[beta]", "[any]"):
        candidate_id = await version(world, aki, name=CHAT, target_models=targets)
        await shut(world, aki, candidate_id, "prompt_switch_without_set", CHAT)
    await make_live(world, aki, candidate_id)
    assert (await recorded(world, aki, CHAT)).count(PromptEventKind.EVAL_OVERRIDE) == 1


async def test_a_version_that_drops_its_eval_set_is_judged_by_the_one_of_what_is_live(world: World) -> None:
    aki = await world.person()
    candidate_id = await version(world, aki, rule=RULE, eval_set=None)
    await shut(world, aki, candidate_id, "prompt_needs_eval")
    seen = await evaluated(world, aki, candidate_id)
    assert seen.item.eval_set == "compare-v1"
    await make_live(world, aki, candidate_id, SUMMARY, override=False)


@pytest.mark.soak
async def test_an_evaluation_says_nothing_once_another_model_answers_under_the_same_id(world: World) -> None:
    aki = await world.person()
    candidate_id = await version(world, aki, rule=RULE)
    first = await evaluated(world, aki, candidate_id)
    assert first.closed == ()
    world.model.reported, world.model.plan = "reported-2", lambda call: "Hello."
    await world.say(aki, "Hello?")
    refusal = await refused(make_live(world, aki, candidate_id, SUMMARY, override=False), "prompt_gate_shut")
    assert "Another model" in str(refusal.fields["reasons"])
    assert "alpha" in str(refusal.fields["reasons"])
    world.model.plan = answering({})
    await evaluated(world, aki, candidate_id)
    await make_live(world, aki, candidate_id, SUMMARY, override=False)


async def test_an_evaluation_in_the_course_of_which_the_model_was_replaced_opens_nothing(
    world: World,
) -> None:
    aki = await world.person()

    plan = answering({})

    def replaced(call: ModelCall) -> Planned:
        if len(world.model.calls) == 20:
            world.model.reported = "reported-2"
        return plan(call)

    world.model.plan = replaced
    seen = await evaluated(world, aki, await version(world, aki, rule=RULE))
    assert [reason.key for reason in seen.closed] == ["eval_gate.model_moved"]
    assert seen.reported[Side.CANDIDATE] == ("reported-1", "reported-2")


async def test_a_target_is_fixed_by_what_the_catalogue_knows_of_its_alias(world: World) -> None:
    aki = await world.person()
    for targets, code in (("[fluid]", "prompt_model_floating"), ("[demo-sage]", "")):
        candidate_id = await version(world, aki, name=CHAT, target_models=targets)
        if code:
            await shut(world, aki, candidate_id, code, CHAT)
        else:
            await make_live(world, aki, candidate_id, override=False)


@pytest.mark.soak
async def test_a_rollback_to_another_model_needs_no_evaluation(world: World) -> None:
    aki = await world.person()
    first = await version(world, aki, target_models="[alpha]")
    await make_live(world, aki, first, SUMMARY)
    await make_live(world, aki, await version(world, aki, target_models="[beta]"), SUMMARY)
    assert (await withdraw(world, aki, first, SUMMARY)).to_version
    assert (await page(world, aki, SUMMARY)).live_id == first


async def test_a_text_of_a_newer_release_passes_the_same_gate(world: World) -> None:
    aki = await world.person()
    await make_live(world, aki, await version(world, aki, rule=RULE), SUMMARY)
    await as_newer_release(world.services.prompts, name=SUMMARY)
    (newer,) = [one for one in (await page(world, aki, SUMMARY)).versions if one.of_release]
    await shut(world, aki, newer.version_id, "prompt_needs_eval")
    assert (await evaluated(world, aki, newer.version_id)).closed == ()
    await make_live(world, aki, newer.version_id, SUMMARY, override=False)
