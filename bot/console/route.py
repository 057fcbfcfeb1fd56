"""What a route of the console is made of: something that draws a page, or a form with what follows it."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.console.outcome import Outcome
from bot.console.parse import Form, Typed
from bot.console.visit import Visit

Draw = Callable[[Visit, web.Request], Awaitable[str]]
Act = Callable[[Visit, Form, web.Request], Awaitable[Outcome]]
Redraw = Callable[[Visit, Form, Typed, str, web.Request], Awaitable[str]]
"""Draws the page of a refused form again, with what was typed and why it was refused."""


def named(request: web.Request, name: str) -> str:
    """A part of the address."""
    return request.match_info[name]
