"""What a person does on the page with eval sets: each form becomes one core command."""

import asyncio
from dataclasses import dataclass

from bot.console.eval_set_file import chosen_files
from bot.console.eval_set_page import eval_set_path
from bot.console.outcome import Outcome
from bot.console.parse import Form, event_key_of
from bot.console.visit import Visit
from core import i18n
from core.commands.eval_set import import_eval_set
from core.commands.services import Services


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
        said = i18n.text(
            visit.reader.locale,
            "console.eval_set_saved",
            name=saved.name,
            version=saved.version,
            count=saved.cases,
        )
        return Outcome(location=eval_set_path(saved.name), flash=said)
