"""Tenants are apart in every query: ids of another workspace find nothing and change nothing (spec §13)."""

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, NoResultFound

import core.store
from core.domain.adoption import AdoptionStatus, ReviewDraft, ReviewTexts
from core.domain.errors import FailureKind, Refusal
from core.domain.eval_gate import HumanVerdict, Judgement
from core.domain.eval_run import EvalStatus
from core.domain.eval_set import HeldCase, QuarantineKind
from core.domain.feedback import Thumb
from core.domain.ids import MessageId, ReceiptId, RunId, WorkspaceId
from core.domain.pin import Pin, PinKind
from core.domain.policy import Policy
from core.domain.prompt import PromptEventKind, PromptLabel
from core.domain.thread import Mode, Status
from core.ports import PostRef
from core.prompts.eval_library import EvalLibrary
from core.store.adoption import Adoption, do_add_adoption, do_add_review, do_keep_review
from core.store.artifact import NewVersion, do_save
from core.store.audit import do_audit, do_notice
from core.store.claim import claim, settle
from core.store.database import Store
from core.store.eval_quarantine import do_hold_case
from core.store.eval_set import do_add_eval_set
from core.store.evaluation import do_add_eval, do_add_result, do_give_verdict, do_mark_eval
from core.store.feedback import do_give_feedback
from core.store.handover import Handover, do_add_handover
from core.store.high_water import do_raise_high_water
from core.store.installation import Sealed, do_install
from core.store.message import do_add_message, do_keep_file, find_message
from core.store.pin import do_add_pin
from core.store.post import do_remember_post
from core.store.prompt import (
    PromptEvent,
    StoredDraft,
    do_add_event,
    do_add_version,
    do_keep_draft,
)
from core.store.prompt_pointer import do_move_pointer
from core.store.receipt import do_add_receipt
from core.store.step import Step, do_begin_step, do_end_step
from core.store.tables import Row
from core.store.thread import do_add_thread
from core.store.workspace import do_add_channel, do_add_workspace
from tests.product import SteppingClock
from tests.store.ground import Ground, a_branch, a_line, a_prompt, a_result, an_eval, an_eval_set, prepare

Function = Callable[..., Awaitable[Any]]

WITHOUT_WORKSPACE = {
    # What they are given was found with a workspace, and names it or stands in it.
    "adoption.already_copied",
    "adoption.artifacts_of",
    "adoption.content_hash",
    "adoption.do_add_adoption",
    "adoption.do_add_review",
    "adoption.do_append_messages",
    "adoption.do_close",
    "adoption.do_copy_version",
    "adoption.own_artifacts",
    "adoption.own_messages",
    "artifact.do_add_version",
    "artifact.next_number",
    "carried.load_carried",
    "eval_set.do_add_eval_set",
    "evaluation.do_add_eval",
    "handover.do_add_handover",
    "message.entries_between",
    "message.entry_at",
    "message.latest_version",
    "message.length",
    "message.position_in",
    "message.position_of",
    "message.read_window",
    "message.with_attachments",
    "page.load_branch_header",
    "page.read_stretch",
    "prompt.do_add_version",
    "run.do_add_run",
    "thread.chain",
    "thread.count_branches",
    "thread.do_add_thread",
    "thread.do_branch",
    "thread.unopened_branch",
    "turn.load_turn",
    # How a workspace itself is found or begun.
    "prompt.do_register",
    "workspace.do_add_workspace",
    "workspace.find_workspace",
    # For schedules, the operator's own commands, and what belongs to an installation.
    "adoption.run_out",
    "evaluation.open_evals",
    "high_water.command_hash",
    "high_water.do_note_command_hash",
    "installation.all_installations",
    "installation.find_installation",
    "prompt_process.do_forget",
    "prompt_process.do_forget_silent",
    "prompt_process.do_next_generation",
    "prompt_process.do_report",
    "prompt_process.generation",
    "prompt_process.processes",
    "reported.do_note_reported",
    "reported.reported_models",
    "run.left_behind",
    "thread.thread_anywhere",
    "workspace.all_workspaces",
    "workspace.workspace_anywhere",
}
"""Public functions that take no workspace, each group with its reason."""

