"""Payloads as plain values: what is a turn, what is not, and what text says."""

from typing import Any

import pytest

from bot.slack.parse import (
    ChannelChanged,
    Deleted,
    Edited,
    HomeOpened,
    Ignored,
    Removed,
    StopPressed,
    Written,
    parse_click,
    parse_event,
    workspace_of,
)
from bot.slack.words import Pointed, begins_with_another, command_in, people_in, permalink, plain
from core.commands.text import Word
from core.domain.errors import Refusal


def body(**event: Any) -> dict[str, Any]:
    return {"event_id": "Ev1", "event": event}


def message(**more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "user": "U1",
        "channel": "C1",
        "ts": "10.000001",
        "text": "hi",
        "channel_type": "channel",
        **more,
    }


def test_a_person_s_message_is_taken() -> None:
    event = parse_event(body(**message(thread_ts="9.000001")))
    assert event == Written(
        event_id="Ev1",
        channel="C1",
        user="U1",
        message="10.000001",
        thread="9.000001",
        text="hi",
        at_top=False,
    )


@pytest.mark.parametrize("subtype", [None, "file_share", "thread_broadcast"])
def test_files_and_also_send_to_channel_are_messages_like_others(subtype: str | None) -> None:
    more = {} if subtype is None else {"subtype": subtype}
    assert isinstance(parse_event(body(**message(**more))), Written)


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B2"},
        {"bot_profile": {"id": "B2"}},
        {"subtype": "bot_message"},
        {"subtype": "channel_join"},
        {"subtype": "me_message"},
        {"hidden": True},
        {"user": None},
        {"type": "app_mention", "edited": {"user": "U1"}},
    ],
)
def test_what_is_no_turn_of_a_person_is_ignored(more: dict[str, Any]) -> None:
    assert isinstance(parse_event(body(**message(**more))), Ignored)


def changed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return body(type="message", subtype="message_changed", channel="C1", message=now, previous_message=before)


def test_an_edit_counts_when_a_person_changed_the_text() -> None:
    event = parse_event(changed(message(), message(text="bye", edited={"user": "U1"})))
    assert isinstance(event, Edited)
    assert (event.now.text, event.before) == ("bye", "hi")


@pytest.mark.parametrize(
    "now",
    [
        message(),
        message(edited={"user": "U1"}),
        message(text="bye", edited={"user": "U1"}, bot_id="B2"),
        message(text="bye"),
    ],
)
def test_previews_and_edits_of_bots_are_ignored(now: dict[str, Any]) -> None:
    assert isinstance(parse_event(changed(message(), now)), Ignored)


def test_deletions_of_replies_and_of_roots_with_replies() -> None:
    gone = parse_event(
        body(
            type="message",
            subtype="message_deleted",
            channel="C1",
            deleted_ts="10.1",
            previous_message=message(ts="10.1"),
        )
    )
    assert isinstance(gone, Deleted)
    assert (gone.message, gone.user) == ("10.1", "U1")
    tombstone = parse_event(
        changed(message(), {"subtype": "tombstone", "ts": "10.000001", "thread_ts": "10.000001"})
    )
    assert isinstance(tombstone, Deleted)
    assert tombstone.message == tombstone.thread == "10.000001"


def test_other_events_that_concern_us() -> None:
    assert isinstance(
        parse_event(body(type="app_home_opened", user="U1", tab="home", channel="D1")), HomeOpened
    )
    assert isinstance(
        parse_event(body(type="agent_session_stopped", user="U1", channel="D1", thread_ts="1.1")), StopPressed
    )
    assert isinstance(parse_event(body(type="channel_archive", channel="C1", user="U1")), ChannelChanged)
    assert isinstance(parse_event(body(type="app_uninstalled")), Removed)
    assert isinstance(parse_event(body(type="tokens_revoked", tokens={"bot": ["U1"]})), Removed)
    assert isinstance(parse_event(body(type="tokens_revoked", tokens={"oauth": ["U1"]})), Ignored)
    assert isinstance(parse_event(body(type="reaction_added")), Ignored)
    assert isinstance(parse_event({}), Ignored)


def test_the_installation_of_a_shared_channel_stands_in_its_authorizations() -> None:
    granted = {"authorizations": [{"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": False}]}
    assert workspace_of({"team_id": "T9", **granted}) == ("T1", "E1")
    granted["authorizations"][0]["is_enterprise_install"] = True
    assert workspace_of({"team_id": "T9", **granted}) == ("", "E1")
    assert workspace_of({"team": {"id": "T2"}, "enterprise": None}) == ("T2", "")


