"""What a workspace allows, and the one place that decides whether a person may do something."""

from dataclasses import dataclass
from enum import StrEnum

from core.domain.errors import Refusal
from core.domain.ids import PersonId, WorkspaceId


class Listen(StrEnum):
    """Which messages of people in our threads are answered (spec §11)."""

    ALL = "all"
    MENTIONS = "mentions"


class Action(StrEnum):
    """What a person can ask for. Every command names one and calls `authorise` with it."""

    READ = "read"
    SAY = "say"
    EDIT_MESSAGE = "edit_message"
    ANSWER_AGAIN = "answer_again"
    STOP = "stop"
    BRANCH = "branch"
    RENAME = "rename"
    COMPARE_ANSWERS = "compare_answers"
    REVEAL = "reveal"
    REVIEW = "review"
    SAVE = "save"
    GIVE_FEEDBACK = "give_feedback"
    PIN = "pin"
    HAND_OVER = "hand_over"
    REQUEST_ADOPTION = "request_adoption"
    DECIDE_ADOPTION = "decide_adoption"
    WITHDRAW_ADOPTION = "withdraw_adoption"
    EXPORT = "export"
    ERASE = "erase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The person who acts, as the platform vouched for them at this moment. Names play no part in any decision."""

    workspace_id: WorkspaceId
    workspace: str
    """The platform's id of the workspace, by which `[policy]` names it."""
    person_id: PersonId
    external_id: str
    name: str
    locale: str
    is_guest: bool = False
    is_external: bool = False
    is_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The `[policy]` table for one workspace."""

    listen: Listen = Listen.ALL
    approvers: tuple[str, ...] = ()
    """Platform ids of the people who may approve in the whole workspace."""
    four_eyes: bool = False
    branch: bool = True
    handover_routes: tuple[str, ...] | None = None
    """Allowed routes as `chat>debate`; None allows all routes of the product."""
    allowed_models: tuple[str, ...] | None = None
    """Catalogue aliases; None allows every model of the catalogue."""
    retention_days: int | None = None
    budget_person_usd_month: float | None = None
    budget_workspace_usd_month: float | None = None

    @property
    def has_budget(self) -> bool:
        return self.budget_person_usd_month is not None or self.budget_workspace_usd_month is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the action is about: who owns it, and whether the actor can see its channel right now."""

    visible: bool
    owner_id: PersonId | None = None
    author_id: PersonId | None = None


def authorise(actor: Actor, action: Action, subject: Subject, policy: Policy) -> None:
    """Return when `actor` may do `action` to `subject`; raise Refusal otherwise (spec §13).

    Unknown and forbidden look the same: whoever cannot see the channel is told `thread_not_found`.
    """
    if not subject.visible:
        raise Refusal("thread_not_found")
    if action is Action.BRANCH and not policy.branch:
        raise Refusal("branch_not_allowed")
    if action is Action.EDIT_MESSAGE and subject.author_id != actor.person_id:
        raise Refusal("not_your_message")
    if action is Action.RENAME and subject.owner_id != actor.person_id and not actor.is_admin:
        raise Refusal("not_thread_owner")
    if action is Action.ERASE and subject.author_id != actor.person_id and not actor.is_admin:
        raise Refusal("erase_not_allowed")
