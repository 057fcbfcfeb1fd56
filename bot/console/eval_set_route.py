"""The routes of eval sets: which page or command an address stands for."""

from collections.abc import Awaitable

from aiohttp import web

from bot.console.eval_set_form import EvalSetForms
from bot.console.eval_set_page import EvalSetPages
from bot.console.parse import Form, Typed
from bot.console.route import Act, Draw, Redraw, named
from bot.console.visit import Visit


def eval_set_draws(pages: EvalSetPages) -> dict[str, Draw]:
    """The pages by address."""
    return {
        "/eval-sets": lambda visit, _: pages.eval_sets(visit),
        "/new-eval-set": lambda visit, request: pages.new_eval_set(visit, name=request.query.get("set", "")),
        "/receipts/{receipt}/case": lambda visit, request: pages.eval_case(visit, named(request, "receipt")),
        "/eval-sets/{name}": lambda visit, request: pages.eval_set(visit, named(request, "name")),
    }


def eval_set_acts(forms: EvalSetForms, pages: EvalSetPages) -> dict[str, tuple[Act, Redraw]]:
    """The forms by address; what is refused is drawn again as it was typed or chosen."""

    def new(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        return pages.new_eval_set(visit, form=form, event_key=typed.event_key, error=error)

    def held(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        key = typed.event_key
        if form["run"]:
            return pages.eval_run(visit, form["run"], form=form, event_key=key, error=error)
        return pages.eval_set(visit, named(request, "name"), form=form, event_key=key, error=error)

    def case(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        receipt, key = named(request, "receipt"), typed.event_key
        return pages.eval_case(visit, receipt, form=form, event_key=key, error=error)

    return {
        "/receipts/{receipt}/case": (
            lambda visit, form, request: forms.keep_case(visit, form, named(request, "receipt")),
            case,
        ),
        "/new-eval-set": (lambda visit, form, _: forms.bring_in(visit, form), new),
        "/eval-sets/{name}/hold": (
            lambda visit, form, request: forms.set_aside(visit, form, named(request, "name")),
            held,
        ),
        "/eval-sets/{name}/release": (
            lambda visit, form, request: forms.count_again(visit, form, named(request, "name")),
            held,
        ),
    }
