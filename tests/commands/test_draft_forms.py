"""What a person has filled in of a handover or an adoption request is kept, and sent only when it is asked for."""

import pytest

from core.commands.adoption import begin_review, edit_review, show_review
from core.commands.care import erase_person
from core.commands.handover import Sending, keep_target_form, send_handover, show_handover
from core.domain.adoption import ReviewForm
from core.domain.drafting import TargetForm
from core.domain.errors import Refusal
from tests.commands.test_adoption import grown
from tests.commands.test_handover import FIELDS, drafted
from tests.product import World, eventually


async def test_how_a_target_begins_is_kept_until_it_was_sent(world: World) -> None:
    aki = await world.person()
    said = await world.say(aki, "Which supplier?")
    assert said.thread_id is not None
    handover = await drafted(world, aki, said.thread_id, "chat")
    assert TargetForm.from_json(handover.form) == TargetForm()
    form = TargetForm(start="And the risks?", model="beta", setup={"models": ["alpha"]})
    await keep_target_form(world.services, aki, handover.id, form)
    kept = await show_handover(world.services, aki, handover.id)
    assert TargetForm.from_json(kept.form) == form
    assert kept.fields == handover.fields
    sending = Sending(handover_id=handover.id, fields=FIELDS)
    await send_handover(world.services, aki, sending, event_key="send")
    with pytest.raises(Refusal, match="handover_sent_already"):
        await keep_target_form(world.services, aki, handover.id, TargetForm())
    stranger = await world.person("U9", "Uwe")
    world.doors.closed.add(("C1", "U9"))
    with pytest.raises(Refusal, match="handover_not_found"):
        await keep_target_form(world.services, stranger, handover.id, form)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"begin": "x"}, "setting_unknown"),
        ({"start": 3}, "setting_not_text"),
        ({"setup": ["alpha"]}, "setting_not_table"),
    ],
)
def test_a_form_of_another_shape_is_refused(raw: dict[str, object], code: str) -> None:
    with pytest.raises(Refusal, match=code):
        TargetForm.from_json(raw)


async def test_a_review_keeps_what_was_filled_in_and_begins_with_the_draft(world: World) -> None:
    aki = await world.person()
    _, branch = await grown(world, aki)
    review_id = await begin_review(world.services, aki, branch, event_key="review")

    async def there() -> bool:
        return (await show_review(world.services, aki, review_id)).draft is not None

    await eventually(there)
    review = await show_review(world.services, aki, review_id)
    assert review.draft is not None
    assert review.form == ReviewForm(texts=review.draft.texts.to_json())
    form = ReviewForm(texts={"about": "Kita"}, reason="Cheaper", choices={"a": {"choice": "take_branch"}})
    await edit_review(world.services, aki, review_id, form)
    kept = await show_review(world.services, aki, review_id)
    assert (kept.form, kept.draft) == (form, review.draft)
    with pytest.raises(Refusal, match="adopt_review_not_found"):
        await edit_review(world.services, aki, "none", form)


async def test_a_reason_given_before_the_draft_stands_in_the_form_and_one_too_long_is_refused(
    world: World,
) -> None:
    aki = await world.person()
    _, branch = await grown(world, aki)
    with pytest.raises(Refusal, match="reason_too_long"):
        await begin_review(world.services, aki, branch, reason="x" * 1_001, event_key="long")
    review_id = await begin_review(world.services, aki, branch, reason=" Cheaper ", event_key="review")

    async def there() -> bool:
        return (await show_review(world.services, aki, review_id)).form is not None

    await eventually(there)
    review = await show_review(world.services, aki, review_id)
    assert review.draft is not None
    assert review.form == ReviewForm(texts=review.draft.texts.to_json(), reason="Cheaper")
    assert "Cheaper" not in "".join(world.model.sent(number) for number in range(len(world.model.calls)))


async def test_erasing_a_person_reaches_what_they_had_only_filled_in(world: World) -> None:
    aki = await world.person()
    thread, branch = await grown(world, aki)
    handover = await drafted(world, aki, thread, "debate")
    form = TargetForm(start="my secret", setup={"background": "my secret", "moderator": "seer"})
    await keep_target_form(world.services, aki, handover.id, form)
    review_id = await begin_review(world.services, aki, branch, event_key="review")
    await edit_review(
        world.services, aki, review_id, ReviewForm(texts={"about": "my secret"}, reason="my secret")
    )
    await erase_person(world.services, aki, aki.external_id)
    kept = await show_handover(world.services, aki, handover.id)
    assert TargetForm.from_json(kept.form) == TargetForm(
        start="—", setup={"background": "—", "moderator": "seer"}
    )
    assert (await show_review(world.services, aki, review_id)).form == ReviewForm(
        texts={"about": "—"}, reason="—"
    )
