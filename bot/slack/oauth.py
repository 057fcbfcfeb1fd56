"""Installing the app in many workspaces: `/slack/install`, and where Slack sends people back to.

The state of an installation is signed, bound to the browser by a cookie, and good for ten minutes; the code that comes
back is good once, at Slack.
"""

import hashlib
import hmac
import logging
import secrets
import time
from typing import Final
from urllib.parse import urlencode, urlsplit

from aiohttp import web
from markupsafe import escape

from bot.slack.installed import InstalledBots
from bot.slack.scopes import SCOPES
from core import i18n
from core.domain.errors import PlatformFailure, StoreUnavailable

log = logging.getLogger(__name__)

INSTALL: Final = "/slack/install"
REDIRECT: Final = "/slack/oauth_redirect"
COOKIE: Final = "promptflow_install"
GOOD_FOR_S: Final = 600
AUTHORIZE: Final = "https://slack.com/oauth/v2/authorize"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Installing:
    """The two pages."""

    def __init__(self, bots: InstalledBots, *, client_id: str, secret_key: str, api_url: str) -> None:
        self._bots = bots
        self._client_id = client_id
        self._key = hashlib.sha256(f"promptflow install state\0{secret_key}".encode()).digest()
        self._authorize = authorize_url(api_url)

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.get(INSTALL, self._begin), web.get(REDIRECT, self._end)]

    async def _begin(self, request: web.Request) -> web.Response:
        """Send the browser to Slack with a fresh state."""
        nonce = secrets.token_urlsafe(24)
        query = {
            "client_id": self._client_id,
            "scope": ",".join(SCOPES),
            "user_scope": "",
            "state": self.state(nonce, int(time.time())),
        }
        response = web.Response(
            status=302, headers={**HEADERS, "Location": f"{self._authorize}?{urlencode(query)}"}
        )
        response.set_cookie(
            COOKIE,
            nonce,
            max_age=GOOD_FOR_S,
            httponly=True,
            samesite="Lax",
            # Plain http is only for trying it out on one machine.
            secure=request.url.host not in ("127.0.0.1", "localhost"),
            path="/slack",
        )
        return response

    async def _end(self, request: web.Request) -> web.Response:
        """Take the code that Slack sent along, and say how it went."""
        locale = i18n.nearest(request.headers.get("Accept-Language", "").split(",")[0].split(";")[0].strip())
        if not self.is_ours(request.query.get("state", ""), request.cookies.get(COOKIE, "")):
            return self._failed(locale, "slack.install_expired")
        code = request.query.get("code", "")
        if request.query.get("error") or not code:
            return self._failed(locale, "slack.install_denied")
        try:
            bot = await self._bots.install(code)
        except (PlatformFailure, StoreUnavailable) as failure:
            log.warning("an installation failed (%s)", failure)
            away = failure.retryable
            return self._failed(locale, "slack.install_away" if away else "slack.install_wrong")
        response = _page(locale, i18n.text(locale, "slack.installed", workspace=bot.name))
        response.del_cookie(COOKIE, path="/slack")
        return response

    def state(self, nonce: str, made_at: int) -> str:
        signature = hmac.new(self._key, f"{made_at}.{nonce}".encode(), hashlib.sha256).hexdigest()
        return f"{made_at}.{signature}"

    def is_ours(self, state: str, nonce: str) -> bool:
        """Whether this browser began the installation, at most ten minutes ago."""
        made_at = state.partition(".")[0]
        if not (made_at.isascii() and made_at.isdigit()) or not nonce:
            return False
        if not 0 <= time.time() - int(made_at) <= GOOD_FOR_S:
            return False
        return hmac.compare_digest(self.state(nonce, int(made_at)).encode(), state.encode())

    def _failed(self, locale: str, reason: str) -> web.Response:
        sentence = i18n.text(locale, "slack.install_failed", reason=i18n.text(locale, reason))
        return _page(locale, sentence, status=400)


def authorize_url(api_url: str) -> str:
    """Where people agree to the installation: beside the API, which for government workspaces is another host."""
    parts = urlsplit(api_url)
    if not parts.hostname or parts.hostname == "slack.com":
        return AUTHORIZE
    return f"{parts.scheme}://{parts.netloc}/oauth/v2/authorize"


def _page(locale: str, sentence: str, *, status: int = 200) -> web.Response:
    body = (
        f'<!doctype html><html lang="{locale}"><head><meta charset="utf-8"><title>promptflow</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f"<body><main><h1>promptflow</h1><p>{escape(sentence)}</p></main></body></html>"
    )
    return web.Response(status=status, text=body, content_type="text/html", headers=HEADERS)
