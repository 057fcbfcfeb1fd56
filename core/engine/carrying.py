"""What drafting, delivery and adoption need of a run besides the turns of its speakers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from core.ai_input.delivery import delivery
from core.ai_input.handover import Words
from core.ai_input.material import Material
from core.domain.adoption import AdoptionStatus, ReviewDraft
from core.domain.codraft import DRAFT
from core.domain.debate import PROBLEM_FRAMING
from core.domain.drafting import HandoverDraft
from core.domain.errors import PlatformFailure
from core.domain.handover import HandoverFields
from core.domain.ids import RunId
from core.domain.pin import Pin
from core.domain.thread import Mode
from core.domain.view import (
    AdoptionCardView,
    AnswerState,
    AnswerView,
    PostView,
)
from core.engine.answering import Answering
from core.engine.bench import patiently
from core.engine.context import Context
from core.engine.posting import Posting
from core.engine.serialiser import JsonValue
from core.modes.context import Answer, Ask
from core.ports import PostRef, Turn
from core.store.adoption import do_keep_card, do_keep_review, find_adoption
from core.store.adoption_page import load_adoption_card
from core.store.carried import delivery_view, load_carried
from core.store.database import Session
from core.store.handover import do_keep_delivery, do_keep_draft, handover_into
from core.store.page import load_answer_view
from core.store.pin import pins, pins_by_id
from core.store.post import OF_ANSWERS, answer_posts, post_ref
from core.store.receipt import receipts_of_run
from core.store.run import Run, find_run
from core.store.turn import load_turn

log = logging.getLogger(__name__)

CARD = "card"
ENDED = frozenset({AnswerState.DONE, AnswerState.STOPPED, AnswerState.FAILED})


class CarryingContext(Context):
    """A run that may draft a handover, prove one's delivery, or show an adoption."""

    # --- drafting ---------------------------------------------------------------------------------------------------

    async def pins(self) -> tuple[Pin, ...]:
        async def act() -> JsonValue:
            async def read() -> list[str]:
                async with self._bench.store.reading() as session:
                    return [pin.id for pin in await pins(session, self._run.workspace_id, self._thread.id)]

            return await patiently(read)

        kept: Any = await self._durable.step("pins", act)

        async def again() -> tuple[Pin, ...]:
            async with self._bench.store.reading() as session:
                return tuple(await pins_by_id(session, self._run.workspace_id, kept))

        return await patiently(again)

    async def consult(self, ask: Ask) -> Answer:
        answering = Answering(
            self._bench, self._durable, self._run, self._prompts, ask=ask, ordinal=0, post=None
        )

        async def act() -> JsonValue:
            return self._recorded(await answering.answer(None))

        return await self._told(await self._durable.step(f"ask:{ask.step}", act))

    async def keep_draft(self, finish: Callable[[Turn], HandoverDraft]) -> None:
        async def keep(session: Session, turn: Turn) -> None:
            handover_id = str(self._run.args["handover_id"])
            await do_keep_draft(session, self._run.workspace_id, handover_id, finish(turn).to_json())

        await self._keep("keep-draft", keep)

    async def keep_review(self, finish: Callable[[Turn], ReviewDraft]) -> None:
        async def keep(session: Session, turn: Turn) -> None:
            review_id = str(self._run.args["review_id"])
            await do_keep_review(session, self._run.workspace_id, review_id, finish(turn).to_json())

        await self._keep("keep-review", keep)

    async def _keep(self, step: str, keep: Callable[[Session, Turn], Awaitable[None]]) -> None:
        """Store, once, something that is made of the thread as the drafting read it."""

        async def act() -> JsonValue:
            async def write() -> None:
                async with self._bench.store.reading() as session:
                    turn = await load_turn(
                        session,
                        self._run,
                        line=None,
                        model=self._run.model,
                        context_tokens=0,
                        max_output_tokens=0,
                        vision=False,
                    )
                if turn is None:
                    raise LookupError(f"thread {self._thread.id} has nothing to draft from")
                async with self._bench.store.writing() as session:
                    await keep(session, turn)

            await patiently(write)
            return None

        await self._durable.step(step, act)

    # --- the target of a handover -----------------------------------------------------------------------------------

    async def _header(self) -> PostView:
        if self._thread.source_thread_id is None:
            return await super()._header()

        async def read() -> PostView:
            async with self._bench.store.reading() as session:
                carried = await load_carried(session, self._thread, self._words)
            if carried is None:
                raise LookupError(f"thread {self._thread.id} came by no handover")
            return carried[0]

        return await patiently(read)

    @property
    def _words(self) -> Words:
        return Words(material=Material.of(self._prompts), locale=self._thread.locale)

    async def prove_delivery(self) -> None:
        """After the first calls of a thread that came by handover, look what they held of it, and say so.

        Computed from the stored receipts alone, once a thread. What is missing is loud: shown, logged and counted.
        """
        if self._thread.source_thread_id is None or self._run.kind != self._thread.mode.value:
            return

        async def act() -> JsonValue:
            return await patiently(self._look)

        if not await self._durable.step("delivery", act):
            return

        async def view() -> PostView:
            async def read() -> PostView:
                async with self._bench.store.reading() as session:
                    handover = await handover_into(session, self._run.workspace_id, self._thread.id)
                if handover is None or handover.delivery is None:
                    raise LookupError(f"thread {self._thread.id} has no delivery")
                return delivery_view(self._thread, handover.delivery)

            return await patiently(read)

        await self._posting.post("post:delivery", self._thread, view)

    async def _look(self) -> bool:
        async with self._bench.store.writing() as session:
            handover = await handover_into(session, self._run.workspace_id, self._thread.id)
            if handover is None:
                return False
            if handover.delivery is not None:
                return handover.delivery.get("run_id") == self._run.id
            fields = HandoverFields.from_json(handover.fields)
            found = [
                {
                    "model": receipt.model,
                    "step": receipt.step,
                    "receipt_id": receipt.id,
                    "fields": [
                        {
                            "field": one.field.value,
                            "state": one.state.value,
                            "caps": [[c.name, c.limit, c.had, c.kept] for c in one.caps],
                        }
                        for one in delivery(fields, self._thread.mode, receipt.ai_input)
                    ],
                }
                for receipt in await receipts_of_run(session, self._run.workspace_id, self._run.id)
                if self._must_carry(receipt.step)
            ]
            if not found:
                return False
            kept = {"run_id": self._run.id, "models": found}
            await do_keep_delivery(session, self._run.workspace_id, handover.id, kept)
        view = delivery_view(self._thread, kept)
        self._bench.delivery(view)
        for one in view.models:
            if one.missing:
                log.error(
                    "a handover did not reach %s: %s is missing",
                    one.model,
                    ", ".join(field.value for field in one.missing),
                    extra={"thread_id": self._thread.id, "run_id": self._run.id},
                )
        return True

    def _must_carry(self, step: str) -> bool:
        """Whether a call of this name is a first one, which the handover must be in."""
        match self._thread.mode:
            case Mode.DEBATE:
                return step == PROBLEM_FRAMING
            case Mode.CODRAFT:
                return step == DRAFT
            case Mode.WORKFLOW:
                first = self._bench.workflows[str(self._thread.setup["workflow"])].steps[0].id
                return step.partition("/")[0] == first and step.rpartition("/")[2] not in (
                    "summary",
                    "synthesis",
                )
            case Mode.CHAT | Mode.COMPARE:
                return not step.endswith(".repair")

    # --- posts that stand already -----------------------------------------------------------------------------------

    async def redraw(self, request_id: str, *, most: int) -> None:
        async def act() -> JsonValue:
            for run_id, step in await patiently(lambda: self._posts(request_id, most)):
                await self._show_anew(run_id, step)
            return None

        await self._durable.step("redraw", act)

    async def _posts(self, request_id: str, most: int) -> list[tuple[RunId, str]]:
        async with self._bench.store.reading() as session:
            return await answer_posts(session, self._run.workspace_id, self._thread.id, request_id, most=most)

    async def _show_anew(self, run_id: RunId, step: str) -> None:
        async def read() -> tuple[Run | None, PostRef | None, AnswerView | None]:
            workspace_id = self._run.workspace_id
            async with self._bench.store.reading() as session:
                return (
                    await find_run(session, workspace_id, run_id),
                    await post_ref(session, workspace_id, self._thread.place, run_id, step),
                    await load_answer_view(
                        session,
                        workspace_id,
                        run_id,
                        step.removeprefix(OF_ANSWERS),
                        workflows=self._bench.workflows,
                    ),
                )

        run, ref, view = await patiently(read)
        if run is None or ref is None or view is None or view.state not in ENDED:
            return
        try:
            await Posting(self._bench, self._durable, run).show(step, self._thread, ref, view)
        except PlatformFailure as failure:
            log.info("a post could not be shown anew (%s)", failure.code, extra={"run_id": run_id})

    # --- adoption ---------------------------------------------------------------------------------------------------

    async def post_adoption(self, step: str) -> None:
        await self._posting.post(step, self._thread, lambda: self._card(with_transcript=False))

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_keep_card(
                    session, self._run.workspace_id, str(self._run.args["adoption_id"]), self._run.id
                )

        await patiently(write)

    async def close_adoption(self, step: str) -> None:
        async def act() -> JsonValue:
            ref = await patiently(self._card_ref)
            if ref is not None:
                card = await self._card(with_transcript=False)
                await self._posting.show(CARD, self._thread, ref, card)
            return None

        await self._durable.step(step, act)
        card = await self._card(with_transcript=False)
        if card.status is AdoptionStatus.APPROVED:
            await self._posting.post("held", self._thread, lambda: self._card(with_transcript=True))

    async def _card_ref(self) -> PostRef | None:
        """Where the card stands; None when it was never posted."""
        async with self._bench.store.reading() as session:
            adoption = await find_adoption(
                session, self._run.workspace_id, str(self._run.args["adoption_id"])
            )
            if adoption is None or not adoption.card_run_id:
                return None
            return await post_ref(
                session, self._run.workspace_id, self._thread.place, adoption.card_run_id, CARD
            )

    async def _card(self, *, with_transcript: bool) -> AdoptionCardView:
        async def read() -> AdoptionCardView:
            async with self._bench.store.reading() as session:
                card = await load_adoption_card(
                    session,
                    self._run.workspace_id,
                    str(self._run.args["adoption_id"]),
                    with_transcript=with_transcript,
                )
            if card is None:
                raise LookupError("an adoption without its rows")
            return card

        return await patiently(read)
