"""Prompts as files: what is written out comes back the same, and nothing drifts unnoticed."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.prompt_files import (
    Imported,
    drift,
    export_prompts,
    import_prompts,
    write_folder,
)
from core.commands.prompt_live import archive
from core.domain.errors import ConfigurationErrors, Refusal
from core.domain.policy import Actor
from core.domain.prompt import PromptText
from core.prompts.example_privacy import personal_problems
from core.prompts.registry import LIBRARY_FOLDER, LOCK_FILE, check_folder, load_library
from core.prompts.version import Example, PromptVersion
from tests.commands.look import count, refused
from tests.commands.prompting import CHAT, RULE, edited, make_live, page, save
from tests.product import World


async def exported(world: World) -> dict[str, str]:
    return await export_prompts(world.store, world.services.prompts, world.clock, "W1")


async def taken_in(world: World, given: Mapping[str, PromptVersion]) -> tuple[Imported, ...]:
    return await import_prompts(
        world.store, world.services.prompts, world.clock, "W1", given, "edited in a checkout"
    )


async def written(world: World, folder: Path) -> Mapping[str, PromptVersion]:
    """The workspace's prompts in a folder, read back."""
    await asyncio.to_thread(write_folder, folder, await exported(world))
    return (await asyncio.to_thread(check_folder, folder)).versions


async def changed(world: World, aki: Actor) -> None:
    """An edited prompt and one of the team's own, both live."""
    saved = await save(world, aki, await edited(world, aki, RULE))
    await make_live(world, aki, saved.version_id)
    team = PromptText(name="team.minutes", files={"system.md": "Write minutes.\n"})
    saved = await save(world, aki, team)
    await make_live(world, aki, saved.version_id, "team.minutes")


async def test_an_export_holds_every_live_prompt_its_history_and_the_lock(world: World) -> None:
    aki = await world.person()
    await changed(world, aki)
    files = await exported(world)
    names = {path.partition("/")[0] for path in files if "/" in path}
    assert names == {*world.services.prompts.shipped.versions, "team.minutes"}
    assert files[f"{CHAT}/system.md"] == (await page(world, aki)).files["system.md"]
    history = [json.loads(line) for line in files["history.jsonl"].splitlines()]
    told = [(record["prompt"], record["kind"], record["to"], record["who"]) for record in history]
    assert (CHAT, "promote", "1.1.0", "Aki") in told
    assert history[0]["reason"] == "people asked for it"
    assert json.loads(files[LOCK_FILE])[CHAT].keys() == {"1.1.0"}
    assert await exported(world) == files


async def test_what_is_exported_comes_back_by_hash_and_is_known(world: World, tmp_path: Path) -> None:
    aki = await world.person()
    await changed(world, aki)
    back = await written(world, tmp_path)
    live = await world.services.prompts.live(aki.workspace_id, [CHAT])
    assert back[CHAT].sha256 == live.get(CHAT).sha256
    assert {name: prompt.sha256 for name, prompt in back.items() if name != "team.minutes"}.items() >= {
        name: prompt.sha256
        for name, prompt in world.services.prompts.shipped.versions.items()
        if name != CHAT
    }.items()
    events = await count(world, "prompt_event")
    assert not any(one.new for one in await taken_in(world, back))
    assert await count(world, "prompt_event") == events
    assert await drift(world.store, world.services.prompts, "W1", back) == ()


async def test_an_edited_file_becomes_a_proposed_version_and_never_goes_live_by_itself(
    world: World, tmp_path: Path
) -> None:
    aki = await world.person()
    await written(world, tmp_path)
    folder = tmp_path / CHAT
    system, metadata = folder / "system.md", folder / "prompt.yaml"
    system.write_text(system.read_text() + RULE)
    metadata.write_text(metadata.read_text().replace("1.0.0", "1.1.0"))
    with pytest.raises(ConfigurationErrors, match=rf"does not know {CHAT} 1\.1\.0"):
        await asyncio.to_thread(check_folder, tmp_path)
    library = (await asyncio.to_thread(load_library, tmp_path)).versions
    (new,) = [one for one in await taken_in(world, library) if one.new]
    assert (new.name, new.version) == (CHAT, "1.1.0")
    seen = await page(world, aki)
    assert (seen.item.version, seen.item.candidate_version) == ("1.0.0", "1.1.0")
    (found,) = await drift(world.store, world.services.prompts, "W1", library)
    assert (found.name, found.folder, found.live, found.parts) == (CHAT, "1.1.0", "1.0.0", ("system.md",))
    (candidate,) = [version for version in seen.versions if version.candidate]
    await make_live(world, aki, candidate.version_id)
    assert await drift(world.store, world.services.prompts, "W1", library) == ()


