"""Who may edit, check and promote prompts."""

from dataclasses import replace
from functools import partial

import pytest

from core.domain.errors import Refusal
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Action, Actor, Policy, Subject, authorise, authorise_promotion

AKI = Actor(
    workspace_id=WorkspaceId("w"),
    workspace="W1",
    person_id=PersonId("p1"),
    external_id="U1",
    name="Aki",
    locale="en",
)
ACTIONS = (Action.READ_PROMPT, Action.EDIT_PROMPT, Action.VERIFY_PROMPT, Action.PROMOTE_PROMPT)


def outcome(actor: Actor, action: Action, policy: Policy, author: str | None = None) -> str:
    """The code of the refusal; empty when it is allowed."""
    try:
        authorise(
            actor, action, Subject(visible=True, author_id=PersonId(author) if author else None), policy
        )
    except Refusal as refusal:
        return refusal.code
    return ""


@pytest.mark.parametrize("action", ACTIONS)
def test_guests_and_people_from_outside_have_no_part_in_prompts(action: Action) -> None:
    everyone = Policy(prompt_editors=("U1",), prompt_verifiers=("U1",), prompt_promoters=("U1",))
    assert outcome(AKI, action, everyone) == ""
    assert outcome(replace(AKI, is_guest=True), action, everyone) == "prompt_not_allowed"
    assert outcome(replace(AKI, is_external=True), action, everyone) == "prompt_not_allowed"


@pytest.mark.parametrize("action", ACTIONS)
def test_without_a_word_in_the_policy_everyone_may(action: Action) -> None:
    assert outcome(AKI, action, Policy()) == ""


def test_a_list_lets_in_the_people_it_names_by_id_and_nobody_else() -> None:
    policy = Policy(prompt_editors=("U2",), prompt_verifiers=(), prompt_promoters=("Aki",))
    assert outcome(AKI, Action.READ_PROMPT, policy) == ""
    assert outcome(AKI, Action.EDIT_PROMPT, policy) == "prompt_edit_not_allowed"
    assert outcome(AKI, Action.VERIFY_PROMPT, policy) == "prompt_verify_not_allowed"
    assert outcome(AKI, Action.PROMOTE_PROMPT, policy) == "prompt_promote_not_allowed"
    assert outcome(replace(AKI, is_admin=True), Action.PROMOTE_PROMPT, policy) == "prompt_promote_not_allowed"


def test_approvers_and_admins_promote_where_no_promoters_are_named() -> None:
    policy = Policy(approvers=("U2",))
    assert outcome(AKI, Action.PROMOTE_PROMPT, policy) == "prompt_promote_not_allowed"
    assert outcome(replace(AKI, external_id="U2"), Action.PROMOTE_PROMPT, policy) == ""
    assert outcome(replace(AKI, is_admin=True), Action.PROMOTE_PROMPT, policy) == ""


def test_nobody_checks_their_own_version() -> None:
    assert outcome(AKI, Action.VERIFY_PROMPT, Policy(), "p1") == "prompt_own_version"
    assert outcome(AKI, Action.VERIFY_PROMPT, Policy(), "p2") == ""


@pytest.mark.parametrize(
    ("four_eyes", "author", "verified", "alone", "expected"),
    [
        (False, "p1", False, False, True),
        (False, "p1", True, False, False),
        (False, "p2", False, False, False),
        (True, "p1", True, False, "prompt_own_version"),
        (True, "p2", False, False, "prompt_not_verified"),
        (True, "p2", True, False, False),
        (True, "p1", False, True, True),
    ],
)
def test_four_eyes_want_a_second_person_where_there_is_one(
    *, four_eyes: bool, author: str, verified: bool, alone: bool, expected: bool | str
) -> None:
    decide = partial(
        authorise_promotion,
        AKI,
        Policy(prompt_four_eyes=four_eyes),
        author_id=PersonId(author),
        verified=verified,
        alone=alone,
    )
    if isinstance(expected, str):
        with pytest.raises(Refusal) as refused:
            decide()
        assert refused.value.code == expected
    else:
        assert decide() is expected
