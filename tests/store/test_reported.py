"""What providers report is remembered a model, and a change is found once."""

import asyncio
from datetime import UTC, datetime

from core.domain.reported import ReportedModel
from core.store.database import Store
from core.store.reported import do_note_reported, reported_models

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ID = "openai/gpt-latest"


async def noted(store: Store, reported: str, *, model_id: str = ID) -> ReportedModel | None:
    async with store.writing() as session:
        return await do_note_reported(session, "gpt", model_id, reported, now=NOW)


async def kept(store: Store) -> dict[tuple[str, str], ReportedModel]:
    async with store.reading() as session:
        return await reported_models(session)


async def test_a_first_report_and_the_same_again_are_no_change(store: Store) -> None:
    assert await noted(store, "gpt-1") is None
    assert await noted(store, "gpt-1") is None
    (one,) = (await kept(store)).values()
    assert (one.reported_id, one.before, one.changed) == ("gpt-1", "", False)


async def test_another_id_is_a_change_and_going_back_is_one_too(store: Store) -> None:
    await noted(store, "gpt-1")
    change = ReportedModel(model="gpt", model_id=ID, reported_id="gpt-2", before="gpt-1", since=NOW)
    assert await noted(store, "gpt-2") == change
    assert await kept(store) == {("gpt", ID): change}
    back = await noted(store, "gpt-1")
    assert back is not None
    assert (back.before, back.reported_id) == ("gpt-2", "gpt-1")


async def test_nothing_reported_leaves_everything_as_it_is(store: Store) -> None:
    assert await noted(store, "") is None
    assert await kept(store) == {}
    await noted(store, "gpt-1")
    assert await noted(store, "") is None
    assert [one.reported_id for one in (await kept(store)).values()] == ["gpt-1"]


async def test_another_configured_id_is_another_model(store: Store) -> None:
    await noted(store, "gpt-1")
    assert await noted(store, "gpt-2", model_id="openai/gpt-2-2026-01-01") is None
    assert len(await kept(store)) == 2


async def test_of_calls_at_the_same_moment_one_finds_the_change(store: Store) -> None:
    await asyncio.gather(*(noted(store, "gpt-1") for _ in range(4)))
    found = await asyncio.gather(*(noted(store, "gpt-2") for _ in range(4)))
    assert sum(one is not None for one in found) == 1
