"""Evaluations by command line, for whoever runs the product: they have no person behind them (spec §10)."""

from dataclasses import dataclass

from core.commands.eval import begin_eval, enqueue_eval, plan_eval
from core.commands.prompt_standing import Standing, standing_of
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.eval_run import USUAL_REPEATS, EvalRequest
from core.domain.ids import PersonId, WorkspaceId
from core.domain.policy import Actor
from core.store.evaluation import find_eval
from core.store.workspace import workspace_anywhere

OPERATOR = PersonId("operator")
"""Stands where a reader's id is asked for; nobody has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAsk:
    """What is to be compared, as it is typed: versions by number, models by alias. Empty takes the usual."""

    prompt: str
    candidate: str = ""
    """Empty: the proposed version, or the live one where models are compared or nothing is proposed."""
    baseline: str = ""
    """Empty: the live one."""
    model: str = ""
    candidate_model: str = ""
    repeats: int = USUAL_REPEATS
    acknowledged: bool = False


async def operator_of(services: Services, workspace: str, locale: str) -> Actor:
    """The operator as a reader of a workspace (platform id). Raises Refusal."""
    async with services.store.reading() as session:
        row = await workspace_anywhere(session, workspace)
    if row is None:
        raise Refusal("workspace_not_found", workspace=workspace)
    return Actor(
        workspace_id=WorkspaceId(row.id),
        workspace=workspace,
        person_id=OPERATOR,
        external_id=OPERATOR,
        name=OPERATOR,
        locale=locale,
        is_admin=True,
    )


async def request_of(services: Services, operator: Actor, ask: EvalAsk) -> EvalRequest:
    """What was typed, with ids of versions. Raises Refusal."""
    async with services.store.reading() as session:
        standing = await standing_of(session, services.prompts, operator.workspace_id, ask.prompt)
    proposed = standing.live if ask.candidate_model else standing.proposed or standing.live
    if not ask.candidate and proposed is None:
        raise Refusal("eval_nothing_live", name=ask.prompt)
    candidate_id = _id(standing, ask.candidate) if ask.candidate or proposed is None else proposed.id
    return EvalRequest(
        prompt=ask.prompt,
        candidate_id=candidate_id,
        baseline_id=_id(standing, ask.baseline) if ask.baseline else None,
        model=ask.model,
        candidate_model=ask.candidate_model,
        repeats=ask.repeats,
        acknowledged=ask.acknowledged,
    )


def _id(standing: Standing, number: str) -> str:
    """The version with this number, the workspace's own before a shipped one."""
    for version in (*standing.own, *standing.versions):
        if version.version == number:
            return version.id
    raise Refusal("prompt_version_unknown", name=standing.name)


async def begin_for_operator(services: Services, operator: Actor, request: EvalRequest) -> str:
    """Begin an evaluation in this process; its id. Raises Refusal."""
    policy = services.policy(operator.workspace)
    plan = await plan_eval(services, operator.workspace_id, policy, request)
    event_key = services.clock.new_id()
    return await begin_eval(services, operator.workspace_id, plan, policy, actor=None, event_key=event_key)


async def resume_for_operator(services: Services, operator: Actor, run_id: str) -> None:
    """Go on with an evaluation of the operator whose process ended. Raises Refusal."""
    async with services.store.reading() as session:
        run = await find_eval(session, operator.workspace_id, run_id)
    if run is None or run.started_by is not None:
        raise Refusal("eval_not_found")
    await enqueue_eval(services, operator.workspace_id, run_id)
