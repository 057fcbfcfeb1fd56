"""The product's own eval sets on a demo model: the evaluation reports exactly what the demo outputs deserve."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from core.ai_input.eval_case import Seat, render_case, seen
from core.commands.eval import show_eval, start_eval
from core.domain.eval_run import EvalRequest, EvalStatus
from core.domain.evaluation import Outcome, Sample
from core.domain.prompt import SHIPPED
from core.llm.catalogue import DEMO_MODELS
from core.llm.demo import DemoSettings, stream_demo
from core.ports import ModelCall, ModelEvent, TextDelta
from core.prompts.eval_check import run_checks
from core.prompts.eval_file import load_eval_sets
from core.prompts.registry import load_library
from tests.commands.look import rows
from tests.product import ScriptedModel, open_world

PROMPTS = load_library()
SETS = load_eval_sets(PROMPTS)
SAGE = DEMO_MODELS[0]
SEAT = Seat(model=SAGE.alias, context_tokens=SAGE.context_tokens, max_output_tokens=SAGE.max_output_tokens)


class Demo(ScriptedModel):
    """The demo model without its pauses."""

    async def stream(self, call: ModelCall) -> AsyncGenerator[ModelEvent]:
        self.calls.append(call)
        async for event in stream_demo(SAGE, call, DemoSettings(word_s=0.0)):
            yield event


@pytest.mark.parametrize(
    "prompt", ["compare.summary", "codraft.revise", "debate.synthesis", "handover.draft", "review.verdict"]
)
async def test_a_starter_set_reports_what_the_demo_outputs_deserve(prompt: str, tmp_path: Path) -> None:
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, model=Demo()) as world:
        aki = await world.person()
        request = EvalRequest(prompt=prompt, candidate_id=SHIPPED, model=SAGE.alias, repeats=1)
        run_id = await start_eval(world.services, aki, request, event_key="1")
        await world.finished(run_id)
        page = await show_eval(world.services, aki, run_id)
        kept = {(row["case_id"], row["side"]): row for row in await rows(world, "eval_result")}
        sent = {call.request_id.split("/")[2]: call for call in world.model.calls}
    cases = SETS[PROMPTS.get(prompt).eval_set].cases_of(prompt)
    assert (page.item.status, page.item.done) == (EvalStatus.DONE, 2 * len(cases))
    assert {k: v for k, v in page.item.counts.items() if v} == {Outcome.UNCHANGED: len(cases)}
    told = {one.runs.case_id: one for one in page.comparison.cases}
    for case in cases:
        ai_input = render_case(case, PROMPTS, SEAT)
        assert sent[case.id].ai_input.sha256 == ai_input.sha256
        output = "".join(
            [
                event.text
                async for event in stream_demo(SAGE, sent[case.id], DemoSettings(word_s=0.0))
                if isinstance(event, TextDelta)
            ]
        )
        row = kept[case.id, "candidate"]
        checks = run_checks(
            case.checks,
            seen(case, ai_input, output, latency_ms=row["latency_ms"], cost_usd=row["cost_usd"]),
        )
        deserved = Sample(output=output, checks=checks)
        (stored,) = told[case.id].runs.candidate
        assert (stored.output, stored.status) == (output, deserved.status), case.id
        assert [check.to_json() for check in stored.checks] == [check.to_json() for check in checks], case.id
