"""The bots of many workspaces, from their installations; tokens that expire are renewed in time, by one process."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bot.slack.bots import Bot
from bot.slack.calls import Calls, Json
from bot.slack.memo import Memo
from bot.slack.people import PLATFORM
from core.commands.installation import Installation, Installations, Tokens
from core.commands.person import WorkspaceSeen
from core.domain.errors import ConfigurationError, PlatformFailure, StoreUnavailable

log = logging.getLogger(__name__)

FRESH_S: Final = 60.0
"""How long a revocation that another process heard of may go unnoticed here."""

RENEW_BEFORE: Final = timedelta(hours=2)
"""Tokens live twelve hours; renewed this long before, they never run out while Slack is away for a while."""

CLAIM_S: Final = 30.0
WAIT_S: Final = 10.0


class InstalledBots:
    """Bots by the installations in the store."""

    def __init__(
        self, calls: Calls, installations: Installations, *, client_id: str, client_secret: str
    ) -> None:
        self._calls = calls
        self._installations = installations
        self._client_id = client_id
        self._client_secret = client_secret
        self._memo: Memo[str, Bot] = Memo(fresh_s=FRESH_S)

    async def begin(self) -> None:
        """Seal with the newest key what an older one sealed, so that the older one can go. Raises StoreUnavailable
        and ConfigurationError."""
        count = await self._installations.seal_anew()
        if count:
            log.info("sealed the tokens of %d workspaces with the new key", count)

    async def of_workspace(self, workspace: str) -> Bot:
        return await self._memo.get(workspace, lambda: self._load(workspace))

    async def forget(self, workspace: str) -> None:
        self._memo.drop(workspace)
        await self._installations.remove(workspace)
        log.info("the app was removed from a workspace", extra={"workspace": workspace})

    async def install(self, code: str) -> Bot:
        """Exchange the code of a finished installation for tokens and store them. Raises PlatformFailure."""
        answer = await self._access({"code": code})
        tested = await self._calls.send(str(answer["access_token"]), "auth.test")
        details = details_of(answer, tested)
        bot = bot_from(details, str(answer["access_token"]))
        await self._installations.install(
            WorkspaceSeen(platform=PLATFORM, external_id=bot.workspace, name=bot.name),
            tokens_of(answer),
            details=details,
            installed_by=str((answer.get("authed_user") or {}).get("id") or ""),
        )
        self._memo.drop(bot.workspace)
        return bot

    async def _load(self, workspace: str) -> Bot:
        try:
            found = await self._installations.find(workspace)
            if found is None:
                raise PlatformFailure("not_installed", retryable=False)
            tokens = await self._in_date(workspace, found)
        except StoreUnavailable:
            raise PlatformFailure("store_unavailable", retryable=True) from None
        except ConfigurationError as error:
            log.error("%s", error)  # noqa: TRY400  the setting and what is wrong with it say it all
            raise PlatformFailure("key_missing", retryable=False) from None
        return bot_from(found.details, tokens.token)

    async def _in_date(self, workspace: str, found: Installation) -> Tokens:
        """Tokens that are good for a while: as stored, renewed now, or renewed by another process meanwhile."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + WAIT_S
        while True:
            tokens = found.tokens
            now = datetime.now(UTC)
            if (
                tokens.expires_at is None
                or not tokens.refresh_token
                or tokens.expires_at - now > RENEW_BEFORE
            ):
                return tokens
            if await self._installations.claim_renewal(found.workspace_id, for_s=CLAIM_S):
                return await self._renewed(workspace, found)
            if tokens.expires_at > now or loop.time() > deadline:
                return tokens
            await asyncio.sleep(0.5)
            again = await self._installations.find(workspace)
            if again is None:
                raise PlatformFailure("not_installed", retryable=False)
            found = again

    async def _renewed(self, workspace: str, found: Installation) -> Tokens:
        # Between reading and claiming another process may have renewed; its refresh token is the one that counts.
        latest = await self._installations.find(workspace) or found
        if latest.tokens.token != found.tokens.token:
            await self._installations.renew(found.workspace_id, latest.tokens)
            return latest.tokens
        try:
            answer = await self._access(
                {"grant_type": "refresh_token", "refresh_token": found.tokens.refresh_token}
            )
        except PlatformFailure as failure:
            log.warning("a token could not be renewed (%s)", failure.code)
            if found.tokens.expires_at and found.tokens.expires_at > datetime.now(UTC):
                return found.tokens
            raise
        tokens = tokens_of(answer)
        await self._installations.renew(found.workspace_id, tokens)
        return tokens

    async def _access(self, args: Mapping[str, str]) -> Json:
        return await self._calls.send_form(
            "oauth.v2.access", client_id=self._client_id, client_secret=self._client_secret, **args
        )


def tokens_of(answer: Json) -> Tokens:
    """The tokens in an answer of `oauth.v2.access`."""
    lifetime_s = answer.get("expires_in")
    expires_at = datetime.now(UTC) + timedelta(seconds=float(lifetime_s)) if lifetime_s else None
    return Tokens(
        token=str(answer["access_token"]),
        refresh_token=str(answer.get("refresh_token") or ""),
        expires_at=expires_at,
    )


def details_of(answer: Json, tested: Json) -> dict[str, Any]:
    """What is kept of an installation beside its tokens."""
    whole_org = bool(answer.get("is_enterprise_install"))
    team, enterprise = answer.get("team") or {}, answer.get("enterprise") or {}
    named = enterprise if whole_org else team
    return {
        "workspace": str(named.get("id") or tested.get("team_id") or ""),
        "team": str(team.get("id") or ("" if whole_org else tested.get("team_id") or "")),
        "enterprise": str(enterprise.get("id") or ""),
        "name": str(named.get("name") or tested.get("team") or ""),
        "url": str(tested.get("url") or "https://slack.com/"),
        "user": str(answer.get("bot_user_id") or tested.get("user_id") or ""),
        "bot_id": str(tested.get("bot_id") or ""),
        "app": str(answer.get("app_id") or ""),
        "scopes": str(answer.get("scope") or ""),
    }


def bot_from(details: Mapping[str, Any], token: str) -> Bot:
    return Bot(
        workspace=str(details["workspace"]),
        team=str(details["team"]),
        name=str(details["name"]),
        url=str(details["url"]),
        user=str(details["user"]),
        bot_id=str(details["bot_id"]),
        enterprise=str(details["enterprise"]),
        token=token,
    )
