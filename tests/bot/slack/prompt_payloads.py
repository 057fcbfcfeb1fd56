"""The cards and forms of prompts, as full as they can be."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.prompt_act import MOVES, Drafted, Seen
from bot.slack.prompt_form import (
    Leaf,
    draft_form,
    edit_form,
    history_form,
    in_form,
    item_message,
    move_form,
    page_form,
    prompts_message,
    said,
    status_message,
    version_form,
)
from bot.slack.render import SlackMessage
from core.domain.prompt import PartChange, PromptState, PromptText
from tests.examples import prompt_views
from tests.examples.views import HOSTILE

NAME = f"team.{'long_' * 10}name"
PARTS = ("system.md", "task.md", "fragments.yaml", "few_shot.yaml", "output.schema.json", "prompt.yaml")
LONG = f"{HOSTILE}\n日本語 👍 & <b>\n" * 400
ID = "0192f3a4-5b6c-7d8e-9f00-112233445566"
LEAF = Leaf(name=NAME, version=ID, part="output.schema.json", base=ID, head=ID, rev=10**6, key=ID)
ITEM = replace(prompt_views.LISTED[0], name=NAME)
VERSIONS = tuple(
    replace(one, version_id=f"{ID}-{number}", reason=HOSTILE * 2)
    for number, one in enumerate(prompt_views.VERSIONS * 40)
)
CHANGES = tuple(PartChange(file=part, before="one\n" * 400, after=LONG) for part in PARTS)
EVENTS = prompt_views.EVENTS * 20


def cards(locale: str) -> Iterator[tuple[str, SlackMessage]]:
    """Every card by name."""
    yield "prompts", prompts_message(locale, (ITEM,) * 100, key=ID)
    yield "prompt", item_message(locale, ITEM)
    yield "prompt_status", status_message(locale, prompt_views.STATUS)
    many = replace(prompt_views.STATUS, processes=prompt_views.STATUS.processes * 40)
    yield "prompt_status_many", status_message(locale, many, "Done.")


def forms(locale: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every form by name."""
    for name, card in cards(locale):
        yield f"{name}_form", in_form(locale, card, back=True)
    yield "prompt_said", said(locale, LEAF, HOSTILE * 30, file=True)
    for state in PromptState:
        yield f"prompt_page_{state.value}", page_form(locale, prompt_views.page(state))
    full = prompt_views.page(
        item=ITEM, files=dict.fromkeys(PARTS, LONG), versions=VERSIONS, shown=VERSIONS[0]
    )
    yield "prompt_page_full", page_form(locale, full, HOSTILE)
    yield "prompt_history", history_form(locale, NAME, EVENTS)
    yield "prompt_history_none", history_form(locale, NAME, ())
    text = PromptText(name=NAME, base_id=ID, head_id=ID, files={"output.schema.json": "x" * 3_000})
    yield "prompt_edit", edit_form(locale, LEAF, text)
    for version in prompt_views.VERSIONS:
        seen = Seen(page=full, version=version, changes=CHANGES, moves=MOVES)
        yield f"prompt_version_{version.version}", version_form(locale, seen)
        for kind in MOVES:
            about = replace(LEAF, move=kind)
            yield f"prompt_{kind}_{version.version}", move_form(locale, about, full, version)
            again = replace(about, ack=True, override=True)
            asked = {"reason": "x" * 500, "sentence": HOSTILE * 20}
            yield f"prompt_{kind}_again_{version.version}", move_form(locale, again, full, version, **asked)
    for name, check in prompt_views.CHECKS.items():
        draft = Drafted(page=full, text=text, check=replace(check, changes=CHANGES))
        for head in (full.head_id, "other"):
            page = replace(full, head_id=head, draft=replace(prompt_views.DRAFT, head_id=full.head_id))
            shown = draft_form(
                locale, replace(draft, page=page), key=ID, ack=True, reason="x" * 500, sentence=HOSTILE * 20
            )
            yield f"prompt_draft_{name}_{head}", shown
