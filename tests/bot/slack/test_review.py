"""Cross Review and artifacts by words, shortcut and button, through the genuine library."""

from typing import Any

import pytest

from core.domain.policy import Policy
from tests.bot.slack.test_start import calls_in, estimated, finished, opened, press_start, refused, roots
from tests.bot.slack.world import MENTION, SlackWorld, texts_of
from tests.platforms.slack_state import TEAM
from tests.product import eventually


async def compared(slack: SlackWorld) -> str:
    """A finished Compare of two models; its root."""
    view = await opened(slack, "/compare", "Which database?")
    shown = await estimated(slack, view["id"], {"models": "1:alpha\n1:beta"})
    await slack.server.submit(view["id"], {})
    await finished(slack, calls_in(shown))
    (root,) = roots(slack)
    return str(root["ts"])


async def told(slack: SlackWorld, text: str, root: str) -> str:
    before = len(slack.server.ephemerals)
    await slack.server.say(f"{MENTION} {text}", thread=root)
    await eventually(lambda: len(slack.server.ephemerals) > before)
    return texts_of(slack.server.ephemerals[-1])


def card_of(slack: SlackWorld, root: str, action: str) -> dict[str, Any]:
    """The newest post of a thread with such a button, under it or in its menu."""
    return next(
        m
        for m in reversed(slack.server.posts("C1", root))
        if action.partition(".")[2] in str(m.get("blocks"))
    )


async def reviewed(slack: SlackWorld, calls: int) -> None:
    await finished(slack, calls)
    assert len(slack.model.calls) == calls


async def test_review_by_words_judges_every_answer_to_the_last_question(slack: SlackWorld) -> None:
    root = await compared(slack)
    assert "Reviewers at work: " in await told(slack, "review 1 mind the cost", root)
    await reviewed(slack, 3)
    assert "mind the cost" in slack.model.sent()
    assert "answer 1" in slack.model.sent()
    assert "answer 2" in slack.model.sent()
    assert slack.model.calls[-1].model not in ("alpha", "beta")


async def test_fewer_reviewers_than_asked_for_are_said(slack: SlackWorld) -> None:
    slack.world.policies[TEAM] = Policy(allowed_models=("alpha", "beta", "seer"))
    root = await compared(slack)
    assert "Only 1 of 4 reviewers" in await told(slack, "review 4", root)
    await reviewed(slack, 3)


async def test_more_reviewers_than_there_may_be_are_refused(slack: SlackWorld) -> None:
    root = await compared(slack)
    assert "1 to 4" in await told(slack, "review 9", root)
    assert len(slack.model.calls) == 2


