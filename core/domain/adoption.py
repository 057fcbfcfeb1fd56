"""Adoption: a branch's own content comes into its parent by request, review and approval only (spec §6)."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from core.domain.artifact import artifact_name, name_key
from core.domain.errors import Refusal
from core.domain.ids import MessageId, PersonId
from core.domain.message import Message
from core.domain.policy import Actor, Policy
from core.domain.setup import Fields, Json
from core.domain.thread import Status, Thread

EXPIRES_AFTER = timedelta(days=30)
REASON_CHARS = 1_000
TEXT_CHARS = 4_000
"""Each text of the review."""
QUOTE_CHARS = 600
"""Of a message that a plain review quotes."""


class AdoptionStatus(StrEnum):
    """People read it as `adoption_status.<value>` of the catalogue."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


def is_expired(expires_at: datetime, now: datetime) -> bool:
    """Whether a pending request has run out; from its very second of expiry on it has."""
    return now >= expires_at


# --- the request ----------------------------------------------------------------------------------------------------


def check_relation(branch: Thread, parent: Thread) -> None:
    """Raises Refusal unless `branch` is a direct branch of `parent`."""
    if branch.parent_id is None:
        raise Refusal("adopt_not_a_branch", title=branch.title)
    if branch.parent_id == parent.id:
        return
    if branch.parent_id == parent.parent_id:
        raise Refusal("adopt_siblings", branch=branch.branch_name, other=parent.branch_name)
    if branch.top_id == parent.top_id:
        raise Refusal("adopt_not_direct_parent", branch=branch.branch_name, other=parent.title)
    raise Refusal("adopt_unrelated", branch=branch.branch_name, other=parent.title)


def check_request(branch: Thread, parent: Thread, *, new_messages: int, new_versions: int) -> None:
    """Raises Refusal when the branch cannot ask to be adopted into `parent` (spec §6, 2).

    Artifact versions of the branch's own count as something new. Another pending request is ruled out by the database.
    """
    check_relation(branch, parent)
    if branch.status is Status.ADOPT_PENDING:
        raise Refusal("adopt_pending_already", branch=branch.branch_name)
    if branch.status is Status.ADOPTED:
        raise Refusal("adopt_adopted_already", branch=branch.branch_name)
    if not new_messages and not new_versions:
        raise Refusal("adopt_nothing_new", branch=branch.branch_name)


def request_reason(given: str) -> str:
    """The requester's reason. Raises Refusal for an empty or over-long one."""
    return _reason(given, "adopt_reason_missing")


def reject_reason(given: str) -> str:
    """Why a request is rejected. Raises Refusal for an empty or over-long one."""
    return _reason(given, "adopt_reject_reason_missing")


