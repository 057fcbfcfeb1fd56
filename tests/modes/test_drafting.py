"""The control flow of drafting a handover: one repair, pins put in, an extract whenever no draft comes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from core.ai_input.structured import parse_output
from core.domain.adoption import ReviewDraft, ReviewTexts
from core.domain.drafting import DraftOrigin, HandoverDraft, draft_notes
from core.domain.handover import HandoverFields, check, missing_pins
from core.domain.message import Cut, Message
from core.domain.pin import Pin
from core.domain.receipt import AiInput, Finish
from core.domain.thread import Mode
from core.domain.workflow import Workflow
from core.i18n import LOCALES, phrase
from core.llm.demo_modes import structured_answer
from core.modes.context import Answer, Ask, HandoverContext
from core.modes.drafting import draft_handover, draft_review
from core.ports import Turn
from tests.ai_input.conversation import answer, attachment, message
from tests.ai_input.test_drafting import (
    ANSWERS,
    COMPARE,
    DEBATE,
    FIRST,
    FLOW,
    PINS,
    WORKFLOW,
    branch,
    source,
)
from tests.ai_input.voices import PROMPTS, said, take
from tests.domain.test_handover import pin

GOOD: Mapping[str, Any] = {
    "summary": "Two suppliers are left.",
    "background": "The contract ends in March.",
    "openQuestions": ["Who signs?"],
    "constraints": ["customer names stay in-house", "by March"],
    "conclusions": ["Minami it is"],
}
FORGETFUL: Mapping[str, Any] = {**GOOD, "constraints": ["names of customers are kept inside", "by March"]}


@dataclass
class Run:
    """A drafting run over one turn: it gives the answers of a script and keeps what was sent and stored."""

    turn: Turn
    script: list[Mapping[str, Any] | None]
    args: Mapping[str, Any] = field(default_factory=lambda: {"target": "debate"})
    stop: bool = False
    sent: list[AiInput] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    kept: list[HandoverDraft] = field(default_factory=list)
    reviews: list[ReviewDraft] = field(default_factory=list)
    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    model: str = "alpha"
    locale: str = "en"

    @property
    def setup(self) -> Mapping[str, Any]:
        return self.turn.setup

    async def pins(self) -> tuple[Pin, ...]:
        return self.turn.pins

    async def stopped(self) -> bool:
        return self.stop

    async def consult(self, ask: Ask) -> Answer:
        assert ask.line is None
        self.steps.append(ask.step)
        self.sent.append(ask.build(self.turn, PROMPTS))
        data = self.script.pop(0)
        return Answer(
            step=ask.step,
            message_id=None,
            receipt_id=None,
            text="",
            finish=Finish.STOP if data else Finish.FAILED,
            cut=Cut.NONE,
            failure="" if data else "model_failure.timeout",
            data=data,
        )

    async def keep_review(self, finish: Callable[[Turn], ReviewDraft]) -> None:
        self.reviews.append(finish(self.turn))

    async def keep_draft(self, finish: Callable[[Turn], HandoverDraft]) -> None:
        self.kept.append(finish(self.turn))


async def drafted(run: Run) -> HandoverDraft:
    await draft_handover(cast(HandoverContext, run))
    assert len(run.kept) == 1
    return run.kept[0]


def chat(stored: Sequence[Message] = (FIRST, answer(2, "planted-answer")), **changes: Any) -> Turn:
    return source(Mode.CHAT, stored, pins=PINS, **changes)


async def test_a_draft_with_every_pin_is_kept_after_one_call() -> None:
    run = Run(turn=chat(), script=[GOOD])
    draft = await drafted(run)
    assert run.steps == ["draft"]
    assert (draft.origin, draft.repaired, draft.missed) == (DraftOrigin.MODEL, False, ())
    assert draft.fields.first_request == "planted-first-request"
    assert draft.fields.constraints == ("customer names stay in-house", "by March")
    assert draft.fields.source_mode is Mode.CHAT
    assert draft_notes(draft) == ()
    check(draft.fields, Mode.DEBATE)


async def test_a_draft_that_drops_a_pinned_constraint_is_asked_for_once_more() -> None:
    run = Run(turn=chat(), script=[FORGETFUL, GOOD])
    draft = await drafted(run)
    assert run.steps == ["draft", "pin_repair"]
    assert "- customer names stay in-house" in run.sent[1].parts[-1].text
    assert (draft.repaired, draft.missed) == (True, ())
    assert draft.fields.constraints == ("customer names stay in-house", "by March")
    assert [note.key for note in draft_notes(draft)] == ["draft_note.repaired"]


@pytest.mark.parametrize("second", [FORGETFUL, None])
async def test_what_is_missing_after_the_repair_is_put_in_and_flagged(
    second: Mapping[str, Any] | None,
) -> None:
    run = Run(turn=chat(), script=[FORGETFUL, second])
    draft = await drafted(run)
    assert len(run.steps) == 2
    assert draft.missed == ("p1",)
    assert draft.fields.constraints[0] == "customer names stay in-house"
    assert draft.origin is DraftOrigin.MODEL
    assert [note.key for note in draft_notes(draft)] == ["draft_note.missed"]


async def test_a_repair_that_loses_more_than_it_mends_is_not_taken() -> None:
    worse = {**GOOD, "summary": "worse", "constraints": [], "openQuestions": []}
    draft = await drafted(Run(turn=chat(), script=[FORGETFUL, worse]))
    assert draft.fields.summary == GOOD["summary"]


async def test_a_stopped_run_asks_no_second_time_and_still_leaves_a_draft() -> None:
    run = Run(turn=chat(), script=[FORGETFUL], stop=True)
    draft = await drafted(run)
    assert run.steps == ["draft"]
    assert draft.missed == ("p1",)


# --- when nothing comes ---------------------------------------------------------------------------------------------


async def test_a_model_that_fails_leaves_an_extract_that_says_so_and_holds_the_pins() -> None:
    draft = await drafted(Run(turn=chat(), script=[None]))
    assert draft.origin is DraftOrigin.EXTRACT
    assert draft.failure == "model_failure.timeout"
    assert draft.fields.summary == "Alice: planted-first-request\nAI: planted-answer"
    assert draft.fields.first_request == "planted-first-request"
    assert missing_pins(draft.fields, PINS) == ()
    assert [note.key for note in draft_notes(draft)] == ["draft_note.extract"]


async def test_an_extract_of_a_compare_names_no_model_and_keeps_to_the_picked_answer() -> None:
    turn = source(Mode.COMPARE, [FIRST], ANSWERS, setup=COMPARE)
    every = await drafted(Run(turn=turn, script=[None]))
    assert every.fields.summary == "Alice: planted-first-request\nA: planted-answer-A\nB: planted-answer-B"
    args = {"target": "chat", "centre": ANSWERS[1].message_id}
    picked = await drafted(Run(turn=turn, script=[None], args=args))
    assert picked.fields.summary == "Alice: planted-first-request\nB: planted-answer-B"


async def test_an_extract_of_a_debate_takes_its_points_from_the_synthesis() -> None:
    synthesis = {
        "recommendation": "Take Minami.",
        "agreed": [],
        "unresolved": [{"point": "Who pays?", "views": []}],
        "dissent": [],
        "constraints": [{"constraint": "at most 30,000 EUR", "status": "kept", "reason": "r"}],
        "changes": [],
    }
    spoken = [said("positions:A", data=take("for it", "because")), said("synthesis", data=synthesis)]
    turn = source(Mode.DEBATE, [FIRST, message(2, "a remark")], spoken, setup=DEBATE)
    fields = (await drafted(Run(turn=turn, script=[None]))).fields
    assert fields.open_questions == ("Who pays?",)
    assert fields.constraints == ("at most 30,000 EUR",)
    assert fields.conclusions == ("Take Minami.",)
    assert "A: Stance: for it because" in fields.summary
    assert "Alice: a remark" in fields.summary
    assert "secret-model" not in fields.summary


async def test_an_extract_of_a_workflow_names_steps_by_their_titles_and_no_model() -> None:
    spoken = [
        said("gather", "a list of offers"),
        said("views/answer:A", "alpha's view"),
        said("views/answer:B", "beta's view"),
    ]
    turn = source(Mode.WORKFLOW, [FIRST], spoken, setup=WORKFLOW)
    draft = await drafted(Run(turn=turn, script=[None], workflows={"flow": FLOW}))
    assert draft.fields.summary.splitlines() == [
        "Gather offers: a list of offers",
        "Views A: alpha's view",
        "Views B: beta's view",
    ]
    gone = await drafted(Run(turn=turn, script=[None]))
    assert gone.fields.summary.splitlines()[0] == "gather: a list of offers"
    assert "alpha:" not in gone.fields.summary


async def test_erased_messages_are_in_no_extract() -> None:
    turn = chat([FIRST, replace(message(2, "planted-erased"), erased=True)])
    assert "planted-erased" not in (await drafted(Run(turn=turn, script=[None]))).fields.summary


@pytest.mark.parametrize("locale", LOCALES)
def test_every_note_of_a_draft_is_a_sentence(locale: str) -> None:
    base = HandoverDraft(fields=HandoverFields(source_mode=Mode.CHAT), origin=DraftOrigin.EXTRACT)
    notes = [
        *draft_notes(base),
        *draft_notes(replace(base, origin=DraftOrigin.MODEL, missed=("p1",))),
        *draft_notes(replace(base, origin=DraftOrigin.MODEL, repaired=True)),
    ]
    assert len({phrase(locale, note) for note in notes}) == 3


# --- with a demo model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.CHAT, Mode.COMPARE, Mode.DEBATE])
async def test_a_demo_model_drafts_within_the_schema_and_keeps_every_pin(mode: Mode) -> None:
    setups: Mapping[Mode, Any] = {Mode.CHAT: {}, Mode.COMPARE: COMPARE, Mode.DEBATE: DEBATE}
    turn = source(
        mode,
        [FIRST, message(2, "What would it cost?")],
        ANSWERS if mode is Mode.COMPARE else (),
        setup=setups[mode],
        pins=(*PINS, pin("a limit\nin two lines", number=9)),
    )
    probe = Run(turn=turn, script=[GOOD, GOOD])
    await drafted(probe)
    schema = probe.sent[0].output_schema
    assert schema is not None
    data = structured_answer("builder", probe.sent[0].parts, schema)
    assert parse_output(json.dumps(data), schema) == data
    run = Run(turn=turn, script=[data])
    draft = await drafted(run)
    assert run.steps == ["draft"]
    assert draft.missed == ()
    assert "What would it cost?" in draft.fields.open_questions
    assert "Demo model" in draft.fields.summary


# --- the review of a branch -----------------------------------------------------------------------------------------

OWN = (
    FIRST,
    answer(2, "planted-inherited https://old.example"),
    message(3, "And with  Minami? https://offer.example/1", attachments=[attachment(1, name="offer.pdf")]),
    answer(4, "They accept.\nSee https://offer.example/1."),
)


async def reviewed(run: Run) -> ReviewDraft:
    await draft_review(cast(HandoverContext, run))
    assert len(run.reviews) == 1
    return run.reviews[0]


async def test_a_review_is_what_the_model_drafted() -> None:
    data = {
        "about": "a",
        "concluded": "c",
        "next_steps": "n",
        "sources": "s",
        "contradictions": ["Kita or Minami"],
    }
    draft = await reviewed(Run(turn=branch(Mode.CHAT, OWN, 2), script=[data]))
    assert draft.texts == ReviewTexts(about="a", concluded="c", next_steps="n", sources="s")
    assert (draft.contradictions, draft.by_model) == (("Kita or Minami",), True)
    assert ReviewDraft.from_json(json.loads(json.dumps(draft.to_json()))) == draft


async def test_a_review_without_a_model_quotes_the_branch_s_own_messages() -> None:
    draft = await reviewed(Run(turn=branch(Mode.CHAT, OWN, 2), script=[None]))
    assert draft.by_model is False
    assert draft.texts.about.splitlines() == [
        "planted-name",
        "planted-reason",
        "And with Minami? https://offer.example/1",
    ]
    assert draft.texts.concluded == "They accept. See https://offer.example/1."
    assert "old.example" not in json.dumps(draft.to_json())
    assert draft.texts.sources.splitlines() == ["https://offer.example/1", "offer.pdf"]


async def test_a_demo_model_drafts_a_review_within_the_schema() -> None:
    probe = Run(turn=branch(Mode.CHAT, OWN, 2), script=[None])
    await reviewed(probe)
    schema = probe.sent[0].output_schema
    assert schema is not None
    data = structured_answer("builder", probe.sent[0].parts, schema)
    assert parse_output(json.dumps(data), schema) == data
    assert "planted-name" in data["about"]
    assert "They accept." in data["concluded"]
