"""The pages of prompts, drawn for a visit. Differences are drawn off the event loop."""

import asyncio
from dataclasses import dataclass, replace
from urllib.parse import quote

from bot.console.page import Pages
from bot.console.parse import Form
from bot.console.prompted import Editing, begun, elsewhere, joined, typed_in
from bot.console.visit import Visit
from bot.prompt_outline import PARTS, changed_parts, opening, raised, rows, version_in
from core.commands.prompt import list_prompts, prompt_history, show_prompt
from core.commands.prompt_edit import check_draft
from core.commands.prompt_live import prompt_status, stands_against
from core.domain.artifact import diff
from core.domain.errors import Refusal
from core.domain.prompt import (
    GATE_REFUSALS,
    MAX_REASON_CHARS,
    SHIPPED,
    TEAM_PREFIX,
    DraftCheck,
    PromptPage,
    PromptState,
    PromptText,
)
from core.domain.view import Phrase

NO_FORM = Form()
STALE = ("prompt_stale", "prompt_stale_release")


def prompt_path(name: str) -> str:
    return f"/prompts/{quote(name, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPages(Pages):
    """The pages of prompts. All raise Refusal and StoreUnavailable."""

    async def prompts(self, visit: Visit) -> str:
        """Every prompt with its state, and what each process has loaded."""
        items = await list_prompts(self.services, visit.actor)
        status = await prompt_status(self.services, visit.actor)
        return await self._drawn(visit, "prompts", "/prompts", {"items": items, "status": status})

    async def prompt(
        self,
        visit: Visit,
        name: str,
        *,
        version_id: str = "",
        sha256: str = "",
        form: Form = NO_FORM,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """One prompt: what is live, what is proposed, its versions, and the parts of one of them."""
        page = await show_prompt(self.services, visit.actor, name, version_id=version_id or None)
        if sha256:
            found = next((one for one in page.versions if one.sha256 == sha256), None)
            if found is None:
                raise Refusal("prompt_version_unknown", name=name)
            page = await show_prompt(self.services, visit.actor, name, version_id=found.version_id)
        proposed = next((one for one in rows(page) if one.version.candidate and not one.version.live), None)
        return await self._of(
            visit,
            "prompt",
            page,
            rows=rows(page),
            proposed=proposed,
            note=form["reason"],
            verify_key=event_key,
            error=error,
        )

    async def history(self, visit: Visit, name: str) -> str:
        """Everything that was done to a prompt, newest first, with the text before and after."""
        events = await prompt_history(self.services, visit.actor, name)
        page = await show_prompt(self.services, visit.actor, name)
        return await self._of(visit, "prompt_history", page, events=events)

    async def compare(self, visit: Visit, name: str, before_id: str, after_id: str) -> str:
        """Two versions side by side: what the second changed in the first."""
        after = await show_prompt(self.services, visit.actor, name, version_id=after_id or None)
        if not before_id:
            place = [one.version_id for one in after.versions].index(
                after.shown.version_id if after.shown else ""
            )
            before_id = after.versions[min(place + 1, len(after.versions) - 1)].version_id
        before = await show_prompt(self.services, visit.actor, name, version_id=before_id)
        changes = changed_parts(before.files, after.files)
        return await self._of(visit, "prompt_compare", after, before=before.shown, changes=changes)

    async def edit_prompt(
        self,
        visit: Visit,
        name: str,
        *,
        base: str = "",
        merge: bool = False,
        form: Form | None = None,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """The form of a prompt. When others saved meanwhile it holds both changes, with theirs shown beside."""
        page = await show_prompt(self.services, visit.actor, name, version_id=base or None)
        overtaken = form is None or form.refused in STALE
        if page.draft is not None and page.draft.stale and overtaken:
            draft, reason = page.draft, form["reason"] if form else ""
            editing = joined(page, draft.stale, draft.files, base_id=page.head_id, reason=reason)
        elif form is not None:
            editing = typed_in(name, form)
        elif merge and page.diverged:
            ours = await show_prompt(self.services, visit.actor, name, version_id=page.live_id)
            editing = joined(page, page.diverged, ours.files, base_id=SHIPPED)
        else:
            editing = begun(page)
        check = await check_draft(self.services, visit.actor, editing.text)
        return await self._of(
            visit,
            "prompt_edit",
            page,
            **self._form_of(editing, check, page),
            event_key=event_key,
            error=error,
        )

    async def checked(self, visit: Visit, name: str, form: Form) -> str:
        """What is known about a text, as pieces that the page's script puts in their places."""
        page = await show_prompt(self.services, visit.actor, name)
        editing = typed_in(name, form)
        check = await check_draft(self.services, visit.actor, editing.text)
        return await asyncio.to_thread(
            self.renderer.pieces, "prompt_checked.html", visit.reader, **self._form_of(editing, check, page)
        )

    def _form_of(self, editing: Editing, check: DraftCheck, page: PromptPage) -> dict[str, object]:
        return {
            "editing": editing,
            "check": check,
            "parts": PARTS,
            "elsewhere": elsewhere(check.problems),
            "raised": raised(check, page, editing.text.base_id),
            "diff": diff,
            "reason_chars": MAX_REASON_CHARS,
        }

    async def new(self, visit: Visit, *, form: Form = NO_FORM, event_key: str = "", error: str = "") -> str:
        """The form of a prompt of the workspace's own, with all of its parts."""
        context = {
            "form": form,
            "prefix": TEAM_PREFIX,
            "parts": PARTS,
            "event_key": event_key,
            "error": error,
        }
        return await self._drawn(visit, "prompt_new", "/new-prompt", context)

    async def promote(
        self,
        visit: Visit,
        name: str,
        version_id: str,
        *,
        form: Form = NO_FORM,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """The form that makes a version live, with what it changes in the live one."""
        page = await show_prompt(self.services, visit.actor, name, version_id=version_id)
        live = (
            (await show_prompt(self.services, visit.actor, name, version_id=page.live_id)).files
            if page.live_id
            else {}
        )
        known = await self._known(visit, name, version_id, page)
        return await self._of(
            visit,
            "prompt_promote",
            page,
            changes=changed_parts(live, page.files),
            known=known,
            against=() if error else await self._against(visit, page),
            gate=[f"refusal.{code}" for code in GATE_REFUSALS],
            form=form,
            event_key=event_key,
            error=error,
        )

    async def _known(self, visit: Visit, name: str, version_id: str, page: PromptPage) -> DraftCheck:
        """What is known about a saved version; only what is written on it, for whoever may not edit."""
        shown = page.shown
        if not page.can_edit or shown is None:
            return DraftCheck(withdrawn=shown.withdrawn if shown else None)
        text = PromptText(name=name, base_id=version_id, head_id=version_id)
        check = await check_draft(self.services, visit.actor, text)
        return replace(check, withdrawn=check.withdrawn or shown.withdrawn)

    async def _against(self, visit: Visit, page: PromptPage) -> tuple[Phrase, ...]:
        """What keeps the version that a page shows from being made live, for whoever may do that."""
        if not page.can_promote or page.shown is None:
            return ()
        return await stands_against(self.services, visit.actor, page.item.name, page.shown.version_id)

    async def roll_back(
        self,
        visit: Visit,
        name: str,
        version_id: str,
        *,
        form: Form = NO_FORM,
        event_key: str = "",
        error: str = "",
    ) -> str:
        """The form that makes an earlier version live again."""
        page = await show_prompt(self.services, visit.actor, name, version_id=version_id)
        live = await show_prompt(self.services, visit.actor, name, version_id=page.live_id or None)
        reason = form["reason"] if error else opening(page, version_in(page, version_id))
        return await self._of(
            visit,
            "prompt_rollback",
            page,
            changes=changed_parts(live.files, page.files),
            reason=reason,
            event_key=event_key,
            error=error,
        )

    async def archive(
        self, visit: Visit, name: str, *, form: Form = NO_FORM, event_key: str = "", error: str = ""
    ) -> str:
        """The form that takes a team's own prompt out of use."""
        page = await show_prompt(self.services, visit.actor, name)
        if page.item.state is not PromptState.TEAM:
            raise Refusal("prompt_not_live", name=name)
        return await self._of(
            visit, "prompt_archive", page, reason=form["reason"], event_key=event_key, error=error
        )

    async def diverged(self, visit: Visit, name: str) -> str:
        """What the release changed and what the workspace changed, since one was made from the other."""
        page = await show_prompt(self.services, visit.actor, name)
        return await self._of(visit, "prompt_diverged", page)

    async def _of(self, visit: Visit, template: str, page: PromptPage, **context: object) -> str:
        name = page.item.name
        where = prompt_path(name)
        shown = {"page": page, "item": page.item, "where": where, "parts": PARTS, "diff": diff, **context}
        return await self._drawn(visit, template, where, shown)

    async def _drawn(self, visit: Visit, template: str, back: str, context: dict[str, object]) -> str:
        frame = await self._outer(visit, here="prompts", back=back)
        return await asyncio.to_thread(
            self.renderer.page, template, visit.reader, fragment=visit.fragment, **frame, **context
        )
