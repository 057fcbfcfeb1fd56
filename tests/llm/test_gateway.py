"""What a call brings when things go well, through the genuine worker, and what it leaves behind."""

import asyncio
import os
from contextlib import aclosing, suppress
from dataclasses import replace

import pytest

from core.domain.errors import FailureKind, ModelFailure
from core.domain.receipt import Finish, InputImage, InputPart, Origin, Role
from core.llm.admission import AdmissionSettings
from core.llm.breaker import BreakerSettings
from core.llm.doctor import probe
from core.llm.link import LinkSettings, WorkerLink
from core.ports import ReasoningDelta, Started, TextDelta
from tests.llm.calls import KEY, QUICK, make_call, make_gateway, make_input, make_model, run
from tests.llm.fake_provider import PARTIAL, TEXT, FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="session")


def part(
    role: Role, text: str, origin: Origin = Origin.HISTORY, images: tuple[InputImage, ...] = ()
) -> InputPart:
    return InputPart(role=role, origin=origin, text=text, images=images)


async def test_the_provider_gets_exactly_the_parts_in_order_with_the_models_key(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("fine", provider.base_url)], link)
    ai_input = replace(
        make_input(
            part(Role.SYSTEM, "Be brief.", Origin.SYSTEM_PROMPT),
            part(Role.USER, "⟦person: Aiko⟧\n質問です 🙂"),
            part(Role.ASSISTANT, "回答です"),
            part(Role.USER, "second"),
            part(Role.USER, "third", Origin.REQUEST),
        ),
        params={"temperature": 0.2, "max_tokens": 99},
    )
    outcome = await run(gateway, make_call("fine", ai_input=ai_input))
    sent = provider.requests[0]
    assert outcome.text == TEXT
    assert sent["messages"] == [{"role": p.role.value, "content": p.text} for p in ai_input.parts]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("fine", 0.2, 99)
    assert sent["authorization"] == f"Bearer {KEY}"


async def test_events_come_in_order_and_done_tells_usage_model_and_times(
    link: WorkerLink, provider: FakeProvider
) -> None:
    model = make_model("fine", provider.base_url, input_price=2.0, output_price=10.0)
    gateway, registry = make_gateway([model], link)
    outcome = await run(gateway, make_call("fine"))
    kinds = [type(event) for event in outcome.events]
    assert kinds[0] is Started
    assert set(kinds[1:-1]) == {TextDelta}
    done = outcome.done
    assert done.finish is Finish.STOP
    assert done.reported_model_id == "fine-2026-11-30"
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.estimated) == (40, 5, False)
    assert done.usage.cost_usd == pytest.approx((40 * 2.0 + 5 * 10.0) / 1_000_000)
    assert 0 < done.first_delta_s <= done.total_s
    labels = {"model": "fine"}
    assert registry.get_sample_value("promptflow_model_cost_usd_total", labels) == pytest.approx(0.00013)
    assert registry.get_sample_value("promptflow_model_tokens_total", {**labels, "direction": "input"}) == 40
    assert registry.get_sample_value("promptflow_model_first_delta_seconds_count", labels) == 1
    assert registry.get_sample_value("promptflow_model_active_calls") == 0
    assert registry.get_sample_value("promptflow_model_worker_ready") == 1


async def test_without_a_price_the_cost_is_unknown_and_counted_as_such(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, registry = make_gateway([make_model("fine", provider.base_url)], link)
    outcome = await run(gateway, make_call("fine"))
    assert outcome.done.usage.cost_usd is None
    assert registry.get_sample_value("promptflow_model_unpriced_calls_total", {"model": "fine"}) == 1


async def test_a_provider_that_reports_no_usage_is_estimated_and_said_to_be(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("no-usage", provider.base_url)], link)
    usage = (await run(gateway, make_call("no-usage"))).done.usage
    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


async def test_the_estimate_learns_from_what_a_model_reports_within_bounds(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("fine", provider.base_url)], link)
    assert gateway.correction("fine") == 1.0
    await run(gateway, make_call("fine"))
    first = gateway.correction("fine")
    for _ in range(12):
        await run(gateway, make_call("fine"))
    assert 1.0 < first < gateway.correction("fine") == pytest.approx(1.6)
    assert gateway.correction("demo-sage") == 1.0


