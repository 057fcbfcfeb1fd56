"""A case made of an answer: shown as it would be stored, after masking, and stored once a person confirms it."""

import asyncio
import hashlib
import json
import re

from core.commands.eval_set import SET_FILE, checked_set, next_version, save_eval_set, set_name
from core.commands.eval_standing import access_evals
from core.commands.receipt import show_ai_input
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_set import (
    FROM_THREADS,
    SET_NAME_CHARS,
    TEAM_SETS,
    LogCase,
    LogCaseRequest,
    SavedEvalSet,
)
from core.domain.message import Message
from core.domain.policy import Action, Actor
from core.domain.prompt import change_reason, one_line
from core.domain.receipt import Origin
from core.domain.view import Phrase, ReceiptView
from core.prompts.eval_case_file import log_case_text
from core.prompts.eval_masking import LookedThrough, Masker
from core.prompts.eval_set import CaseKind, CaseOrigin, EvalCase, Line, OriginType, Source
from core.prompts.masking import BLIND_SPOTS
from core.store.claim import find_settled
from core.store.eval_set import StoredEvalSet, newest_eval_sets
from core.store.message import find_messages
from core.store.workspace import people

_SAID = (Origin.FIRST_MESSAGE, Origin.HISTORY, Origin.REQUEST)
_LEFT_OUT = (Origin.HANDOVER, Origin.ATTACHMENT, Origin.OMITTED_NOTE)
_CASE_ID = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
CASE_ID_CHARS = 60
MOST_HUMAN_CHARS = 500
MOST_MASKED_WORDS = 50


async def preview_case(services: Services, actor: Actor, request: LogCaseRequest) -> LogCase:
    """What would be stored of an answer, for an editor who can see its thread. Nothing is stored. Raises Refusal."""
    making = await _making(services, actor, request)
    return making.shown()


async def keep_case(
    services: Services, actor: Actor, request: LogCaseRequest, *, event_key: str
) -> SavedEvalSet:
    """Store a case as it was shown, in the next version of its set. Raises Refusal; nothing was stored then."""
    reason = change_reason(request.reason)
    access_evals(services, actor, Action.EDIT_PROMPT)
    async with services.store.reading() as session:
        settled = await find_settled(session, actor.workspace_id, event_key)
    if settled is not None:
        return SavedEvalSet(name=settled["name"], version=settled["version"], cases=settled["cases"])
    making = await _making(services, actor, request)
    if request.seen != making.sha256:
        raise Refusal("eval_case_changed")
    files = making.files()
    data = {path: text.encode() for path, text in files.items()}
    eval_set = await checked_set(services, actor, making.eval_set, data)
    sources = {making.looked.case.id: [message.id for message in making.said]}
    return await save_eval_set(services, actor, eval_set, files, reason, event_key=event_key, sources=sources)


class _Making:
    """A case on its way from a receipt into a set."""

    def __init__(
        self,
        view: ReceiptView,
        said: list[Message],
        looked: LookedThrough,
        eval_set: str,
        own: list[StoredEvalSet],
    ) -> None:
        self.view = view
        self.said = said
        self.looked = looked
        self.eval_set = eval_set
        self.own = own

    @property
    def _stored(self) -> StoredEvalSet | None:
        return next((one for one in self.own if one.name == self.eval_set), None)

    @property
    def text(self) -> str:
        return log_case_text(self.looked.case)

    @property
    def sha256(self) -> str:
        """Of what comes from the thread; the rest the person types when it was shown."""
        said = [[line.by, line.text] for line in self.looked.case.source.messages]
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def files(self) -> dict[str, str]:
        """All files of the set's next version. Raises Refusal for a case id that its file has already."""
        case, stored = self.looked.case, self._stored
        path = f"cases/{case.id}.yaml"
        head = f"id: {self.eval_set}\nversion: 1\nprompts: [{case.prompt}]\n"
        before = next_version(stored.files) if stored else {SET_FILE: head}
        if path in before:
            raise Refusal("eval_case_taken", case=case.id, eval_set=self.eval_set)
        return {**before, path: self.text}

    def shown(self) -> LogCase:
        case = self.looked.case
        return LogCase(
            receipt_id=self.view.receipt_id,
            thread_id=self.view.thread_id,
            prompt=case.prompt,
            eval_set=self.eval_set,
            is_new_set=self._stored is None,
            sets=tuple(one.name for one in self.own),
            case_id=case.id,
            kind=case.kind.value,
            lines=tuple((line.by, line.text) for line in case.source.messages),
            masked={f"personal.{kind}": count for kind, count in self.looked.counts.items()},
            doubts=tuple(
                (Phrase(key=f"personal_doubt.{one.doubt}"), one.text) for one in self.looked.to_check
            ),
            blind_spots=BLIND_SPOTS,
            left_out=_left_out(self.view),
            sha256=self.sha256,
        )


