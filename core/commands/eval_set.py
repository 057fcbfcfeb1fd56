"""Eval sets: the list, one set with its cases, bringing a workspace's own in and taking it out again (spec §10)."""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from core.commands.eval_standing import access_evals, may_hold
from core.commands.prompt_standing import standings
from core.commands.services import Services
from core.domain.errors import ConfigurationError, ConfigurationErrors, Refusal
from core.domain.eval_set import (
    SET_NAME_CHARS,
    TEAM_SETS,
    EvalCaseView,
    EvalSetFiles,
    EvalSetItem,
    EvalSetPage,
    EvalSetVersionView,
    HeldCase,
    SavedEvalSet,
)
from core.domain.ids import WorkspaceId
from core.domain.policy import Action, Actor, Subject, authorise
from core.domain.prompt import change_reason
from core.i18n import reason as reason_in
from core.prompts.eval_file import parse_eval_set
from core.prompts.eval_set import EvalCase, EvalSet, OriginType, warnings
from core.prompts.registry import PromptLibrary
from core.prompts.version import PromptVersion
from core.store.claim import claim, find_settled, settle
from core.store.database import Session
from core.store.eval_quarantine import held_cases
from core.store.eval_set import (
    StoredEvalSet,
    do_add_eval_set,
    eval_set_versions,
    newest_eval_sets,
)

SET_FILE = "set.yaml"
_VERSION = re.compile(r"""(\bversion:\s*["']?)([0-9]{1,6})\b""")
MOST_FILES = 100
MOST_PROBLEMS = 50
"""Told of a set at once."""

# --- looking --------------------------------------------------------------------------------------------------------


async def list_eval_sets(services: Services, actor: Actor) -> tuple[EvalSetItem, ...]:
    """The workspace's own eval sets, then those of the product, by name. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        stored = await newest_eval_sets(session, actor.workspace_id)
    own = [_item(await services.evals.stored(one.name, one.files), one) for one in stored]
    shipped = [_item(one) for _, one in sorted((await services.evals.sets()).items())]
    return (*own, *shipped)


async def show_eval_set(services: Services, actor: Actor, name: str) -> EvalSetPage:
    """One eval set with its cases, and its versions when it is the workspace's own. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    stored, eval_set = await access_eval_set(services, actor.workspace_id, name)
    async with services.store.reading() as session:
        held = await held_cases(session, actor.workspace_id, name)
    now = services.clock.now()
    return EvalSetPage(
        item=_item(eval_set, stored[0] if stored else None),
        cases=tuple(_case(case, held, now) for case in eval_set.cases),
        versions=tuple(
            EvalSetVersionView(
                version=one.version,
                sha256=one.sha256,
                who=one.who,
                reason=one.reason,
                saved_at=one.created_at,
            )
            for one in stored
        ),
        can_edit=bool(stored) and _may_edit(services, actor),
        can_hold=may_hold(services, actor),
    )


async def access_eval_set(
    services: Services, workspace_id: WorkspaceId, name: str
) -> tuple[list[StoredEvalSet], EvalSet]:
    """A set with its stored versions, newest first; none of a shipped one. Raises Refusal."""
    async with services.store.reading() as session:
        stored = await eval_set_versions(session, workspace_id, name)
    shipped = (await services.evals.sets()).get(name)
    if stored:
        return stored, await services.evals.stored(name, stored[0].files)
    if shipped is None:
        raise Refusal("eval_set_not_found", name=name[:100])
    return [], shipped


def _may_edit(services: Services, actor: Actor) -> bool:
    try:
        authorise(actor, Action.EDIT_PROMPT, Subject(visible=True), services.policy(actor.workspace))
    except Refusal:
        return False
    return True


def _item(eval_set: EvalSet, stored: StoredEvalSet | None = None) -> EvalSetItem:
    return EvalSetItem(
        name=eval_set.id,
        version=eval_set.version,
        shipped=stored is None,
        prompts=eval_set.prompts,
        cases=len(eval_set.cases),
        kinds={kind.value: count for kind, count in Counter(c.kind for c in eval_set.cases).items()},
        from_logs=sum(case.origin.type is OriginType.MASKED_LOG for case in eval_set.cases),
        warnings=warnings(eval_set),
        who=stored.who if stored else "",
        reason=stored.reason if stored else "",
        saved_at=stored.created_at if stored else None,
    )


def _case(case: EvalCase, held: Iterable[HeldCase], now: datetime) -> EvalCaseView:
    of_it = tuple(one for one in held if one.case_id == case.id)
    return EvalCaseView(
        case_id=case.id,
        prompt=case.prompt,
        kind=case.kind.value,
        hard=case.is_hard,
        from_log=case.origin.type is OriginType.MASKED_LOG,
        shown=case.shown,
        checks=tuple(check.name for check in case.checks),
        human=case.human,
        held=of_it,
        is_held=any(one.holds(now) for one in of_it),
    )


# --- out and in -----------------------------------------------------------------------------------------------------


