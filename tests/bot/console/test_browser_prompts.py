"""A prompt in headless Chromium: edited while the page says what the change needs, made live, rolled back."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.bot.console.browsing import ANSWER_MS, Visitor, browsing, serving, window

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(240)]

CHAT = "/prompts/chat.answer"


async def edit(me: Visitor, text: str) -> str:
    """Edit the prompt, once wrongly and once rightly, and save it as proposed; its text before."""
    page = me.page
    system = page.get_by_label("Instructions to the model")
    before = await system.input_value()
    await system.fill(before + "\n{{unknown}}")
    await expect(page.locator("[id='problems-system.md']")).to_contain_text("unknown")
    await me.shot("prompt-problem")
    await system.fill(before + text)
    await expect(page.locator("#checked")).to_contain_text("at least minor")
    await expect(page.locator("[id='problems-system.md']")).to_be_empty()
    await page.locator("#checked select").select_option("2.0.0")
    await system.press("End")
    await system.type("!")
    await expect(page.locator("#checked select")).to_have_value("2.0.0")
    await page.locator("#checked select").select_option("")
    await page.get_by_role("button", name="Save version").click()
    await expect(page.locator(".error")).to_contain_text("reason")
    await page.get_by_label("Reason").fill("Answers end abruptly")
    await me.shot("prompt-edit")
    await page.get_by_role("button", name="Save version").click()
    await expect(page.locator(".card")).to_contain_text("Version 1.1.0 is proposed")
    return before


async def test_a_prompt_is_changed_by_one_person_and_made_live_by_another(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, browsing() as chromium:
        me = await window(chromium, served.address)
        page = me.page
        await me.say("Which supplier?", answers=1)
        await page.get_by_label("Message", exact=True).fill("/prompts")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/prompts")
        await me.shot("prompts")
        await page.locator("#main").get_by_role("link", name="chat.answer").click()
        await page.get_by_role("link", name="Edit", exact=True).click()
        text = await edit(me, "\nAlways end with the word plantedrule.")
        await page.locator(".people summary").click()
        await page.get_by_role("button", name="Ben", exact=True).click()
        await expect(page.locator(".card")).to_contain_text("Nobody but its author")
        await page.get_by_label("Your verdict").fill("Dates are kept")
        await page.get_by_role("button", name="I have looked at it").click()
        await expect(page.locator(".card")).to_contain_text("Looked at by Ben")
        await me.shot("prompt-proposed")
        await page.locator(".card").get_by_role("link", name="Make live").click()
        await page.get_by_label("Reason").fill("It reads better now")
        await me.shot("prompt-promote")
        await page.get_by_role("button", name="Make live").click()
        await expect(page.locator("#flash")).to_contain_text("Version 1.1.0 is live")
        await page.get_by_role("link", name="Roll back to version 1.0.0").click()
        why = page.get_by_label("What went wrong?")
        await expect(why).to_have_value("v1.1.0 → v1.0.0: ")
        await why.press("End")
        await why.type("dates were lost")
        await page.get_by_role("button", name="Roll back").click()
        await expect(page.locator("#flash")).to_contain_text("Rolled back from 1.1.0 to 1.0.0")
        await me.shot("prompt-rolled-back")
        await page.get_by_role("link", name="Edit", exact=True).click()
        system = page.get_by_label("Instructions to the model")
        await system.fill(text + "\nAlways end with the word plantedrule?")
        await expect(page.locator("#checked")).to_contain_text("dates were lost")
        await me.shot("prompt-reminded")
        await page.get_by_label("Reason").fill("Trying it once more")
        await page.get_by_label("I have read why").check()
        await page.get_by_role("button", name="Save version").click()
        await expect(page.locator("#flash")).to_contain_text("is saved and proposed")
        await page.get_by_role("link", name="History").click()
        await expect(page.locator(".events > li")).to_have_count(5)
        await page.locator(".events summary").first.click()
        await me.shot("prompt-history")
        assert [said for said in me.problems if "422" not in said] == []


async def test_an_evaluation_shows_its_cost_runs_and_lays_outputs_side_by_side(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, browsing() as chromium:
        me = await window(chromium, served.address)
        page = me.page
        await page.get_by_label("Message", exact=True).fill("/prompts codraft.draft")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/prompts/codraft.draft")
        await page.get_by_role("link", name="Evaluations").click()
        await page.get_by_label("Runs of each case").fill("1")
        await page.locator("#main button.primary").click()
        await expect(page.locator("#main .estimate")).to_contain_text("calls; at most")
        await me.shot("eval-estimate")
        await page.get_by_role("button", name="Start", exact=True).click()
        await page.wait_for_url("**/evals/*")
        await expect(page.get_by_role("link", name="Download as HTML")).to_be_visible(timeout=ANSWER_MS)
        await expect(page.locator(".eval-counts")).to_contain_text("unchanged")
        await page.locator(".eval-case summary").first.click()
        await expect(page.locator(".eval-case").first).to_contain_text("Candidate")
        await me.shot("eval-result")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download as HTML").click()
        kept = await (await download.value).path()
        assert "codraft.draft" in kept.read_text(encoding="utf-8")
        assert me.problems == []
