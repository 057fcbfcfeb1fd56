"""The form in which a mode is started: its fields, the setup that they mean, and the estimate above them. Pure.

Everything stands in the form itself, so that it goes on in whichever process answers next. The estimate is shown above
the same fields; what was changed under an estimate is estimated anew before it can start.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.block import (
    SECTION,
    Block,
    checkbox,
    context,
    divider,
    field,
    literal,
    modal,
    multi_select,
    option,
    section,
    select,
    text_input,
)
from bot.slack.markdown import escape, fit, one_line
from bot.slack.parse import LISTED
from bot.slack.render import SlackMessage
from core import i18n
from core.domain import codraft, compare, debate
from core.domain.errors import Refusal
from core.domain.setup import LETTERS
from core.domain.thread import Mode
from core.domain.view import EstimateView
from core.domain.workflow import Workflow

START: Final = "form.start"

TEXT: Final = "text"
MODELS: Final = "models"
BLIND: Final = "blind"
BACKGROUND: Final = "background"
MODERATOR: Final = "moderator"
ROUNDS: Final = "rebuttal_rounds"
PASSES: Final = "passes"
WORKFLOW: Final = "workflow"
FIRST_REQUEST: Final = "firstRequest"
"""The input of a Workflow that stands in `TEXT`, as every mode's question does."""

FIELD_CHARS: Final = 3_000
"""What one field of a form of Slack's can hold."""

TIMES: Final = 2
"""How often every model is offered; the same one twice is allowed."""

MOST: Final = {
    Mode.COMPARE: compare.MOST_MODELS,
    Mode.DEBATE: debate.MOST_PARTICIPANTS,
    Mode.CODRAFT: codraft.MOST_MODELS,
    Mode.WORKFLOW: 6,
}
ABOUT_MODELS: Final = frozenset(
    {
        "compare_model_count",
        "codraft_model_count",
        "workflow_model_count",
        "debate_participant_count",
        "unknown_model",
    }
)
"""Refusals that are said at the models; the others at the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A thread that a person is about to start: where, in which mode, and the form as it is filled in."""

    id: str
    """Made when the form opened; one thread comes of it, however often it is sent."""
    mode: Mode
    channel: str
    values: Mapping[str, str]
    """By field; models as `take` writes them."""
    seen: str = ""
    """Digest of what the estimate was made for; empty before one was."""

    @property
    def text(self) -> str:
        return self.values.get(TEXT, "").strip()

    @property
    def digest(self) -> str:
        filled = {name: value for name, value in self.values.items() if value}
        return digest(json.dumps([self.mode.value, filled], sort_keys=True))

    def dump(self) -> str:
        return json.dumps({"i": self.id, "m": self.mode.value, "c": self.channel, "d": self.seen})


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def wish(metadata: str, values: Mapping[str, str]) -> Wish:
    """What a form that came back asks for. Raises Refusal for one that is not ours."""
    try:
        found = json.loads(metadata)
        mode = Mode(found["m"])
        return Wish(
            id=str(found["i"]), mode=mode, channel=str(found["c"]), seen=str(found["d"]), values=values
        )
    except (ValueError, KeyError, TypeError):
        raise Refusal("slack_form_old") from None


# --- values ----------------------------------------------------------------------------------------------------------


def take(models: Sequence[str]) -> str:
    """Models as the field holds them; which time a model is taken stands before it."""
    return LISTED.join(f"{models[: at + 1].count(alias)}:{alias}" for at, alias in enumerate(models))


def taken(values: Mapping[str, str]) -> list[str]:
    """The models that the field holds, in the order in which they were chosen."""
    return [one.partition(":")[2] for one in values.get(MODELS, "").split(LISTED) if one]


def usual_values(mode: Mode, setup: Mapping[str, Any], text: str) -> dict[str, str]:
    """What the fields begin with."""
    values = {TEXT: text}
    if mode is Mode.DEBATE:
        values[MODELS] = take([one["model"] for one in setup["participants"]])
        values[MODERATOR] = setup["moderator"]
        values[ROUNDS] = str(setup["rebuttal_rounds"])
    else:
        values[MODELS] = take(setup["models"])
    if mode is Mode.CODRAFT:
        values[PASSES] = str(setup["passes"])
    return values


def setup_of(asked: Wish) -> dict[str, object]:
    """What the core is given; the text goes apart. Raises Refusal."""
    values = asked.values
    models = taken(values)
    match asked.mode:
        case Mode.COMPARE:
            return {"models": models, "blind": bool(values.get(BLIND))}
        case Mode.DEBATE:
            return {
                "background": values.get(BACKGROUND, ""),
                "participants": [{"model": alias} for alias in models],
                "moderator": values.get(MODERATOR, ""),
                "rebuttal_rounds": _number(values, ROUNDS),
            }
        case Mode.CODRAFT:
            return {"models": models, "passes": _number(values, PASSES)}
        case _:
            name = values.get(WORKFLOW, "")
            start = _input(name, "")
            inputs = {
                field_name.removeprefix(start): value
                for field_name, value in values.items()
                if field_name.startswith(start) and value.strip()
            }
            return {"workflow": name, "inputs": inputs, "models": models}


