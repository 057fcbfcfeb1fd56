"""Calls of Slack's Web API: paced, with a deadline, and with failures that say whether the call may have landed.

The SDK's own retries are off: it would repeat a post whose answer got lost (python-slack-sdk, default handlers). Only
"too many requests" is tried again here, because then nothing landed.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.bots import Bot
from bot.slack.metrics import SlackMetrics
from bot.slack.pacing import Pacing
from core.domain.errors import PlatformFailure

log = logging.getLogger(__name__)

Json = Mapping[str, Any]

CALL_S: Final = 20.0
"""Longer than any answer of Slack's that was worth waiting for, shorter than the SDK's 30 s."""

PATIENCE_S: Final = 900.0
"""How long a call waits for its turn and for Slack to take more, all together."""

RETRYABLE: Final = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "store_unavailable", "request_timeout", "timeout",
     "unreachable", "unreadable", "streaming_state_conflict", "ratelimited", "team_added_to_org",
     "accesslimited", "server_error"}
)  # fmt: skip
JSON_METHODS: Final = ("chat.", "views.", "assistant.", "agents.")
"""Method families that take their arguments as a JSON body; the rest as query parameters."""

READS: Final = frozenset(
    {"conversations.info", "conversations.members", "conversations.replies", "conversations.history",
     "users.info", "files.info", "chat.getPermalink", "team.info"}
)  # fmt: skip


class Calls:
    """The Web API for every workspace over one HTTP session."""

    def __init__(
        self,
        *,
        api_url: str,
        session: aiohttp.ClientSession,
        speed: float = 1.0,
        metrics: SlackMetrics | None = None,
    ) -> None:
        self.metrics = metrics or SlackMetrics()
        self.api_url = api_url
        self.session = session
        self.pacing = Pacing(speed=speed)

    def client(self, token: str | None) -> AsyncWebClient:
        """A client of the SDK without retries of its own."""
        return AsyncWebClient(
            token=token,
            base_url=self.api_url or AsyncWebClient.BASE_URL,
            timeout=int(CALL_S),
            session=self.session,
            retry_handlers=[],
        )

    async def call(self, bot: Bot, method: str, *, patience_s: float = PATIENCE_S, **args: Any) -> Json:
        """The answer of a method. Arguments that are None are left out. Raises PlatformFailure.

        Waits for its turn, and again as often as Slack asks for patience, up to `patience_s` together.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        bucket = self.pacing.of_method(bot.workspace, method)
        while True:
            await _in_time(bucket.take(), deadline)
            if method == "chat.postMessage":
                await _in_time(self.pacing.of_channel(bot.workspace, args["channel"]).take(), deadline)
            try:
                return await self.send(bot.token, method, **args)
            except PlatformFailure as failure:
                if failure.code != "ratelimited":
                    raise
                wait_s = failure.retry_after_s or 1.0
                slow = (
                    self.pacing.of_channel(bot.workspace, args["channel"])
                    if method == "chat.postMessage"
                    else bucket
                )
                slow.pause(wait_s)
                if loop.time() + wait_s > deadline:
                    raise
                log.info("%s: asked to wait %.0f s", method, wait_s)

    async def send(self, token: str | None, method: str, **args: Any) -> Json:
        """One call at once, without waiting for a turn. Raises PlatformFailure."""
        given = {name: value for name, value in args.items() if value is not None}
        as_json = method.startswith(JSON_METHODS) and method not in READS
        body = {"json": given} if as_json else {"params": given}
        verb = "GET" if method in READS else "POST"
        return await self._answered(method, self.client(token).api_call(method, http_verb=verb, **body))

    async def test(self, token: str) -> tuple[Json, frozenset[str]]:
        """Who a token belongs to, and its scopes, none where Slack does not name them. Raises PlatformFailure."""
        response = await self._response("auth.test", self.client(token).api_call("auth.test"))
        headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
        granted = (one.strip() for one in headers.get("x-oauth-scopes", "").split(","))
        return response.data, frozenset(one for one in granted if one)

    async def send_form(self, method: str, **fields: str) -> Json:
        """One call without a token, its fields in the body and so in no log of addresses. Raises PlatformFailure."""
        return await self._answered(method, self.client(None).api_call(method, data=fields))

    async def _answered(self, method: str, answering: Awaitable[Any]) -> Json:
        answer: Json = (await self._response(method, answering)).data
        return answer

    async def _response(self, method: str, answering: Awaitable[Any]) -> Any:
        try:
            response = await self._answering(method, answering)
        except PlatformFailure as failure:
            self.metrics.count_call(method, failure)
            raise
        self.metrics.count_call(method, None)
        return response

    async def _answering(self, method: str, answering: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(CALL_S):
                answer = await answering
        except SlackApiError as error:
            raise _failure(method, error) from None
        except (TimeoutError, aiohttp.ClientError, SlackClientError, OSError) as error:
            code = "timeout" if isinstance(error, TimeoutError) else "unreachable"
            raise PlatformFailure(code, retryable=True) from None
        if not isinstance(answer.data, dict):
            raise PlatformFailure("unreadable", retryable=True)
        return answer

    async def pages(self, bot: Bot, method: str, field: str, **args: Any) -> AsyncGenerator[Json]:
        """Every item of `field` over all pages, in the order in which Slack gives them."""
        cursor = None
        while True:
            answer = await self.call(bot, method, cursor=cursor, **args)
            for item in answer.get(field) or ():
                yield item
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return


async def _in_time(turn: Any, deadline: float) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await turn
    except TimeoutError:
        raise PlatformFailure("ratelimited", retryable=True) from None


def _failure(method: str, error: SlackApiError) -> PlatformFailure:
    """What the SDK raised, as ours. Nothing of the request goes along, since it holds what people wrote."""
    response = error.response
    # For an answer that is not JSON the SDK hands over the bare HTTP response.
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    data = getattr(response, "data", None)
    code = data.get("error", "") if isinstance(data, dict) else ""
    if status == 429 or code == "ratelimited":
        after = response.headers.get("Retry-After", "1")
        return PlatformFailure("ratelimited", retryable=True, retry_after_s=_seconds(after))
    if not code:
        return PlatformFailure("server_error" if status >= 500 else "unreadable", retryable=True)
    if code == "missing_scope":
        log.error(
            "%s needs the scope %s: add it and reinstall the app", method, data.get("needed") if data else ""
        )
        return PlatformFailure(f"missing_scope:{data.get('needed', '') if data else ''}", retryable=False)
    if code.startswith("invalid_"):
        messages = (data or {}).get("response_metadata", {}).get("messages", [])
        log.error("%s was refused: %s %s", method, code, [str(m)[:200] for m in messages][:3])
    return PlatformFailure(code, retryable=code in RETRYABLE)


def _seconds(value: str) -> float:
    try:
        return max(1.0, float(value))
    except ValueError:
        return 1.0
