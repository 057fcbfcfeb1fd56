"""Evaluations as forms of Slack: what to compare, what it would cost, which there are, and what is wrong. Pure."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from bot.eval_act import Choices, Estimated
from bot.eval_outline import asked_line, estimate_lines, item_line
from bot.prompt_outline import version_title
from bot.slack.block import (
    OPTIONS,
    Block,
    actions,
    button,
    checkbox,
    context,
    conversations,
    field,
    modal,
    option,
    section,
    select,
    text_input,
)
from bot.slack.form import View
from bot.slack.markdown import escape, one_line
from bot.slack.render import SlackMessage
from core import i18n
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

EVAL: Final = "eval."
"""What the ids of buttons around evaluations begin with."""

CHOOSE: Final = f"{EVAL}choose"
LIST: Final = f"{EVAL}list"
STOP: Final = f"{EVAL}stop"
REPORT: Final = f"{EVAL}report"

LIST_FORM: Final = "form.evals"
CHOOSE_FORM: Final = "form.eval_choose"
CONFIRM_FORM: Final = "form.eval_confirm"
FAIL_FORM: Final = "form.eval_fail"
EVAL_TITLE: Final = "chat_evals.form_title"
FAIL_TITLE: Final = "chat_evals.fail_title"
SENT_EVALS: Final = {CHOOSE_FORM: EVAL_TITLE, CONFIRM_FORM: EVAL_TITLE, FAIL_FORM: FAIL_TITLE}
"""Forms of evaluations that can be sent, and their titles."""

CANDIDATE: Final = "candidate"
BASELINE: Final = "baseline"
MODEL: Final = "model"
OTHER_MODEL: Final = "other_model"
REPEATS: Final = "repeats"
CHANNEL: Final = "channel"
ACKNOWLEDGED: Final = "acknowledged"
COMMENT: Final = "comment"
NONE: Final = "-"
"""Stands in a menu for the usual choice."""

_BLAMED: Final = {
    "eval_number": REPEATS,
    "eval_channel_unseen": CHANNEL,
    "slack_not_in_channel": CHANNEL,
    "slack_channel_archived": CHANNEL,
    "eval_two_changes": OTHER_MODEL,
    "unknown_model": MODEL,
    "no_model": MODEL,
    "eval_nothing_live": BASELINE,
}

LISTED: Final = 30
LINE: Final = 500
LINES: Final = 2_800


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a form of an evaluation carries along: ids only."""

    name: str = ""
    candidate: str = ""
    baseline: str = ""
    model: str = ""
    other_model: str = ""
    repeats: int = USUAL_REPEATS
    channel: str = ""
    ref: str = ""
    """The question that is judged."""
    key: str = ""
    """Names the one thing that may come of the form."""

    def dump(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value})

    def request(self, *, acknowledged: bool = False) -> EvalRequest:
        return EvalRequest(
            prompt=self.name,
            candidate_id=self.candidate,
            baseline_id=self.baseline or None,
            model=self.model,
            candidate_model=self.other_model,
            repeats=self.repeats,
            acknowledged=acknowledged,
            channel=self.channel,
        )


def trial(metadata: str) -> Trial:
    """What a form that came back is about. Raises Refusal for one that is not ours."""
    try:
        return Trial(**json.loads(metadata or "{}"))
    except (ValueError, TypeError):
        raise Refusal("eval_form_old") from None


def _t(locale: str, name: str, /, **fields: str | float) -> str:
    return i18n.text(locale, f"chat_evals.{name}", **fields)


def _c(locale: str, name: str, /, **fields: str | float) -> str:
    return i18n.text(locale, f"console.{name}", **fields)


def _view(
    locale: str,
    about: Trial,
    blocks: Sequence[Block],
    *,
    callback: str,
    submit: str = "",
    title: str = EVAL_TITLE,
) -> View:
    return modal(
        title=i18n.text(locale, title),
        callback=callback,
        blocks=[dict(block) for block in blocks],
        close=i18n.text(locale, "slack.close"),
        submit=submit,
        metadata=about.dump(),
    )


def eval_message(locale: str, name: str) -> SlackMessage:
    """What is told in a thread to whoever asks for an evaluation: the button that opens its form."""
    title = _c(locale, "eval_confirm_title", name=name) if name else _t(locale, "list_title")
    opens = button(_t(locale, "evaluate"), CHOOSE, name) if name else button(_t(locale, "look"), LIST, NONE)
    return SlackMessage(blocks=(section(f"*{escape(title)}*", accessory=opens),), text=escape(title))


# --- beginning ------------------------------------------------------------------------------------------------------


