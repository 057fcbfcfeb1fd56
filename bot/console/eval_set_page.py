"""The pages of eval sets, drawn for a visit."""

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

from bot.console.eval_page import EvalPages
from bot.console.eval_set_file import FIELD, STARTED, shown_files
from bot.console.parse import Form
from bot.console.prompt_page import NO_FORM
from bot.console.visit import Visit
from core import i18n
from core.commands.eval_case import preview_case
from core.commands.eval_set import export_eval_set, list_eval_sets, next_version, show_eval_set
from core.domain.errors import Refusal
from core.domain.eval_set import TEAM_SETS, LogCaseRequest
from core.domain.prompt import MAX_REASON_CHARS

EVAL_SETS = "/eval-sets"


def eval_set_path(name: str) -> str:
    return f"{EVAL_SETS}/{quote(name, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSetPages(EvalPages):
    """The pages of eval sets. All raise Refusal and StoreUnavailable."""

    async def eval_sets(self, visit: Visit) -> str:
        """Every eval set: the workspace's own before those of the product."""
        items = await list_eval_sets(self.services, visit.actor)
        return await self._drawn(visit, "eval_sets", EVAL_SETS, {"items": items})

    async def eval_set(
        self, visit: Visit, name: str, *, form: Form = NO_FORM, event_key: str = "", error: str = ""
    ) -> str:
        """One eval set: what it is for, its versions, its cases and what is set aside of them."""
        page = await show_eval_set(self.services, visit.actor, name)
        where = eval_set_path(name)
        context = {"page": page, "item": page.item, "where": where, "form": form}
        return await self._drawn(
            visit, "eval_set", where, {**context, "event_key": event_key, "error": error}
        )

    async def new_eval_set(
        self,
        visit: Visit,
        *,
        name: str = "",
        form: Form | None = None,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """The form that brings a set in: empty, with the files of a set that is to change, or as it was sent."""
        if form is not None:
            files = await asyncio.to_thread(shown_files, form)
        elif name:
            files = next_version((await export_eval_set(self.services, visit.actor, name)).files)
        else:
            files = dict(STARTED)
        context = {
            "files": files,
            "field": FIELD,
            "prefix": TEAM_SETS,
            "reason": form["reason"] if form else "",
            "reason_chars": MAX_REASON_CHARS,
            "event_key": event_key,
            "error": error,
        }
        return await self._drawn(visit, "eval_set_new", EVAL_SETS, context)

    async def eval_case(
        self, visit: Visit, receipt_id: str, *, form: Form = NO_FORM, event_key: str = "", error: str = ""
    ) -> str:
        """What would be stored of an answer as a case, after masking, and the form that stores it."""
        try:
            case = await preview_case(self.services, visit.actor, case_request(receipt_id, form))
        except Refusal as refused:
            # What is wrong may be what was typed; whoever may not see the answer is refused again.
            case = await preview_case(self.services, visit.actor, LogCaseRequest(receipt_id=receipt_id))
            error = error or i18n.refusal(visit.reader.locale, refused)
        context = {"case": case, "form": form, "event_key": event_key, "error": error}
        where = f"/receipts/{quote(receipt_id, safe='')}"
        return await self._drawn(visit, "eval_case", where, {**context, "where": where})


def case_request(receipt_id: str, form: Form) -> LogCaseRequest:
    """What the form of a case asks for; words to mask besides stand one a line."""
    return LogCaseRequest(
        receipt_id=receipt_id,
        eval_set=form["eval_set"],
        case_id=form["case_id"],
        kind=form["kind"],
        human=form["human"],
        also_mask=tuple(form["also_mask"].splitlines()),
        seen=form["seen"],
        reason=form["reason"],
    )
