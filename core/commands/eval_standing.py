"""How an evaluation stands: its comparison, what waits for people, and what keeps the gate shut."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.commands.eval_model import answering_here, target_ids
from core.commands.prompt_standing import Standing, standing_of
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_gate import GateFacts, Question, Review, gate, questions, review
from core.domain.eval_run import EvalItem, EvalModel, EvalQuestion, Side, VerdictRequest
from core.domain.eval_set import HeldCase
from core.domain.evaluation import Comparison, Conditions, Outcome, Quarantine, compare
from core.domain.ids import PersonId
from core.domain.policy import Action, Actor, Policy, Subject, authorise
from core.domain.receipt import PromptRef
from core.domain.reported import ReportedModel
from core.domain.view import Phrase
from core.engine.evaluating import case_runs, conditions_of
from core.llm.floating import is_fixed
from core.prompts.eval_set import EvalSet
from core.prompts.pinned import load_pinned
from core.store.eval_quarantine import held_cases
from core.store.eval_set import eval_set_now
from core.store.evaluation import EvalResult, EvalRun, Place, eval_results, evals_for, find_eval, verdicts_of
from core.store.reported import reported_models
from core.store.workspace import people


def access_evals(services: Services, actor: Actor, action: Action) -> None:
    """Return when the actor may do `action` to the workspace's evaluations; raise Refusal otherwise."""
    authorise(actor, action, Subject(visible=True), services.policy(actor.workspace))


def may_hold(services: Services, actor: Actor) -> bool:
    """Whether the actor may set cases aside."""
    try:
        access_evals(services, actor, Action.VERIFY_PROMPT)
    except Refusal:
        return False
    return True


def own_counts(policy: Policy, *, alone: bool) -> bool:
    """Whether what the author of a change says of it counts: where four eyes are not asked for, or cannot be had."""
    return alone or not policy.prompt_four_eyes


async def models_of(services: Services, aliases: Iterable[str]) -> tuple[EvalModel, ...]:
    """Models of the catalogue, those that are gone left out. What comes with the product stays what its id says."""
    listed = await asyncio.to_thread(load_pinned)
    found = [services.models.models[alias] for alias in aliases if alias in services.models.models]
    return tuple(
        EvalModel(
            alias=model.alias,
            id=model.id,
            pinned=is_fixed(model, listed),
            trains_on_data=model.trains_on_data,
        )
        for model in found
    )


