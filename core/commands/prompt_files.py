"""Prompts as files for the operator: export, import, check, and a dated full copy (spec §10).

A folder of prompts has the layout of the product's own: one folder a prompt, beside them the lock, and after an
export the history of the workspace as one JSON object a line.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.commands.prompt_standing import Standing, standings
from core.domain.errors import ConfigurationErrors, Refusal
from core.domain.ids import WorkspaceId
from core.domain.prompt import PromptEventKind, PromptSource, change_reason
from core.ports import Clock
from core.prompts.bump import check_version, minimum_bump, number_of
from core.prompts.example_privacy import personal_problems
from core.prompts.folder import lock_text, to_texts
from core.prompts.registry import LOCK_FILE
from core.prompts.three_way import part_diffs
from core.prompts.version import PromptVersion
from core.store.database import Session, Store
from core.store.prompt import (
    PromptEvent,
    StoredPrompt,
    do_add_event,
    do_add_version,
    workspace_events,
)
from core.store.prompt_library import Prompts
from core.store.prompt_pointer import do_propose
from core.store.workspace import workspace_anywhere

HISTORY_FILE = "history.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did with one prompt."""

    name: str
    version: str
    new: bool
    """False for a text that the workspace had already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A prompt that a folder and a workspace have differently. A version is empty where there is none."""

    name: str
    folder: str
    live: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    count: int
    """Prompts in the folder."""
    drift: tuple[Drift, ...]
    floating: Mapping[str, tuple[str, ...]]
    """By prompt of the folder, the models that it is written for and that keep it from going live."""


async def export_prompts(store: Store, prompts: Prompts, clock: Clock, workspace: str) -> dict[str, str]:
    """Every live prompt of a workspace with lock and history, by path; the same state gives the same bytes.

    `workspace` is the platform's id. Raises Refusal.
    """
    async with store.writing() as session:
        workspace_id = await _workspace(session, workspace)
        live = await _live(session, prompts, workspace_id)
        history = await workspace_events(session, workspace_id)
        numbers = {
            version.id: version.version
            for standing in (await standings(session, prompts, workspace_id)).values()
            for version in standing.versions
        }
        event = _event(clock, "", PromptEventKind.EXPORT, None, None, "")
        await do_add_event(session, workspace_id, event)
    files = {f"{name}/{file}": text for name, version in live.items() for file, text in version.files.items()}
    files[HISTORY_FILE] = "".join(_line(event, numbers) for event in history)
    files[LOCK_FILE] = lock_text(version.parsed() for version in live.values())
    return files


async def _workspace(session: Session, external_id: str) -> WorkspaceId:
    row = await workspace_anywhere(session, external_id)
    if row is None:
        raise Refusal("workspace_not_found", workspace=external_id)
    return WorkspaceId(row.id)


async def _live(session: Session, prompts: Prompts, workspace_id: WorkspaceId) -> dict[str, StoredPrompt]:
    """What is live in a workspace, by name."""
    found = await standings(session, prompts, workspace_id)
    return {name: standing.live for name, standing in found.items() if standing.live is not None}


def _line(event: PromptEvent, numbers: Mapping[str, str]) -> str:
    """One record, without the texts, which the versions hold."""
    record = {
        "at": event.created_at.isoformat(),
        "prompt": event.name,
        "kind": event.kind.value,
        "from": numbers.get(event.from_id or "", ""),
        "to": numbers.get(event.to_id or "", ""),
        "who": event.who,
        "reason": event.reason,
        "self_approved": event.self_approved,
        "eval_run": event.eval_run_id,
    }
    return json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"


def _event(
    clock: Clock,
    name: str,
    kind: PromptEventKind,
    before: StoredPrompt | None,
    after: StoredPrompt | None,
    reason: str,
) -> PromptEvent:
    """A record of the operator's own doing."""
    return PromptEvent(
        id=clock.new_id(),
        name=name,
        kind=kind,
        from_id=before.id if before else None,
        to_id=after.id if after else None,
        actor_id=None,
        reason=reason,
        before=before.files if before else {},
        after=after.files if after else {},
        created_at=clock.now(),
    )


# --- import ---------------------------------------------------------------------------------------------------------