@pytest.mark.parametrize("behaviour", ["reasoning", "think-tags"])
async def test_reasoning_is_kept_apart_from_the_answer(
    link: WorkerLink, provider: FakeProvider, behaviour: str
) -> None:
    gateway, _ = make_gateway([make_model(behaviour, provider.base_url)], link)
    outcome = await run(gateway, make_call(behaviour))
    assert outcome.reasoning == "First I think."
    assert outcome.text == TEXT
    kinds = [type(event) for event in outcome.events[1:-1]]
    assert kinds == sorted(kinds, key=lambda kind: kind is not ReasoningDelta)


async def test_a_refusal_of_the_model_is_its_answer(link: WorkerLink, provider: FakeProvider) -> None:
    gateway, _ = make_gateway([make_model("refusal", provider.base_url)], link)
    assert (await run(gateway, make_call("refusal"))).text == "I cannot help with that."


async def test_a_model_that_repeats_itself_is_no_error(link: WorkerLink, provider: FakeProvider) -> None:
    gateway, _ = make_gateway([make_model("same-words", provider.base_url)], link)
    assert (await run(gateway, make_call("same-words"))).text == "ha " * 150


async def test_a_model_that_does_not_stream_answers_in_one_piece(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("fine", provider.base_url, streaming=False)], link)
    outcome = await run(gateway, make_call("fine"))
    assert [event.text for event in outcome.events if isinstance(event, TextDelta)] == [TEXT]
    assert outcome.done.usage.input_tokens == 40
    assert "stream" not in provider.requests[0] or not provider.requests[0]["stream"]


async def test_images_are_sent_with_the_part_they_belong_to(link: WorkerLink, provider: FakeProvider) -> None:
    gateway, _ = make_gateway([make_model("fine", provider.base_url, vision=True)], link)
    image = InputImage(name="a.png", media_type="image/png", sha256="ab")
    ai_input = make_input(part(Role.USER, "What is this?", Origin.REQUEST, images=(image,)))
    call = replace(make_call("fine", ai_input=ai_input), images={"ab": b"\x89PNG" + bytes(300_000)})
    await run(gateway, call)
    text, picture = provider.requests[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORwAAAA")


async def test_deltas_reach_the_caller_while_the_provider_is_still_writing(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("half-gated", provider.base_url)], link)
    seen = ""
    async with asyncio.timeout(5), aclosing(gateway.stream(make_call("half-gated"))) as events:
        async for event in events:
            seen += event.text if isinstance(event, TextDelta) else ""
            if seen == PARTIAL:
                provider.release.set()
    assert seen == TEXT


@pytest.mark.parametrize("behaviour", ["hang", "stall", "slow"])
async def test_a_cancelled_task_closes_the_providers_connection_at_once(
    link: WorkerLink, provider: FakeProvider, behaviour: str
) -> None:
    gateway, registry = make_gateway([make_model(behaviour, provider.base_url)], link)
    task = asyncio.create_task(run(gateway, make_call(behaviour)))
    async with asyncio.timeout(5):
        await provider.arrived.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert await provider.all_closed(behaviour, within_s=0.5)
    outcome = {"model": behaviour, "outcome": "cancelled"}
    assert registry.get_sample_value("promptflow_model_calls_total", outcome) == 1
    assert registry.get_sample_value("promptflow_model_active_calls") == 0


