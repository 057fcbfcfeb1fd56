"""What the database keeps of prompts, whoever asks; and which text a process works with."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.domain.ids import WorkspaceId
from core.domain.prompt import PromptEventKind, PromptLabel
from core.domain.receipt import PromptRef
from core.prompts.registry import PromptLibrary
from core.prompts.version import PromptVersion
from core.store.prompt import PromptEvent, do_add_event, do_add_version, shipped_id
from core.store.prompt_library import SILENT_AFTER, Prompts
from core.store.prompt_pointer import do_move_pointer
from core.store.prompt_process import do_next_generation, processes
from core.store.workspace import do_add_workspace
from tests.prompts.sample import METADATA, metadata, parse
from tests.store.ground import Ground, a_prompt
from tests.store.test_tables import refused

NAME = "team.rules"


def library(*prompts: PromptVersion) -> PromptLibrary:
    return PromptLibrary(MappingProxyType({prompt.name: prompt for prompt in prompts}))


async def test_versions_and_history_are_never_changed_nor_deleted(ground: Ground) -> None:
    prompt = a_prompt(ground, NAME, 1)
    event = PromptEvent(
        id=ground.id(),
        name=NAME,
        kind=PromptEventKind.SAVE,
        from_id=None,
        to_id=prompt.id,
        actor_id=ground.person_id,
        reason="first text",
        before={},
        after=prompt.files,
        created_at=ground.clock.now(),
    )
    async with ground.store.writing() as session:
        assert await do_add_version(session, prompt)
        await do_add_event(session, ground.workspace_id, event)
    for table, reason in (
        ("prompt_version", "prompt versions are never changed"),
        ("prompt_event", "prompt events are never changed"),
    ):
        for statement in (f"UPDATE {table} SET reason = 'another one'", f"DELETE FROM {table}"):  # noqa: S608
            await refused(ground, statement, reason)


@pytest.mark.parametrize("reason", ["", "     ", " fix "])
async def test_the_database_itself_refuses_a_version_without_a_reason(ground: Ground, reason: str) -> None:
    with pytest.raises(DBAPIError, match="ck_prompt_version_reason"):
        async with ground.store.writing() as session:
            await do_add_version(session, replace(a_prompt(ground, NAME, 1), reason=reason))


async def test_a_number_is_given_once_in_a_workspace(ground: Ground) -> None:
    async with ground.store.writing() as session:
        assert await do_add_version(session, a_prompt(ground, NAME, 1))
        assert not await do_add_version(session, a_prompt(ground, NAME, 1, system="Other rules."))
        assert await do_add_version(session, a_prompt(ground, NAME, 2))


async def test_a_pointer_moves_once_from_where_it_was_seen(ground: Ground) -> None:
    first, second = a_prompt(ground, NAME, 1), a_prompt(ground, NAME, 2)
    production = PromptLabel.PRODUCTION
    async with ground.store.writing() as session:
        for prompt in (first, second):
            await do_add_version(session, prompt)
        moves = [(first, 0), (second, 0), (second, 1), (first, 1), (None, 2)]
        moved = [
            await do_move_pointer(
                session, ground.workspace_id, NAME, production, to.id if to else None, rev=rev
            )
            for to, rev in moves
        ]
    assert moved == [True, False, True, False, True]


# --- what a process works with --------------------------------------------------------------------------------------


@pytest.fixture
def shipped() -> PromptVersion:
    return parse()


Make = Callable[..., Prompts]


@pytest.fixture
def make(ground: Ground, shipped: PromptVersion) -> Make:
    def build(read: Callable[[], PromptLibrary] | None = None) -> Prompts:
        return Prompts(ground.store, library(shipped), ground.clock, read=read or (lambda: library(shipped)))

    return build


async def begin(
    prompts: Prompts, ground: Ground, name: str, workspace: WorkspaceId | None = None
) -> PromptRef:
    """What a run beginning now would hold on to."""
    async with ground.store.writing() as session:
        (ref,) = await prompts.refs(session, workspace or ground.workspace_id, [name])
    return ref


async def promote(ground: Ground, prompt_id: str | None, name: str, rev: int) -> None:
    async with ground.store.writing() as session:
        assert await do_move_pointer(
            session, ground.workspace_id, name, PromptLabel.PRODUCTION, prompt_id, rev=rev
        )


async def test_what_is_made_live_counts_in_another_process_at_once_and_in_no_other_workspace(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    here, there = make(), make()
    for process in (here, there):
        await process.start()
    async with ground.store.writing() as session:
        row = await do_add_workspace(
            session, platform="test", external_id="W2", name="Others", clock=ground.clock
        )
    before = await begin(there, ground, shipped.name)
    ours = a_prompt(ground, shipped.name, 7)
    async with ground.store.writing() as session:
        await do_add_version(session, ours)
    await promote(ground, ours.id, shipped.name, 0)
    assert await begin(there, ground, shipped.name) == ours.ref
    assert await begin(there, ground, shipped.name, WorkspaceId(row.id)) == before == shipped.ref
    resolved = await here.resolve(ground.workspace_id, [ours.ref])
    assert resolved.get(shipped.name).parts.system == "Secret rules."
    live = await there.live(ground.workspace_id, [shipped.name])
    assert live.get(shipped.name).ref == ours.ref
    with pytest.raises(ConfigurationError, match="is not stored"):
        await make().resolve(WorkspaceId(row.id), [ours.ref])
    await promote(ground, None, shipped.name, 1)
    assert await begin(here, ground, shipped.name) == shipped.ref


async def test_a_version_that_cannot_be_had_is_an_error_and_never_another_text(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    prompts = make()
    await prompts.start()
    with pytest.raises(ConfigurationError, match=r"version 1\.2\.3 \(ffffffffffff\) is not stored"):
        await prompts.resolve(ground.workspace_id, [replace(shipped.ref, sha256="f" * 64)])


async def test_a_stored_text_that_is_not_what_its_hash_says_is_not_used(ground: Ground, make: Make) -> None:
    forged = replace(a_prompt(ground, NAME, 1), sha256="a" * 64)
    async with ground.store.writing() as session:
        await do_add_version(session, forged)
    with pytest.raises(ConfigurationError, match="is not what it was when it was stored"):
        await make().resolve(ground.workspace_id, [forged.ref])


async def test_a_process_of_another_release_finds_the_text_that_a_run_began_with(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    await make().start()
    newer = parse({"system.md": "Quite other. {{tone}}"} | metadata('"1.2.3"', '"2.0.0"'))
    later = Prompts(ground.store, library(newer), ground.clock)
    await later.start()
    resolved = await later.resolve(ground.workspace_id, [shipped.ref])
    assert resolved.get(shipped.name) == shipped


async def test_shipped_versions_are_kept_once_however_many_processes_start(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    for _ in range(3):
        await make().start()
    async with ground.store.reading() as session:
        ids = list(await session.scalars(text("SELECT id FROM prompt_version")))
    assert ids == [shipped_id(shipped.ref)]


# --- reading files again --------------------------------------------------------------------------------------------


class Files:
    """The files of a release as they lie on the disk at the moment."""

    def __init__(self, *prompts: PromptVersion) -> None:
        self.now: Callable[[], PromptLibrary] = lambda: library(*prompts)

    def __call__(self) -> PromptLibrary:
        return self.now()


async def reload(ground: Ground) -> None:
    async with ground.store.writing() as session:
        await do_next_generation(session)


async def test_a_reload_reaches_every_process_with_its_next_run(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    disk = Files(shipped)
    here, there = make(disk), make(disk)
    for process in (here, there):
        await process.start()
    newer = parse({"task.md": "Please add: {{numbers}}"} | metadata('"1.2.3"', '"1.2.4"'))
    disk.now = lambda: library(newer)
    assert await begin(there, ground, shipped.name) == shipped.ref
    await reload(ground)
    assert await begin(there, ground, shipped.name) == newer.ref
    # Kept with the run, although the process has not looked by itself yet.
    assert (await make().resolve(ground.workspace_id, [newer.ref])).get(shipped.name) == newer
    assert await here.look()
    assert here.shipped.get(shipped.name) == newer
    assert not await here.look()


def broken() -> PromptLibrary:
    raise ConfigurationErrors([ConfigurationError("demo.sum/system.md", "is empty")])


async def test_a_broken_file_never_takes_the_place_of_a_good_one(
    ground: Ground, make: Make, shipped: PromptVersion
) -> None:
    disk = Files(shipped)
    prompts = make(disk)
    await prompts.start()
    changed = parse({"task.md": "Please add: {{numbers}}"})
    other_name = replace(shipped, name="test.other")
    unfit = parse(
        {
            "task.md": "Add.",
            "prompt.yaml": METADATA.replace("1.2.3", "2.0.0").replace(
                "  numbers: {trust: untrusted, description: What to add.}\n", ""
            ),
        }
    )
    cases: Mapping[str, Callable[[], PromptLibrary]] = {
        "is empty": broken,
        "raise the version": lambda: library(changed),
        "is missing": lambda: library(other_name),
        "numbers": lambda: library(unfit),
    }
    for reason, now in cases.items():
        disk.now = now
        await reload(ground)
        assert await begin(prompts, ground, shipped.name) == shipped.ref
        assert reason in prompts.error
        await prompts.report()
        async with ground.store.reading() as session:
            (reported,) = await processes(session)
        assert reason in reported.error
    disk.now = lambda: library(shipped)
    await reload(ground)
    assert await prompts.look()
    await prompts.report()
    async with ground.store.reading() as session:
        (reported,) = await processes(session)
    assert reported.error == ""
    assert reported.generation == 6


async def test_a_process_is_listed_until_it_leaves_or_falls_silent(ground: Ground, make: Make) -> None:
    silent, leaving, staying = make(), make(), make()
    for process in (silent, leaving, staying):
        await process.start()

    async def listed() -> int:
        async with ground.store.reading() as session:
            return len(await processes(session))

    assert await listed() == 3
    await leaving.leave()
    assert await listed() == 2
    ground.clock.advance(SILENT_AFTER + timedelta(seconds=1))
    await staying.report()
    assert await listed() == 1
