"""What the database keeps of a workspace's own eval sets, whoever asks."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

from core.domain.eval_set import HeldCase, QuarantineKind
from core.prompts.eval_library import EvalLibrary
from core.store.eval_quarantine import do_hold_case, do_release_case, held_cases
from core.store.eval_set import (
    do_add_eval_set,
    do_erase_cases,
    eval_set_now,
    eval_set_versions,
    find_eval_set,
    newest_eval_sets,
)
from core.store.evaluation import do_add_eval, do_add_result
from core.store.tables import EvalResultRow, EvalSetVersionRow
from tests.store.ground import Ground, a_result, an_eval, an_eval_set
from tests.store.test_tables import refused

NEVER = "versions of eval sets are never changed"


async def test_a_version_is_never_changed_nor_deleted(ground: Ground) -> None:
    async with ground.store.writing() as session:
        assert await do_add_eval_set(session, an_eval_set(ground))
    for change in ("reason = 'another one'", "files = '{}'", "erased = true, version = 2"):
        await refused(ground, f"UPDATE eval_set_version SET {change}", NEVER)  # noqa: S608
    await refused(ground, "DELETE FROM eval_set_version", NEVER)


@pytest.mark.parametrize(
    ("change", "constraint"),
    [({"reason": " fix "}, "ck_eval_set_version_reason"), ({"version": 0}, "ck_eval_set_version_version")],
)
async def test_the_database_itself_refuses_what_says_nothing(
    ground: Ground, change: dict[str, object], constraint: str
) -> None:
    with pytest.raises(DBAPIError, match=constraint):
        async with ground.store.writing() as session:
            await do_add_eval_set(session, an_eval_set(ground, **change))


async def test_a_number_is_given_once_and_the_newest_version_is_found(ground: Ground) -> None:
    first = an_eval_set(ground)
    second = replace(first, id=ground.id(), version=2, sha256="f" * 64)
    async with ground.store.writing() as session:
        assert await do_add_eval_set(session, first)
        assert not await do_add_eval_set(session, replace(first, id=ground.id()))
        assert await do_add_eval_set(session, second)
        assert await do_add_eval_set(session, an_eval_set(ground, name="team-other"))
    async with ground.store.reading() as session:
        versions = await eval_set_versions(session, ground.workspace_id, first.name)
        newest = await newest_eval_sets(session, ground.workspace_id)
        old = await find_eval_set(session, ground.workspace_id, first.name, first.sha256)
    assert [one.version for one in versions] == [2, 1]
    assert [(one.name, one.version) for one in newest] == [("team-other", 1), (first.name, 2)]
    assert old is not None
    assert (old.version, old.who) == (1, "Aki")


async def test_erasing_takes_a_case_out_of_every_version_and_blanks_what_was_run_of_it(
    ground: Ground,
) -> None:
    stored = an_eval_set(ground, sources={"S1": ["m1", "m2"]})
    kept = "- {id: S2, kind: typical, origin: synthetic, human: [stays]}\n"
    files = {**stored.files, "cases/all.yaml": stored.files["cases/all.yaml"] + kept}
    stored = replace(stored, files=files)
    run = an_eval(ground)
    run = replace(run, conditions=replace(run.conditions, set_name=stored.name))
    other = an_eval(ground)
    async with ground.store.writing() as session:
        await do_add_eval_set(session, stored)
        await do_add_eval_set(session, replace(stored, id=ground.id(), version=2))
        for one in (run, other):
            await do_add_eval(session, one)
            await do_add_result(session, ground.workspace_id, one.id, a_result(ground))
        await do_erase_cases(session, ground.workspace_id, ["m3"])
        await do_erase_cases(session, ground.workspace_id, ["m2"])
    library = EvalLibrary(dict)
    async with ground.store.reading() as session:
        for row in await session.scalars(select(EvalSetVersionRow)):
            assert row.files == {**files, "cases/all.yaml": kept}
            assert (row.erased, row.sha256) == (True, stored.sha256)
        found = await eval_set_now(session, ground.workspace_id, library, stored.name, sha256=stored.sha256)
        outputs = [(row.run_id, row.output) for row in await session.scalars(select(EvalResultRow))]
        assert sorted(outputs) == [(run.id, ""), (other.id, "secret output")]
    assert found is not None
    assert [case.id for case in found.cases] == ["S2"]
    assert found.sha256 != stored.sha256


async def test_a_forged_erasure_changes_no_other_column(ground: Ground) -> None:
    async with ground.store.writing() as session:
        await do_add_eval_set(session, an_eval_set(ground))
    with pytest.raises(DBAPIError, match=NEVER):
        async with ground.store.writing() as session:
            await session.execute(update(EvalSetVersionRow).values(erased=True, name="team-mine"))


async def test_a_case_is_set_aside_once_at_a_time(ground: Ground) -> None:
    now = ground.clock.now()
    held = HeldCase(
        held_id=ground.id(),
        eval_set="team-secret",
        case_id="S1",
        kind=QuarantineKind.FLAKY,
        reason="passes at times",
        who="Aki",
        owner_id=ground.person_id,
        since=now,
        until=now + timedelta(days=1),
    )
    later = replace(held, held_id=ground.id(), since=held.until, until=held.until + timedelta(days=1))
    async with ground.store.writing() as session:
        assert await do_hold_case(session, ground.workspace_id, held)
        assert not await do_hold_case(session, ground.workspace_id, replace(held, held_id=ground.id()))
        assert not await do_release_case(
            session, ground.workspace_id, held.held_id, ground.person_id, held.until
        )
        assert await do_hold_case(session, ground.workspace_id, later)
        assert await do_release_case(
            session, ground.workspace_id, later.held_id, ground.person_id, later.since
        )
    async with ground.store.reading() as session:
        kept = await held_cases(session, ground.workspace_id, "team-secret")
    assert [(one.held_id, one.lifted_by) for one in kept] == [(later.held_id, "Aki"), (held.held_id, "")]
    with pytest.raises(DBAPIError, match="ck_eval_quarantine_reason"):
        async with ground.store.writing() as session:
            await do_hold_case(
                session, ground.workspace_id, replace(held, held_id=ground.id(), reason=" no ")
            )
