"""A workspace's own eval sets: brought in, refused, listed, taken out; what evaluations and the gate make of them."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from core.commands.eval import estimate_eval, show_eval, start_eval
from core.commands.eval_set import export_eval_set, import_eval_set, list_eval_sets, show_eval_set
from core.commands.person import PersonSeen, identify
from core.domain.eval_run import EvalRequest, EvalStatus
from core.domain.eval_set import SavedEvalSet
from core.domain.policy import Actor, Policy
from core.domain.prompt import PromptText
from core.i18n import refusal as sentence
from core.ports import ModelCall
from tests.commands.look import count, refused, speaks
from tests.commands.prompting import make_live, save
from tests.product import WORKSPACE, World

PROMPT = "team.replies"
SET = "team-replies"
METADATA = (
    f"name: {PROMPT}\ndescription: Replies to guests\ntarget_models: [any]\noutput_format: text\neval_set: {SET}\n"
    "inputs:\n  letter: {trust: untrusted, description: what a guest wrote}\n"
)
RULE = "Name the day."
CASES = 20


def files(
    cases: int = CASES, *, version: int = 1, name: str = SET, more: Mapping[str, str] = MappingProxyType({})
) -> dict[str, bytes]:
    """The files of a set for the prompt, whose cases a scripted model can meet; `more` stand beside them."""
    body = "".join(
        f"- id: R{number:02}\n  kind: {('typical', 'boundary', 'past_failure')[number % 3]}\n"
        f"  origin: synthetic\n  inputs: {{letter: Letter R{number:02}}}\n  checks: [{{contains_all: [thanks]}}]\n"
        for number in range(1, cases + 1)
    )
    head = f"id: {name}\nversion: {version}\nprompts: [{PROMPT}]\n"
    return {
        "set.yaml": head.encode(),
        "cases/all.yaml": body.encode(),
        **{path: text.encode() for path, text in more.items()},
    }


async def a_prompt(world: World, actor: Actor) -> str:
    """The workspace's own prompt, live in its first version; id of a second one, which is proposed."""
    text = {"prompt.yaml": METADATA, "system.md": "You answer letters.", "task.md": "Answer {{letter}}"}
    first = await save(world, actor, PromptText(name=PROMPT, files=text))
    await make_live(world, actor, first.version_id, PROMPT)
    changed = {"system.md": f"You answer letters.\n{RULE}\n"}
    head = first.version_id
    second = PromptText(name=PROMPT, base_id=head, head_id=head, files=changed)
    return (await save(world, actor, second)).version_id


async def bring_in(world: World, actor: Actor, given: dict[str, bytes], *, key: str = "") -> SavedEvalSet:
    why = "letters that went wrong"
    return await import_eval_set(world.services, actor, given, why, event_key=key or world.clock.new_id())


def polite(call: ModelCall) -> str:
    """Two texts that the conditions are content with."""
    day = " on Monday" if RULE in "\n".join(part.text for part in call.ai_input.parts) else ""
    return f"Many thanks, we meet{day}."


async def test_a_set_of_its_own_is_listed_run_and_opens_the_gate(world: World) -> None:
    aki = await world.person()
    proposed = await a_prompt(world, aki)
    request = EvalRequest(prompt=PROMPT, candidate_id=proposed, model="alpha", repeats=1)
    unknown = await refused(estimate_eval(world.services, aki, request), "eval_set_unknown")
    assert "handover-v1" in str(unknown.fields["allowed"])
    saved = await bring_in(world, aki, files())
    assert (saved.name, saved.version, saved.cases) == (SET, 1, CASES)
    listed = {one.name: one for one in await list_eval_sets(world.services, aki)}
    assert next(iter(listed)) == SET
    assert (listed[SET].shipped, listed[SET].prompts, listed[SET].warnings) == (False, (PROMPT,), ())
    assert listed["handover-v1"].shipped

    world.model.plan = polite
    estimate = await estimate_eval(world.services, aki, request)
    assert (estimate.eval_set, estimate.cases, estimate.calls) == (SET, CASES, 2 * CASES)
    run_id = await start_eval(world.services, aki, request, event_key="e")
    await world.finished(run_id)
    sent = {tuple(part.text for part in call.ai_input.parts) for call in world.model.calls}
    assert len(sent) == 2 * CASES
    assert all("Letter R" in request[-1] for request in sent)
    page = await show_eval(world.services, aki, run_id)
    assert (page.item.status, page.closed) == (EvalStatus.DONE, ())
    moved = await make_live(world, aki, proposed, PROMPT, override=False)
    assert moved.to_version == "1.1.0"


