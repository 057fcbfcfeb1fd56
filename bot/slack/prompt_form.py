"""Prompts as forms and cards of Slack: lists, texts, versions, and what is asked before something is done. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from bot.prompt_act import MOVES, Drafted, Seen, first_words, move_means, move_title, reason_label
from bot.prompt_outline import (
    PARTS,
    RELOAD,
    STATUS,
    check_lines,
    edit_page,
    event_line,
    item_facts,
    overtaken,
    page_lines,
    part_title,
    status_lines,
    steps,
    version_lines,
    version_title,
)
from bot.slack.adoption_form import unified
from bot.slack.block import (
    OPTIONS,
    Block,
    actions,
    button,
    context,
    field,
    literal,
    modal,
    option,
    section,
    select,
    text_input,
)
from bot.slack.box import BOX
from bot.slack.eval_form import CHOOSE as EVALUATE
from bot.slack.eval_form import LIST as EVALS
from bot.slack.form import View
from bot.slack.markdown import escape, fit, one_line, units
from bot.slack.parse import SEPARATOR
from bot.slack.render import SlackMessage
from core import i18n
from core.domain.artifact import diff
from core.domain.errors import Refusal
from core.domain.prompt import (
    MAX_REASON_CHARS,
    PartChange,
    PromptDraftView,
    PromptEventView,
    PromptItem,
    PromptPage,
    PromptStatus,
    PromptText,
    PromptVersionView,
)

PROMPT: Final = "prompt."
"""What the ids of buttons around prompts begin with."""

OPEN: Final = f"{PROMPT}open"
LIST: Final = f"{PROMPT}list"
SHOW_STATUS: Final = f"{PROMPT}{STATUS}"
DO_RELOAD: Final = f"{PROMPT}{RELOAD}"
EDIT: Final = f"{PROMPT}edit"
DRAFT: Final = f"{PROMPT}draft"
DROP: Final = f"{PROMPT}drop"
JOIN: Final = f"{PROMPT}join"
HISTORY: Final = f"{PROMPT}history"
VERSION: Final = f"{PROMPT}version"
TEXT_FILE: Final = f"{PROMPT}text_file"
HISTORY_FILE: Final = f"{PROMPT}history_file"
DRAFT_FILE: Final = f"{PROMPT}draft_file"
MOVE: Final = {kind: f"{PROMPT}{kind}" for kind in MOVES}

PAGE_FORM: Final = "form.prompt"
EDIT_FORM: Final = "form.prompt_edit"
SAVE_FORM: Final = "form.prompt_save"
MOVE_FORM: Final = "form.prompt_move"
PROMPT_VIEWS: Final = frozenset({PAGE_FORM, EDIT_FORM, SAVE_FORM, MOVE_FORM})
PROMPT_TITLE: Final = "chat_prompts.title"
SENT_PROMPTS: Final = dict.fromkeys((EDIT_FORM, SAVE_FORM, MOVE_FORM), PROMPT_TITLE)
"""Forms of prompts that can be sent, and their title."""

TEXT: Final = "text"
REASON: Final = "reason"
STEP: Final = "version"

LISTED: Final = 40
LINE: Final = 200
SHOWN: Final = 1_500
"""Units of a part that its page shows; the file holds all of it."""

DIFF: Final = 2_600
SHOWN_EVENTS: Final = 30
LINES: Final = 2_800
"""Units of several lines that stand in one paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """What a form of a prompt is about, and what it needs to be drawn again: ids only."""

    name: str = ""
    version: str = ""
    part: str = ""
    base: str = ""
    head: str = ""
    rev: int = 0
    move: str = ""
    ack: bool = False
    override: bool = False
    key: str = ""
    """Names the one change that may come of the form."""

    def block(self, name: str) -> str:
        """The id of a field. Another form has others: Slack keeps what was typed in a block that stays."""
        return f"{name}:{self.key}"

    def dump(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value})


def leaf(metadata: str) -> Leaf:
    """What a form that came back is about. Raises Refusal for one that is not ours."""
    try:
        return Leaf(**json.loads(metadata or "{}"))
    except (ValueError, TypeError):
        raise Refusal("slack_form_old") from None


def _t(locale: str, name: str, /, **fields: str | float) -> str:
    return i18n.text(locale, f"chat_prompts.{name}", **fields)


