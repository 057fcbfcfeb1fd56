"""Which models a version of a prompt is written for, and hence which an evaluation of it has to ask (spec §10)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from core.commands.services import Services, allowed_models, choose_model
from core.domain.policy import Policy
from core.llm.catalogue import Catalogue, Model
from core.prompts.version import ANY_MODEL, PromptVersion


def target_ids(models: Catalogue, version: PromptVersion | None) -> tuple[str, ...]:
    """Ids of the models that a version names, whether by alias or by id; none for one that is for any model."""
    targets = version.parts.target_models if version else ()
    if ANY_MODEL in targets:
        return ()
    known = models.models
    return tuple(dict.fromkeys(known[one].id if one in known else one for one in targets))


def switched(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Of `target_ids`: the models that a version is for and the live one is not; `any` where that takes any model."""
    if before and not after:
        return (ANY_MODEL,)
    return tuple(one for one in after if before and one not in before)


def same_words(one: PromptVersion, other: PromptVersion) -> bool:
    """Whether two versions send a model the same: they differ in the models they are written for, if at all."""
    return replace(one.parts, target_models=other.parts.target_models) == other.parts


def answering_here(services: Services, policy: Policy, targets: Iterable[str]) -> tuple[Model, ...]:
    """The models that answer with such a version here. For any model: those of the workspace, and the ones that come
    with the product only where there is no other, because what they do says nothing of a real one."""
    allowed = [services.models.models[alias] for alias in allowed_models(services, policy)]
    wanted = tuple(targets)
    if wanted:
        return tuple(model for model in allowed if model.id in wanted)
    return tuple(model for model in allowed if not model.demo and not model.local) or tuple(allowed)


def usual_model(services: Services, policy: Policy, version: PromptVersion) -> str:
    """Alias of the model that a version is evaluated with when nobody names one. Raises Refusal when there is none."""
    targets = target_ids(services.models, version)
    found = answering_here(services, policy, targets) if targets else ()
    return found[0].alias if found else choose_model(services, policy, None)
