"""Over HTTP and in many workspaces: signatures, installation pages, tokens that are renewed, removal."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from aiohttp import web

from bot.slack.adapter import many_bots, open_platform
from bot.slack.calls import Calls
from bot.slack.installed import InstalledBots
from bot.slack.oauth import GOOD_FOR_S, Installing, authorize_url
from bot.slack.people import PLATFORM
from bot.slack.scopes import SCOPES
from bot.web.server import Probes, Served, public_application, serve
from core.commands.installation import Installations, Tokens
from core.commands.person import WorkspaceSeen
from core.domain.errors import PlatformFailure
from core.domain.ids import WorkspaceId
from core.store.database import Store
from core.store.migrations import migrate
from core.store.sealing import Sealer
from tests.bot.slack.world import MENTION, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import BOT_USER, SIGNING_SECRET, TEAM
from tests.product import SteppingClock, eventually

KEY = "k" * 40
SEEN = WorkspaceSeen(platform=PLATFORM, external_id=TEAM, name="Testers")
DETAILS = {
    "workspace": TEAM,
    "team": TEAM,
    "enterprise": "",
    "name": "Testers",
    "url": "https://testers.slack.com/",
    "user": BOT_USER,
    "bot_id": "B1",
}


async def nothing_missing() -> tuple[str, ...]:
    return ()


async def serve_routes(routes: list[web.AbstractRouteDef]) -> Served:
    probes = Probes(missing=nothing_missing, metrics=lambda: b"")
    return await serve(public_application(routes, probes=probes), host="127.0.0.1", port=0)


async def test_signed_events_are_answered_and_others_refused(server: SlackServer, tmp_path: Path) -> None:
    async with open_slack_world(tmp_path, server, app_token="", signing_secret=SIGNING_SECRET) as slack:
        served = await serve_routes(slack.adapter.routes())
        url = f"http://127.0.0.1:{served.port}/slack/events"
        try:
            message = server.write(f"{MENTION} Which database?")
            event = server.envelope(server.event_of("C1", message))
            assert await server.signed(url, event, secret="wrong") == 401
            assert await server.signed(url, event, age_s=400) == 401
            assert slack.model.calls == []
            assert await server.signed(url, event) == 200
            assert await server.signed(url, event) == 200
            await eventually(lambda: any("answer 1" in texts_of(m) for m in server.posts()))
            assert len(slack.model.calls) == 1
            await eventually(slack.adapter.is_ready)
        finally:
            await served.close()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Slack-Request-Timestamp": "soon", "X-Slack-Signature": "v0=1"},
        {"X-Slack-Request-Timestamp": "٣", "X-Slack-Signature": "v0=1"},
        {"X-Slack-Request-Timestamp": "1700000000", "X-Slack-Signature": "v0=é"},
    ],
)
async def test_a_request_with_odd_headers_is_refused_and_no_error(
    server: SlackServer, tmp_path: Path, headers: dict[str, str]
) -> None:
    async with open_slack_world(tmp_path, server, app_token="", signing_secret=SIGNING_SECRET) as slack:
        served = await serve_routes(slack.adapter.routes())
        try:
            async with aiohttp.ClientSession() as session:
                url = f"http://127.0.0.1:{served.port}/slack/events"
                async with session.post(url, data=b"{}", headers=headers) as response:
                    assert response.status == 401
        finally:
            await served.close()


@dataclass
class Many:
    bots: InstalledBots
    installations: Installations
    server: SlackServer
    served: Served

    async def install(self, tokens: Tokens) -> None:
        await self.installations.install(SEEN, tokens, details=DETAILS, installed_by="UALICE")


@pytest.fixture
async def many(server: SlackServer, tmp_path: Path) -> AsyncGenerator[Many]:
    store = Store(f"sqlite:///{tmp_path / 'app.db'}")
    await migrate(store)
    installations = Installations(store, SteppingClock(), Sealer([KEY]), platform=PLATFORM)

    async def external_id(workspace_id: WorkspaceId) -> str:
        return TEAM

    make = many_bots(installations, "client", "client-secret")
    async with open_platform(api_url=server.api_url, make_bots=make, external_id=external_id) as platform:
        assert isinstance(platform.bots, InstalledBots)
        installing = Installing(platform.bots, client_id="client", secret_key=KEY, api_url="")
        served = await serve_routes(installing.routes())
        yield Many(platform.bots, installations, server, served)
        await served.close()
    await store.close()


def granted(token: str, *, refresh: str = "", expires_in: int = 0) -> dict[str, object]:
    answer: dict[str, object] = {
        "access_token": token,
        "team": {"id": TEAM, "name": "Testers"},
        "bot_user_id": BOT_USER,
        "authed_user": {"id": "UALICE"},
        "scope": ",".join(SCOPES),
        "is_enterprise_install": False,
    }
    return answer | ({"refresh_token": refresh, "expires_in": expires_in} if refresh else {})


async def test_a_team_installs_the_app_in_its_browser(many: Many) -> None:
    many.server.oauth["code-1"] = granted("xoxb-team")
    base = f"http://127.0.0.1:{many.served.port}"
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        async with session.get(f"{base}/slack/install", allow_redirects=False) as response:
            assert response.status == 302
            query = parse_qs(urlsplit(response.headers["Location"]).query)
        assert set(query["scope"][0].split(",")) == set(SCOPES)
        back = f"{base}/slack/oauth_redirect"
        async with session.get(back, params={"code": "code-1", "state": "1.2"}) as response:
            assert response.status == 400
        async with session.get(back, params={"code": "code-1", "state": query["state"][0]}) as response:
            assert response.status == 200
            assert "Testers" in await response.text()
        async with session.get(back, params={"code": "code-1", "state": query["state"][0]}) as response:
            assert response.status == 400
    bot = await many.bots.of_workspace(TEAM)
    assert (bot.token, bot.user, bot.workspace) == ("xoxb-team", BOT_USER, TEAM)


async def test_an_installation_that_another_browser_began_is_refused(many: Many) -> None:
    base = f"http://127.0.0.1:{many.served.port}"
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{base}/slack/install", allow_redirects=False) as response,
    ):
        state = parse_qs(urlsplit(response.headers["Location"]).query)["state"][0]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{base}/slack/oauth_redirect", params={"code": "c", "state": state}) as response,
    ):
        assert response.status == 400
        assert "another browser" in await response.text()


def test_a_state_is_good_for_ten_minutes_and_for_its_browser(many: Many) -> None:
    installing = Installing(many.bots, client_id="c", secret_key=KEY, api_url="")
    now = int(datetime.now(UTC).timestamp())
    assert installing.is_ours(installing.state("nonce", now), "nonce")
    assert not installing.is_ours(installing.state("nonce", now), "other")
    assert not installing.is_ours(installing.state("nonce", now - GOOD_FOR_S - 1), "nonce")
    assert not installing.is_ours(installing.state("nonce", now + 60), "nonce")
    assert not installing.is_ours("x.y", "nonce")


def test_people_agree_on_the_host_of_the_api() -> None:
    assert authorize_url("") == "https://slack.com/oauth/v2/authorize"
    assert authorize_url("https://slack-gov.com/api/") == "https://slack-gov.com/oauth/v2/authorize"


async def test_a_workspace_without_the_app_is_not_served(many: Many) -> None:
    with pytest.raises(PlatformFailure, match="not_installed"):
        await many.bots.of_workspace(TEAM)


async def test_a_token_is_renewed_once_before_it_runs_out(many: Many) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=30)
    await many.install(Tokens(token="xoxe-old", refresh_token="refresh-1", expires_at=soon))
    many.server.oauth["refresh-1"] = granted("xoxe-new", refresh="refresh-2", expires_in=43_200)
    found = await asyncio.gather(*(many.bots.of_workspace(TEAM) for _ in range(5)))
    assert {bot.token for bot in found} == {"xoxe-new"}
    assert len(many.server.calls_of("oauth.v2.access")) == 1
    stored = await many.installations.find(TEAM)
    assert stored is not None
    assert stored.tokens.refresh_token == "refresh-2"


async def test_while_slack_is_away_a_token_that_still_works_is_used(many: Many) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=30)
    await many.install(Tokens(token="xoxe-old", refresh_token="refresh-1", expires_at=soon))
    many.server.fault("oauth.v2.access", "http500")
    assert (await many.bots.of_workspace(TEAM)).token == "xoxe-old"


async def test_a_removed_app_is_forgotten_with_its_tokens(many: Many) -> None:
    await many.install(Tokens(token="xoxb-team"))
    assert (await many.bots.of_workspace(TEAM)).token == "xoxb-team"
    await many.bots.forget(TEAM)
    with pytest.raises(PlatformFailure, match="not_installed"):
        await many.bots.of_workspace(TEAM)
    assert await many.installations.find(TEAM) is None


async def test_a_changed_key_seals_stored_tokens_anew_at_the_start(many: Many, tmp_path: Path) -> None:
    await many.install(Tokens(token="xoxb-team"))
    store = Store(f"sqlite:///{tmp_path / 'app.db'}")
    both = Installations(store, SteppingClock(), Sealer(["n" * 40, KEY]), platform=PLATFORM)
    async with aiohttp.ClientSession() as session:
        calls = Calls(api_url=many.server.api_url, session=session)
        await InstalledBots(calls, both, client_id="c", client_secret="s").begin()
    alone = Installations(store, SteppingClock(), Sealer(["n" * 40]), platform=PLATFORM)
    found = await alone.find(TEAM)
    assert found is not None
    assert found.tokens.token == "xoxb-team"
    await store.close()