def _number(values: Mapping[str, str], name: str) -> int:
    try:
        return int(values.get(name, ""))
    except ValueError:
        raise Refusal("slack_form_old") from None


def _input(workflow: str, name: str) -> str:
    return f"input.{workflow}.{name}"


def blamed(values: Mapping[str, str], problem: BaseException) -> str:
    """The field at which a problem is said."""
    about_models = isinstance(problem, Refusal) and problem.code in ABOUT_MODELS and MODELS in values
    return MODELS if about_models else TEXT


# --- the form --------------------------------------------------------------------------------------------------------


def start_form(
    locale: str,
    asked: Wish,
    *,
    models: Sequence[str],
    workflows: Mapping[str, Workflow],
    estimate: EstimateView | None = None,
) -> dict[str, Any]:
    """The form as it is filled in, with the estimate above it where one was made."""
    blocks: list[dict[str, Any]] = []
    if estimate is None:
        blocks.append(section(escape(_t(locale, f"{asked.mode.value}_means"))))
    else:
        blocks += [*estimate_blocks(locale, asked.mode, setup_of(asked), estimate), divider()]
    blocks += mode_fields(locale, asked, models, workflows)
    return modal(
        title=_t(locale, asked.mode.value),
        callback=START,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=_t(locale, "start" if estimate else "to_estimate"),
        metadata=asked.dump(),
    )


def mode_fields(
    locale: str,
    asked: Wish,
    models: Sequence[str],
    workflows: Mapping[str, Workflow],
    *,
    starts: bool = True,
) -> list[dict[str, Any]]:
    """The question or topic and the settings of a mode.

    For a thread that may wait for its start (`starts` false) nothing but the settings is required.
    """
    values, mode = asked.values, asked.mode
    text = text_input(
        TEXT,
        _text_label(locale, asked, workflows),
        limit=FIELD_CHARS,
        optional=not starts,
        value=values.get(TEXT, ""),
        hint="" if starts else i18n.text(locale, "slack_carry.start_hint"),
        lines=True,
    )
    if mode is Mode.CHAT:
        return [text]
    menu = multi_select(
        MODELS,
        _offered(locale, models, values),
        placeholder=_t(locale, "models_choose"),
        chosen=values.get(MODELS, "").split(LISTED),
        most=MOST[mode],
    )
    chosen = field(
        MODELS, _t(locale, "models"), menu, optional=False, hint=_t(locale, f"models_{mode.value}")
    )
    match mode:
        case Mode.COMPARE:
            return [text, chosen, _blind(locale, values)]
        case Mode.DEBATE:
            return [text, chosen, *_debate(locale, values, models)]
        case Mode.CODRAFT:
            return [
                text,
                chosen,
                _count(locale, PASSES, values, codraft.LEAST_PASSES, codraft.MOST_PASSES),
            ]
        case _:
            return [
                _workflows(locale, values, workflows),
                text,
                *_inputs(locale, values, workflows, starts=starts),
                chosen,
            ]


def _text_label(locale: str, asked: Wish, workflows: Mapping[str, Workflow]) -> str:
    if asked.mode is Mode.CHAT:
        return i18n.text(locale, "slack_carry.next_question")
    workflow = workflows.get(asked.values.get(WORKFLOW, ""))
    if asked.mode is Mode.WORKFLOW and workflow is not None:
        for one in workflow.inputs:
            if one.name == FIRST_REQUEST:
                return one.title.in_locale(locale)
    return _t(locale, f"text_{asked.mode.value}")


def _offered(locale: str, models: Sequence[str], values: Mapping[str, str]) -> list[dict[str, Any]]:
    chosen = taken(values)
    times = max([TIMES, *(chosen.count(alias) for alias in chosen)])
    return [
        option(alias if time == 1 else _t(locale, "once_more", model=alias, time=time), f"{time}:{alias}")
        for time in range(1, times + 1)
        for alias in models
    ]


def _blind(locale: str, values: Mapping[str, str]) -> dict[str, Any]:
    box = checkbox(BLIND, _t(locale, "blind_means"), "on", on=bool(values.get(BLIND)))
    return field(BLIND, _t(locale, "blind"), box, optional=True)


def _debate(locale: str, values: Mapping[str, str], models: Sequence[str]) -> list[dict[str, Any]]:
    menu = select(
        MODERATOR,
        [option(alias, alias) for alias in models],
        placeholder=i18n.text(locale, "slack.other_choose"),
        chosen=values.get(MODERATOR, ""),
    )
    return [
        field(MODERATOR, _t(locale, "moderator"), menu, optional=False),
        _count(locale, ROUNDS, values, debate.LEAST_REBUTTALS, debate.MOST_REBUTTALS),
        text_input(
            BACKGROUND,
            _t(locale, "background"),
            limit=FIELD_CHARS,
            optional=True,
            value=values.get(BACKGROUND, ""),
            lines=True,
        ),
    ]


