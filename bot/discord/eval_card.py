"""Evaluations as cards and forms of Discord that only their reader sees. Pure.

Nothing of an evaluation that somebody is about to begin is kept on our side: the card with the estimate carries what
was chosen, in a file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from bot.discord.card import Card, Field, Form, Option, PressButton, TextFile
from bot.discord.limit import CONTENT, FIELD_LABEL, FILE_BYTES, FORM_TITLE, OPTION_TEXT, OPTIONS, head, size
from bot.discord.render import plain
from bot.discord.reply import fitted
from bot.eval_act import Choices, Estimated, repeats_in
from bot.eval_outline import asked_line, estimate_lines, item_line
from bot.prompt_outline import version_title
from core.domain.errors import Refusal
from core.domain.eval_run import (
    MAX_COMMENT_CHARS,
    MOST_REPEATS,
    OPEN,
    USUAL_REPEATS,
    EvalItem,
    EvalQuestion,
    EvalRequest,
)
from core.domain.view import ButtonAction
from core.i18n import text

LIST: Final = "ev_list"
CHOOSE: Final = "ev_choose"
CHOSEN: Final = "ev_chosen"
BEGIN: Final = "ev_begin"
ACCEPT: Final = "ev_accept"
"""Begins one whose cases come from real threads, in the knowledge of where they go."""

FAILED: Final = "ev_failed"

FILE: Final = "evaluation.json"
ALL: Final = "-"
USUAL: Final = "-"
"""Stands in a menu for the usual choice."""

LINE: Final = 300
LISTED: Final = 10
FORM_FIELDS: Final = ("candidate", "baseline", "model", "other_model", "repeats")


# --- beginning ------------------------------------------------------------------------------------------------------


def choose_form(offered: Choices, locale: str) -> Form:
    """What to compare with what, under which model, and how often."""
    page = offered.page
    versions = [
        Option(label=head(version_title(one, locale), OPTION_TEXT), value=one.version_id)
        for one in page.versions[: OPTIONS - 1]
    ]
    models = [Option(label=head(m.alias, OPTION_TEXT), value=m.alias) for m in offered.models[: OPTIONS - 1]]
    live = text(locale, "chat_evals.live", version=page.item.version or "-")
    menus = (
        ("console.eval_candidate", versions, offered.candidate),
        ("console.eval_baseline", [_usual(live), *versions], USUAL),
        ("console.model", [_usual(text(locale, "chat_evals.usual_model")), *models], USUAL),
        ("console.eval_other_model", [_usual(text(locale, "console.eval_same_model")), *models], USUAL),
    )
    fields = [
        Field(
            name=name,
            label=head(text(locale, key), FIELD_LABEL),
            options=tuple(options),
            value=chosen if any(one.value == chosen for one in options) else options[0].value,
            required=True,
        )
        for name, (key, options, chosen) in zip(FORM_FIELDS, menus, strict=False)
    ]
    runs = f"{text(locale, 'console.eval_repeats')} (1–{MOST_REPEATS})"
    fields.append(
        Field(
            name=FORM_FIELDS[-1],
            label=head(runs, FIELD_LABEL),
            value=str(USUAL_REPEATS),
            required=True,
            max_chars=4,
        )
    )
    title = text(locale, "console.eval_confirm_title", name=page.item.name)
    return Form(title=head(title, FORM_TITLE), action=CHOSEN, ref=page.item.name, fields=tuple(fields))


def _usual(label: str) -> Option:
    return Option(label=head(label, OPTION_TEXT), value=USUAL)


def chosen(name: str, fields: Mapping[str, str], channel: str) -> EvalRequest:
    """What a form asks to compare. Raises Refusal for a number that is none."""
    picked = {each: "" if fields.get(each) == USUAL else fields.get(each, "") for each in FORM_FIELDS}
    return EvalRequest(
        prompt=name,
        candidate_id=picked["candidate"],
        baseline_id=picked["baseline"] or None,
        model=picked["model"],
        candidate_model=picked["other_model"],
        repeats=repeats_in(fields.get("repeats", "")),
        channel=channel,
    )


def estimate_card(found: Estimated, opening: str, locale: str) -> Card:
    """What it would do, cost and send where, before anything leaves. `opening` names the one that may be begun."""
    lines = estimate_lines(found.estimate, found.before, found.after, locale)
    lines = [plain(line, LINE) for line in lines]
    label, action = text(locale, "console.eval_start"), BEGIN
    if found.estimate.needs_acknowledgement:
        lines.insert(0, f"⚠️ {text(locale, 'console.eval_acknowledge')}")
        label, action = text(locale, "chat_evals.start_knowing"), ACCEPT
    title = plain(text(locale, "console.eval_confirm_title", name=found.request.prompt))
    button = PressButton(label=label, action=action, ref=opening, strong=True)
    content = head("\n".join((f"**{title}**", *lines)), CONTENT)
    return Card(content=content, buttons=(button,), file=document(found.request))


def document(request: EvalRequest) -> TextFile:
    """What was chosen, as `read_request` reads it back."""
    return TextFile(name=FILE, text=json.dumps(asdict(request), ensure_ascii=False, indent=2) + "\n")


def read_request(data: bytes) -> EvalRequest:
    """What `document` wrote, of this release; whether it was accepted is said by the button. Raises ValueError or
    TypeError."""
    return replace(EvalRequest(**json.loads(data)), acknowledged=False)


# --- those there are ------------------------------------------------------------------------------------------------


def list_card(name: str, items: Sequence[EvalItem], locale: str, sentence: str = "") -> Card:
    """The newest evaluations of a prompt, or of all, each with what can be done with it."""
    title = (
        text(locale, "console.evals_of", name=plain(name)) if name else text(locale, "chat_evals.list_title")
    )
    lines = [f"**{title}**", *([f"**{plain(sentence, LINE)}**"] if sentence else [])]
    shown = items[:LISTED]
    lines += [
        f"{number}. **{plain(one.prompt)}** · {plain(item_line(one, locale), LINE)}"
        for number, one in enumerate(shown, start=1)
    ]
    if not items:
        lines.append(text(locale, "chat_evals.none"))
    if not name:
        lines.append(f"-# {text(locale, 'chat_evals.choose')}")
    buttons = [_act(number, one, locale) for number, one in enumerate(shown, start=1)]
    if name:
        label = text(locale, "chat_evals.evaluate")
        buttons.append(PressButton(label=label, action=CHOOSE, ref=name, strong=True))
    return replace(fitted(lines, locale, file="evaluations.md"), buttons=tuple(buttons))


def _act(number: int, item: EvalItem, locale: str) -> PressButton:
    action = ButtonAction.EVAL_STOP if item.status in OPEN else ButtonAction.EVAL_REPORT
    label = f"{number}. {text(locale, f'button.{action.value}')}"
    return PressButton(label=label, action=action.value, ref=item.run_id)


# --- verdicts -------------------------------------------------------------------------------------------------------


def fail_form(ref: str, question: EvalQuestion, locale: str) -> Form:
    """What is wrong with an output."""
    label = text(locale, "chat_evals.fail_title")
    field = Field(
        name="comment",
        label=head(label, FIELD_LABEL),
        description=head(asked_line(question, locale), OPTION_TEXT),
        required=True,
        long=True,
        max_chars=MAX_COMMENT_CHARS,
    )
    return Form(title=head(label, FORM_TITLE), action=FAILED, ref=ref, fields=(field,))


def report_card(sentence: str, name: str, document: str, page: str) -> Card:
    """The whole comparison as a file. Raises Refusal for one that Discord does not take."""
    if size(document) * 3 > FILE_BYTES:
        raise Refusal("eval_report_large", page=page)
    return Card(content=sentence, file=TextFile(name=name, text=document))