async def import_prompts(
    store: Store,
    prompts: Prompts,
    clock: Clock,
    workspace: str,
    given: Mapping[str, PromptVersion],
    reason: str,
) -> tuple[Imported, ...]:
    """Take prompts read from files in as proposed versions of a workspace; none goes live by that.

    All or none: raises Refusal for a version number that does not fit, and when somebody saves at the same moment;
    ConfigurationErrors for personal data in examples.
    """
    why = change_reason(reason)
    await asyncio.to_thread(_check_examples, given)
    outcomes = []
    async with store.writing() as session:
        await prompts.ensure_stored(session)
        workspace_id = await _workspace(session, workspace)
        found = await standings(session, prompts, workspace_id)
        for name, prompt in sorted(given.items()):
            known = _known(found.get(name), prompt)
            if known is None:
                known = await _do_import(session, clock, workspace_id, found.get(name), prompt, why)
                outcomes.append(Imported(name=name, version=known.version, new=True))
            else:
                outcomes.append(Imported(name=name, version=known.version, new=False))
    return tuple(outcomes)


def _check_examples(given: Mapping[str, PromptVersion]) -> None:
    problems = [each for prompt in given.values() for each in personal_problems(prompt)]
    if problems:
        raise ConfigurationErrors(problems)


def _known(standing: Standing | None, prompt: PromptVersion) -> StoredPrompt | None:
    """The version that says the same already; the live one first."""
    if standing is None:
        return None
    candidates = [standing.live, *standing.versions, standing.shipped]
    files = to_texts(prompt)
    return next((one for one in candidates if one is not None and not part_diffs(one.files, files)), None)


async def _do_import(
    session: Session,
    clock: Clock,
    workspace_id: WorkspaceId,
    standing: Standing | None,
    prompt: PromptVersion,
    reason: str,
) -> StoredPrompt:
    before = (standing.live or standing.head) if standing else None
    if standing is not None and before is not None:
        newest = max((*standing.own, before), key=lambda one: number_of(one.version)).parsed()
        level = minimum_bump(before.parsed(), prompt).level
        if level is not None:
            check_version(newest, prompt.version, level)
    new = StoredPrompt(
        id=clock.new_id(),
        workspace_id=workspace_id,
        name=prompt.name,
        version=prompt.version,
        seq=standing.own[0].seq + 1 if standing and standing.own else 1,
        sha256=prompt.sha256,
        files=to_texts(prompt),
        parent_id=before.id if before else None,
        author_id=None,
        reason=reason,
        source=PromptSource.IMPORT,
        created_at=clock.now(),
    )
    if not await do_add_version(session, new):
        raise Refusal("prompt_import_meanwhile", name=prompt.name)
    await do_add_event(
        session, workspace_id, _event(clock, prompt.name, PromptEventKind.IMPORT, before, new, reason)
    )
    await do_propose(session, workspace_id, prompt.name, new.id)
    return new


# --- check ----------------------------------------------------------------------------------------------------------


async def drift(
    store: Store, prompts: Prompts, workspace: str, given: Mapping[str, PromptVersion]
) -> tuple[Drift, ...]:
    """Where a folder and what is live in a workspace differ, by name. Raises Refusal."""
    async with store.reading() as session:
        live = await _live(session, prompts, await _workspace(session, workspace))
    found = []
    for name in sorted(live.keys() | given.keys()):
        there, here = live.get(name), given.get(name)
        changed = part_diffs(there.files if there else {}, to_texts(here) if here else {})
        if changed:
            found.append(
                Drift(
                    name=name,
                    folder=here.version if here else "",
                    live=there.version if there else "",
                    parts=tuple(change.file for change in changed),
                )
            )
    return tuple(found)


# --- writing --------------------------------------------------------------------------------------------------------


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Bring a folder to what was exported, the lock last, so that one written half is found out by its check.

    Prompts that an earlier export left there and that are gone now are removed; nothing else in the folder is touched.
    Raises Refusal when it cannot be written.
    """
    try:
        _write(folder, files)
    except OSError as error:
        raise Refusal("folder_not_written", folder=str(folder), reason=error.strerror or "") from None


def _write(folder: Path, files: Mapping[str, str]) -> None:
    kept = set(files)
    for name in _locked_names(folder) | {path.partition("/")[0] for path in files if "/" in path}:
        for old in sorted((folder / name).glob("*")) if (folder / name).is_dir() else ():
            if f"{name}/{old.name}" not in kept and old.is_file():
                old.unlink()
        if not any(path.startswith(f"{name}/") for path in kept) and (folder / name).is_dir():
            (folder / name).rmdir()
    for path in sorted(files, key=lambda path: (path == LOCK_FILE, path)):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.new")
        beside.write_text(files[path], encoding="utf-8", newline="\n")
        beside.replace(target)


def _locked_names(folder: Path) -> set[str]:
    """Prompts of an earlier export; names that could lead out of the folder are none."""
    try:
        locked = json.loads((folder / LOCK_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return set()
    return {
        name for name in locked if isinstance(locked, dict) and "/" not in name and not name.startswith(".")
    }