OWN = {"workspace.external_id_of", "workspace.platform_of", "prompt_pointer.live_refs"}
"""Readers that always find something: what belongs to the asking workspace."""

EMPTY_HERE = {"step.steps_said", "message.answer_of", "receipt.receipt_of_answer", "message.models_of_thread"}
"""Readers of answers, of which the victim has none."""

NOTHING: tuple[Any, ...] = (None, "", [], {}, (), 0.0, False)


def functions() -> Iterator[tuple[str, Function]]:
    """Every public function of the store that speaks to the database."""
    for module in pkgutil.iter_modules(core.store.__path__):
        if module.name in {"database", "migrations", "tables"}:
            continue
        found = importlib.import_module(f"core.store.{module.name}")
        for name, each in vars(found).items():
            own = inspect.iscoroutinefunction(each) and each.__module__ == found.__name__
            if own and not name.startswith("_"):
                yield f"{module.name}.{name}", each


FUNCTIONS = dict(functions())
TENANTS = {n: f for n, f in FUNCTIONS.items() if "workspace_id" in inspect.signature(f).parameters}


@dataclass
class Victim:
    """A workspace with one of everything, and its ids under the names that the store's functions use."""

    ground: Ground
    values: dict[str, Any]


async def victim(store: Store) -> Victim:
    ground = await prepare(store)
    clock, thread, workspace_id = ground.clock, ground.thread, ground.workspace_id
    message = await ground.say("secret words")
    run = await ground.add_run(message)
    receipt = await ground.add_receipt(run, message)
    malformed = replace(
        receipt, id=ReceiptId(clock.new_id()), step="mended", failure=FailureKind.MALFORMED.value
    )
    ref = PostRef(place=thread.place, ids=("post-1",))
    step = Step(run_id=run.id, step="answer", ordinal=1, model="alpha", line="main", status="running")
    new = NewVersion(text="secret draft", author=message.author, reason="secret reason")
    sealed = Sealed(token="secret token", refresh_token="", expires_at=None)
    spare = ground.message("secret words that stand nowhere")
    async with store.writing() as session:
        await do_keep_file(session, workspace_id, "f" * 64, b"secret bytes")
        await do_notice(session, workspace_id, thread.id, "notice.branched", {"name": "secret"}, clock=clock)
        await do_audit(
            session, workspace_id, actor_id=None, action="branch", subject_id=thread.id, clock=clock
        )
        await claim(session, workspace_id, ("event-1",), clock)
        await settle(session, workspace_id, ("event-1",), {"secret": "result"})
        await do_begin_step(session, workspace_id, step)
        await do_end_step(session, workspace_id, replace(step, status="done", receipt_id=receipt.id))
        await do_add_receipt(session, workspace_id, malformed, ground.person_id)
        await do_remember_post(session, workspace_id, ref, thread_id=thread.id, run_id=run.id, step="answer")
        shown = PostRef(place=thread.place, ids=("post-2",))
        await do_remember_post(
            session, workspace_id, shown, thread_id=thread.id, run_id=run.id, step="post:answer"
        )
        await do_install(session, workspace_id, details={}, sealed=sealed, installed_by="U1", now=clock.now())
        await do_raise_high_water(session, workspace_id, source="channel", mark="secret mark", clock=clock)
        await do_add_channel(
            session,
            workspace_id,
            external_id="C9",
            name="secret channel",
            visibility="public",
            members=(ground.person_id,),
            clock=clock,
        )
        version = await do_save(session, workspace_id, thread.id, name="secret name", new=new, clock=clock)
        await do_add_message(session, workspace_id, spare)
        await do_give_feedback(
            session, workspace_id, ground.person_id, message.id, Thumb.DOWN, comment="secret", now=clock.now()
        )
        row = await find_message(session, workspace_id, spare.id)
    carried = await carry(store, ground)
    prompted = await keep_prompt(store, ground)
    evaluated = await keep_eval(store, ground)
    later = clock.now() + timedelta(days=1)
    return Victim(
        ground,
        {
            "action": "forged",
            "actor_id": None,
            "answer": row,
            "artifact_id": version.artifact_id,
            "before": later,
            "by": "model",
            "channel": "C1",
            "channels": ["C1"],
            "clock": clock,
            "conversation": a_line(clock, thread, "another"),
            "conversation_id": ground.line.id,
            "data": b"forged bytes",
            "details": {},
            "external_id": message.external_id,
            "failure": None,
            "expected_usd": 0.0,
            "fields": {},
            "installed_by": "U9",
            "key": "notice.branched",
            "keys": ("event-1",),
            "kind": "text",
            "line": "main",
            "locale": "en",
            "mark": "forged mark",
            "members": (),
            "message": replace(message, id=MessageId(clock.new_id()), text="forged"),
            "message_id": message.id,
            "message_ids": [message.id],
            "most": 10,
            "beginning": "post:",
            "name": "secret name",
            "new": replace(new, text="forged"),
            "new_id": spare.id,
            "now": later,
            "old_id": message.id,
            "person_external_id": "U1",
            "person_id": ground.person_id,
            "place": thread.place,
            "policy": Policy(budget_workspace_usd_month=0.1),
            "platform": "test",
            "receipt": replace(receipt, id=ReceiptId(clock.new_id()), step="forged"),
            "receipt_id": receipt.id,
            "receipt_ids": [receipt.id],
            "ref": ref,
            "replaces": True,
            "request_id": message.id,
            "request_ids": [message.id],
            "result": {"forged": "result"},
            "run_id": run.id,
            "run_ids": [run.id],
            "sealed": replace(sealed, token="forged"),
            "setup": {"forged": "setup"},
            "sha256": "f" * 64,
            "since": clock.now() - timedelta(days=1),
            "source": "channel",
            "status": "failed",
            "step": "answer",
            "subject_id": thread.id,
            "target": thread.id,
            "thread_id": thread.id,
            "texts": ["secret words"],
            "title": "forged",
            "turns": [replace(step, step="mended", receipt_id=receipt.id)],
            "thumb": Thumb.UP,
            "until": later,
            "version_id": version.id,
            "workflows": {},
            "visibility": "public",
            # The same name means something else to these.
            "artifact.do_copy_artifacts.source": thread.id,
            "run.last_run.kind": "chat",
            "comment": "forged",
            "claim.find_settled.key": "event-1",
            "message.do_append.message_id": spare.id,
            "budget.check_budget.now": clock.now(),
            "budget.do_release.step": "answer",
            "budget.do_reserve.now": clock.now(),
            "budget.do_reserve.policy": Policy(),
            "post.find_post.external_id": "post-1",
            "step.do_begin_step.step": replace(step, step="forged"),
            "step.do_end_step.step": replace(step, status="failed"),
            "step.steps_said.before": RunId("ffffffff"),
            "workspace.find_person.external_id": "U1",
        }
        | carried
        | prompted
        | evaluated,
    )


