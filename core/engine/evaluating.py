"""The body of an evaluation: every case on both sides, side by side, until all results are stored (spec §10).

A result is stored as soon as its call has ended, once for its place; a run that goes on after a crash makes only the
calls whose results are missing. There is no cache: every place is a call of its own.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from core.ai_input.estimate import OUTPUT_GUESS_TOKENS
from core.ai_input.eval_case import Seat, render_case, seen
from core.domain.errors import ConfigurationError, Refusal
from core.domain.eval_run import EvalStatus, Side
from core.domain.evaluation import (
    CONFIRM_REPEATS,
    CaseRuns,
    CheckResult,
    Comparison,
    Conditions,
    Sample,
    compare,
)
from core.domain.ids import WorkspaceId
from core.domain.receipt import AiInput
from core.domain.reported import ReportedModel
from core.domain.view import Phrase
from core.engine.bench import Bench, patiently
from core.engine.eval_telling import EvalViews, Progress, do_end_eval
from core.engine.listening import Heard, hear_out
from core.engine.model_change import report_change
from core.engine.run import DurableRun
from core.files.charset import clean
from core.llm.catalogue import Catalogue, Model
from core.ports import ModelCall
from core.prompts.eval_check import CHECKS_VERSION, Seen, run_checks
from core.prompts.eval_masking import Masker
from core.prompts.eval_set import EvalCase, EvalSet
from core.prompts.registry import PromptLibrary
from core.store.eval_set import eval_set_now
from core.store.evaluation import (
    EvalResult,
    EvalRun,
    Place,
    do_add_result,
    do_hold,
    do_mark_eval,
    eval_results,
    find_eval,
)
from core.store.reported import do_note_reported
from core.store.run import Run
from core.store.workspace import people

log = logging.getLogger(__name__)

EVALUATION = "evaluation"
"""Key of a durable run's arguments that says that it is an evaluation."""
CALLS_AT_ONCE = 4


def seat_of(models: Catalogue, aliases: Sequence[str]) -> Seat:
    """What both sides are given room for: as much as the smaller of the models has."""
    found = [models.models[alias] for alias in aliases]
    return Seat(
        model=aliases[0],
        context_tokens=min(model.context_tokens for model in found),
        max_output_tokens=min(model.max_output_tokens for model in found),
    )


def conditions_of(
    eval_set: EvalSet, models: Catalogue, aliases: Mapping[Side, str], repeats: int
) -> Conditions:
    """The conditions under which an evaluation beginning now runs. Raises KeyError for a model that is gone."""
    chosen = list(dict.fromkeys(aliases.values()))
    seat = seat_of(models, chosen)
    return Conditions(
        set_name=eval_set.id,
        set_sha256=eval_set.sha256,
        repeats=repeats,
        checks_version=CHECKS_VERSION,
        params={"context_tokens": seat.context_tokens, "max_output_tokens": seat.max_output_tokens},
        models=tuple(models.models[alias].id for alias in chosen),
    )


def case_runs(cases: Sequence[EvalCase], results: Mapping[Place, EvalResult]) -> list[CaseRuns]:
    """What is stored of each case, in the order of the set; cases without a result are missing."""
    samples: dict[tuple[Side, str], list[Sample]] = {}
    for place, result in results.items():
        samples.setdefault((place.side, place.case_id), []).append(result.sample)
    return [
        CaseRuns(
            case_id=case.id,
            baseline=tuple(samples.get((Side.BASELINE, case.id), ())),
            candidate=tuple(samples.get((Side.CANDIDATE, case.id), ())),
            hard=case.is_hard,
            human=case.human,
            shown_input=case.shown,
        )
        for case in cases
        if any((side, case.id) in samples for side in Side)
    ]


async def evaluate(bench: Bench, durable: DurableRun, views: EvalViews) -> Run | None:
    """Carry an evaluation out to its end, whatever was done of it before; the run that tells its thread, if it has one.

    What nobody foresaw ends the durable run; the sweep then marks the evaluation.
    """
    workspace_id = WorkspaceId(str(durable.args["workspace_id"]))

    async def read() -> EvalRun | None:
        async with bench.store.writing() as session:
            now = bench.clock.now()
            open_still = await do_mark_eval(session, workspace_id, durable.id, EvalStatus.RUNNING, now=now)
            return await find_eval(session, workspace_id, durable.id) if open_still else None

    run = await patiently(read)
    if run is None:
        return None
    evaluation = _Evaluation(bench, durable, run, Progress(bench, durable, run, views))
    try:
        return await evaluation.carry_out()
    except Refusal as refusal:
        return await evaluation.end(EvalStatus.FAILED, failure=_told(refusal))
    except ConfigurationError as problem:
        log.error("an evaluation cannot go on: %s", problem, extra={"run_id": run.id})  # noqa: TRY400
        return await evaluation.end(EvalStatus.FAILED, failure=_told(problem))


