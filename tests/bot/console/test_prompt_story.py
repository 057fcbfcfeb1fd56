"""What prompts as tested assets come to, by the console alone: changed, compared, verified by another person, promoted,
on the next receipt, rolled back, and remembered."""

from pathlib import Path

import pytest

from core.ports import ModelCall
from core.prompts.eval_file import parse_eval_set
from core.prompts.eval_set import EvalSet
from tests.bot.console.conftest import Visitor, open_ground
from tests.bot.console.page_source import PageSource
from tests.bot.console.test_carry import links
from tests.bot.console.test_evals import ended, judge
from tests.bot.console.test_prompts import as_person, back_to_first, error
from tests.commands.evaluating import PROMPTS, library

DRAFT = "/prompts/codraft.draft"
RULE = "\nAlways name a date.\n"
CASES = 20


def letters() -> EvalSet:
    """A set of the prompt whose conditions a scripted model can meet; a person looks at one of its outputs."""
    cases = "".join(
        f"- id: L{number:02}\n  kind: {('typical', 'boundary', 'past_failure')[number % 3]}\n  origin: synthetic\n"
        f'  source: {{task: "Letter L{number:02} about the lease."}}\n  checks: [{{contains_all: [lease]}}]\n'
        + '  human: ["The date is a real one."]\n'
        * (number == 1)
        for number in range(1, CASES + 1)
    )
    files = {
        "set.yaml": b"id: codraft-v1\nversion: 1\nprompts: [codraft.draft]\n",
        "cases/letters.yaml": cases.encode(),
    }
    return parse_eval_set("codraft-v1", files, PROMPTS)


def answer(call: ModelCall) -> str | None:
    """In an evaluation the new rule shows in what is written; elsewhere the script answers."""
    if not any(side in call.request_id for side in ("/baseline/", "/candidate/")):
        return None
    sent = "\n".join(part.text for part in call.ai_input.parts)
    return "The lease ends on 3 May." if RULE.strip() in sent else "The lease ends soon."


async def compared(visitor: Visitor) -> str:
    """Where the evaluation of the proposed version stands, begun after its estimate and run to its end."""
    asked = (await visitor.get(f"{DRAFT}/evals")).chosen()
    query = "&".join(
        f"{name}={value}" for name, value in {**asked, "repeats": "1"}.items() if name != "locale"
    )
    estimate = await visitor.get(f"{DRAFT}/eval?{query}")
    _, path, _ = await visitor.post(f"{DRAFT}/eval", estimate.fields())
    await ended(visitor, path)
    return path


async def promote(visitor: Visitor) -> tuple[int, PageSource]:
    """Ask to have the proposed version made live."""
    form = await visitor.get(links(await visitor.get(DRAFT), f"{DRAFT}/promote")[0])
    status, _, page = await visitor.post(
        f"{DRAFT}/promote", {**form.fields(), "reason": "letters name a date"}
    )
    return status, page


async def versions_on_receipt(visitor: Visitor, task: str) -> list[str]:
    """The versions of the prompt that the receipt of a new draft's first answer names."""
    thread = await visitor.begin("codraft", task, passes="1")
    page = await visitor.ended(thread)
    receipt = await visitor.get(links(page, "/receipts/")[0])
    return [one.text for one in receipt.all("a", class_="badge") if one.text.startswith("codraft.draft")]


def sent_about(calls: list[ModelCall], what: str) -> str:
    """The first request that is about this."""
    requests = ["\n".join(part.text for part in call.ai_input.parts) for call in calls]
    return next(request for request in requests if what in request)


async def save(visitor: Visitor, text: str, base: str = "") -> tuple[int, PageSource]:
    """Save a text of the prompt's system part, made from a version."""
    edit = (await visitor.get(f"{DRAFT}/edit?base={base}" if base else f"{DRAFT}/edit")).fields()
    sent = {**edit, "part.system.md": text, "reason": "letters lack dates"}
    status, _, page = await visitor.post(f"{DRAFT}/save", sent)
    return status, page