async def test_a_closed_iterator_closes_the_providers_connection_at_once(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("slow", provider.base_url)], link)
    async with aclosing(gateway.stream(make_call("slow"))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert await provider.all_closed("slow", within_s=0.5)


async def test_a_model_that_keeps_failing_is_left_alone_and_found_well_again(
    link: WorkerLink, provider: FakeProvider
) -> None:
    settings = replace(QUICK, tries=1, breaker=BreakerSettings(failures=4, open_s=0.3))
    models = [make_model(name, provider.base_url) for name in ("500-four-times", "fine")]
    gateway, _ = make_gateway(models, link, settings)
    for _ in range(4):
        assert (await run(gateway, make_call("500-four-times"))).failure is not None
    refused = (await run(gateway, make_call("500-four-times"))).failure
    assert refused is not None
    assert refused.kind is FailureKind.PROVIDER_DOWN
    assert refused.retry_after_s == pytest.approx(0.3, abs=0.1)
    assert provider.hits["500-four-times"] == 4, "the fifth call never left"
    assert (await run(gateway, make_call("fine"))).failure is None, "other models are unaffected"
    await asyncio.sleep(0.35)
    assert (await run(gateway, make_call("500-four-times"))).text == TEXT


async def test_calls_beyond_the_limit_wait_their_turn_and_are_refused_in_the_end(
    link: WorkerLink, provider: FakeProvider
) -> None:
    settings = replace(QUICK, admission=AdmissionSettings(wait_s=0.3), first_delta_s=5.0)
    gateway, registry = make_gateway([make_model("gated", provider.base_url, concurrency=1)], link, settings)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(run(gateway, make_call("gated")))
        await provider.arrived.wait()
        refused = await run(gateway, make_call("gated"))
        waiting = group.create_task(run(gateway, make_call("gated")))
        await asyncio.sleep(0)
        assert registry.get_sample_value("promptflow_model_queued_calls") == 1
        provider.release.set()
    assert refused.failure is not None
    assert refused.failure.kind is FailureKind.OVERLOADED
    assert refused.started == 0
    assert first.result().text == waiting.result().text == TEXT
    assert provider.hits["gated"] == 2


async def test_a_model_nobody_knows_and_a_key_nobody_set_fail_before_any_call(
    link: WorkerLink, provider: FakeProvider
) -> None:
    gateway, _ = make_gateway([make_model("fine", provider.base_url, api_key_env="UNSET_KEY")], link)
    keyless = (await run(gateway, make_call("fine"))).failure
    unknown = (await run(gateway, make_call("gpt-99"))).failure
    assert keyless is not None
    assert unknown is not None
    assert (keyless.kind, unknown.kind) == (FailureKind.AUTH, FailureKind.MODEL_NOT_FOUND)
    assert not provider.requests


async def test_the_doctor_tells_which_model_answers(link: WorkerLink, provider: FakeProvider) -> None:
    models = [make_model(name, provider.base_url) for name in ("fine", "401", "slow")]
    gateway, _ = make_gateway(models, link)
    well = await probe(gateway, "fine")
    refused = await probe(gateway, "401")
    slow = await probe(gateway, "slow", deadline_s=0.3)
    demo = await probe(gateway, "demo-sage")
    assert (well.ok, well.kind) == (True, None)
    assert (refused.ok, refused.kind) == (False, FailureKind.AUTH)
    assert (slow.ok, slow.kind) == (False, FailureKind.TIMEOUT_TOTAL)
    assert slow.seconds == pytest.approx(0.3, abs=0.15)
    assert demo.ok


async def test_killing_the_worker_costs_no_call_before_its_first_word_and_only_the_rest_after_it(
    provider: FakeProvider,
) -> None:
    own = WorkerLink(env=os.environ, settings=LinkSettings(tcp=True))
    settings = replace(QUICK, total_s=50.0, first_delta_s=20.0, idle_s=20.0, ready_s=50.0)
    models = [make_model(name, provider.base_url) for name in ("gated", "stall")]
    gateway, _ = make_gateway(models, own, settings)
    assert not gateway.ready
    await gateway.start()
    try:
        async with asyncio.TaskGroup() as group:
            # Made while the worker is still starting: it waits.
            silent = group.create_task(run(gateway, make_call("gated")))
            begun = gateway.stream(make_call("stall"))
            seen = ""
            while seen != PARTIAL:
                event = await anext(begun)
                seen += event.text if isinstance(event, TextDelta) else ""
            assert gateway.ready
            assert own.process is not None
            own.process.kill()
            with pytest.raises(ModelFailure) as caught:
                await anext(begun)
            provider.release.set()
        assert caught.value.kind is FailureKind.INTERRUPTED
        assert caught.value.partial_text == PARTIAL
        assert silent.result().text == TEXT
        assert provider.hits == {"gated": 2, "stall": 1}
        assert own.starts == 2
    finally:
        await gateway.close()
    assert own.process.returncode is not None
    assert not gateway.ready


async def test_closing_ends_at_once_what_still_waits_for_the_worker(provider: FakeProvider) -> None:
    own = WorkerLink(env=os.environ)
    gateway, _ = make_gateway([make_model("fine", provider.base_url)], own)
    await gateway.start()
    async with asyncio.timeout(3), asyncio.TaskGroup() as group:
        waiting = group.create_task(run(gateway, make_call("fine")))
        await asyncio.sleep(0.05)
        await gateway.close()
    failure = waiting.result().failure
    assert failure is not None
    assert failure.kind is FailureKind.OVERLOADED
    assert not provider.requests
