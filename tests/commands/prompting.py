"""Shorthands with which tests change prompts."""

from dataclasses import replace

from core.commands.prompt import show_prompt
from core.commands.prompt_edit import save_version
from core.commands.prompt_live import promote, roll_back
from core.domain.policy import Actor
from core.domain.prompt import (
    SHIPPED,
    PromoteRequest,
    PromptMoved,
    PromptPage,
    PromptSource,
    PromptText,
    RollBackRequest,
    SavedVersion,
    SaveRequest,
)
from core.store.prompt_library import Prompts
from tests.product import World

CHAT = "chat.answer"
RULE = "\nNever use more than one exclamation mark.\n"


async def page(world: World, actor: Actor, name: str = CHAT) -> PromptPage:
    return await show_prompt(world.services, actor, name)


async def edited(world: World, actor: Actor, add: str, name: str = CHAT) -> PromptText:
    """The live text with a line more at the end of its rules, as somebody who has just opened it has it."""
    seen = await page(world, actor, name)
    return PromptText(
        name=name,
        base_id=seen.live_id,
        head_id=seen.head_id,
        files={"system.md": seen.files["system.md"] + add},
    )


async def save(
    world: World,
    actor: Actor,
    text: PromptText,
    *,
    reason: str = "people asked for it",
    version: str = "",
    acknowledged: bool = False,
    key: str = "",
) -> SavedVersion:
    request = SaveRequest(text=text, reason=reason, source=PromptSource.CONSOLE, version=version)
    request = replace(request, acknowledged=acknowledged)
    return await save_version(world.services, actor, request, event_key=key or world.clock.new_id())


async def make_live(
    world: World,
    actor: Actor,
    version_id: str,
    name: str = CHAT,
    *,
    acknowledged: bool = False,
    override: bool = True,
    key: str = "",
) -> PromptMoved:
    """Promote past the eval set, as what a person sees now."""
    rev = (await page(world, actor, name)).rev
    request = PromoteRequest(
        name=name,
        version_id=version_id,
        rev=rev,
        reason="tried by hand for a week",
        acknowledged=acknowledged,
        override=override,
    )
    return await promote(world.services, actor, request, event_key=key or world.clock.new_id())


async def withdraw(
    world: World,
    actor: Actor,
    to: str = SHIPPED,
    name: str = CHAT,
    *,
    reason: str = "answers became too dry",
    key: str = "",
) -> PromptMoved:
    rev = (await page(world, actor, name)).rev
    request = RollBackRequest(name=name, version_id=to, rev=rev, reason=reason)
    return await roll_back(world.services, actor, request, event_key=key or world.clock.new_id())


async def as_newer_release(
    prompts: Prompts, add: str = "A rule of the new release.", name: str = CHAT, version: str = "1.3.0"
) -> None:
    """Put a newer text into the place of a file, as a start with a newer release does."""
    file = prompts.shipped.get(name)
    parts = replace(file.parts, system=f"{file.parts.system}\n\n{add}")
    newer = replace(file, version=version, parts=parts, sha256=parts.sha256)
    prompts.shipped = replace(prompts.shipped, versions={**prompts.shipped.versions, name: newer})
    await prompts.start()
