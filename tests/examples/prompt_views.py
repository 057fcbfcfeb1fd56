"""Prompts as people see them, with hostile text wherever people's or models' text can stand."""

from datetime import UTC, datetime

from core.domain.prompt import (
    DraftCheck,
    PartChange,
    PartMerge,
    ProcessStatus,
    PromptDraftView,
    PromptEventKind,
    PromptEventView,
    PromptItem,
    PromptPage,
    PromptProblem,
    PromptSource,
    PromptState,
    PromptStatus,
    PromptVersionView,
    Withdrawal,
)
from core.domain.view import Phrase
from tests.examples.views import HOSTILE

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FILES = {"system.md": f"Be brief.\n{HOSTILE}", "task.md": "{{request}}", "prompt.yaml": f"name: {HOSTILE}"}
WITHDRAWN = Withdrawal(version="1.2.0", to_version="1.1.0", at=AT, who=HOSTILE, reason=HOSTILE)
MERGES = (
    PartMerge(file="system.md", base="one", mine="two", theirs=HOSTILE, merged=HOSTILE, conflicts=1),
    PartMerge(file="task.md", base="one", mine="two", theirs="one", merged="two", conflicts=0),
)
CHANGES = (PartChange(file="system.md", before="one", after=HOSTILE),)
WARNING = Phrase(key="growth.repeats", fields={"one": HOSTILE, "other": HOSTILE})
BLOCKED = Phrase(key="contract.placeholders_missing", fields={"part": "task.md", "names": "request"})


def version(number: str, **more: object) -> PromptVersionView:
    usual: dict[str, object] = {
        "version_id": f"id-{number}",
        "version": number,
        "sha256": "0123456789abcdef" * 4,
        "shipped": False,
        "of_release": False,
        "live": False,
        "candidate": False,
        "author": HOSTILE,
        "mine": False,
        "reason": HOSTILE,
        "source": PromptSource.CONSOLE,
        "parent_version": "1.0.0",
        "created_at": AT,
    }
    return PromptVersionView(**{**usual, **more})  # type: ignore[arg-type]


SHIPPED_VERSION = version(
    "1.0.0", shipped=True, of_release=True, was_live=True, author="", reason="", source=PromptSource.FILE
)
VERSIONS = (
    version("1.3.0", candidate=True, verified_by=(HOSTILE,)),
    version("1.2.0", withdrawn=WITHDRAWN, overridden=HOSTILE, self_approved=True, was_live=True),
    version("1.1.0", live=True, mine=True, source=PromptSource.CHAT),
    SHIPPED_VERSION,
)


def item(state: PromptState, **more: object) -> PromptItem:
    usual: dict[str, object] = {
        "name": "chat.answer",
        "description": HOSTILE,
        "state": state,
        "version": "" if state is PromptState.NOT_LIVE else "1.1.0",
        "sha256": "0123456789abcdef" * 4,
        "newest_version": "1.3.0",
        "candidate_version": "1.3.0",
        "eval_set": "chat-v1",
        "has_draft": True,
    }
    return PromptItem(**{**usual, **more})  # type: ignore[arg-type]


LISTED = tuple(item(state, broken=(BLOCKED,)) for state in PromptState)
DRAFT = PromptDraftView(base_id="id-1.0.0", head_id="id-1.1.0", files=FILES, updated_at=AT, stale=MERGES)


def page(state: PromptState = PromptState.DIVERGED, **more: object) -> PromptPage:
    usual: dict[str, object] = {
        "item": item(state, broken=(BLOCKED,)),
        "live_id": "" if state is PromptState.NOT_LIVE else "id-1.1.0",
        "rev": 3,
        "head_id": "id-1.3.0",
        "files": FILES,
        "shown": VERSIONS[0],
        "versions": VERSIONS,
        "draft": DRAFT,
        "diverged": MERGES if state is PromptState.DIVERGED else (),
        "can_edit": True,
        "can_verify": True,
        "can_promote": True,
        "four_eyes": True,
    }
    return PromptPage(**{**usual, **more})  # type: ignore[arg-type]


EVENTS = tuple(
    PromptEventView(
        event_id=kind.value,
        kind=kind,
        who=HOSTILE,
        at=AT,
        reason=HOSTILE,
        from_version="1.0.0",
        to_version="1.1.0" if kind is not PromptEventKind.ARCHIVE else "",
        changes=CHANGES,
        self_approved=True,
        eval_run_id=None,
    )
    for kind in PromptEventKind
)

CHECKS = {
    "problems": DraftCheck(
        problems=(
            PromptProblem(file="system.md", reason=HOSTILE, line=3),
            PromptProblem(file="prompt.yaml", reason=HOSTILE),
            PromptProblem(file="", reason=HOSTILE),
        )
    ),
    "unchanged": DraftCheck(),
    "first": DraftCheck(version="1.0.0", changed=True),
    "reminded": DraftCheck(
        bump="minor",
        because=(Phrase(key="bump.lines_added", fields={"part": "system.md", "line": HOSTILE}),),
        version="1.4.0",
        changed=True,
        warnings=(WARNING,),
        blocked=(BLOCKED,),
        withdrawn=WITHDRAWN,
        changes=CHANGES,
    ),
}

STATUS = PromptStatus(
    generation=7,
    processes=tuple(
        ProcessStatus(
            process_id=f"process-{pid}",
            host=HOSTILE,
            pid=pid,
            generation=generation,
            loaded_at=AT,
            seen_at=AT,
            versions=20,
            error=error,
            current=generation == 7,
        )
        for pid, generation, error in ((1, 7, ""), (2, 6, ""), (3, 6, HOSTILE))
    ),
)
