"""A workspace's own prompt in a step of a workflow: what is sent, what the receipt names, what is refused before."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from core.commands.handover import Sending, send_handover
from core.commands.prompt_live import archive
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.prompt import PromptText
from core.domain.receipt import Origin, Role
from core.domain.thread import Mode
from core.domain.view import AnswerState
from core.i18n import LOCALES, refusal
from core.modes.workflow_file import parse_workflow
from tests.commands.look import count, refused
from tests.commands.prompting import make_live, page, save
from tests.commands.test_handover import FIELDS, drafted
from tests.modes.look import begun, card, receipt, sent_to, started, steps
from tests.product import World, eventually, open_world

NAME = "team.style"
FILE = f"""\
name: flow
title: {{en: Flow, ja: 流れ}}
description: {{en: What it does, ja: 何をするか}}
inputs:
  firstRequest: {{title: {{en: Question, ja: 問い}}, required: yes}}
steps:
  - id: options
    kind: ask
    prompt: {NAME}
    title: {{en: Options, ja: 選択肢}}
    uses: [firstRequest]
    instruction: List options.
  - id: views
    kind: compare
    prompt: {NAME}
    title: {{en: Views, ja: 見解}}
    uses: [options]
    models: 2
    instruction: Compare them.
"""
METADATA = (
    f"name: {NAME}\ndescription: Our style\ntarget_models: [any]\noutput_format: text\n"
    "inputs:\n  title: {trust: trusted, description: title of the step}\n"
)
FIRST = {
    "prompt.yaml": METADATA,
    "system.md": "Write in the voice of plantedstyle.",
    "task.md": "This is about {{title}}.",
    "few_shot.yaml": '- {input: {title: "Cost"}, output: "A planted example."}\n',
}
SETUP = {"workflow": "flow", "models": ["alpha", "beta"]}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    flow = parse_workflow("flow.yaml", FILE.encode())
    urls = (f"sqlite:///{tmp_path / 'app.db'}", f"sqlite:///{tmp_path / 'engine.db'}")
    async with open_world(*urls, workflows={"flow": flow}) as opened:
        yield opened


async def live(world: World, actor: Actor, files: dict[str, str] | None = None) -> str:
    """The prompt made live in its first version; its id."""
    saved = await save(world, actor, PromptText(name=NAME, files=files or FIRST))
    await make_live(world, actor, saved.version_id, NAME)
    return saved.version_id


async def changed(world: World, actor: Actor) -> None:
    """Another version made live."""
    seen = await page(world, actor, NAME)
    files = {"system.md": "Write in the voice of plantedstyle.\nNever use plantedwords.\n"}
    text = PromptText(name=NAME, base_id=seen.live_id, head_id=seen.head_id, files=files)
    saved = await save(world, actor, text)
    await make_live(world, actor, saved.version_id, NAME)


async def test_a_step_is_sent_the_workspace_s_prompt_and_its_receipt_names_it(world: World) -> None:
    aki = await world.person()
    await live(world, aki)
    thread = await started(world, aki, Mode.WORKFLOW, "Which garage?", **SETUP)
    shown = await receipt(world, aki, await card(world, aki, thread, "options"))
    system, *middle, about, asked = shown.parts
    assert system.origin is Origin.SYSTEM_PROMPT
    assert system.text.startswith("You work on one step of a workflow")
    assert system.text.endswith("Write in the voice of plantedstyle.")
    assert [(one.role, one.text) for one in middle if one.origin is Origin.EXAMPLE] == [
        (Role.USER, "This is about Cost."),
        (Role.ASSISTANT, "A planted example."),
    ]
    assert about.text == "This is about Options."
    assert asked.text.endswith("List options.")
    assert "Which garage?" in sent_to(world, "options")
    named = {one.name: one for one in shown.prompts}
    assert named[NAME].version == "1.0.0"
    assert named[NAME].sha256 == (await page(world, aki, NAME)).item.sha256
    assert "workflow.step" in named
    views = [call for call in world.model.calls if "/views/answer" in call.request_id]
    assert [NAME in {ref.name for ref in call.ai_input.prompts} for call in views] == [True, True]
    assert len({call.ai_input.sha256 for call in views}) == 1
    summary = await receipt(world, aki, await card(world, aki, thread, "views/summary"))
    assert NAME not in {one.name for one in summary.prompts}


async def test_a_run_keeps_the_version_it_began_with_and_the_next_one_has_the_new(world: World) -> None:
    aki = await world.person()
    await live(world, aki)
    world.model.held = "options"
    world.model.hold = held = asyncio.Event()
    _, run_id = await begun(world, aki, Mode.WORKFLOW, "Which garage?", **SETUP)
    await world.model.begun.wait()
    await changed(world, aki)
    held.set()
    await world.finished(run_id)
    assert "plantedwords" not in "".join(p.text for call in world.model.calls for p in call.ai_input.parts)
    again = await started(world, aki, Mode.WORKFLOW, "And which cellar?", **SETUP)
    shown = await receipt(world, aki, await card(world, aki, again, "options"))
    assert "plantedwords" in shown.parts[0].text
    assert {one.version for one in shown.prompts if one.name == NAME} == {"1.1.0"}


JSON = {
    "prompt.yaml": METADATA.replace("output_format: text", "output_format: json").partition("inputs:")[0],
    "system.md": "Answer in JSON.",
    "output.schema.json": '{"type": "object", "properties": {}, "additionalProperties": false}',
}
OTHER = {
    "prompt.yaml": METADATA.replace("title: {", "letter: {"),
    "system.md": "Answer.",
    "task.md": "Answer {{letter}}.",
}


@pytest.mark.parametrize(
    ("files", "code", "reason"),
    [
        (None, "workflow_prompt_missing", "not live"),
        (JSON, "workflow_prompt_format", "answers in JSON"),
        (OTHER, "workflow_prompt_placeholders", "placeholders letter"),
    ],
)
async def test_a_prompt_that_is_not_there_or_does_not_fit_is_refused_before_anything_starts(
    world: World, files: dict[str, str] | None, code: str, reason: str
) -> None:
    aki = await world.person()
    if files is not None:
        await live(world, aki, files)
    begin = world.say(aki, "Which garage?", mode=Mode.WORKFLOW, setup=SETUP, estimate_seen=True)
    found = await refused(begin, code)
    assert told(found)[0].startswith("flow.yaml, line 9: step options names the prompt")
    assert reason in told(found)[0]
    assert "flow.yaml" in told(found)[1]
    assert world.model.calls == []
    assert (await count(world, "thread"), await count(world, "run")) == (0, 0)


def told(found: Refusal) -> list[str]:
    return [refusal(locale, found) for locale in LOCALES]


async def test_a_prompt_saved_and_never_made_live_or_archived_is_not_used(world: World) -> None:
    aki = await world.person()
    await save(world, aki, PromptText(name=NAME, files=FIRST))
    begin = world.say(aki, "Which garage?", mode=Mode.WORKFLOW, setup=SETUP, estimate_seen=True)
    await refused(begin, "workflow_prompt_missing")
    seen = await page(world, aki, NAME)
    await make_live(world, aki, seen.head_id, NAME)
    thread = await started(world, aki, Mode.WORKFLOW, "Which garage?", **SETUP)
    rev = (await page(world, aki, NAME)).rev
    await archive(world.services, aki, NAME, rev, "not our style any more", event_key="a")
    begin = world.say(aki, "Which cellar?", mode=Mode.WORKFLOW, setup=SETUP, estimate_seen=True)
    await refused(begin, "workflow_prompt_missing")
    await world.say(aki, "What does it come to?", thread)
    assert (await steps(world, aki, thread))[-1] == ("follow_up", AnswerState.DONE)


async def test_a_handover_to_a_workflow_is_refused_likewise_and_can_be_sent_once_the_prompt_is_live(
    world: World,
) -> None:
    aki = await world.person()
    source = (await world.say(aki, "Which garage?")).thread_id
    assert source
    handover = await drafted(world, aki, source, Mode.WORKFLOW.value)
    sending = Sending(
        handover_id=handover.id, fields=FIELDS, start="Which garage?", setup=SETUP, estimate_seen=True
    )
    before = await count(world, "thread")
    await refused(send_handover(world.services, aki, sending, event_key="h"), "workflow_prompt_missing")
    assert await count(world, "thread") == before
    await live(world, aki)
    target = await send_handover(world.services, aki, sending, event_key="i")
    await eventually(lambda: any("/options" in call.request_id for call in world.model.calls))
    assert "plantedstyle" in sent_to(world, "options")
    await world.quiet(aki, target.id)
