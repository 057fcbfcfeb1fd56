"""The AI input of Debate, round by round."""

from typing import Any

import pytest

from core.ai_input.caps import Left
from core.ai_input.debate import (
    PROMPT_NAMES,
    build_position,
    build_problem_framing,
    build_rebuttal,
    build_synthesis,
    rounds_of_run,
    stances,
)
from core.domain.debate import DebateSetup
from core.domain.errors import Refusal
from core.domain.ids import MessageId
from core.domain.message import AuthorKind, Message
from core.domain.prior_context import PriorCap
from core.domain.receipt import AiInput, Omission, Origin
from core.ports import Spoken, Turn
from tests.ai_input.conversation import attachment, image, message
from tests.ai_input.voices import HOSTILE, PROMPTS, REQUEST, said, shown, take, texts, unfenced, voices

PRIOR = {
    "summary": "planted-summary",
    "background": "planted-prior-background",
    "openQuestions": ["planted-question"],
    "constraints": ["planted-constraint"],
    "firstRequest": "planted-first-request",
}
FRAMING = said("problem_framing", data={"issues": ["planted-issue"]})


def setup(**changes: Any) -> dict[str, Any]:
    raw = {
        "topic": "SQLite or Postgres?",
        "background": "planted-premises",
        "participants": [{"model": "alpha"}, {"model": "beta"}, {"model": "gamma"}],
        "moderator": "mod",
        "rebuttal_rounds": 2,
        **changes,
    }
    return DebateSetup.from_json(raw).to_json()


def positions(*letters: str) -> list[Spoken]:
    return [
        said(f"positions:{letter}", data=take(f"stance-{letter}", f"planted-position-{letter}"))
        for letter in letters
    ]


def framing(**changes: Any) -> AiInput:
    return build_problem_framing(voices(setup(**changes)), PROMPTS)


def rebuttal(*spoken: Spoken, letter: str = "B", number: int = 1, last: bool = False) -> AiInput:
    return build_rebuttal(voices(setup(), *spoken), PROMPTS, letter=letter, number=number, last=last)


def every_later_round(**changes: Any) -> list[AiInput]:
    turn = voices(setup(**changes), FRAMING, *positions("A", "B", "C"))
    return [
        build_position(turn, PROMPTS, letter="A"),
        build_rebuttal(turn, PROMPTS, letter="B", number=1, last=False),
        build_rebuttal(turn, PROMPTS, letter="B", number=2, last=True),
        build_synthesis(turn, PROMPTS),
    ]


# --- background and priorContext ------------------------------------------------------------------------------------


def test_premises_go_once_into_every_round() -> None:
    for sent in (framing(), *every_later_round()):
        assert shown(sent).count("planted-premises") == 1
        assert len(texts(sent, Origin.BACKGROUND)) == 1


def test_prior_context_goes_into_problem_framing_and_only_there() -> None:
    sent = framing(priorContext=PRIOR)
    (part,) = texts(sent, Origin.PRIOR_CONTEXT)
    for value in ("summary", "prior-background", "question", "constraint", "first-request"):
        assert part.count(f"planted-{value}") == 1
    for later in every_later_round(priorContext=PRIOR):
        assert texts(later, Origin.PRIOR_CONTEXT) == []
        assert "planted-summary" not in shown(later)
        assert "planted-constraint" not in shown(later)


@pytest.mark.parametrize(
    ("auto", "prior", "in_framing"),
    [(False, {}, 1), (False, PRIOR, 1), (True, {}, 1), (True, PRIOR, 0), (True, {"summary": " "}, 1)],
)
def test_premises_nobody_edited_are_left_out_of_framing_only_where_their_source_is_sent(
    auto: bool, prior: dict[str, Any], in_framing: int
) -> None:
    changes = {"background_auto": auto, "priorContext": prior}
    assert shown(framing(**changes)).count("planted-premises") == in_framing
    for later in every_later_round(**changes):
        assert shown(later).count("planted-premises") == 1


def test_a_debate_without_premises_sends_none() -> None:
    for sent in (framing(background=""), *every_later_round(background="")):
        assert texts(sent, Origin.BACKGROUND) == []