async def keep_prompt(store: Store, ground: Ground) -> dict[str, Any]:
    """A live version of a prompt of the victim with a draft and a record, and their ids."""
    workspace_id, clock = ground.workspace_id, ground.clock
    prompt = a_prompt(ground, "team.secret", 1)
    draft = StoredDraft(
        name=prompt.name,
        author_id=ground.person_id,
        base_id=prompt.id,
        head_id=prompt.id,
        files={"system.md": "secret draft"},
        updated_at=clock.now(),
    )
    event = PromptEvent(
        id=ground.id(),
        name=prompt.name,
        kind=PromptEventKind.SAVE,
        from_id=None,
        to_id=prompt.id,
        actor_id=ground.person_id,
        reason="secret reason",
        before={},
        after=prompt.files,
        created_at=clock.now(),
    )
    async with store.writing() as session:
        assert await do_add_version(session, prompt)
        await do_keep_draft(session, workspace_id, draft)
        await do_add_event(session, workspace_id, event)
        await do_move_pointer(session, workspace_id, prompt.name, PromptLabel.PRODUCTION, prompt.id, rev=0)
    return {
        "event": replace(event, id=ground.id(), reason="forged reason"),
        "label": PromptLabel.PRODUCTION,
        "names": [prompt.name],
        "refs": [prompt.ref],
        "rev": 1,
        "version_ids": [prompt.id],
        "prompt.do_drop_draft.name": prompt.name,
        "prompt.do_keep_draft.draft": replace(draft, files={}),
        "prompt.newest_own.name": prompt.name,
        "prompt.prompt_events.name": prompt.name,
        "prompt_pointer.do_move_pointer.name": prompt.name,
        "prompt_pointer.do_move_pointer.version_id": prompt.id,
    }