async def _making(services: Services, actor: Actor, request: LogCaseRequest) -> _Making:
    """Raises Refusal. The receipt is looked at as the actor may see it now."""
    access_evals(services, actor, Action.EDIT_PROMPT)
    view = await show_ai_input(services, actor, request.receipt_id)
    prompt = next((ref.name for ref in view.prompts if ref.name in FROM_THREADS), None)
    if prompt is None:
        raise Refusal("eval_case_no_chat", allowed=", ".join(FROM_THREADS))
    if view.erased or view.expired:
        raise Refusal("eval_case_text_gone")
    ids = [part.message_id for part in view.parts if part.message_id and part.origin in _SAID]
    async with services.store.reading() as session:
        said = await find_messages(session, actor.workspace_id, list(dict.fromkeys(ids)))
        names = [person.name for person in await people(session, actor.workspace_id)]
        own = await newest_eval_sets(session, actor.workspace_id)
    spoken = [message.author.name for message in said if not message.is_answer]
    masker = Masker.of(actor.workspace_id, [*names, *spoken, *_words(request.also_mask)])
    case = _case(actor, request, prompt, said, services.clock.now().date().isoformat())
    looked = await asyncio.to_thread(masker.look, case)
    of_prompt = [one for one in own if prompt in (await services.evals.stored(one.name, one.files)).prompts]
    wanted = request.eval_set.strip() or (of_prompt[0].name if of_prompt else _usual_set(prompt))
    if any(one.name == wanted for one in own) and all(one.name != wanted for one in of_prompt):
        raise Refusal("eval_case_other_set", eval_set=wanted, prompt=prompt)
    return _Making(view, said, looked, set_name(wanted), of_prompt)


def _words(given: tuple[str, ...]) -> list[str]:
    words = [word.strip() for word in given if word.strip()]
    if len(words) > MOST_MASKED_WORDS:
        raise Refusal("eval_case_words", had=len(words), limit=MOST_MASKED_WORDS)
    return words


def _usual_set(prompt: str) -> str:
    return f"{TEAM_SETS}{re.sub(r'[^a-z0-9]+', '-', prompt)}"[:SET_NAME_CHARS]


def _case(actor: Actor, request: LogCaseRequest, prompt: str, said: list[Message], today: str) -> EvalCase:
    case_id = request.case_id.strip() or f"log-{request.receipt_id[-8:]}"
    if not _CASE_ID.fullmatch(case_id) or len(case_id) > CASE_ID_CHARS:
        raise Refusal("eval_case_id", case=case_id[:CASE_ID_CHARS], limit=CASE_ID_CHARS)
    kind = request.kind or CaseKind.PAST_FAILURE.value
    if kind not in {one.value for one in CaseKind}:
        raise Refusal("form_stale")
    human = one_line(request.human)
    if len(human) > MOST_HUMAN_CHARS:
        raise Refusal("eval_case_human_long", limit=MOST_HUMAN_CHARS)
    lines = tuple(_line(message) for message in said if message.text.strip())
    if not lines or not lines[-1].by:
        raise Refusal("eval_case_text_gone")
    return EvalCase(
        id=case_id,
        prompt=prompt,
        kind=CaseKind(kind),
        origin=CaseOrigin(type=OriginType.MASKED_LOG, masked_by=actor.person_id, masked_at=today),
        inputs={},
        source=Source(messages=lines),
        checks=(),
        human=(human,) if human else (),
    )


def _line(message: Message) -> Line:
    return Line(by="" if message.is_answer else message.author.name.strip() or "-", text=message.text)


def _left_out(view: ReceiptView) -> tuple[Phrase, ...]:
    """What the model was sent besides messages; an image counts as a file."""
    found = {part.origin for part in view.parts if part.origin in _LEFT_OUT}
    if any(part.images for part in view.parts):
        found.add(Origin.ATTACHMENT)
    return tuple(Phrase(key=f"origin.{origin.value}") for origin in _LEFT_OUT if origin in found)
