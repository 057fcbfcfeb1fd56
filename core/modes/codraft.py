"""Co-Draft: one model drafts a text, others criticise and revise it in turn; each version is kept (spec §3)."""

from functools import partial

from core.ai_input.codraft import PROMPT_NAMES, build_critique, build_draft, build_revision
from core.ai_input.structured import REPAIR_PROMPT
from core.domain.codraft import ARTIFACT, DRAFT, CoDraftSetup, Pass, passes_in
from core.i18n import text
from core.modes.context import Ask, Draft, RunContext
from core.modes.presenting import present_critique, present_revision

PROMPTS = (*PROMPT_NAMES, REPAIR_PROMPT)


async def codraft(run: RunContext) -> None:
    """The draft and its passes; a message in a finished Co-Draft is the instruction for one more pass."""
    setup = CoDraftSetup.from_json(run.setup)
    before = await run.steps_before()
    draft = await run.newest_version(ARTIFACT) if before else await _draft(run, setup)
    passes = (setup.next_pass(passes_in(before)),) if before else setup.plan()
    for each in passes:
        if draft is None or await run.stopped():
            return
        draft = await _pass(run, each, draft, follow_up=bool(before))


async def _draft(run: RunContext, setup: CoDraftSetup) -> Draft | None:
    drafted = await run.answer(Ask(step=DRAFT, model=setup.models[0], build=build_draft))
    if drafted.message_id is None:
        return None
    reason = text(run.locale, "codraft.drafted", model=setup.models[0])
    return await run.save_version(DRAFT, ARTIFACT, drafted.text, answer=drafted, reason=reason)


async def _pass(run: RunContext, each: Pass, draft: Draft, *, follow_up: bool) -> Draft | None:
    """One model criticises the text as it stands and writes it anew; None when no new version came."""
    await run.answer(
        Ask(
            step=each.critique,
            model=each.model,
            build=partial(build_critique, text=draft.text, text_id=draft.message_id, follow_up=follow_up),
            present=partial(present_critique, locale=run.locale),
        )
    )
    if await run.stopped():
        return None
    revised = await run.answer(
        Ask(
            step=each.revise,
            model=each.model,
            build=partial(
                build_revision,
                text=draft.text,
                text_id=draft.message_id,
                number=each.number,
                follow_up=follow_up,
            ),
            present=partial(present_revision, before=draft.text, locale=run.locale),
        )
    )
    if revised.data is None:
        return None
    reason = text(run.locale, "codraft.revised", number=each.number, model=each.model)
    return await run.save_version(
        each.revise, ARTIFACT, str(revised.data["text"]), answer=revised, reason=reason
    )
