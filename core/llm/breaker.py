"""Stops asking a model that does not answer anyone, and finds out when it does again."""

from dataclasses import dataclass
from typing import Final

from core.domain.errors import FailureKind, ModelFailure

TRIPPING: Final = frozenset({FailureKind.UNREACHABLE, FailureKind.PROVIDER_DOWN, FailureKind.AUTH})


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    failures: int = 5
    """Failures in a row, of the kinds in TRIPPING, that open it."""
    open_s: float = 30.0
    """Time until one call may try again; the others are refused until that one is back."""


class Breaker:
    """For one model. All times are the loop's, in seconds."""

    def __init__(self, settings: BreakerSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._open_until: float | None = None
        self._probing = False
        self._kind = FailureKind.UNKNOWN

    def enter(self, now: float) -> None:
        """Let a call pass, or raise ModelFailure of the kind that opened it with the time left to wait."""
        if self._open_until is None:
            return
        if now < self._open_until or self._probing:
            wait_s = max(0.0, self._open_until - now)
            raise ModelFailure(self._kind, retryable=False, retry_after_s=wait_s)
        self._probing = True

    def leave(self, now: float, outcome: FailureKind | None, *, heard: bool) -> None:
        """Note how a call that passed ended: with a failure of `outcome`, or well with None.

        `heard` is False when it ended without a word from the provider, as on a cancel: that proves nothing.
        """
        self._probing = False
        if outcome in TRIPPING:
            self._failures += 1
            self._kind = outcome
            if self._failures >= self._settings.failures:
                self._open_until = now + self._settings.open_s
        elif heard:
            self._failures = 0
            self._open_until = None
