"""Adoptions: who may ask and decide, conflicts, and the order of what comes in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.adoption import (
    EXPIRES_AFTER,
    REASON_CHARS,
    TEXT_CHARS,
    AdoptionStatus,
    Choice,
    Conflict,
    Decided,
    Moment,
    OwnArtifact,
    ReviewTexts,
    authorise_decision,
    authorise_withdrawal,
    check_open,
    check_relation,
    check_request,
    conflicts,
    content_sha256,
    decide_conflicts,
    is_expired,
    merged,
    reject_reason,
    request_reason,
)
from core.domain.errors import Refusal
from core.domain.ids import MessageId, PersonId, ThreadId, WorkspaceId
from core.domain.policy import Actor, Policy
from core.domain.thread import Status, Thread
from core.i18n import LOCALES, refusal
from tests.ai_input.conversation import START, THREAD

PARENT = THREAD
BRANCH = replace(
    THREAD,
    id=ThreadId("b1"),
    parent_id=PARENT.id,
    depth=1,
    branch_name="Minami",
    title="Minami",
)


def actor(person: str, **changes: Any) -> Actor:
    return replace(
        Actor(
            workspace_id=WorkspaceId("w1"),
            workspace="W1",
            person_id=PersonId(person),
            external_id=f"U-{person}",
            name=person,
            locale="en",
        ),
        **changes,
    )


def refused(code: str, act: Any, *args: Any, **kwargs: Any) -> Refusal:
    """The refusal of this code, which has its own sentence in both languages."""
    with pytest.raises(Refusal) as caught:
        act(*args, **kwargs)
    assert caught.value.code == code
    assert all(len(refusal(locale, caught.value)) > 10 for locale in LOCALES)
    return caught.value


# --- the request ----------------------------------------------------------------------------------------------------


def test_a_branch_with_something_new_can_ask() -> None:
    check_request(BRANCH, PARENT, new_messages=1, new_versions=0)
    check_request(BRANCH, PARENT, new_messages=0, new_versions=1)


def deeper(name: str, parent: Thread) -> Thread:
    return replace(
        BRANCH, id=ThreadId(name), parent_id=parent.id, depth=parent.depth + 1, branch_name=name, title=name
    )


def test_each_wrong_relation_is_refused_with_its_own_sentence() -> None:
    sibling, below = deeper("sibling", PARENT), deeper("below", BRANCH)
    other_top = replace(THREAD, id=ThreadId("t2"), top_id=ThreadId("t2"), title="Lunch")
    found = [
        refused("adopt_not_a_branch", check_relation, PARENT, other_top),
        refused("adopt_siblings", check_relation, BRANCH, sibling),
        refused("adopt_not_direct_parent", check_relation, below, PARENT),
        refused("adopt_not_direct_parent", check_relation, BRANCH, below),
        refused("adopt_unrelated", check_relation, BRANCH, other_top),
    ]
    assert len({refusal("en", one) for one in found}) == len(found)
    assert "sibling" in refusal("ja", found[1])


@pytest.mark.parametrize(
    ("status", "code"),
    [(Status.ADOPT_PENDING, "adopt_pending_already"), (Status.ADOPTED, "adopt_adopted_already")],
)
def test_a_branch_that_is_not_active_cannot_ask(status: Status, code: str) -> None:
    refused(code, check_request, replace(BRANCH, status=status), PARENT, new_messages=1, new_versions=0)


def test_a_branch_with_nothing_new_cannot_ask() -> None:
    refused("adopt_nothing_new", check_request, BRANCH, PARENT, new_messages=0, new_versions=0)


def test_reasons_are_required_and_bounded() -> None:
    assert request_reason(" better terms ") == "better terms"
    assert reject_reason("x" * REASON_CHARS) == "x" * REASON_CHARS
    refused("adopt_reason_missing", request_reason, " ")
    refused("adopt_reject_reason_missing", reject_reason, "\n")
    refused("reason_too_long", reject_reason, "x" * (REASON_CHARS + 1))


def test_a_request_expires_on_the_second_after_thirty_days() -> None:
    expires = START + EXPIRES_AFTER
    assert expires - START == timedelta(days=30)
    assert not is_expired(expires, expires - timedelta(seconds=1))
    assert is_expired(expires, expires)


def test_review_texts_come_back_and_are_bounded() -> None:
    texts = ReviewTexts(about="a", concluded="c", next_steps="n", sources="s")
    assert ReviewTexts.from_json(texts.to_json()) == texts
    assert len(ReviewTexts.from_json({"about": "x" * TEXT_CHARS}).about) == TEXT_CHARS
    refused("setting_too_long", ReviewTexts.from_json, {"about": "x" * (TEXT_CHARS + 1)})
    refused("setting_unknown", ReviewTexts.from_json, {"verdict": "x"})


# --- the decision ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "changes", "policy", "code"),
    [
        ("owner", {}, Policy(), None),
        ("boss", {}, Policy(approvers=("U-boss",)), None),
        ("asker", {}, Policy(approvers=("U-asker",)), None),
        ("asker", {}, Policy(approvers=("U-asker",), four_eyes=True), "adopt_four_eyes"),
        ("stranger", {}, Policy(approvers=("U-boss",)), "adopt_not_approver"),
        ("stranger", {"name": "owner"}, Policy(), "adopt_not_approver"),
        ("stranger", {"is_admin": True}, Policy(), "adopt_not_approver"),
        ("owner", {"is_guest": True}, Policy(), "adopt_guest"),
        ("boss", {"is_external": True}, Policy(approvers=("U-boss",)), "adopt_guest"),
    ],
)
def test_owner_and_approvers_decide_by_id(
    who: str, changes: dict[str, Any], policy: Policy, code: str | None
) -> None:
    parties = {"parent_owner": PersonId("owner"), "requester": PersonId("asker")}
    if code is None:
        authorise_decision(actor(who, **changes), policy, **parties)
    else:
        refused(code, authorise_decision, actor(who, **changes), policy, **parties)


def test_an_owner_who_asked_decides_unless_four_eyes_are_wanted() -> None:
    parties = {"parent_owner": PersonId("owner"), "requester": PersonId("owner")}
    authorise_decision(actor("owner"), Policy(), **parties)
    refused("adopt_four_eyes", authorise_decision, actor("owner"), Policy(four_eyes=True), **parties)


def test_only_the_requester_withdraws() -> None:
    authorise_withdrawal(actor("asker"), requester=PersonId("asker"))
    refused("adopt_not_requester", authorise_withdrawal, actor("owner"), requester=PersonId("asker"))


def test_a_closed_request_says_how_it_ended() -> None:
    check_open(AdoptionStatus.PENDING, who="")
    sentences = set()
    for status in AdoptionStatus:
        if status is not AdoptionStatus.PENDING:
            sentences.add(refusal("en", refused(f"adopt_closed_{status}", check_open, status, who="Bo")))
    assert len(sentences) == 4
    assert sum("Bo" in sentence for sentence in sentences) == 3


# --- artifacts ------------------------------------------------------------------------------------------------------


def own(name: str, sha: str = "1", number: int = 1) -> OwnArtifact:
    return OwnArtifact(artifact_id=f"{name}-{sha}", name=name, version=number, sha256=sha)


def test_the_same_name_with_another_text_is_a_conflict_whatever_its_case_and_width() -> None:
    found = conflicts(
        [own("Offer", "b", 3), own("plan", "same"), own("new")],
        [own("ＯＦＦＥＲ", "p", 2), own("plan", "same")],
    )
    assert found == (
        Conflict(
            name="Offer",
            branch_artifact="Offer-b",
            branch_version=3,
            parent_artifact="ＯＦＦＥＲ-p",
            parent_version=2,
        ),
    )


CONFLICTS = conflicts([own("offer", "b"), own("plan", "b")], [own("offer", "p"), own("plan", "p")])


def test_each_conflict_gets_its_choice() -> None:
    decided = decide_conflicts(
        CONFLICTS,
        {"offer-b": {"choice": "take_branch"}, "plan-b": {"choice": "keep_both", "new_name": " plan  2 "}},
        {"offer", "plan"},
    )
    assert decided == {
        "offer-b": Decided(choice=Choice.TAKE_BRANCH),
        "plan-b": Decided(choice=Choice.KEEP_BOTH, new_name="plan 2"),
    }
    assert {key: Decided.from_json(one.to_json()) for key, one in decided.items()} == decided


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({}, "adopt_choice_missing"),
        ({"choice": "burn"}, "adopt_choice_unknown"),
        ({"choice": "keep_both"}, "artifact_name_empty"),
        ({"choice": "keep_both", "new_name": "a/b"}, "artifact_name_characters"),
        ({"choice": "keep_both", "new_name": "PLAN"}, "adopt_new_name_taken"),
        ({"choice": "keep_both", "new_name": "third"}, "adopt_new_name_taken"),
    ],
)
def test_a_choice_that_settles_nothing_is_refused(choice: dict[str, str], code: str) -> None:
    given_choices = {"offer-b": {"choice": "keep_both", "new_name": "Third"}, "plan-b": choice}
    refused(code, decide_conflicts, CONFLICTS, given_choices, {"offer", "plan"})


# --- merging --------------------------------------------------------------------------------------------------------


def moments(*given_times: tuple[str, int]) -> list[Moment]:
    return [Moment(message_id=MessageId(name), at=START + timedelta(minutes=at)) for name, at in given_times]


def test_new_messages_come_in_by_time_after_the_split() -> None:
    parent = moments(("p1", 1), ("p2", 2), ("p3", 5), ("p4", 9))
    assert merged(parent, moments(("b1", 4), ("b2", 9), ("b3", 12)), after=2) == (
        "p1",
        "p2",
        "b1",
        "p3",
        "p4",
        "b2",
        "b3",
    )


def test_nothing_comes_in_before_the_split() -> None:
    assert merged(moments(("p1", 10), ("p2", 11)), moments(("b1", 1)), after=2) == ("p1", "p2", "b1")


def test_a_message_that_was_edited_late_keeps_its_place_and_moves_no_other() -> None:
    parent = moments(("p1", 1), ("edited", 50), ("p3", 3), ("p4", 8))
    assert merged(parent, moments(("b1", 5)), after=0) == ("p1", "edited", "p3", "b1", "p4")


def test_what_the_parent_holds_already_is_not_added_again() -> None:
    parent = moments(("p1", 1), ("shared", 2))
    assert merged(parent, moments(("shared", 2), ("b1", 3)), after=1) == ("p1", "shared", "b1")


def test_a_conversation_that_exists_only_in_the_branch_is_whole() -> None:
    assert merged([], moments(("b1", 3), ("b2", 2)), after=0) == ("b1", "b2")


times = st.lists(st.integers(0, 12), max_size=12)


@given(parent=times, new=times, after=st.integers(0, 12), shared=st.integers(0, 3))
def test_merging_loses_nothing_doubles_nothing_and_keeps_both_orders(
    parent: list[int], new: list[int], after: int, shared: int
) -> None:
    theirs = moments(*((f"p{n}", at) for n, at in enumerate(parent)))
    ours = [*theirs[:shared], *moments(*((f"b{n}", at) for n, at in enumerate(new)))]
    after = min(after, len(theirs))
    order = merged(theirs, ours, after=after)
    assert sorted(order) == sorted({one.message_id for one in (*theirs, *ours)})
    assert [name for name in order if name.startswith("p")] == [one.message_id for one in theirs]
    assert [name for name in order if name.startswith("b")] == [f"b{n}" for n in range(len(new))]
    assert list(order[:after]) == [one.message_id for one in theirs[:after]]


@given(parent=times.map(sorted), new=times.map(sorted))
def test_of_two_sides_in_order_the_result_is_in_order_and_stable(parent: list[int], new: list[int]) -> None:
    theirs = moments(*((f"p{n}", at) for n, at in enumerate(parent)))
    ours = moments(*((f"b{n}", at) for n, at in enumerate(new)))
    by_time = sorted([*theirs, *ours], key=lambda one: one.at)
    assert merged(theirs, ours, after=0) == tuple(one.message_id for one in by_time)


def test_the_content_hash_tells_order_line_and_text_apart() -> None:
    base = {"main": [("m1", "a"), ("m2", "b")]}
    others: list[dict[str, list[tuple[str, str]]]] = [
        {"main": [("m2", "b"), ("m1", "a")]},
        {"other": base["main"]},
        {"main": [("m1", "a"), ("m2", "c")]},
        {"main": [("m1", "a")]},
        {"main": base["main"], "empty": []},
    ]
    assert content_sha256(base) == content_sha256({"main": iter(base["main"])})
    assert len({content_sha256(base), *(content_sha256(other) for other in others)}) == 6


def test_the_content_hash_does_not_depend_on_the_order_of_lines() -> None:
    assert content_sha256({"a": [("m1", "x")], "b": []}) == content_sha256({"b": [], "a": [("m1", "x")]})


def test_expiry_is_counted_in_utc() -> None:
    tokyo = datetime(2026, 3, 31, 9, tzinfo=UTC).astimezone()
    assert is_expired(datetime(2026, 3, 31, 9, tzinfo=UTC), tokyo)
