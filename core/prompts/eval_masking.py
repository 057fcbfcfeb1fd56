"""Cases and outputs without personal data, before a case leaves and before an output is stored (spec §10)."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from core.domain.ids import WorkspaceId
from core.prompts.eval_set import EvalCase, OriginType
from core.prompts.masking import Masked, Personal, ToCheck, mask


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedThrough:
    """A case without the personal data that was found, and the report of it."""

    case: EvalCase
    counts: Mapping[Personal, int]
    to_check: tuple[ToCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Masker:
    """Replaces the personal data of one workspace: the same by the same token, whatever its notation."""

    key: bytes
    names: tuple[str, ...]
    """Of the workspace's people; looked for in what comes from real threads."""

    @classmethod
    def of(cls, workspace_id: WorkspaceId, names: Sequence[str]) -> "Masker":
        # The id is random, stays inside, and lasts: tokens of different evaluations agree, of workspaces do not.
        return cls(key=hashlib.sha256(f"masking\0{workspace_id}".encode()).digest(), names=tuple(names))

    def case(self, case: EvalCase) -> tuple[EvalCase, Mapping[Personal, int]]:
        """What may leave of a case, and what was masked. A made-up case is nobody's and leaves as it is."""
        if case.origin.type is OriginType.SYNTHETIC:
            return case, {}
        looked = self.look(case)
        return looked.case, looked.counts

    def look(self, case: EvalCase) -> "LookedThrough":
        """A case that comes from a real thread, and the report of what was masked and what a person should look at."""
        found: list[Masked] = []
        inputs, source = self._masked(dict(case.inputs), found), self._masked(case.source, found)
        counts: Counter[Personal] = Counter()
        for one in found:
            counts.update(one.counts)
        return LookedThrough(
            case=replace(case, inputs=inputs, source=source),
            counts=counts,
            to_check=tuple(check for one in found for check in one.to_check),
        )

    def output(self, case: EvalCase, text: str) -> str:
        """What may be stored of an answer."""
        return mask(text, key=self.key, names=self._names(case)).text

    def _names(self, case: EvalCase) -> tuple[str, ...]:
        return () if case.origin.type is OriginType.SYNTHETIC else self.names

    def _masked(self, value: Any, found: list[Masked]) -> Any:
        if isinstance(value, str):
            masked = mask(value, key=self.key, names=self.names)
            found.append(masked)
            return masked.text
        if isinstance(value, tuple | list):
            return type(value)(self._masked(one, found) for one in value)
        if isinstance(value, Mapping):
            return {name: self._masked(one, found) for name, one in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            parts = {one.name: self._masked(getattr(value, one.name), found) for one in fields(value)}
            return replace(value, **parts)
        return value
