"""The files of an eval set as a form holds them: typed into fields `file.<path>`, or chosen. Not on the event loop."""

from collections.abc import Mapping
from typing import Final

from bot.console.parse import Form
from bot.console.prompt_zip import files_in
from core.commands.eval_set import SET_FILE
from core.domain.errors import Refusal

FIELD: Final = "file."
FIRST_CASES: Final = "cases/cases.yaml"

STARTED: Final[Mapping[str, str]] = {
    SET_FILE: "id: team-\nversion: 1\nprompts: []\ndefaults: []\n",
    FIRST_CASES: (
        "- id: first-case\n  kind: typical\n  origin: synthetic\n  inputs: {}\n"
        "  checks:\n    - {contains_all: []}\n"
    ),
}
"""What the form of a new set begins with."""


def typed_files(form: Form) -> dict[str, str]:
    """What stands in the fields of a form, by path."""
    fields = {name.removeprefix(FIELD): text for name, text in form.fields.items() if name.startswith(FIELD)}
    return {path: text for path, text in fields.items() if text.strip()}


def chosen_files(form: Form) -> dict[str, bytes]:
    """What a form brings by path: chosen files, each in the place of a typed one of its name. Raises Refusal."""
    found = {path: text.encode() for path, text in typed_files(form).items()}
    chosen: dict[str, bytes] = {}
    for upload in form.uploads:
        for path, data in files_in(upload):
            name = path.replace("\\", "/").rpartition("/")[2]
            place = name if name == SET_FILE else f"cases/{name}"
            if not name.endswith(".yaml") or place in chosen:
                raise Refusal("eval_set_upload", name=path[:100])
            chosen[place] = data
    # A chosen set is whole; what the form began with is not among its cases.
    return chosen if SET_FILE in chosen else {**found, **chosen}


def shown_files(form: Form) -> dict[str, str]:
    """What a form that was refused shows again, chosen files included."""
    try:
        return {path: data.decode("utf-8", "replace") for path, data in chosen_files(form).items()}
    except Refusal:
        return typed_files(form)
