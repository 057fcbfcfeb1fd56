"""Everything the product raises on purpose.

PromptflowError
├── Refusal            a person asked for something that is not allowed; the text comes from the catalogue
├── ConfigurationError a file or setting cannot be used; names file, line and reason
│   └── ConfigurationErrors  everything wrong that one pass over the files found
└── UpstreamFailure    something outside did not do its part; may be worth a retry
    ├── ModelFailure     a model call ended without a complete answer
    ├── PlatformFailure  a chat platform refused or did not answer
    └── StoreUnavailable the database did not answer in time

Anything else that is raised is a bug and is not caught before the edge of a run or a request.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType


class PromptflowError(Exception):
    """Root of the tree."""


class Refusal(PromptflowError):
    """A request that the rules do not allow; nothing was stored.

    `code` names the sentence `refusal.<code>` of the catalogue, `fields` fill its placeholders.
    """

    def __init__(self, code: str, **fields: str | float) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


class ConfigurationError(PromptflowError):
    """A configuration or prompt file that cannot be used. `line` counts from 1; 0 when no line applies.

    `reason` is English. Where people edit such a file in the product, `code` names the sentence `problem.<code>` of
    the catalogue, and `fields` fill its placeholders.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        *,
        line: int = 0,
        code: str = "",
        fields: Mapping[str, str | float] = MappingProxyType({}),
    ) -> None:
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason
        self.code = code
        self.fields = fields


class ConfigurationErrors(ConfigurationError):
    """Everything that one pass found wrong, in reading order; file, line and reason are those of the first."""

    def __init__(self, problems: Sequence[ConfigurationError]) -> None:
        first = problems[0]
        super().__init__(first.file, first.reason, line=first.line, code=first.code, fields=first.fields)
        self.args = ("\n".join(str(problem) for problem in problems),)
        self.problems = tuple(problems)


class UpstreamFailure(PromptflowError):
    """Something outside the process failed. `retry_after_s` is what it asked us to wait, when it said so."""

    def __init__(self, reason: str, *, retryable: bool, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class FailureKind(StrEnum):
    """Why a model call ended without a complete answer; one sentence each, `model_failure.<kind>`."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    CONTEXT_TOO_LONG = "context_too_long"
    CONTENT_POLICY = "content_policy"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    UNREACHABLE = "unreachable"
    PROVIDER_DOWN = "provider_down"
    TIMEOUT_FIRST = "timeout_first"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    INTERRUPTED = "interrupted"
    EMPTY = "empty"
    OVERLOADED = "overloaded"
    MALFORMED = "malformed"
    """Structured output that did not satisfy its schema, also after one repair."""
    UNKNOWN = "unknown"


class ModelFailure(UpstreamFailure):
    """A model call that failed. Carries no provider text and no key, only the kind and what was received.

    `partial_text` is the answer as far as it came, empty when nothing came.
    """

    def __init__(
        self,
        kind: FailureKind,
        *,
        retryable: bool = False,
        partial_text: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(kind.value, retryable=retryable, retry_after_s=retry_after_s)
        self.kind = kind
        self.partial_text = partial_text


class PlatformFailure(UpstreamFailure):
    """A chat platform refused a call or did not answer. `code` is the platform's own error code."""

    def __init__(self, code: str, *, retryable: bool, retry_after_s: float | None = None) -> None:
        super().__init__(code, retryable=retryable, retry_after_s=retry_after_s)
        self.code = code


class StoreUnavailable(UpstreamFailure):
    """The database is locked, full or away; the same command may be given again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, retryable=True)
