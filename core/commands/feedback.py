"""Feedback on answers: a thumb and a comment, one of each person and answer."""

from core.commands.services import Services, access_answer
from core.domain.feedback import Thumb, comment_text
from core.domain.policy import Action, Actor
from core.files.charset import clean
from core.store.claim import claim, settle
from core.store.feedback import do_give_feedback, do_withdraw_feedback, thumbs_of


async def give_feedback(
    services: Services, actor: Actor, ref: str, thumb: str, *, comment: str | None = None, event_key: str
) -> Thumb | None:
    """Say what one holds of an answer, in place of what one said before; what is kept of it then. Raises Refusal.

    `ref` is the answer's id; `thread/id` names a branch that inherited it. The same thumb once more, without a
    comment, takes the feedback back, and None is returned. A comment of None leaves the one that is there.
    """
    wanted = Thumb.read(thumb)
    said = None if comment is None else comment_text(clean(comment))
    _, answer = await access_answer(services, actor, Action.GIVE_FEEDBACK, ref)
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return Thumb(earlier["thumb"]) if earlier["thumb"] else None
        had = await thumbs_of(session, actor.workspace_id, actor.person_id, [answer.id])
        kept = None if said is None and had.get(answer.id) is wanted else wanted
        if kept is None:
            await do_withdraw_feedback(session, actor.workspace_id, actor.person_id, answer.id)
        else:
            await do_give_feedback(
                session,
                actor.workspace_id,
                actor.person_id,
                answer.id,
                wanted,
                comment=said,
                now=services.clock.now(),
            )
        await settle(session, actor.workspace_id, (event_key,), {"thumb": kept.value if kept else ""})
    services.feedback(kept)
    return kept
