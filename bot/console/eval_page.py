"""The pages of evaluations, drawn for a visit. Outputs are compared off the event loop."""

from dataclasses import dataclass

from bot.console.parse import Form, count_of
from bot.console.prompt_page import NO_FORM, PromptPages
from bot.console.visit import Visit
from bot.eval_act import report
from bot.prompt_outline import version_in
from core.commands.eval import estimate_eval, list_evals, show_eval
from core.commands.eval_question import human_queue
from core.commands.model import list_models
from core.commands.prompt import show_prompt
from core.domain.eval_run import MAX_COMMENT_CHARS, MOST_REPEATS, OPEN, USUAL_REPEATS, EvalRequest
from core.domain.evaluation import Outcome
from core.domain.word_diff import word_diff

POLL_S = 2
"""After which the page of an evaluation that runs is loaded again, with or without a script."""


def request_of(name: str, form: Form) -> EvalRequest:
    """What a form asks to compare. Raises Refusal for a number that is none."""
    return EvalRequest(
        prompt=name,
        candidate_id=form["candidate"],
        baseline_id=form["baseline"] or None,
        model=form["model"],
        candidate_model=form["candidate_model"],
        repeats=count_of(form["repeats"], "repeats", least=1, most=MOST_REPEATS, default=USUAL_REPEATS),
        acknowledged="acknowledged" in form.fields,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPages(PromptPages):
    """The pages of evaluations. All raise Refusal and StoreUnavailable."""

    async def evals(self, visit: Visit, name: str, *, form: Form = NO_FORM, error: str = "") -> str:
        """The evaluations of a prompt, and the form that begins one; nothing is sent before its estimate is seen."""
        page = await show_prompt(self.services, visit.actor, name)
        runs = await list_evals(self.services, visit.actor, name)
        models = [one for one in await list_models(self.services, visit.actor) if one.allowed]
        proposed = next((one.version_id for one in page.versions if one.candidate), page.head_id)
        return await self._of(
            visit,
            "evals",
            page,
            runs=runs,
            models=models,
            form=form,
            chosen=form["candidate"] or proposed,
            usual=USUAL_REPEATS,
            most=MOST_REPEATS,
            error=error,
        )

    async def eval_estimate(
        self, visit: Visit, name: str, form: Form, *, event_key: str = "", error: str = ""
    ) -> str:
        """What an evaluation would send, where to, and what it is expected to cost."""
        request = request_of(name, form)
        page = await show_prompt(self.services, visit.actor, name)
        estimate = await estimate_eval(self.services, visit.actor, request)
        baseline = version_in(page, request.baseline_id or page.live_id)
        return await self._of(
            visit,
            "eval_confirm",
            page,
            estimate=estimate,
            asked=request,
            candidate=version_in(page, request.candidate_id),
            baseline=baseline,
            event_key=event_key,
            error=error,
        )

    async def eval_run(
        self, visit: Visit, run_id: str, *, form: Form = NO_FORM, event_key: str = "", error: str = ""
    ) -> str:
        """One evaluation: how far it is, what it found, and what waits for a person."""
        page = await show_eval(self.services, visit.actor, run_id)
        order, running = list(Outcome), page.item.status in OPEN
        cases = sorted(page.comparison.cases, key=lambda case: order.index(case.outcome))
        context = {
            "page": page,
            "item": page.item,
            "cases": cases,
            "running": running,
            "queue": () if running else await human_queue(self.services, visit.actor, run_id),
            "outcomes": [(outcome, page.comparison.counts[outcome]) for outcome in order],
            "word_diff": word_diff,
            "comment_chars": MAX_COMMENT_CHARS,
            "poll_s": POLL_S,
            "form": form,
            "event_key": event_key,
            "error": error,
        }
        return await self._drawn(visit, "eval", f"/evals/{run_id}", context)

    async def eval_report(self, visit: Visit, run_id: str) -> tuple[str, str]:
        """An evaluation as a page that stands alone, and a name for the file."""
        made = await report(self.services, visit.actor, run_id, visit.reader.locale)
        return made.name, made.text
