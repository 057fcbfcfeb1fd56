"""Prompts in chat and in the console: what is done with a version, and the lines that say how things stand. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core import i18n
from core.domain.errors import Refusal
from core.domain.prompt import (
    MIN_REASON_CHARS,
    DraftCheck,
    PartChange,
    PromptDraftView,
    PromptEventView,
    PromptItem,
    PromptPage,
    PromptStatus,
    PromptText,
    PromptVersionView,
    Withdrawal,
)
from core.domain.view import Phrase

METADATA: Final = "prompt.yaml"
PARTS: Final = (
    "system.md",
    "task.md",
    "fragments.yaml",
    "few_shot.yaml",
    "output.schema.json",
    METADATA,
)
"""In the order in which people read them; every prompt has the last one."""

LEVELS: Final = ("patch", "minor", "major")

_WRITTEN_BY_US = re.compile(r"^(version|last_updated):.*\n?", re.MULTILINE)
_MOVE = re.compile(r"v\S+ → v\S+:")


def raised(check: DraftCheck, page: PromptPage, base_id: str) -> tuple[tuple[str, str], ...]:
    """Greater steps than the change asks for, each with its version: it comes after the base and every own version."""
    before = [_numbers(one) for one in page.versions if not one.shipped or one.version_id == base_id]
    if check.bump not in LEVELS or not before:
        return ()
    numbers = max(before)
    steps = {"minor": (numbers[0], numbers[1] + 1, 0), "major": (numbers[0] + 1, 0, 0)}
    greater = LEVELS[LEVELS.index(check.bump) + 1 :]
    return tuple((level, ".".join(map(str, steps[level]))) for level in greater)


def _numbers(version: PromptVersionView) -> tuple[int, ...]:
    return tuple(int(number) for number in version.version.split("."))


def changed_parts(before: Mapping[str, str], after: Mapping[str, str]) -> list[PartChange]:
    """Parts that differ, in the order of the form; version and date, which the product writes, are no difference."""
    pairs = [(part, _said(part, before), _said(part, after)) for part in PARTS]
    return [PartChange(file=part, before=old, after=new) for part, old, new in pairs if old != new]


def _said(part: str, files: Mapping[str, str]) -> str:
    text = files.get(part, "")
    return _WRITTEN_BY_US.sub("", text) if part == METADATA else text


def opening(page: PromptPage, target: PromptVersionView) -> str:
    """What the reason of a rollback begins with (spec §10)."""
    return f"v{page.item.version} → v{target.version}: "


def rollback_reason(typed: str) -> str:
    """The reason as it was typed. Raises Refusal when nothing follows its opening."""
    said = _MOVE.sub("", typed, count=1).strip()
    if len(said) < MIN_REASON_CHARS:
        raise Refusal("prompt_reason_missing", least=MIN_REASON_CHARS)
    return typed


def version_in(page: PromptPage, version_id: str) -> PromptVersionView:
    """One of the versions of a page. Raises Refusal for any other."""
    for version in page.versions:
        if version.version_id == version_id:
            return version
    raise Refusal("prompt_version_unknown", name=page.item.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A version in the list of versions, and what can be done with it."""

    version: PromptVersionView
    can_promote: bool
    can_roll_back: bool
    can_verify: bool
    previous: str = field(default="")
    """Id of the version before it; empty for the first."""


def rows(page: PromptPage) -> list[Row]:
    """The versions with what the reader can do with each; what is older than the live one is rolled back to where
    it was live before, and of what came as files the newest alone can be made live."""
    live = next((place for place, one in enumerate(page.versions) if one.live), None)
    made = []
    for place, one in enumerate(page.versions):
        back = live is not None and place > live and one.was_live
        made.append(
            Row(
                version=one,
                can_promote=page.can_promote
                and not one.live
                and not back
                and (one.of_release or not one.shipped),
                can_roll_back=page.can_promote and not one.live and back,
                can_verify=page.can_verify and not one.shipped and not one.mine and not one.live,
                previous=page.versions[place + 1].version_id if place + 1 < len(page.versions) else "",
            )
        )
    return made


# --- what is asked for in words -------------------------------------------------------------------------------------

STATUS: Final = "status"
RELOAD: Final = "reload"
EVAL: Final = "eval"

