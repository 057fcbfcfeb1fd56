"""The routes of prompts: which page or command an address stands for."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.console.eval_page import EvalPages
from bot.console.evaluating import EvalForms
from bot.console.outcome import Outcome
from bot.console.parse import Form, Typed
from bot.console.prompting import PromptForms
from bot.console.route import Act, Draw, Redraw, named
from bot.console.visit import Visit


def prompt_draws(pages: EvalPages) -> dict[str, Draw]:
    """The pages by address."""

    def of(draw: Callable[[Visit, str], Awaitable[str]]) -> Draw:
        return lambda visit, request: draw(visit, named(request, "name"))

    return {
        "/prompts": lambda visit, _: pages.prompts(visit),
        "/new-prompt": lambda visit, _: pages.new(visit),
        "/prompts/{name}": lambda visit, request: pages.prompt(
            visit,
            named(request, "name"),
            version_id=request.query.get("version", ""),
            sha256=request.query.get("sha256", ""),
        ),
        "/prompts/{name}/edit": lambda visit, request: pages.edit_prompt(
            visit,
            named(request, "name"),
            base=request.query.get("base", ""),
            merge="merge" in request.query,
        ),
        "/prompts/{name}/history": of(pages.history),
        "/prompts/{name}/compare": lambda visit, request: pages.compare(
            visit,
            named(request, "name"),
            request.query.get("before", ""),
            request.query.get("after", ""),
        ),
        "/prompts/{name}/promote": lambda visit, request: pages.promote(
            visit, named(request, "name"), request.query.get("version", "")
        ),
        "/prompts/{name}/rollback": lambda visit, request: pages.roll_back(
            visit, named(request, "name"), request.query.get("version", "")
        ),
        "/prompts/{name}/archive": of(pages.archive),
        "/prompts/{name}/evals": of(pages.evals),
        "/prompts/{name}/eval": lambda visit, request: pages.eval_estimate(
            visit, named(request, "name"), Form(fields=dict(request.query))
        ),
        "/evals/{run}": lambda visit, request: pages.eval_run(visit, named(request, "run")),
        "/prompts/{name}/diverged": of(pages.diverged),
    }


def prompt_acts(forms: PromptForms, pages: EvalPages) -> dict[str, tuple[Act, Redraw]]:
    """The forms by address; what is refused is drawn again as it was typed."""

    def act(carry_out: Callable[[Visit, Form, str], Awaitable[Outcome]]) -> Act:
        return lambda visit, form, request: carry_out(visit, form, named(request, "name"))

    def edit(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        name = named(request, "name")
        return pages.edit_prompt(visit, name, form=form, event_key=typed.event_key, error=error)

    def new(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        return pages.new(visit, form=form, event_key=typed.event_key, error=error)

    def promote(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        name, version_id, key = named(request, "name"), form["version_id"], typed.event_key
        return pages.promote(visit, name, version_id, form=form, event_key=key, error=error)

    def roll_back(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        name, version_id, key = named(request, "name"), form["version_id"], typed.event_key
        return pages.roll_back(visit, name, version_id, form=form, event_key=key, error=error)

    def archive(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        key = typed.event_key
        return pages.archive(visit, named(request, "name"), form=form, event_key=key, error=error)

    def shown(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        name, key = named(request, "name"), typed.event_key
        return pages.prompt(visit, name, form=form, event_key=key, error=error)

    def away(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        return pages.refused(visit, error=error, way_out="/prompts")

    return {
        "/reload-prompts": (lambda visit, form, request: forms.reload(visit, form), away),
        "/new-prompt": (lambda visit, form, request: forms.create(visit, form), new),
        "/prompts/{name}/save": (act(forms.save), edit),
        "/prompts/{name}/draft": (act(forms.keep_draft), edit),
        "/prompts/{name}/drop": (act(forms.drop_draft), away),
        "/prompts/{name}/verify": (act(forms.verify), shown),
        "/prompts/{name}/promote": (act(forms.promote), promote),
        "/prompts/{name}/rollback": (act(forms.roll_back), roll_back),
        "/prompts/{name}/archive": (act(forms.archive), archive),
    }


def eval_acts(forms: EvalForms, pages: EvalPages) -> dict[str, tuple[Act, Redraw]]:
    """The forms of evaluations by address; what is refused is drawn again as it was typed."""

    def start(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        name = named(request, "name")
        if form.refused == "eval_training":
            return pages.eval_estimate(visit, name, form, event_key=typed.event_key, error=error)
        return pages.evals(visit, name, form=form, error=error)

    def run(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
        run_id, key = named(request, "run"), typed.event_key
        return pages.eval_run(visit, run_id, form=form, event_key=key, error=error)

    return {
        "/prompts/{name}/eval": (
            lambda visit, form, request: forms.start(visit, form, named(request, "name")),
            start,
        ),
        "/evals/{run}/stop": (
            lambda visit, form, request: forms.stop(visit, form, named(request, "run")),
            run,
        ),
        "/evals/{run}/verdict": (
            lambda visit, form, request: forms.verdict(visit, form, named(request, "run")),
            run,
        ),
    }
