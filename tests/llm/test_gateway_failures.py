"""Every way a provider can misbehave, through the genuine worker: one kind each, with what came before it kept."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core.domain.errors import FailureKind
from core.domain.receipt import Finish
from core.llm.link import WorkerLink
from tests.llm.calls import KEY, QUICK, SECRET, Outcome, make_call, make_gateway, make_model, run
from tests.llm.fake_provider import PARTIAL, TEXT, FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("behaviour", "kind", "retryable", "tries", "partial"),
    [
        ("401", FailureKind.AUTH, False, 1, ""),
        ("403", FailureKind.AUTH, False, 1, ""),
        ("404", FailureKind.MODEL_NOT_FOUND, False, 1, ""),
        ("429", FailureKind.RATE_LIMITED, True, 2, ""),
        ("429-wait-60", FailureKind.RATE_LIMITED, True, 1, ""),
        ("quota", FailureKind.QUOTA, False, 1, ""),
        ("402", FailureKind.QUOTA, False, 1, ""),
        ("400", FailureKind.BAD_REQUEST, False, 1, ""),
        ("context", FailureKind.CONTEXT_TOO_LONG, False, 1, ""),
        ("policy", FailureKind.CONTENT_POLICY, False, 1, ""),
        ("500", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("502", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("503", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("529", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("html-502", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("html", FailureKind.EMPTY, True, 2, ""),
        ("hang", FailureKind.TIMEOUT_FIRST, True, 2, ""),
        ("mute", FailureKind.TIMEOUT_FIRST, True, 2, ""),
        ("keep-alive", FailureKind.TIMEOUT_FIRST, True, 2, ""),
        ("stall", FailureKind.TIMEOUT_IDLE, True, 1, PARTIAL),
        ("keep-alive-after-words", FailureKind.TIMEOUT_IDLE, True, 1, PARTIAL),
        ("drop", FailureKind.INTERRUPTED, True, 1, PARTIAL),
        ("drop-first", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("cut", FailureKind.INTERRUPTED, True, 1, PARTIAL),
        ("cut-done", FailureKind.INTERRUPTED, True, 1, PARTIAL),
        ("error-event", FailureKind.INTERRUPTED, True, 1, PARTIAL),
        ("error-event-first", FailureKind.PROVIDER_DOWN, True, 2, ""),
        ("empty", FailureKind.EMPTY, True, 2, ""),
        ("nothing", FailureKind.EMPTY, True, 2, ""),
        ("only-reasoning", FailureKind.EMPTY, True, 1, ""),
        ("content-filter-empty", FailureKind.CONTENT_POLICY, False, 1, ""),
    ],
)
async def test_each_misbehaviour_has_its_kind_its_tries_and_leaves_nothing_open(
    link: WorkerLink,
    provider: FakeProvider,
    behaviour: str,
    kind: FailureKind,
    retryable: bool,
    tries: int,
    partial: str,
) -> None:
    gateway, registry = make_gateway([make_model(behaviour, provider.base_url)], link)
    outcome = await run(gateway, make_call(behaviour))
    assert outcome.failure is not None
    assert outcome.failure.kind is kind
    assert outcome.failure.retryable is retryable
    assert outcome.failure.partial_text == outcome.text == partial
    assert outcome.started == 1
    assert provider.hits[behaviour] == tries
    assert await provider.all_closed(behaviour, within_s=0.5)
    assert registry.get_sample_value(
        "promptflow_model_calls_total", {"model": behaviour, "outcome": kind.value}
    ) == pytest.approx(1)
    retries = registry.get_sample_value("promptflow_model_retries_total", {"model": behaviour})
    assert (retries or 0) == tries - 1


async def test_a_provider_that_nobody_listens_for_is_unreachable(link: WorkerLink) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        gateway, _ = make_gateway([make_model("refused", base_url)], link)
        outcome = await run(gateway, make_call("refused"))
    assert outcome.failure is not None
    assert outcome.failure.kind is FailureKind.UNREACHABLE
    assert outcome.failure.retryable


async def test_an_unending_answer_is_cut_off_at_the_total_deadline_with_its_text(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("slow", provider.base_url)], link)
    outcome = await run(gateway, make_call("slow"))
    assert outcome.failure is not None
    assert outcome.failure.kind is FailureKind.TIMEOUT_TOTAL
    assert outcome.failure.partial_text.startswith("word0 word1 ")
    assert provider.hits["slow"] == 1
    assert await provider.all_closed("slow", within_s=0.5)


async def test_a_provider_is_asked_again_after_the_wait_it_names(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("429-once", provider.base_url)], link)
    outcome = await run(gateway, make_call("429-once"))
    assert outcome.failure is None
    assert outcome.text == TEXT
    assert outcome.started == 1
    first, second = provider.requests
    assert second["arrived_at"] - first["arrived_at"] >= 0.3
    assert {**first, "arrived_at": 0} == {**second, "arrived_at": 0}, "a second try sends the same bytes"


async def test_a_wait_that_is_too_long_is_handed_on_and_not_waited_for(
    link: WorkerLink, provider: FakeProvider
) -> None:
    patient = replace(QUICK, total_s=200.0)
    gateway, _ = make_gateway([make_model("429-wait-60", provider.base_url)], link, patient)
    async with asyncio.timeout(5):
        outcome = await run(gateway, make_call("429-wait-60"))
    assert outcome.failure is not None
    assert outcome.failure.retry_after_s == pytest.approx(60.0)
    assert provider.hits["429-wait-60"] == 1


async def test_one_failure_of_the_provider_is_made_good_by_the_second_try(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("500-once", provider.base_url)], link)
    outcome = await run(gateway, make_call("500-once"))
    assert outcome.done.finish is Finish.STOP
    assert outcome.text == TEXT
    assert provider.hits["500-once"] == 2


async def test_partial_answers_end_well_when_the_provider_says_why(
    link: WorkerLink, provider: FakeProvider
) -> None:
    models = [make_model(name, provider.base_url) for name in ("length", "content-filter")]
    gateway, _ = make_gateway(models, link)
    cut = await run(gateway, make_call("length"))
    filtered = await run(gateway, make_call("content-filter"))
    assert (cut.done.finish, cut.text) == (Finish.LENGTH, TEXT)
    assert (filtered.done.finish, filtered.text) == (Finish.CONTENT_FILTER, PARTIAL)


@pytest.mark.parametrize(
    "behaviour", ["401", "quota", "context", "policy", "500", "error-event", "drop", "cut", "hang"]
)
async def test_no_key_and_no_message_leaves_through_errors_or_logs(
    link: WorkerLink, provider: FakeProvider, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gateway, _ = make_gateway([make_model(behaviour, provider.base_url)], link)
    outcome = await run(gateway, make_call(behaviour))
    assert provider.requests[0]["authorization"] == f"Bearer {KEY}", "the key did reach the provider"
    assert SECRET in str(provider.requests[0]["messages"]), "and so did the message"
    said = [*_spoken(outcome), *(str(vars(record)) for record in caplog.records), caplog.text]
    assert any(behaviour in text for text in said), "the failure was logged"
    for text in said:
        assert KEY not in text
        assert SECRET not in text


def _spoken(outcome: Outcome) -> Iterator[str]:
    """All that the failure and the exceptions behind it hold."""
    error: BaseException | None = outcome.failure
    while error is not None:
        yield from (repr(error), str(error), str(error.args), str(vars(error)))
        assert "litellm" not in type(error).__module__
        error = error.__cause__ or error.__context__
