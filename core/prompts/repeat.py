"""Whether a change brings back what was withdrawn before (spec §10)."""

from collections.abc import Iterator

from core.domain.artifact import Change
from core.prompts.folder import to_texts
from core.prompts.three_way import part_diffs, word_diff
from core.prompts.version import PromptVersion
from core.prompts.wording import likeness, lines, matcher

REPEAT_LIMIT = 0.8
"""From here on a person is reminded why the text was withdrawn."""

_MIN_SAME = 0.5
"""Lines less alike than this are one removed and one added, not one that was reworded."""


def alike(withdrawn: PromptVersion, restored: PromptVersion, now: PromptVersion) -> float:
    """How much of what `withdrawn` had brought into `restored` comes back with `now`, from 0 to 1.

    `restored` is what was rolled back to. Only added text counts, so that another edit of the same lines is none;
    where the withdrawn change took text away and added none, what was taken away.
    """
    if now.sha256 == withdrawn.sha256:
        return 1.0
    for change in (Change.ADDED, Change.REMOVED):
        if brought := list(_pieces(restored, withdrawn, change)):
            return _share(brought, list(_pieces(restored, now, change)))
    return 0.0


def _share(brought: list[str], again: list[str]) -> float:
    """Part of the letters in `brought` that `again` holds, each piece by the one most like it."""
    same = sum(len(piece) * max((likeness(piece, one) for one in again), default=0.0) for piece in brought)
    return same / sum(len(piece) for piece in brought)


def _pieces(before: PromptVersion, after: PromptVersion, change: Change) -> Iterator[str]:
    """Text that was added or removed: whole lines, and of reworded lines only what differs."""
    for part in part_diffs(to_texts(before), to_texts(after)):
        old, new = lines(part.before), lines(part.after)
        for tag, i1, i2, j1, j2 in matcher(old, new).get_opcodes():
            if tag != "equal":
                yield from _differing(old[i1:i2], new[j1:j2], change)


def _differing(old: list[str], new: list[str], change: Change) -> Iterator[str]:
    whole = new if change is Change.ADDED else old
    if len(old) != len(new):
        yield from whole
        return
    for before, after, line in zip(old, new, whole, strict=True):
        if likeness(before, after) < _MIN_SAME:
            yield line
        else:
            yield from (text for kind, text in word_diff(before, after) if kind is change and text.strip())