async def keep_eval(store: Store, ground: Ground) -> dict[str, Any]:
    """A finished evaluation of the victim with a result and a verdict, one under way, and their ids."""
    workspace_id, now = ground.workspace_id, ground.clock.now()
    run, done = an_eval(ground), an_eval(ground)
    result = a_result(ground)
    verdict = HumanVerdict(
        case_id="S1",
        criterion="",
        output_sha256="f" * 64,
        judgement=Judgement.FAIL,
        person=ground.person_id,
        comment="secret comment",
    )
    async with store.writing() as session:
        for one in (run, done):
            await do_add_eval(session, one)
        await do_add_result(session, workspace_id, run.id, result)
        await do_give_verdict(session, workspace_id, run.prompt, run.id, verdict, now)
        await do_mark_eval(session, workspace_id, done.id, EvalStatus.DONE, now=now)
        kept = an_eval_set(ground, sources={"S1": ["secret-message"]})
        assert await do_add_eval_set(session, kept)
        aside = HeldCase(
            held_id=ground.id(),
            eval_set=kept.name,
            case_id="S1",
            kind=QuarantineKind.WRONG,
            reason="secret reason",
            who="Aki",
            owner_id=ground.person_id,
            since=now,
            until=now + timedelta(days=1),
        )
        assert await do_hold_case(session, workspace_id, aside)
    return {
        "eval_set": kept.name,
        "held_id": aside.held_id,
        "held": replace(aside, held_id=ground.id(), since=aside.until),
        "eval_quarantine.do_release_case.by": ground.person_id,
        "eval_quarantine.do_release_case.now": now,
        "library": EvalLibrary(dict),
        "eval_set.do_erase_cases.message_ids": ["secret-message"],
        "eval_set.find_eval_set.sha256": kept.sha256,
        "eval_set.eval_set_now.name": kept.name,
        "eval_set.eval_set_versions.name": kept.name,
        "eval_set.find_eval_set.name": kept.name,
        "after": run.candidate,
        "eval_id": run.id,
        "eval_ids": [run.id],
        "prompt": run.prompt,
        "verdict": replace(verdict, comment="forged"),
        "evaluation.evals_for.before": run.baseline,
        "evaluation.do_mark_eval.status": EvalStatus.FAILED,
        "evaluation.do_hold.policy": Policy(),
        "evaluation.do_hold.now": now,
        "evaluation.do_add_result.result": replace(result, place=replace(result.place, repeat=2)),
    }


async def carry(store: Store, ground: Ground) -> dict[str, Any]:
    """A pin, handovers in every state, a review and a pending adoption of the victim, with their ids."""
    clock, thread, workspace_id = ground.clock, ground.thread, ground.workspace_id
    branch, target = a_branch(ground, thread), await ground.add_thread()
    pin = Pin(
        id=ground.id(),
        root_id=(root := ground.id()),
        kind=PinKind.DECISION,
        text="secret decision",
        message_id=None,
        author="Aki",
        created_at=clock.now(),
    )
    drafting = Handover(
        id=ground.id(),
        workspace_id=workspace_id,
        source_thread_id=thread.id,
        target_thread_id=None,
        target_mode=Mode.CHAT,
        status="drafting",
        centre_id=None,
        draft={},
        fields={"summary": "secret summary"},
        person_id=ground.person_id,
        created_at=clock.now(),
    )
    draft = replace(drafting, id=ground.id(), status="draft")
    sent = replace(drafting, id=ground.id(), status="sent", target_thread_id=target.id)
    adoption = Adoption(
        id=ground.id(),
        workspace_id=workspace_id,
        branch_id=branch.id,
        parent_id=thread.id,
        top_id=thread.id,
        status=AdoptionStatus.PENDING,
        requested_by=ground.person_id,
        reason="secret reason",
        review=ReviewTexts(about="secret texts").to_json(),
        messages={},
        artifacts=[],
        created_at=clock.now(),
        expires_at=clock.now(),
    )
    review_id = ground.id()
    async with store.writing() as session:
        await do_add_pin(session, workspace_id, thread.id, pin, ground.person_id)
        for handover in (drafting, draft, sent):
            await do_add_handover(session, handover)
        await do_add_thread(session, branch)
        await do_add_adoption(session, adoption)
        await do_add_review(session, review_id, branch, ground.person_id, clock, reason="")
        reviewed = ReviewDraft(texts=ReviewTexts(about="secret review"))
        await do_keep_review(session, workspace_id, review_id, reviewed.to_json())
    return {
        "adoption_id": adoption.id,
        "author_id": ground.person_id,
        "draft": {"fields": {}},
        "form": {"start": "changed"},
        "found": {"forged": "delivery"},
        "handover_id": sent.id,
        "ids": [pin.id],
        "pin": replace(pin, id=ground.id(), text="forged"),
        "pin_id": pin.id,
        "removed": True,
        "review_id": review_id,
        "root_id": root,
        "target_id": target.id,
        "top_id": thread.id,
        "adoption.do_set_status.status": Status.ADOPTED,
        "handover.do_edit_fields.handover_id": draft.id,
        "handover.do_keep_draft.handover_id": drafting.id,
        "handover.do_send.handover_id": draft.id,
        "pin.do_copy_pins.source": thread.id,
        "pin.do_end_pin.by": ground.person_id,
    }