def _count(locale: str, name: str, values: Mapping[str, str], least: int, most: int) -> dict[str, Any]:
    options = [option(str(number), str(number)) for number in range(least, most + 1)]
    label = _t(locale, name)
    menu = select(name, options, placeholder=label, chosen=values.get(name, str(least)))
    return field(name, label, menu, optional=False)


def _workflows(locale: str, values: Mapping[str, str], workflows: Mapping[str, Workflow]) -> dict[str, Any]:
    label = _t(locale, "which_workflow")
    menu = select(
        WORKFLOW,
        [
            option(one.title.in_locale(locale), name, one.description.in_locale(locale))
            for name, one in workflows.items()
        ],
        placeholder=label,
        chosen=values.get(WORKFLOW, ""),
    )
    return field(WORKFLOW, label, menu, optional=False, reports=True)


def _inputs(
    locale: str, values: Mapping[str, str], workflows: Mapping[str, Workflow], *, starts: bool
) -> list[dict[str, Any]]:
    """What the chosen workflow can be given besides; the ids change with it, since Slack keeps what stays."""
    workflow = workflows.get(values.get(WORKFLOW, ""))
    if workflow is None:
        return []
    return [
        text_input(
            name := _input(workflow.name, one.name),
            one.title.in_locale(locale),
            limit=FIELD_CHARS,
            optional=not (one.required and starts),
            hint="" if starts else i18n.text(locale, "slack_carry.input_hint"),
            value=values.get(name, ""),
            lines=True,
        )
        for one in workflow.inputs
        if one.name != FIRST_REQUEST
    ]


# --- the estimate ----------------------------------------------------------------------------------------------------


def estimate_blocks(
    locale: str, mode: Mode, setup: Mapping[str, Any], view: EstimateView, *, then: str = ""
) -> list[dict[str, Any]]:
    """What a start is expected to cost, in what order, and what people should know before it.

    `then` says what happens next; without one it is a start in a channel.
    """
    return estimate_shown(locale, _t(locale, mode.value), _order(locale, mode, setup), view, then=then)


def estimate_shown(
    locale: str, name: str, order: str, view: EstimateView, *, then: str = ""
) -> list[dict[str, Any]]:
    """The same for whatever `name` calls, with who takes part in `order`."""
    means = _t(
        locale,
        "estimate",
        calls=view.calls,
        input=f"{view.input_tokens:,}",
        output=f"{view.output_tokens:,}",
        cost=i18n.money(view.cost_usd),
    )
    title = _t(locale, "estimate_title", mode=name)
    notes = [i18n.phrase(locale, note) for note in view.notes]
    if view.unpriced:
        notes.append(_t(locale, "unpriced", models=", ".join(view.unpriced)))
    small = [*([order] if order else []), *notes, then or _t(locale, "nothing_yet")]
    return [
        section(f"*{escape(title)}*\n{escape(means)}"),
        context(*(escape(one_line(line, 500)) for line in small)),
    ]


def _order(locale: str, mode: Mode, setup: Mapping[str, Any]) -> str:
    """Who takes part, in the order that counts."""
    if mode is Mode.DEBATE:
        seats = zip(LETTERS, debate.DEFAULT_ROLES, setup.get("participants", ()), strict=False)
        named = [
            f"{letter} {one['model']} ({i18n.text(locale, 'debate_role.' + (one.get('role') or role.value))})"
            for letter, role, one in seats
        ]
    else:
        named = list(setup.get("models", ()))
    return _t(locale, "order", models=", ".join(named)) if named else ""


def question_message(locale: str, asked: Wish, name: str, workflows: Mapping[str, Workflow]) -> SlackMessage:
    """The message with which a thread begins: who asks, in which mode, and the question as it was typed."""
    mode = _t(locale, asked.mode.value)
    workflow = workflows.get(asked.values.get(WORKFLOW, ""))
    if workflow is not None:
        mode = f"{mode}: {workflow.title.in_locale(locale)}"
    head = escape(_t(locale, "asks", person=one_line(name, 80), mode=mode))
    blocks: list[Block] = [context(head), *_whole(asked.text)]
    more = [(_t(locale, "background"), asked.values.get(BACKGROUND, "").strip())]
    for one in workflow.inputs if workflow else ():
        value = asked.values.get(_input(workflow.name if workflow else "", one.name), "").strip()
        more.append((one.title.in_locale(locale), value))
    for label, value in more:
        if value:
            blocks += [context(f"*{escape(label)}*"), *_whole(value)]
    return SlackMessage(blocks=tuple(blocks), text=f"{head} {escape(one_line(asked.text, 300))}")


def _whole(text: str) -> Iterator[Block]:
    """A text exactly as it was typed, in as many paragraphs as its size asks for."""
    while text:
        end = fit(text, SECTION)
        yield literal(text[:end])
        text = text[end:]


def _t(locale: str, name: str, **fields: str | float) -> str:
    return i18n.text(locale, f"slack_modes.{name}", **fields)