def _reason(given: str, missing: str) -> str:
    reason = given.strip()
    if not reason:
        raise Refusal(missing)
    if len(reason) > REASON_CHARS:
        raise Refusal("reason_too_long", had=len(reason), limit=REASON_CHARS)
    return reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTexts:
    """What the pre-adoption review says; the requester edits it before anyone else sees it."""

    about: str = ""
    concluded: str = ""
    next_steps: str = ""
    sources: str = ""

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "ReviewTexts":
        """Raises Refusal that says what is allowed."""
        fields = Fields(raw)
        fields.only("about", "concluded", "next_steps", "sources")
        return cls(
            about=fields.text("about", limit=TEXT_CHARS),
            concluded=fields.text("concluded", limit=TEXT_CHARS),
            next_steps=fields.text("next_steps", limit=TEXT_CHARS),
            sources=fields.text("sources", limit=TEXT_CHARS),
        )

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDraft:
    """What the review begins with, before the requester edits it."""

    texts: ReviewTexts
    contradictions: tuple[str, ...] = ()
    """Points on which the branch contradicts what it began from; left to people (spec §6, 8)."""
    by_model: bool = False
    """False for a plain one, made where no model drafted it."""

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ReviewDraft":
        """What `to_json` wrote."""
        return cls(
            texts=ReviewTexts.from_json(raw["texts"]),
            contradictions=tuple(raw["contradictions"]),
            by_model=raw["by_model"],
        )

    def to_json(self) -> Json:
        return {
            "texts": self.texts.to_json(),
            "contradictions": list(self.contradictions),
            "by_model": self.by_model,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewForm:
    """A request as far as a person has filled it in; what is allowed is checked when it is made."""

    texts: Json
    """`about`, `concluded`, `next_steps`, `sources`."""
    reason: str = ""
    choices: Json = field(default_factory=dict)
    """`choice` and `new_name` by the branch's artifact id."""

    def to_json(self) -> Json:
        return {"texts": self.texts, "reason": self.reason, "choices": self.choices}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ReviewForm":
        """What `to_json` wrote."""
        return cls(texts=raw["texts"], reason=raw["reason"], choices=raw["choices"])


_LINK = re.compile(r"https?://[^\s<>\"')\]]+")


def plain_review(branch: Thread, own: Sequence[Message]) -> ReviewDraft:
    """A review without any model: how the branch's own messages began and ended, and the links and files they name."""
    said = [message for message in own if not message.erased]
    asked = [message for message in said if not message.is_answer]
    answers = [message for message in said if message.is_answer]
    links = [link.rstrip(".,;:!?。、") for message in said for link in _LINK.findall(message.text)]
    files = [file.name for message in said for file in message.attachments]
    about = (branch.branch_name, branch.branch_reason, _short(asked[0].text) if asked else "")
    return ReviewDraft(
        texts=ReviewTexts(
            about="\n".join(text for text in about if text)[:TEXT_CHARS],
            concluded=_short(answers[-1].text) if answers else "",
            sources="\n".join(dict.fromkeys((*links, *files)))[:TEXT_CHARS],
        )
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…"


# --- artifacts ------------------------------------------------------------------------------------------------------


class Choice(StrEnum):
    """What happens to a name that both have; people read it as `adoption_choice.<value>` of the catalogue."""

    TAKE_BRANCH = "take_branch"
    """A new version on the parent's artifact; nothing is overwritten."""
    KEEP_PARENT = "keep_parent"
    KEEP_BOTH = "keep_both"
    """The branch's comes in under a new name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnArtifact:
    """An artifact of the branch with something new in it."""

    artifact_id: str
    name: str
    version: int
    """The newest version that the request covers."""
    sha256: str
    """Of that version's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A name that the branch and its parent both have, with different texts."""

    name: str
    """As the branch writes it."""
    branch_artifact: str
    branch_version: int
    parent_artifact: str
    parent_version: int


def conflicts(own: Iterable[OwnArtifact], parents: Iterable[OwnArtifact]) -> tuple[Conflict, ...]:
    """The names that need a choice, in the branch's order. The same text under the same name needs none."""
    by_name = {name_key(one.name): one for one in parents}
    return tuple(
        Conflict(
            name=one.name,
            branch_artifact=one.artifact_id,
            branch_version=one.version,
            parent_artifact=other.artifact_id,
            parent_version=other.version,
        )
        for one in own
        if (other := by_name.get(name_key(one.name))) and other.sha256 != one.sha256
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The choice for one conflict; `new_name` is set for `KEEP_BOTH` only."""

    choice: Choice
    new_name: str = ""

    def to_json(self) -> Json:
        return {"choice": self.choice.value, "new_name": self.new_name}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Decided":
        """What `to_json` wrote."""
        return cls(choice=Choice(raw["choice"]), new_name=raw["new_name"])


def decide_conflicts(
    found: Sequence[Conflict], given: Mapping[str, Mapping[str, object]], taken: Set[str]
) -> dict[str, Decided]:
    """The choice for every conflict by the branch's artifact id. Raises Refusal that says what is allowed.

    `given` holds tables of `choice` and `new_name` by artifact id; `taken` are the names in the parent and the names
    under which the branch brings others in.
    """
    used = {name_key(name) for name in taken}
    decided: dict[str, Decided] = {}
    for conflict in found:
        table = Fields(given.get(conflict.branch_artifact, {}))
        table.only("choice", "new_name")
        word = table.text("choice", limit=100)
        if not word:
            raise Refusal("adopt_choice_missing", name=conflict.name)
        if word not in set(Choice):
            raise Refusal("adopt_choice_unknown", name=conflict.name, choice=word, allowed=", ".join(Choice))
        choice, new_name = Choice(word), ""
        if choice is Choice.KEEP_BOTH:
            new_name = artifact_name(table.text("new_name", limit=1_000))
            if name_key(new_name) in used:
                raise Refusal("adopt_new_name_taken", name=new_name)
            used.add(name_key(new_name))
        decided[conflict.branch_artifact] = Decided(choice=choice, new_name=new_name)
    return decided


# --- the decision ---------------------------------------------------------------------------------------------------


def authorise_decision(actor: Actor, policy: Policy, *, parent_owner: PersonId, requester: PersonId) -> None:
    """Return when `actor` may approve or reject; raise Refusal otherwise (spec §6, 4; §13).

    The parent's owner and the workspace's approvers may, by id. Guests and people from outside never may, whatever
    they own; the requester may not under the four-eyes rule.
    """
    if actor.is_guest or actor.is_external:
        raise Refusal("adopt_guest")
    if actor.person_id != parent_owner and actor.external_id not in policy.approvers:
        raise Refusal("adopt_not_approver")
    if policy.four_eyes and actor.person_id == requester:
        raise Refusal("adopt_four_eyes")


def authorise_withdrawal(actor: Actor, *, requester: PersonId) -> None:
    """Only whoever asked can take the request back. Raises Refusal."""
    if actor.person_id != requester:
        raise Refusal("adopt_not_requester")


_CLOSED = {
    AdoptionStatus.APPROVED: "adopt_closed_approved",
    AdoptionStatus.REJECTED: "adopt_closed_rejected",
    AdoptionStatus.WITHDRAWN: "adopt_closed_withdrawn",
    AdoptionStatus.EXPIRED: "adopt_closed_expired",
}


def check_open(status: AdoptionStatus, *, who: str) -> None:
    """Raises Refusal that says how a closed request ended and, where a person closed it, `who` that was."""
    if status is not AdoptionStatus.PENDING:
        raise Refusal(_CLOSED[status], who=who)


# --- applying it ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A message in a conversation, as far as its place matters."""

    message_id: MessageId
    at: datetime


def merged(parent: Sequence[Moment], new: Sequence[Moment], *, after: int) -> tuple[MessageId, ...]:
    """The parent's conversation with the branch's own messages among it, by time; the parent's first at equal times.

    The first `after` messages, up to the split, stay where they are. Neither side's own order ever changes: a message
    that was edited late keeps its place before the one that follows it. What the parent already holds is not added.
    """
    have = {one.message_id for one in parent}
    fresh = [one for one in new if one.message_id not in have]
    behind = parent[after:]
    old_times, new_times = _places(behind), _places(fresh)
    order = [one.message_id for one in parent[:after]]
    place = 0
    for one, at in zip(behind, old_times, strict=True):
        while place < len(fresh) and new_times[place] < at:
            order.append(fresh[place].message_id)
            place += 1
        order.append(one.message_id)
    return (*order, *(one.message_id for one in fresh[place:]))


def _places(side: Sequence[Moment]) -> list[datetime]:
    """Times that never fall: no message counts as later than one that stands after it."""
    times: list[datetime] = []
    for one in reversed(side):
        times.append(min(one.at, times[-1]) if times else one.at)
    return times[::-1]


def content_sha256(lines: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """Hash of what a thread holds: (message id, sha256 of its text) in order, by line. For the audit log."""
    digest = hashlib.sha256()
    for line in sorted(lines):
        for piece in (["line", line], *(["message", *one] for one in lines[line])):
            digest.update(json.dumps(piece, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()
