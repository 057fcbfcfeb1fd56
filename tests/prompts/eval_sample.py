"""A small correct eval set for tests to spoil, and what conditions look at."""

from collections.abc import Mapping

from core.domain.errors import ConfigurationErrors
from core.i18n import reason
from core.prompts.eval_check import Seen
from core.prompts.eval_file import parse_eval_set
from core.prompts.eval_set import EvalSet
from core.prompts.registry import load_library

PROMPTS = load_library()
SET = """\
id: sample-set
version: 3
prompts: [compare.summary]
defaults:
  - json_schema: $output
"""
CASE = """\
- id: S1
  kind: typical
  origin: synthetic
  inputs: {}
  source:
    question: "Lease or buy?"
    answers: ["Lease, 28 euros a month.", "Buy, 900 euros each."]
  checks:
    - {contains_all: ["28 euros"], at: differences}
  human: ["The differences are real"]
  tags: [hard]
"""
FILES: Mapping[str, str] = {"set.yaml": SET, "cases/one.yaml": CASE}


def parse(changes: Mapping[str, str | bytes | None] | None = None, *, folder: str = "sample-set") -> EvalSet:
    """The sample with some files replaced, or left out where None."""
    files = {**FILES, **(changes or {})}
    data = {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in files.items()
        if content is not None
    }
    return parse_eval_set(folder, data, PROMPTS)


def problems(changes: Mapping[str, str | bytes | None], *, folder: str = "sample-set") -> list[str]:
    """What is wrong with the changed sample, as `file:line: reason`; fails when it is accepted."""
    try:
        parse(changes, folder=folder)
    except ConfigurationErrors as errors:
        for problem in errors.problems:
            # Every one is told in every language.
            assert reason("en", problem) == problem.reason != reason("ja", problem)
        return [str(problem) for problem in errors.problems]
    raise AssertionError("the set was accepted")


def with_check(check: str) -> dict[str, str]:
    """The sample with one more condition, on line 12."""
    return {"cases/one.yaml": CASE.replace("  human:", f"    - {check}\n  human:")}


def looking_at(output: str, **changes: object) -> Seen:
    values: dict[str, object] = {"output": output, "source": "", **changes}
    return Seen(**values)  # type: ignore[arg-type]