async def export_eval_set(services: Services, actor: Actor, name: str) -> EvalSetFiles:
    """The files of one of the workspace's own sets, as its newest version holds them. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    stored, eval_set = await access_eval_set(services, actor.workspace_id, name)
    if not stored:
        raise Refusal("eval_set_shipped", name=name)
    return EvalSetFiles(name=name, version=eval_set.version, files=stored[0].files)


async def import_eval_set(
    services: Services, actor: Actor, files: Mapping[str, bytes], reason: str, *, event_key: str
) -> SavedEvalSet:
    """Take in an eval set from its files by path as the next version of a set of the workspace.

    Raises Refusal, with every problem by file, line and reason; nothing was stored then.
    """
    why = change_reason(reason)
    access_evals(services, actor, Action.EDIT_PROMPT)
    async with services.store.reading() as session:
        settled = await find_settled(session, actor.workspace_id, event_key)
    if settled is not None:
        return SavedEvalSet(name=settled["name"], version=settled["version"], cases=settled["cases"])
    eval_set = await checked_set(services, actor, _name_in(files), files)
    texts = {path: _normal(data) for path, data in files.items()}
    return await save_eval_set(services, actor, eval_set, texts, why, event_key=event_key)


def next_version(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a set with the number that its next version has."""
    head = _VERSION.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", files.get(SET_FILE, ""), count=1)
    return {**files, SET_FILE: head}


def _normal(data: bytes) -> str:
    """As the set was read; what cannot be read was refused."""
    text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text)


def _name_in(files: Mapping[str, bytes]) -> str:
    """The id that `set.yaml` gives itself, by which its folder is called. Raises Refusal for none that can be used."""
    if len(files) > MOST_FILES:
        raise Refusal("eval_set_files", had=len(files), limit=MOST_FILES)
    for line in files.get(SET_FILE, b"").decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "id":
            return set_name(value.partition(" #")[0].strip().strip("\"'"))
    raise Refusal("eval_set_no_id", prefix=TEAM_SETS)


def set_name(text: str) -> str:
    """A name that a set of a workspace can have. Raises Refusal."""
    rest = text.removeprefix(TEAM_SETS)
    plain = all(word.isascii() and word.isalnum() and word == word.lower() for word in rest.split("-"))
    if not text.startswith(TEAM_SETS) or not rest or not plain or len(text) > SET_NAME_CHARS:
        raise Refusal("eval_set_name", name=text[:SET_NAME_CHARS], prefix=TEAM_SETS, limit=SET_NAME_CHARS)
    return text


async def checked_set(services: Services, actor: Actor, name: str, files: Mapping[str, bytes]) -> EvalSet:
    """The set in these files, held against the newest version of every prompt. Raises Refusal with all problems."""
    async with services.store.reading() as session:
        found = await standings(session, services.prompts, actor.workspace_id)
    newest = [standing.head for standing in found.values() if standing.head is not None]

    def parse() -> EvalSet:
        prompts: dict[str, PromptVersion] = {one.name: one.parsed() for one in newest}
        return parse_eval_set(name, files, PromptLibrary(MappingProxyType(prompts)))

    try:
        return await asyncio.to_thread(parse)
    except ConfigurationErrors as errors:
        told = [_told(problem, name, actor.locale) for problem in errors.problems]
        more = len(told) - MOST_PROBLEMS
        shown = [*told[:MOST_PROBLEMS], *(["…"] if more > 0 else [])]
        raise Refusal("eval_set_invalid", count=len(told), problems="\n".join(shown)) from errors


def _told(problem: ConfigurationError, name: str, locale: str) -> str:
    """File, line and reason; the reason in the reader's language where the catalogue has it."""
    place = f"{problem.file}:{problem.line}" if problem.line else problem.file
    return f"{place.removeprefix(f'{name}/')}: {reason_in(locale, problem)}"


async def save_eval_set(
    services: Services,
    actor: Actor,
    eval_set: EvalSet,
    files: Mapping[str, str],
    reason: str,
    *,
    event_key: str,
    sources: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> SavedEvalSet:
    """Store a set that was checked as the next version of its name; `sources` are messages that new cases are made of.

    Raises Refusal for a version that does not come next, and where somebody saved one at the same moment.
    """
    new = StoredEvalSet(
        id=services.clock.new_id(),
        workspace_id=actor.workspace_id,
        name=eval_set.id,
        version=eval_set.version,
        sha256=eval_set.sha256,
        files=files,
        author_id=actor.person_id,
        reason=reason,
        created_at=services.clock.now(),
    )
    saved = SavedEvalSet(
        name=new.name, version=new.version, cases=len(eval_set.cases), warnings=warnings(eval_set)
    )
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is not None:
            return saved
        await _do_add(session, new, {case.id for case in eval_set.cases}, sources)
        outcome = {"name": saved.name, "version": saved.version, "cases": saved.cases}
        await settle(session, actor.workspace_id, (event_key,), outcome)
    return saved


async def _do_add(
    session: Session, new: StoredEvalSet, cases: set[str], sources: Mapping[str, Sequence[str]]
) -> None:
    earlier = await eval_set_versions(session, new.workspace_id, new.name)
    newest = earlier[0].version if earlier else 0
    if earlier and earlier[0].files == new.files:
        raise Refusal("eval_set_unchanged", name=new.name, version=newest)
    if new.version <= newest:
        raise Refusal("eval_set_version", name=new.name, version=new.version, newest=newest)
    # Where a case came from is known for as long as the set has a case of that id.
    known = {case: ids for one in reversed(earlier) for case, ids in one.sources.items()}
    kept = {case: ids for case, ids in {**known, **sources}.items() if case in cases}
    if not await do_add_eval_set(session, replace(new, sources=kept)):
        raise Refusal("eval_set_meanwhile", name=new.name)
