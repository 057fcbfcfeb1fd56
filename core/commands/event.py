"""Events of a platform that come to an adapter more than once, for what no other command remembers."""

from core.commands.services import Services
from core.domain.policy import Actor
from core.store.claim import claim


async def is_first(services: Services, actor: Actor, key: str) -> bool:
    """Whether nobody asked with this key before, in this process or another. Raises StoreUnavailable."""
    async with services.store.writing() as session:
        return await claim(session, actor.workspace_id, (key,), services.clock) is None
