"""What people are told in answer to a command: lists, receipts, help. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.discord.card import Card, Picture, TextFile
from bot.discord.difference import block, difference
from bot.discord.limit import CONTENT, size
from bot.discord.render import plain
from bot.discord.sending_card import send_button, with_menu
from bot.model_outline import model_notes
from bot.usage import PICTURE, Usage, alternative, legend, together
from core.commands.artifact import Shown
from core.commands.review import ReviewStarted
from core.domain.receipt import InputPart
from core.domain.thread import Status, Thread
from core.domain.view import (
    ArtifactItem,
    ChannelItem,
    ModelItem,
    ReceiptView,
    ThreadItem,
    UsageLine,
    VersionItem,
)
from core.i18n import money, phrase, text

DIFFERENCE = 600
"""Units that what changed has beside a long list of versions."""

LEGEND = 400
"""Characters of a line that says what the keys of a picture stand for: all its names, each cut to its own length."""

HELP = (
    "chat",
    "compare",
    "debate",
    "codraft",
    "workflow",
    "branch",
    "retry",
    "stop",
    "input",
    "review",
    "save",
    "artifacts",
    "rename",
    "pin",
    "pins",
    "handover",
    "adopt",
    "approve",
    "reject",
    "withdraw",
    "adoptions",
    "threads",
    "models",
    "prompts",
    "usage",
    "help",
)
"""Commands in the order in which they are explained."""


def fitted(lines: Sequence[str], locale: str, *, file: str) -> Card:
    """As many lines as a message holds; when that is not all of them, a file holds the whole."""
    whole = "\n".join(lines)
    if size(whole) <= CONTENT:
        return Card(content=whole)
    note = text(locale, "discord.list_in_file")
    shown: list[str] = []
    used = size(note) + 2
    for line in lines:
        used += size(line) + 1
        if used > CONTENT:
            break
        shown.append(line)
    return Card(content="\n".join([*shown, note]), file=TextFile(name=file, text=whole))


def branched(made: Thread, locale: str) -> Card:
    return Card(
        content=text(locale, "discord.branched", name=plain(made.branch_name), position=made.split_position)
    )


def reviewing(started: ReviewStarted, locale: str) -> Card:
    """Who reviews; also that fewer do than were wished for."""
    lines = [text(locale, "answer.review", reviewers=plain(", ".join(started.reviewers), CONTENT // 4))]
    if len(started.reviewers) < started.asked:
        had, asked = len(started.reviewers), started.asked
        lines.append(text(locale, "mode_notice.fewer_reviewers", had=had, asked=asked))
    return Card(content="\n".join(lines))


def artifacts(items: Sequence[ArtifactItem], locale: str) -> Card:
    """The saved results of a thread with their newest versions."""
    if not items:
        return Card(content=text(locale, "discord.no_artifacts"))
    lines = [text(locale, "discord.artifacts")]
    lines += [f"- **{plain(item.name)}** · {_version(item.newest, locale)}" for item in items]
    return with_menu(fitted(lines, locale, file="artifacts.md"), items, locale)


def artifact(shown: Shown, locale: str) -> Card:
    """One version whole in the file, its versions in the message with what changed, the shown one marked."""
    lines = [f"**{plain(shown.artifact.name)}**"]
    for item in reversed(shown.versions):
        mark = "▸" if item.number == shown.version.number else "-"
        why = f": {plain(item.reason)}" if item.reason else ""
        lines.append(f"{mark} {_version(item, locale)}{why}")
    note = text(locale, "discord.artifact_in_file", number=shown.version.number)
    room = CONTENT - size(note) - 1
    changes = difference(shown.changes, locale)
    least = block(changes, DIFFERENCE)
    while size("\n".join(lines)) + size(least) + 1 > room:
        lines.pop()
    seen = block(changes, room - size("\n".join(lines)) - 1)
    return Card(
        content="\n".join(one for one in (*lines, seen, note) if one),
        buttons=(send_button(shown.artifact.artifact_id, shown.version.number, locale),),
        file=TextFile(name="artifact.md", text=shown.text),
        also=TextFile(name="changes.diff", text="\n".join(changes) + "\n") if changes else None,
    )


def sent_artifact(shown: Shown, who: str, locale: str) -> Card:
    """The same version for everyone in a thread."""
    line = f"**{plain(shown.artifact.name)}** · {_version(shown.version, locale)}"
    sent = text(locale, "discord.artifact_sent_by", who=plain(who))
    return Card(content=f"{line}\n-# {sent}", file=TextFile(name="artifact.md", text=shown.text))


def _version(item: VersionItem, locale: str) -> str:
    return text(
        locale,
        "discord.version",
        number=item.number,
        author=plain(item.author),
        count=f"{item.chars:,}",
    )


def threads(channels: Sequence[ChannelItem], locale: str) -> Card:
    """The threads of each channel, branches under their parents."""
    lines: list[str] = []
    for channel in channels:
        if channel.threads:
            lines.append(f"**<#{channel.external_id}>**")
            for item in channel.threads:
                lines += _thread_lines(item, locale, 0)
    return fitted(lines or [text(locale, "discord.no_threads")], locale, file="threads.md")


def _thread_lines(item: ThreadItem, locale: str, level: int) -> Iterator[str]:
    title = plain(item.branch_name or item.title)
    where = f" <#{item.place.thread}>" if item.place.thread else ""
    notes = [text(locale, "discord.busy")] if item.busy else []
    if item.status is not Status.ACTIVE:
        notes.append(text(locale, f"discord.status_{item.status.value}"))
    yield f"{'  ' * level}- {title}{where}{''.join(f' · {note}' for note in notes)}"
    for child in item.children:
        yield from _thread_lines(child, locale, level + 1)


def models(items: Sequence[ModelItem], locale: str) -> Card:
    """The models that may be used here."""
    lines = [text(locale, "discord.models")]
    for item in items:
        if item.allowed:
            facts = [text(locale, "discord.context", count=f"{item.context_tokens:,}")]
            if item.demo:
                facts.append(text(locale, "discord.demo"))
            elif item.input_price is not None and item.output_price is not None:
                facts.append(
                    text(
                        locale,
                        "discord.price",
                        input=f"${item.input_price:g}",
                        output=f"${item.output_price:g}",
                    )
                )
            if item.local:
                facts.append(text(locale, "local_model.note"))
            if item.vision:
                facts.append(text(locale, "discord.vision"))
            facts.append(text(locale, f"discord.trains_{_trains(item.trains_on_data)}"))
            facts += map(plain, model_notes(item, locale))
            lines.append(f"- **{plain(item.alias)}** ({plain(item.model_id)}): {' · '.join(facts)}")
    if len(lines) == 1:
        lines = [text(locale, "refusal.no_model")]
    return fitted(lines, locale, file="models.md")


def _trains(answer: str) -> str:
    return answer if answer in ("yes", "no") else "unknown"


def usage(found: Usage, by: str, picture: bytes | None, locale: str) -> Card:
    """Calls, tokens and cost of the last days with a bar for each line, their sum, and the picture with its keys."""
    lines = {"model": found.models, "person": found.people}.get(by, found.days)
    if not lines:
        return Card(content=text(locale, "discord.usage_none"))
    most = max((line.cost_usd for line in lines), default=0.0)
    weight = [line.cost_usd if most else float(line.input_tokens + line.output_tokens) for line in lines]
    highest = max(weight) or 1.0
    # Keys first: they belong to the picture, whatever of the list has no room.
    shown = [text(locale, "discord.usage"), *(plain(line, LEGEND) for line in legend(found, locale))]
    for line, value in zip(lines, weight, strict=True):
        bar = "▇" * max(1, round(10 * value / highest)) if value else "·"
        shown.append(f"`{bar:<10}` **{plain(line.label)}** {_counted(line, locale)}")
    shown.append(f"**{text(locale, 'discord.total')}** {_counted(together(lines), locale)}")
    if picture is None:
        return fitted(shown, locale, file="usage.md")
    chart = Picture(name=PICTURE, data=picture, alternative=alternative(found, locale))
    return replace(fitted(shown, locale, file="usage.md"), picture=chart)


def _counted(line: UsageLine, locale: str) -> str:
    counted = text(
        locale,
        "discord.usage_line",
        calls=line.calls,
        input=f"{line.input_tokens:,}",
        output=f"{line.output_tokens:,}",
        cost=money(line.cost_usd),
    )
    if line.unpriced_calls:
        counted += f" · {text(locale, 'discord.unpriced', count=line.unpriced_calls)}"
    return counted


def receipt(view: ReceiptView, locale: str) -> Card:
    """ "Show AI input": the facts in the message, every part as it was sent in the file."""
    lines = [
        f"**{text(locale, 'receipt.title')}**",
        text(locale, "discord.receipt_model", model=plain(view.model), id=plain(view.model_id)),
        text(locale, "discord.receipt_parts", count=len(view.parts), tokens=f"{view.estimate_tokens:,}"),
    ]
    if view.prompts:
        lines.append(f"{text(locale, 'receipt.prompts')}: {', '.join(_prompts(view))}")
    lines += [f"- {line}" for line in _left_out(view, locale)]
    if view.failure:
        lines.append(phrase(locale, view.failure))
    if view.erased:
        lines.append(text(locale, "receipt.erased"))
    if view.expired:
        lines.append(text(locale, "receipt.expired"))
    matches = "receipt.hash_matches" if view.hash_matches else "receipt.hash_differs"
    lines.append(f"-# SHA-256 {view.input_sha256} · {text(locale, matches)}")
    return Card(
        content="\n".join(lines), file=TextFile(name="ai-input.md", text=_receipt_document(view, locale))
    )


def _prompts(view: ReceiptView) -> Iterator[str]:
    return (f"{plain(ref.name)} {plain(ref.version)}" for ref in view.prompts)


def _left_out(view: ReceiptView, locale: str) -> list[str]:
    """What was cut or left out, in words; one line that says so when nothing was."""
    caps = [text(locale, f"cap.{c.name}", limit=c.limit, had=c.had, kept=c.kept) for c in view.caps]
    omitted = [text(locale, f"omitted.{o.what}", count=o.count) for o in view.omissions]
    return [*caps, *omitted] or [text(locale, "receipt.nothing_left_out")]


def _receipt_document(view: ReceiptView, locale: str) -> str:
    head = [
        f"# {text(locale, 'receipt.title')}",
        text(locale, "receipt.means"),
        f"- {text(locale, 'receipt.model_id')}: {view.model_id}",
        f"- {text(locale, 'receipt.hash')}: {view.input_sha256}",
        *(f"- {line}" for line in _left_out(view, locale)),
    ]
    parts = [_part(number, part, locale) for number, part in enumerate(view.parts, start=1)]
    return "\n\n".join(["\n".join(head), *parts]) + "\n"


def _part(number: int, part: InputPart, locale: str) -> str:
    role = text(locale, f"receipt.role_{part.role.value}")
    origin = text(locale, f"origin.{part.origin.value}")
    images = [text(locale, "receipt.image", name=i.name, media_type=i.media_type) for i in part.images]
    body = "\n".join([part.text or text(locale, "receipt.no_text"), *images])
    return f"## {number}. {role}: {origin}\n\n{fenced(body)}"


def fenced(words: str) -> str:
    """A text to the letter within a fence that nothing in it can close."""
    longest = max((len(run) for run in _tick_runs(words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{words}\n{fence}"


def _tick_runs(words: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in words).split() if run]


def help_card(locale: str, problems: Sequence[str]) -> Card:
    """What keeps the bot from working fully here, how to talk to it, and the commands."""
    lines = [*(f"⚠️ {problem}" for problem in problems), text(locale, "discord.help_begin")]
    lines += [f"- `/{name}` {text(locale, f'discord_command.{name}')}" for name in HELP]
    lines.append(text(locale, "discord.help_menus"))
    return fitted(lines, locale, file="help.md")