async def find_here(services: Services, actor: Actor, run_id: str) -> EvalRun:
    """An evaluation of the actor's workspace. Raises Refusal."""
    async with services.store.reading() as session:
        run = await find_eval(session, actor.workspace_id, run_id)
    if run is None:
        raise Refusal("eval_not_found")
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An evaluation as one reader finds it now."""

    run: EvalRun
    results: Mapping[Place, EvalResult]
    comparison: Comparison
    review: Review
    closed: tuple[Phrase, ...]
    alone: bool
    """The workspace has one person."""
    held: Mapping[str, HeldCase]
    """Cases that people set aside, by id."""
    names: Mapping[str, str]
    """What the people of the workspace are called, by id."""

    def waiting(self, actor: Actor) -> list[EvalQuestion]:
        """What a person still has to look at, disputed outputs first."""
        return [self.asked(one, actor.person_id) for one in self.review.waiting]

    def asked(self, question: Question, reader: PersonId) -> EvalQuestion:
        """One of its questions, as a reader is asked it."""
        shown = next(
            case.runs.shown_input for case in self.comparison.cases if case.runs.case_id == question.case_id
        )
        return EvalQuestion(
            run_id=self.run.id,
            prompt=self.run.prompt,
            case_id=question.case_id,
            criterion=question.criterion,
            output_sha256=question.output_sha256,
            shown_input=shown,
            baseline=question.baseline,
            candidate=question.candidate,
            disputed=question in self.review.disputed,
            mine=next((v.judgement for v in question.verdicts if v.person == reader), None),
        )


async def judge(
    services: Services, actor: Actor, run: EvalRun, *, promoted: tuple[str, str] | None = None
) -> Judged:
    """An evaluation with everything that is known now.

    `promoted`: content hashes of what is live and of what `actor` would make live; None asks whether this evaluation
    would do for its own candidate.
    """
    async with services.store.reading() as session:
        results = await eval_results(session, run.workspace_id, run.id)
        verdicts = await verdicts_of(session, run.workspace_id, run.prompt)
        names = {person.id: person.name for person in await people(session, run.workspace_id)}
        standing = await standing_of(session, services.prompts, run.workspace_id, run.prompt)
        reported = await reported_models(session)
        named = run.workspace_id, services.evals, run.conditions.set_name
        newest = await eval_set_now(session, *named)
        eval_set = await eval_set_now(session, *named, sha256=run.conditions.set_sha256)
        aside = await held_cases(session, run.workspace_id, run.conditions.set_name)
    cases = eval_set.cases_of(run.prompt) if eval_set else ()
    now, policy = services.clock.now(), services.policy(actor.workspace)
    lenient = own_counts(policy, alone=len(names) == 1)
    held = _held(aside, now, author_id=None if lenient else run.author_id)
    comparison = compare(
        case_runs(cases, results),
        baseline=run.conditions,
        candidate=run.conditions,
        quarantine=_quarantine(held.values()),
        today=now.date(),
    )
    models = await models_of(services, run.models.values())
    reviewed = review(comparison, verdicts, author=run.author_id or "", solo=lenient)
    facts = GateFacts(
        set_cases=len(eval_set.cases) if eval_set else 0,
        prompt_cases=len(cases),
        expected_cases=run.cases,
        model_pinned=len(models) == len(run.models) and all(model.pinned for model in models),
        other_model=await asyncio.to_thread(_other_model, services, policy, standing, run),
        moved=_moved(run, results, reported),
        author=run.author_id or "",
        promoter=actor.person_id,
        solo=lenient,
        finished_at=run.finished_at if run.status == "done" else None,
        now=now,
        compared=(run.baseline.sha256, run.candidate.sha256),
        promoted=promoted or _promotable(standing, run),
    )
    by_now = replace(comparison, candidate=_conditions_now(services, newest, run))
    return Judged(
        run=run,
        results=results,
        comparison=comparison,
        review=reviewed,
        closed=gate(by_now, reviewed, facts),
        alone=len(names) == 1,
        held=held,
        names=names,
    )


def _held(aside: Iterable[HeldCase], now: datetime, *, author_id: str | None) -> dict[str, HeldCase]:
    """What holds now, by case. What the author of the change set aside is told, and counts where theirs does."""
    return {
        one.case_id: replace(one, counts=author_id is None or one.owner_id != author_id)
        for one in aside
        if one.holds(now)
    }


def _quarantine(held: Iterable[HeldCase]) -> list[Quarantine]:
    """What of it counts."""
    return [
        Quarantine(case_id=one.case_id, owner=one.owner_id, until=one.until.date())
        for one in held
        if one.counts
    ]


def _other_model(services: Services, policy: Policy, standing: Standing, run: EvalRun) -> str:
    """Alias of the model that answered the candidate where the candidate is not written for it; empty otherwise."""
    known = (*standing.versions, *([standing.shipped] if standing.shipped else []))
    version = next((one for one in known if one.sha256 == run.candidate.sha256), None)
    targets = target_ids(services.models, version.parsed() if version else None)
    wanted = [model.id for model in answering_here(services, policy, targets)]
    return "" if run.model_id(Side.CANDIDATE) in wanted else run.models[Side.CANDIDATE]


def _moved(
    run: EvalRun, results: Mapping[Place, EvalResult], reported: Mapping[tuple[str, str], ReportedModel]
) -> tuple[str, ...]:
    """Aliases of models that were another one in the course of the evaluation, or are another one by now."""
    said: dict[tuple[str, str], set[str]] = {}
    for result in results.values():
        if result.reported_model_id:
            said.setdefault((result.model, result.model_id), set()).add(result.reported_model_id)
    for key, ids in said.items():
        if key in reported:
            ids.add(reported[key].reported_id)
    return tuple(alias for (alias, _), ids in said.items() if len(ids) > 1)


def _promotable(standing: Standing, run: EvalRun) -> tuple[str, str]:
    """What a promotion of the candidate would replace now; a switch of model keeps the text, and after the promotion
    the question is settled."""
    live = standing.live.sha256 if standing.live else ""
    if live == run.candidate.sha256:
        return run.baseline.sha256, live
    return live, run.candidate.sha256


def _conditions_now(services: Services, eval_set: EvalSet | None, run: EvalRun) -> Conditions:
    """The conditions of an evaluation that began now: those of an older one no longer say enough where they differ."""
    if eval_set is None or not set(run.models.values()) <= services.models.models.keys():
        return replace(run.conditions, set_sha256="")
    return conditions_of(eval_set, services.models, run.models, run.conditions.repeats)


async def judged_for(
    services: Services,
    actor: Actor,
    before: PromptRef,
    after: PromptRef,
    *,
    eval_set: str,
    model_id: str,
    under: Sequence[str],
) -> Judged | None:
    """The newest finished evaluation that speaks of making `after` live, judged for that; None without one.

    `model_id` answered the candidate; empty takes any model. `under` names the models that the candidate's is to be
    compared with where models are switched; where it is empty, both sides had one model.
    """
    async with services.store.reading() as session:
        runs = await evals_for(session, actor.workspace_id, before, after)
    for run in runs:
        was, now = run.model_id(Side.BASELINE), run.model_id(Side.CANDIDATE)
        fits = was in under if under else was == now and run.baseline.sha256 == before.sha256
        if run.conditions.set_name == eval_set and fits and model_id in ("", now):
            promoted = (run.baseline.sha256, after.sha256)
            return await judge(services, actor, run, promoted=promoted)
    return None


def question_in(judged: Judged, request: VerdictRequest) -> Question:
    """The question that a verdict answers. Raises Refusal for one that this evaluation does not ask."""
    for question in questions(judged.comparison):
        asked = (question.case_id, question.criterion, question.output_sha256)
        if asked == (request.case_id, request.criterion, request.output_sha256):
            return question
    raise Refusal("eval_question_unknown", case=request.case_id[:100])


def item_of(run: EvalRun, done: int, cost_usd: float) -> EvalItem:
    """A line of the list."""
    return EvalItem(
        run_id=run.id,
        prompt=run.prompt,
        baseline=run.baseline,
        candidate=run.candidate,
        baseline_model=run.models[Side.BASELINE],
        candidate_model=run.models[Side.CANDIDATE],
        eval_set=run.conditions.set_name,
        status=run.status,
        done=done,
        expected=run.expected,
        who=run.who,
        started_at=run.started_at,
        finished_at=run.finished_at,
        cost_usd=cost_usd,
        counts={Outcome(name): count for name, count in run.counts.items()},
        failure=run.failure,
        thread_id=run.thread_id,
    )


def authorise_verdict(services: Services, actor: Actor, judged: Judged) -> None:
    """Raises Refusal for whoever may not verify, and for the author where another person has to look."""
    policy = services.policy(actor.workspace)
    author_id = None if own_counts(policy, alone=judged.alone) else judged.run.author_id
    authorise(actor, Action.VERIFY_PROMPT, Subject(visible=True, author_id=author_id), policy)
