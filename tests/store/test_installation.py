"""Installations: tokens sealed at rest, renewed by one process at a time, and the change of the key."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from core.commands.installation import Installations, Tokens
from core.commands.person import WorkspaceSeen
from core.domain.errors import ConfigurationError
from core.store.database import Store
from core.store.migrations import migrate
from core.store.sealing import Sealer
from tests.product import SteppingClock

OLD, NEW = "old-" + "k" * 40, "new-" + "k" * 40
SEEN = WorkspaceSeen(platform="chat", external_id="T1", name="Testers")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'app.db'}")
    await migrate(store)
    yield store
    await store.close()


def installations(store: Store, *keys: str, clock: SteppingClock | None = None) -> Installations:
    return Installations(store, clock or SteppingClock(), Sealer(keys), platform="chat")


async def install(found: Installations, token: str = "xoxe-secret", refresh: str = "refresh-secret") -> None:
    clock = SteppingClock()
    tokens = Tokens(token=token, refresh_token=refresh, expires_at=clock.now() + timedelta(hours=12))
    await found.install(SEEN, tokens, details={"user": "UBOT"}, installed_by="U1")


async def test_an_installation_comes_back_as_it_was_stored(database: Store) -> None:
    await install(installations(database, OLD))
    found = await installations(database, OLD).find("T1")
    assert found is not None
    assert (found.tokens.token, found.tokens.refresh_token) == ("xoxe-secret", "refresh-secret")
    assert found.details == {"user": "UBOT"}
    assert await installations(database, OLD).find("T2") is None


async def test_no_token_stands_in_the_database_in_the_clear(database: Store) -> None:
    await install(installations(database, OLD))
    async with database.reading() as session:
        row = (await session.execute(text("SELECT token, refresh_token FROM installation"))).one()
    assert "secret" not in f"{row.token}{row.refresh_token}"
    assert row.token != row.refresh_token


async def test_installing_again_replaces_the_tokens(database: Store) -> None:
    found = installations(database, OLD)
    await install(found)
    await install(found, token="second", refresh="")
    stored = await found.find("T1")
    assert stored is not None
    assert (stored.tokens.token, stored.tokens.refresh_token) == ("second", "")


async def test_a_removed_installation_is_gone_and_removing_it_again_is_nothing(database: Store) -> None:
    found = installations(database, OLD)
    await install(found)
    await found.remove("T1")
    assert await found.find("T1") is None
    await found.remove("T1")


async def test_only_one_renews_at_a_time_and_a_claim_ends_by_itself(database: Store) -> None:
    clock = SteppingClock()
    found = installations(database, OLD, clock=clock)
    await install(found)
    stored = await found.find("T1")
    assert stored is not None
    assert await found.claim_renewal(stored.workspace_id, for_s=30)
    assert not await found.claim_renewal(stored.workspace_id, for_s=30)
    clock.advance(timedelta(seconds=31))
    assert await found.claim_renewal(stored.workspace_id, for_s=30)
    await found.renew(stored.workspace_id, Tokens(token="renewed", refresh_token="next"))
    assert await found.claim_renewal(stored.workspace_id, for_s=30)
    renewed = await found.find("T1")
    assert renewed is not None
    assert renewed.tokens.token == "renewed"


async def test_a_new_key_opens_what_the_old_one_sealed_and_seals_it_anew(database: Store) -> None:
    await install(installations(database, OLD))
    both = installations(database, NEW, OLD)
    assert (await both.find("T1")) is not None
    assert await both.seal_anew() == 1
    assert await both.seal_anew() == 0
    alone = await installations(database, NEW).find("T1")
    assert alone is not None
    assert alone.tokens.token == "xoxe-secret"


async def test_without_the_key_a_token_is_refused_and_the_setting_is_named(database: Store) -> None:
    await install(installations(database, OLD))
    with pytest.raises(ConfigurationError, match="PROMPTFLOW_SECRET_KEY"):
        await installations(database, NEW).find("T1")


def test_what_is_sealed_for_one_place_opens_nowhere_else() -> None:
    sealer = Sealer([OLD])
    sealed = sealer.seal("secret", place="a")
    assert sealer.open(sealed, place="a") == "secret"
    with pytest.raises(ConfigurationError, match="damaged"):
        sealer.open(sealed, place="b")
    with pytest.raises(ConfigurationError, match="damaged"):
        sealer.open(sealed[:-4] + "AAAA", place="a")


def test_the_same_text_is_never_sealed_the_same() -> None:
    sealer = Sealer([OLD])
    assert sealer.seal("secret", place="a") != sealer.seal("secret", place="a")
