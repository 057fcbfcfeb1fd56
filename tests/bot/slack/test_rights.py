"""Who may see and do what: private channels, guests, strangers, archived places; what a human thread brings along."""

from tests.bot.slack.world import MENTION, SlackWorld, texts_of
from tests.platforms.slack_state import BOT_USER
from tests.product import eventually


async def test_threads_of_a_private_channel_are_listed_for_its_members_alone(slack: SlackWorld) -> None:
    await slack.ask("A secret plan", channel="G1")
    assert len(await slack.threads("UALICE")) == 1
    assert await slack.threads("UBEN") == []
    await slack.server.slash("/threads", user="UBEN")
    await eventually(lambda: slack.server.answers)
    assert "secret" not in texts_of(slack.server.answers[-1])


async def test_a_link_into_a_private_channel_looks_like_one_to_nothing(slack: SlackWorld) -> None:
    root = await slack.ask("A secret plan", channel="G1")
    for target in (root, "1700000000.000001"):
        link = f"https://testers.slack.com/archives/G1/p{target.replace('.', '')}"
        await slack.server.slash("/branch", link, user="UBEN")
    await eventually(lambda: len(slack.server.views) == 2)
    forms = list(slack.server.views)
    await eventually(lambda: all("One moment" not in texts_of(slack.server.views[v]) for v in forms))
    known, unknown = (texts_of(slack.server.views[v]) for v in forms)
    assert known == unknown
    assert "secret" not in known


async def test_who_leaves_a_private_channel_loses_sight_of_it_at_once(slack: SlackWorld) -> None:
    slack.server.channels["G1"].members.append("UBEN")
    await slack.ask("A secret plan", channel="G1", user="UBEN")
    assert len(await slack.threads("UBEN")) == 1
    slack.server.channels["G1"].members.remove("UBEN")
    await slack.server.event({"type": "member_left_channel", "user": "UBEN", "channel": "G1"})
    assert await slack.threads("UBEN") == []


async def test_a_guest_sees_only_channels_they_are_in(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    assert await slack.threads("UGUEST") == []
    assert await slack.threads("UOUT") == []
    slack.server.channels["C1"].members.append("UGUEST")
    await slack.server.event({"type": "member_joined_channel", "user": "UGUEST", "channel": "C1"})
    assert len(await slack.threads("UGUEST")) == 1


async def test_a_button_of_a_thread_in_a_channel_that_was_archived_says_so(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.branch")
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.branch")
    slack.server.channels["C1"].archived = True
    await slack.server.event({"type": "channel_archive", "user": "UBEN", "channel": "C1"})
    refused = await slack.server.submit(slack.server.newest_view["id"], {"name": "x"})
    assert "archived" in next(iter(refused.response["errors"].values()))
    assert len(await slack.threads()) == 1


async def test_a_form_that_opens_too_late_asks_for_another_click(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    slack.server.fault("views.open", "error", code="expired_trigger_id")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.branch")
    await eventually(lambda: slack.server.ephemerals)
    assert "click once more" in slack.server.ephemerals[0]["text"]
    assert slack.server.ephemerals[0]["thread_ts"] == answer["thread_ts"]


async def test_a_missing_permission_is_named_with_what_to_do(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    slack.server.fault("views.open", "error", code="missing_scope")
    (answer,) = slack.server.posts()
    await slack.server.click("C1", answer["ts"], "do.show_input")
    await eventually(lambda: slack.server.ephemerals)
    assert "reinstalls the app" in slack.server.ephemerals[0]["text"]


async def test_a_mention_in_a_human_thread_takes_the_thread_in_once_with_its_speakers(
    slack: SlackWorld,
) -> None:
    server = slack.server
    root = str(server.write("We need a queue")["ts"])
    for n in range(5):
        server.write(f"point {n}", user=("UALICE", "UBEN")[n % 2], thread=root)
    server.write("Build is green", user="UROBOT", thread=root, bot_id="B7", bot_profile={"name": "ci"})
    server.write("joined", thread=root, subtype="channel_join")
    await server.say(f"{MENTION} what do you think?", thread=root)
    await slack.settled("C1", root)
    sent = slack.model.sent()
    assert (
        sent.index("We need a queue")
        < sent.index("point 0")
        < sent.index("point 4")
        < sent.index("Build is green")
    )
    assert "ben" in sent
    assert "joined" not in sent
    replies = [c for c in server.calls_of("conversations.replies") if c["ts"] == root]
    assert len(replies) >= 3
    await server.say("And then?", thread=root)
    await slack.settled("C1", root, answers=2)
    assert slack.model.sent().count("point 3") == 1
    assert len([c for c in server.calls_of("conversations.replies") if c["ts"] == root]) == len(replies)


async def test_other_bots_and_joins_start_nothing(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say(f"{MENTION} hello", user="UROBOT", bot_id="B7", thread=root)
    await slack.server.say("has joined", subtype="channel_join")
    await slack.server.event({"type": "reaction_added", "user": "UALICE", "item_user": BOT_USER})
    assert len(slack.model.calls) == 1
    assert all(d.acked for d in slack.server.deliveries)


async def test_files_are_read_and_one_that_cannot_be_is_named(slack: SlackWorld) -> None:
    server = slack.server
    files = [
        server.attach("load.csv", b"minute,jobs\n0,200"),
        server.attach("huge.bin", b"x", size=50_000_000),
        server.attach("drive.doc", b"x", is_external=True, url_private="https://evil.example/x"),
    ]
    root = await server.say(f"{MENTION} look", files=files, subtype="file_share")
    await slack.settled("C1", root)
    assert "minute,jobs" in slack.model.sent()
    shown = texts_of(server.posts()[0])
    assert "huge.bin" in shown
    assert "drive.doc" in shown


async def test_a_sign_in_page_in_place_of_a_file_is_not_taken_for_it(slack: SlackWorld) -> None:
    slack.server.scopes.clear()
    file = slack.server.attach("notes.txt", b"secret words")
    root = await slack.server.say(f"{MENTION} look", files=[file], subtype="file_share")
    await slack.settled("C1", root)
    assert "Sign in" not in slack.model.sent()
    assert "notes.txt" in texts_of(slack.server.posts()[0])


async def test_the_bot_s_token_is_sent_to_slack_alone(slack: SlackWorld) -> None:
    allows = slack.platform.files.allows
    assert allows("https://files.slack.com/x")
    assert allows(f"http://127.0.0.1:{slack.server.port}/files/F1")
    for address in (
        "http://files.slack.com/x",
        "https://evil.example/files.slack.com",
        "https://slack.com.evil.example/x",
        "https://evilslack.com/x",
        "ftp://slack.com/x",
        "",
    ):
        assert not allows(address), address


async def test_also_send_to_channel_is_a_turn_like_any_other(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await slack.server.say("Really?", thread=root, subtype="thread_broadcast")
    await slack.settled("C1", root, answers=2)


async def test_an_event_nobody_handles_is_acknowledged(slack: SlackWorld) -> None:
    assert (await slack.server.event({"type": "unheard_of"})).acked
