"""Whether a model answers: one small call, for `promptflow doctor`."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from core.domain.errors import FailureKind, ModelFailure
from core.domain.ids import WorkspaceId
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.llm.gateway import Gateway
from core.ports import Done, ModelCall

_QUESTION: Final = "Answer with the single word OK."
# Enough for a model that thinks first, little enough to cost next to nothing.
_MAX_TOKENS: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    alias: str
    ok: bool
    kind: FailureKind | None
    """Why not; None when it answered."""
    seconds: float
    reported: str = ""
    """Which model the provider says it is; empty where it says nothing."""


async def probe(gateway: Gateway, alias: str, *, deadline_s: float = 60.0) -> ProbeResult:
    """Ask `alias` one small question. Never raises for a failing model; a real one costs a few tokens."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    kind: FailureKind | None = None
    reported = ""
    try:
        async with asyncio.timeout(deadline_s), aclosing(gateway.stream(_call(alias))) as events:
            async for event in events:
                if isinstance(event, Done):
                    reported = event.reported_model_id
    except TimeoutError:
        kind = FailureKind.TIMEOUT_TOTAL
    except ModelFailure as failure:
        kind = failure.kind
    return ProbeResult(
        alias=alias, ok=kind is None, kind=kind, seconds=loop.time() - begun, reported=reported
    )


def _call(alias: str) -> ModelCall:
    part = InputPart(role=Role.USER, origin=Origin.REQUEST, text=_QUESTION)
    ai_input = AiInput(parts=(part,), prompts=(), estimate_tokens=0, params={"max_tokens": _MAX_TOKENS})
    return ModelCall(
        request_id="doctor", workspace_id=WorkspaceId("doctor"), model=alias, ai_input=ai_input, images={}
    )
