"""What a person does on the page with eval sets: each form becomes one core command."""

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

from bot.console.eval_set_file import chosen_files
from bot.console.eval_set_page import case_request, eval_set_path
from bot.console.outcome import Outcome
from bot.console.parse import Form, event_key_of
from bot.console.visit import Visit
from core import i18n
from core.commands.eval_case import keep_case
from core.commands.eval_quarantine import count_case_again, set_case_aside
from core.commands.eval_set import import_eval_set
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_set import QuarantineKind, QuarantineRequest, SavedEvalSet


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetForms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services

    async def bring_in(self, visit: Visit, form: Form) -> Outcome:
        """Take in an eval set from what was typed or chosen."""
        files = await asyncio.to_thread(chosen_files, form)
        saved = await import_eval_set(
            self.services, visit.actor, files, form["reason"], event_key=event_key_of(form)
        )
        return self._saved(visit, saved)

    async def keep_case(self, visit: Visit, form: Form, receipt_id: str) -> Outcome:
        """Store a case of an answer as it was shown."""
        request = case_request(receipt_id, form)
        saved = await keep_case(self.services, visit.actor, request, event_key=event_key_of(form))
        return self._saved(visit, saved)

    def _saved(self, visit: Visit, saved: SavedEvalSet) -> Outcome:
        fields: dict[str, str | float] = {"name": saved.name, "version": saved.version, "count": saved.cases}
        said = i18n.text(visit.reader.locale, "console.eval_set_saved", **fields)
        return Outcome(location=eval_set_path(saved.name), flash=said)

    async def set_aside(self, visit: Visit, form: Form, name: str) -> Outcome:
        """Have a case be shown and not gate, with a reason."""
        if form["kind"] not in {kind.value for kind in QuarantineKind}:
            raise Refusal("form_stale")
        request = QuarantineRequest(
            eval_set=name,
            case_id=form["case"],
            kind=QuarantineKind(form["kind"]),
            reason=form["reason"],
        )
        await set_case_aside(self.services, visit.actor, request, event_key=event_key_of(form))
        return self._back(visit, form, name, "eval_held")

    async def count_again(self, visit: Visit, form: Form, name: str) -> Outcome:
        case_id, key = form["case"], event_key_of(form)
        await count_case_again(self.services, visit.actor, name, case_id, event_key=key)
        return self._back(visit, form, name, "eval_released")

    def _back(self, visit: Visit, form: Form, name: str, key: str) -> Outcome:
        """To the evaluation where the button stands, or to the set."""
        location = f"/evals/{quote(form['run'], safe='')}" if form["run"] else eval_set_path(name)
        said = i18n.text(visit.reader.locale, f"console.{key}", case=form["case"])
        return Outcome(location=location, flash=said)
