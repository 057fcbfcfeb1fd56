"""Two edits of one base laid over each other, and what one text changed in another: plain data, part by part.

Texts come as `to_texts` of core/prompts/folder.py gives them, or as people typed them. Version number and date in
prompt.yaml are written by the product, so they are no change.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from core.domain.artifact import Change
from core.domain.prompt import PartChange, PartMerge
from core.prompts.parse import FILES, METADATA
from core.prompts.wording import matcher, tokens

MINE, MIDDLE, THEIRS = "<<<<<<< mine", "=======", ">>>>>>> theirs"

_WRITTEN_BY_US = re.compile(r"^(version|last_updated):.*\n?", re.MULTILINE)

Texts = Mapping[str, str]


class Side(StrEnum):
    """Who changed a part."""

    MINE = "mine"
    THEIRS = "theirs"
    BOTH_ALIKE = "both_alike"
    MERGED = "merged"
    """Both, in different places."""
    CONFLICT = "conflict"


def part_diffs(before: Texts, after: Texts) -> tuple[PartChange, ...]:
    """Parts that differ, in the order of a prompt's files; `core.domain.artifact.diff` gives their lines."""
    changes = (
        PartChange(file=file, before=_shown(file, before), after=_shown(file, after))
        for file in _files(before, after)
    )
    return tuple(one for one in changes if one.before != one.after)


def word_diff(before: str, after: str) -> tuple[tuple[Change, str], ...]:
    """What changed within a line: runs of text that are the same, removed or added, in reading order."""
    old, new = tokens(before), tokens(after)
    runs: list[tuple[Change, str]] = []
    for tag, i1, i2, j1, j2 in matcher(old, new).get_opcodes():
        if tag == "equal":
            runs.append((Change.SAME, "".join(old[i1:i2])))
            continue
        runs += [(Change.REMOVED, "".join(old[i1:i2]))] if i2 > i1 else []
        runs += [(Change.ADDED, "".join(new[j1:j2]))] if j2 > j1 else []
    return tuple(runs)


def three_way(base: Texts, mine: Texts, theirs: Texts) -> tuple[PartMerge, ...]:
    """Every part that at least one side changed, in the order of a prompt's files.

    Where both changed the same lines, `merged` holds both texts between marks, which no prompt can be saved with.
    """
    merges = (
        _merge(file, *(_shown(file, texts) for texts in (base, mine, theirs)))
        for file in _files(base, mine, theirs)
    )
    return tuple(one for one in merges if not one.base == one.mine == one.theirs)


def side(merge: PartMerge) -> Side:
    if merge.conflicts:
        return Side.CONFLICT
    if merge.mine == merge.theirs:
        return Side.BOTH_ALIKE
    if merge.mine == merge.base:
        return Side.THEIRS
    return Side.MINE if merge.theirs == merge.base else Side.MERGED


def _files(*texts: Texts) -> list[str]:
    named = {file for one in texts for file in one}
    return [file for file in FILES if file in named] + sorted(named.difference(FILES))


def _shown(file: str, texts: Texts) -> str:
    text = texts.get(file, "")
    return _WRITTEN_BY_US.sub("", text) if file == METADATA else text


def _merge(file: str, base: str, mine: str, theirs: str) -> PartMerge:
    merged: list[str] = []
    conflicts = 0
    for was, ours, others in _regions(*(text.splitlines() for text in (base, mine, theirs))):
        if ours in (was, others):
            merged += others
        elif others == was:
            merged += ours
        else:
            conflicts += 1
            merged += [MINE, *ours, MIDDLE, *others, THEIRS]
    return PartMerge(
        file=file,
        base=base,
        mine=mine,
        theirs=theirs,
        merged="".join(f"{line}\n" for line in merged),
        conflicts=conflicts,
    )


def _regions(
    base: list[str], mine: list[str], theirs: list[str]
) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """The three texts cut at the lines that stand in all of them: by turns what may differ and what is the same."""
    kept_by_me = _kept(base, mine)
    kept_by_them = _kept(base, theirs)
    at = mine_at = theirs_at = 0
    for line in [n for n in range(len(base)) if n in kept_by_me and n in kept_by_them]:
        mine_line, theirs_line = kept_by_me[line], kept_by_them[line]
        yield base[at:line], mine[mine_at:mine_line], theirs[theirs_at:theirs_line]
        yield [base[line]], [mine[mine_line]], [theirs[theirs_line]]
        at, mine_at, theirs_at = line + 1, mine_line + 1, theirs_line + 1
    yield base[at:], mine[mine_at:], theirs[theirs_at:]


def _kept(base: list[str], text: list[str]) -> dict[int, int]:
    """Lines of the base that stand in the text, as their places in both."""
    return {
        block.a + n: block.b + n
        for block in matcher(base, text).get_matching_blocks()
        for n in range(block.size)
    }