def test_the_entry_point_s_caps_and_warnings_are_on_the_receipt_of_framing() -> None:
    sent = framing(priorContext={**PRIOR, "firstRequest": "r" * 4_001, "constraints": 3})
    assert [(cap.name, cap.had, cap.kept) for cap in sent.caps] == [(PriorCap.FIRST_REQUEST, 4_001, 4_000)]
    assert sent.omissions == (Omission(what=Left.PRIOR_FIELDS, count=1),)
    assert shown(sent).count("r" * 4_000) == 1
    assert "r" * 4_001 not in shown(sent)


def past_the_entry_point(**context: object) -> AiInput:
    """What framing is sent of a context that is stored as no entry point would have let it in."""
    raw = setup(priorContext=PRIOR)
    raw["prior_context"]["context"] |= context
    return build_problem_framing(voices(raw), PROMPTS)


@pytest.mark.parametrize(("length", "kept"), [(3_999, 3_999), (4_000, 4_000), (4_001, 4_000)])
@pytest.mark.parametrize(
    ("name", "beside", "cap"),
    [
        ("summary", {"background": ""}, PriorCap.OVERVIEW),
        ("background", {"summary": ""}, PriorCap.OVERVIEW),
        ("firstRequest", {}, PriorCap.FIRST_REQUEST),
    ],
)
def test_the_builder_caps_texts_again(
    name: str, beside: dict[str, str], cap: PriorCap, length: int, kept: int
) -> None:
    sent = past_the_entry_point(**{name: "§" * length}, **beside)
    (part,) = texts(sent, Origin.PRIOR_CONTEXT)
    assert part.count("§") == kept
    wanted = [(cap, length, kept)] if length > kept else []
    assert [(c.name, c.had, c.kept) for c in sent.caps] == wanted


@pytest.mark.parametrize(("count", "length"), [(10, 300), (11, 300), (10, 301), (11, 301)])
@pytest.mark.parametrize(
    ("name", "cap", "char_cap"),
    [
        ("constraints", PriorCap.CONSTRAINTS, PriorCap.CONSTRAINT_CHARS),
        ("openQuestions", PriorCap.OPEN_QUESTIONS, PriorCap.OPEN_QUESTION_CHARS),
    ],
)
def test_the_builder_caps_items_again(
    name: str, cap: PriorCap, char_cap: PriorCap, count: int, length: int
) -> None:
    sent = past_the_entry_point(**{name: ["§" * length] * count})
    (part,) = texts(sent, Origin.PRIOR_CONTEXT)
    assert part.count("- " + "§" * 300) == 10
    assert part.count("§") == 3_000
    too_many = [(cap, 11, 10)] if count > 10 else []
    too_long = [(char_cap, 301, 300)] * 10 if length > 300 else []
    assert [(c.name, c.had, c.kept) for c in sent.caps] == [*too_many, *too_long]


# --- who sees what --------------------------------------------------------------------------------------------------


def test_positions_are_blind_to_each_other() -> None:
    turn = voices(setup(), FRAMING, *positions("B", "C"), said("rebuttals.1:B", "planted-rebuttal"))
    sent = build_position(turn, PROMPTS, letter="A")
    assert "planted-issue" in shown(sent)
    assert "planted-position" not in shown(sent)
    assert "planted-rebuttal" not in shown(sent)
    assert "participant A (proponent)" in sent.parts[-1].text


def test_a_missing_framing_is_said() -> None:
    assert "no contribution of the moderator" in shown(build_position(voices(setup()), PROMPTS, letter="A"))


def test_a_rebuttal_sees_all_so_far_in_order() -> None:
    spoken = [FRAMING, *positions("A", "B", "C"), said("rebuttals.1:A", "planted-rebuttal-A")]
    sent = rebuttal(*spoken)
    order = [
        shown(sent).index(w)
        for w in ("planted-issue", "planted-position-A", "planted-position-C", "planted-rebuttal-A")
    ]
    assert order == sorted(order)
    assert [part.message_id for part in sent.parts if part.origin is Origin.SPOKEN] == [
        one.message_id for one in spoken
    ]


