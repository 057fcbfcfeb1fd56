"""Who may talk to the console's socket: one browser of this machine that has the token of this start.

A page of another site cannot: the host must be a loopback name (DNS rebinding), the cookie is SameSite=Strict, and a
request that changes something must come from a page of ours (cookies do not tell ports apart, the origin does).
"""

import hmac
from typing import Final
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from markupsafe import escape

from bot.console.parse import accepted_language
from core import i18n

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost"})
COOKIE: Final = "promptflow_token"
OPEN_PATHS: Final = ("/static/", "/healthz", "/readyz", "/metrics")
"""Answered without a token: they show nothing that anybody wrote."""

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # `no-referrer` would make browsers send `Origin: null` with forms of our own (Fetch standard, "append a request
    # Origin header"); `same-origin` tells other sites just as little.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def guard(token: str) -> Middleware:
    """The middleware of the console's application. The token in an address is exchanged for a cookie at once."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = _refused(request, token)
        if refused is not None:
            return refused
        return _entered(request, token) if "token" in request.query else await handler(request)

    return check


async def secure(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers that every answer of the console carries, streams and errors too; a handler's own ones stand."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def cookie_name(request: web.BaseRequest) -> str:
    """Cookies are shared by all ports of a host; the port in the name keeps two consoles apart."""
    return f"{COOKIE}_{request.host.rpartition(':')[2]}"


def _refused(request: web.Request, token: str) -> web.Response | None:
    name, _, port = request.host.partition(":")
    if name not in LOOPBACK_NAMES or (port and not port.isdigit()):
        return _sentence(request, "console.host_refused")
    if request.method not in SAFE_METHODS and request.headers.get("Origin") != f"http://{request.host}":
        return _sentence(request, "console.origin_refused")
    if request.path.startswith(OPEN_PATHS):
        return None
    given = request.query.get("token") or request.cookies.get(cookie_name(request), "")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return _sentence(request, "console.token_needed")
    return None


def _entered(request: web.Request, token: str) -> web.Response:
    rest = urlencode([(name, value) for name, value in request.query.items() if name != "token"])
    response = web.Response(status=303, headers={"Location": request.path + (f"?{rest}" if rest else "")})
    response.set_cookie(cookie_name(request), token, httponly=True, samesite="Strict", path="/")
    return response


def _sentence(request: web.Request, key: str) -> web.Response:
    locale = accepted_language(request.headers.get("Accept-Language", ""))
    text = escape(i18n.text(locale, key))
    page = (
        f'<!doctype html><html lang="{locale}"><head><meta charset="utf-8"><title>promptflow</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/static/console.css"></head>'
        f'<body><main><div class="empty"><h1>promptflow</h1><p>{text}</p></div></main></body></html>'
    )
    return web.Response(status=403, text=page, content_type="text/html")
