"""Models and usage, as people look them up."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from core.commands.services import Services, allowed_models
from core.domain.policy import Actor
from core.domain.view import ModelItem, UsageLine
from core.i18n import text
from core.llm.floating import is_fixed
from core.prompts.pinned import load_pinned
from core.store.reported import reported_models
from core.store.usage import usage_by

USAGE_DAYS = 30


async def list_models(services: Services, actor: Actor) -> tuple[ModelItem, ...]:
    """The catalogue in its order, each model with whether the workspace may use it, and whether it is still itself."""
    allowed = allowed_models(services, services.policy(actor.workspace))
    listed = await asyncio.to_thread(load_pinned)
    async with services.store.reading() as session:
        reported = await reported_models(session)
    return tuple(
        ModelItem(
            alias=model.alias,
            model_id=model.id,
            demo=model.demo,
            local=model.local,
            context_tokens=model.context_tokens,
            input_price=model.input_price,
            output_price=model.output_price,
            vision=model.vision,
            trains_on_data=model.trains_on_data,
            fixed=is_fixed(model, listed),
            reported=reported.get((model.alias, model.id)),
            allowed=model.alias in allowed,
        )
        for model in services.models.models.values()
    )


async def show_usage(
    services: Services, actor: Actor, *, by: Literal["day", "model", "person"]
) -> tuple[UsageLine, ...]:
    """Calls, tokens and cost of the actor's workspace over the last 30 days."""
    since = services.clock.now() - timedelta(days=USAGE_DAYS)
    async with services.store.reading() as session:
        lines = await usage_by(session, actor.workspace_id, since, by=by)
    unnamed = text(actor.locale, "present.blind_models")
    return tuple(line if line.label else replace(line, label=unnamed) for line in lines)
