"""A small eval set whose cases a scripted model can tell apart, and shorthands with which tests evaluate."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from core.commands.eval import show_eval, start_eval
from core.commands.services import Services
from core.domain.eval_run import EvalPage, EvalRequest, Side
from core.domain.evaluation import CaseComparison
from core.domain.policy import Actor
from core.ports import ModelCall
from core.prompts.eval_file import parse_eval_set
from core.prompts.eval_library import EvalLibrary
from core.prompts.eval_set import EvalSet
from core.prompts.registry import load_library
from tests.commands.prompting import RULE, edited, save
from tests.product import Planned, World

SUMMARY = "compare.summary"
CASES = 20
KEPT, LOST = "It is kept.", "It is gone."

PROMPTS = load_library()


def case(number: int, *, origin: str = "synthetic", human: str = "", tags: str = "") -> str:
    more = f'  human: ["{human}"]\n' * bool(human) + f"  tags: [{tags}]\n" * bool(tags)
    return f"""\
- id: S{number:02}
  kind: {("typical", "boundary", "past_failure")[number % 3]}
  origin: {origin}
  source:
    question: "Question S{number:02}: lease or buy?"
    answers: ["Lease, says Mika.", "Buy."]
  checks:
    - {{contains_all: ["kept"]}}
{more}"""


def eval_set(
    cases: int = CASES,
    *,
    version: int = 1,
    changes: Mapping[int, str] | None = None,
    name: str = "compare-v1",
) -> EvalSet:
    """The set that the prompt names, with cases S01, S02 …, some of them replaced."""
    head = f"id: {name}\nversion: {version}\nprompts: [{SUMMARY}]\ndefaults: []\n"
    body = "".join((changes or {}).get(number) or case(number) for number in range(1, cases + 1))
    files = {"set.yaml": head.encode(), "cases/all.yaml": body.encode()}
    return parse_eval_set(name, files, PROMPTS)


def library(one: EvalSet) -> EvalLibrary:
    return EvalLibrary(lambda: {one.id: one})


def text_of(call: ModelCall) -> str:
    return "\n".join(part.text for part in call.ai_input.parts)


def case_of(call: ModelCall) -> str:
    found = re.search(r"Question (S\d\d)", text_of(call))
    assert found
    return found[1]


def side_of(call: ModelCall) -> Side:
    """By what the model is really sent: only the candidate has the new rule."""
    return Side.CANDIDATE if RULE.strip() in text_of(call) else Side.BASELINE


Answers = Mapping[tuple[Side, str], Planned | Callable[[int], Planned]]


def answering(answers: Answers, usual: Planned = KEPT) -> Callable[[ModelCall], Planned]:
    """A plan of a model by side and case; a function is given how often the case came before."""
    seen: Counter[tuple[Side, str]] = Counter()

    def plan(call: ModelCall) -> Planned:
        at = (side_of(call), case_of(call))
        seen[at] += 1
        planned = answers.get(at, usual)
        return planned(seen[at]) if callable(planned) else planned

    return plan


async def candidate(world: World, actor: Actor) -> str:
    """A version of the prompt with one rule more; its id."""
    return (await save(world, actor, await edited(world, actor, RULE, SUMMARY))).version_id


async def evaluated(
    world: World,
    actor: Actor,
    candidate_id: str,
    *,
    repeats: int = 1,
    model: str = "alpha",
    **more: str | bool,
) -> EvalPage:
    """An evaluation that has come to its end."""
    request = EvalRequest(prompt=SUMMARY, candidate_id=candidate_id, model=model, repeats=repeats, **more)  # type: ignore[arg-type]
    run_id = await start_eval(world.services, actor, request, event_key=world.clock.new_id())
    await world.finished(run_id)
    return await show_eval(world.services, actor, run_id)


def found(page: EvalPage, case_id: str) -> CaseComparison:
    return next(one for one in page.comparison.cases if one.runs.case_id == case_id)


class Deaf:
    """An engine in a process that dies before it can enqueue."""

    async def enqueue(self, run_id: str, **more: object) -> None:
        pass


def unheard(world: World) -> Services:
    """The product with an engine that never hears of anything."""
    return replace(world.services, engine=Deaf())  # type: ignore[arg-type]
