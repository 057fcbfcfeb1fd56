"""What only one person is shown: lists, help, the App Home. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from bot.model_outline import model_notes
from bot.slack.block import Block, context, divider, header, link, section
from bot.slack.markdown import escape, one_line
from bot.slack.render import SlackMessage, address
from core import i18n
from core.domain.thread import Status
from core.domain.view import ChannelItem, ModelItem, ThreadItem, UsageLine

SHOWN_THREADS: Final = 40
SHOWN_MODELS: Final = 30
HOME_THREADS: Final = 25
HOME_CHANNELS: Final = 12
SECTION_BUDGET: Final = 2_600
CHART_WIDTH: Final = 24
CHART_LINES: Final = 31


def sentence(text: str) -> SlackMessage:
    """One plain sentence."""
    safe = escape(text)
    return SlackMessage(blocks=(section(safe),), text=safe)


def threads_message(locale: str, url: str, channels: Sequence[ChannelItem], *, here: str) -> SlackMessage:
    """The threads that a person can see, those of the channel they are in first."""
    ordered = sorted((c for c in channels if c.threads), key=lambda c: c.external_id != here)
    blocks: list[Block] = []
    left = SHOWN_THREADS
    hidden = 0
    for channel in ordered:
        lines = list(_tree(locale, url, channel.threads))
        hidden += max(0, len(lines) - left)
        if left > 0:
            blocks += _listed(_channel_title(locale, channel, here), lines[:left])
        left -= len(lines)
    if not blocks:
        return sentence(i18n.text(locale, "slack.threads_none"))
    if hidden:
        blocks.append(context(escape(i18n.text(locale, "slack.threads_more", count=hidden))))
    return SlackMessage(blocks=tuple(blocks), text=escape(i18n.text(locale, "slack.threads_title")))


def _channel_title(locale: str, channel: ChannelItem, here: str) -> str:
    if channel.external_id == here:
        return escape(i18n.text(locale, "slack.threads_here"))
    if channel.external_id.startswith("D"):
        return escape(i18n.text(locale, "slack.threads_direct"))
    # Slack shows the name to whoever may see the channel.
    named = escape(i18n.text(locale, "slack.threads_channel", channel="\0"))
    return named.replace("\0", f"<#{channel.external_id}>")


def _listed(title: str, lines: Sequence[str]) -> list[Block]:
    """Lines under a title, in as many sections as their size asks for."""
    blocks: list[Block] = []
    text = f"*{title}*"
    for line in lines:
        if len(text) + len(line) > SECTION_BUDGET:
            blocks.append(section(text))
            text = line
        else:
            text = f"{text}\n{line}"
    return [*blocks, section(text)]


def _tree(locale: str, url: str, items: Sequence[ThreadItem]) -> Iterator[str]:
    for item in items:
        title = one_line(item.title or item.branch_name, 70)
        shown = link(address(url, item.place), title, 70) if item.place.thread else escape(title)
        marks = [
            escape(i18n.text(locale, key))
            for key, holds in (
                ("slack.thread_busy", item.busy),
                ("slack.thread_adopt_pending", item.status is Status.ADOPT_PENDING),
                ("slack.thread_adopted", item.status is Status.ADOPTED),
            )
            if holds
        ]
        indent = "\u2003" * item.depth
        yield f"{indent}{'↳' if item.depth else '•'} {shown}{' · _' + ', '.join(marks) + '_' if marks else ''}"
        yield from _tree(locale, url, item.children)


def models_message(locale: str, models: Sequence[ModelItem]) -> SlackMessage:
    """The catalogue, with what is allowed here."""
    if not models:
        return sentence(i18n.text(locale, "slack.models_none"))
    lines = [_model(locale, one) for one in models[:SHOWN_MODELS]]
    title = escape(i18n.text(locale, "slack.models_title"))
    return SlackMessage(blocks=tuple(_listed(title, lines)), text=title)


def _model(locale: str, model: ModelItem) -> str:
    facts = [
        i18n.text(
            locale,
            "slack.model_line",
            context=f"{model.context_tokens:,}",
            input=_price(locale, model, model.input_price),
            output=_price(locale, model, model.output_price),
        )
    ]
    if model.vision:
        facts.append(i18n.text(locale, "slack.model_vision"))
    if model.local:
        facts.append(i18n.text(locale, "local_model.note"))
    if not model.demo:
        trains = model.trains_on_data if model.trains_on_data in ("yes", "no") else "unknown"
        facts.append(
            i18n.text(locale, "slack.model_trains", answer=i18n.text(locale, f"slack.answer_{trains}"))
        )
    facts += model_notes(model, locale)
    if not model.allowed:
        facts.append(i18n.text(locale, "slack.model_not_allowed"))
    demo = f" ({escape(i18n.text(locale, 'slack.demo'))})" if model.demo else ""
    return f"• *{escape(one_line(model.alias, 60))}*{demo}: {escape('; '.join(facts))}"


def _price(locale: str, model: ModelItem, usd: float | None) -> str:
    if usd is None:
        return i18n.text(locale, "slack.model_price_none" if model.demo else "slack.model_price_unknown")
    return i18n.money(usd)


def usage_message(locale: str, lines: Sequence[UsageLine]) -> SlackMessage:
    """Usage by day as a chart of bars, with the sum."""
    title = i18n.text(locale, "slack.usage_title")
    if not lines:
        return sentence(i18n.text(locale, "slack.usage_none"))
    tokens = sum(one.input_tokens + one.output_tokens for one in lines)
    total = i18n.text(
        locale,
        "slack.usage_total",
        calls=sum(one.calls for one in lines),
        tokens=f"{tokens:,}",
        cost=i18n.money(sum(one.cost_usd for one in lines)),
    )
    blocks: list[Block] = [
        section(f"*{escape(title)}*\n{escape(total)}"),
        section(f"```{escape(_chart(lines[-CHART_LINES:]))}```"),
    ]
    unpriced = sum(one.unpriced_calls for one in lines)
    if unpriced:
        blocks.append(context(escape(i18n.text(locale, "slack.usage_unpriced", count=unpriced))))
    return SlackMessage(blocks=tuple(blocks), text=escape(f"{title}: {total}"))


def _chart(lines: Sequence[UsageLine]) -> str:
    """One bar a line, of cost where anything has a price, of tokens otherwise."""
    priced = any(one.cost_usd for one in lines)
    values = [one.cost_usd if priced else one.input_tokens + one.output_tokens for one in lines]
    most = max(values) or 1
    rows = []
    for one, value in zip(lines, values, strict=True):
        bar = "█" * max(1 if value else 0, round(CHART_WIDTH * value / most))
        shown = i18n.money(value) if priced else f"{value:,}"
        label = one_line(one.label, 18).replace("`", "'")
        rows.append(f"{label:<18} {bar:<{CHART_WIDTH}} {shown}")
    return "\n".join(rows)


HELP: Final = ("start", "modes", "results", "carry", "branch", "again", "stop", "input", "look")


def help_message(locale: str, bot: str) -> SlackMessage:
    """What can be done and how, on one page."""
    title = i18n.text(locale, "slack.help_title")
    return SlackMessage(
        blocks=(header(title), *_help(locale, bot)),
        text=escape(title),
    )


def _help(locale: str, bot: str) -> list[Block]:
    lines = [i18n.text(locale, f"slack.help_{name}").replace("@me", f"@{bot}") for name in HELP]
    notes = [escape(i18n.text(locale, f"slack.help_{name}")) for name in ("edit", "slash")]
    return [*[section(line) for line in lines], context(*notes)]


def home_view(
    locale: str, url: str, channels: Sequence[ChannelItem], lines: Sequence[UsageLine], bot: str
) -> dict[str, Any]:
    """The App Home: threads as a tree, usage, help."""
    blocks: list[Block] = [header(i18n.text(locale, "slack.home_hello"))]
    listed = [c for c in channels if c.threads][:HOME_CHANNELS]
    if listed:
        blocks.append(context(escape(i18n.text(locale, "slack.home_by_channel"))))
    else:
        blocks.append(section(escape(i18n.text(locale, "slack.home_none"))))
    for channel in listed:
        tree = list(_tree(locale, url, channel.threads))[:HOME_THREADS]
        blocks += _listed(_channel_title(locale, channel, ""), tree)
    blocks += [divider(), *usage_message(locale, lines).blocks, divider()]
    blocks += [header(i18n.text(locale, "slack.help_title")), *_help(locale, bot)]
    return {"type": "home", "blocks": [dict(block) for block in blocks[:100]]}