def test_text_as_its_writer_sees_it() -> None:
    names = {"U1": "Aiko"}
    assert plain("<@UBOT> hello <@U1>", names, "UBOT") == "hello @Aiko"
    assert plain("hello <@UBOT>", {}, "UBOT") == "hello"
    assert plain("ask <@UBOT> about it", {"UBOT": "promptflow"}, "UBOT") == "ask @promptflow about it"
    assert (
        plain("<https://a.example|a> <https://b.example> <mailto:x@y.z|x@y.z>", {}, "B")
        == "a (https://a.example) https://b.example x@y.z"
    )
    assert plain("<!here> <!subteam^S1|@ops> <#C1|general>", {}, "B") == "@here @ops #general"
    assert plain("&lt;!channel&gt; &amp;lt;", {}, "B") == "<!channel> &lt;"
    assert people_in("<@U1> <@U2|x> <@U1>") == ("U1", "U2")


def test_a_message_to_another_person_begins_with_their_name() -> None:
    assert begins_with_another("<@U1> look", "UBOT")
    assert not begins_with_another("<@UBOT> <@U1> look", "UBOT")
    assert not begins_with_another("look <@U1>", "UBOT")


@pytest.mark.parametrize(
    ("text", "called", "ours", "word"),
    [
        ("branch 3 other way", True, True, Word.BRANCH),
        ("branch other way", True, True, Word.BRANCH),
        ("branch is a git concept, explain", True, False, None),
        ("branch 3", True, False, Word.BRANCH),
        ("stop", True, True, Word.STOP),
        ("stop doing that please", True, True, None),
        ("help me with this", True, False, None),
        ("help", True, False, Word.HELP),
        ("retry beta", True, True, Word.RETRY),
        ("retry it in a nicer tone", True, True, None),
        ("rename Other title", True, True, Word.RENAME),
        ("models", False, False, Word.MODELS),
        ("branch", False, True, None),
        ("models are great", False, True, None),
        ("hello", True, True, None),
        ("compare SQLite and Postgres", True, False, Word.COMPARE),
        ("compare SQLite and Postgres", True, True, None),
        ("compare SQLite and Postgres", False, False, None),
        ("debate", False, False, None),
        ("review", True, True, Word.REVIEW),
        ("review 3 what about security", True, True, Word.REVIEW),
        ("review this code please", True, True, None),
        ("review 3　安全性", True, True, Word.REVIEW),
        ("review 3rd paragraph", True, True, None),
        ("save", True, True, Word.SAVE),
        ("save plan", True, True, Word.SAVE),
        ("save “The plan B”", True, True, Word.SAVE),
        ("save me from this", True, True, None),
        ("artifacts", True, True, Word.ARTIFACTS),
    ],
)
def test_words_are_commands_only_where_they_are_meant(
    text: str, called: bool, ours: bool, word: Word | None
) -> None:
    command = command_in(text, called=called, ours=ours)
    assert (command.word if command else None) is word


def test_links_to_messages() -> None:
    link = (
        "https://testers.slack.com/archives/C123ABC/p1700000000123456?thread_ts=1700000000.000001&cid=C123ABC"
    )
    assert permalink(link) == Pointed(channel="C123ABC", message="1700000000.123456")
    assert permalink(f"<{link}>") == Pointed(channel="C123ABC", message="1700000000.123456")
    assert permalink("some name") is None
    for wrong in (
        "https://example.org/archives/C1/p1",
        "https://testers.slack.com/archives/C123",
        "https://slack.com.evil.example/archives/C123ABC/p1700000000123456",
    ):
        with pytest.raises(Refusal) as refused:
            permalink(wrong)
        assert refused.value.code == "slack_link_malformed"


def test_a_button_and_its_entry_in_a_menu_are_the_same_click() -> None:
    where = {"container": {"message_ts": "2.2", "channel_id": "C1", "thread_ts": "1.1"}, "user": {"id": "U1"}}
    button = parse_click({**where, "actions": [{"action_id": "do.save", "value": "r1", "action_ts": "3.3"}]})
    option = {"action_id": "more.0", "selected_option": {"value": "save|r1"}, "action_ts": "3.3"}
    assert parse_click({**where, "actions": [option]}) == button
    assert (button.action, button.value, button.spot.thread, button.spot.key) == (
        "do.save",
        "r1",
        "1.1",
        "click:U1:3.3",
    )


def test_a_button_under_a_root_stands_in_the_thread_of_that_root() -> None:
    click = parse_click({"container": {"message_ts": "2.2", "channel_id": "C1"}, "actions": [{}]})
    assert click.spot.thread == "2.2"
