"""Forms of handovers and adoptions as what the core takes. Pure.

The fields of a handover are `carry.<field>`, items of a list `carry.<field>.<number>`; the start and the setup of the
target's mode go by the names of `opening`. A review's texts are `review.<name>`, its choices `choice.<artifact>` and
`new_name.<artifact>`.
"""

from collections.abc import Mapping
from typing import Final

from bot.console.opening import setup_of, wish_of
from bot.console.parse import Form, position_of
from core.commands.adoption import AdoptionRequest
from core.commands.handover import Sending
from core.domain.adoption import ReviewTexts
from core.domain.handover import JSON_NAMES, LISTS, Field, HandoverFields
from core.domain.thread import Mode
from core.domain.workflow import Workflow

SPARE_ROWS: Final = 2
"""Empty rows under the items of a list; sending or keeping the form brings new ones."""

TEXTS: Final = ("about", "concluded", "next_steps", "sources")


def fields_in(form: Mapping[str, str], source_mode: Mode) -> HandoverFields:
    """The structure that a form holds. Empty items are left out; what a cap allows is checked when it is sent."""
    texts = {field: form.get(f"carry.{field}", "").strip() for field in Field if field not in LISTS}
    return HandoverFields(
        source_mode=source_mode,
        summary=texts[Field.SUMMARY],
        background=texts[Field.BACKGROUND],
        first_request=texts[Field.FIRST_REQUEST],
        open_questions=_items(form, Field.OPEN_QUESTIONS),
        constraints=_items(form, Field.CONSTRAINTS),
        conclusions=_items(form, Field.CONCLUSIONS),
    )


def _items(form: Mapping[str, str], field: Field) -> tuple[str, ...]:
    start = f"carry.{field}."
    numbered = {
        number: text.strip()
        for name, text in form.items()
        if name.startswith(start) and (number := position_of(name.removeprefix(start))) is not None
    }
    return tuple(numbered[number] for number in sorted(numbered) if numbered[number])


def sending_of(
    handover_id: str, target: Mode, source_mode: Mode, form: Form, workflows: Mapping[str, Workflow]
) -> Sending:
    """What a form sends. Raises Refusal for a number that is none."""
    setup: dict[str, object] = {}
    if target is not Mode.CHAT:
        setup = setup_of(wish_of({**form.fields, "mode": target.value}))
    if target is Mode.WORKFLOW:
        chosen = workflows.get(form["workflow"])
        typed = setup.get("inputs")
        known = {one.name for one in chosen.inputs} if chosen else set()
        setup["inputs"] = {n: v for n, v in typed.items() if n in known} if isinstance(typed, dict) else {}
    return Sending(
        handover_id=handover_id,
        fields=fields_in(form.fields, source_mode).to_json(),
        start=form["text"],
        setup=setup,
        model=form["model"] or None,
        estimate_seen=bool(form["estimate_seen"]),
    )


def workflow_inputs(workflows: Mapping[str, Workflow]) -> tuple[tuple[str, Field], ...]:
    """The inputs that any workflow takes besides the request, each with the field that fills a blank one."""
    declared = {one.name for workflow in workflows.values() for one in workflow.inputs}
    return tuple(
        (name, field)
        for field, name in JSON_NAMES.items()
        if name in declared and field is not Field.FIRST_REQUEST
    )


def request_of(branch_id: str, form: Form) -> AdoptionRequest:
    """The request that a review's form asks for."""
    artifacts = [name.removeprefix("artifact.") for name in form.fields if name.startswith("artifact.")]
    choices: dict[str, dict[str, object]] = {
        one: {"choice": form[f"choice.{one}"], "new_name": form[f"new_name.{one}"]} for one in artifacts
    }
    return AdoptionRequest(
        branch_id=branch_id,
        reason=form["reason"],
        texts=texts_in(form.fields).to_json(),
        choices=choices,
    )


def texts_in(form: Mapping[str, str]) -> ReviewTexts:
    """A review's texts as a form holds them."""
    return ReviewTexts(**{name: form.get(f"review.{name}", "") for name in TEXTS})
