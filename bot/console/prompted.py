"""The form of a prompt as what the core takes, and a prompt as its form. Pure.

The text of a part is the field `part.<file>`; a part that was emptied is sent empty and is taken away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.console.parse import Form
from bot.prompt_outline import PARTS
from core.domain.prompt import PartMerge, PromptPage, PromptProblem, PromptText


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


def elsewhere(problems: Sequence[PromptProblem]) -> list[PromptProblem]:
    """Problems of no part in particular."""
    return [problem for problem in problems if problem.file not in PARTS]
