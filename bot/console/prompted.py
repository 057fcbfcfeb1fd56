"""The form of a prompt as what the core takes, and a prompt as its form. Pure.

The text of a part is the field `part.<file>`; a part that was emptied is sent empty and is taken away.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.console.parse import Form
from core.domain.errors import Refusal
from core.domain.prompt import (
    MIN_REASON_CHARS,
    DraftCheck,
    PartChange,
    PartMerge,
    PromptPage,
    PromptProblem,
    PromptText,
    PromptVersionView,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """A prompt in its form."""

    text: PromptText
    reason: str = ""
    version: str = ""
    """Wished for; empty for the least that fits."""
    acknowledged: bool = False
    from_draft: bool = False
    merges: tuple[PartMerge, ...] = ()
    """Parts that others changed meanwhile; the text holds both changes then."""


def text_of(name: str, form: Form) -> PromptText:
    """The text that a form holds."""
    files = {part: form[f"part.{part}"] for part in PARTS if f"part.{part}" in form.fields}
    return PromptText(name=name, base_id=form["base"], head_id=form["head"], files=files)


def typed_in(name: str, form: Form) -> Editing:
    """The form as it was sent."""
    return Editing(
        text=text_of(name, form),
        reason=form["reason"],
        version=form["version"],
        acknowledged="acknowledged" in form.fields,
    )


def begun(page: PromptPage) -> Editing:
    """The form as it opens: the person's draft, or else the version that the page shows."""
    name = page.item.name
    if (draft := page.draft) is not None:
        text = PromptText(name=name, base_id=draft.base_id, head_id=draft.head_id, files=draft.files)
        return Editing(text=text, from_draft=True)
    base = page.shown.version_id if page.shown else page.head_id
    return Editing(text=PromptText(name=name, base_id=base, head_id=page.head_id, files=page.files))


def joined(
    page: PromptPage,
    merges: tuple[PartMerge, ...],
    mine: Mapping[str, str],
    *,
    base_id: str,
    reason: str = "",
) -> Editing:
    """The form that lays a text over what came meanwhile: both changes, as made from the base that holds theirs."""
    files = {**mine, **{merge.file: merge.merged for merge in merges}}
    text = PromptText(name=page.item.name, base_id=base_id, head_id=page.head_id, files=files)
    return Editing(text=text, reason=reason, merges=merges, from_draft=page.draft is not None)


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


def elsewhere(problems: Sequence[PromptProblem]) -> list[PromptProblem]:
    """Problems of no part in particular."""
    return [problem for problem in problems if problem.file not in PARTS]


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
    """The versions with what the reader can do with each; what is older than the live one is rolled back to."""
    live = next((place for place, one in enumerate(page.versions) if one.live), None)
    made = []
    for place, one in enumerate(page.versions):
        newer = live is None or place < live
        made.append(
            Row(
                version=one,
                can_promote=page.can_promote and not one.live and newer,
                can_roll_back=page.can_promote and not one.live and not newer,
                can_verify=page.can_verify and not one.shipped and not one.mine and not one.live,
                previous=page.versions[place + 1].version_id if place + 1 < len(page.versions) else "",
            )
        )
    return made
