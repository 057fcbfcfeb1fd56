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
    READ_PROMPT = "read_prompt"
    EDIT_PROMPT = "edit_prompt"
    VERIFY_PROMPT = "verify_prompt"
    EVALUATE_PROMPT = "evaluate_prompt"
    """Also to stop an evaluation."""
    PROMOTE_PROMPT = "promote_prompt"
    """Also to roll back, to archive and to reload."""
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
    prompt_editors: tuple[str, ...] | None = None
    """Platform ids of the people who may save versions of prompts; None allows everyone but guests."""
    prompt_verifiers: tuple[str, ...] | None = None
    """Who may confirm that they looked at another person's version; None allows everyone but guests."""
    prompt_promoters: tuple[str, ...] | None = None
    """Who may make versions live and roll back; None means approvers and admins, or everyone where none is named."""
    prompt_four_eyes: bool = False
    """A version goes live only after another person looked at it, and not by its author."""
    prompt_channel: str = ""
    """Platform id of the channel that is told of rollbacks; empty tells none."""
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
    if action in _PROMPT_ACTIONS:
        _authorise_prompt(actor, action, subject, policy)
    if action is Action.ERASE and subject.author_id != actor.person_id and not actor.is_admin:
        raise Refusal("erase_not_allowed")


_PROMPT_ACTIONS = frozenset(
    {
        Action.READ_PROMPT,
        Action.EDIT_PROMPT,
        Action.VERIFY_PROMPT,
        Action.EVALUATE_PROMPT,
        Action.PROMOTE_PROMPT,
    }
)


def _authorise_prompt(actor: Actor, action: Action, subject: Subject, policy: Policy) -> None:
    """Roles around prompts (spec §10). `subject.author_id` is the author of the version in question."""
    if actor.is_guest or actor.is_external:
        raise Refusal("prompt_not_allowed")
    match action:
        case Action.EDIT_PROMPT if not _named(actor, policy.prompt_editors):
            raise Refusal("prompt_edit_not_allowed")
        case Action.VERIFY_PROMPT if not _named(actor, policy.prompt_verifiers):
            raise Refusal("prompt_verify_not_allowed")
        case Action.VERIFY_PROMPT if subject.author_id == actor.person_id:
            raise Refusal("prompt_own_version")
        case Action.EVALUATE_PROMPT if not _may_evaluate(actor, policy):
            raise Refusal("prompt_eval_not_allowed")
        case Action.PROMOTE_PROMPT if not _may_promote(actor, policy):
            raise Refusal("prompt_promote_not_allowed")


def _named(actor: Actor, people: tuple[str, ...] | None) -> bool:
    return people is None or actor.external_id in people


def _may_evaluate(actor: Actor, policy: Policy) -> bool:
    """Whoever has a part in changing prompts."""
    named = _named(actor, policy.prompt_editors) or _named(actor, policy.prompt_verifiers)
    return named or _may_promote(actor, policy)


def _may_promote(actor: Actor, policy: Policy) -> bool:
    if policy.prompt_promoters is not None or not policy.approvers:
        return _named(actor, policy.prompt_promoters)
    return actor.is_admin or actor.external_id in policy.approvers


def authorise_promotion(
    actor: Actor, policy: Policy, *, author_id: PersonId | None, verified: bool, alone: bool
) -> bool:
    """Whether the promotion counts as approved by the author alone; raises Refusal when four eyes are asked for.

    `verified`: another person than the author looked at the version. `alone`: the workspace has one person, for whom
    there can be no second pair of eyes.
    """
    own = author_id == actor.person_id
    if policy.prompt_four_eyes and not alone:
        if own:
            raise Refusal("prompt_own_version")
        if not verified:
            raise Refusal("prompt_not_verified")
    return own and not verified