async def verified(visitor: Visitor, path: str) -> None:
    """Another person judges the output that waits, looks at the version, and leaves the keyboard again."""
    await as_person(visitor, "Chika")
    status, page = await judge(visitor, path, judgement="pass")
    assert status == 200
    assert "It can be made live by this evaluation" in page.text
    page = await visitor.get(DRAFT)
    await visitor.post(f"{DRAFT}/verify", {**page.fields(), "reason": "the dates are real"})
    await back_to_first(visitor)


async def held_and_released(visitor: Visitor, path: str) -> None:
    """Set the case that waits for a person aside in the evaluation, and have it counted again."""
    sent = {"case": "L01", "run": path.removeprefix("/evals/"), "kind": "wrong", "reason": "there is no date"}
    hold, release = (f"/eval-sets/codraft-v1/{name}" for name in ("hold", "release"))
    status, _, page = await visitor.post(hold, {**sent, "event_key": await visitor.key(), "reason": ""})
    assert status == 422
    assert "why the case is not to count" in error(page)
    _, back, page = await visitor.post(hold, {**sent, "event_key": await visitor.key()})
    assert back == path
    assert "there is no date" in page.text
    assert "It can be made live by this evaluation" in page.text
    _, back, page = await visitor.post(release, {**sent, "event_key": await visitor.key()})
    assert back == path
    assert "1 cases wait for a person: L01" in page.text


async def rolled_back(visitor: Visitor, why: str) -> str:
    """Go back to the version before, which wants a reason; the version that was gone back to."""
    form = await visitor.get(links(await visitor.get(DRAFT), f"{DRAFT}/rollback")[0])
    status, _, page = await visitor.post(f"{DRAFT}/rollback", form.fields())
    assert status == 422
    fields = {**page.fields(), "reason": form.fields()["reason"] + why}
    status, _, page = await visitor.post(f"{DRAFT}/rollback", fields)
    assert status == 200, error(page)
    assert "Live: 1.0.0" in page.text
    return fields["version_id"]


@pytest.mark.soak
async def test_a_person_with_only_the_console_takes_a_change_to_everybody_and_back_and_is_reminded(
    tmp_path: Path,
) -> None:
    async with open_ground(tmp_path, eval_library=library(letters())) as ground:
        visitor, model = ground.visitor, ground.world.model
        model.plan = answer
        assert await versions_on_receipt(visitor, "A letter about the garage") == ["codraft.draft 1.0.0"]

        # changes
        text = (await visitor.get(f"{DRAFT}/edit")).fields()["part.system.md"] + RULE
        status, page = await save(visitor, text)
        assert status == 200, error(page)
        assert "Version 1.1.0 is proposed" in page.text
        status, page = await promote(visitor)
        assert status == 422
        assert "codraft-v1" in error(page)

        # sees the comparison
        path = await compared(visitor)
        page = await visitor.get(path)
        assert "The lease ends soon." in page.text
        assert "The lease ends on 3 May." in page.text
        status, page = await promote(visitor)
        assert status == 422
        assert "1 cases wait for a person: L01" in error(page)

        # could have the case set aside, which is on record, and does not
        await held_and_released(visitor, path)

        # has it verified by another person
        await verified(visitor, path)
        assert "Looked at by Chika" in (await visitor.get(DRAFT)).text

        # promotes it
        status, page = await promote(visitor)
        assert status == 200, error(page)
        assert "Live: 1.1.0" in page.text
        assert "Approved by its author alone" not in page.text
        assert path in links(await visitor.get(f"{DRAFT}/history"), "/evals/")

        # sees the new version on the next answer's receipt
        assert await versions_on_receipt(visitor, "A letter about the cellar") == ["codraft.draft 1.1.0"]
        assert RULE.strip() in sent_about(model.calls, "the cellar")

        # rolls it back with a reason
        restored = await rolled_back(visitor, "dates were made up")
        assert await versions_on_receipt(visitor, "A letter about the roof") == ["codraft.draft 1.0.0"]
        assert RULE.strip() not in sent_about(model.calls, "the roof")
        assert len(links(await visitor.get(f"{DRAFT}/evals"), "/evals/")) == 2

        # tries the same change again and is reminded why it was withdrawn
        status, page = await save(visitor, text, restored)
        assert status == 422
        assert "dates were made up" in error(page)
        assert page.fields()["part.system.md"].strip() == text.strip()