async def test_an_evaluation_keeps_the_version_it_began_with_and_opens_no_gate_by_an_old_one(
    world: World,
) -> None:
    aki = await world.person()
    proposed = await a_prompt(world, aki)
    await bring_in(world, aki, files())
    world.model.plan = polite
    request = EvalRequest(prompt=PROMPT, candidate_id=proposed, model="alpha", repeats=1)
    run_id = await start_eval(world.services, aki, request, event_key="e")
    await bring_in(world, aki, files(CASES + 1, version=2))
    await world.finished(run_id)
    page = await show_eval(world.services, aki, run_id)
    assert (page.item.status, len(page.comparison.cases)) == (EvalStatus.DONE, CASES)
    assert any("same conditions" in speaks(one) for one in page.closed)


async def test_what_goes_out_comes_in_again_as_it_was(world: World) -> None:
    aki = await world.person()
    await a_prompt(world, aki)
    more = "\ufeff- {id: M1, kind: typical, origin: synthetic, inputs: {letter: x},\r\n   human: [It is kind]}\r\n"
    given = files(more={"cases/more.yaml": more})
    await bring_in(world, aki, given)
    out = await export_eval_set(world.services, aki, SET)
    assert (out.name, out.version) == (SET, 1)
    assert out.files["cases/more.yaml"].startswith("- {id: M1")
    again = {path: text.encode() for path, text in out.files.items()}
    await refused(bring_in(world, aki, again), "eval_set_unchanged")
    lower = await refused(
        bring_in(world, aki, {**files(3), "set.yaml": again["set.yaml"]}), "eval_set_version"
    )
    assert lower.fields["newest"] == 1
    raised = {**again, "set.yaml": again["set.yaml"].replace(b"version: 1", b"version: 7")}
    await bring_in(world, aki, raised)
    shown = await show_eval_set(world.services, aki, SET)
    assert [(one.version, one.who, one.reason) for one in shown.versions] == [
        (7, "Aki", "letters that went wrong"),
        (1, "Aki", "letters that went wrong"),
    ]
    assert shown.cases[-1].human == ("It is kind",)
    assert shown.cases[0].checks == ("contains_all",)


LEAKING = "- {id: B1, kind: typical, origin: synthetic, inputs: {letter: a@b.example}}\n"
WRONG: list[tuple[dict[str, bytes], str, str]] = [
    ({}, "eval_set_no_id", "set.yaml"),
    (files(name="handover-v1"), "eval_set_name", "team-"),
    (files(name="team-Replies"), "eval_set_name", "lower-case"),
    (files(name="team-" + "x" * 80), "eval_set_name", "60"),
    (files(more={f"cases/{n}.yaml": "[]\n" for n in range(100)}), "eval_set_files", "100"),
    (files(more={"notes.txt": "x"}), "eval_set_invalid", "notes.txt: is no part of an eval set"),
    (
        files(more={"cases/b.yaml": "- {id: R01"}),
        "eval_set_invalid",
        "cases/b.yaml:1: cannot be read as YAML",
    ),
    (
        files(
            more={"cases/b.yaml": "\n- {id: R01, kind: typical, origin: synthetic, inputs: {letter: x}}\n"}
        ),
        "eval_set_invalid",
        "cases/b.yaml:2: case R01 is there twice, first in cases/all.yaml:1",
    ),
    (
        files(more={"cases/b.yaml": "- {id: B1, kind: odd, origin: synthetic, inputs: {}}\n"}),
        "eval_set_invalid",
        "cases/b.yaml:1: case B1: inputs must hold exactly: letter",
    ),
    (
        files(more={"cases/b.yaml": LEAKING}),
        "eval_set_invalid",
        "personal data (mail): mask it first",
    ),
    (
        {**files(), "set.yaml": f"id: {SET}\nversion: 1\nprompts: [team.none]\n".encode()},
        "eval_set_invalid",
        "set.yaml:3: there is no prompt team.none",
    ),
    ({**files(), "cases/all.yaml": b"\xff\xfe"}, "eval_set_invalid", "cases/all.yaml:1: is not UTF-8"),
    ({**files(), "cases/all.yaml": b"[]"}, "eval_set_invalid", "has 0 cases"),
]


