"""A case made of an answer: what is shown before anything is stored, what is stored, and who may."""

from dataclasses import replace

from core.ai_input.eval_case import Seat, render_case
from core.commands.care import erase_person
from core.commands.eval_case import keep_case, preview_case
from core.commands.eval_set import export_eval_set, import_eval_set, show_eval_set
from core.domain.eval_set import LogCase, LogCaseRequest, SavedEvalSet
from core.domain.policy import Actor, Policy
from core.domain.thread import Mode
from core.i18n import LOCALES, phrase
from core.prompts.eval_file import stored_eval_set
from tests.commands.evaluating import PROMPTS
from tests.commands.look import count, refused, rows
from tests.product import World

SET = "team-chat-answer"
MAIL, PHONE = "mika@example.org", "090-1234-5678"


async def receipt_of(world: World, actor: Actor, thread: object) -> str:
    """The receipt of the newest answer of a thread."""
    answers = await world.answers(actor, thread)  # type: ignore[arg-type]
    receipt = answers[-1].receipt_id
    assert receipt
    return receipt


async def talked(world: World, aki: Actor, ben: Actor) -> str:
    """A thread in which two people said personal things; the receipt of its second answer."""
    thread = (await world.say(aki, f"Ben Carter wants a date. Write to {MAIL}.")).thread_id
    await world.say(ben, f"Or call {PHONE} on Sakura Street, 1234567, says Benny.", thread)
    return await receipt_of(world, aki, thread)


async def pair(world: World) -> tuple[Actor, Actor]:
    return await world.person(), await world.person("U2", "Ben Carter")


async def keep(
    world: World, actor: Actor, request: LogCaseRequest, *, key: str = "", seen: str | None = None
) -> SavedEvalSet:
    """Store a case after looking at it."""
    if seen is None:
        seen = (await preview_case(world.services, actor, request)).sha256
    request = replace(request, seen=seen, reason=request.reason or "the date was wrong")
    return await keep_case(world.services, actor, request, event_key=key or world.clock.new_id())


def said(case: LogCase) -> str:
    return "\n".join(f"{by}: {text}" for by, text in case.lines)


async def test_what_would_be_stored_is_shown_masked_with_a_report_and_nothing_is_stored(world: World) -> None:
    aki, ben = await pair(world)
    receipt = await talked(world, aki, ben)
    case = await preview_case(world.services, aki, LogCaseRequest(receipt_id=receipt))
    shown = said(case)
    for secret in (MAIL, PHONE, "Ben Carter", "Aki"):
        assert secret not in shown
    assert case.masked == {"personal.name": 3, "personal.mail": 1, "personal.phone": 1}
    assert [text for _, text in case.doubts] == ["1234567"]
    for told in (*case.blind_spots, *(doubt for doubt, _ in case.doubts)):
        assert all(phrase(locale, told) for locale in LOCALES)
    assert [by == "" for by, _ in case.lines] == [False, True, False]
    assert (case.prompt, case.eval_set, case.is_new_set) == ("chat.answer", SET, True)
    also = await preview_case(
        world.services, aki, LogCaseRequest(receipt_id=receipt, also_mask=("Sakura Street", "Benny", " "))
    )
    assert "Sakura Street" not in said(also)
    assert "Benny" not in said(also)
    assert also.sha256 != case.sha256
    assert await count(world, "eval_set_version") == 0


async def test_a_case_is_stored_as_it_was_shown_and_gives_the_request_of_the_answer(world: World) -> None:
    aki, ben = await pair(world)
    receipt = await talked(world, aki, ben)
    request = LogCaseRequest(receipt_id=receipt, human="The date is the agreed one.")
    shown = await preview_case(world.services, aki, request)
    for _ in range(2):
        saved = await keep(world, aki, request, key="form", seen=shown.sha256)
        assert (saved.name, saved.version, saved.cases) == (SET, 1, 1)
    files = (await export_eval_set(world.services, aki, SET)).files
    assert MAIL not in repr(files)
    (case,) = stored_eval_set(SET, files).cases
    assert tuple((line.by, line.text) for line in case.source.messages) == shown.lines
    assert (case.human, case.origin.masked_by) == (("The date is the agreed one.",), aki.person_id)
    (view,) = (await show_eval_set(world.services, aki, SET)).cases
    assert (view.from_log, view.kind) == (True, "past_failure")

    seat = Seat(model="alpha", context_tokens=64_000, max_output_tokens=1_000)
    rendered = [part.text for part in render_case(case, PROMPTS, seat).parts]
    sent = world.model.sent_texts()
    assert len(rendered) == len(sent)
    assert rendered[0] == sent[0]
    assert rendered[2] == sent[2]

    second = (await world.say(aki, "What now?")).thread_id
    more = LogCaseRequest(receipt_id=await receipt_of(world, aki, second), case_id="second")
    saved = await keep(world, aki, more)
    assert (saved.version, saved.cases) == (2, 2)


