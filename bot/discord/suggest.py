"""Values that Discord suggests while an option of a command is typed."""

from bot.discord.action import Spot
from bot.discord.limit import CHOICE_TEXT, PLATFORM, size
from bot.discord.prompt_card import suggested, suggested_versions
from bot.discord.sending_card import every
from bot.prompt_outline import EVAL, RELOAD, STATUS
from core.commands.artifact import list_saved
from core.commands.model import list_models
from core.commands.place import thread_at
from core.commands.prompt import list_prompts, show_prompt
from core.commands.services import Services
from core.commands.thread import list_channels, show_thread
from core.domain.policy import Actor
from core.domain.view import AnswerView, MessageView
from core.i18n import text


async def suggest(
    services: Services, actor: Actor, spot: Spot, option: str, begun: str
) -> list[tuple[str, str]]:
    """What an option may hold, as it is shown and as it is sent; nothing for one without suggestions."""
    match option:
        case "model" | "moderator":
            return await _models(services, actor, begun)
        case "models":
            return await _next_model(services, actor, begun)
        case "workflow":
            return _workflows(services, actor, begun)
        case "position" | "answers":
            return await _positions(services, actor, spot, begun)
        case "prompt":
            return await _prompts(services, actor, begun)
        case "to":
            return await _threads(services, actor, spot, begun)
        case "artifact":
            return await _artifacts(services, actor, spot, begun)
        case _:
            return []


async def _models(services: Services, actor: Actor, begun: str) -> list[tuple[str, str]]:
    models = await list_models(services, actor)
    return [(m.alias, m.alias) for m in models if m.allowed and begun.lower() in m.alias.lower()]


async def _next_model(services: Services, actor: Actor, begun: str) -> list[tuple[str, str]]:
    """Lists that hold the models typed so far, the last one completed. Those too long to be sent are left out."""
    typed, divided, last = begun.rpartition(",")
    before = f"{typed.strip()}, " if divided else ""
    lists = [before + alias for alias, _ in await _models(services, actor, last.strip())]
    return [(each, each) for each in lists if size(each) <= CHOICE_TEXT]


async def _prompts(services: Services, actor: Actor, begun: str) -> list[tuple[str, str]]:
    """Names of prompts and the words that stand beside them; behind a name and a blank its versions."""
    name, divided, number = begun.lstrip().partition(" ")
    if name.lower() == EVAL and divided:
        listed = suggested(await list_prompts(services, actor), actor.locale)
        return [(f"{EVAL} {label}", f"{EVAL} {value}") for label, value in listed if number.strip() in value]
    if divided:
        page = await show_prompt(services, actor, name)
        wanted = f"{name} {number.strip().lstrip('v')}"
        found = suggested_versions(name, page.versions, actor.locale)
        return [(label, value) for label, value in found if value.startswith(wanted)]
    words = [
        (text(actor.locale, "console.prompt_processes"), STATUS),
        (text(actor.locale, "console.prompts_reload"), RELOAD),
        (text(actor.locale, "console.evals"), EVAL),
    ]
    found = [*suggested(await list_prompts(services, actor), actor.locale), *words]
    return [(label, value) for label, value in found if name.lower() in value]


def _workflows(services: Services, actor: Actor, begun: str) -> list[tuple[str, str]]:
    found = [
        (f"{workflow.title.in_locale(actor.locale)} ({name})", name)
        for name, workflow in services.workflows.items()
    ]
    return [(label, name) for label, name in found if begun.lower() in label.lower()]


async def _threads(services: Services, actor: Actor, spot: Spot, begun: str) -> list[tuple[str, str]]:
    """The other threads that the person can see, those of the channel first."""
    here = await thread_at(services, actor, spot.place) if spot.thread else None
    channels = await list_channels(services, actor, PLATFORM)
    ordered = sorted(channels, key=lambda one: one.external_id != spot.place.channel)
    found = [
        (f"{one.branch_name or one.title} (#{channel.name})", str(one.thread_id))
        for channel in ordered
        for one in every(channel.threads)
        if one.place.thread and (here is None or one.thread_id != here.id)
    ]
    return [(label, value) for label, value in found if begun.lower() in label.lower()]


async def _artifacts(services: Services, actor: Actor, spot: Spot, begun: str) -> list[tuple[str, str]]:
    found = await thread_at(services, actor, spot.place) if spot.thread else None
    saved = await list_saved(services, actor, found.id) if found else ()
    fitting = [item.name for item in saved if size(item.name) <= CHOICE_TEXT]
    return [(name, name) for name in fitting if begun.lower() in name.lower()]


async def _positions(services: Services, actor: Actor, spot: Spot, begun: str) -> list[tuple[str, str]]:
    """The newest messages of the thread, for whoever may see it; nobody else is told anything."""
    found = await thread_at(services, actor, spot.place) if spot.thread else None
    if found is None:
        return []
    page = await show_thread(services, actor, found.id)
    wanted = begun.strip().lstrip("#").lower()
    lines = []
    for item in reversed(page.items):
        if isinstance(item, MessageView | AnswerView) and item.position:
            author = item.author if isinstance(item, MessageView) else item.model
            line = f"#{item.position} {author}: {' '.join(item.text.split())}"
            if str(item.position).startswith(wanted) or wanted in line.lower():
                lines.append((line, str(item.position)))
    return lines
