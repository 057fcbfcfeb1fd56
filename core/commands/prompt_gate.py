"""What stands between a version of a prompt and being live: evaluations of its texts and its models (spec §10)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from core.commands.eval_model import same_words, switched, target_ids
from core.commands.eval_standing import Judged, judged_for
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.prompt import PromptEventKind
from core.i18n import phrase
from core.llm.catalogue import Catalogue
from core.llm.floating import is_fixed
from core.prompts.pinned import load_pinned, pinned
from core.prompts.version import ANY_MODEL, PromptVersion
from core.store.prompt import StoredPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """How a version got through the gate."""

    run_id: str | None = None
    """The evaluation that let it through, or that was overridden; None where there is none."""
    records: tuple[PromptEventKind, ...] = ()
    """What is put on record of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a promotion changes."""

    eval_set: str
    """Set by which it is judged: the version's own, or the live one's where the version names none."""
    targets: tuple[str, ...]
    """Ids of the models that the version is for; none for any."""
    before: tuple[str, ...]
    """The same of what is live."""
    switched: tuple[str, ...]
    """Models that the version is for and the live one is not."""
    same_words: bool
    """Models are all that changes."""


def change_of(models: Catalogue, before: StoredPrompt | None, after: StoredPrompt) -> Change:
    """Parses both versions: not on the event loop."""
    now, was = after.parsed(), before.parsed() if before else None
    targets, earlier = target_ids(models, now), target_ids(models, was)
    return Change(
        eval_set=now.eval_set or (was.eval_set if was else ""),
        targets=targets,
        before=earlier,
        switched=switched(earlier, targets),
        same_words=was is not None and same_words(was, now),
    )


def floating_targets(models: Catalogue, version: PromptVersion) -> tuple[str, ...]:
    """Of the models that a version names, those whose id fixes no version. The first call reads a file: not on the
    event loop."""
    listed, known = load_pinned(), models.models
    return tuple(
        target
        for target in version.parts.target_models
        if target != ANY_MODEL
        and not (is_fixed(known[target], listed) if target in known else pinned(target, listed))
    )


def check_fixed(models: Catalogue, version: StoredPrompt) -> None:
    """Raise Refusal for a version that is written for a model whose id floats. Not on the event loop."""
    floating = floating_targets(models, version.parsed())
    if floating:
        raise Refusal("prompt_model_floating", models=", ".join(floating))


async def pass_gate(
    services: Services, actor: Actor, before: StoredPrompt | None, after: StoredPrompt, *, override: bool
) -> Passed:
    """Let a version through that evaluations of exactly these texts, with the models it is for, speak for; or past
    them, which is put on record. Raises Refusal, with every reason."""
    change = await asyncio.to_thread(change_of, services.models, before, after)
    if not change.eval_set and not change.switched:
        return Passed()
    judged, refusal = await _judged(services, actor, before, after, change)
    run_id = judged[0].run.id if judged else None
    if refusal is None:
        return Passed(run_id=run_id)
    if override:
        return Passed(run_id=run_id, records=(PromptEventKind.EVAL_OVERRIDE,))
    raise refusal


async def _judged(
    services: Services, actor: Actor, before: StoredPrompt | None, after: StoredPrompt, change: Change
) -> tuple[Sequence[Judged], Refusal | None]:
    """The evaluations that there are, one a target model, and what keeps the gate shut."""
    models = ", ".join(change.switched)
    if not change.eval_set:
        return (), Refusal("prompt_switch_without_set", version=after.version, models=models, name=after.name)
    if change.switched and not change.same_words:
        return (), Refusal("prompt_two_changes", version=after.version, models=models)
    found: list[Judged] = []
    missing: list[str] = []
    for target in change.targets or ("",):
        under = change.before if target in change.switched else ()
        judged = (
            await judged_for(
                services, actor, before.ref, after.ref, eval_set=change.eval_set, model_id=target, under=under
            )
            if before
            else None
        )
        if judged is None:
            missing.append(target)
        else:
            found.append(judged)
    return found, _refusal(actor, after, change, found, missing)


def _refusal(
    actor: Actor, after: StoredPrompt, change: Change, found: Sequence[Judged], missing: Sequence[str]
) -> Refusal | None:
    if missing == [""]:
        return Refusal("prompt_needs_eval", version=after.version, eval_set=change.eval_set)
    if missing:
        models, eval_set = ", ".join(missing), change.eval_set
        return Refusal("prompt_needs_eval_with", version=after.version, eval_set=eval_set, models=models)
    closed = dict.fromkeys(phrase(actor.locale, reason) for judged in found for reason in judged.closed)
    if not closed:
        return None
    return Refusal("prompt_gate_shut", version=after.version, reasons="\n".join(closed))
