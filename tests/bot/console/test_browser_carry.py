"""A pin, a handover and an adoption in headless Chromium with the demo models, from the first button to the end."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.bot.console.browsing import ANSWER_MS, ServedConsole, browsing, serving, window

pytestmark = [
    pytest.mark.browser,
    pytest.mark.soak,
    pytest.mark.timeout(240),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ServedConsole]:
    folder: Path = tmp_path_factory.mktemp("console")
    async with serving(folder) as served:
        yield served


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with browsing() as opened:
        yield opened


async def test_a_pin_goes_into_a_handover_that_waits_and_is_started(
    console: ServedConsole, chromium: Browser
) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await me.say("Which supplier fits us?", answers=1)
    await page.locator(".answer").get_by_role("link", name="Pin", exact=True).click()
    await page.locator("#form").get_by_label("Kind").select_option("constraint")
    await page.locator("#form").get_by_label("Text (empty").fill("At most 40 euros")
    await page.locator("#form").get_by_role("button", name="Pin").click()
    await expect(page.locator("#flash")).to_contain_text("Pinned")
    await page.get_by_role("link", name="Pins", exact=True).click()
    await expect(page.locator("#panel .said")).to_have_text("At most 40 euros")
    await page.locator("#panel").get_by_role("link", name="History").click()
    await expect(page.locator("#panel ol.pin-list li")).to_have_count(1)
    await page.keyboard.press("Escape")
    await page.locator(".thread-tools").get_by_role("link", name="Hand over").click()
    await page.locator("#form").get_by_role("button", name="Compare").click()
    await page.wait_for_url("**/handovers/*")
    await expect(page.locator('[name="carry.constraints.1"]')).to_have_value(
        "At most 40 euros", timeout=ANSWER_MS
    )
    await page.locator('[name="carry.summary"]').fill("Two suppliers are left")
    await me.shot("handover-form")
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.locator(".estimate")).to_contain_text("calls to models")
    await me.shot("handover-estimate")
    await page.get_by_role("button", name="Send", exact=True).click()
    await page.wait_for_url("**/t/*")
    await expect(page.locator(".card")).to_contain_text("Two suppliers are left")
    await page.locator(".card").get_by_role("button", name="Start").click()
    await expect(page.locator(".answer.done").first).to_be_visible(timeout=ANSWER_MS)
    await expect(page.locator(".entries")).to_contain_text("What the models received", timeout=ANSWER_MS)
    await expect(page.locator(".alarm")).to_have_count(0)
    await expect(page.locator(".card").get_by_role("button", name="Start")).to_have_count(0)
    await page.locator("#scroller").evaluate("one => { one.scrollTop = 0; }")
    await me.shot("handover-target")
    assert me.problems == []
    await page.context.close()


async def test_a_branch_is_reviewed_requested_and_approved(console: ServedConsole, chromium: Browser) -> None:
    me = await window(chromium, console.address)
    page = me.page
    await me.say("Which queue?", answers=1)
    await page.locator(".thread-tools").get_by_role("link", name="Branch", exact=True).click()
    await page.locator("#form").get_by_label("Name").fill("Redis")
    await page.get_by_role("button", name="Open the branch").click()
    await page.wait_for_url("**/t/*#h-*")
    await me.say("What if Redis?", answers=2)
    await page.locator(".thread-tools").get_by_role("button", name="Ask for adoption").click()
    await page.wait_for_url("**/reviews/*")
    reason = page.get_by_label("Why should it be adopted?")
    await expect(reason).to_be_visible(timeout=ANSWER_MS)
    await expect(page.locator(".exact").first).to_have_text("What if Redis?")
    await page.get_by_role("button", name="Request").click()
    await expect(page.locator(".error")).to_contain_text("Say in a few words")
    await reason.fill("It is faster")
    await me.shot("adoption-review")
    await page.get_by_role("button", name="Request").click()
    await page.wait_for_url("**/t/*")
    await page.locator(".thread-tools").get_by_role("link", name="Back to parent").click()
    card = page.locator(".card", has_text="It is faster")
    await expect(card).to_contain_text("Waiting for a decision")
    await me.shot("adoption-card")
    await card.get_by_role("link", name="Show changes").click()
    await expect(page.locator("#panel .exact").first).to_have_text("What if Redis?")
    await page.keyboard.press("Escape")
    await card.get_by_role("button", name="Approve").click()
    await expect(page.locator("#flash")).to_contain_text("Adopted")
    await expect(page.locator(".message .text", has_text="What if Redis?")).to_be_visible()
    await expect(card).to_contain_text("Approved")
    await me.shot("adoption-approved")
    assert [said for said in me.problems if "422" not in said] == []
    await page.context.close()