_EVAL = re.compile(r"eval(?:\s+([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+))?", re.IGNORECASE)
_ASKED = re.compile(r"([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)(?:\s+v?(\d+\.\d+\.\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What stands behind `prompts`: nothing, a name with perhaps a version, or a word; `eval` takes a name."""

    name: str = ""
    version: str = ""
    word: str = ""


def asked(typed: str) -> Asked | None:
    """What is asked for; None for a sentence that only begins like it."""
    words = typed.strip()
    if words.lower() in ("", STATUS, RELOAD):
        return Asked(word=words.lower())
    trial = _EVAL.fullmatch(words)
    if trial is not None:
        return Asked(word=EVAL, name=trial[1] or "")
    found = _ASKED.fullmatch(words)
    return Asked(name=found[1], version=found[2] or "") if found else None


def numbered(page: PromptPage, number: str) -> PromptVersionView:
    """The newest version of a page that has a number. Raises Refusal where none has."""
    for version in page.versions:
        if version.version == number:
            return version
    raise Refusal("prompt_version_unknown", name=page.item.name)


# --- editing a part -------------------------------------------------------------------------------------------------


def begun_from(page: PromptPage) -> PromptText:
    """What a form begins with: the person's draft, or else the version that the page shows."""
    draft = page.draft
    if draft is not None:
        return PromptText(
            name=page.item.name, base_id=draft.base_id, head_id=draft.head_id, files=draft.files
        )
    base = page.shown.version_id if page.shown else page.head_id
    return PromptText(name=page.item.name, base_id=base, head_id=page.head_id, files=page.files)


def overtaken(page: PromptPage) -> bool:
    """Whether another version was saved since the person's draft was begun."""
    return page.draft is not None and page.draft.head_id != page.head_id


def typed_part(typed: str, before: str) -> str:
    """A part as it was typed; chat takes the line ends at its end away, and none of them is a change."""
    words = typed.replace("\r\n", "\n")
    if not words.strip():
        return ""
    end = before[len(before.rstrip("\n")) :] if before else "\n"
    return words.rstrip("\n") + end


def both_changes(page: PromptPage, draft: PromptDraftView) -> PromptText:
    """A draft laid over what others saved meanwhile: both changes, made from the newest version."""
    files = {**draft.files, **{merge.file: merge.merged for merge in draft.stale}}
    return PromptText(name=page.item.name, base_id=page.head_id, head_id=page.head_id, files=files)


def edit_page(name: str) -> str:
    """The console's page on which a prompt of any size is edited."""
    return f"/prompts/{name}/edit"


# --- lines: nothing in them is inert yet ----------------------------------------------------------------------------


def part_title(file: str, locale: str) -> str:
    return i18n.text(locale, f"console.part_{re.sub(r'[^a-z0-9]', '_', file)}")


def item_facts(item: PromptItem, locale: str) -> str:
    """How a prompt stands, on one line."""
    facts = [i18n.text(locale, f"prompt_state.{item.state.value}")]
    if item.version:
        facts.insert(0, _c(locale, "prompt_live_is", version=item.version))
    if item.candidate_version:
        facts.append(_c(locale, "prompt_proposed_is", version=item.candidate_version))
    if item.has_draft:
        facts.append(_c(locale, "prompt_draft_mark"))
    if item.broken:
        facts.append(f"⚠️ {_c(locale, 'prompt_broken')}")
    return " · ".join(facts)


def page_lines(page: PromptPage, locale: str) -> list[str]:
    """Description and state of a prompt, and what is wrong with it."""
    item = page.item
    lines = [item.description, item_facts(item, locale)]
    if item.eval_set:
        lines.append(f"{_c(locale, 'prompt_eval_set')}: {item.eval_set}")
    if page.four_eyes:
        lines.append(_c(locale, "prompt_four_eyes"))
    if item.broken:
        lines.append(_c(locale, "prompt_broken_means"))
        lines += [i18n.phrase(locale, one) for one in item.broken]
    if page.draft is not None:
        lines.append(_c(locale, "prompt_draft_is"))
    return [line for line in lines if line]


def version_title(version: PromptVersionView, locale: str) -> str:
    """Number and standing of a version, short enough for a menu."""
    marks = [
        _c(locale, key)
        for key, holds in (
            ("prompt_live", version.live),
            ("prompt_proposed", version.candidate),
            ("prompt_shipped", version.shipped),
            ("prompt_withdrawn_mark", version.withdrawn is not None),
        )
        if holds
    ]
    return " · ".join((version.version, *marks, f"{version.created_at:%Y-%m-%d}"))


def version_lines(version: PromptVersionView, locale: str) -> list[str]:
    """Who made a version, when and why, who looked at it, and what became of it."""
    source = i18n.text(locale, f"prompt_source.{version.source.value}")
    facts = [version_title(version, locale), source, *([version.author] if version.author else [])]
    lines = [" · ".join(facts), version.reason]
    if version.verified_by:
        lines.append(_c(locale, "prompt_verified_by", who=", ".join(version.verified_by)))
    elif not version.shipped:
        lines.append(_c(locale, "prompt_verified_by_nobody"))
    if version.self_approved:
        lines.append(_c(locale, "prompt_self_approved"))
    if version.overridden:
        lines.append(f"{_c(locale, 'prompt_overridden')} {version.overridden}")
    if version.withdrawn is not None:
        lines += withdrawal_lines(version.withdrawn, locale)
    return [line for line in lines if line]


def withdrawal_lines(withdrawn: Withdrawal, locale: str) -> list[str]:
    said = _c(
        locale, "prompt_withdrawn", who=withdrawn.who, version=withdrawn.version, to=withdrawn.to_version
    )
    return [f"⚠️ {said} ({withdrawn.at:%Y-%m-%d})", withdrawn.reason]


def check_lines(check: DraftCheck, locale: str) -> list[str]:
    """What is known about a text: problems, or else the step it needs and what there is to think of."""
    if check.problems:
        problems = [f"• {problem}" for problem in check.problems]
        return [_c(locale, "prompt_problems", count=len(problems)), *problems]
    if not check.changed:
        return [_c(locale, "prompt_nothing_changed")]
    lines = []
    if check.bump:
        level = _c(locale, f"level_{check.bump}")
        lines += [_c(locale, "prompt_needs", level=level), *_points(check.because, locale)]
    for key, phrases in (("prompt_blocked", check.blocked), ("prompt_warnings", check.warnings)):
        if phrases:
            lines += [_c(locale, key), *_points(phrases, locale)]
    if check.withdrawn is not None:
        lines += withdrawal_lines(check.withdrawn, locale)
    return lines


def _points(phrases: Sequence[Phrase], locale: str) -> list[str]:
    return [f"• {i18n.phrase(locale, one)}" for one in phrases]


def steps(check: DraftCheck, page: PromptPage, base_id: str, locale: str) -> list[tuple[str, str]]:
    """The versions that a text may be saved as, the least first, each with its label."""
    if not check.bump:
        return []
    least = _c(locale, "prompt_version_least", version=check.version, level=_c(locale, f"level_{check.bump}"))
    greater = [
        (
            version,
            _c(locale, "prompt_version_raised", version=version, level=_c(locale, f"level_{level}")),
        )
        for level, version in raised(check, page, base_id)
    ]
    return [(check.version, least), *greater]


def event_line(event: PromptEventView, locale: str) -> str:
    """One record of a history: when, what, between which versions, by whom and why."""
    kind = i18n.text(locale, f"prompt_event.{event.kind.value}")
    versions = " → ".join(one for one in (event.from_version, event.to_version) if one)
    facts = [f"{event.at:%Y-%m-%d %H:%M} UTC", " ".join((kind, versions)).strip(), event.who]
    if event.self_approved:
        facts.append(_c(locale, "prompt_self_approved"))
    return " · ".join(one for one in facts if one) + (f": {event.reason}" if event.reason else "")


def history_document(name: str, events: Sequence[PromptEventView], locale: str) -> str:
    """The whole history with every text before and after."""
    sections = [f"# {_c(locale, 'prompt_history_of', name=name)}"]
    for event in events:
        sections.append(f"## {event_line(event, locale)}")
        sections += [
            f"### {change.file}\n\n{_fenced(change.before)}\n\n{_fenced(change.after)}"
            for change in event.changes
        ]
    return "\n\n".join(sections) + "\n"


def parts_document(title: str, files: Mapping[str, str]) -> str:
    """Every part of a text to the letter."""
    held = [f"## {part}\n\n{_fenced(files[part])}" for part in PARTS if part in files]
    return "\n\n".join((f"# {title}", *held)) + "\n"


def _fenced(text: str) -> str:
    """A text between fences that are longer than any within it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def status_lines(status: PromptStatus, locale: str) -> Iterator[str]:
    """A line for each process: what it has loaded, and whether that is the newest."""
    yield _c(locale, "prompt_processes_mean", generation=status.generation)
    for one in status.processes:
        if one.error:
            state = f"⚠️ {_c(locale, 'prompt_process_error')}: {one.error}"
        elif one.current:
            state = _c(locale, "prompt_process_current")
        else:
            state = _c(locale, "prompt_process_behind", generation=one.generation)
        loaded = f"{_c(locale, 'prompt_process_loaded')} {one.loaded_at:%Y-%m-%d %H:%M:%S} UTC"
        yield f"{one.host} {one.pid} · {state} · {loaded}"


def _c(locale: str, name: str, /, **fields: str | float) -> str:
    """Words that the console says in the same way."""
    return i18n.text(locale, f"console.{name}", **fields)
