"""Personal data in the examples of a prompt, which go to every provider with every call (spec §10)."""

from collections.abc import Iterator, Sequence

from core.domain.errors import ConfigurationError
from core.domain.view import Phrase
from core.prompts.masking import Doubt, Personal, mask
from core.prompts.parse import FEW_SHOT
from core.prompts.problem import problem
from core.prompts.version import Example, PromptVersion


def personal_problems(version: PromptVersion) -> tuple[ConfigurationError, ...]:
    """One for each kind of personal data that is found in an example; none when the examples are nobody's."""
    found = []
    for number, text in _texts(version):
        file = f"{version.name}/{FEW_SHOT}"
        kinds = sorted(mask(text, key=b"").counts)
        found += [problem(file, f"example_{kind.value}", number=number) for kind in kinds]
    return tuple(found)


def personal_doubts(version: PromptVersion, names: Sequence[str]) -> tuple[Phrase, ...]:
    """What somebody should look at: digits that may be a person's, and names of the workspace's people, which can be
    ordinary words as well."""
    found: list[Phrase] = []
    for number, text in _texts(version):
        looked = mask(text, key=b"", names=names)
        doubts = {one.doubt.value for one in looked.to_check if one.doubt is not Doubt.SHORT_NAME}
        if looked.counts.get(Personal.NAME):
            doubts.add("name")
        found += [Phrase(key=f"example_doubt.{doubt}", fields={"number": number}) for doubt in sorted(doubts)]
    return tuple(found)


def _texts(version: PromptVersion) -> Iterator[tuple[int, str]]:
    """Everything in each example, with its number from 1."""
    for number, example in enumerate(version.parts.few_shot, start=1):
        yield number, _text(example)


def _text(example: Example) -> str:
    return "\n".join((*example.values.values(), example.output))