async def test_review_by_a_shortcut_asks_which_answers_and_what_to_look_at(slack: SlackWorld) -> None:
    root = await compared(slack)
    card = card_of(slack, root, "do.review")
    await slack.server.shortcut("message_review", "C1", card["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.review")
    view = slack.server.newest_view
    sent = await slack.server.submit(view["id"], {"reviewers": "1", "focus": "mind the cost"})
    assert sent.response is not None
    assert "Reviewers at work" in texts_of(sent.response["view"])
    await reviewed(slack, 3)
    assert "mind the cost" in slack.model.sent()


async def form_of_review(slack: SlackWorld, root: str) -> dict[str, Any]:
    card = card_of(slack, root, "do.review")
    await slack.server.shortcut("message_review", "C1", card["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.review")
    return slack.server.newest_view


async def test_two_reviewers_are_estimated_in_the_form_and_start_once(slack: SlackWorld) -> None:
    root = await compared(slack)
    view = await form_of_review(slack, root)
    shown = await estimated(slack, view["id"], {"reviewers": "2", "focus": "mind the cost"})
    assert "Calls to models: 2." in texts_of(shown)
    assert "Reviewers: seer, small" in texts_of(shown)
    assert len(slack.model.calls) == 2
    changed = await estimated(slack, view["id"], {"reviewers": "2", "focus": "mind the time"})
    assert "Calls to models: 2." in texts_of(changed)
    assert len(slack.model.calls) == 2
    started = await slack.server.submit(view["id"], {})
    assert started.response is not None
    assert "Reviewers at work" in texts_of(started.response["view"])
    await reviewed(slack, 4)
    assert "mind the time" in slack.model.sent()


async def test_words_show_the_estimate_and_start_once_however_often_it_is_pressed(slack: SlackWorld) -> None:
    root = await compared(slack)
    assert "Calls to models: 2." in await told(slack, "review 2 mind the cost", root)
    assert len(slack.model.calls) == 2
    await press_start(slack, slack.server.ephemerals[-1], times=3)
    await eventually(lambda: len(slack.server.ephemerals) == 4)
    assert all("Reviewers at work" in texts_of(one) for one in slack.server.ephemerals[1:])
    await reviewed(slack, 4)
    assert "mind the cost" in slack.model.sent()


async def test_the_button_under_an_answer_shows_the_estimate_first(slack: SlackWorld) -> None:
    root = await compared(slack)
    await press(slack, root, "review")
    await eventually(lambda: slack.server.ephemerals)
    offered = texts_of(slack.server.ephemerals[-1])
    assert "Start Cross Review?" in offered
    assert "their verdicts are posted in this thread" in offered
    assert "in this channel" not in offered
    assert len(slack.model.calls) == 2
    await press_start(slack, slack.server.ephemerals[-1])
    await reviewed(slack, 4)


async def test_a_start_that_was_forged_is_refused(slack: SlackWorld) -> None:
    root = await compared(slack)
    await told(slack, "review 2", root)
    offered = slack.server.ephemerals[-1]
    (start,) = [e for b in offered["blocks"] for e in b.get("elements", ()) if "action_id" in e]
    values = ("", "[]", '[["key"],2,""]', '[["key","unknown"],2,""]')
    for value in values:
        forged = {"blocks": [{"type": "actions", "elements": [{**start, "value": value}]}]}
        await press_start(slack, forged)
    await eventually(lambda: len(slack.server.ephemerals) + len(slack.server.answers) == 1 + len(values))
    assert len(slack.model.calls) == 2


async def test_a_focus_too_long_to_be_typed_names_the_form(slack: SlackWorld) -> None:
    root = await compared(slack)
    assert "The form of Cross Review" in await told(slack, f"review 2 {'x' * 1_001}", root)
    assert len(slack.model.calls) == 2


async def test_the_command_picks_a_thread_and_then_its_answers(slack: SlackWorld) -> None:
    await compared(slack)
    await slack.ask("A chat has nothing to review")
    view = await opened(slack, "/review", "")
    assert view["callback_id"] == "form.review_pick"
    (menu,) = [e for b in view["blocks"] for e in b.get("elements", ()) if e["type"] == "static_select"]
    assert [one["text"]["text"] for one in menu["options"]] == ["Which database?"]
    await slack.server.click_in_view(view["id"], "thread", menu["options"][0]["value"])
    await eventually(lambda: slack.server.views[view["id"]]["callback_id"] == "form.review")
    shown = await estimated(slack, view["id"], {"reviewers": "2"})
    assert "Calls to models: 2." in texts_of(shown)
    await slack.server.submit(view["id"], {})
    await eventually(lambda: len(slack.model.calls) == 5)


async def test_the_command_takes_a_link_to_an_answer(slack: SlackWorld) -> None:
    root = await compared(slack)
    card = card_of(slack, root, "do.review")
    link = f"https://testers.slack.com/archives/C1/p{card['ts'].replace('.', '')}"
    view = await opened(slack, "/review", link)
    assert view["callback_id"] == "form.review"


async def test_the_command_says_when_nothing_can_be_reviewed(slack: SlackWorld) -> None:
    await slack.ask("Which database?")
    assert "can be reviewed" in texts_of(await opened(slack, "/review", ""))
    assert "no link to a Slack message" in texts_of(await opened(slack, "/review", "https://a.example/x"))


async def test_a_chat_has_nothing_to_review(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await told(slack, "review", root)
    assert len(slack.model.calls) == 1
    (card,) = slack.server.posts()
    await slack.server.shortcut("message_review", "C1", card["ts"])
    await eventually(lambda: "can be reviewed" in texts_of(slack.server.newest_view))


@pytest.mark.soak
async def test_an_answer_is_saved_by_words_and_by_shortcut_and_listed_with_its_versions(
    slack: SlackWorld,
) -> None:
    root = await slack.ask("Which database?")
    assert "Nothing is saved" in await told(slack, "artifacts", root)
    assert "Plan" in await told(slack, "save Plan", root)
    assert "already has an artifact" in await told(slack, "save “Plan”", root)
    (card,) = slack.server.posts()
    await slack.server.shortcut("message_save", "C1", card["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.save")
    view = slack.server.newest_view
    assert "already has an artifact" in refused(await slack.server.submit(view["id"], {"artifact": "Plan"}))
    sent = await slack.server.submit(view["id"], {"artifact": "Plan", "as_version": "on"})
    assert sent.response is not None
    listed = await told(slack, "artifacts", root)
    assert "Version 2" in listed
    assert "Version 1" in listed
    assert "answer 1" in await told(slack, "artifacts Plan", root)
    assert "no artifact" in await told(slack, "artifacts Other", root)


async def test_a_saved_answer_too_long_for_a_message_is_cut_and_says_so(slack: SlackWorld) -> None:
    slack.model.script = ["longer " * 1_000]
    root = await slack.ask("Which database?")
    await told(slack, "save Plan", root)
    assert "characters stand here" in await told(slack, "artifacts Plan", root)


async def test_buttons_of_a_blind_compare_compare_vote_and_reveal(slack: SlackWorld) -> None:
    view = await opened(slack, "/compare", "Which database?")
    shown = await estimated(slack, view["id"], {"models": "1:alpha\n1:beta", "blind": "on"})
    await slack.server.submit(view["id"], {})
    await finished(slack, calls_in(shown))
    (root,) = roots(slack)
    thread = str(root["ts"])
    assert "alpha" not in str(slack.server.posts("C1", thread))
    await press(slack, thread, "compare_answers")
    await reviewed(slack, 3)
    await press(slack, thread, "vote")
    await eventually(lambda: "alpha" in str(slack.server.posts("C1", thread)))
    cards = [one for one in slack.server.posts("C1", thread) if "answer " in texts_of(one)][:2]
    await eventually(lambda: all("alpha" in texts_of(one) or "beta" in texts_of(one) for one in cards))
    assert not any("do.vote" in str(one["blocks"]) for one in cards)
    await press(slack, thread, "save")
    await eventually(lambda: any("Saved as" in texts_of(told) for told in slack.server.ephemerals))


async def press(slack: SlackWorld, thread: str, action: str) -> None:
    """Press a button under the newest post that has it, or take its entry in the post's menu."""
    for post in reversed(slack.server.posts("C1", thread)):
        for element in [e for b in post["blocks"] for e in b.get("elements", ()) if "action_id" in e]:
            if element["action_id"] == f"do.{action}":
                assert (await slack.server.click("C1", post["ts"], f"do.{action}")).acked
                return
            for choice in element.get("options", ()):
                if choice["value"].startswith(f"{action}|"):
                    assert (await slack.server.choose("C1", post["ts"], element, choice)).acked
                    return
    raise AssertionError(f"no post has the button {action}")


async def test_a_version_is_opened_with_what_changed_in_it_and_sent_as_a_file(slack: SlackWorld) -> None:
    root = await slack.ask("Which database?")
    await told(slack, "save Plan", root)
    await slack.server.say("And now?", thread=root)
    await slack.settled("C1", root, answers=2)
    card = slack.server.posts("C1", root)[-1]
    await slack.server.shortcut("message_save", "C1", card["ts"])
    await eventually(lambda: slack.server.newest_view["callback_id"] == "form.save")
    await slack.server.submit(slack.server.newest_view["id"], {"artifact": "Plan", "as_version": "on"})
    await told(slack, "artifacts", root)
    await slack.server.click_private("do.artifact")
    await eventually(lambda: "− answer 1\n+ answer 2" in texts_of(slack.server.newest_view))
    await slack.server.press_in_view("do.artifact_file")
    await eventually(lambda: [f["name"] for f in slack.server.files.values()] == ["Plan.md"])
    await slack.server.press_in_view("do.artifact")
    await eventually(lambda: "version 1" in texts_of(slack.server.newest_view))
    assert "answer 2" not in texts_of(slack.server.newest_view)
