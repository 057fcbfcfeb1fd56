"""Which step of the version number a change of a prompt needs at least (spec §10).

major: callers or the role change. minor: instructions or examples are added, removed or turned around. patch: wording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from core.domain.errors import Refusal
from core.domain.view import Phrase
from core.prompts.parse import SEMVER
from core.prompts.placeholder import placeholders
from core.prompts.schema import optional_fields, without_texts
from core.prompts.version import PromptVersion
from core.prompts.wording import compared_parts, denies_alike, likeness, lines, matcher, numbers, texts

LINE_LIKENESS = 0.6
SYSTEM_LIKENESS = 0.5
LINE_GROWTH = 1.5
"""Line that grew beyond this, or shrank below its inverse, says more or less than before."""

QUOTE = 80
VERSION_CHARS = 40


class Level(StrEnum):
    """A step of a semantic version; the first is the greatest."""

    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    level: Level | None
    """The least step that fits; None when nothing changed, so that there is nothing to save."""
    reasons: tuple[Phrase, ...]
    """Everything that asks for this step; what a smaller one would do for is left out."""


Reason = tuple[Level, Phrase]


def minimum_bump(before: PromptVersion, after: PromptVersion) -> Bump:
    """The least step from `before` to `after`, with the reasons. Version number and date of both do not count."""
    found = [*_interface(before, after), *_role(before, after), *_instructions(before, after)]
    found += [*_examples_and_models(before, after), *_description(before, after)]
    for level in Level:
        if reasons := tuple(phrase for one, phrase in found if one is level):
            return Bump(level=level, reasons=reasons)
    return Bump(level=None, reasons=())


def _reason(level: Level, code: str, **fields: str | int) -> Reason:
    return level, Phrase(key=f"bump.{code}", fields=fields)


# --- major ----------------------------------------------------------------------------------------------------------


def _interface(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    old, new = texts(before), texts(after)
    for part in compared_parts(old, new):
        had, has = placeholders(old.get(part, "")).keys(), placeholders(new.get(part, "")).keys()
        if had != has:
            names = ", ".join(sorted(had ^ has))
            yield _reason(Level.MAJOR, "placeholders", part=part, names=names)
    if names := ", ".join(before.retrusted(after)):
        yield _reason(Level.MAJOR, "trust", names=names)
    old_names, new_names = before.parts.fragments.keys(), after.parts.fragments.keys()
    if names := ", ".join(sorted(old_names ^ new_names)):
        yield _reason(Level.MAJOR, "fragments", names=names)
    if before.parts.output_format != after.parts.output_format:
        formats = {"before": before.parts.output_format.value, "after": after.parts.output_format.value}
        yield _reason(Level.MAJOR, "output_format", **formats)
    else:
        yield from _schema(before, after)


def _schema(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    if before.parts.schema_json == after.parts.schema_json:
        return
    added = optional_fields(without_texts(before.parts.schema_json), without_texts(after.parts.schema_json))
    if added is None:
        yield _reason(Level.MAJOR, "schema")
    elif added:
        yield _reason(Level.MINOR, "schema_fields", names=", ".join(added))
    else:
        yield _reason(Level.PATCH, "schema_texts")


def _role(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    old, new = before.parts.system, after.parts.system
    if old == new:
        return
    old_first, new_first = (next(iter(lines(text)), "") for text in (old, new))
    if likeness(old_first, new_first) < LINE_LIKENESS or likeness(old, new) < SYSTEM_LIKENESS:
        yield _reason(Level.MAJOR, "role")


# --- minor and patch ------------------------------------------------------------------------------------------------


def _instructions(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    old, new = texts(before), texts(after)
    for part in compared_parts(old, new):
        yield from _text(part, old.get(part, ""), new.get(part, ""))


def _text(part: str, old: str, new: str) -> Iterator[Reason]:
    if old == new:
        return
    found: list[Reason] = []
    # Other line ends alone add and remove nothing.
    if "".join(old.split()) != "".join(new.split()):
        before, after = lines(old), lines(new)
        for tag, i1, i2, j1, j2 in matcher(before, after).get_opcodes():
            if tag != "equal":
                found += _changed_lines(part, before[i1:i2], after[j1:j2])
    yield from found or [_reason(Level.PATCH, "wording", part=part)]


def _changed_lines(part: str, before: list[str], after: list[str]) -> Iterator[Reason]:
    if len(before) < len(after):
        yield _reason(Level.MINOR, "lines_added", part=part, line=after[0][:QUOTE])
    elif len(before) > len(after):
        yield _reason(Level.MINOR, "lines_removed", part=part, line=before[0][:QUOTE])
    else:
        for old, new in zip(before, after, strict=True):
            if code := _turned(old, new):
                yield _reason(Level.MINOR, code, part=part, line=new[:QUOTE])


def _turned(old: str, new: str) -> str:
    """How a line says something else than before; empty where only its wording changed."""
    if numbers(old) != numbers(new):
        return "number"
    if not denies_alike(old, new):
        return "negation"
    longer, shorter = max(len(old), len(new)), min(len(old), len(new))
    if longer > LINE_GROWTH * shorter or likeness(old, new) < LINE_LIKENESS:
        return "line_rewritten"
    return ""


def _examples_and_models(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    if before.parts.few_shot != after.parts.few_shot:
        yield _reason(Level.MINOR, "examples")
    if before.parts.target_models != after.parts.target_models:
        yield _reason(Level.MINOR, "target_models")


def _description(before: PromptVersion, after: PromptVersion) -> Iterator[Reason]:
    described = [
        (
            one.name,
            one.description,
            one.eval_set,
            {name: i.description for name, i in one.parts.inputs.items()},
        )
        for one in (before, after)
    ]
    if described[0] != described[1]:
        yield _reason(Level.PATCH, "description")


# --- version numbers ------------------------------------------------------------------------------------------------


def number_of(version: str) -> tuple[int, int, int]:
    """A semantic version in an order that can be compared; raises Refusal for anything else."""
    if not SEMVER.fullmatch(version) or len(version) > VERSION_CHARS:
        raise Refusal("version_not_semantic", given=version[:QUOTE])
    major, minor, patch = (int(number) for number in version.split("."))
    return major, minor, patch


def next_version(version: str, level: Level) -> str:
    """The version one step of that level after `version`."""
    major, minor, patch = number_of(version)
    match level:
        case Level.MAJOR:
            return f"{major + 1}.0.0"
        case Level.MINOR:
            return f"{major}.{minor + 1}.0"
        case Level.PATCH:
            return f"{major}.{minor}.{patch + 1}"


def step(before: str, after: str) -> Level | None:
    """The greatest step between two versions; None when `after` is not the later one."""
    old, new = number_of(before), number_of(after)
    if new <= old:
        return None
    return next(level for level, was, now in zip(Level, old, new, strict=True) if was != now)


def check_version(before: PromptVersion, wanted: str, minimum: Level) -> None:
    """Raises Refusal, which names what is allowed, unless `wanted` comes after the newest version by a step that fits.

    `before` is the newest version there is. An author may take a greater step than `minimum`, never a smaller one.
    """
    newest = before.version
    taken = step(newest, wanted)
    allowed = ", ".join(next_version(newest, level) for level in reversed(_at_least(minimum)))
    if taken is None:
        raise Refusal("version_not_newer", given=wanted, newest=newest, allowed=allowed)
    if taken not in _at_least(minimum):
        raise Refusal("version_step_too_small", given=wanted, newest=newest, allowed=allowed)


def _at_least(minimum: Level) -> list[Level]:
    levels = list(Level)
    return levels[: levels.index(minimum) + 1]
