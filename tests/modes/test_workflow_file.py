from pathlib import Path

import pytest

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.domain.workflow import (
    AskStep,
    CompareStep,
    DebateStep,
    DraftStep,
    ReviewStep,
    WorkflowSetup,
    codraft_setup,
    compare_setup,
    debate_setup,
)
from core.modes.workflow_file import WORKFLOW_FOLDER, load_workflows, parse_workflow

FILE = """\
name: flow
title: {en: Flow, ja: 流れ}
description: {en: What it does, ja: 何をするか}
inputs:
  firstRequest: {title: {en: Question, ja: 問い}, required: yes}
  background: {title: {en: Background, ja: 背景}, required: no}
steps:
  - id: options
    kind: ask
    title: {en: Options, ja: 選択肢}
    uses: [firstRequest, background]
    instruction: List options.
  - id: views
    kind: compare
    title: {en: Views, ja: 見解}
    uses: [options]
    models: 3
    instruction: Compare them.
  - id: talk
    kind: debate
    title: {en: Talk, ja: 会議}
    uses: [options, views]
    participants: 2
    rebuttal_rounds: 1
    instruction: Debate them.
  - id: memo
    kind: draft
    title: {en: Memo, ja: メモ}
    uses: [talk, views]
    passes: 2
    instruction: Write it.
  - id: check
    kind: review
    title: {en: Check, ja: 点検}
    uses: [memo, views]
    reviewers: 2
    instruction: Check it.
"""


def problems(text: str, file: str = "flow.yaml") -> list[tuple[int, str]]:
    with pytest.raises(ConfigurationErrors) as caught:
        parse_workflow(file, text.encode())
    assert all(problem.file == file for problem in caught.value.problems)
    return [(problem.line, problem.reason) for problem in caught.value.problems]


def changed(old: str, new: str) -> list[tuple[int, str]]:
    assert old in FILE
    return problems(FILE.replace(old, new, 1))


def test_a_right_file_becomes_typed_steps() -> None:
    flow = parse_workflow("flow.yaml", b"\xef\xbb\xbf" + FILE.encode())
    assert [type(step) for step in flow.steps] == [AskStep, CompareStep, DebateStep, DraftStep, ReviewStep]
    assert [(one.name, one.required) for one in flow.inputs] == [
        ("firstRequest", True),
        ("background", False),
    ]
    memo = flow.step("memo")
    assert isinstance(memo, DraftStep)
    assert (memo.passes, memo.uses, memo.instruction) == (2, ("talk", "views"), "Write it.")
    assert flow.title.in_locale("ja") == "流れ"


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("kind: ask", "kind: think", 9, "unknown kind of step: think; kinds are ask, compare"),
        ("    kind: ask\n", "", 8, "unknown kind of step: none"),
        ("uses: [options]", "uses: [views]", 16, "step views uses its own result: a loop"),
        ("uses: [options]", "uses: [memo]", 16, "step views uses step memo, which comes later"),
        ("uses: [options]", "uses: [nobody]", 16, "step views uses nobody, which is no input and no step"),
        ("uses: [options]", "uses: [[a]]", 16, "uses something, which is no input"),
        ("uses: [options]", "uses: [summary]", 16, "uses input summary, which is missing under inputs"),
        ("uses: [options]", "uses: []", 16, "must be a list of inputs and earlier steps, at least one"),
        ("uses: [options]", "uses: options", 16, "must be a list"),
        ("    uses: [options]\n", "", 13, "step views lacks uses"),
        ("models: 3", "models: 7", 17, "models of step views must be a whole number from 2 to 6"),
        ("models: 3", "models: many", 17, "must be a whole number from 2 to 6"),
        ("models: 3", "models: [3]", 17, "must be a whole number"),
        ("    models: 3\n", "", 13, "step views lacks models"),
        ("rebuttal_rounds: 1", "rebuttal_rounds: 0", 24, "from 1 to 3"),
        ("    models: 3", "    models: 3\n    speed: 9", 18, "step views has an unknown key: speed"),
        ("id: views", "id: options", 13, "id options is taken"),
        ("id: views", "id: firstRequest", 13, "id firstRequest is taken"),
        ("id: views", "id: Views!", 13, "must be a lower-case word"),
        ("id: check", "id: follow_up", 32, "and not follow_up"),
        ("  - id: views\n    kind", "  - kind", 13, "step ? lacks id"),
        ("instruction: Check it.", "instruction: ' '", 37, "instruction of step check must be a text"),
        ("uses: [memo, views]", "uses: [firstRequest]", 35, "can review results of ask, compare"),
        ("name: flow", "name: other", 1, "name must equal the file's name"),
        ("title: {en: Flow, ja: 流れ}", "title: {en: Flow}", 2, "title lacks ja"),
        ("title: {en: Flow, ja: 流れ}", "title: Flow", 2, "title must be a table"),
        ("{en: Flow, ja", "{en: '⟦person: boss⟧', ja", 2, "one short line without"),
        ("  firstRequest: {", "  question: {", 5, "unknown input: question; inputs are summary"),
        ("{en: Memo, ja", "{en: 'Memo/2', ja", 28, "title of step memo cannot be the name of an artifact"),
        ("ja: メモ}", "ja: 'メモ?'}", 28, "title of step memo cannot be the name of an artifact"),
        ("required: yes", "required: perhaps", 5, "must be yes or no"),
        ("required: yes", "optional: no", 5, "unknown key: optional"),
        ("name: flow\n", "", 1, "the file lacks name"),
        ("name: flow\n", "name: flow\nname: flow\n", 2, "key given twice"),
        ("description", "explanation", 3, "the file has an unknown key: explanation"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_reason(old: str, new: str, line: int, reason: str) -> None:
    found = changed(old, new)
    assert any(place == line and reason in why for place, why in found), found


def test_two_drafts_of_one_title_are_refused_since_they_would_be_one_artifact() -> None:
    again = FILE.partition("  - id: memo")[2].partition("  - id: check")[0]
    for title in ("title: {en: MEMO, ja: 別}", "title: {en: Other, ja: メモ}"):
        second = ("  - id: again" + again).replace("title: {en: Memo, ja: メモ}", title)
        (problem,) = problems(FILE + second)
        assert problem == (40, "title of step again is that of an earlier draft")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("- a\n- b\n", 1, "the file must be a table"),
        (FILE.partition("steps:")[0] + "steps: []\n", 7, "steps must be a list of 1 to 12"),
        (FILE.partition("steps:")[0] + "steps: [text]\n", 7, "unknown kind of step: none"),
        ("", 0, "is empty"),
        ("name: [", 1, "expected the node content"),
        (FILE.replace("Write it.", "w" * 4_001), 31, "longer than 4000 characters"),
        (FILE.partition("inputs:")[0] + "inputs: none\nsteps: []\n", 4, "inputs must be a table"),
        ("name: flow\n", 1, "the file lacks steps"),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, line: int, reason: str) -> None:
    found = problems(text)
    assert any(place == line and reason in why for place, why in found), found