def _c(locale: str, name: str, /, **fields: str | float) -> str:
    return i18n.text(locale, f"console.{name}", **fields)


def _lines(lines: Iterable[str]) -> dict[str, Any]:
    """Several lines as one inert paragraph."""
    held: list[str] = []
    left = LINES
    for line in lines:
        safe = escape(one_line(line, 900))
        left -= len(safe) + 1
        if left < 0:
            held.append("…")
            break
        held.append(safe)
    return section("\n".join(held))


def _view(
    locale: str, about: Leaf, blocks: Sequence[Block], *, callback: str = PAGE_FORM, submit: str = ""
) -> View:
    return modal(
        title=i18n.text(locale, PROMPT_TITLE),
        callback=callback,
        blocks=[dict(block) for block in blocks],
        close=i18n.text(locale, "slack.close"),
        submit=submit,
        metadata=about.dump(),
    )


def _back(locale: str, name: str) -> dict[str, Any]:
    return button(_t(locale, "back"), OPEN, name) if name else button(_t(locale, "all"), LIST, LIST)


def said(locale: str, about: Leaf, sentence: str, *, file: bool = False) -> View:
    """How something went, with a way back to the prompt."""
    wanted = [_back(locale, about.name)]
    if file:
        wanted.append(button(_t(locale, "as_file"), TEXT_FILE, about.version or about.name))
    return _view(locale, Leaf(name=about.name), [_lines(sentence.splitlines()), actions("prompt", wanted)])


# --- the list -------------------------------------------------------------------------------------------------------


def prompts_message(locale: str, items: Sequence[PromptItem], *, key: str) -> SlackMessage:
    """Every prompt with a button that opens it. `key` names the one reload that may come of the card."""
    blocks: list[Block] = [
        section(f"*{escape(_c(locale, 'prompts'))}*\n{escape(_c(locale, 'prompts_mean'))}")
    ]
    for item in items[:LISTED]:
        line = f"*{escape(item.name)}*\n{escape(one_line(item_facts(item, locale), LINE))}"
        blocks.append(section(line, accessory=button(_t(locale, "open"), OPEN, item.name)))
    if len(items) > LISTED:
        blocks.append(context(escape(_t(locale, "more", count=len(items) - LISTED))))
    processes = button(_c(locale, "prompt_processes"), SHOW_STATUS, STATUS)
    reload = button(_c(locale, "prompts_reload"), DO_RELOAD, key)
    return SlackMessage(
        blocks=(*blocks, actions("prompts", [processes, reload])), text=escape(_c(locale, "prompts"))
    )


def item_message(locale: str, item: PromptItem) -> SlackMessage:
    """One prompt in a thread, with the button that opens it."""
    line = f"*{escape(item.name)}*\n{escape(one_line(item_facts(item, locale), LINE))}"
    return SlackMessage(
        blocks=(section(line, accessory=button(_t(locale, "open"), OPEN, item.name)),), text=escape(item.name)
    )


def status_message(locale: str, status: PromptStatus, first: str = "") -> SlackMessage:
    """Which process has loaded what."""
    title = first or _c(locale, "prompt_processes")
    return SlackMessage(blocks=(_lines([title, *status_lines(status, locale)]),), text=escape(title))


def in_form(locale: str, message: SlackMessage, *, back: bool = False) -> View:
    """A card in a form, for whoever asked by a command or from another form."""
    way = [actions("way", [_back(locale, "")])] if back else []
    return _view(locale, Leaf(), [*message.blocks, *way])


# --- one prompt -----------------------------------------------------------------------------------------------------


def page_form(locale: str, page: PromptPage, sentence: str = "") -> View:
    """A prompt: how it stands, its parts, its versions and what can be done."""
    name = page.item.name
    blocks: list[Block] = [section(f"*{escape(name)}*")]
    if sentence:
        blocks.append(_lines(sentence.splitlines()))
    blocks.append(_lines(page_lines(page, locale)))
    if page.draft is not None:
        stale = [_c(locale, "prompt_draft_stale")] if overtaken(page) else []
        blocks.append(
            section(
                escape(
                    " ".join((_t(locale, "draft_of", at=f"{page.draft.updated_at:%Y-%m-%d %H:%M}"), *stale))
                ),
                accessory=button(_t(locale, "draft_see"), DRAFT, name),
            )
        )
    for file in (part for part in PARTS if part in page.files):
        blocks += _part(locale, file, page.files[file], can_edit=page.can_edit)
    blocks += _versions(locale, page)
    wanted = [
        button(_c(locale, "prompt_history"), HISTORY, name),
        button(_t(locale, "as_file"), TEXT_FILE, name),
        *([button(_c(locale, "evals"), EVALS, name)] if page.item.eval_set else []),
        _back(locale, ""),
    ]
    return _view(locale, Leaf(name=name), [*blocks, actions("prompt", wanted)])