def test_participants_are_letters_and_no_model_is_named() -> None:
    for sent in (framing(), *every_later_round()):
        for name in ("alpha", "beta", "gamma", "secret-model"):
            assert name not in shown(sent)
        assert {ref.name for ref in sent.prompts} <= set(PROMPT_NAMES)


def test_the_last_rebuttal_opens_with_a_stance_by_schema_and_the_others_are_free_text() -> None:
    assert rebuttal(FRAMING).output_schema is None
    last = rebuttal(FRAMING, number=2, last=True).output_schema
    position = build_position(voices(setup()), PROMPTS, letter="A").output_schema
    for schema in (last, position):
        assert schema is not None
        assert next(iter(schema["properties"])) == "stance"
        assert schema["properties"]["stance"]["pattern"] == "^[^\\n\\r]+$"


def test_absent_participants_are_named_and_cannot_be_given_a_view() -> None:
    spoken = [*positions("A", "B"), said("rebuttals.1:A"), said("rebuttals.2:A"), said("rebuttals.2:B")]
    sent = build_synthesis(voices(setup(), FRAMING, *spoken), PROMPTS)
    notes = [text for text in texts(sent, Origin.INSTRUCTION) if text.startswith("⟦note")]
    assert [n.partition("participant ")[2].partition(":")[0] for n in notes] == [
        "C in round positions",
        "B in round rebuttals.1",
        "C in round rebuttals.1",
        "C in round rebuttals.2",
    ]
    assert sent.output_schema is not None
    assert sent.output_schema["properties"]["dissent"]["items"]["properties"]["participant"]["enum"] == [
        "A",
        "B",
    ]


def test_a_rebuttal_is_told_who_is_absent_from_rounds_that_are_over() -> None:
    assert "no contribution of participant C in round positions" in shown(rebuttal(*positions("A", "B")))
    assert "rebuttals.1: that" not in shown(rebuttal(*positions("A", "B")))


def test_a_debate_in_which_nobody_spoke_is_not_summed_up() -> None:
    with pytest.raises(Refusal, match="nobody_spoke"):
        build_synthesis(voices(setup(), FRAMING), PROMPTS)


def test_stances_are_taken_from_structured_output_only() -> None:
    spoken = [
        *positions("A", "B"),
        said("rebuttals.1:A", "Stance: a lie"),
        said("rebuttals.2:A", data=take("changed", "x")),
        said("problem_framing", data={"stance": "not a participant"}),
    ]
    assert stances(spoken) == {"A": ("stance-A", "changed"), "B": ("stance-B",)}


# --- hostile, large, files -----------------------------------------------------------------------------------------


def test_hostile_words_stay_inside_their_fences_in_every_round() -> None:
    raw = setup(topic=HOSTILE, background=HOSTILE, priorContext={"summary": HOSTILE})
    spoken = [
        said("problem_framing", HOSTILE),
        said("positions:A", data=take(HOSTILE, HOSTILE)),
        said("rebuttals.1:A", HOSTILE),
    ]
    turn = voices(raw, *spoken)
    for sent in (
        build_problem_framing(turn, PROMPTS),
        build_position(turn, PROMPTS, letter="B"),
        build_rebuttal(turn, PROMPTS, letter="B", number=1, last=False),
        build_synthesis(turn, PROMPTS),
    ):
        assert "you are free now" in shown(sent)
        assert "you are free now" not in unfenced(sent)
        assert "boss" not in unfenced(sent)


def test_all_rounds_are_sent_and_too_large_is_refused_with_numbers() -> None:
    with pytest.raises(Refusal, match="request_too_large") as caught:
        rebuttal(said("positions:A", "word " * 200_000))
    assert set(caught.value.fields) == {"needed", "allowed", "model"}


@pytest.mark.parametrize("vision", [True, False])
def test_files_of_the_topic_go_along_and_images_where_they_can_be_seen(vision: bool) -> None:
    files = [attachment(1, text="planted-file"), attachment(2, name="x.bin", problem="kind"), image(3)]
    request = message(1, "SQLite or Postgres?", attachments=files)
    sent = build_position(voices(setup(), request=request, vision=vision), PROMPTS, letter="A")
    assert "planted-file" in shown(sent)
    assert [len(part.images) for part in sent.parts if part.images] == ([1] if vision else [])
    left = {one.what: one.count for one in sent.omissions}
    assert left == ({Left.UNREAD_FILES: 1} if vision else {Left.UNREAD_FILES: 1, Left.IMAGES: 1})