async def test_what_is_wrong_with_a_set_is_told_by_file_line_and_reason_and_nothing_is_kept(
    world: World,
) -> None:
    aki = await world.person()
    await a_prompt(world, aki)
    for given, code, said in WRONG:
        refusal = await refused(bring_in(world, aki, given), code)
        assert said in sentence("en", refusal), (said, sentence("en", refusal))
    await refused(import_eval_set(world.services, aki, files(), "no", event_key="e"), "prompt_reason_missing")
    assert await count(world, "eval_set_version") == 0


async def test_what_is_wrong_with_a_set_is_told_in_the_reader_s_language(world: World) -> None:
    aki = replace(await world.person(), locale="ja")
    await a_prompt(world, aki)
    broken = files(
        more={"notes.txt": "x", "cases/b.yaml": "- {id: B1, kind: odd, origin: synthetic, inputs: {}}\n"}
    )
    refusal = await refused(bring_in(world, aki, broken), "eval_set_invalid")
    problems = str(refusal.fields["problems"]).splitlines()
    assert len(problems) == 3
    assert problems[0].startswith("notes.txt: 評価セットの部分ではありません")
    assert {"cases/b.yaml:1: kind は", "cases/b.yaml:1: ケース B1: inputs には"} == {
        one[: one.index("は") + 1] for one in problems[1:]
    }
    assert await count(world, "eval_set_version") == 0


async def test_the_same_form_twice_saves_one_version(world: World) -> None:
    aki = await world.person()
    await a_prompt(world, aki)
    for _ in range(2):
        saved = await bring_in(world, aki, files(), key="form")
        assert (saved.version, saved.cases) == (1, CASES)
    assert await count(world, "eval_set_version") == 1


async def test_only_editors_bring_sets_in_and_guests_see_none(world: World) -> None:
    aki, guest = await world.person(), await world.person("U9", "Gus", is_guest=True)
    await a_prompt(world, aki)
    world.policies[WORKSPACE.external_id] = Policy(prompt_editors=("U2",))
    await refused(bring_in(world, aki, files()), "prompt_edit_not_allowed")
    for act in (list_eval_sets(world.services, guest), show_eval_set(world.services, guest, "debate-v1")):
        await refused(act, "prompt_not_allowed")
    assert not (await show_eval_set(world.services, aki, "debate-v1")).can_edit
    await refused(export_eval_set(world.services, aki, "debate-v1"), "eval_set_shipped")
    await refused(show_eval_set(world.services, aki, SET), "eval_set_not_found")
    assert await count(world, "eval_set_version") == 0


async def test_another_workspace_has_no_part_in_it(world: World) -> None:
    aki = await world.person()
    await a_prompt(world, aki)
    await bring_in(world, aki, files())
    elsewhere = replace(WORKSPACE, external_id="W2", name="Others")
    seen = PersonSeen(workspace=elsewhere, external_id="U1", name="Other", locale="en")
    other = await identify(world.services, seen)
    await refused(show_eval_set(world.services, other, SET), "eval_set_not_found")
    assert SET not in [one.name for one in await list_eval_sets(world.services, other)]
