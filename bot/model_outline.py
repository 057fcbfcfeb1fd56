"""What has to be said of a model besides its figures, in the same words on every surface. Pure."""

from collections.abc import Iterator

from core import i18n
from core.domain.view import ModelItem


def model_notes(model: ModelItem, locale: str) -> Iterator[str]:
    """Whether its id can mean another model tomorrow, and whether it did already. Ids are as the provider sent them:
    whoever shows the notes makes them inert."""
    if not model.fixed:
        yield i18n.text(locale, "model_note.floating")
    reported = model.reported
    if reported is not None and reported.changed:
        day = f"{reported.since:%Y-%m-%d}"
        yield i18n.text(
            locale, "model_note.changed", day=day, now=reported.reported_id, before=reported.before
        )
