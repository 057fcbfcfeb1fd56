"""The user's story in headless Chromium, on the genuine product in a process of its own."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect

from tests.bot.console.browsing import ANSWER_MS, Scheme, ServedConsole, Visitor, browsing, serving, window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


@pytest.fixture
async def served_console(tmp_path: Path) -> AsyncGenerator[ServedConsole]:
    async with serving(tmp_path) as served:
        yield served


@pytest.fixture
async def browser() -> AsyncGenerator[Browser]:
    async with browsing() as opened:
        yield opened


@pytest.mark.soak
async def test_the_story_of_a_newcomer(served_console: ServedConsole, browser: Browser) -> None:
    me = await window(browser, served_console.address)
    assert "token" not in me.page.url
    await me.shot("start")
    parent = await start_a_thread(me)
    await branch_at_the_first_answer(me)
    await go_on_in_both(me)
    await look_at_what_was_sent(me)
    await change_to_japanese(me)
    assert me.problems == []
    await go_through_a_restart(me, served_console, parent)


async def start_a_thread(me: Visitor) -> str:
    """A thread, and an answer that is written before one's eyes."""
    page = me.page
    await page.get_by_label("Message", exact=True).fill("Which database should hold our job queue?")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/t/*")
    await expect(page.locator(".streamed")).to_contain_text("scripted", timeout=ANSWER_MS)
    await me.shot("writing")
    await expect(page.locator(".answer.done")).to_have_count(1, timeout=ANSWER_MS)
    await expect(page.locator("#announce")).to_contain_text("is complete")
    await expect(page.locator(".answer .badge.demo")).to_have_text("demo")
    await expect(page.locator(".answer strong").nth(1)).to_contain_text("not an AI")
    await me.say("And with **four** writers?", answers=2)
    await me.shot("thread")
    return page.url


async def branch_at_the_first_answer(me: Visitor) -> None:
    page = me.page
    await page.locator(".answer").first.get_by_role("link", name="Branch from here").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Up to message number")).to_have_value("2")
    await dialog.get_by_label("Name").fill("Try SQLite")
    await dialog.get_by_label("Reason").fill("No operations team")
    await me.shot("branch-form")
    await dialog.get_by_role("button", name="Open the branch").click()
    await expect(page.locator(".card")).to_contain_text("No operations team")
    await expect(me.entries()).not_to_contain_text("four writers")
    await me.shot("branch")


async def go_on_in_both(me: Visitor) -> None:
    """Neither thread knows what is said in the other."""
    page = me.page
    await me.say("Only in the branch", answers=2)
    await page.locator(".thread-tools").get_by_role("link", name="Back to parent").click()
    await expect(me.entries()).to_contain_text("Branched at #2: Try SQLite")
    await me.say("Only in the parent", answers=3)
    await expect(me.entries()).not_to_contain_text("Only in the branch")
    await page.locator("#tree .tree ul").get_by_role("link", name="Try SQLite").click()
    await expect(me.entries()).to_contain_text("Only in the branch")
    await expect(me.entries()).not_to_contain_text("Only in the parent")


async def look_at_what_was_sent(me: Visitor) -> None:
    page = me.page
    await page.locator(".answer").last.get_by_role("link", name="Show AI input").click()
    parts = page.locator("#panel .exact")
    await expect(parts.last).to_contain_text("Only in the branch")
    sent = " ".join(await parts.all_text_contents())
    assert "Which database should hold our job queue?" in sent
    assert "four" not in sent
    assert "Only in the parent" not in sent
    await expect(page.locator("#panel .badge.good")).to_contain_text("matches")
    await me.shot("ai-input")
    await page.keyboard.press("Escape")
    await expect(page.locator("#panel")).to_be_hidden()


async def change_to_japanese(me: Visitor) -> None:
    page = me.page
    await page.get_by_role("button", name="日本語").click()
    await expect(page.locator("html")).to_have_attribute("lang", "ja")
    await expect(page.locator(".thread-tools").get_by_role("link", name="親に戻る")).to_be_visible()
    await expect(page.get_by_role("link", name="AIへの入力を見る").first).to_be_visible()
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("lang", "ja")
    await expect(page.locator(".answer.done")).to_have_count(2)
    await me.say("日本語でも続けます", answers=3)
    await me.shot("japanese")


async def go_through_a_restart(me: Visitor, served: ServedConsole, parent: str) -> None:
    """The open page says what to do, keeps what was typed, and everything is still there."""
    page, branch = me.page, me.page.url
    await page.get_by_label("メッセージ", exact=True).fill("書きかけ")
    old = served.address
    assert await served.stop() == 0
    new = await served.start()
    assert new != old
    await expect(page.locator("#toast")).to_contain_text("最後に表示されたアドレス", timeout=ANSWER_MS)
    await page.goto(new)
    await page.goto(branch)
    await expect(page.get_by_label("メッセージ", exact=True)).to_have_value("書きかけ")
    await page.goto(parent)
    await expect(page.locator(".answer.done")).to_have_count(3)
    await expect(me.entries()).to_contain_text("Only in the parent")


@pytest.mark.soak
async def test_two_windows_see_the_same_thread_live(served_console: ServedConsole, browser: Browser) -> None:
    mine = await window(browser, served_console.address)
    await mine.say("Hello", answers=1)
    other = await window(browser, served_console.address)
    await other.page.locator(".people summary").click()
    await other.page.get_by_role("button", name="Ben").click()
    await other.page.goto(mine.page.url)
    await expect(other.page.locator(".answer.done")).to_have_count(1)
    await other.page.get_by_label("Message", exact=True).fill("I am Ben")
    await other.page.keyboard.press("Enter")
    await expect(mine.page.locator(".author", has_text="Ben")).to_be_visible()
    await expect(mine.page.locator(".streamed")).to_contain_text("scripted", timeout=ANSWER_MS)
    for one in (mine, other):
        await expect(one.page.locator(".answer.done")).to_have_count(2, timeout=ANSWER_MS)
    await mine.page.get_by_role("link", name="Rename").click()
    await mine.page.get_by_role("dialog").get_by_label("Title").fill("Greetings")
    await mine.page.keyboard.press("Enter")
    await expect(other.page.locator("#tree")).to_contain_text("Greetings")
    assert mine.problems == other.problems == []


@pytest.mark.soak
async def test_stop_retry_another_model_and_which_answer_counts(
    served_console: ServedConsole, browser: Browser
) -> None:
    me = await window(browser, served_console.address)
    page = me.page
    await page.get_by_label("Message", exact=True).fill("Hello")
    await page.keyboard.press("Enter")
    await expect(page.locator(".streamed")).to_contain_text("D", timeout=ANSWER_MS)
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".answer.stopped .cut")).to_contain_text(
        "Stopped by a person", timeout=ANSWER_MS
    )
    await page.get_by_role("button", name="Retry").click()
    await expect(page.locator(".answer.done")).to_have_count(1, timeout=ANSWER_MS)
    await page.locator(".answer.done").get_by_role("link", name="Other model").click()
    await page.get_by_role("dialog").get_by_role("button", name="demo-critic").click()
    await expect(page.locator(".answer.done")).to_have_count(2, timeout=ANSWER_MS)
    kept = page.locator(".answer:not(.replaced)")
    await expect(kept).to_have_count(1)
    await expect(kept.locator(".author")).to_have_text("demo-critic")
    folded = page.locator(".answer.replaced.done")
    await folded.locator("summary").click()
    await folded.get_by_role("button", name="Keep this answer").click()
    await expect(kept.locator(".author")).to_have_text("demo-sage")
    assert me.problems == []


@pytest.mark.soak
async def test_everything_can_be_done_with_the_keyboard(
    served_console: ServedConsole, browser: Browser
) -> None:
    me = await window(browser, served_console.address)
    page = me.page
    await me.say("First line", answers=1)
    await page.goto(page.url)
    await page.keyboard.press("Shift+Tab")
    await page.locator("body").press("Tab")
    message = page.get_by_label("Message", exact=True)
    await message.focus()
    await message.press("/")
    await expect(page.locator("#commands")).to_be_visible()
    await me.shot("commands")
    await message.press("ArrowDown")
    await message.press("ArrowUp")
    await message.press("Enter")
    await expect(message).to_have_value("/branch ")
    await message.press_sequentially("9")
    await message.press("Enter")
    await expect(page.locator("#composer .error")).to_contain_text("from 1 to 2")
    await expect(message).to_have_value("/branch 9")
    await message.fill("line one")
    await message.press("Shift+Enter")
    await message.press_sequentially("line two")
    await expect(message).to_have_value("line one\nline two")
    await message.fill("/help")
    await message.press("Enter")
    await expect(page.get_by_role("dialog").get_by_text("What you can rely on")).to_be_visible()
    await page.keyboard.press("Escape")
    branch = page.locator(".answer").get_by_role("link", name="Branch from here")
    await branch.focus()
    await branch.press("Enter")
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    await page.keyboard.type("By keyboard")
    await page.keyboard.press("Enter")
    await expect(page.locator(".card h2")).to_have_text("By keyboard")
    skip = page.get_by_role("link", name="Skip to the thread")
    await skip.focus()
    await expect(skip).to_be_in_viewport()
    await skip.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    assert [text for text in me.problems if "422" not in text] == []


@pytest.mark.soak
async def test_a_hostile_message_stays_text_in_a_real_browser(
    served_console: ServedConsole, browser: Browser
) -> None:
    me = await window(browser, served_console.address)
    asked: list[str] = []
    me.page.on("request", lambda request: asked.append(request.url))
    me.page.on("dialog", lambda dialog: me.problems.append(dialog.message))
    hostile = (
        "</textarea><script>alert(1)</script><img src=https://tracker.example/a onerror=alert(2)> "
        "![p](https://tracker.example/b.png) [x](javascript:alert(3)) \u202etxt.exe"
    )
    await me.say(hostile, answers=1)
    await me.page.reload()
    await expect(me.entries()).to_contain_text("<script>alert(1)</script>")
    await expect(me.entries().locator("img, script")).to_have_count(0)
    await me.page.locator(".answer").get_by_role("link", name="Show AI input").click()
    await expect(me.page.locator("#panel .exact").last).to_contain_text("<script>alert(1)</script>")
    assert [url for url in asked if "127.0.0.1" not in url] == []
    assert me.problems == []


async def test_the_page_works_without_its_script(served_console: ServedConsole, browser: Browser) -> None:
    me = await window(browser, served_console.address, script=False)
    page = me.page
    await page.get_by_label("Message", exact=True).fill("Hello without a script")
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url("**/t/*")
    for _ in range(100):
        if await page.locator(".answer.done").count():
            break
        await asyncio.sleep(0.3)
        await page.reload()
    await page.locator(".answer").get_by_role("link", name="Branch from here").click()
    await page.get_by_label("Name").fill("Plain")
    await page.get_by_role("button", name="Open the branch").click()
    await expect(page.locator(".card h2")).to_have_text("Plain")


@pytest.mark.soak
async def test_pages_fit_light_and_dark_wide_and_narrow(
    served_console: ServedConsole, browser: Browser
) -> None:
    long = (
        "| model | price |\n|---|---|\n| "
        + "a long cell " * 20
        + " | 1 |\n\n```\n"
        + "long line " * 60
        + "\n```"
    )
    first = await window(browser, served_console.address)
    await first.say(long, answers=1)
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme, (name, width) in product(schemes, (("wide", 1280), ("phone", 390))):
        me = await window(browser, served_console.address, scheme=scheme, width=width, height=800)
        for path in ("/", "/models", "/usage", "/help", "/people/new", urlsplit(first.page.url).path):
            await me.page.goto(served_console.address.partition("/?")[0] + path)
            beyond = await me.page.locator("html").evaluate("one => one.scrollWidth - one.clientWidth")
            assert beyond <= 0, (path, name)
        await me.shot(f"{name}-{scheme}")
        if name == "phone":
            await open_and_close_the_threads(me)
        assert me.problems == []
        await me.page.context.close()


async def open_and_close_the_threads(me: Visitor) -> None:
    thread = me.page.locator("#tree .thread-link").first
    await me.page.get_by_role("link", name="Show channels and threads").click()
    await expect(thread).to_be_in_viewport()
    await me.shot("phone-threads")
    await me.page.locator(".close-side").click()
    await expect(thread).not_to_be_in_viewport()


@pytest.mark.soak
async def test_the_colours_have_enough_contrast(served_console: ServedConsole, browser: Browser) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1 for the text of a page."""
    for scheme in ("light", "dark"):
        me = await window(browser, served_console.address, scheme=scheme)
        await me.say("Hello", answers=1)
        for selector in (
            ".text",
            ".author",
            "time",
            ".position",
            ".spent",
            ".action",
            ".badge",
            ".badge.demo",
            ".badge.model",
            ".hint",
            ".send",
            ".new-thread",
            ".thread-link[aria-current]",
            ".channel-name",
            ".links a",
            ".avatar",
        ):
            ratio = await me.page.locator(selector).first.evaluate(CONTRAST)
            assert ratio >= 4.5, (scheme, selector, ratio)
        await me.page.context.close()


CONTRAST = """(element) => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const light = ({ r, g, b }) => [r, g, b]
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  let ground = element, colour = null;
  while (ground && !colour) {
    const found = parse(getComputedStyle(ground).backgroundColor);
    if (found.a === 1) colour = found;
    ground = ground.parentElement;
  }
  const pair = [light(parse(getComputedStyle(element).color)), light(colour)].sort((a, b) => b - a);
  return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""
