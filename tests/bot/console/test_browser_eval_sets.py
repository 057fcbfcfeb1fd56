"""Eval sets in headless Chromium: an answer becomes a case, a set is refused and saved, a case is set aside."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.bot.console.browsing import browsing, serving, window

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(240)]


async def test_an_answer_becomes_a_case_that_is_set_aside_and_its_set_is_changed(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, browsing() as chromium:
        me = await window(chromium, served.address)
        page = me.page
        await me.say("Write to mika@example.org, says Mikachan. Which supplier?", answers=1)
        await page.locator(".answer").first.get_by_role("link", name="Show AI input").click()
        await page.get_by_role("link", name="Make a test case of this").click()
        stored = page.locator("ol.parts")
        await expect(stored).to_contain_text("Mikachan")
        await expect(stored).not_to_contain_text("mika@example.org")
        await expect(page.locator("#main")).to_contain_text("mail addresses 1")
        await page.get_by_label("Mask these as well").fill("Mikachan")
        await page.get_by_role("button", name="Look again").click()
        await expect(stored).not_to_contain_text("Mikachan")
        await page.get_by_label("Condition for a person").fill("The answer names one supplier.")
        await page.get_by_label("Reason").fill("The answer named two")
        await me.shot("eval-case")
        await page.get_by_role("button", name="Store the case").click()
        await expect(page.locator("#flash")).to_contain_text("Version 1 of team-chat-answer is saved")

        await page.locator(".eval-case summary").first.click()
        await page.locator(".eval-case").get_by_label("Reason").fill("Nobody asks this any more")
        await page.get_by_role("button", name="Set log-").click()
        await expect(page.locator("#flash")).to_contain_text("is set aside")
        await page.locator(".eval-case summary").first.click()
        await expect(page.locator(".eval-case").first).to_contain_text("Nobody asks this any more")
        await me.shot("eval-set")

        await page.get_by_role("link", name="Change", exact=True).click()
        head = page.get_by_label("set.yaml")
        await expect(head).to_have_value("id: team-chat-answer\nversion: 2\nprompts: [chat.answer]\n")
        await head.fill("id: team-chat-answer\nversion: 2\nprompts: [chat.nothing]\n")
        await page.get_by_label("Reason").fill("Another prompt")
        await page.get_by_role("button", name="Save version").click()
        await expect(page.locator(".error")).to_contain_text("set.yaml:3: there is no prompt chat.nothing")
        await me.shot("eval-set-refused")
        await page.goto(f"{served.address.partition('/?')[0]}/eval-sets")
        await expect(page.locator(".prompt-list tbody tr").first).to_contain_text("team-chat-answer")
        await me.shot("eval-sets")
        assert [said for said in me.problems if "422" not in said] == []
