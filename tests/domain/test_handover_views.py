"""What the views of handovers say of themselves, and that their examples cover every state."""

from core.domain.adoption import AdoptionStatus
from core.domain.handover import DeliveryState, Field
from core.domain.thread import Mode
from tests.examples.handover_views import (
    CARDS,
    DELIVERED,
    DELIVERIES,
    DELIVERY_CUT,
    HEADERS,
    NOT_DELIVERED,
    REVIEWS,
)


def test_one_missing_field_of_one_model_makes_a_delivery_a_failure() -> None:
    assert [one.failed for one in DELIVERIES] == [False, False, True]
    assert [one.missing for one in NOT_DELIVERED.models] == [(Field.CONSTRAINTS,)]
    assert [one.missing for one in DELIVERED.models] == [()] * 6


def test_a_delivery_names_every_field() -> None:
    assert all({one.field for one in m.fields} == set(Field) for view in DELIVERIES for m in view.models)
    states = {one.state for view in DELIVERIES for m in view.models for one in m.fields}
    assert states == set(DeliveryState)
    assert all(one.caps for m in DELIVERY_CUT.models for one in m.fields if one.state is DeliveryState.CUT)


def test_the_examples_reach_every_state_and_every_limit() -> None:
    assert {card.status for card in CARDS} == set(AdoptionStatus)
    assert {header.target for header in HEADERS} >= {Mode.CHAT, Mode.COMPARE, Mode.DEBATE}
    assert max(len(header.constraints) for header in HEADERS) == 10
    assert max(len(item) for header in HEADERS for item in header.open_questions) == 300
    assert max(len(header.summary) for header in HEADERS) == 4_000
    assert max(len(review.texts.about) for review in REVIEWS) == 4_000
