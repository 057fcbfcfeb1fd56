"""Show AI input: what exactly was sent for an answer (spec §2)."""

from dataclasses import replace

from core.commands.services import Services, access_thread
from core.domain.errors import Refusal
from core.domain.policy import Action, Actor
from core.domain.receipt import Receipt
from core.domain.thread import Mode
from core.domain.view import Phrase, ReceiptView
from core.store.page import hidden_name, masked
from core.store.receipt import load_receipt


async def show_ai_input(services: Services, actor: Actor, receipt_id: str) -> ReceiptView:
    """The receipt of one model call, for anyone who can see its thread. Raises Refusal."""
    async with services.store.reading() as session:
        receipt = await load_receipt(session, actor.workspace_id, receipt_id)
    if receipt is None:
        raise Refusal("receipt_not_found")
    thread = await access_thread(services, actor, Action.READ, receipt.thread_id, unknown="receipt_not_found")
    view = to_receipt_view(receipt)
    kind, _, line = receipt.step.partition(":")
    hidden = hidden_name(thread, Mode.COMPARE.value, line) if kind == "answer" and line else ""
    if not hidden:
        return view
    # A blind Compare hides who wrote what here too, and what a price or a token count would give away.
    return replace(
        view,
        model=hidden,
        model_id="",
        reported_model_id="",
        usage=None,
        failure=masked(view.failure, hidden),
    )


def to_receipt_view(receipt: Receipt) -> ReceiptView:
    ai_input = receipt.ai_input
    return ReceiptView(
        receipt_id=receipt.id,
        thread_id=receipt.thread_id,
        model=receipt.model,
        model_id=receipt.model_id,
        reported_model_id=receipt.reported_model_id,
        parts=ai_input.parts,
        prompts=ai_input.prompts,
        caps=ai_input.caps,
        omissions=ai_input.omissions,
        params=ai_input.params,
        input_sha256=receipt.input_sha256,
        hash_matches=ai_input.sha256 == receipt.input_sha256,
        estimate_tokens=ai_input.estimate_tokens,
        usage=receipt.usage,
        finish=receipt.finish.value,
        failure=Phrase(key=f"model_failure.{receipt.failure}", fields={"model": receipt.model})
        if receipt.failure
        else None,
        reasoning=receipt.reasoning,
        duration_s=receipt.duration_s,
        created_at=receipt.created_at,
        erased=receipt.erased,
        expired=receipt.expired,
        output_schema=ai_input.output_schema,
        shared_sha256=ai_input.shared_sha256,
    )
