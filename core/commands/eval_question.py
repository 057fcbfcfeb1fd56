"""What people say of outputs: which ones wait, and verdicts; in chat a button names each, decided once (spec §10)."""

from core.commands.eval import MOST_LISTED
from core.commands.eval_standing import (
    Judged,
    access_evals,
    authorise_verdict,
    find_here,
    judge,
    question_in,
)
from core.commands.services import Services, enqueue
from core.domain.errors import Refusal
from core.domain.eval_gate import HumanVerdict, Judgement, Question
from core.domain.eval_run import MAX_COMMENT_CHARS, EvalQuestion, VerdictRequest
from core.domain.policy import Action, Actor
from core.domain.prompt import one_line
from core.engine.eval_telling import do_begin_telling
from core.i18n import text
from core.modes.evaluating import TOLD
from core.store.claim import claim, find_settled
from core.store.evaluation import do_give_verdict, evals_of


async def human_queue(
    services: Services, actor: Actor, run_id: str | None = None
) -> tuple[EvalQuestion, ...]:
    """What waits for a person in an evaluation; without one, in the newest finished one of every prompt.

    What another person said decides an output, so it is asked about once. Raises Refusal.
    """
    access_evals(services, actor, Action.READ_PROMPT)
    if run_id is not None:
        runs = [await find_here(services, actor, run_id)]
    else:
        async with services.store.reading() as session:
            listed = await evals_of(session, actor.workspace_id, None, most=MOST_LISTED)
        finished = [run for run in listed if run.finished_at is not None]
        runs = list({run.prompt: run for run in reversed(finished)}.values())
    found: list[EvalQuestion] = []
    for run in runs:
        judged = await judge(services, actor, run)
        found += judged.waiting(actor)
    return tuple(found)


async def give_verdict(services: Services, actor: Actor, request: VerdictRequest, *, event_key: str) -> None:
    """Keep what a person says of one output, in the place of what they said before. Raises Refusal."""
    access_evals(services, actor, Action.READ_PROMPT)
    judged = await judge(services, actor, await find_here(services, actor, request.run_id))
    authorise_verdict(services, actor, judged)
    question = question_in(judged, request)
    comment = one_line(request.comment)
    if request.judgement is Judgement.FAIL and not comment:
        raise Refusal("eval_comment_missing")
    if len(comment) > MAX_COMMENT_CHARS:
        raise Refusal("eval_comment_long", limit=MAX_COMMENT_CHARS)
    verdict = HumanVerdict(
        case_id=request.case_id,
        criterion=request.criterion,
        output_sha256=request.output_sha256,
        judgement=request.judgement,
        person=actor.person_id,
        comment=comment,
    )
    told = None
    async with services.store.writing() as session:
        if await claim(session, actor.workspace_id, (event_key,), services.clock) is None:
            await do_give_verdict(
                session, actor.workspace_id, judged.run.prompt, judged.run.id, verdict, services.clock.now()
            )
            told = await do_begin_telling(
                session, services.clock, judged.run, TOLD, by=actor.person_id, question=question.key
            )
    if told is not None:
        await enqueue(services, told)


# --- by buttons -----------------------------------------------------------------------------------------------------


async def show_question(services: Services, actor: Actor, ref: str) -> EvalQuestion:
    """A question that waits for a person; `ref` is what its button carries. Raises Refusal, also once it is decided."""
    judged, question = await _asked(services, actor, ref)
    return judged.asked(question, actor.person_id)


async def answer_question(
    services: Services, actor: Actor, ref: str, judgement: Judgement, comment: str = "", *, event_key: str
) -> None:
    """Keep what a person says of an output that waits for it. Raises Refusal, also once others have decided."""
    access_evals(services, actor, Action.READ_PROMPT)
    async with services.store.reading() as session:
        if await find_settled(session, actor.workspace_id, event_key) is not None:
            return
    judged, question = await _asked(services, actor, ref)
    request = VerdictRequest(
        run_id=judged.run.id,
        case_id=question.case_id,
        criterion=question.criterion,
        output_sha256=question.output_sha256,
        judgement=judgement,
        comment=comment,
    )
    await give_verdict(services, actor, request, event_key=event_key)


async def _asked(services: Services, actor: Actor, ref: str) -> tuple[Judged, Question]:
    access_evals(services, actor, Action.READ_PROMPT)
    run_id, _, key = ref.rpartition("/")
    judged = await judge(services, actor, await find_here(services, actor, run_id))
    authorise_verdict(services, actor, judged)
    question = next((one for one in judged.review.asked if one.key == key), None)
    if question is None:
        raise Refusal("eval_question_gone")
    if question not in judged.review.waiting:
        decided = Judgement.PASS if question in judged.review.passed else Judgement.FAIL
        who = [judged.names.get(one.person, "") for one in question.verdicts if one.judgement is decided]
        raise Refusal(
            "eval_question_decided",
            case=question.case_id,
            who=", ".join(who),
            judgement=text(actor.locale, f"eval_judgement.{decided.value}"),
        )
    return judged, question
