"""How a prompt stands in a workspace: every version of it, what is live, and what the files of this release hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.ids import WorkspaceId
from core.domain.policy import Action, Actor, Subject, authorise
from core.domain.prompt import SHIPPED, PromptEventKind, PromptLabel, PromptState, Withdrawal
from core.prompts.repeat import REPEAT_LIMIT, alike
from core.prompts.version import PromptVersion
from core.store.database import Session
from core.store.prompt import PromptEvent, StoredPrompt, versions_of
from core.store.prompt_library import Prompts
from core.store.prompt_pointer import NEVER_MOVED, Pointer, pointers


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One prompt as one workspace has it."""

    name: str
    shipped: StoredPrompt | None
    """The file of this release; None for a team's own prompt."""
    versions: tuple[StoredPrompt, ...]
    """Newest first; the workspace's own and whatever was shipped."""
    production: Pointer
    candidate: Pointer

    @property
    def own(self) -> tuple[StoredPrompt, ...]:
        """Versions that the workspace made, newest first."""
        return tuple(sorted((v for v in self.versions if not v.shipped), key=lambda v: -v.seq))

    @property
    def live(self) -> StoredPrompt | None:
        return self._by_id(self.production.version_id) or self.shipped

    @property
    def proposed(self) -> StoredPrompt | None:
        return self._by_id(self.candidate.version_id)

    @property
    def head(self) -> StoredPrompt | None:
        """What the next version comes after."""
        return self.own[0] if self.own else self.shipped

    @property
    def base(self) -> StoredPrompt | None:
        """The shipped version that the live one was made from; None for a team's own prompt."""
        version = self.live
        while version is not None and not version.shipped:
            version = self._by_id(version.parent_id)
        return version

    @property
    def state(self) -> PromptState:
        if self.live is None:
            return PromptState.NOT_LIVE
        if self.shipped is None:
            return PromptState.TEAM
        if self.live.id == self.shipped.id:
            return PromptState.FOLLOWS
        edited = self.base is not None and self.base.id == self.shipped.id
        return PromptState.EDITED if edited else PromptState.DIVERGED

    def is_of_release(self, version: StoredPrompt) -> bool:
        """Whether a version is the file of this release; where it is live, the workspace follows the files."""
        return self.shipped is not None and version.id == self.shipped.id

    def find(self, version_id: str) -> StoredPrompt | None:
        """A version by id; SHIPPED means the file. None where there is no such version."""
        return self.shipped if version_id == SHIPPED else self._by_id(version_id)

    def version(self, version_id: str) -> StoredPrompt:
        """As `find`; raises Refusal instead."""
        found = self.find(version_id)
        if found is None:
            raise Refusal("prompt_version_unknown", name=self.name)
        return found

    def number(self, version_id: str | None) -> str:
        """The semantic version of a version; empty for an unknown one."""
        found = self._by_id(version_id)
        return found.version if found else ""

    def _by_id(self, version_id: str | None) -> StoredPrompt | None:
        return next((version for version in self.versions if version.id == version_id), None)


def access_prompts(services: Services, actor: Actor, action: Action) -> None:
    """Return when the actor may do `action` to the workspace's prompts; raise Refusal otherwise."""
    authorise(actor, action, Subject(visible=True), services.policy(actor.workspace))


async def standings(session: Session, prompts: Prompts, workspace_id: WorkspaceId) -> dict[str, Standing]:
    """Every prompt of the release and of the workspace, by name."""
    stored = await versions_of(session, workspace_id)
    names = prompts.shipped.versions.keys() | {version.name for version in stored if not version.shipped}
    moved = {label: await pointers(session, workspace_id, label) for label in PromptLabel}
    return {name: _standing(prompts, name, stored, moved) for name in sorted(names)}


async def standing_of(session: Session, prompts: Prompts, workspace_id: WorkspaceId, name: str) -> Standing:
    """One prompt; raises Refusal for a name that neither the release nor the workspace has."""
    stored = await versions_of(session, workspace_id, name)
    moved = {label: await pointers(session, workspace_id, label) for label in PromptLabel}
    standing = _standing(prompts, name, stored, moved)
    if standing.head is None:
        raise Refusal("prompt_not_found", name=name[:100])
    return standing


def _standing(
    prompts: Prompts,
    name: str,
    stored: Iterable[StoredPrompt],
    moved: Mapping[PromptLabel, Mapping[str, Pointer]],
) -> Standing:
    shipped = prompts.file(name)
    versions = tuple(version for version in stored if version.name == name)
    if shipped is not None:
        shipped = next((version for version in versions if version.id == shipped.id), shipped)
    return Standing(
        name=name,
        shipped=shipped,
        versions=versions,
        production=moved[PromptLabel.PRODUCTION].get(name, NEVER_MOVED),
        candidate=moved[PromptLabel.CANDIDATE].get(name, NEVER_MOVED),
    )


def was_live(version: StoredPrompt, history: Iterable[PromptEvent]) -> bool:
    """Whether a version was ever answered with in the workspace, or came with a release."""
    made = (PromptEventKind.PROMOTE, PromptEventKind.ROLLBACK)
    return version.shipped or any(one.kind in made and one.to_id == version.id for one in history)


def withdrawal_of(standing: Standing, rollback: PromptEvent) -> Withdrawal:
    """A rollback, as people are reminded of it."""
    return Withdrawal(
        version=standing.number(rollback.from_id),
        to_version=standing.number(rollback.to_id),
        at=rollback.created_at,
        who=rollback.who,
        reason=rollback.reason,
    )


def brings_back(
    standing: Standing, rollbacks: Iterable[PromptEvent], now: PromptVersion
) -> Withdrawal | None:
    """The newest rollback whose withdrawn text `now` is close to (spec §10). Compares texts: not on the event loop."""
    for rollback in rollbacks:
        withdrawn = standing.find(rollback.from_id or "-")
        restored = standing.find(rollback.to_id or "-")
        if withdrawn is None or restored is None or restored.sha256 == now.sha256:
            continue
        if alike(withdrawn.parsed(), restored.parsed(), now) >= REPEAT_LIMIT:
            return withdrawal_of(standing, rollback)
    return None


def check_reminded(withdrawn: Withdrawal | None, *, acknowledged: bool) -> None:
    """Raises Refusal that says why a text like this was withdrawn, until somebody has taken note of it."""
    if withdrawn is not None and not acknowledged:
        raise Refusal(
            "prompt_withdrawn_before",
            version=withdrawn.version,
            at=f"{withdrawn.at:%Y-%m-%d}",
            who=withdrawn.who,
            reason=withdrawn.reason,
        )