def arguments(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """The victim's values for the required parameters of a function."""
    wanted = [
        parameter.name
        for parameter in inspect.signature(TENANTS[name]).parameters.values()
        if parameter.name not in {"session", "workspace_id"} and parameter.default is parameter.empty
    ]
    return {each: values.get(f"{name}.{each}", values[each]) for each in wanted}


async def theirs(session: Any, workspace_id: str) -> dict[str, list[Any]]:
    """All rows of a workspace, and what stands in its conversations, whoever put it there."""
    session.expire_all()
    found: dict[str, list[Any]] = {}
    for table in Row.metadata.sorted_tables:
        if "workspace_id" in table.c:
            query = select(table).where(table.c.workspace_id == workspace_id)
            found[table.name] = sorted((tuple(row) for row in await session.execute(query)), key=repr)
    entry, conversation = Row.metadata.tables["entry"], Row.metadata.tables["conversation"]
    standing = (
        select(entry)
        .join(conversation, conversation.c.id == entry.c.conversation_id)
        .where(conversation.c.workspace_id == workspace_id)
    )
    found["standing"] = sorted((tuple(row) for row in await session.execute(standing)), key=repr)
    return found


def writes(name: str) -> bool:
    return name.partition(".")[2].startswith(("do_", "claim", "settle"))


async def test_ids_of_another_workspace_find_nothing_and_change_nothing(sqlite_store: Store) -> None:
    clock = SteppingClock()
    async with sqlite_store.writing() as session:
        row = await do_add_workspace(session, platform="test", external_id="W2", name="Others", clock=clock)
        other = WorkspaceId(row.id)
    target = await victim(sqlite_store)
    for name, function in TENANTS.items():
        given = arguments(name, target.values)
        async with sqlite_store._write_session() as session:
            before = await theirs(session, target.ground.workspace_id)
            assert before["standing"]
            result: Any = None
            # A foreign id may also be refused outright.
            with suppress(NoResultFound, LookupError, IntegrityError):
                async with session.begin_nested():
                    result = await function(session, other, **given)
            assert await theirs(session, target.ground.workspace_id) == before, name
            if not writes(name):
                assert result in NOTHING or name in OWN, (name, result)
            await session.rollback()


async def test_the_same_ids_find_something_in_their_own_workspace(sqlite_store: Store) -> None:
    """Otherwise the test above could pass because of what it asks for."""
    target = await victim(sqlite_store)
    for name, function in TENANTS.items():
        if writes(name):
            continue
        async with sqlite_store.reading() as session:
            try:
                result = await function(session, target.ground.workspace_id, **arguments(name, target.values))
            except Refusal as refusal:
                # A budget is found to be spent.
                result = refusal
        assert result not in NOTHING or name in EMPTY_HERE, name


def test_every_function_of_the_store_takes_a_workspace_or_has_a_reason_not_to() -> None:
    assert FUNCTIONS.keys() - TENANTS.keys() == WITHOUT_WORKSPACE