def _part(locale: str, file: str, text: str, *, can_edit: bool) -> list[Block]:
    title = f"*{escape(part_title(file, locale))}* · {escape(_t(locale, 'chars', file=file, count=f'{len(text):,}'))}"
    edit = button(_c(locale, "prompt_edit"), f"{EDIT}:{file}", file) if can_edit else None
    shown = text[: fit(text, SHOWN)]
    more = [context(escape(_t(locale, "cut", shown=f"{len(shown):,}")))] if len(shown) < len(text) else []
    return [section(title, accessory=edit), literal(shown or " "), *more]


def _versions(locale: str, page: PromptPage) -> list[Block]:
    shown = page.versions[:OPTIONS]
    options = [option(version_title(one, locale), one.version_id) for one in shown]
    menu = select(VERSION, options, placeholder=_t(locale, "version_choose"))
    older = [context(escape(_t(locale, "older", name=page.item.name)))] if shown != page.versions else []
    return [actions("versions", [menu]), *older]


def history_form(locale: str, name: str, events: Sequence[PromptEventView]) -> View:
    """What was done to a prompt, newest first; the file holds every text before and after."""
    blocks: list[Block] = [section(f"*{escape(_c(locale, 'prompt_history_of', name=name))}*")]
    blocks += [_lines([event_line(event, locale)]) for event in events[:SHOWN_EVENTS]]
    if not events:
        blocks.append(section(escape(_c(locale, "prompt_history_empty"))))
    if len(events) > SHOWN_EVENTS:
        blocks.append(context(escape(_t(locale, "events_more", count=len(events) - SHOWN_EVENTS))))
    wanted = [_back(locale, name), button(_t(locale, "as_file"), HISTORY_FILE, name)]
    return _view(locale, Leaf(name=name), [*blocks, actions("history", wanted)])


def version_form(locale: str, seen: Seen) -> View:
    """A version: who, when, why, what it changed, and what its reader can do with it."""
    name, version = seen.page.item.name, seen.version
    wanted = [
        button(move_title(kind, version, locale), MOVE[kind], version.version_id) for kind in seen.moves
    ]
    if seen.page.item.eval_set:
        label = i18n.text(locale, "chat_evals.evaluate")
        wanted.append(button(label, EVALUATE, f"{name}{SEPARATOR}{version.version_id}"))
    wanted += [button(_t(locale, "as_file"), TEXT_FILE, version.version_id), _back(locale, name)]
    return _view(
        locale,
        Leaf(name=name, version=version.version_id),
        [
            section(f"*{escape(name)}*"),
            _lines(version_lines(version, locale)),
            *_changes(locale, seen.changes),
            actions("version", wanted),
        ],
    )


def _changes(locale: str, changes: Sequence[PartChange]) -> list[Block]:
    blocks: list[Block] = []
    for one in changes:
        shown = unified(locale, diff(one.before, one.after), DIFF)
        blocks += [section(f"*{escape(part_title(one.file, locale))}*"), literal(shown)]
    return blocks


# --- forms ----------------------------------------------------------------------------------------------------------


def edit_form(locale: str, about: Leaf, text: PromptText) -> View:
    """The form of a part. Raises Refusal `prompt_part_long` for one that has no room in it: nothing is ever cut."""
    held = text.files.get(about.part, "")
    title = part_title(about.part, locale)
    if units(held) > BOX:
        raise Refusal(
            "prompt_part_long", part=title, had=f"{len(held):,}", limit=f"{BOX:,}", page=edit_page(text.name)
        )
    about = replace(about, name=text.name, base=text.base_id, head=text.head_id)
    hint = _t(locale, "edit_hint", limit=f"{BOX:,}", page=edit_page(text.name))
    typed = text_input(about.block(TEXT), title, limit=BOX, optional=True, value=held, hint=hint, lines=True)
    blocks = [section(escape(_t(locale, "edit_means", name=text.name))), typed]
    return _view(locale, about, blocks, callback=EDIT_FORM, submit=_t(locale, "edit_submit"))


