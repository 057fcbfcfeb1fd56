"""The console's routes: requests to pages and forms, refusals to sentences."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.console.assets import Assets
from bot.console.carry_page import CarryPages
from bot.console.carrying import CarryForms
from bot.console.eval_set_form import EvalSetForms
from bot.console.eval_set_page import EvalSetPages
from bot.console.eval_set_route import eval_set_acts, eval_set_draws
from bot.console.evaluating import EvalForms
from bot.console.events import stream
from bot.console.export import send
from bot.console.feed import Feed
from bot.console.form import Forms
from bot.console.held import HeldFiles
from bot.console.opening import Wish, wish_of
from bot.console.outcome import Outcome
from bot.console.parse import (
    Form,
    Typed,
    accepted_language,
    attachment,
    event_key_of,
    local_path,
    position_of,
    typed_again,
)
from bot.console.prompt_route import eval_acts, prompt_acts, prompt_draws
from bot.console.prompt_zip import parts_in, zipped
from bot.console.prompting import PromptForms
from bot.console.render import Renderer
from bot.console.route import Act, Draw, Redraw, named
from bot.console.upload import read_form
from bot.console.visit import Visit, Visits, choose, forget_flash, remember_flash
from core import i18n
from core.commands.artifact import show_artifact
from core.commands.eval_set import export_eval_set
from core.commands.export import Format, export_thread
from core.commands.prompt import show_prompt
from core.commands.services import Services
from core.domain.errors import Refusal, StoreUnavailable
from core.domain.view import EstimateView

log = logging.getLogger(__name__)

DrawSheet = Callable[..., Awaitable[str]] | None
"""Draws the sheet of a form about a thread; None for one that is a mere button on the thread's page."""

DOWNLOADS: Final = {"md": ("md", "text/markdown"), "txt": ("txt", "text/plain")}
EXPORTS: Final[dict[str, Format]] = {"markdown": "markdown", "json": "json"}
NOT_FOUND: Final = 404
UNPROCESSABLE: Final = 422
BROKEN: Final = 500
UNAVAILABLE: Final = 503


