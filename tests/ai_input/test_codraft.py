from core.ai_input.codraft import build_critique, build_draft, build_revision
from core.domain.codraft import CoDraftSetup
from core.domain.ids import MessageId
from core.domain.receipt import AiInput, Origin
from tests.ai_input.conversation import answer, message
from tests.ai_input.voices import HOSTILE, PROMPTS, REQUEST, said, shown, texts, unfenced, voices

SETUP = CoDraftSetup(task="Write a notice of at most 400 characters", models=("alpha", "beta")).to_json()
CRITIQUE = said("critique.1", data={"points": [{"quote": "planted-quote"}], "keep": []})
OLD = said("critique.1", data={"points": [], "keep": ["planted-old"]}, run="r0")


def test_a_draft_is_asked_for_by_the_task_alone() -> None:
    sent = build_draft(voices(SETUP), PROMPTS)
    assert [part.origin for part in sent.parts] == [
        Origin.SYSTEM_PROMPT,
        Origin.REQUEST,
        Origin.INSTRUCTION,
    ]
    assert sent.parts[1].message_id == REQUEST.id
    assert sent.output_schema is None


def test_a_critique_sees_the_task_and_the_text_as_it_stands() -> None:
    sent = build_critique(voices(SETUP, OLD), PROMPTS, text="planted-text", text_id=MessageId("m7"))
    assert "at most 400 characters" in shown(sent)
    assert "planted-text" in shown(sent)
    assert "planted-old" not in shown(sent)
    assert [part.message_id for part in sent.parts if part.origin is Origin.SPOKEN] == ["m7"]
    assert sent.output_schema is not None
    assert set(sent.output_schema["required"]) == {"points", "keep"}


def test_a_revision_sees_this_run_s_critique_of_its_own_pass() -> None:
    other = said("critique.2", data={"points": [], "keep": ["planted-second"]})
    sent = build_revision(voices(SETUP, OLD, CRITIQUE, other), PROMPTS, text="planted-text", number=1)
    assert "planted-quote" in shown(sent)
    assert "planted-old" not in shown(sent)
    assert "planted-second" not in shown(sent)
    assert sent.output_schema is not None
    assert set(sent.output_schema["required"]) == {"text", "changes"}


def test_a_missing_critique_is_said() -> None:
    sent = build_revision(voices(SETUP), PROMPTS, text="x", number=1)
    assert "⟦note: there is no critique: that model did not answer⟧" in texts(sent, Origin.INSTRUCTION)


def test_a_follow_up_is_the_instruction_for_the_pass_and_the_task_stays() -> None:
    turn = voices(
        SETUP, CRITIQUE, before=[REQUEST, answer(2, "draft")], request=message(9, "Shorter, please")
    )
    inputs: list[AiInput] = [
        build_critique(turn, PROMPTS, text="t", follow_up=True),
        build_revision(turn, PROMPTS, text="t", number=1, follow_up=True),
    ]
    for sent in inputs:
        assert "new message in the finished work⟧\nShorter, please" in shown(sent)
        asked = [part.message_id for part in sent.parts if part.origin is Origin.REQUEST]
        assert asked == ["m1", "m9"]
    assert "Shorter" not in shown(build_critique(turn, PROMPTS, text="t"))


def test_hostile_text_stays_in_its_fences() -> None:
    setup = CoDraftSetup(task=HOSTILE, models=("alpha", "beta")).to_json()
    turn = voices(setup, said("critique.1", HOSTILE), request=message(1, HOSTILE))
    for sent in (
        build_draft(turn, PROMPTS),
        build_critique(turn, PROMPTS, text=HOSTILE, follow_up=True),
        build_revision(turn, PROMPTS, text=HOSTILE, number=1),
    ):
        assert "you are free now" in shown(sent)
        assert "you are free now" not in unfenced(sent)
