"""Every mode in headless Chromium with the demo models: started, watched, stopped, branched, reviewed, edited."""

from collections.abc import AsyncGenerator
from itertools import product
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.bot.console.browsing import ANSWER_MS, Scheme, ServedConsole, Visitor, browsing, serving, window

pytestmark = [
    pytest.mark.browser,
    pytest.mark.soak,
    pytest.mark.timeout(240),
    pytest.mark.asyncio(loop_scope="module"),
]

RUN_MS = 60_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ServedConsole]:
    folder: Path = tmp_path_factory.mktemp("console")
    async with serving(folder) as served:
        yield served


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with browsing() as opened:
        yield opened


async def open_form(me: Visitor, served: ServedConsole, mode: str, text: str) -> None:
    """The form of a mode over the start page, with what was typed into the composer."""
    page = me.page
    await page.goto(served.address.partition("/?")[0] + "/")
    await page.get_by_label("Message", exact=True).fill(text)
    await page.get_by_role("button", name=mode).click()
    await expect(page.locator("#form .sheet")).to_be_visible()


async def start(me: Visitor, shot: str = "") -> None:
    """Through the estimate into the new thread."""
    page = me.page
    if shot:
        await me.shot(f"{shot}-form")
    await page.get_by_role("button", name="Continue to the estimate").click()
    await expect(page.locator("#form .confirm")).to_contain_text("Nothing has started yet")
    if shot:
        await me.shot(f"{shot}-estimate")
    await page.get_by_role("button", name="Start", exact=True).click()
    await page.wait_for_url("**/t/*")


async def quiet(me: Visitor) -> None:
    """Wait until the run of the thread is over."""
    await expect(me.page.locator(".answer.done").first).to_be_visible(timeout=ANSWER_MS)
    await expect(me.page.locator(".progress")).to_have_count(0, timeout=RUN_MS)


async def test_a_compare_is_watched_compared_reviewed_and_branched(
    console: ServedConsole, chromium: Browser
) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await open_form(me, console, "Compare", "Which queue fits two people?")
    await expect(page.get_by_label("Question")).to_have_value("Which queue fits two people?")
    await page.locator("#form .tick", has_text="demo-builder").click()
    await start(me, "compare")
    await expect(page.locator(".progress")).to_contain_text("of 2 answers are there")
    await expect(page.locator(".streamed")).to_have_count(2, timeout=ANSWER_MS)
    await expect(page.locator(".streamed").nth(1).locator("strong")).to_contain_text(
        "scripted", timeout=ANSWER_MS
    )
    await expect(page.get_by_role("button", name="Stop this answer").first).to_be_visible()
    await expect(page.get_by_role("button", name="Stop the run")).to_have_count(1)
    await me.shot("compare-writing")
    await quiet(me)
    await expect(page.locator(".answer .author")).to_have_text(["demo-sage", "demo-critic"])
    await page.get_by_role("button", name="Compare answers").first.click()
    await expect(page.locator("#flash")).to_contain_text("being compared")
    await expect(page.locator(".part-label", has_text="Comparison")).to_be_visible(timeout=ANSWER_MS)
    await quiet(me)
    await page.get_by_role("link", name="Cross Review").last.click()
    await page.locator("#form .tick", has_text="demo-sage").click()
    await me.shot("review-form")
    await page.get_by_role("button", name="Start the review").click()
    await expect(page.locator("#flash")).to_contain_text("demo-builder, demo-auditor")
    await expect(page.locator(".part-label", has_text="Cross Review, result")).to_be_visible(timeout=RUN_MS)
    await me.shot("review-result")
    await (
        page.locator(".answer", has=page.get_by_text("demo-critic", exact=True))
        .first.get_by_role("link", name="Branch from here")
        .click()
    )
    await page.get_by_role("dialog").get_by_label("Name").fill("Critic's way")
    await page.get_by_role("button", name="Open the branch").click()
    await expect(page.locator(".card h2")).to_have_text("Critic's way")
    await expect(page.locator(".mode-badge")).to_have_text("Compare")
    assert me.problems == []


async def test_a_debate_goes_round_by_round_and_stops(console: ServedConsole, chromium: Browser) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await open_form(me, console, "Debate", "Ship on Friday?")
    await page.get_by_label("Premises for every round").fill("Two people, 300,000 yen")
    await start(me, "debate")
    await expect(page.locator(".progress")).to_contain_text("Round 1 of 4")
    await expect(page.locator(".progress")).to_contain_text("Round 2 of 4", timeout=ANSWER_MS)
    await me.shot("debate-round")
    await expect(page.locator(".progress")).to_contain_text("Round 3 of 4", timeout=ANSWER_MS)
    await page.locator(".progress").get_by_role("button", name="Stop the run").click()
    await expect(page.locator(".answer.stopped")).to_be_visible(timeout=ANSWER_MS)
    await expect(page.locator(".progress")).to_have_count(0, timeout=ANSWER_MS)
    await expect(page.locator(".part-label", has_text="synthesis")).to_have_count(0)
    assert me.problems == []


