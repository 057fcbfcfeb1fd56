"""Care for data: erase a person's content (spec §13)."""

from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Action, Actor, Subject, authorise
from core.ports import Clock
from core.store.audit import do_audit
from core.store.database import Store
from core.store.erasure import Erased, do_erase_person
from core.store.workspace import find_person, workspace_anywhere


async def erase_person(services: Services, actor: Actor, person_external_id: str) -> Erased:
    """Blank all content of a person in the actor's workspace; one's own, or anyone's for an administrator.

    Raises Refusal. The act is in the audit log, the content is not.
    """
    async with services.store.reading() as session:
        person = await find_person(session, actor.workspace_id, person_external_id)
    if person is None:
        raise Refusal("person_not_found", person=person_external_id)
    subject = Subject(visible=True, author_id=PersonId(person.id))
    authorise(actor, Action.ERASE, subject, services.policy(actor.workspace))
    return await _erased(
        services.store, services.clock, actor.workspace_id, PersonId(person.id), actor.person_id
    )


async def erase_for_operator(store: Store, clock: Clock, workspace: str, person_external_id: str) -> Erased:
    """The same for whoever runs the product; `workspace` is the platform's id of it. Raises Refusal."""
    async with store.reading() as session:
        row = await workspace_anywhere(session, workspace)
        if row is None:
            raise Refusal("workspace_not_found", workspace=workspace)
        person = await find_person(session, WorkspaceId(row.id), person_external_id)
    if person is None:
        raise Refusal("person_not_found", person=person_external_id)
    return await _erased(store, clock, WorkspaceId(row.id), PersonId(person.id), None)


async def _erased(
    store: Store, clock: Clock, workspace_id: WorkspaceId, person_id: PersonId, actor_id: PersonId | None
) -> Erased:
    async with store.writing() as session:
        erased = await do_erase_person(session, workspace_id, person_id)
        await do_audit(
            session,
            workspace_id,
            actor_id=actor_id,
            action="erase",
            subject_id=person_id,
            clock=clock,
            details={
                "messages": erased.messages,
                "receipts": erased.receipts,
                "attachments": erased.attachments,
            },
        )
    return erased