def choose_form(locale: str, about: Trial, offered: Choices) -> View:
    """What to compare with what, under which model, how often, and which channel is told."""
    page = offered.page
    versions = [option(version_title(one, locale), one.version_id) for one in page.versions[: OPTIONS - 1]]
    live = option(_t(locale, "live", version=page.item.version or "-"), NONE)
    models = [option(one.alias, one.alias) for one in offered.models[: OPTIONS - 1]]
    usual, same = option(_t(locale, "usual_model"), NONE), option(_c(locale, "eval_same_model"), NONE)
    menus = (
        (CANDIDATE, _c(locale, "eval_candidate"), versions, about.candidate or offered.candidate),
        (BASELINE, _c(locale, "eval_baseline"), [live, *versions], about.baseline or NONE),
        (MODEL, i18n.text(locale, "console.model"), [usual, *models], about.model or NONE),
        (OTHER_MODEL, _c(locale, "eval_other_model"), [same, *models], about.other_model or NONE),
    )
    blocks: list[Block] = [
        section(f"*{escape(page.item.name)}*\n{escape(_c(locale, 'evals_mean'))}"),
        context(escape(_t(locale, "models_mean"))),
    ]
    blocks += [
        field(block, label, select(block, options, placeholder=label, chosen=chosen), optional=False)
        for block, label, options, chosen in menus
    ]
    runs = _c(locale, "eval_repeats")
    blocks.append(
        text_input(REPEATS, f"{runs} (1–{MOST_REPEATS})", limit=4, optional=False, value=str(about.repeats))
    )
    told = _t(locale, "told_in")
    blocks.append(
        field(CHANNEL, told, conversations(CHANNEL, placeholder=told, chosen=about.channel), optional=False)
    )
    wanted = Trial(name=page.item.name)
    return _view(locale, wanted, blocks, callback=CHOOSE_FORM, submit=_t(locale, "see_cost"))


def confirm_form(locale: str, about: Trial, found: Estimated) -> View:
    """What it would cost and where the cases go, before anything leaves."""
    blocks: list[Block] = [
        section(f"*{escape(_c(locale, 'eval_confirm_title', name=about.name))}*"),
        _lines(estimate_lines(found.estimate, found.before, found.after, locale)),
    ]
    if found.estimate.needs_acknowledgement:
        label = _c(locale, "eval_acknowledge")
        box = checkbox(ACKNOWLEDGED, _t(locale, "acknowledge_short"), ACKNOWLEDGED, on=False)
        blocks.append(field(ACKNOWLEDGED, label, box, optional=False))
    return _view(locale, about, blocks, callback=CONFIRM_FORM, submit=_c(locale, "eval_start"))


def _lines(lines: Sequence[str]) -> dict[str, Any]:
    """Several lines as one inert paragraph."""
    held: list[str] = []
    left = LINES
    for line in lines:
        safe = escape(one_line(line, LINE))
        left -= len(safe) + 1
        if left < 0:
            held.append("…")
            break
        held.append(safe)
    return section("\n".join(held))


def blamed(problem: BaseException) -> str:
    """The block of the form that chooses at which a refusal is said."""
    code = problem.code if isinstance(problem, Refusal) else ""
    return _BLAMED.get(code, CANDIDATE)


# --- those there are ------------------------------------------------------------------------------------------------


def list_form(locale: str, about: Trial, items: Sequence[EvalItem], sentence: str = "") -> View:
    """The newest evaluations, each with what can be done with it."""
    title = _c(locale, "evals_of", name=about.name) if about.name else _t(locale, "list_title")
    blocks: list[Block] = [section(f"*{escape(title)}*")]
    if sentence:
        blocks.append(_lines([sentence]))
    for item in items[:LISTED]:
        going_on = item.status in OPEN
        act = button(_c(locale, "eval_stop"), STOP, item.run_id, style="danger")
        if not going_on:
            act = button(i18n.text(locale, "button.eval_report"), REPORT, item.run_id)
        line = f"*{escape(item.prompt)}*\n{escape(one_line(item_line(item, locale), LINE))}"
        blocks.append(section(line, accessory=act))
    if not items:
        blocks.append(section(escape(_t(locale, "none"))))
    if len(items) > LISTED:
        blocks.append(context(escape(_t(locale, "more"))))
    if about.name:
        start = button(_t(locale, "evaluate"), CHOOSE, about.name, style="primary")
        blocks.append(actions("evals", [start]))
    else:
        blocks.append(context(escape(_t(locale, "choose"))))
    return _view(locale, about, blocks, callback=LIST_FORM)


# --- verdicts -------------------------------------------------------------------------------------------------------


def fail_form(locale: str, about: Trial, question: EvalQuestion) -> View:
    """What is wrong with an output."""
    label = _c(locale, "eval_comment", limit=MAX_COMMENT_CHARS)
    blocks = [
        section(escape(one_line(asked_line(question, locale), LINE))),
        text_input(COMMENT, label, limit=MAX_COMMENT_CHARS, optional=False, lines=True),
    ]
    submit = _t(locale, "fail_submit")
    return _view(locale, about, blocks, callback=FAIL_FORM, submit=submit, title=FAIL_TITLE)
