"""Events over HTTP: the signature first, then the same listeners as over a socket."""

import logging
import time
from typing import Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

log = logging.getLogger(__name__)

EVENTS: Final = "/slack/events"
WINDOW_S: Final = 300
"""How old a request may be (docs.slack.dev, Verifying requests from Slack)."""


class EventRoute:
    """`/slack/events`, for everything that Slack sends."""

    def __init__(self, app: AsyncApp, signing_secret: str) -> None:
        self._app = app
        self._verifier = SignatureVerifier(signing_secret)

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.post(EVENTS, self._take)]

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if not self._is_genuine(request, body):
            log.warning("a request without Slack's signature was refused")
            return web.Response(status=401)
        answer = await self._app.async_dispatch(await to_bolt_request(request))
        return await to_aiohttp_response(answer)

    def _is_genuine(self, request: web.Request, body: bytes) -> bool:
        sent_at = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        # The library's verifier raises on a time that is no number and on a signature that is no ASCII.
        if not (sent_at.isascii() and sent_at.isdigit() and signature.isascii()):
            return False
        if abs(time.time() - int(sent_at)) > WINDOW_S:
            return False
        return self._verifier.is_valid(body, sent_at, signature)