def _told(reason: Refusal | ConfigurationError) -> Phrase:
    if isinstance(reason, Refusal):
        return Phrase(key=f"refusal.{reason.code}", fields=reason.fields)
    return Phrase(key="eval_failure.unusable", fields={"problem": str(reason)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    place: Place
    case: EvalCase
    ai_input: AiInput
    model: Model


class _Evaluation:
    """One evaluation under way in this process."""

    def __init__(self, bench: Bench, durable: DurableRun, run: EvalRun, progress: Progress) -> None:
        self._progress = progress
        self._bench = bench
        self._durable = durable
        self._run = run
        self._cases: tuple[EvalCase, ...] = ()
        self._libraries: Mapping[Side, PromptLibrary] = {}
        self._masker = Masker.of(run.workspace_id, ())

    async def carry_out(self) -> Run | None:
        """Make every call whose result is missing, then those that confirm; as `end`. Raises Refusal."""
        await self._take_up()
        await self._make(self._places())
        if not self._durable.stopping.is_set():
            first = await self._comparison(most=self._run.conditions.repeats)
            await self._make(self._confirming(first))
        if self._durable.stopping.is_set():
            return await self.end(EvalStatus.STOPPED)
        counts = {outcome.value: count for outcome, count in (await self._comparison()).counts.items()}
        return await self.end(EvalStatus.DONE, counts=counts)

    async def _take_up(self) -> None:
        """Read what the run works with. Raises Refusal when the conditions are no longer those it began under."""
        run = self._run
        async with self._bench.store.reading() as session:
            eval_set = await eval_set_now(
                session,
                run.workspace_id,
                self._bench.evals,
                run.conditions.set_name,
                sha256=run.conditions.set_sha256,
            )
        policy = await self._bench.policy(run.workspace_id)
        for alias in run.models.values():
            allowed = policy.allowed_models is None or alias in policy.allowed_models
            if alias not in self._bench.models.models or not allowed:
                raise Refusal("eval_model_gone", model=alias)
        if eval_set is None or run.conditions.sha256 != (
            conditions_of(eval_set, self._bench.models, run.models, run.conditions.repeats).sha256
        ):
            raise Refusal("eval_conditions_changed")
        async with self._bench.store.reading() as session:
            names = [person.name for person in await people(session, run.workspace_id)]
        self._masker = Masker.of(run.workspace_id, names)
        self._cases = eval_set.cases_of(run.prompt)
        self._libraries = {
            side: await self._bench.prompts.resolve(run.workspace_id, run.prompts(side)) for side in Side
        }

    def _places(self) -> Iterator[Place]:
        """Baseline and candidate by turns, case by case, so that both meet the model in the same mood."""
        repeats = range(1, self._run.conditions.repeats + 1)
        for case, repeat, side in product(self._cases, repeats, Side):
            yield Place(side=side, case_id=case.id, repeat=repeat)

    def _confirming(self, comparison: Comparison) -> Iterator[Place]:
        """The runs more of cases that did worse in the first ones, on both sides alike."""
        first = self._run.conditions.repeats + 1
        for case_id, repeat, side in product(
            comparison.to_confirm, range(first, first + CONFIRM_REPEATS), Side
        ):
            yield Place(side=side, case_id=case_id, repeat=repeat)

    async def _stored(self) -> dict[Place, EvalResult]:
        async def read() -> dict[Place, EvalResult]:
            async with self._bench.store.reading() as session:
                return await eval_results(session, self._run.workspace_id, self._run.id)

        return await patiently(read)

    async def _comparison(self, *, most: int | None = None) -> Comparison:
        """Of all results, or of the first `most` of every case: by those alone it is known what to confirm, however
        much of that was done before a crash."""
        conditions, stored = self._run.conditions, await self._stored()
        counted = {place: one for place, one in stored.items() if most is None or place.repeat <= most}
        return compare(
            case_runs(self._cases, counted),
            baseline=conditions,
            candidate=conditions,
            today=self._bench.clock.now().date(),
        )

    # --- calls ------------------------------------------------------------------------------------------------------

    async def _make(self, places: Iterator[Place]) -> None:
        """Make the calls of these places that have no result yet, a few at once, in this order."""
        stored = await self._stored()
        missing = [place for place in places if place not in stored]
        for start in range(0, len(missing), CALLS_AT_ONCE):
            if self._durable.stopping.is_set():
                return
            await self._make_together(missing[start : start + CALLS_AT_ONCE])
            await self._progress.show()

    async def _make_together(self, places: Sequence[Place]) -> None:
        rendered = await asyncio.to_thread(lambda: [self._rendered(place) for place in places])
        calls = [one for one in rendered if isinstance(one, _Call)]
        for result in rendered:
            if isinstance(result, EvalResult):
                await self._store(result)
        await self._hold(calls)
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(self._call(call))

    def _rendered(self, place: Place) -> _Call | EvalResult:
        """The call to make; the result of a case that cannot be sent, which is an error and no failure."""
        model = self._bench.models.models[self._run.models[place.side]]
        case = next(case for case in self._cases if case.id == place.case_id)
        sent, _ = self._masker.case(case)
        seat = seat_of(self._bench.models, list(self._run.models.values()))
        try:
            ai_input = render_case(sent, self._libraries[place.side], seat)
        except (Refusal, ConfigurationError) as reason:
            failure = _told(reason)
        else:
            return _Call(place=place, case=sent, ai_input=ai_input, model=model)
        return EvalResult(
            place=place,
            sample=Sample(output="", checks=(), failure=failure),
            model=model.alias,
            model_id=model.id,
            created_at=self._bench.clock.now(),
        )

    async def _hold(self, calls: Sequence[_Call]) -> None:
        """Hold what these calls may cost. Raises Refusal when that would go over a budget."""
        run = self._run
        policy = await self._bench.policy(run.workspace_id)
        if not policy.has_budget:
            return
        expected = sum(
            call.model.cost_usd(call.ai_input.estimate_tokens, OUTPUT_GUESS_TOKENS) or 0.0 for call in calls
        )

        async def write() -> None:
            async with self._bench.store.writing() as session:
                await do_hold(
                    session,
                    run.workspace_id,
                    run.id,
                    run.started_by,
                    policy,
                    expected_usd=expected,
                    now=self._bench.clock.now(),
                )

        await patiently(write)

    async def _call(self, call: _Call) -> None:
        place = call.place
        heard = await hear_out(
            self._bench,
            self._durable,
            ModelCall(
                request_id=f"{self._run.id}/{place.side}/{place.case_id}/{place.repeat}",
                workspace_id=self._run.workspace_id,
                model=call.model.alias,
                ai_input=call.ai_input,
                images={},
            ),
            None,
        )
        if not heard.stopped:
            await self._store(await asyncio.to_thread(self._judged, call, heard))

    def _judged(self, call: _Call, heard: Heard) -> EvalResult:
        """What came and what the conditions say of it: they see it as it came, the store has no personal data."""
        usage = heard.usage(call.model, call.ai_input)
        cost = usage.cost_usd if usage else None
        done, text = heard.done, clean("".join(heard.text))
        latency_ms = round(done.total_s * 1000) if done else None
        checks: tuple[CheckResult, ...] = ()
        if heard.failure is None:
            looked_at: Seen = seen(call.case, call.ai_input, text, latency_ms=latency_ms, cost_usd=cost)
            checks = run_checks(call.case.checks, looked_at)
        return EvalResult(
            place=call.place,
            sample=Sample(
                output=self._masker.output(call.case, text),
                checks=checks,
                failure=(
                    Phrase(key=f"model_failure.{heard.failure.kind}", fields={"model": call.model.alias})
                    if heard.failure
                    else None
                ),
                latency_ms=latency_ms,
                cost_usd=cost,
            ),
            model=call.model.alias,
            model_id=call.model.id,
            reported_model_id=done.reported_model_id if done else "",
            request=[{"role": part.role.value, "text": part.text} for part in call.ai_input.parts],
            input_sha256=call.ai_input.sha256,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            created_at=self._bench.clock.now(),
        )

    async def _store(self, result: EvalResult) -> None:
        async def write() -> ReportedModel | None:
            async with self._bench.store.writing() as session:
                await do_add_result(session, self._run.workspace_id, self._run.id, result)
                return await do_note_reported(
                    session, result.model, result.model_id, result.reported_model_id, now=result.created_at
                )

        report_change(self._bench, await patiently(write))

    async def end(
        self,
        status: EvalStatus,
        *,
        failure: Phrase | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> Run | None:
        """Record how the evaluation ended, and the run that tells its thread; None where no thread is told."""

        async def write() -> Run | None:
            async with self._bench.store.writing() as session:
                return await do_end_eval(
                    session, self._bench.clock, self._run, status, failure=failure, counts=counts
                )

        return await patiently(write)