async def test_a_version_number_that_does_not_fit_imports_nothing_at_all(
    world: World, tmp_path: Path
) -> None:
    aki = await world.person()
    await changed(world, aki)
    given = dict(await written(world, tmp_path))
    shipped = world.services.prompts.shipped.get(CHAT)
    team = given["team.minutes"]
    parts = replace(team.parts, system="Write minutes, and name who has to do what.")
    newer = replace(team, version="2.0.0", parts=parts, sha256=parts.sha256)
    wrong_parts = replace(shipped.parts, system=shipped.parts.system + "\n\nA rule from a file.")
    wrong = replace(shipped, version="1.0.1", parts=wrong_parts, sha256=wrong_parts.sha256)
    events = await count(world, "prompt_event")
    await refused(taken_in(world, {"team.minutes": newer, CHAT: wrong}), "version_not_newer")
    assert await count(world, "prompt_event") == events
    assert (await page(world, aki, "team.minutes")).item.newest_version == "1.0.0"
    (new,) = await taken_in(world, {"team.minutes": newer})
    assert new.new


async def test_a_text_changed_under_its_version_is_found(world: World, tmp_path: Path) -> None:
    await world.person()
    await written(world, tmp_path)
    system = tmp_path / CHAT / "system.md"
    system.write_text(system.read_text() + RULE)
    with pytest.raises(ConfigurationErrors, match=r"under version 1\.0\.0: raise the version"):
        await asyncio.to_thread(check_folder, tmp_path)
    for lock, reason in (("[", "is not JSON"), ("[]", "does not know"), (None, "does not know")):
        (tmp_path / LOCK_FILE).unlink() if lock is None else (tmp_path / LOCK_FILE).write_text(lock)
        with pytest.raises(ConfigurationErrors, match=reason):
            await asyncio.to_thread(check_folder, tmp_path)


def test_the_prompts_of_the_product_are_in_step_with_their_lock() -> None:
    assert CHAT in check_folder(LIBRARY_FOLDER).versions


async def test_a_second_export_takes_away_what_is_gone_and_touches_nothing_else(
    world: World, tmp_path: Path
) -> None:
    aki = await world.person()
    await changed(world, aki)
    await written(world, tmp_path)
    (tmp_path / "README.md").write_text("ours")
    await archive(world.services, aki, "team.minutes", 1, "not needed any more", event_key="a")
    back = await written(world, tmp_path)
    assert "team.minutes" not in back
    assert not (tmp_path / "team.minutes").exists()
    assert (tmp_path / "README.md").read_text() == "ours"


async def test_what_cannot_be_written_or_found_is_told(world: World, tmp_path: Path) -> None:
    await world.person()
    (tmp_path / "taken").write_text("a file")
    files = await exported(world)
    with pytest.raises(Refusal) as caught:
        await asyncio.to_thread(write_folder, tmp_path / "taken", files)
    assert caught.value.code == "folder_not_written"
    await refused(
        export_prompts(world.store, world.services.prompts, world.clock, "W9"), "workspace_not_found"
    )


async def test_personal_data_in_an_example_keeps_a_folder_out_as_a_whole(world: World) -> None:
    await world.person()
    prompts = world.services.prompts.shipped.versions
    mail = "mika" + "@example.org"
    parts = replace(prompts[CHAT].parts, few_shot=(Example(values={"request": "Who?"}, output=mail),))
    given = {
        CHAT: replace(prompts[CHAT], version="1.1.0", parts=parts, sha256=parts.sha256),
        "debate.synthesis": prompts["debate.synthesis"],
    }
    with pytest.raises(ConfigurationErrors, match=r"few_shot\.yaml: example 1 holds mail addresses"):
        await taken_in(world, given)
    assert await count(world, "prompt_event") == 0


async def test_no_example_that_comes_with_the_product_holds_personal_data(world: World) -> None:
    versions = world.services.prompts.shipped.versions.values()
    assert [problem for one in versions for problem in personal_problems(one)] == []
