"""Start of the product: time to a served page and memory, against importing litellm alone."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

import bot
from benchmarks.figure import Figure, median, megabytes, milliseconds
from benchmarks.ground import temporary_folder
from core.llm.worker import IMPORT_ENV

REPEATS = 5
START_S = 120.0
END_S = 30.0
ASK_EVERY_S = 0.05
IMPORT = "import litellm; print('imported', flush=True); input()"
CONFIGURATION = '[models.alpha]\nid = "openai/alpha"\napi_base = "http://127.0.0.1:9/v1"\n'
"""A real model, so that there is a worker to wait for. It is never called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """One start of `promptflow serve`, in seconds from the process's own."""

    page_s: float
    models_were_ready: bool
    """When the page was served."""
    models_s: float
    resident_bytes: int
    """Of the main process, with everything ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    litellm_s: float
    resident_bytes: int


async def measure(*, repeats: int = REPEATS) -> list[Figure]:
    """Starts and imports in turn, each in a fresh process; the first of both warms the disk up and is left out."""
    starts, imports = [], []
    for _ in range(repeats + 1):
        starts.append(await _start())
        imports.append(await _import())
    del starts[0], imports[0]
    page_s, models_s = median(s.page_s for s in starts), median(s.models_s for s in starts)
    litellm_s = median(i.litellm_s for i in imports)
    main_bytes = median(s.resident_bytes for s in starts)
    litellm_bytes = median(i.resident_bytes for i in imports)
    before = sum(not s.models_were_ready for s in starts)
    return [
        Figure(
            what="Start until the console's page is served",
            measured=milliseconds(page_s),
            compared=f"{milliseconds(litellm_s)} of importing litellm alone",
            ratio=page_s / litellm_s,
        ),
        Figure(
            what="Starts in which the page was up before the models",
            measured=str(before),
            compared=f"models ready after {milliseconds(models_s)}",
            bound=f"all {repeats}",
            kept=before == repeats,
        ),
        Figure(
            what="Memory of the main process after its start",
            measured=megabytes(main_bytes),
            compared=f"{megabytes(litellm_bytes)} of a process that only imported litellm",
            ratio=main_bytes / litellm_bytes,
        ),
    ]


async def _start() -> Started:
    with temporary_folder() as folder:
        (folder / "promptflow.toml").write_text(CONFIGURATION, encoding="utf-8")
        env = {"PROMPTFLOW_DATA_DIR": str(folder / "data"), "PROMPTFLOW_PORT": "0"}
        begun = asyncio.get_running_loop().time()
        async with (
            _process("-m", "bot", "serve", env=env, folder=folder) as process,
            # Cookies of an address that is a number are refused otherwise.
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        ):
            address = await _line(process, "http://")
            async with browser.get(address) as page:
                if page.status != 200 or "<main" not in await page.text():
                    raise AssertionError(f"the console answered {page.status}")
            page_s = asyncio.get_running_loop().time() - begun
            ready_address = f"{address.partition('?')[0]}readyz"
            async with browser.get(ready_address) as answer:
                at_once = answer.status == 200
            async with asyncio.timeout(START_S):
                await _until_ready(browser, ready_address)
            return Started(
                page_s=page_s,
                models_were_ready=at_once,
                models_s=asyncio.get_running_loop().time() - begun,
                resident_bytes=resident_bytes(process.pid),
            )


async def _until_ready(browser: aiohttp.ClientSession, address: str) -> None:
    while True:
        async with browser.get(address) as answer:
            if answer.status == 200:
                return
        await asyncio.sleep(ASK_EVERY_S)


async def _import() -> Imported:
    with temporary_folder() as folder:
        begun = asyncio.get_running_loop().time()
        async with _process("-c", IMPORT, env=IMPORT_ENV, folder=folder) as process:
            await _line(process, "imported")
            taken_s = asyncio.get_running_loop().time() - begun
            return Imported(litellm_s=taken_s, resident_bytes=resident_bytes(process.pid))


@asynccontextmanager
async def _process(
    *arguments: str, env: Mapping[str, str], folder: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A fresh Python in a folder of its own, told to end when the block does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(Path(bot.__path__[0]).parent),
            **env,
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _line(process: asyncio.subprocess.Process, beginning: str) -> str:
    """The first line that begins so."""
    if process.stdout is None:
        raise AssertionError("started with pipes")
    async with asyncio.timeout(START_S):
        while line := (await process.stdout.readline()).decode():
            if line.startswith(beginning):
                return line.strip()
    raise AssertionError(f"the process ended without saying {beginning}")


def resident_bytes(pid: int) -> int:
    """Memory of a process; Linux only."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