async def test_a_draft_is_edited_passed_on_and_downloaded(console: ServedConsole, chromium: Browser) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await open_form(me, console, "Co-Draft", "A note about the queue")
    await start(me, "codraft")
    await quiet(me)
    await expect(page.locator(".code .added").first).to_be_visible()
    for width in (390, 1280):
        await page.set_viewport_size({"width": width, "height": 860})
        beyond = await page.locator(".diff pre").first.evaluate("one => one.scrollWidth - one.clientWidth")
        assert beyond <= 0, width
    await me.shot("codraft")
    thread = page.url
    await page.get_by_role("link", name="Newest version").click()
    await expect(page.locator(".artifact .badge")).to_have_text("Version 2 · newest")
    await me.shot("artifact")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Text").fill("# Note\n\nThe queue moves on Friday.")
    await page.get_by_label("Reason").fill("shorter")
    await page.get_by_role("button", name="Save as version 3").click()
    await expect(page.locator("#flash")).to_contain_text("Version 3 is saved")
    async with page.expect_download() as started:
        await page.get_by_role("link", name=".md").click()
    download = await started.value
    assert download.suggested_filename == "draft v3.md"
    assert Path(await download.path()).read_text("utf-8") == "# Note\n\nThe queue moves on Friday."
    await page.goto(thread)
    await me.say("Make it friendlier", answers=5)
    await expect(page.locator(".newest")).to_contain_text("Version 4", timeout=ANSWER_MS)
    assert me.problems == []


async def test_a_workflow_is_chosen_and_runs_its_steps(console: ServedConsole, chromium: Browser) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await open_form(me, console, "Workflow", "We move the queue on friday")
    await me.shot("workflow-choice")
    await page.locator("#form .choices button", has_text="Document polish").click()
    await expect(page.locator("#form select").first).to_be_visible()
    await start(me, "workflow")
    await expect(page.locator(".mode-badge")).to_have_text("Workflow (Beta)")
    await expect(page.locator(".part-label").first).to_contain_text("Workflow (Beta)", timeout=ANSWER_MS)
    await me.shot("workflow-running")
    await quiet(me)
    assert await page.locator(".answer.done").count() > 2
    await page.get_by_label("Message", exact=True).fill("/artifacts")
    await page.keyboard.press("Enter")
    await expect(page.locator("#panel")).to_contain_text("Artifacts")
    assert me.problems == []


async def test_a_typed_command_asks_first_and_its_draft_is_not_lost(
    console: ServedConsole, chromium: Browser
) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await page.get_by_label("Message", exact=True).fill("/compare Which one?")
    await page.keyboard.press("Enter")
    await expect(page.locator("#form .confirm")).to_contain_text("Which one?")
    await page.get_by_role("button", name="Change").click()
    await page.locator("#form .tick", has_text="demo-sage").click()
    await page.locator("#form .tick", has_text="demo-critic").click()
    await page.get_by_role("button", name="Continue to the estimate").click()
    await expect(page.locator("#form .error")).to_contain_text("2 to 6 models; 1")
    await expect(page.get_by_label("Question")).to_have_value("Which one?")
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("/compare Which one?")
    assert [text for text in me.problems if "422" not in text] == []


async def test_a_mode_works_without_a_script(console: ServedConsole, chromium: Browser) -> None:
    me = await window(chromium, console.address, script=False)
    page = me.page
    await page.get_by_label("Message", exact=True).fill("Plain question")
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_label("Question")).to_have_value("Plain question")
    await page.get_by_role("button", name="Continue to the estimate").click()
    await page.get_by_role("button", name="Start", exact=True).click()
    await page.wait_for_url("**/t/*")
    await expect(page.locator(".mode-badge")).to_have_text("Compare")
    await page.get_by_role("link", name="Add a model").click()
    await expect(page.locator("h1")).to_have_text("Add a model")


async def test_forms_fit_light_and_dark_wide_and_narrow_in_both_languages(
    console: ServedConsole, chromium: Browser
) -> None:
    base = console.address.partition("/?")[0]
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme, (name, width) in product(schemes, (("wide", 1280), ("phone", 390))):
        me = await window(chromium, console.address, scheme=scheme, width=width, height=844)
        if scheme == "dark":
            await me.page.get_by_role("button", name="日本語").click()
            await expect(me.page.locator("html")).to_have_attribute("lang", "ja")
        for mode in ("compare", "debate", "codraft", "workflow"):
            await me.page.goto(f"{base}/start?channel=general&mode={mode}")
            beyond = await me.page.locator("html").evaluate("one => one.scrollWidth - one.clientWidth")
            assert beyond <= 0, (mode, name)
            await me.shot(f"{mode}-{name}-{scheme}")
        await me.page.goto(f"{base}/")
        await me.page.locator(".modes button[value=debate]").click()
        await expect(me.page.locator("#form .primary")).to_be_in_viewport(ratio=1)
        assert me.problems == []
        await me.page.get_by_role("button", name="English", include_hidden=True).dispatch_event("click")
        await expect(me.page.locator("html")).to_have_attribute("lang", "en")
        await me.page.context.close()