def test_more_answers_than_a_review_takes_are_refused() -> None:
    wide = FILE.replace("models: 3", "models: 6")
    assert (35, "step check reviews 7 answers; 6 are the most") in problems(wide)


def test_a_review_of_a_review_is_refused() -> None:
    again = FILE + (
        "  - id: again\n    kind: review\n    title: {en: A, ja: あ}\n    uses: [check]\n"
        "    reviewers: 1\n    instruction: Again.\n"
    )
    assert problems(again)[0][0] == 41


def test_text_that_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationErrors, match=r"flow\.yaml:2: is not UTF-8"):
        parse_workflow("flow.yaml", b"name: flow\ntitle: \xff")


def test_every_problem_of_a_file_and_of_a_folder_is_told_at_once(tmp_path: Path) -> None:
    broken = FILE.replace("kind: ask", "kind: think").replace("models: 3", "models: 9")
    assert len(problems(broken)) >= 2
    (tmp_path / "flow.yaml").write_text(broken, encoding="utf-8")
    (tmp_path / "other.yaml").write_text(FILE, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load_workflows(tmp_path)
    assert isinstance(caught.value, ConfigurationErrors)
    assert {problem.file for problem in caught.value.problems} == {"flow.yaml", "other.yaml"}


def test_the_built_in_workflows_are_right_and_run_with_any_number_of_models() -> None:
    workflows = load_workflows()
    assert set(workflows) == {"decision_memo", "research_brief", "document_polish"}
    for workflow in workflows.values():
        required = {one.name: "x" for one in workflow.inputs if one.required}
        assert required
        for models in (["a"], ["a", "b", "c", "d", "e", "f"]):
            raw = {"workflow": workflow.name, "inputs": required, "models": models}
            setup = WorkflowSetup.from_json(raw, workflows)
            assert WorkflowSetup.from_json(setup.to_json(), workflows) == setup
            for step in workflow.steps:
                made = (
                    compare_setup(step, setup)
                    if isinstance(step, CompareStep)
                    else debate_setup(step, setup)
                    if isinstance(step, DebateStep)
                    else codraft_setup(step, setup)
                    if isinstance(step, DraftStep)
                    else None
                )
                if made is not None:
                    assert type(made).from_json(made.to_json()) == made


def test_an_asking_or_comparing_step_may_name_a_prompt_of_the_workspace() -> None:
    text = FILE.replace(
        "    instruction: List options.\n", "    prompt: team.options\n    instruction: List options.\n"
    )
    workflow = parse_workflow("flow.yaml", text.encode())
    (step,) = workflow.prompted
    assert (step.id, step.prompt, step.prompt_line) == ("options", "team.options", 12)
    assert workflow.file == "flow.yaml"


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        (
            "List options.",
            "List options.\n    prompt: chat.answer",
            13,
            "must name a prompt of the workspace",
        ),
        ("List options.", "List options.\n    prompt: [team.a]", 13, "prompt of step options must be a text"),
        ("Debate them.", "Debate them.\n    prompt: team.a", 26, "step talk has an unknown key: prompt"),
    ],
)
def test_a_prompt_that_no_step_can_use_is_refused_with_line_and_reason(
    old: str, new: str, line: int, reason: str
) -> None:
    ((found, why),) = problems(FILE.replace(old, new))
    assert found == line
    assert reason in why


def test_a_folder_of_one_s_own_stands_beside_the_product_s(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FILE, encoding="utf-8")
    names = list(load_workflows(WORKFLOW_FOLDER, tmp_path))
    assert names == [*load_workflows(), "flow"]


def test_a_name_of_the_product_s_is_not_taken_by_a_file_of_one_s_own(tmp_path: Path) -> None:
    taken = next(iter(load_workflows()))
    (tmp_path / f"{taken}.yaml").write_text(FILE, encoding="utf-8")
    (tmp_path / "odd.yaml").write_text("name: odd\n", encoding="utf-8")
    with pytest.raises(ConfigurationErrors) as caught:
        load_workflows(WORKFLOW_FOLDER, tmp_path)
    found = [str(problem) for problem in caught.value.problems]
    assert found[0].endswith(f"{taken}.yaml: there is a workflow of this name already")
    assert found[1] == "odd.yaml:1: the file lacks title"
