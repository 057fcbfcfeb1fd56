"""Every view as Slack would get it. `python -m tests.bot.slack.payloads [en|ja]` prints them for review."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.slack.block import Block
from bot.slack.form import (
    About,
    branch_form,
    branch_picker,
    input_form,
    loading,
    note,
    other_model_form,
)
from bot.slack.page import help_message, home_view, models_message, threads_message, usage_message
from bot.slack.render import SlackMessage, Surroundings, render
from bot.slack.start_form import FIELD_CHARS, MOST, Wish, question_message, start_form, take
from core import i18n
from core.domain.thread import Mode, Place
from core.domain.view import AnswerView, EstimateView, Phrase
from core.modes.workflow_file import load_workflows
from tests.bot.slack import carried_payloads, eval_payloads, prompt_payloads
from tests.examples import eval_views, handover_views, records, views

URL = "https://testers.slack.com/"
ABOUT = About(thread=views.thread_id(1), ref=views.message_id(12), channel="C1")
LONG = "\n\n".join(f"Paragraph {n}. " + "Words and 日本語 and 👍 " * 30 for n in range(30))
MANY_BUTTONS = tuple(
    replace(b, ref=f"{b.ref[:-2]}{n:02x}") for n in range(2) for b in views.finished_buttons(n)
)


ALIASES = tuple(f"model-{number}" for number in range(60))
WORKFLOWS = load_workflows()
ESTIMATE = EstimateView(
    calls=40,
    input_tokens=1_234_567,
    output_tokens=28_000,
    cost_usd=12.5,
    unpriced=ALIASES,
    notes=(Phrase(key="mode_notice.same_model_twice", fields={"models": "model-1"}),),
)


def full(mode: Mode) -> Wish:
    """A form with every field as full as it can be."""
    text = (views.HOSTILE + "👍" * FIELD_CHARS)[: FIELD_CHARS // 2]
    values = {
        "text": text,
        "models": take(ALIASES[: MOST[mode]]),
        "blind": "on",
        "background": text if mode is Mode.DEBATE else "",
        "moderator": ALIASES[0],
        "rebuttal_rounds": "2",
        "passes": "2",
    }
    if mode is Mode.WORKFLOW:
        name = next(iter(WORKFLOWS))
        values["workflow"] = name
        values |= {f"input.{name}.{one.name}": text for one in WORKFLOWS[name].inputs[1:]}
    return Wish(id=views.thread_id(1), mode=mode, channel="C1", values=values, seen="0" * 16)


def extra_posts() -> dict[str, AnswerView]:
    """Views that only matter where room is short."""
    done = views.ANSWERS["answer_done"]
    return {
        "answer_long": replace(done, text=LONG),
        "answer_too_long_for_messages": replace(done, text=LONG * 6),
        "answer_writing_long": replace(views.ANSWERS["answer_writing"], text=LONG),
        "answer_code": replace(done, text="```python\n" + "x = 1  # 日本語\n" * 3_000 + "```"),
        "answer_without_a_break": replace(done, text="👍" * 20_000),
        "answer_with_many_notices": replace(done, notices=done.notices * 30),
    }


def messages(locale: str) -> Iterator[tuple[str, SlackMessage]]:
    """Every message by name."""
    around = Surroundings(locale=locale, url=URL)
    for name, view in {**views.POSTS, **handover_views.POSTS, **eval_views.CARDS, **extra_posts()}.items():
        for number, message in enumerate(render(view, around).messages):
            yield f"{name}/{number}", message
            yield f"{name}/{number}/last_resort", message.last_resort()
    yield "threads", threads_message(locale, URL, records.CHANNELS, here="general")
    yield "threads_none", threads_message(locale, URL, (), here="general")
    yield "threads_many", threads_message(locale, URL, records.CHANNELS * 40, here="general")
    yield "models", models_message(locale, records.MODELS)
    yield "models_many", models_message(locale, records.MODELS * 40)
    yield "usage", usage_message(locale, records.USAGE_LINES)
    yield "usage_none", usage_message(locale, ())
    yield from carried_payloads.cards(locale)
    yield from prompt_payloads.cards(locale)
    yield from eval_payloads.cards(locale)
    yield "help", help_message(locale, "promptflow")
    for mode in MOST:
        yield f"question_{mode.value}", question_message(locale, full(mode), views.HOSTILE, WORKFLOWS)


def pages(locale: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every form and page by name."""
    yield "loading", loading(locale, "slack.branch_title")
    yield "note", note(locale, title="slack.branch_title", sentence=views.HOSTILE)
    yield "branch", branch_form(locale, ABOUT, point=i18n.text(locale, "slack.branch_point", position=4))
    threads = [
        replace(t, place=Place(platform="slack", channel="C1", thread="1.1"))
        for c in records.CHANNELS
        for t in c.threads
    ]
    yield "branch_picker", branch_picker(locale, replace(ABOUT, thread=""), threads, None)
    yield "branch_picker_messages", branch_picker(locale, ABOUT, threads, views.PAGES["thread"])
    yield "other_model", other_model_form(locale, ABOUT, records.MODELS)
    for name, receipt in records.RECEIPTS.items():
        yield f"input_{name}", input_form(locale, receipt)
    whole = records.RECEIPTS["receipt"]
    many = replace(whole, parts=tuple(replace(p, text=p.text * 400) for p in whole.parts) * 12)
    yield "input_very_long", input_form(locale, many)
    for mode in MOST:
        for name, view in (("", None), ("_estimate", ESTIMATE)):
            yield (
                f"start_{mode.value}{name}",
                start_form(locale, full(mode), models=ALIASES, workflows=WORKFLOWS, estimate=view),
            )
    targets = {mode: full(mode) for mode in MOST}
    yield from carried_payloads.forms(locale, targets, WORKFLOWS, ESTIMATE)
    yield from prompt_payloads.forms(locale)
    yield from eval_payloads.forms(locale)
    yield "home", home_view(locale, URL, records.CHANNELS, records.USAGE_LINES, "promptflow")
    yield "home_empty", home_view(locale, URL, (), (), "promptflow")
    yield "home_full", home_view(locale, URL, records.CHANNELS * 30, records.USAGE_LINES * 40, "promptflow")


def everything(locale: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        name: {"blocks": [dict(block) for block in message.blocks], "text": message.text}
        for name, message in messages(locale)
    }
    return shown | dict(pages(locale))


def blocks_of(locale: str) -> Iterator[tuple[str, Block]]:
    for name, payload in everything(locale).items():
        for block in payload["blocks"]:
            yield name, block


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else i18n.DEFAULT_LOCALE
    sys.stdout.write(json.dumps(everything(wanted), ensure_ascii=False, indent=2) + "\n")
