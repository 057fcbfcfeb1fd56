"""Files that wait with the form of a mode: between its pages a browser gives them only once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from core.commands.say import Upload
from core.ports import Clock

KEPT_FOR: Final = timedelta(hours=2)
MOST_BYTES: Final = 128_000_000
"""Of all that waits; the oldest goes first. A form that was sent keeps its files, since it may be sent twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    person: str
    uploads: tuple[Upload, ...]
    since: datetime

    @property
    def size_bytes(self) -> int:
        return sum(len(upload.data) for upload in self.uploads)


@dataclass(slots=True)
class HeldFiles:
    """In memory alone: after a restart they are gone, which whoever asks for them is told."""

    clock: Clock
    _held: dict[str, Held] = field(default_factory=dict)

    def of(self, person: str, token: str) -> tuple[Upload, ...] | None:
        """What waits under a token; None when it is gone or somebody else's."""
        self._sweep()
        held = self._held.get(token)
        return held.uploads if held is not None and held.person == person else None

    def hold(self, person: str, uploads: tuple[Upload, ...]) -> str:
        """Keep files; the token under which they wait."""
        token = self.clock.new_id()
        self._held[token] = Held(person=person, uploads=uploads, since=self.clock.now())
        self._sweep()
        return token

    def _sweep(self) -> None:
        self._drop_while(lambda oldest: self.clock.now() - oldest.since > KEPT_FOR)
        self._drop_while(lambda _: sum(held.size_bytes for held in self._held.values()) > MOST_BYTES)

    def _drop_while(self, too_much: Callable[[Held], bool]) -> None:
        while self._held:
            token, oldest = next(iter(self._held.items()))
            if not too_much(oldest):
                return
            del self._held[token]
