"""One app in an organisation of two teams and in a team of its own: tokens, tenants and rights stay apart."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import select

from bot.slack.adapter import many_bots
from bot.slack.installed import InstalledBots
from bot.slack.people import PLATFORM
from core.commands.installation import Installations
from core.commands.thread import list_channels
from core.domain.errors import PlatformFailure
from core.store.database import Store
from core.store.sealing import Sealer
from core.store.tables import ThreadRow, WorkspaceRow
from tests.bot.slack.world import SlackWorld, open_slack_world, texts_of
from tests.platforms.slack_server import SlackServer
from tests.platforms.slack_state import APP_TOKEN, BOT_USER, TEAM, Channel, Json
from tests.product import SteppingClock, eventually

ORG, OTHER, ALONE = "E1", "T2", "T3"
OF_ORG, OF_ALONE = "xoxb-organisation", "xoxb-alone"
KEY = "k" * 40


def member(name: str, team: str, *teams: str) -> Json:
    person: Json = {"name": name, "locale": "en-US", "team_id": team, "home": team}
    if teams:
        person["enterprise_user"] = {"enterprise_id": ORG, "teams": list(teams)}
    return person


def populated(server: SlackServer) -> None:
    server.organisations = {TEAM: ORG, OTHER: ORG}
    server.tokens = {APP_TOKEN: "app"}
    server.reach = {OF_ORG: {TEAM, OTHER}, OF_ALONE: {ALONE}}
    server.users |= {
        "UALICE": member("alice", TEAM, TEAM),
        "UTWO": member("two", OTHER, OTHER),
        "UBOTH": member("both", TEAM, TEAM, OTHER),
        "UTHREE": member("three", ALONE),
    }
    server.channels |= {
        "C20": Channel("C20", members=[BOT_USER, "UTWO"], team=OTHER),
        "G20": Channel("G20", kind="group", members=[BOT_USER, "UTWO", "UALICE"], team=OTHER),
        "C30": Channel("C30", members=[BOT_USER, "UTHREE"], team=ALONE),
    }


@dataclass
class Tenants:
    slack: SlackWorld
    bots: InstalledBots

    async def sees(self, user: str, workspace: str = ORG) -> set[str]:
        """The channels in which a person is shown threads."""
        bot = await self.bots.of_workspace(workspace)
        actor = (await self.slack.callers.caller(bot, user)).actor
        listed = await list_channels(self.slack.services, actor, PLATFORM)
        return {channel.external_id for channel in listed if channel.threads}

    async def by_workspace(self) -> dict[str, list[str]]:
        """Channels of all threads by the tenant that holds them."""
        async with self.slack.world.store.reading() as session:
            rows = await session.execute(
                select(WorkspaceRow.external_id, ThreadRow.channel)
                .join(ThreadRow, ThreadRow.workspace_id == WorkspaceRow.id)
                .order_by(WorkspaceRow.external_id, ThreadRow.channel)
            )
        found: dict[str, list[str]] = {}
        for workspace, channel in rows:
            found.setdefault(workspace, []).append(channel)
        return found


def granted(token: str, team: str) -> Json:
    whole_org = team == ORG
    return {
        "access_token": token,
        "app_id": "A1",
        "team": None if whole_org else {"id": team, "name": "Alone"},
        "enterprise": {"id": ORG, "name": "Acme"} if whole_org else None,
        "bot_user_id": BOT_USER,
        "authed_user": {"id": "UADMIN"},
        "scope": "chat:write",
        "is_enterprise_install": whole_org,
    }


@pytest.fixture
async def tenants(server: SlackServer, tmp_path: Path) -> AsyncGenerator[Tenants]:
    populated(server)
    store = Store(f"sqlite:///{tmp_path / 'app.db'}")
    installations = Installations(store, SteppingClock(), Sealer([KEY]), platform=PLATFORM)
    make = many_bots(installations, "client", "client-secret")
    async with open_slack_world(tmp_path, server, make_bots=make) as slack:
        bots = slack.platform.bots
        assert isinstance(bots, InstalledBots)
        for token, team in ((OF_ORG, ORG), (OF_ALONE, ALONE)):
            server.oauth[token] = granted(token, team)
            await bots.install(token)
        yield Tenants(slack, bots)
    await store.close()
    assert server.anomalies == []


async def test_an_organisation_is_one_tenant_and_a_team_alone_another(tenants: Tenants) -> None:
    slack = tenants.slack
    for channel, user in (("C1", "UALICE"), ("C20", "UTWO"), ("C30", "UTHREE")):
        await slack.ask("Which database?", channel=channel, user=user)
    assert await tenants.by_workspace() == {ORG: ["C1", "C20"], ALONE: ["C30"]}
    posts = {token for token, method in slack.server.used if method == "chat.postMessage"}
    streams = {token for token, method in slack.server.used if method == "chat.startStream"}
    assert posts | streams == {OF_ORG, OF_ALONE}


async def test_streams_name_the_team_of_whoever_asked(tenants: Tenants) -> None:
    await tenants.slack.ask("Which database?", channel="C20", user="UTWO")
    (stream,) = tenants.slack.server.calls_of("chat.startStream")
    assert stream["recipient_team_id"] == OTHER


async def test_public_in_one_team_of_an_organisation_is_not_public_in_the_next(tenants: Tenants) -> None:
    slack = tenants.slack
    for channel, user in (("C1", "UALICE"), ("C20", "UTWO"), ("G20", "UTWO")):
        await slack.ask("Which database?", channel=channel, user=user)
    assert await tenants.sees("UALICE") == {"C1", "G20"}
    assert await tenants.sees("UTWO") == {"C20", "G20"}
    assert await tenants.sees("UBOTH") == {"C1", "C20"}


async def branched_and_listed(slack: SlackWorld, channel: str, user: str) -> str:
    """A thread, its branch by button and form, and what `/threads` then tells its owner."""
    await slack.ask("Which database?", channel=channel, user=user)
    (card,) = slack.server.posts(channel)
    opened = len(slack.server.views)
    await slack.server.click(channel, card["ts"], "do.branch", user=user)
    await eventually(
        lambda: len(slack.server.views) > opened and slack.server.newest_view["callback_id"] == "form.branch"
    )
    view = slack.server.newest_view
    assert (await slack.server.submit(view["id"], {"name": f"of {user}"}, user=user)).acked
    await eventually(lambda: any(f"of {user}" in texts_of(m) for m in slack.server.posts(channel)))
    answers = len(slack.server.answers)
    await slack.server.slash("/threads", channel=channel, user=user)
    await eventually(lambda: len(slack.server.answers) > answers)
    return texts_of(slack.server.answers[-1])


async def test_commands_clicks_and_forms_of_every_team_reach_their_own_tenant(tenants: Tenants) -> None:
    assert "of UTWO" in await branched_and_listed(tenants.slack, "C20", "UTWO")
    listed = await branched_and_listed(tenants.slack, "C30", "UTHREE")
    assert "of UTHREE" in listed
    assert "of UTWO" not in listed
    assert await tenants.by_workspace() == {ORG: ["C20", "C20"], ALONE: ["C30", "C30"]}


async def test_an_organisation_that_removes_the_app_takes_none_else_along(tenants: Tenants) -> None:
    slack = tenants.slack
    assert (await slack.server.event({"type": "app_uninstalled", "team": TEAM})).acked
    with pytest.raises(PlatformFailure, match="not_installed"):
        await tenants.bots.of_workspace(ORG)
    await slack.server.say(f"<@{BOT_USER}> Anyone?", channel="C20", user="UTWO")
    await slack.ask("Which database?", channel="C30", user="UTHREE")
    assert await tenants.by_workspace() == {ALONE: ["C30"]}
    assert len(slack.model.calls) == 1
