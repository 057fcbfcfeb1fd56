"""What a person does on the page with evaluations: each form becomes one core command."""

from dataclasses import dataclass

from bot.console.eval_page import request_of
from bot.console.outcome import Outcome
from bot.console.parse import Form, event_key_of
from bot.console.visit import Visit
from core import i18n
from core.commands.eval import start_eval, stop_eval
from core.commands.eval_question import give_verdict
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_gate import Judgement
from core.domain.eval_run import VerdictRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalForms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services

    async def start(self, visit: Visit, form: Form, name: str) -> Outcome:
        """Begin an evaluation after its estimate was shown."""
        request = request_of(name, form)
        run_id = await start_eval(self.services, visit.actor, request, event_key=event_key_of(form))
        return Outcome(location=f"/evals/{run_id}")

    async def stop(self, visit: Visit, form: Form, run_id: str) -> Outcome:
        await stop_eval(self.services, visit.actor, run_id)
        return Outcome(location=f"/evals/{run_id}")

    async def verdict(self, visit: Visit, form: Form, run_id: str) -> Outcome:
        """Say of one changed output whether it meets one condition."""
        if form["judgement"] not in {one.value for one in Judgement}:
            raise Refusal("form_stale")
        request = VerdictRequest(
            run_id=run_id,
            case_id=form["case"],
            criterion=form["criterion"],
            output_sha256=form["output"],
            judgement=Judgement(form["judgement"]),
            comment=form["comment"],
        )
        await give_verdict(self.services, visit.actor, request, event_key=event_key_of(form))
        said = i18n.text(visit.reader.locale, "console.eval_verdict_kept")
        return Outcome(location=f"/evals/{run_id}", flash=said)
