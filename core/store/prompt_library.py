"""The prompts of one process: the files of this release, and every version that a run may name.

Files are read again when the shared generation has grown. A workspace's own pointers are read with every run that
begins, so what is made live there counts at once in every process.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from core.domain.errors import ConfigurationError, ConfigurationErrors, StoreUnavailable
from core.domain.ids import WorkspaceId
from core.domain.receipt import PromptRef
from core.i18n import phrase
from core.ports import Clock
from core.prompts.contract import contract_problems
from core.prompts.registry import PromptLibrary, load_library
from core.prompts.version import PromptVersion
from core.store.database import Session, Store
from core.store.prompt import StoredPrompt, do_register, shipped_prompt, versions_by_ref
from core.store.prompt_pointer import live_refs
from core.store.prompt_process import (
    Loaded,
    do_forget,
    do_forget_silent,
    do_report,
    generation,
)

log = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
REPORT_EVERY_S = 20.0
SILENT_AFTER = timedelta(seconds=4 * REPORT_EVERY_S)

MOST_KEPT = 5_000
"""Parsed versions held in memory, a few KB each; the longest held goes first."""


class Prompts:
    """What runs of this process begin with and work with. `read` reads the files of the release."""

    def __init__(
        self,
        store: Store,
        shipped: PromptLibrary,
        clock: Clock,
        *,
        read: Callable[[], PromptLibrary] = load_library,
    ) -> None:
        self.shipped = shipped
        self.error = ""
        """Why the files as they are now are not in use; empty when they are."""
        self._store = store
        self._clock = clock
        self._read = read
        # The code of this process was written against these.
        self._contract = shipped
        self._kept: dict[PromptRef, PromptVersion] = {}
        self._generation = 0
        self._registered = False
        self._reading = asyncio.Lock()
        self._loaded_at = clock.now()
        self._process_id = clock.new_id()

    # --- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make the files of this process known to all. Raises StoreUnavailable."""
        async with self._store.writing() as session:
            await do_register(session, self.shipped.versions.values(), self._clock)
            self._generation = await generation(session)
        self._registered = True
        await self.report()

    async def keep_current(self) -> None:
        """Look for a newer generation and report, every few seconds, until cancelled."""
        loop = asyncio.get_running_loop()
        reported = loop.time()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                looked = await self.look()
                if looked or loop.time() - reported > REPORT_EVERY_S:
                    await self.report()
                    reported = loop.time()
            except StoreUnavailable as trouble:
                log.warning("looking for newer prompts failed, it is done again: %s", trouble)

    async def leave(self) -> None:
        """Be no longer listed among the processes. Where the database is away, silence does it."""
        try:
            async with self._store.writing() as session:
                await do_forget(session, self._process_id)
        except StoreUnavailable as trouble:
            log.warning("this process stays listed for a while: %s", trouble)

    async def look(self) -> bool:
        """Read the files again when the generation has grown; whether it had. Raises StoreUnavailable."""
        async with self._store.reading() as session:
            newest = await generation(session)
        if newest == self._generation and self._registered:
            return False
        await self._read_again(newest)
        async with self._store.writing() as session:
            await do_register(session, self.shipped.versions.values(), self._clock)
        self._registered = True
        return True

    async def report(self) -> None:
        """Say what this process has loaded, and forget processes that fell silent. Raises StoreUnavailable."""
        now = self._clock.now()
        loaded = Loaded(
            process_id=self._process_id,
            host=socket.gethostname()[:200],
            pid=os.getpid(),
            generation=self._generation,
            versions=len(self.shipped.versions),
            error=self.error,
            loaded_at=self._loaded_at,
            seen_at=now,
        )
        async with self._store.writing() as session:
            await do_report(session, loaded)
            await do_forget_silent(session, now - SILENT_AFTER)

    async def _read_again(self, newest: int) -> None:
        """Put the files as they are now in the place of those in use, all of them or none."""
        async with self._reading:
            if newest == self._generation:
                return
            try:
                library = await asyncio.to_thread(self._checked)
            except ConfigurationErrors as errors:
                self.error = str(errors)
                log.error("prompt files are not taken over, the last good ones stay: %s", errors)  # noqa: TRY400
            else:
                self.shipped, self.error, self._registered = library, "", False
                self._loaded_at = self._clock.now()
                log.info("prompt files read again, generation %d", newest)
            self._generation = newest

    def _checked(self) -> PromptLibrary:
        library = self._read()
        if problems := list(self._unfit(library)):
            raise ConfigurationErrors(problems)
        return library

    def _unfit(self, library: PromptLibrary) -> Iterator[ConfigurationError]:
        """What keeps newly read files from taking the place of those in use."""
        for name, needed in self._contract.versions.items():
            new = library.versions.get(name)
            if new is None:
                yield ConfigurationError(name, "is missing, and the product needs it")
                continue
            for problem in contract_problems(needed, new):
                yield ConfigurationError(name, phrase("en", problem))
            used = self.shipped.versions[name]
            if new.version == used.version and new.sha256 != used.sha256:
                yield ConfigurationError(
                    f"{name}/prompt.yaml", f"the text changed under version {new.version}: raise the version"
                )

    def file(self, name: str) -> StoredPrompt | None:
        """The version that the files of this process hold of a prompt, as it is stored; None when they hold none."""
        prompt = self.shipped.versions.get(name)
        return shipped_prompt(prompt, self._loaded_at) if prompt else None

    # --- what is live -----------------------------------------------------------------------------------------------

    async def refs(
        self, session: Session, workspace_id: WorkspaceId, names: Sequence[str]
    ) -> tuple[PromptRef, ...]:
        """The versions that a run of the workspace beginning in this transaction holds on to, in order of `names`.

        Whatever they name is stored once the transaction is committed.
        """
        if not names:
            return ()
        newest, own = await live_refs(session, workspace_id, names)
        if newest != self._generation:
            await self._read_again(newest)
        await self.ensure_stored(session)
        return tuple(own.get(name) or self.shipped.get(name).ref for name in names)

    async def own_refs(
        self, session: Session, workspace_id: WorkspaceId, names: Sequence[str]
    ) -> tuple[PromptRef, ...]:
        """The live versions of prompts that the workspace made itself; those that are not live are missing."""
        _, own = await live_refs(session, workspace_id, names) if names else (0, {})
        return tuple(own[name] for name in names if name in own)

    async def ensure_stored(self, session: Session) -> None:
        """Have the files of this process stored once the transaction is committed, if they are not yet."""
        if not self._registered:
            await do_register(session, self.shipped.versions.values(), self._clock)

    async def live(self, workspace_id: WorkspaceId, names: Sequence[str]) -> PromptLibrary:
        """The prompts of these names that are live in a workspace now. Raises as `resolve`."""
        async with self._store.reading() as session:
            _, own = await live_refs(session, workspace_id, names)
        return await self.resolve(
            workspace_id, [own.get(name) or self.shipped.get(name).ref for name in names]
        )

    async def resolve(self, workspace_id: WorkspaceId, refs: Sequence[PromptRef]) -> PromptLibrary:
        """Exactly these versions. Raises ConfigurationError for one that is not stored or cannot be read."""
        at_hand = {ref: self._at_hand(ref) for ref in refs}
        found = {ref: prompt for ref, prompt in at_hand.items() if prompt is not None}
        if missing := at_hand.keys() - found.keys():
            async with self._store.reading() as session:
                stored = await versions_by_ref(session, workspace_id, missing)
            for ref in missing:
                found[ref] = await asyncio.to_thread(_parsed, ref, stored)
                self._keep(ref, found[ref])
        return PromptLibrary(MappingProxyType({ref.name: prompt for ref, prompt in found.items()}))

    def _at_hand(self, ref: PromptRef) -> PromptVersion | None:
        shipped = self.shipped.versions.get(ref.name)
        return shipped if shipped is not None and shipped.ref == ref else self._kept.get(ref)

    def _keep(self, ref: PromptRef, prompt: PromptVersion) -> None:
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[ref] = prompt


def _parsed(ref: PromptRef, stored: Mapping[PromptRef, StoredPrompt]) -> PromptVersion:
    if ref not in stored:
        raise ConfigurationError(ref.name, f"version {ref.version} ({ref.sha256[:12]}) is not stored")
    prompt = stored[ref].parsed()
    if prompt.sha256 != ref.sha256:
        raise ConfigurationError(ref.name, f"version {ref.version} is not what it was when it was stored")
    return prompt
