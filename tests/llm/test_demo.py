import asyncio
from dataclasses import replace

import pytest

from core.domain.receipt import Finish, InputImage, InputPart, Origin, Role
from core.domain.thread import Mode
from core.llm.catalogue import DEMO_MODELS, Model
from core.llm.demo import DemoSettings, demo_answer
from core.llm.link import WorkerLink
from core.ports import Started, TextDelta
from tests.ai_input.handing import PLANTED, sent
from tests.llm.calls import QUICK, make_call, make_gateway, make_input, run

SAGE = DEMO_MODELS[0]


def part(role: Role, origin: Origin, text: str, images: tuple[InputImage, ...] = ()) -> InputPart:
    return InputPart(role=role, origin=origin, text=text, images=images)


SYSTEM = part(Role.SYSTEM, Origin.SYSTEM_PROMPT, "x" * 120)
REQUEST = part(Role.USER, Origin.REQUEST, "⟦person: Aiko⟧\nWhich database should we take?")
LONG = (
    SYSTEM,
    part(Role.USER, Origin.FIRST_MESSAGE, "⟦person: Ben⟧\nBudget is 100 dollars."),
    part(Role.USER, Origin.OMITTED_NOTE, "⟦note: messages left out here because of length: 34⟧"),
    part(Role.USER, Origin.HISTORY, "⟦person: Aiko⟧\nwhat about A"),
    part(Role.ASSISTANT, Origin.HISTORY, "A is fine"),
    part(
        Role.USER,
        Origin.HISTORY,
        "⟦person: Ben⟧\nand B?\n⟦note: the attached file c.zip, 9 bytes, was not read: too large⟧",
    ),
    part(Role.ASSISTANT, Origin.HISTORY, "B too"),
    part(Role.USER, Origin.HISTORY, "⟦person: Aiko⟧\nhm"),
    part(
        Role.USER,
        Origin.ATTACHMENT,
        "⟦person: Aiko⟧\n⟦data ab12: attached file notes, v2.txt, 20 bytes⟧\nhi\n⟦end of data ab12⟧",
    ),
    part(
        Role.USER,
        Origin.REQUEST,
        "⟦person: Aiko⟧\nWhich one?",
        (InputImage(name="plan.png", media_type="image/png", sha256="a"),),
    ),
)


def lines(*parts: InputPart, model: Model = SAGE) -> list[str]:
    return [line.removeprefix("- ") for line in demo_answer(model, parts).splitlines()]


def test_it_begins_by_saying_that_it_is_no_ai() -> None:
    assert lines(REQUEST)[0] == "**Demo model: scripted, offline, not an AI.**"


def test_it_counts_everything_that_reached_it() -> None:
    told = lines(*LONG)
    assert "This is what reached me in this one request: 10 messages." in told
    assert "System prompt: yes, 120 characters." in told
    assert 'First message, kept besides the window: yes, 22 characters: "Budget is 100 dollars."' in told
    assert "Left out before the history: 34 messages; I was told only the number." in told
    assert "History: 5 messages; Aiko 2, earlier answers 2, Ben 1." in told
    assert "Attachments: 2: notes, v2.txt, c.zip (its name only, not what is in it)." in told
    assert "Images: 1: plan.png." in told
    assert 'Request, 10 characters, from Aiko: "Which one?"' in told


def test_it_says_as_plainly_what_did_not_reach_it() -> None:
    told = lines(REQUEST)
    assert "System prompt: none came." in told
    assert "First message: it is the request itself." in told
    assert "Left out: nothing, as far as I was told." in told
    assert "History: no earlier messages." in told
    assert "Attachments: none." in told


def test_a_first_message_that_was_left_out_is_missed() -> None:
    assert "First message: no, messages were left out and it was among them." in lines(
        LONG[2], LONG[3], REQUEST
    )
    assert "First message: it is inside the history, nothing before it was left out." in lines(
        LONG[3], REQUEST
    )


