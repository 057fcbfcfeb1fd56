"""What a person does on the page with prompts: each form becomes one core command."""

from dataclasses import dataclass
from typing import Final

from bot.console.outcome import Outcome
from bot.console.parse import Form, event_key_of, position_of
from bot.console.prompt_page import prompt_path
from bot.console.prompted import text_of
from bot.console.visit import Visit
from bot.prompt_outline import rollback_reason
from core import i18n
from core.commands.prompt_edit import NAME_CHARS, drop_draft, save_draft, save_version
from core.commands.prompt_live import archive, promote, reload_prompts, roll_back, verify_version
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.prompt import (
    TEAM_PREFIX,
    PromoteRequest,
    PromptSource,
    PromptText,
    RollBackRequest,
    SaveRequest,
)

NEVER_MOVED: Final = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptForms:
    """The commands behind the forms. All raise Refusal and StoreUnavailable; nothing was stored then."""

    services: Services

    async def save(self, visit: Visit, form: Form, name: str) -> Outcome:
        """Make the text the newest version; when others saved meanwhile it becomes the person's draft."""
        return await self._save(visit, form, text_of(name, form))

    async def create(self, visit: Visit, form: Form) -> Outcome:
        """Save the first version of a prompt of the workspace's own; one of the product's is not made anew."""
        name = form["name"].strip()
        if not name.startswith(TEAM_PREFIX):
            raise Refusal("prompt_name", name=name[:NAME_CHARS], prefix=TEAM_PREFIX, limit=NAME_CHARS)
        return await self._save(visit, form, text_of(name, form))

    async def _save(self, visit: Visit, form: Form, text: PromptText) -> Outcome:
        request = SaveRequest(
            text=text,
            reason=form["reason"],
            source=PromptSource.CONSOLE,
            version=form["version"],
            acknowledged="acknowledged" in form.fields,
        )
        saved = await save_version(self.services, visit.actor, request, event_key=event_key_of(form))
        return self._done(visit, text.name, "prompt_saved", version=saved.version)

    async def keep_draft(self, visit: Visit, form: Form, name: str) -> Outcome:
        await save_draft(self.services, visit.actor, text_of(name, form), event_key=event_key_of(form))
        return self._done(visit, name, "prompt_draft_kept")

    async def drop_draft(self, visit: Visit, form: Form, name: str) -> Outcome:
        await drop_draft(self.services, visit.actor, name, event_key=event_key_of(form))
        return self._done(visit, name, "prompt_draft_dropped")

    async def verify(self, visit: Visit, form: Form, name: str) -> Outcome:
        """Record that the person looked at a version, and what they have to say about it."""
        note, key = form["reason"], event_key_of(form)
        await verify_version(self.services, visit.actor, name, form["version_id"], note, event_key=key)
        return self._done(visit, name, "prompt_verified")

    async def promote(self, visit: Visit, form: Form, name: str) -> Outcome:
        request = PromoteRequest(
            name=name,
            version_id=form["version_id"],
            rev=_rev(form),
            reason=form["reason"],
            acknowledged="acknowledged" in form.fields,
            override="override" in form.fields,
        )
        moved = await promote(self.services, visit.actor, request, event_key=event_key_of(form))
        return self._done(visit, name, "prompt_promoted", version=moved.to_version)

    async def roll_back(self, visit: Visit, form: Form, name: str) -> Outcome:
        request = RollBackRequest(
            name=name,
            version_id=form["version_id"],
            rev=_rev(form),
            reason=rollback_reason(form["reason"]),
        )
        moved = await roll_back(self.services, visit.actor, request, event_key=event_key_of(form))
        fields = {"before": moved.from_version, "version": moved.to_version}
        return self._done(visit, name, "prompt_rolled_back", **fields)

    async def archive(self, visit: Visit, form: Form, name: str) -> Outcome:
        await archive(
            self.services,
            visit.actor,
            name,
            rev=_rev(form),
            reason=form["reason"],
            event_key=event_key_of(form),
        )
        return self._done(visit, name, "prompt_archived")

    async def reload(self, visit: Visit, form: Form) -> Outcome:
        """Have every process read its files again."""
        await reload_prompts(self.services, visit.actor, event_key=event_key_of(form))
        return Outcome(location="/prompts", flash=i18n.text(visit.reader.locale, "console.prompts_reloaded"))

    def _done(self, visit: Visit, name: str, key: str, **fields: str) -> Outcome:
        said = i18n.text(visit.reader.locale, f"console.{key}", **fields)
        return Outcome(location=prompt_path(name), flash=said)


def _rev(form: Form) -> int:
    """The state of the pointer that the person saw; one that nobody can have seen for anything else."""
    return 0 if form["rev"] == NEVER_MOVED else position_of(form["rev"]) or -1
