"""Adoptions on Slack: the review and its request, the decision, and what a request brings (spec §6)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bot.slack.access import SlackAccess
from bot.slack.adoption_form import (
    MOST_CONFLICTS,
    REASON,
    Meeting,
    artifact_heads,
    changes_form,
    covered_document,
    reject_form,
    request_of,
    review_form,
)
from bot.slack.block import Block, actions, button, section
from bot.slack.caller import Caller
from bot.slack.files import OutgoingFile, SlackFiles
from bot.slack.form import View
from bot.slack.markdown import escape, one_line
from bot.slack.parse import ACTION, Submission
from bot.slack.private import send_file
from bot.slack.render import SlackMessage
from bot.slack.sheet import REVIEW, Sheet, sheet
from core import i18n
from core.commands.adoption import (
    begin_review,
    list_adoptions,
    reject,
    request_adoption,
    show_changes,
    show_review,
)
from core.commands.artifact import show_artifact
from core.commands.pin import list_pins
from core.commands.services import Services
from core.domain.adoption import AdoptionStatus, Conflict, authorise_decision
from core.domain.artifact import diff
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.view import ButtonAction

SHOWN_ADOPTIONS: Final = 10
DECISIONS: Final = (
    ButtonAction.APPROVE,
    ButtonAction.REJECT,
    ButtonAction.SHOW_CHANGES,
    ButtonAction.WITHDRAW,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoptions:
    """All methods raise Refusal, StoreUnavailable and PlatformFailure; nothing was changed then."""

    services: Services
    access: SlackAccess
    files: SlackFiles

    # --- asking ------------------------------------------------------------------------------------------------------

    async def begin(self, caller: Caller, about: Sheet, *, reason: str = "", key: str) -> Sheet:
        """Have the review of a branch drafted."""
        review_id = await begin_review(
            self.services, caller.actor, about.thread, reason=reason, event_key=key
        )
        return replace(about, ref=review_id, kind=REVIEW)

    async def drafted(self, caller: Caller, about: Sheet) -> View | None:
        """The form of a review; None while it is being drafted."""
        review = await show_review(self.services, caller.actor, about.ref)
        if review.draft is None:
            return None
        if len(review.conflicts) > MOST_CONFLICTS:
            raise Refusal("slack_many_conflicts", had=len(review.conflicts), limit=MOST_CONFLICTS)
        meetings = [
            await self._meeting(caller, review.branch.id, review.parent.id, one) for one in review.conflicts
        ]
        pins = await list_pins(self.services, caller.actor, review.branch.id)
        about = replace(about, thread=review.branch.id, kind=REVIEW)
        return review_form(caller.locale, about, review, meetings, pins)

    async def _meeting(
        self, caller: Caller, branch: ThreadId, parent: ThreadId, conflict: Conflict
    ) -> Meeting:
        here = await show_artifact(
            self.services, caller.actor, branch, conflict.name, number=conflict.branch_version
        )
        there = await show_artifact(
            self.services, caller.actor, parent, conflict.name, number=conflict.parent_version
        )
        return Meeting(conflict=conflict, changes=diff(there.text, here.text))

    async def submit_review(self, caller: Caller, form: Submission, *, key: str) -> str:
        about = sheet(form.metadata)
        request = request_of(about.thread, form.values)
        await request_adoption(self.services, caller.actor, request, event_key=key)
        return i18n.text(caller.locale, "card.requested")

    # --- deciding ----------------------------------------------------------------------------------------------------

    async def reject_form(self, caller: Caller, about: Sheet) -> View:
        """Why a request is rejected. Who may not decide is told so at once; the command decides."""
        changes = await show_changes(self.services, caller.actor, about.ref)
        authorise_decision(
            caller.actor,
            self.services.policy(caller.actor.workspace),
            parent_owner=changes.parent.owner_id,
            requester=changes.adoption.requested_by,
        )
        return reject_form(caller.locale, about, changes.branch.branch_name or changes.branch.title)

    async def submit_reject(self, caller: Caller, form: Submission, *, key: str) -> str:
        await reject(
            self.services,
            caller.actor,
            sheet(form.metadata).ref,
            form.values.get(REASON, ""),
            event_key=key,
        )
        return i18n.text(caller.locale, "card.rejected")

    # --- looking -----------------------------------------------------------------------------------------------------

    async def changes(self, caller: Caller, adoption_id: str) -> View:
        return changes_form(caller.locale, await show_changes(self.services, caller.actor, adoption_id))

    async def send_changes(self, caller: Caller, adoption_id: str) -> None:
        """Send a person all that a request brings as a file, in the conversation with the bot."""
        found = await show_changes(self.services, caller.actor, adoption_id)
        text = covered_document(
            caller.locale, found.branch, found.messages, artifact_heads(caller.locale, found)
        )
        await self._send(caller, text)

    async def send_review(self, caller: Caller, review_id: str) -> None:
        """Send a person all that a request made now would bring."""
        found = await show_review(self.services, caller.actor, review_id)
        await self._send(caller, covered_document(caller.locale, found.branch, found.messages, ()))

    async def _send(self, caller: Caller, text: str) -> None:
        file = OutgoingFile(
            name="changes.md",
            title=i18n.text(caller.locale, "slack_carry.changes_title"),
            data=text.encode(),
        )
        await self.send(caller, file)

    async def send(self, caller: Caller, file: OutgoingFile) -> None:
        """Send a person a file, in the conversation with the bot."""
        await send_file(self.access, self.files, caller.bot, caller.actor.external_id, file)

    async def listed(self, caller: Caller, thread_id: ThreadId) -> SlackMessage:
        """The requests from a thread and into it, newest first, each with the buttons that it has left."""
        found = await list_adoptions(self.services, caller.actor, thread_id)
        if not found:
            said = escape(i18n.text(caller.locale, "card.no_adoptions"))
            return SlackMessage(blocks=(section(said),), text=said)
        blocks: list[Block] = []
        for one in found[:SHOWN_ADOPTIONS]:
            status = i18n.text(caller.locale, f"adoption_status.{one.status.value}")
            line = f"*{escape(status)}* · {one.created_at:%Y-%m-%d %H:%M} UTC\n{escape(one_line(one.reason, 300))}"
            pending = one.status is AdoptionStatus.PENDING
            wanted = DECISIONS if pending else (ButtonAction.SHOW_CHANGES,)
            blocks += [section(line), actions(f"adoption.{one.id}", self._buttons(caller, one.id, wanted))]
        title = escape(i18n.text(caller.locale, "slack_carry.adoptions_title"))
        return SlackMessage(blocks=tuple(blocks), text=title)

    def _buttons(self, caller: Caller, ref: str, wanted: Sequence[ButtonAction]) -> list[dict[str, Any]]:
        return [
            button(i18n.text(caller.locale, f"button.{one.value}"), f"{ACTION}{one.value}", ref)
            for one in wanted
        ]
