"""A drafting model that says nothing, or stops in the middle: the genuine deadlines end it, and an extract is left."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.commands.adoption import begin_review, show_review
from core.commands.handover import Sending, edit_handover, send_handover, show_handover
from core.commands.pin import pin
from core.domain.drafting import HandoverDraft, draft_notes
from core.domain.receipt import Finish
from core.llm.catalogue import Catalogue
from core.llm.gateway import Gateway, GatewaySettings
from core.llm.link import Delta, Exchange, WorkerCall, WorkerLink
from core.llm.metrics import ModelMetrics
from core.ports import ModelCall, ModelEvent
from tests.commands.look import rows, speaks
from tests.commands.test_adoption import grown
from tests.commands.test_handover import drafted
from tests.product import ScriptedModel, World, catalogue, eventually, open_world

FAST = GatewaySettings(first_delta_s=0.1, idle_s=0.1, total_s=10.0, backoff_s=0.01)


class SilentLink(WorkerLink):
    """A worker whose provider keeps every connection open and says no more than `words`."""

    def __init__(self, words: str) -> None:
        super().__init__(env={})
        self.words = words
        self.left: set[int] = set()
        """Calls that are still open."""

    async def wait_ready(self, limit_s: float) -> bool:
        return True

    async def call(self, request: WorkerCall) -> Exchange:
        exchange = Exchange(self, len(self.left) + 1)
        self.left.add(exchange.call_id)
        if self.words:
            now = asyncio.get_running_loop().time()
            exchange.events.put_nowait((now, Delta(text=self.words, reasoning=False)))
        return exchange

    def forget(self, call_id: int) -> None:
        self.left.discard(call_id)


@dataclass
class DraftsHang(ScriptedModel):
    """Answers people, and drafts by a genuine gateway over a silent link."""

    gateway: Gateway | None = None
    drafts: list[ModelCall] = field(default_factory=list)

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        step = call.request_id.rpartition("/")[2]
        hangs = self.gateway is not None and step.partition(".")[0] in ("draft", "review")
        if hangs:
            self.drafts.append(call)
        events = self.gateway.stream(call) if self.gateway and hangs else super().stream(call)
        async for event in events:
            yield event


def silent(words: str, models: Catalogue) -> tuple[DraftsHang, SilentLink]:
    link = SilentLink(words)
    gateway = Gateway(catalogue=models, env={}, metrics=ModelMetrics(), link=link, settings=FAST)
    return DraftsHang(gateway=gateway), link


@asynccontextmanager
async def opened(tmp_path: Path, words: str) -> AsyncGenerator[tuple[World, DraftsHang, SilentLink]]:
    model, link = silent(words, catalogue())
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, model=model) as world:
        yield world, model, link


async def no_run_is_open(world: World) -> bool:
    return all(row["status"] not in ("queued", "running") for row in await rows(world, "run"))


@pytest.mark.parametrize("words", ["", '{"summary": "begun and '])
async def test_a_handover_is_drafted_by_an_extract_that_can_be_edited_and_sent(
    tmp_path: Path, words: str
) -> None:
    async with opened(tmp_path, words) as (world, model, link):
        aki = await world.person()
        source = (await world.say(aki, "Which supplier?")).thread_id
        assert source is not None
        await pin(world.services, aki, source, "constraint", "names stay in-house", event_key="pin")
        handover = await drafted(world, aki, source, "chat")
        assert model.drafts, "the hanging model was asked"
        draft = HandoverDraft.from_json(handover.draft)
        assert draft.failure == ("timeout_idle" if words else "timeout_first")
        (note,) = draft_notes(draft)
        assert speaks(note).startswith("No model could draft this handover.")
        assert draft.fields.first_request == "Which supplier?"
        assert draft.fields.constraints == ("names stay in-house",)
        assert "begun and" not in json.dumps(handover.draft)
        await eventually(lambda: no_run_is_open(world))
        assert link.left == set(), "every connection to the provider is closed"
        receipts = [row for row in await rows(world, "receipt") if row["step"].startswith("draft")]
        assert {row["finish"] for row in receipts} == {Finish.FAILED.value}
        edited = {**handover.fields, "summary": "put right by hand"}
        await edit_handover(world.services, aki, handover.id, edited)
        kept = await show_handover(world.services, aki, handover.id)
        sending = Sending(handover_id=handover.id, fields=kept.fields, start="And now?")
        await send_handover(world.services, aki, sending, event_key="send")
        await eventually(lambda: "put right by hand" in world.model.sent())
        assert "names stay in-house" in world.model.sent()


@pytest.mark.parametrize("rubbish", ["certainly! here it is", '{"summary": 7}', "[]", "\x00"])
async def test_a_draft_of_rubbish_is_asked_for_once_more_and_then_an_extract(
    world: World, rubbish: str
) -> None:
    aki = await world.person()
    source = (await world.say(aki, "Which supplier?")).thread_id
    assert source is not None
    calls = len(world.model.calls)
    world.model.plan = lambda call: rubbish if "/draft" in call.request_id else None
    handover = await drafted(world, aki, source, "chat")
    draft = HandoverDraft.from_json(handover.draft)
    assert [note.key for note in draft_notes(draft)] == ["draft_note.extract"]
    assert "Which supplier?" in draft.fields.summary
    assert rubbish not in draft.fields.summary
    assert len(world.model.calls) == calls + 2, "one repair, and no more"
    await edit_handover(world.services, aki, handover.id, {**handover.fields, "summary": "by hand"})
    assert (await show_handover(world.services, aki, handover.id)).fields["summary"] == "by hand"


@pytest.mark.parametrize("words", ["", '{"about": "begun and '])
async def test_a_review_is_put_together_without_a_model_and_can_be_asked_with(
    tmp_path: Path, words: str
) -> None:
    async with opened(tmp_path, words) as (world, model, link):
        aki = await world.person()
        _, branch = await grown(world, aki)
        review_id = await begin_review(world.services, aki, branch, event_key="review")

        async def there() -> bool:
            return (await show_review(world.services, aki, review_id)).draft is not None

        await eventually(there)
        review = await show_review(world.services, aki, review_id)
        assert model.drafts
        assert review.draft is not None
        assert not review.draft.by_model
        assert "What if Kita?" in review.draft.texts.about
        assert "begun and" not in json.dumps(review.draft.to_json())
        await eventually(lambda: no_run_is_open(world))
        assert link.left == set()
