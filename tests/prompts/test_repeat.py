import pytest

from core.prompts.repeat import REPEAT_LIMIT, alike
from core.prompts.version import PromptVersion
from tests.prompts.sample import metadata, parse

BASE = "You add numbers. Tone: {{tone}}\nKeep every date.\nAnswer in at most 300 words, in plain sentences.\n"
WITHDRAWN = BASE + "Leave out the dates of meetings that are over.\n"


def version(system: str, **changes: str) -> PromptVersion:
    return parse({"system.md": system, **changes})


def likeness_of(now: str, withdrawn: str = WITHDRAWN) -> float:
    return alike(version(withdrawn), version(BASE), version(now))


@pytest.mark.parametrize(
    ("withdrawn", "now"),
    [
        (WITHDRAWN, WITHDRAWN + "\n\n"),
        (WITHDRAWN, WITHDRAWN + "Name whoever promised something.\n"),
        (WITHDRAWN, BASE + "Leave out dates of meetings that are over!\n"),
        (WITHDRAWN, "Leave out the dates of meetings that are over.\n" + BASE),
        (BASE + "終わった会議の日付は書かないこと。\n", BASE + "終わった会議の日付は、書かないこと。\n"),
        (BASE.replace("300", "900"), BASE.replace("300 words", "900 words, no more")),
        (
            BASE.replace("Keep every date.\n", ""),
            BASE.replace("Keep every date.\n", "").replace("plain", "simple"),
        ),
    ],
)
def test_what_was_withdrawn_is_recognised(withdrawn: str, now: str) -> None:
    assert likeness_of(now, withdrawn) >= REPEAT_LIMIT


@pytest.mark.parametrize(
    ("withdrawn", "now"),
    [
        (WITHDRAWN, BASE),
        (WITHDRAWN, BASE + "Name whoever promised something.\n"),
        (WITHDRAWN, BASE.replace("plain", "simple")),
        (BASE.replace("300", "900"), BASE.replace("300", "200")),
        (BASE.replace("plain sentences", "verse"), BASE.replace("plain sentences", "a table")),
        (BASE.replace("Keep every date.\n", ""), BASE.replace("You add numbers.", "You sum numbers.")),
        (BASE + "終わった会議の日付は書かないこと。\n", BASE + "担当者の名前を必ず書くこと。\n"),
    ],
)
def test_another_change_of_the_same_text_is_no_repetition(withdrawn: str, now: str) -> None:
    assert likeness_of(now, withdrawn) < REPEAT_LIMIT


def test_the_very_same_content_is_alike_whatever_its_number() -> None:
    assert (
        alike(version(WITHDRAWN), version(BASE), version(WITHDRAWN, **metadata('"1.2.3"', '"9.0.0"'))) == 1.0
    )
    assert alike(version(BASE), version(BASE), version(BASE)) == 1.0
    assert alike(version(BASE), version(BASE), version(WITHDRAWN)) == 0.0


def test_examples_and_models_that_come_back_are_recognised_too() -> None:
    examples = {"few_shot.yaml": "- {input: {numbers: 1 and 2 and 3 and 4}, output: 'Ten, all in all.'}\n"}
    now = version(BASE.replace("plain", "simple"), **examples)
    assert alike(version(BASE, **examples), version(BASE), now) >= REPEAT_LIMIT
    models = metadata("[any]", "[openai/gpt-5.4-2026-03-05]")
    assert (
        alike(version(BASE, **models), version(BASE), version(BASE + "Be brief.\n", **models)) >= REPEAT_LIMIT
    )


def test_part_of_what_was_withdrawn_counts_in_part() -> None:
    two = WITHDRAWN + "Never mention who was absent, and why that was.\n"
    assert 0.4 < likeness_of(WITHDRAWN, two) < REPEAT_LIMIT