# --- follow-ups -----------------------------------------------------------------------------------------------------


def answer_of(one: Spoken) -> Message:
    made = message(7, one.text, kind=AuthorKind.MODEL, name=one.model)
    return Message(
        id=MessageId(one.message_id),
        thread_id=made.thread_id,
        author=made.author,
        text=one.text,
        created_at=made.created_at,
    )


def follow_up(*now: Spoken, before: list[Message] | None = None, old: list[Spoken] | None = None) -> Turn:
    """A second message in a debate whose first run left `old`."""
    first = old if old is not None else [said(f"positions:{x}", f"old-{x}", run="r0") for x in "AB"]
    history = before if before is not None else [REQUEST, *(answer_of(one) for one in first)]
    return voices(setup(), *first, *now, before=history, request=message(9, "What about backups?"))


def test_a_follow_up_sends_the_debate_so_far_and_the_new_message_in_order() -> None:
    turn = follow_up(said("rebuttals.3:A", "planted-new-A"))
    sent = build_rebuttal(turn, PROMPTS, letter="B", number=3, last=True, follow_up=True)
    order = [shown(sent).index(w) for w in ("old-A", "old-B", "What about backups?", "planted-new-A")]
    assert order == sorted(order)
    assert shown(sent).count("SQLite or Postgres?") == 1
    assert "absent" not in shown(sent)
    assert "no contribution of participant" not in shown(sent)
    assert sent.omissions == ()
    asked = {part.message_id for part in sent.parts if part.origin is Origin.REQUEST}
    assert asked == {"m1", "m9"}


def test_the_synthesis_of_a_follow_up_knows_its_round_and_who_is_absent_from_it() -> None:
    turn = follow_up(said("rebuttals.3:A"))
    sent = build_synthesis(turn, PROMPTS, follow_up=3)
    assert "no contribution of participant B in round rebuttals.3" in shown(sent)
    assert "round positions: that" not in shown(sent)
    assert rounds_of_run(turn, DebateSetup.from_json(setup())) == ["rebuttals.3"]
    assert rounds_of_run(follow_up(), DebateSetup.from_json(setup())) == ["rebuttals.1"]
    first = voices(setup(), *positions("A"))
    assert rounds_of_run(first, DebateSetup.from_json(setup())) == ["positions", "rebuttals.1", "rebuttals.2"]


def test_people_s_messages_and_what_a_branch_inherited_stand_among_the_contributions() -> None:
    old = [said("positions:A", "old-A", run="r0"), said("synthesis", "old-synthesis", run="r0")]
    inherited = message(3, "planted-inherited", kind=AuthorKind.MODEL, name="secret-model")
    gone = message(6, "planted-erased", erased=True)
    between = message(5, "planted-remark", name="Bob")
    sent = build_synthesis(
        follow_up(
            said("rebuttals.1:A"), old=old, before=[REQUEST, inherited, answer_of(old[1]), between, gone]
        ),
        PROMPTS,
        follow_up=1,
    )
    order = [shown(sent).index(w) for w in ("old-A", "planted-inherited", "old-synthesis", "planted-remark")]
    assert order == sorted(order)
    assert "message of Bob" in shown(sent)
    assert "secret-model" not in shown(sent)
    assert "planted-erased" not in shown(sent)
    assert [(o.what, o.count) for o in sent.omissions] == [(Left.ERASED_MESSAGES, 1)]


def test_messages_beyond_what_is_read_are_counted() -> None:
    remarks = [message(n, f"remark {n}") for n in range(2, 40)]
    turn = follow_up(said("rebuttals.1:A"), old=[], before=[REQUEST, *remarks])
    sent = build_synthesis(turn, PROMPTS, follow_up=1)
    assert texts(sent, Origin.OMITTED_NOTE) == ["⟦note: messages left out here because of length: 18⟧"]
    assert [(o.what, o.count) for o in sent.omissions] == [(Left.MESSAGES, 18)]
