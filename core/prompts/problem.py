"""What is wrong with a file that people also edit in the product, where they read it in their own language."""

from core.domain.errors import ConfigurationError
from core.i18n import DEFAULT_LOCALE, text

FIELD_CHARS = 500
"""A key or value quoted from the file can be as long as the file; what is allowed in its place is shorter."""


def problem(file: str, code: str, *, line: int = 0, **fields: str | float) -> ConfigurationError:
    """The error whose sentence is `problem.<code>` of the catalogue, with `fields` filled in, each cut short."""
    short = {name: value[:FIELD_CHARS] if isinstance(value, str) else value for name, value in fields.items()}
    reason = text(DEFAULT_LOCALE, f"problem.{code}", **short)
    return ConfigurationError(file, reason, line=line, code=code, fields=short)
