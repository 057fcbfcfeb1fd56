"""Which configured models can be another model tomorrow under the same id (spec §10)."""

import logging
from collections.abc import Iterable

from core.llm.catalogue import Catalogue, Model
from core.prompts.pinned import PinnedModel, pinned

log = logging.getLogger(__name__)


def is_fixed(model: Model, listed: Iterable[PinnedModel]) -> bool:
    """Whether the model stays what its id says; what comes with the product changes only with a release."""
    return model.demo or model.local or pinned(model.id, listed)


def floating(catalogue: Catalogue, listed: Iterable[PinnedModel]) -> tuple[Model, ...]:
    """Models of the catalogue whose id does not fix a version, in its order."""
    known = tuple(listed)
    return tuple(model for model in catalogue.models.values() if not is_fixed(model, known))


def report_floating(catalogue: Catalogue, listed: Iterable[PinnedModel]) -> None:
    """Log a sentence for each model whose id does not fix a version, for whoever starts the product."""
    for model in floating(catalogue, listed):
        log.warning(
            "the id of model %s (%s) names no fixed version: another model can stand behind it tomorrow, and no prompt "
            "written for it can go live; choose an id with a date, or one on the reviewed list",
            model.alias,
            model.id,
        )