class Console:
    """The page of the local console. Offers its routes; who mounts them puts the guard before them."""

    def __init__(self, services: Services, feed: Feed) -> None:
        self._services = services
        self._feed = feed
        self._assets = Assets()
        renderer = Renderer(version=self._assets.version, new_key=services.clock.new_id)
        self._visits = Visits(services)
        self._pages = CarryPages(services=services, renderer=renderer)
        self._forms = Forms(services=services, visits=self._visits, feed=feed, held=HeldFiles(services.clock))
        self._carry = CarryForms(services=services, feed=feed)
        self._prompts = EvalSetPages(services=services, renderer=renderer)
        self._prompt_forms = PromptForms(services=services)
        self._eval_forms = EvalForms(services=services)
        self._eval_set_forms = EvalSetForms(services=services)

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/static/{name}", self._assets.serve),
            web.get("/events", self._edge(self._events)),
            web.get("/t/{thread}/export", self._edge(self._export)),
            web.get("/t/{thread}/artifact/download", self._edge(self._download)),
            web.post("/prompts/{name}/check", self._edge(self._check_prompt)),
            web.post("/prompts/{name}/upload", self._edge(self._upload_prompt)),
            web.get("/prompts/{name}/download", self._edge(self._download_prompt)),
            web.get("/evals/{run}/report", self._edge(self._eval_report)),
            web.get("/eval-sets/{name}/download", self._edge(self._download_eval_set)),
            web.post("/receipts/{receipt}/case/look", self._edge(self._look_case)),
            *self._page_routes(),
            *self._carry_routes(),
            *self._form_routes(),
            web.get("/{anything:.*}", self._edge(self._nothing)),
        ]

    def _page_routes(self) -> list[web.AbstractRouteDef]:
        pages = self._pages
        draws: dict[str, Draw] = {
            "/": lambda visit, _: pages.home(visit),
            "/c/{channel}": lambda visit, request: pages.home(visit, named(request, "channel")),
            "/t/{thread}": lambda visit, request: pages.thread(
                visit, _thread(request), before=position_of(request.query.get("before", ""))
            ),
            "/t/{thread}/entries": lambda visit, request: pages.entries(visit, _thread(request)),
            "/t/{thread}/branch": lambda visit, request: pages.branch(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/edit": lambda visit, request: pages.edit(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/delete": lambda visit, request: pages.delete(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/rename": lambda visit, request: pages.rename(visit, _thread(request)),
            "/t/{thread}/other": lambda visit, request: pages.other_model(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/join": lambda visit, request: pages.join(visit, _thread(request)),
            "/t/{thread}/review": lambda visit, request: pages.review(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/save": lambda visit, request: pages.save(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/artifacts": lambda visit, request: pages.artifacts(visit, _thread(request)),
            "/t/{thread}/artifact": lambda visit, request: pages.artifact(
                visit, _thread(request), request.query.get("name", ""), request.query.get("version", "")
            ),
            "/t/{thread}/artifact/edit": lambda visit, request: pages.edit_artifact(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/artifact/send": lambda visit, request: pages.send_artifact(
                visit, _thread(request), typed=_asked(request)
            ),
            "/start": lambda visit, request: pages.start(visit, wish_of(request.query)),
            "/tree": lambda visit, request: pages.tree(visit, request.query.get("thread", "")),
            "/receipts/{receipt}": lambda visit, request: pages.receipt(visit, named(request, "receipt")),
            "/models": lambda visit, _: pages.models(visit),
            "/usage": lambda visit, request: pages.usage(visit, request.query.get("by", "")),
            "/help": lambda visit, _: pages.help(visit),
            "/people/new": lambda visit, _: pages.person(visit),
            **prompt_draws(self._prompts),
            **eval_set_draws(self._prompts),
        }
        return [web.get(path, self._edge(self._page(draw))) for path, draw in draws.items()]

    def _carry_routes(self) -> list[web.AbstractRouteDef]:
        """The pages of pins, handovers and adoptions."""
        pages = self._pages
        draws: dict[str, Draw] = {
            "/t/{thread}/pins": lambda visit, request: pages.pins(visit, _thread(request)),
            "/t/{thread}/pin": lambda visit, request: pages.pin(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/pin/edit": lambda visit, request: pages.edit_pin(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/pin/history": lambda visit, request: pages.pin_history(
                visit, _thread(request), request.query.get("ref", "")
            ),
            "/t/{thread}/handover": lambda visit, request: pages.handover_targets(
                visit, _thread(request), typed=_asked(request)
            ),
            "/handovers/{handover}": lambda visit, request: pages.handover(visit, named(request, "handover")),
            "/reviews/{review}": lambda visit, request: pages.adoption_review(
                visit, named(request, "review")
            ),
            "/t/{thread}/reject": lambda visit, request: pages.reject(
                visit, _thread(request), typed=_asked(request)
            ),
            "/t/{thread}/changes": lambda visit, request: pages.changes(
                visit, _thread(request), request.query.get("ref", "")
            ),
            "/t/{thread}/adoptions": lambda visit, request: pages.adoptions(visit, _thread(request)),
        }
        return [web.get(path, self._edge(self._page(draw))) for path, draw in draws.items()]

    def _carry_forms(self) -> dict[str, tuple[Act, Redraw]]:
        """The forms of handovers and reviews; what is refused is drawn again as it was typed."""
        carry, pages = self._carry, self._pages

        def handover(
            visit: Visit, form: Form, typed: Typed, error: str, request: web.Request
        ) -> Awaitable[str]:
            ref, key = named(request, "handover"), typed.event_key
            return pages.handover(visit, ref, form=form, event_key=key, error=error)

        def review(
            visit: Visit, form: Form, typed: Typed, error: str, request: web.Request
        ) -> Awaitable[str]:
            ref, key = named(request, "review"), typed.event_key
            return pages.adoption_review(visit, ref, form=form, event_key=key, error=error)

        return {
            "/handovers/{handover}/keep": (
                lambda visit, form, request: carry.keep_handover(visit, form, named(request, "handover")),
                handover,
            ),
            "/handovers/{handover}/send": (
                lambda visit, form, request: carry.send_handover(visit, form, named(request, "handover")),
                handover,
            ),
            "/reviews/{review}": (
                lambda visit, form, request: carry.request(visit, form, named(request, "review")),
                review,
            ),
        }

    def _form_routes(self) -> list[web.AbstractRouteDef]:
        forms, pages = self._forms, self._pages

        def composer(
            visit: Visit, form: Form, typed: Typed, error: str, request: web.Request
        ) -> Awaitable[str]:
            if form["thread_id"]:
                return pages.thread(visit, form["thread_id"], typed=typed, error=error)
            return pages.home(visit, form["channel"], typed=typed, error=error)

        def start(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> Awaitable[str]:
            return pages.refused(visit, error=error, way_out=local_path(form["back"]))

        def mode_form(
            visit: Visit, form: Form, typed: Typed, error: str, request: web.Request
        ) -> Awaitable[str]:
            return pages.start(visit, forms.wish(visit, form, event_key=typed.event_key), error=error)

        table: dict[str, tuple[Act, Redraw]] = {
            "/say": (lambda visit, form, _: forms.say(visit, form), composer),
            "/start": (lambda visit, form, _: forms.fill_in(visit, form), composer),
            "/start/check": (lambda visit, form, _: forms.check(visit, form), mode_form),
            "/start/go": (lambda visit, form, _: forms.start(visit, form), mode_form),
            **self._thread_forms(),
            **self._carry_forms(),
            **prompt_acts(self._prompt_forms, self._prompts),
            **eval_acts(self._eval_forms, self._prompts),
            **eval_set_acts(self._eval_set_forms, self._prompts),
            "/people": (
                lambda visit, form, _: forms.add_person(form),
                lambda visit, form, typed, error, request: pages.person(visit, typed=typed, error=error),
            ),
            "/person": (lambda visit, form, _: forms.choose_person(visit, form), start),
            "/language": (lambda visit, form, _: forms.choose_language(visit, form), start),
        }
        return [web.post(path, self._edge(self._form(act, redraw))) for path, (act, redraw) in table.items()]

    def _thread_forms(self) -> dict[str, tuple[Act, Redraw]]:
        """The forms about what stands in a thread; what is refused shows its own sheet again, or the thread."""
        forms, pages, carry = self._forms, self._pages, self._carry
        acts: dict[str, tuple[Callable[[Visit, Form, str], Awaitable[Outcome]], DrawSheet]] = {
            "branch": (forms.branch, pages.branch),
            "edit": (forms.edit, pages.edit),
            "rename": (forms.rename, pages.rename),
            "delete": (forms.delete, None),
            "again": (forms.again, None),
            "keep": (forms.keep, None),
            "feedback": (forms.feedback, None),
            "stop": (forms.stop, None),
            "compare_answers": (forms.compare_answers, None),
            "vote": (forms.vote, None),
            "reveal": (forms.reveal, None),
            "join": (forms.join, pages.join),
            "review": (forms.review, pages.review),
            "save": (forms.save, pages.save),
            "artifact/edit": (forms.edit_artifact, pages.edit_artifact),
            "artifact/send": (forms.send_artifact, pages.send_artifact),
            "pin": (carry.pin, pages.pin),
            "pin/edit": (carry.edit_pin, pages.edit_pin),
            "pin/remove": (carry.remove_pin, None),
            "handover": (carry.begin_handover, pages.handover_targets),
            "begin": (carry.begin, None),
            "adopt": (carry.adopt, None),
            "approve": (carry.approve, None),
            "reject": (carry.reject, pages.reject),
            "withdraw": (carry.withdraw, None),
        }

        def act(carry_out: Callable[[Visit, Form, str], Awaitable[Outcome]]) -> Act:
            return lambda visit, form, request: carry_out(visit, form, _thread(request))

        def redraw(sheet: DrawSheet) -> Redraw:
            async def draw(visit: Visit, form: Form, typed: Typed, error: str, request: web.Request) -> str:
                if sheet is None:
                    return await pages.thread(visit, _thread(request), error=error)
                return await sheet(visit, _thread(request), typed=typed, error=error)

            return draw

        return {f"/t/{{thread}}/{path}": (act(do), redraw(sheet)) for path, (do, sheet) in acts.items()}

    def _page(self, draw: Draw) -> Callable[[Visit, web.Request], Awaitable[web.StreamResponse]]:
        async def answer(visit: Visit, request: web.Request) -> web.StreamResponse:
            response = _html(await draw(visit, request))
            if visit.flash and not visit.fragment:
                forget_flash(response)
            return response

        return answer

    def _form(
        self, act: Act, redraw: Redraw
    ) -> Callable[[Visit, web.Request], Awaitable[web.StreamResponse]]:
        """Carry out a form. What was refused keeps what was typed, under a new key; after a failure under the old
        one, since the command may have been carried out all the same."""

        async def answer(visit: Visit, request: web.Request) -> web.StreamResponse:
            form = await read_form(request)
            try:
                if form.problem:
                    raise form.problem
                outcome = await act(visit, form, request)
            except (Refusal, StoreUnavailable) as refused:
                error, status = self._explain(visit.reader.locale, refused)
                key = (
                    event_key_of(form)
                    if isinstance(refused, StoreUnavailable)
                    else self._services.clock.new_id()
                )
                if visit.fragment:
                    return web.json_response({"error": error, "key": key}, status=status)
                if isinstance(refused, Refusal):
                    form = replace(form, refused=refused.code)
                page = await redraw(visit, form, typed_again(form, event_key=key), error, request)
                return _html(page, status=status)
            return await self._carried_out(visit, outcome, request)

        return answer

    async def _carried_out(self, visit: Visit, outcome: Outcome, request: web.Request) -> web.StreamResponse:
        key = self._services.clock.new_id()
        if outcome.handover is not None:
            return _html(await self._handover(visit, request, outcome.handover, outcome.confirm))
        if outcome.wish is not None:
            page = await self._wished(visit, outcome.wish, outcome.confirm)
            return web.json_response({"html": page, "key": key}) if visit.fragment else _html(page)
        response: web.StreamResponse
        if visit.fragment:
            response = web.json_response(
                {
                    "location": outcome.location,
                    "panel": outcome.panel,
                    "flash": outcome.flash,
                    "key": key,
                }
            )
        else:
            response = web.Response(status=303, headers={"Location": outcome.location})
            if outcome.flash:
                remember_flash(response, outcome.flash)
        if outcome.person:
            choose(response, outcome.person)
        return response

    async def _handover(
        self, visit: Visit, request: web.Request, form: Form, estimate: EstimateView | None
    ) -> str:
        handover_id = named(request, "handover")
        if estimate is None:
            return await self._pages.handover(visit, handover_id, form=form)
        return await self._pages.handover_confirm(visit, handover_id, form, estimate)

    async def _wished(self, visit: Visit, wish: Wish, estimate: EstimateView | None) -> str:
        if estimate is None:
            return await self._pages.start(visit, wish)
        return await self._pages.confirm(visit, wish, estimate)

    def _edge(self, answer: Callable[[Visit, web.Request], Awaitable[web.StreamResponse]]) -> Handler:
        """The outermost handler of a route: whoever asks always gets a sentence, never a stack trace."""

        async def handle(request: web.Request) -> web.StreamResponse:
            visit = None
            try:
                visit = await self._visits.visit(request)
                return await answer(visit, request)
            except (Refusal, StoreUnavailable) as refused:
                return await self._refused(visit, request, refused)
            except web.HTTPException:
                raise
            except Exception as bug:
                log.exception("a request to the console failed", extra={"path": request.path})
                return await self._refused(visit, request, bug)

        return handle

    async def _refused(self, visit: Visit | None, request: web.Request, problem: Exception) -> web.Response:
        locale = (
            visit.reader.locale if visit else accepted_language(request.headers.get("Accept-Language", ""))
        )
        error, status = self._explain(locale, problem)
        if visit is None:
            return web.Response(status=status, text=error)
        if visit.fragment and request.method == "POST":
            return web.json_response({"error": error}, status=status)
        return _html(await self._pages.refused(visit, error=error, way_out="/"), status=status)

    def _explain(self, locale: str, problem: Exception) -> tuple[str, int]:
        """The sentence for a problem and its HTTP status."""
        if isinstance(problem, Refusal):
            missing = problem.code.endswith("_not_found")
            return i18n.refusal(locale, problem), NOT_FOUND if missing else UNPROCESSABLE
        if isinstance(problem, StoreUnavailable):
            return i18n.text(locale, "refusal.store_unavailable"), UNAVAILABLE
        return i18n.text(locale, "console.unexpected"), BROKEN

    async def _check_prompt(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        """What is known about the text of a prompt: pieces for the page's script, or else the whole page again."""
        form, name = await read_form(request), named(request, "name")
        if form.problem:
            raise form.problem
        if visit.fragment:
            return _html(await self._prompts.checked(visit, name, form))
        key = event_key_of(form)
        return _html(await self._prompts.edit_prompt(visit, name, form=form, event_key=key))

    async def _upload_prompt(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        """The form of a prompt with the parts that were chosen as files; nothing is stored."""
        form, name = await read_form(request), named(request, "name")
        if form.problem:
            raise form.problem
        error = ""
        try:
            parts = await asyncio.to_thread(parts_in, form.uploads)
            form = replace(form, fields={**form.fields, **{f"part.{part}": parts[part] for part in parts}})
        except Refusal as refused:
            error, _ = self._explain(visit.reader.locale, refused)
        page = await self._prompts.edit_prompt(
            visit, name, form=form, event_key=event_key_of(form), error=error
        )
        return _html(page, status=UNPROCESSABLE if error else 200)

    async def _download_prompt(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        version_id = request.query.get("version") or None
        page = await show_prompt(self._services, visit.actor, named(request, "name"), version_id=version_id)
        name, version = page.item.name, page.shown.version if page.shown else ""
        body = await asyncio.to_thread(zipped, name, page.files)
        headers = {"Content-Disposition": attachment(f"{name} {version}", "zip")}
        return web.Response(body=body, content_type="application/zip", headers=headers)

    async def _download_eval_set(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        kept = await export_eval_set(self._services, visit.actor, named(request, "name"))
        body = await asyncio.to_thread(zipped, kept.name, kept.files)
        headers = {"Content-Disposition": attachment(f"{kept.name} {kept.version}", "zip")}
        return web.Response(body=body, content_type="application/zip", headers=headers)

    async def _look_case(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        """The form of a case with what else is masked by now; nothing is stored."""
        form = await read_form(request)
        if form.problem:
            raise form.problem
        key = event_key_of(form)
        page = await self._prompts.eval_case(visit, named(request, "receipt"), form=form, event_key=key)
        return _html(page)

    async def _eval_report(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        name, page = await self._prompts.eval_report(visit, named(request, "run"))
        headers = {"Content-Disposition": attachment(name, "html")}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _events(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        return await stream(
            request,
            visit,
            services=self._services,
            feed=self._feed,
            markdown=self._pages.renderer.markdown(visit.reader.locale),
        )

    async def _nothing(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        raise Refusal("page_not_found")

    async def _export(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        form = EXPORTS.get(request.query.get("format", ""), "markdown")
        file = await export_thread(self._services, visit.actor, _thread(request), form=form)
        return await send(request, file)

    async def _download(self, visit: Visit, request: web.Request) -> web.StreamResponse:
        query = request.query
        number = position_of(query.get("version", ""))
        shown = await show_artifact(
            self._services, visit.actor, _thread(request), query.get("name", ""), number=number
        )
        suffix, media_type = DOWNLOADS.get(query.get("as", ""), DOWNLOADS["md"])
        headers = {
            "Content-Disposition": attachment(f"{shown.artifact.name} v{shown.version.number}", suffix)
        }
        return web.Response(
            body=shown.text.encode(), content_type=media_type, charset="utf-8", headers=headers
        )


def _html(page: str, *, status: int = 200) -> web.Response:
    return web.Response(text=page, content_type="text/html", status=status)


def _thread(request: web.Request) -> str:
    return request.match_info["thread"]


def _asked(request: web.Request) -> Typed:
    """The fields that a link to a form fills in."""
    query = request.query
    return Typed(
        message=query.get("message", ""),
        at=query.get("at", ""),
        position=query.get("at", ""),
        ref=query.get("ref", ""),
        name=query.get("name", ""),
    )
