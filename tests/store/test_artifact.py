"""An artifact's name is unique in its thread in any case and width, whoever writes at the same moment (spec §7)."""

import asyncio

from alembic import command
from sqlalchemy import Connection, text

from core.domain.artifact import name_digest
from core.domain.message import Author, AuthorKind
from core.store.artifact import NewVersion, do_add_artifact, do_save, find_artifact, list_artifacts, versions
from core.store.database import Store
from core.store.migrations import alembic_config, migrate
from tests.store.ground import Ground, prepare

AUTHOR = Author(kind=AuthorKind.MODEL, name="alpha")
TWINS = ("Plan", "plan", "ＰＬＡＮ", "Plan (2)", "x" * 120, "X" * 120)


async def save(ground: Ground, name: str, words: str) -> None:
    async with ground.store.writing() as session:
        await do_save(
            session,
            ground.workspace_id,
            ground.thread.id,
            name=name,
            new=NewVersion(text=words, author=AUTHOR, reason=""),
            clock=ground.clock,
        )


async def test_two_who_save_under_one_name_at_once_make_two_versions_of_one_artifact(ground: Ground) -> None:
    await asyncio.gather(
        save(ground, "Plan", "one"), save(ground, "ｐｌａｎ", "two"), save(ground, "PLAN", "three")
    )
    async with ground.store.reading() as session:
        ((artifact, newest),) = await list_artifacts(session, ground.workspace_id, ground.thread.id)
        held = await versions(session, ground.workspace_id, artifact.id)
    assert (newest.number, {version.text for version in held}) == (3, {"one", "two", "three"})


async def test_of_two_who_begin_an_artifact_at_once_one_is_told_that_it_is_there(ground: Ground) -> None:
    async def begin(name: str) -> bool:
        async with ground.store.writing() as session:
            made = await do_add_artifact(
                session, ground.workspace_id, ground.thread.id, name=name, kind="text", clock=ground.clock
            )
            return made is not None

    assert sorted(await asyncio.gather(begin("Plan"), begin("plan"))) == [False, True]


async def test_a_name_is_found_in_any_case_and_width_in_its_own_thread_only(ground: Ground) -> None:
    await save(ground, "Straße ㍿", "one")
    other = await ground.add_thread()
    async with ground.store.reading() as session:
        for name in ("Straße ㍿", "STRASSE 株式会社"):
            assert await find_artifact(session, ground.workspace_id, ground.thread.id, name)
        assert await find_artifact(session, ground.workspace_id, ground.thread.id, "Strase") is None
        assert await find_artifact(session, ground.workspace_id, other.id, "Straße ㍿") is None


async def test_a_name_whose_key_is_many_times_as_long_is_stored(ground: Ground) -> None:
    long = "".join(chr(0xFDFA) for _ in range(120))
    await save(ground, long, "one")
    async with ground.store.reading() as session:
        assert await find_artifact(session, ground.workspace_id, ground.thread.id, long)


# --- names of earlier releases ---------------------------------------------------------------------------------------


def _to(connection: Connection, revision: str) -> None:
    command.upgrade(alembic_config(connection), revision)


async def _with_twins(store: Store) -> Ground:
    """A database of the release before, with names that differ in case and width only, in two threads."""

    def make() -> None:
        with store.blocking_connection() as connection:
            _to(connection, "0005")

    await asyncio.to_thread(make)
    ground = await prepare(store)
    other = await ground.add_thread()
    async with store.writing() as session:
        for thread, names in ((ground.thread, TWINS), (other, TWINS[:2])):
            for name in names:
                artifact_id, moment = ground.id(), ground.clock.now()
                await session.execute(
                    text("INSERT INTO artifact VALUES (:id, :workspace, :thread, :name, 'text', :moment)"),
                    {
                        "id": artifact_id,
                        "workspace": ground.workspace_id,
                        "thread": thread.id,
                        "name": name,
                        "moment": moment,
                    },
                )
    return ground


async def _names(ground: Ground) -> dict[str, list[str]]:
    """Names by thread, the oldest first."""
    found: dict[str, list[str]] = {}
    async with ground.store.reading() as session:
        for row in await session.execute(text("SELECT thread_id, name FROM artifact ORDER BY id")):
            found.setdefault(row.thread_id, []).append(row.name)
    return found


async def test_twins_of_an_earlier_release_are_all_kept_and_later_ones_get_a_number(
    database_url: str,
) -> None:
    store = Store(database_url)
    try:
        ground = await _with_twins(store)
        assert await migrate(store)
        named, others = (await _names(ground)).values()
        assert named == ["Plan", "plan (3)", "ＰＬＡＮ (4)", "Plan (2)", "x" * 120, "X" * 116 + " (2)"]
        assert others == ["Plan", "plan (2)"]
        for name in named:
            async with store.reading() as session:
                found = await find_artifact(session, ground.workspace_id, ground.thread.id, name)
            assert found
            assert (found.name, found.name_key) == (name, name_digest(name))
        await save(ground, "pLAN", "a version of the oldest")
        assert [len(names) for names in (await _names(ground)).values()] == [6, 2]
    finally:
        await store.close()
