"""Forms: what they ask, and what stands in them. Pure.

A form opens at once with a loading view and is filled in after: the id that opens it is good for three seconds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.slack.block import (
    OPTIONS,
    Block,
    actions,
    button,
    context,
    divider,
    field,
    literal,
    modal,
    option,
    section,
    select,
    text_input,
)
from bot.slack.markdown import escape, one_line, shorten
from bot.slack.render import spent
from core import i18n
from core.commands.branch import REASON_CHARS
from core.domain.errors import Refusal
from core.domain.thread import TITLE_CHARS
from core.domain.view import AnswerView, MessageView, ModelItem, ReceiptView, ThreadItem, ThreadPage

View = dict[str, Any]

BRANCH: Final = "form.branch"
OTHER: Final = "form.other_model"
INPUT: Final = "form.input"
NOTE: Final = "form.note"

THREAD_FIELD: Final = "thread"
MESSAGE_FIELD: Final = "message"
NAME_FIELD: Final = "name"
REASON_FIELD: Final = "reason"
MODEL_FIELD: Final = "model"
END: Final = "end"
"""Stands for no particular message: everything so far."""

REFUSED: Final = "refused"
"""Id of the block that says why a form was refused."""

OF_A_VIEW: Final = ("type", "callback_id", "title", "submit", "close", "private_metadata")
"""What a form is made of besides its blocks; the rest of what Slack sends back of one is Slack's own."""

