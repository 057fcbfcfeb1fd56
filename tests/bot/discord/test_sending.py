"""Artifacts sent to another thread on Discord: by button and menu, command and word, only where the person may see."""

from core.commands.artifact import list_saved, show_artifact
from core.commands.place import thread_at
from core.domain.ids import ThreadId
from core.domain.thread import Place
from core.i18n import text
from tests.bot.discord.test_carrying import form_of, names_in, shown, told
from tests.bot.discord.world import MENTION, DiscordWorld
from tests.platforms.discord_api import BOB, GENERAL, Json, components_of
from tests.product import eventually


async def ours(there: DiscordWorld, thread: str) -> ThreadId:
    place = Place(platform="discord", channel=GENERAL, thread=thread)
    found = await thread_at(there.services, await there.actor(), place)
    assert found is not None
    return found.id


async def saved(there: DiscordWorld, thread: str) -> list[str]:
    found = await list_saved(there.services, await there.actor(), await ours(there, thread))
    return [one.name for one in found]


def offered(done: Json) -> list[str]:
    """Titles of the threads that a private card offers."""
    (menu,) = [one for one in components_of(done["message"]) if one["type"] == 3]
    return [option["label"] for option in menu["options"]]


async def two(there: DiscordWorld) -> tuple[str, str]:
    """A thread with a saved answer, and another one."""
    target = await there.ask("Which database?")
    thread = await there.ask("Which supplier?")
    await there.server.command("save", thread, artifact="Offer")
    return thread, target


async def test_an_artifact_goes_from_the_list_to_a_picked_thread_once_and_is_told_there(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread, target = await two(there)
    private = await server.opens_thread(GENERAL, "closed", private=True, user=BOB)
    await server.says(private, f"{MENTION} between us", user=BOB)
    await there.answered(private)
    listed = await server.command("artifacts", thread)
    one = await server.choose_shown(listed, names_in(listed)[0])
    assert one["files"] == [("artifact.md", b"answer 2")]
    asked = await server.press_shown(one, "Send to another thread")
    assert offered(asked) == ["Which database?"], "neither its own thread nor one that she cannot see"
    to = str(await ours(there, target))
    sent = await server.choose_shown(asked, to)
    assert shown(sent) == text("en", "sending.sent", name="Offer", title="Which database?")
    assert await saved(there, target) == ["Offer"]
    actor = await there.actor()
    assert (await show_artifact(there.services, actor, to, "Offer")).text == "answer 2"
    await server.until(lambda: any("sent “Offer” here" in post for post in server.texts(target)))
    assert await there.conversation(target) == ["Which database?", "answer 1"]


async def test_a_name_that_is_taken_there_is_refused_and_another_one_asked_for(there: DiscordWorld) -> None:
    server = there.server
    thread, target = await two(there)
    await server.command("save", target, artifact="OFFER")
    typed = await told(there, thread, "artifacts “Offer”")
    asked = await server.press_shown(typed, "Send to another thread")
    taken = await server.choose_shown(asked, str(await ours(there, target)))
    assert shown(taken) == text("en", "refusal.artifact_name_there", name="Offer")
    assert await saved(there, target) == ["OFFER"]
    opened = await server.press_shown(taken, "Another name …")
    assert form_of(opened) == {"name": "Offer"}
    again = await server.submit(opened)
    assert shown(again) == shown(taken)
    done = await server.submit(opened, name="Offer of the supplier")
    assert shown(done) == text("en", "sending.sent", name="Offer of the supplier", title="Which database?")
    assert await saved(there, target) == ["OFFER", "Offer of the supplier"]


async def test_the_command_names_the_thread_and_suggests_those_that_the_person_sees(
    there: DiscordWorld,
) -> None:
    server = there.server
    thread, target = await two(there)
    to = str(await ours(there, target))
    assert await server.suggestions("artifacts", thread, "to", "") == [to]
    assert await server.suggestions("artifacts", thread, "to", "supplier") == []
    done = await server.command("artifacts", thread, artifact="offer", to=to)
    assert shown(done) == text("en", "sending.sent", name="Offer", title="Which database?")
    twice = await server.command("artifacts", thread, artifact="offer", to=to)
    assert shown(twice) == text("en", "refusal.artifact_name_there", name="Offer")
    nowhere = await server.command("artifacts", thread, artifact="offer", to="nowhere")
    assert shown(nowhere) == text("en", "refusal.thread_not_found")
    assert await saved(there, target) == ["Offer"]


async def test_whoever_cannot_see_the_thread_of_an_artifact_sends_nothing_from_an_old_card(
    there: DiscordWorld,
) -> None:
    server = there.server
    target = await there.ask("Which database?")
    private = await server.opens_thread(GENERAL, "closed", private=True)
    await server.says(private, f"{MENTION} between us")
    await there.answered(private)
    await server.command("save", private, artifact="Secret")
    one = await server.command("artifacts", private, artifact="Secret")
    asked = await server.press_shown(one, "Send to another thread")
    to = str(await ours(there, target))
    for done in (
        await server.press_shown(one, "Send to another thread", user=BOB),
        await server.choose_shown(asked, to, user=BOB),
    ):
        assert shown(done) == text("ja", "refusal.artifact_gone")
    await eventually(there.idle)
    assert await saved(there, target) == []