def draft_form(
    locale: str,
    drafted: Drafted,
    *,
    key: str,
    ack: bool = False,
    reason: str = "",
    step: str = "",
    sentence: str = "",
) -> View:
    """A draft: what it changes, what is known about it, and the form that saves it, where it can be saved."""
    page, check, name = drafted.page, drafted.check, drafted.text.name
    about = Leaf(name=name, key=key, ack=ack)
    blocks: list[Block] = [section(f"*{escape(_t(locale, 'draft_title', name=name))}*")]
    if sentence:
        blocks.append(_lines(f"⚠️ {sentence}".splitlines()))
    wanted = [
        button(_c(locale, "prompt_draft_drop"), DROP, name),
        button(_t(locale, "as_file"), DRAFT_FILE, name),
        _back(locale, name),
    ]
    if page.draft is not None and overtaken(page):
        join = button(_t(locale, "join"), JOIN, name, style="primary")
        return _view(
            locale, about, [*blocks, *_both(locale, drafted, page.draft), actions("draft", [join, *wanted])]
        )
    blocks += [_lines(check_lines(check, locale)), *_changes(locale, check.changes)]
    edit = [button(part_title(one.file, locale), f"{EDIT}:{one.file}", one.file) for one in check.changes]
    blocks += [*([actions("parts", edit)] if edit else []), actions("draft", wanted)]
    if check.problems or not check.changed:
        return _view(locale, about, blocks)
    fields = _save_fields(locale, about, drafted, reason, step)
    submit = _t(locale, "all_the_same" if ack else "save")
    return _view(locale, about, [*blocks, *fields], callback=SAVE_FORM, submit=submit)


def _both(locale: str, drafted: Drafted, draft: PromptDraftView) -> list[Block]:
    """What others changed since, and what the draft changes."""
    theirs = [PartChange(file=one.file, before=one.base, after=one.theirs) for one in draft.stale]
    return [
        section(escape(_c(locale, "prompt_draft_stale"))),
        section(f"*{escape(_c(locale, 'prompt_theirs'))}*"),
        *_changes(locale, theirs),
        section(f"*{escape(_t(locale, 'mine'))}*"),
        *_changes(locale, drafted.check.changes),
    ]


def _save_fields(locale: str, about: Leaf, drafted: Drafted, reason: str, step: str) -> list[Block]:
    fields: list[Block] = [_reason(locale, about, _c(locale, "prompt_reason"), reason)]
    choices = steps(drafted.check, drafted.page, drafted.text.base_id, locale)
    if choices:
        block, label = about.block(STEP), _c(locale, "prompt_version")
        options = [option(label, version) for version, label in choices]
        menu = select(block, options, placeholder=label, chosen=step or choices[0][0])
        fields.append(field(block, label, menu, optional=False))
    return fields


def _reason(locale: str, about: Leaf, label: str, value: str) -> dict[str, Any]:
    return text_input(
        about.block(REASON),
        label,
        limit=MAX_REASON_CHARS,
        optional=False,
        value=value,
        hint=_c(locale, "prompt_reason_hint", limit=MAX_REASON_CHARS),
        lines=True,
    )


def move_form(
    locale: str,
    about: Leaf,
    page: PromptPage,
    version: PromptVersionView,
    *,
    reason: str = "",
    sentence: str = "",
) -> View:
    """Why something is done with a version; a refusal that can be overcome stands above it."""
    kind = about.move
    title = f"*{escape(page.item.name)}* · {escape(move_title(kind, version, locale))}"
    blocks: list[Block] = [section(title)]
    if sentence:
        blocks.append(_lines(f"⚠️ {sentence}".splitlines()))
    blocks.append(_lines(move_means(kind, page, version, locale)))
    blocks.append(
        _reason(locale, about, reason_label(kind, locale), reason or first_words(kind, page, version))
    )
    submit = _t(locale, "all_the_same") if about.ack or about.override else _t(locale, f"submit_{kind}")
    return _view(locale, about, blocks, callback=MOVE_FORM, submit=submit)