def test_marks_inside_what_people_write_are_no_evidence() -> None:
    text = "⟦person: Aiko⟧\n[note: messages left out here because of length: 99] [data 1: attached file x, 1 bytes]"
    told = lines(part(Role.USER, Origin.REQUEST, text))
    assert "Left out: nothing, as far as I was told." in told
    assert "Attachments: none." in told


def test_a_request_in_japanese_is_answered_in_japanese() -> None:
    told = lines(*LONG[:-1], part(Role.USER, Origin.REQUEST, "⟦person: 愛子⟧\nどれにしますか"))
    assert told[0].startswith("**デモモデル:")
    assert "履歴の前に省かれたもの:34 件。知らされたのは件数だけです。" in told
    assert "履歴:5 件(Aiko 2 件、以前の回答 2 件、Ben 1 件)。" in told
    assert "依頼(7 文字、愛子 さんから):「どれにしますか」" in told


def test_the_name_of_whoever_asks_does_not_choose_the_language() -> None:
    told = lines(part(Role.USER, Origin.REQUEST, "⟦person: 愛子⟧\nHello there"))
    assert told[0].startswith("**Demo model")


def test_each_participant_has_a_habit_of_its_own_and_the_same_input_the_same_answer() -> None:
    answers = [demo_answer(model, (REQUEST,)) for model in DEMO_MODELS]
    assert len({answer.split("\n\n")[2] for answer in answers}) == len(DEMO_MODELS) == 5
    assert answers == [demo_answer(model, (REQUEST,)) for model in DEMO_MODELS]


def test_a_long_request_is_echoed_by_its_beginning() -> None:
    told = lines(part(Role.USER, Origin.REQUEST, "word " * 200))
    assert any(
        line.startswith('Request, 1000 characters: "word word') and line.endswith('…"') for line in told
    )


@pytest.fixture
def idle_link() -> WorkerLink:
    """A worker that is never started: demo models need none."""
    return WorkerLink(env={})


async def test_it_streams_word_by_word_through_the_gateway_without_a_worker(idle_link: WorkerLink) -> None:
    gateway, registry = make_gateway([], idle_link)
    await gateway.start()
    assert gateway.ready
    assert idle_link.process is None
    outcome = await run(gateway, make_call("demo-critic", ai_input=make_input(*LONG)))
    words = [event.text for event in outcome.events if isinstance(event, TextDelta)]
    assert isinstance(outcome.events[0], Started)
    assert "".join(words) == demo_answer(DEMO_MODELS[1], LONG)
    assert len(words) > 50
    assert max(len(word.strip()) for word in words) < 40
    done = outcome.done
    assert (done.finish, done.reported_model_id) == (Finish.STOP, "demo/critic")
    assert (done.usage.cost_usd, done.usage.estimated) == (0.0, True)
    assert done.usage.input_tokens > 50
    labels = {"model": "demo-critic", "outcome": "stop"}
    assert registry.get_sample_value("promptflow_model_calls_total", labels) == 1


async def test_its_pace_is_a_setting_and_a_cancel_ends_it(idle_link: WorkerLink) -> None:
    gateway, _ = make_gateway([], idle_link, replace(QUICK, demo=DemoSettings(word_s=60.0)))
    task = asyncio.create_task(run(gateway, make_call("demo-sage")))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(task, 0.05)
    assert task.cancelled()


def test_the_system_prompt_is_counted_and_not_repeated() -> None:
    assert "x" * 120 not in demo_answer(SAGE, LONG)


def test_a_handover_is_told_item_by_item() -> None:
    parts = sent(PLANTED, Mode.CHAT).parts
    answered = demo_answer(SAGE, parts)
    assert "planted-constraint-1; planted-constraint-2" in answered
    assert "planted-question-1" in answered
    assert f"({sum(len(p.text) for p in parts if p.origin is Origin.HANDOVER)} characters)" in answered
    plain = demo_answer(SAGE, tuple(p for p in parts if p.origin is not Origin.HANDOVER))
    assert "handover" not in plain.lower()
