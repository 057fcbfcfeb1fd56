"""Evaluations on the page, without a script: cost first, results side by side, verdicts of a person, the report."""

from core.commands.console import LOCAL
from core.domain.policy import Policy
from tests.bot.console.conftest import Ground, Visitor
from tests.bot.console.page_source import PageSource
from tests.bot.console.test_carry import forms, links
from tests.bot.console.test_prompts import as_person, error
from tests.examples.views import HOSTILE
from tests.product import eventually

DRAFT = "/prompts/codraft.draft"


async def proposed(visitor: Visitor) -> PageSource:
    """The estimate of an evaluation of a changed prompt."""
    fields = (await visitor.get(f"{DRAFT}/edit")).fields()
    fields |= {
        "part.system.md": fields["part.system.md"] + "\nAlways name a date.\n",
        "reason": "dates were lost",
    }
    status, _, page = await visitor.post(f"{DRAFT}/save", fields)
    assert status == 200, error(page)
    asked = (await visitor.get(f"{DRAFT}/evals")).chosen()
    query = "&".join(
        f"{name}={value}" for name, value in {**asked, "repeats": "1"}.items() if name != "locale"
    )
    return await visitor.get(f"{DRAFT}/eval?{query}")


async def ended(visitor: Visitor, path: str) -> PageSource:
    async def quiet() -> bool:
        return not (await visitor.get(path)).all("meta", http_equiv="refresh")

    await eventually(quiet)
    return await visitor.get(path)


async def judge(visitor: Visitor, path: str, **pressed: str) -> tuple[int, PageSource]:
    """Press a button under the first output that waits; status, and the page as it stands then."""
    page = await visitor.get(path)
    asked = [one for one in page.all("input") if one.attributes["name"] in ("case", "criterion", "output")]
    fields = {one.attributes["name"]: one.attributes["value"] for one in asked[:3]}
    fields |= {"event_key": await visitor.key(), **pressed}
    status, _, page = await visitor.post(f"{path}/verdict", fields)
    return status, page


async def test_a_changed_prompt_is_compared_judged_by_another_person_and_told_in_a_file(
    ground: Ground,
) -> None:
    visitor = ground.visitor
    ground.world.policies[LOCAL.external_id] = Policy(prompt_four_eyes=True)
    ground.world.model.script = [HOSTILE, f"more {HOSTILE}"]
    estimate = await proposed(visitor)
    assert ground.world.model.calls == []
    assert "calls" in estimate.one("div", class_="estimate").text
    assert "Postal addresses are not found" in estimate.text
    sent = estimate.fields()
    paths = {(await visitor.post(f"{DRAFT}/eval", sent))[1] for _ in range(2)}
    assert len(paths) == 1
    path = paths.pop()
    assert path.startswith("/evals/")
    page = await ended(visitor, path)
    cases = page.all("details", class_="prompt-part eval-case")
    assert len(ground.world.model.calls) >= 2 * len(cases) > 0
    assert "cannot be made live by this evaluation yet" in page.text
    assert HOSTILE[:30] in page.text
    assert len(page.all("script")) == 1
    assert not [name for one in page.elements for name in one.attributes if name.startswith("on")]
    assert forms(page, "/verdict") == []

    await as_person(visitor, "Chika")
    page = await visitor.get(path)
    waiting = len(forms(page, "/verdict"))
    assert waiting > 0
    for wrong in ({"judgement": "nonsense"}, {"output": "0" * 64}, {"case": HOSTILE}, {"judgement": "fail"}):
        status, page = await judge(visitor, path, **{"judgement": "pass", **wrong})
        assert (status, len(forms(page, "/verdict"))) == (422, waiting), wrong
    assert "what is wrong" in error(page)
    status, page = await judge(visitor, path, judgement="hold")
    assert (status, len(forms(page, "/verdict"))) == (200, waiting)
    assert "You said: Not sure" in page.text
    for left in reversed(range(waiting)):
        status, page = await judge(visitor, path, judgement="fail", comment="It names no date")
        assert (status, len(forms(page, "/verdict"))) == (200, left)
    assert "judged as failed by a person" in page.text

    async with visitor.session.get(f"{visitor.base}{path}/report") as response:
        assert "attachment" in response.headers["Content-Disposition"]
        report = PageSource(await response.text())
    assert report.all("script") == []
    assert HOSTILE[:30] in report.text
    assert path in links(await visitor.get(f"{DRAFT}/evals"), "/evals/")
    page = await visitor.get(DRAFT)
    await visitor.post(f"{DRAFT}/verify", {**page.fields(), "reason": "dates are named"})
    form = await visitor.get(links(page, f"{DRAFT}/promote")[0])
    assert "judged as failed by a person" in form.one("ul", class_="reasons").text
    status, _, page = await visitor.post(f"{DRAFT}/promote", {**form.fields(), "reason": "dates are named"})
    assert status == 422
    assert form.one("input", type="checkbox").attributes["name"] == "override"
    status, _, page = await visitor.post(f"{DRAFT}/promote", {**page.fields(), "override": "on"})
    assert status == 200, error(page)
    assert "Made live past its eval set: dates are named" in page.text


async def test_an_evaluation_is_stopped_and_what_cannot_be_run_says_why(ground: Ground) -> None:
    visitor = ground.visitor
    estimate = await proposed(visitor)
    _, path, _ = await visitor.post(f"{DRAFT}/eval", estimate.fields())
    _, stopped, _ = await visitor.post(f"{path}/stop", {"event_key": await visitor.key()})
    assert stopped == path
    page = await ended(visitor, path)
    assert "stopped" in page.text or "done" in page.text
    assert "no eval set" in (await visitor.get("/prompts/chat.answer/evals")).text
    await visitor.get(f"{DRAFT}/eval?candidate=none", status=422)
    await visitor.get(f"{DRAFT}/eval?candidate=&repeats=99", status=422)
    await visitor.get("/evals/none", status=404)
    fields = {**estimate.fields(), "event_key": "x"}
    status, _, page = await visitor.post(f"{DRAFT}/eval", fields)
    assert status == 422
    assert error(page)