async def test_what_changed_since_it_was_shown_is_not_stored(world: World) -> None:
    aki, ben = await pair(world)
    request = LogCaseRequest(receipt_id=await talked(world, aki, ben))
    shown = await preview_case(world.services, aki, request)
    other = replace(request, also_mask=("Benny",))
    await refused(keep(world, aki, other, seen=shown.sha256), "eval_case_changed")
    await refused(keep(world, aki, request, seen=""), "eval_case_changed")
    await world.person("U3", "Benny")
    await refused(keep(world, aki, request, seen=shown.sha256), "eval_case_changed")
    assert await count(world, "eval_set_version") == 0
    typed = replace(other, human="It names the date.", case_id="dates", eval_set="team-dates")
    seen = (await preview_case(world.services, aki, other)).sha256
    assert (await keep(world, aki, typed, seen=seen)).name == "team-dates"


async def test_only_who_sees_the_thread_and_edits_prompts_makes_cases(world: World) -> None:
    aki, ben = await pair(world)
    request = LogCaseRequest(receipt_id=await talked(world, aki, ben))
    shown = await preview_case(world.services, ben, request)
    world.doors.closed.add(("C1", "U2"))
    await refused(preview_case(world.services, ben, request), "receipt_not_found")
    await refused(keep(world, ben, request, seen=shown.sha256), "receipt_not_found")
    await refused(preview_case(world.services, aki, replace(request, receipt_id="none")), "receipt_not_found")
    world.policies["W1"] = Policy(prompt_editors=("U2",))
    await refused(preview_case(world.services, aki, request), "prompt_edit_not_allowed")
    await refused(keep(world, aki, request, seen=shown.sha256), "prompt_edit_not_allowed")
    assert await count(world, "eval_set_version") == 0


async def test_what_a_case_cannot_be_is_said_and_nothing_is_stored(world: World) -> None:
    aki, ben = await pair(world)
    request = LogCaseRequest(receipt_id=await talked(world, aki, ben))
    for changes, code in (
        ({"case_id": "no spaces"}, "eval_case_id"),
        ({"case_id": "x" * 61}, "eval_case_id"),
        ({"human": "x" * 501}, "eval_case_human_long"),
        ({"also_mask": tuple(f"word{n}" for n in range(51))}, "eval_case_words"),
        ({"eval_set": "chat"}, "eval_set_name"),
        ({"reason": "no"}, "prompt_reason_missing"),
        ({"human": f"Write to {MAIL}."}, "eval_set_invalid"),
    ):
        await refused(keep(world, aki, replace(request, **changes)), code)
    assert await count(world, "eval_set_version") == 0
    await keep(world, aki, replace(request, case_id="mine"))
    await refused(keep(world, aki, replace(request, case_id="mine")), "eval_case_taken")
    other = {
        "set.yaml": b"id: team-sum\nversion: 1\nprompts: [compare.summary]\n",
        "cases/a.yaml": b"- {id: A, kind: typical, origin: synthetic, source: {question: q, answers: [a, b]}}\n",
    }
    await import_eval_set(world.services, aki, other, "another prompt", event_key="o")
    await refused(keep(world, aki, replace(request, eval_set="team-sum")), "eval_case_other_set")


async def test_an_answer_of_another_mode_makes_no_case_and_one_of_compare_does(world: World) -> None:
    aki = await world.person()
    draft = await world.say(aki, "A note", mode=Mode.CODRAFT, setup={"passes": 1}, estimate_seen=True)
    assert draft.thread_id
    receipt = await receipt_of(world, aki, draft.thread_id)
    await refused(preview_case(world.services, aki, LogCaseRequest(receipt_id=receipt)), "eval_case_no_chat")
    compared = await world.say(aki, "Which queue?", mode=Mode.COMPARE, estimate_seen=True)
    assert compared.thread_id
    answers = await world.answers(aki, compared.thread_id)
    receipt = next(one.receipt_id for one in answers if one.receipt_id)
    case = await preview_case(world.services, aki, LogCaseRequest(receipt_id=receipt))
    assert (case.prompt, case.eval_set) == ("compare.answer", "team-compare-answer")
    assert case.lines[-1][1] == "Which queue?"


async def test_erasing_a_person_takes_cases_made_of_their_words_with_them(world: World) -> None:
    aki, ben = await pair(world)
    request = LogCaseRequest(receipt_id=await talked(world, aki, ben))
    await keep(world, aki, replace(request, case_id="both"))
    only = (await world.say(aki, "Only mine")).thread_id
    await keep(world, aki, LogCaseRequest(receipt_id=await receipt_of(world, aki, only), case_id="mine"))
    await erase_person(world.services, ben, "U2")
    assert [one.case_id for one in (await show_eval_set(world.services, aki, SET)).cases] == ["mine"]
    assert "Sakura" not in repr(await rows(world, "eval_set_version"))
    await refused(preview_case(world.services, aki, request), "eval_case_text_gone")
