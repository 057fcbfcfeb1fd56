import pytest

from core.domain.errors import FailureKind, ModelFailure
from core.llm.breaker import Breaker, BreakerSettings

SETTINGS = BreakerSettings(failures=3, open_s=30.0)


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker(SETTINGS)
    for _ in range(SETTINGS.failures):
        breaker.enter(at)
        breaker.leave(at, FailureKind.UNREACHABLE, heard=False)
    return breaker


def test_it_opens_after_so_many_failures_in_a_row_and_says_why_and_how_long() -> None:
    with pytest.raises(ModelFailure, match="unreachable") as caught:
        opened(at=100.0).enter(110.0)
    assert caught.value.retry_after_s == pytest.approx(20.0)
    assert not caught.value.retryable


@pytest.mark.parametrize("outcome", [None, FailureKind.RATE_LIMITED])
def test_a_word_from_the_provider_in_between_starts_the_count_anew(outcome: FailureKind | None) -> None:
    breaker = Breaker(SETTINGS)
    for kind in (FailureKind.AUTH, FailureKind.AUTH, outcome, FailureKind.AUTH, FailureKind.AUTH):
        breaker.enter(0.0)
        breaker.leave(0.0, kind, heard=True)
    breaker.enter(1.0)


def test_a_cancelled_call_proves_nothing() -> None:
    breaker = Breaker(SETTINGS)
    for kind in (FailureKind.AUTH, FailureKind.AUTH, None, FailureKind.TIMEOUT_FIRST, FailureKind.AUTH):
        breaker.enter(0.0)
        breaker.leave(0.0, kind, heard=False)
    with pytest.raises(ModelFailure, match="auth"):
        breaker.enter(1.0)


def test_after_the_wait_one_call_tries_and_the_others_are_still_refused() -> None:
    breaker = opened()
    breaker.enter(31.0)
    with pytest.raises(ModelFailure, match="unreachable"):
        breaker.enter(31.5)
    breaker.leave(32.0, None, heard=True)
    breaker.enter(32.5)
    breaker.enter(32.5)


def test_a_try_that_fails_opens_it_again_at_once() -> None:
    breaker = opened()
    breaker.enter(31.0)
    breaker.leave(32.0, FailureKind.PROVIDER_DOWN, heard=False)
    with pytest.raises(ModelFailure, match="provider_down"):
        breaker.enter(60.0)
    breaker.enter(62.5)


def test_a_try_that_was_cancelled_lets_the_next_one_try() -> None:
    breaker = opened()
    breaker.enter(31.0)
    breaker.leave(32.0, None, heard=False)
    breaker.enter(33.0)
    with pytest.raises(ModelFailure, match="unreachable"):
        breaker.enter(33.0)
