"""The genuine product in a process of its own, and windows of a headless Chromium on its page.

Screenshots go to `.artifacts/`.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, async_playwright, expect

from tests.tree import ROOT

ARTIFACTS = ROOT / ".artifacts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_S = 60.0
STOP_S = 40.0
ANSWER_MS = 30_000

Scheme = Literal["light", "dark"]


@dataclass
class ServedConsole:
    """`python -m bot serve` with a data folder of its own; the address is the one it prints."""

    folder: Path
    address: str = ""
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> str:
        """Start the product and return the address of its page, which is up when this returns."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ}
        port = self.address.partition("/?")[0].rpartition(":")[2] or "0"
        environment = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "PROMPTFLOW_DATA_DIR": str(self.folder / "data"),
            "PROMPTFLOW_PORT": port,
        }
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            "serve",
            cwd=self.folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout
        async with asyncio.timeout(START_S):
            while line := (await self.process.stdout.readline()).decode().strip():
                if line.startswith("http://127.0.0.1:"):
                    self.address = line
                    return line
        raise AssertionError(f"no address, exit code {await self.process.wait()}")

    async def stop(self) -> int:
        """Ask it to stop as a supervisor does; its exit code."""
        assert self.process
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_S):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@dataclass
class Visitor:
    """A browser window, and everything that went wrong in it."""

    page: Page
    problems: list[str] = field(default_factory=list)

    async def say(self, text: str, *, answers: int) -> None:
        """Send a message and wait until the thread holds so many finished answers."""
        await (
            self.page.get_by_label("Message", exact=True)
            .or_(self.page.get_by_label("メッセージ", exact=True))
            .fill(text)
        )
        await self.page.keyboard.press("Enter")
        await expect(self.page.locator(".answer.done")).to_have_count(answers, timeout=ANSWER_MS)

    async def shot(self, name: str) -> None:
        await self.page.screenshot(path=ARTIFACTS / f"console-{name}.png")

    def entries(self) -> Locator:
        return self.page.locator("#entries")


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[ServedConsole]:
    """A console that is up, with an empty data folder."""
    served = ServedConsole(folder)
    await served.start()
    try:
        yield served
    finally:
        await served.stop()


@asynccontextmanager
async def browsing() -> AsyncGenerator[Browser]:
    """A browser; without one on the machine the test says so and the rest runs."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(BROWSERS)} is installed")
    ARTIFACTS.mkdir(exist_ok=True)
    async with async_playwright() as driver:
        opened = await driver.chromium.launch(executable_path=found, args=FLAGS)
        try:
            yield opened
        finally:
            await opened.close()


async def window(
    browser: Browser,
    address: str,
    *,
    scheme: Scheme = "light",
    width: int = 1280,
    height: int = 860,
    script: bool = True,
) -> Visitor:
    """A window of its own, with its own cookies, on the console's start page."""
    context = await browser.new_context(
        color_scheme=scheme,
        viewport={"width": width, "height": height},
        java_script_enabled=script,
        locale="en-GB",
    )
    context.set_default_timeout(20_000)
    return await tab(context, address)


async def tab(context: BrowserContext, address: str) -> Visitor:
    page = await context.new_page()
    visitor = Visitor(page)
    page.on(
        "console",
        lambda said: visitor.problems.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: visitor.problems.append(str(error)))
    await page.goto(address)
    return visitor
