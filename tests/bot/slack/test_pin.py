"""Pins on Slack: by shortcut and button, listed in a private card and in a form, edited and removed."""

from tests.bot.slack.test_handover import field, shown
from tests.bot.slack.test_review import press
from tests.bot.slack.test_start import refused
from tests.bot.slack.world import MENTION, SlackWorld, texts_of
from tests.product import eventually


async def listed(slack: SlackWorld, root: str) -> str:
    """The private card that lists the pins of a thread."""
    before = len(slack.server.ephemerals)
    await slack.server.say(f"{MENTION} pins", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    return texts_of(slack.server.ephemerals[-1])


async def test_an_answer_is_pinned_by_its_menu_edited_and_removed_and_its_history_stays(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("Which supplier?")
    assert "Nothing is pinned" in await listed(slack, root)
    await press(slack, root, "pin")
    view = await shown(slack, "form.pin")
    assert "answer 1" in texts_of(view)
    said = await slack.server.submit(view["id"], {"kind": "decision"})
    assert "Pinned" in texts_of(said.response["view"])
    assert "*Decision*: answer 1" in await listed(slack, root)
    await slack.server.click_private("pin_edit")
    view = await shown(slack, "form.pin_edit")
    assert field(view, "text") == "answer 1"
    await slack.server.submit(view["id"], {"kind": "constraint", "text": "We take Kita"})
    assert "*Constraint*: We take Kita" in await listed(slack, root)
    await slack.server.click_private("pin_history")
    await eventually(lambda: "answer 1" in texts_of(slack.server.newest_view))
    assert "We take Kita" in texts_of(slack.server.newest_view)
    before = len(slack.server.ephemerals)
    await slack.server.click_private("pin_remove", times=2)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    assert "Nothing is pinned" in await listed(slack, root)


async def test_a_message_of_a_person_is_pinned_by_its_shortcut_to_the_letter(slack: SlackWorld) -> None:
    root = await slack.ask("Never above 40 euros")
    await slack.server.shortcut("message_pin", "C1", root)
    view = await shown(slack, "form.pin")
    await slack.server.submit(view["id"], {"kind": "constraint"})
    assert "Never above 40 euros" in await listed(slack, root)


async def test_a_text_is_pinned_from_the_list_and_removed_in_the_form(slack: SlackWorld) -> None:
    root = await slack.ask("Which supplier?")
    await listed(slack, root)
    await slack.server.click_private("do.pin_add")
    view = await shown(slack, "form.pin")
    assert "nothing to pin" in refused(
        await slack.server.submit(view["id"], {"kind": "reference", "text": ""})
    )
    await slack.server.submit(view["id"], {"kind": "reference", "text": "x" * 3_000})
    assert "xxx" in await listed(slack, root)
    await slack.server.slash("/pins")
    view = await shown(slack, "form.pick")
    (menu,) = [b["element"] for b in view["blocks"] if "element" in b]
    await slack.server.submit(view["id"], {"picked": menu["options"][0]["value"]})
    await shown(slack, "form.pins")
    await slack.server.press_in_view("pin_edit")
    view = await shown(slack, "form.pin_edit")
    await slack.server.submit(view["id"], {"text~2": "the end"})
    await slack.server.slash("/pins")
    view = await shown(slack, "form.pick")
    await slack.server.submit(view["id"], {"picked": menu["options"][0]["value"]})
    await slack.server.press_in_view("pin_edit")
    assert field(await shown(slack, "form.pin_edit"), "text~2") == "the end"
    await slack.server.slash("/pins")
    view = await shown(slack, "form.pick")
    await slack.server.submit(view["id"], {"picked": menu["options"][0]["value"]})
    await slack.server.press_in_view("pin_remove")
    await eventually(lambda: "Nothing is pinned" in texts_of(slack.server.newest_view))
