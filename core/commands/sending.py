"""Send an artifact to another thread: a copy with its origin, and a line that tells of it there (spec §7)."""

from dataclasses import dataclass

from core.commands.services import Services, access_thread, do_begin_run, enqueue
from core.domain.artifact import artifact_name
from core.domain.errors import Refusal
from core.domain.ids import ThreadId
from core.domain.policy import Action, Actor
from core.domain.thread import Thread
from core.modes.sending import KIND
from core.store.adoption import do_copy_version
from core.store.artifact import do_add_artifact, find_artifact, versions
from core.store.audit import do_audit, do_notice
from core.store.claim import claim, settle
from core.store.database import Session
from core.store.run import Run
from core.store.tables import ArtifactRow, ArtifactVersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    thread_id: str
    """Where the artifact is."""
    name: str
    to_thread_id: str
    number: int | None = None
    """Version to send; the newest when None."""
    new_name: str = ""
    """What it is to be called there; its own name when empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentArtifact:
    thread_id: ThreadId
    name: str


async def send_artifact(
    services: Services, actor: Actor, request: SendRequest, *, event_key: str
) -> SentArtifact:
    """Copy one version into another thread that the actor can see too; its origin goes along.

    A name that is taken there is refused, never overwritten. Raises Refusal.
    """
    source = await access_thread(services, actor, Action.READ, request.thread_id)
    target = await access_thread(services, actor, Action.SAVE, request.to_thread_id)
    if source.id == target.id:
        raise Refusal("artifact_same_thread")
    async with services.store.writing() as session:
        earlier = await claim(session, actor.workspace_id, (event_key,), services.clock)
        if earlier is not None:
            return SentArtifact(thread_id=target.id, name=str(earlier["name"]))
        artifact, version = await _version(session, source, request)
        name = artifact_name(request.new_name) if request.new_name.strip() else artifact.name
        copy = await do_add_artifact(
            session, actor.workspace_id, target.id, name=name, kind=artifact.kind, clock=services.clock
        )
        if copy is None:
            raise Refusal("artifact_name_there", name=name)
        await do_copy_version(session, copy, version, source, clock=services.clock)
        run = await _do_tell(session, services, actor, source, target, name)
        await do_audit(
            session,
            actor.workspace_id,
            actor_id=actor.person_id,
            action="send_artifact",
            subject_id=copy.id,
            clock=services.clock,
            details={"from_thread": source.id, "from_version": version.id},
        )
        await settle(session, actor.workspace_id, (event_key,), {"name": name})
    await enqueue(services, run)
    return SentArtifact(thread_id=target.id, name=name)


async def _version(
    session: Session, source: Thread, request: SendRequest
) -> tuple[ArtifactRow, ArtifactVersionRow]:
    artifact = await find_artifact(session, source.workspace_id, source.id, request.name)
    if artifact is None:
        raise Refusal("artifact_not_found", name=request.name)
    held = await versions(session, source.workspace_id, artifact.id)
    newest = held[-1]
    number = request.number or newest.number
    found = next((row for row in held if row.number == number), None)
    if found is None:
        raise Refusal("version_not_found", name=request.name, number=number, newest=newest.number)
    return artifact, found


async def _do_tell(
    session: Session, services: Services, actor: Actor, source: Thread, target: Thread, name: str
) -> Run:
    fields = {"who": actor.name, "name": name}
    key = "notice.artifact_sent"
    await do_notice(session, actor.workspace_id, target.id, key, fields, clock=services.clock, link=source.id)
    args = {"key": key, "fields": fields, "link": source.id}
    return await do_begin_run(session, services, target, KIND, by=actor.person_id, args=args)