INPUT_FILE: Final = "do.input_file"
PARTS: Final = 30
PART_CHARS: Final = 2_900


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a form is about: ids only, since every form carries them along."""

    thread: str = ""
    ref: str = ""
    channel: str = ""

    def dump(self) -> str:
        return json.dumps({"t": self.thread, "r": self.ref, "c": self.channel})


def about(metadata: str) -> About:
    """What a form that came back is about. Raises Refusal for one that is not ours."""
    try:
        found = json.loads(metadata)
        return About(thread=str(found["t"]), ref=str(found["r"]), channel=str(found["c"]))
    except (ValueError, KeyError, TypeError):
        raise Refusal("slack_form_old") from None


def loading(locale: str, title: str) -> View:
    """What stands in a form until it is filled in."""
    return note(locale, title=title, sentence=i18n.text(locale, "slack.loading"))


def note(locale: str, *, title: str, sentence: str) -> View:
    """A form that only says something."""
    return modal(
        title=i18n.text(locale, title),
        callback=NOTE,
        blocks=[section(escape(sentence))],
        close=i18n.text(locale, "slack.close"),
    )


def sent_again(sent: Mapping[str, Any], sentence: str) -> View:
    """A form as a person sent it, with all that they filled in, and why it was refused above it.

    For a form that was replaced meanwhile: of one that still stands Slack keeps what was filled in.
    """
    state = (sent.get("state") or {}).get("values") or {}
    blocks = [
        _as_sent(block, state.get(block.get("block_id")) or {})
        for block in sent["blocks"]
        if block.get("block_id") != REFUSED
    ]
    why = {**section(f":warning: {escape(sentence)}"), "block_id": REFUSED}
    return {**{name: sent[name] for name in OF_A_VIEW if sent.get(name)}, "blocks": [why, *blocks]}


def typed_in(sent: Mapping[str, Any]) -> str:
    """All that a person typed into a form, each field under its name."""
    state = (sent.get("state") or {}).get("values") or {}
    return "\n".join(
        f"## {block['label']['text']}\n\n{given['value']}\n"
        for block in sent["blocks"]
        if block.get("type") == "input"
        for given in (state.get(block.get("block_id")) or {}).values()
        if given.get("type") == "plain_text_input" and given.get("value")
    )


def _as_sent(block: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") != "input":
        return dict(block)
    element = {name: value for name, value in block["element"].items() if not name.startswith("initial_")}
    given = state.get(str(element.get("action_id"))) or {}
    offered = {one["value"]: one for one in element.get("options", ())}
    chosen = given.get("selected_option")
    several = [
        offered[one["value"]] for one in given.get("selected_options") or () if one["value"] in offered
    ]
    if given.get("value"):
        element["initial_value"] = given["value"]
    elif chosen and chosen["value"] in offered:
        element["initial_option"] = offered[chosen["value"]]
    elif several:
        element["initial_options"] = several
    elif given.get("selected_conversation"):
        element["initial_conversation"] = given["selected_conversation"]
    return {**block, "element": element}


def branch_form(locale: str, about: About, *, point: str) -> View:
    """Name and reason for a branch at a point that is chosen already."""
    blocks = [section(escape(i18n.text(locale, "slack.branch_means", point=point))), *_naming(locale)]
    return _branch(locale, about, blocks)


def branch_picker(locale: str, about: About, threads: Sequence[ThreadItem], page: ThreadPage | None) -> View:
    """A form that first asks for a thread, then for a message of it."""
    menu = select(
        THREAD_FIELD,
        [option(thread_title(one), one.thread_id) for one in threads[:OPTIONS]],
        placeholder=i18n.text(locale, "slack.branch_thread_choose"),
        chosen=about.thread,
    )
    blocks = [
        field(THREAD_FIELD, i18n.text(locale, "slack.branch_thread"), menu, optional=False, reports=True)
    ]
    if page is not None:
        choices = select(
            MESSAGE_FIELD,
            [option(i18n.text(locale, "slack.branch_message_end"), END), *_messages(page)],
            placeholder=i18n.text(locale, "slack.branch_message_choose"),
            chosen=about.ref or END,
        )
        # The id of the block changes with the thread: Slack keeps what was chosen in a block that stays.
        blocks.append(
            field(
                f"{MESSAGE_FIELD}:{about.thread}",
                i18n.text(locale, "slack.branch_message"),
                choices,
                optional=False,
            )
        )
    return _branch(locale, about, [*blocks, *_naming(locale)])


def _branch(locale: str, about: About, blocks: list[dict[str, Any]]) -> View:
    return modal(
        title=i18n.text(locale, "slack.branch_title"),
        callback=BRANCH,
        blocks=blocks,
        close=i18n.text(locale, "slack.cancel"),
        submit=i18n.text(locale, "slack.branch_submit"),
        metadata=about.dump(),
    )


def _naming(locale: str) -> list[dict[str, Any]]:
    return [
        text_input(NAME_FIELD, i18n.text(locale, "slack.branch_name"), limit=TITLE_CHARS, optional=True),
        text_input(
            REASON_FIELD, i18n.text(locale, "slack.branch_why"), limit=REASON_CHARS, optional=True, lines=True
        ),
    ]


def thread_title(item: ThreadItem) -> str:
    return f"{'› ' * item.depth}{item.title or item.branch_name or item.thread_id}"


def _messages(page: ThreadPage) -> list[dict[str, Any]]:
    """The newest messages of a thread that have a position, newest first."""
    found = []
    for item in reversed(page.items):
        if isinstance(item, MessageView) and item.position:
            found.append(option(f"#{item.position} {item.author}: {item.text}", item.message_id))
        elif isinstance(item, AnswerView) and item.position and item.message_id:
            found.append(option(f"#{item.position} {item.model}: {item.text}", item.message_id))
    return found[: OPTIONS - 1]


def other_model_form(locale: str, about: About, models: Sequence[ModelItem]) -> View:
    """Which model answers the same message once more."""
    menu = select(
        MODEL_FIELD,
        [option(one.alias, one.alias, one.model_id) for one in models],
        placeholder=i18n.text(locale, "slack.other_choose"),
    )
    return modal(
        title=i18n.text(locale, "slack.other_title"),
        callback=OTHER,
        blocks=[
            section(escape(i18n.text(locale, "slack.other_means"))),
            field(MODEL_FIELD, i18n.text(locale, "slack.other_model"), menu, optional=False),
        ],
        close=i18n.text(locale, "slack.cancel"),
        submit=i18n.text(locale, "slack.other_submit"),
        metadata=about.dump(),
    )


# --- Show AI input --------------------------------------------------------------------------------------------------


def input_form(locale: str, view: ReceiptView) -> View:
    """ "Show AI input": what was sent, part by part, and the whole as a file on demand."""
    blocks: list[Block] = [
        section(escape(i18n.text(locale, "slack.input_means"))),
        context(*_facts(locale, view)),
        *_left_out(locale, view),
        actions("input", [button(i18n.text(locale, "slack.input_whole"), INPUT_FILE, view.receipt_id)]),
    ]
    for number, part in enumerate(view.parts[:PARTS], start=1):
        chars = len(part.text)
        blocks += [
            divider(),
            context(
                escape(
                    i18n.text(
                        locale,
                        "slack.input_part",
                        number=number,
                        role=i18n.text(locale, f"receipt.role_{part.role.value}"),
                        origin=i18n.text(locale, f"origin.{part.origin.value}"),
                        chars=chars,
                    )
                )
            ),
        ]
        blocks.append(literal(part.text[:PART_CHARS] or i18n.text(locale, "receipt.no_text")))
        if chars > PART_CHARS:
            cut = i18n.text(locale, "slack.input_cut", shown=PART_CHARS, chars=chars)
            blocks.append(context(escape(cut)))
        # A view holds a hundred blocks; four a part is the most.
        if len(blocks) > 90:
            break
    shown = sum(1 for block in blocks if block["type"] == "divider")
    if shown < len(view.parts):
        more = i18n.text(locale, "slack.input_more", count=len(view.parts) - shown)
        blocks.append(context(escape(more)))
    return modal(
        title=i18n.text(locale, "slack.input_title"),
        callback=INPUT,
        blocks=[dict(block) for block in blocks],
        close=i18n.text(locale, "slack.close"),
    )


def _facts(locale: str, view: ReceiptView) -> list[str]:
    prompts = ", ".join(f"{p.name} {p.version}" for p in view.prompts) or i18n.text(locale, "receipt.none")
    matches = i18n.text(locale, "receipt.hash_matches" if view.hash_matches else "receipt.hash_differs")
    tokens = spent(view.usage, locale) if view.usage else i18n.text(locale, "receipt.none")
    reported = view.reported_model_id or i18n.text(locale, "receipt.not_reported")
    facts = [
        i18n.text(
            locale,
            "slack.input_facts",
            model=one_line(view.model, 80),
            model_id=view.model_id,
            reported=reported,
        ),
        i18n.text(locale, "slack.input_tokens", tokens=tokens, estimate=f"{view.estimate_tokens:,}"),
        i18n.text(locale, "slack.input_prompts", prompts=prompts),
        i18n.text(locale, "slack.input_hash", hash=view.input_sha256, matches=matches),
    ]
    if view.failure:
        facts.append(i18n.phrase(locale, view.failure))
    if view.erased:
        facts.append(i18n.text(locale, "receipt.erased"))
    if view.expired:
        facts.append(i18n.text(locale, "receipt.expired"))
    return [shorten(escape(fact), 500) for fact in facts]


def _left_out(locale: str, view: ReceiptView) -> list[Block]:
    lines = [i18n.text(locale, f"omitted.{one.what}", count=one.count) for one in view.omissions]
    lines += [
        i18n.text(locale, f"cap.{one.name}", limit=one.limit, had=one.had, kept=one.kept) for one in view.caps
    ]
    if not lines:
        return [context(escape(i18n.text(locale, "slack.input_nothing_left_out")))]
    listed = "\n".join(f"• {escape(line)}" for line in lines)
    return [section(f"*{escape(i18n.text(locale, 'slack.input_left_out'))}*\n{listed}")]


def input_document(locale: str, view: ReceiptView) -> str:
    """The whole AI input as a document: facts, then every part exactly as it was sent."""
    parts = [
        f"## {number}. {part.role.value} ({i18n.text(locale, f'origin.{part.origin.value}')})\n\n{part.text}\n"
        for number, part in enumerate(view.parts, start=1)
    ]
    head = [
        f"- model: {view.model} ({view.model_id})",
        f"- sha256: {view.input_sha256}",
        f"- parameters: {json.dumps(dict(view.params), ensure_ascii=False)}",
        *[f"- prompt: {p.name} {p.version} {p.sha256}" for p in view.prompts],
        *[f"- left out: {one.what} {one.count}" for one in view.omissions],
        *[f"- limit {one.name}: {one.limit}, had {one.had}, kept {one.kept}" for one in view.caps],
    ]
    return "\n".join([f"# {i18n.text(locale, 'slack.input_file', model=view.model)}", "", *head, "", *parts])
