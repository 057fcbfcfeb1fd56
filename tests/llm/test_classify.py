from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from core.domain.errors import FailureKind
from core.llm.classify import classify

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class ProviderError(Exception):
    def __init__(self, text: str = "", *, status: int = 0, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.headers = headers or {}


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (401, "", FailureKind.AUTH),
        (403, "", FailureKind.AUTH),
        (403, "blocked by content_filter", FailureKind.CONTENT_POLICY),
        (402, "", FailureKind.QUOTA),
        (400, "Your credit balance is too low", FailureKind.QUOTA),
        (429, "", FailureKind.RATE_LIMITED),
        (404, "", FailureKind.MODEL_NOT_FOUND),
        (413, "", FailureKind.CONTEXT_TOO_LONG),
        (
            400,
            "the request exceeds the available context size: exceed_context_size_error",
            FailureKind.CONTEXT_TOO_LONG,
        ),
        (400, "", FailureKind.BAD_REQUEST),
        (422, "", FailureKind.BAD_REQUEST),
        (408, "", FailureKind.TIMEOUT_FIRST),
        (504, "", FailureKind.TIMEOUT_FIRST),
        (500, "", FailureKind.PROVIDER_DOWN),
        (529, "", FailureKind.PROVIDER_DOWN),
        (500, "Cannot connect to host", FailureKind.UNREACHABLE),
        (0, "", FailureKind.UNKNOWN),
    ],
)
def test_a_status_and_a_text_make_a_kind(status: int, text: str, kind: FailureKind) -> None:
    assert classify(ProviderError(text, status=status), begun=False).kind is kind


def test_the_error_behind_an_error_decides() -> None:
    outer = RuntimeError()
    outer.__cause__ = ProviderError(status=429)
    failure = classify(outer, begun=False)
    assert (failure.kind, failure.retryable) == (FailureKind.RATE_LIMITED, True)


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ProviderError(), ProviderError(status=503)
    first.__cause__, second.__cause__ = second, first
    assert classify(first, begun=False).kind is FailureKind.PROVIDER_DOWN


@pytest.mark.parametrize(
    ("status", "kind"),
    [(500, FailureKind.INTERRUPTED), (401, FailureKind.INTERRUPTED), (429, FailureKind.RATE_LIMITED)],
)
def test_what_breaks_an_answer_that_has_begun_interrupts_it_save_a_verdict(
    status: int, kind: FailureKind
) -> None:
    assert classify(ProviderError(status=status), begun=True).kind is kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Mon, 30 Nov 2026 12:00:20 GMT", 20.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read(header: str, seconds: float | None) -> None:
    error = ProviderError(status=429, headers={"retry-after": header})
    assert classify(error, begun=False, now=NOW).retry_after_s == seconds
