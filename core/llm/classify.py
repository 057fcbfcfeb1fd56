"""What kind of failure a provider's error is. Reads errors, and hands on no word of them.

Works by the names of the error classes, by status codes and, last, by text, because the library reports one and the
same refusal under different classes for different providers. The text is only searched: it can hold what people
wrote and what the provider knows of our key.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from core.domain.errors import FailureKind

_CHAIN_LIMIT: Final = 8
_QUOTA_WORDS: Final = (
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "billing_hard_limit",
)
_KEY_WORDS: Final = ("api key not valid", "api_key_invalid")
_POLICY_WORDS: Final = (
    "content_filter",
    "content management policy",
    "content_policy",
    "responsibleaipolicy",
)
_CONTEXT_WORDS: Final = (
    "context_length",
    "context length",
    "context window",
    "exceed_context_size",
    "too many tokens",
)
_UNREACHABLE_WORDS: Final = (
    "connection error",
    "cannot connect",
    "name or service not known",
    "connect call failed",
)
_TIMEOUTS: Final = frozenset({"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"})
_BROKEN: Final = frozenset(
    {"MidStreamFallbackError", "APIConnectionError", "TransportError", "ClientPayloadError", "OpenAIError"}
)
_RETRYABLE: Final = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.UNREACHABLE,
        FailureKind.PROVIDER_DOWN,
        FailureKind.TIMEOUT_FIRST,
        FailureKind.INTERRUPTED,
    }
)
# Kinds that say what the provider thinks of the request itself, whenever it says so.
_VERDICTS: Final = frozenset(
    {FailureKind.CONTENT_POLICY, FailureKind.QUOTA, FailureKind.RATE_LIMITED, FailureKind.CONTEXT_TOO_LONG}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    kind: FailureKind
    retryable: bool
    retry_after_s: float | None = None


def classify(error: BaseException, *, begun: bool, now: datetime | None = None) -> Failure:
    """The failure that `error` means; `begun` says that part of the answer had already come.

    Once an answer has begun, whatever breaks it is INTERRUPTED, save a verdict on the request itself.
    """
    chain = tuple(_chain(error))
    kind = _kind(chain)
    if begun and kind not in _VERDICTS:
        kind = FailureKind.INTERRUPTED
    wait_s = _retry_after_s(chain, now or datetime.now(UTC))
    return Failure(kind=kind, retryable=kind in _RETRYABLE, retry_after_s=wait_s)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those it was made from, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < _CHAIN_LIMIT:
        seen.add(id(current))
        yield current
        original = getattr(current, "original_exception", None)
        current = (
            original if isinstance(original, BaseException) else current.__cause__ or current.__context__
        )


def _kind(chain: tuple[BaseException, ...]) -> FailureKind:
    names = {base.__name__ for error in chain for base in type(error).__mro__}
    words = " ".join(f"{error} {getattr(error, 'code', '')}" for error in chain).lower()
    status = next((s for s in (getattr(e, "status_code", 0) for e in chain) if isinstance(s, int) and s), 0)
    verdict = _verdict(names, words, status)
    if verdict is not None:
        return verdict
    if any(w in words for w in _UNREACHABLE_WORDS) or names & {"ClientConnectorError", "ConnectError"}:
        return FailureKind.UNREACHABLE
    if 400 <= status < 500 and status != 408:
        return FailureKind.BAD_REQUEST
    if names & _TIMEOUTS or status in (408, 504):
        return FailureKind.TIMEOUT_FIRST
    if status >= 500 or names & _BROKEN:
        return FailureKind.PROVIDER_DOWN
    return FailureKind.UNKNOWN


def _verdict(names: set[str], words: str, status: int) -> FailureKind | None:
    """What the provider said about us or the request; None when it said nothing of the kind."""
    if "ContentPolicyViolationError" in names or (
        status in (400, 403) and any(w in words for w in _POLICY_WORDS)
    ):
        return FailureKind.CONTENT_POLICY
    if "ContextWindowExceededError" in names or status == 413 or _is_context(words, status):
        return FailureKind.CONTEXT_TOO_LONG
    if status == 402 or (status in (400, 403, 429) and any(w in words for w in _QUOTA_WORDS)):
        return FailureKind.QUOTA
    if "RateLimitError" in names or status == 429 or (not status and "rate_limit" in words):
        return FailureKind.RATE_LIMITED
    refused = status == 400 and any(w in words for w in _KEY_WORDS)
    if refused or names & {"AuthenticationError", "PermissionDeniedError"} or status in (401, 403):
        return FailureKind.AUTH
    if "NotFoundError" in names or status == 404:
        return FailureKind.MODEL_NOT_FOUND
    return None


def _is_context(words: str, status: int) -> bool:
    return status == 400 and any(w in words for w in _CONTEXT_WORDS)


def _retry_after_s(chain: tuple[BaseException, ...], now: datetime) -> float | None:
    """Seconds that the provider asked us to wait, from its Retry-After header: a number or a date."""
    for error in chain:
        for headers in (
            getattr(getattr(error, "response", None), "headers", None),
            getattr(error, "litellm_response_headers", None),
            getattr(error, "headers", None),
        ):
            raw = headers.get("retry-after") if isinstance(headers, Mapping) else None
            if raw:
                return _seconds(str(raw), now)
    return None


def _seconds(raw: str, now: datetime) -> float | None:
    try:
        seconds = float(raw)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        then = parsedate_to_datetime(raw)
    except ValueError:
        return None
    return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds())
