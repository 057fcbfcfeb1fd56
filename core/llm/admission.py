"""Who may call now: limits per model, per provider account and for the whole worker, with a fair queue before them."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.domain.errors import FailureKind, ModelFailure
from core.domain.ids import WorkspaceId
from core.llm.catalogue import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    total: int = 32
    """Calls in the worker at one time. One core carries about 30 streams at 50 tokens a second."""
    account: int = 32
    """Calls at one provider with one key at one time."""
    waiting: int = 64
    """Calls of one workspace that may wait; one more is refused at once."""
    wait_s: float = 20.0
    """Longest wait for a place."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Waiter:
    model: Model
    admitted: asyncio.Future[None]


class Admission:
    """Places for calls. Within a workspace first come first served; workspaces take turns."""

    def __init__(self, settings: AdmissionSettings) -> None:
        self._settings = settings
        self._active: Counter[str] = Counter()
        self._accounts: Counter[str] = Counter()
        self._waiting: dict[WorkspaceId, deque[_Waiter]] = {}

    @property
    def active(self) -> int:
        return self._active.total()

    @property
    def queued(self) -> int:
        return sum(len(line) for line in self._waiting.values())

    @asynccontextmanager
    async def place(self, workspace_id: WorkspaceId, model: Model) -> AsyncIterator[float]:
        """Hold a place for one call; yields the seconds waited. Raises ModelFailure OVERLOADED when none comes."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await self._enter(workspace_id, _Waiter(model=model, admitted=loop.create_future()))
        try:
            yield loop.time() - begun
        finally:
            self._free(model)

    async def _enter(self, workspace_id: WorkspaceId, waiter: _Waiter) -> None:
        line = self._waiting.setdefault(workspace_id, deque())
        if len(line) >= self._settings.waiting:
            raise ModelFailure(FailureKind.OVERLOADED, retryable=True)
        line.append(waiter)
        self._admit()
        try:
            async with asyncio.timeout(self._settings.wait_s):
                await waiter.admitted
        except TimeoutError:
            self._withdraw(workspace_id, waiter)
            raise ModelFailure(FailureKind.OVERLOADED, retryable=True) from None
        except asyncio.CancelledError:
            self._withdraw(workspace_id, waiter)
            raise

    def _withdraw(self, workspace_id: WorkspaceId, waiter: _Waiter) -> None:
        """Take a waiter out of its line, or give back the place that came in the moment it left."""
        if waiter.admitted.done() and not waiter.admitted.cancelled():
            self._free(waiter.model)
            return
        line = self._waiting[workspace_id]
        line.remove(waiter)
        if not line:
            del self._waiting[workspace_id]

    def _free(self, model: Model) -> None:
        self._active[model.alias] -= 1
        self._accounts[account_of(model)] -= 1
        self._admit()

    def _admit(self) -> None:
        """Give out free places, one a workspace in turn, until none is left that anyone waiting could use."""
        admitted = True
        while admitted and self.active < self._settings.total:
            admitted = False
            for workspace_id in list(self._waiting):
                admitted = self._admit_one(workspace_id) or admitted

    def _admit_one(self, workspace_id: WorkspaceId) -> bool:
        line = self._waiting[workspace_id]
        # One provider that is full holds up only the calls to itself.
        waiter = next((w for w in line if not w.admitted.done() and self._has_room(w.model)), None)
        if waiter is None:
            return False
        line.remove(waiter)
        # To the end of the turn order, or out of it.
        del self._waiting[workspace_id]
        if line:
            self._waiting[workspace_id] = line
        self._active[waiter.model.alias] += 1
        self._accounts[account_of(waiter.model)] += 1
        waiter.admitted.set_result(None)
        return True

    def _has_room(self, model: Model) -> bool:
        return (
            self.active < self._settings.total
            and self._active[model.alias] < model.concurrency
            and self._accounts[account_of(model)] < self._settings.account
        )


def account_of(model: Model) -> str:
    """The provider and key a model is called with, by the key's name."""
    return f"{model.api_base or model.id.partition('/')[0]} {model.api_key_env}"
