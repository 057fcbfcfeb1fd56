"""Forms of the page as plain arguments of commands. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from core.commands.say import Upload
from core.domain.errors import Refusal
from core.i18n import nearest

EVENT_KEY: Final = re.compile(r"[0-9a-fA-F-]{32,36}")
FILE_UNSAFE: Final = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]')
FILE_PLAIN: Final = re.compile(r"[^\w .()+-]", re.ASCII)
FILE_NAME_CHARS: Final = 80
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
CALL: Final = re.compile(r"(?<!\w)@promptflow(?![A-Za-z0-9_])", re.IGNORECASE)
CALL_AT_HEAD: Final = re.compile(CALL.pattern + r"[\s,:、，：]*", re.IGNORECASE)
LOCAL_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*")

COMMANDS: Final = (
    ("compare", True),
    ("debate", True),
    ("codraft", True),
    ("workflow", True),
    ("branch", True),
    ("retry", False),
    ("stop", False),
    ("input", False),
    ("rename", True),
    ("review", False),
    ("save", True),
    ("artifacts", False),
    ("pin", True),
    ("pins", False),
    ("handover", True),
    ("adopt", False),
    ("approve", False),
    ("reject", True),
    ("withdraw", False),
    ("adoptions", False),
    ("threads", False),
    ("prompts", False),
    ("models", False),
    ("usage", False),
    ("help", False),
)
"""Commands that the composer offers, and whether they take arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a person sent: fields as typed, files, and why it cannot be used, if it cannot."""

    fields: Mapping[str, str] = field(default_factory=dict)
    uploads: tuple[Upload, ...] = ()
    problem: Refusal | None = None
    refused: str = ""
    """Code of the refusal that it met."""

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The fields of a form as a template shows them again."""

    event_key: str = ""
    """Empty: the page makes a new one."""
    text: str = ""
    model: str = ""
    message: str = ""
    at: str = ""
    position: str = ""
    name: str = ""
    reason: str = ""
    title: str = ""
    ref: str = ""
    locale: str = ""
    count: str = ""
    focus: str = ""
    base: str = ""
    as_version: str = ""
    kind: str = ""
    centre: str = ""
    chosen: frozenset[str] = frozenset()
    """What was ticked among `pick.<id>`."""


def typed_again(form: Form, *, event_key: str) -> Typed:
    """What the form held, to be shown again under `event_key`."""
    known = set(Typed.__dataclass_fields__) - {"event_key", "chosen"}
    return Typed(event_key=event_key, chosen=picked(form), **{name: form[name] for name in known})


def picked(form: Form) -> frozenset[str]:
    """The ids that were ticked in a form."""
    return frozenset(name.removeprefix("pick.") for name in form.fields if name.startswith("pick."))


def count_of(value: str, name: str, *, least: int, most: int, default: int) -> int:
    """A whole number that a form holds; `default` for a blank one. Raises Refusal for anything else."""
    if not value.strip():
        return default
    if (number := position_of(value.strip())) is None:
        raise Refusal("setting_not_number", name=name, least=least, most=most)
    if not least <= number <= most:
        raise Refusal("setting_out_of_range", name=name, had=number, least=least, most=most)
    return number


def attachment(name: str, suffix: str) -> str:
    """The `Content-Disposition` that saves a file under a person's name for it, on any system.

    The name goes twice: in ASCII for old programs, and in full by RFC 6266. Names that Windows keeps for devices, and
    those that begin with a dot, get an underscore before them.
    """
    stem = FILE_UNSAFE.sub("_", name).strip(". ")[:FILE_NAME_CHARS] or "artifact"
    if RESERVED.fullmatch(stem.partition(".")[0]):
        stem = f"_{stem}"
    plain = FILE_PLAIN.sub("_", stem)
    return f"attachment; filename=\"{plain}.{suffix}\"; filename*=UTF-8''{quote(stem, safe='')}.{suffix}"


def event_key_of(form: Form) -> str:
    """The form's own identity, by which a resent form is known. Raises Refusal `form_stale` without one."""
    key = form["event_key"]
    if not EVENT_KEY.fullmatch(key):
        raise Refusal("form_stale")
    return key


def split_point(form: Form) -> tuple[str | None, str | None]:
    """Message id and position that a branch form asks for; both None for everything so far.

    The message that was chosen counts while its position stands as it was; a position that was changed wins over it.
    """
    message, position = form["message"].strip(), form["position"].strip()
    if message and position == form["at"].strip():
        return message, None
    return None, position or None


def accepted_language(header: str) -> str:
    """Our language for a browser's `Accept-Language`: its first choice, for a page that knows no person."""
    return nearest(header.split(",")[0].split(";")[0].strip())


def local_path(wanted: str) -> str:
    """A path on this server to go back to; the start page for anything that leads elsewhere."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else "/"


def mentions_other(text: str, me: str, names: Iterable[str]) -> bool:
    """Whether a message begins by mentioning another person of the console (`@Ben …`)."""
    return any(
        name != me and re.match(rf"@{re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
        for name in names
    )


def called(text: str) -> tuple[str, bool]:
    """A message without the `@promptflow` it begins with, and whether it calls the product anywhere."""
    head = CALL_AT_HEAD.match(text.lstrip())
    return (text.lstrip()[head.end() :], True) if head else (text, CALL.search(text) is not None)


def position_of(value: str) -> int | None:
    """A position in an address; None when there is none or it is no position."""
    return (
        int(value) if value.isascii() and value.isdigit() and 0 < len(value) <= 9 and int(value) > 0 else None
    )
