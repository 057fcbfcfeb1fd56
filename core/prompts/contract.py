"""What the product's code needs of one of its own prompts, so that an edited version can take its place."""

from collections.abc import Iterator

from core.domain.view import Phrase
from core.prompts.placeholder import placeholders
from core.prompts.schema import without_texts
from core.prompts.version import PromptVersion
from core.prompts.wording import compared_parts, texts


def contract_problems(shipped: PromptVersion, edited: PromptVersion) -> tuple[Phrase, ...]:
    """Why code written for `shipped` cannot work with `edited`; empty when it can.

    Such an edit may be saved as a version, but never be live: only a release changes code and prompt together.
    """
    return (*_fragments(shipped, edited), *_placeholders(shipped, edited), *_output(shipped, edited))


def _fragments(shipped: PromptVersion, edited: PromptVersion) -> Iterator[Phrase]:
    needed, given = shipped.parts.fragments.keys(), edited.parts.fragments.keys()
    if missing := ", ".join(sorted(needed - given)):
        yield Phrase(key="contract.fragments_missing", fields={"names": missing})
    if unknown := ", ".join(sorted(given - needed)):
        yield Phrase(key="contract.fragments_unknown", fields={"names": unknown})


def _placeholders(shipped: PromptVersion, edited: PromptVersion) -> Iterator[Phrase]:
    old, new = texts(shipped), texts(edited)
    for part in compared_parts(old, new):
        needed, given = placeholders(old.get(part, "")).keys(), placeholders(new.get(part, "")).keys()
        if missing := ", ".join(sorted(needed - given)):
            yield Phrase(key="contract.placeholders_missing", fields={"part": part, "names": missing})
        if unknown := ", ".join(sorted(given - needed)):
            yield Phrase(key="contract.placeholders_unknown", fields={"part": part, "names": unknown})
    if names := ", ".join(shipped.retrusted(edited)):
        yield Phrase(key="contract.trust", fields={"names": names})


def _output(shipped: PromptVersion, edited: PromptVersion) -> Iterator[Phrase]:
    needed, given = shipped.parts.output_format, edited.parts.output_format
    if needed != given:
        yield Phrase(key="contract.output_format", fields={"needed": needed.value, "given": given.value})
    elif without_texts(shipped.parts.schema_json) != without_texts(edited.parts.schema_json):
        yield Phrase(key="contract.schema")
