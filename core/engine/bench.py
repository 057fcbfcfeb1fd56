"""What runs work with, and how they wait for a store that went away."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from core.domain.errors import StoreUnavailable
from core.domain.ids import WorkspaceId
from core.domain.policy import Policy
from core.domain.reported import ReportedModel
from core.domain.view import DeliveryView
from core.domain.workflow import Workflow
from core.llm.catalogue import Catalogue
from core.ports import Clock, ModelGateway, Poster
from core.prompts.eval_library import EvalLibrary
from core.store.database import Store
from core.store.prompt_library import Prompts

T = TypeVar("T")

STORE_PATIENCE_S = 300.0
"""How long a run waits for a database that went away before it gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What runs work with; built once by the wiring."""

    store: Store
    gateway: ModelGateway
    models: Catalogue
    prompts: Prompts
    workflows: Mapping[str, Workflow]
    evals: EvalLibrary
    posters: Mapping[str, Poster]
    policy: Callable[[WorkspaceId], Awaitable[Policy]]
    clock: Clock
    delivery: Callable[[DeliveryView], None]
    """Counts what arrived of a handover and what did not."""
    model_change: Callable[[ReportedModel], None]
    """Counts that another model answers under an id than did before."""


async def patiently(act: Callable[[], Awaitable[T]], *, patience_s: float = STORE_PATIENCE_S) -> T:
    """The result of `act`, tried again while the store is unavailable, for `patience_s` seconds at most."""
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + patience_s, 0.1
    while True:
        try:
            return await act()
        except StoreUnavailable:
            if loop.time() + pause_s > deadline:
                raise
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, 5.0)
