"""The pages of prompts, drawn from the examples."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from bot.console.parse import Form
from bot.console.prompted import Editing, elsewhere
from bot.console.render import Reader, Renderer
from bot.prompt_outline import PARTS, raised, rows
from core.domain.artifact import diff
from core.domain.eval_run import OPEN, EvalStatus
from core.domain.prompt import GATE_REFUSALS, DraftCheck, PromptState, PromptText
from core.domain.view import Phrase
from core.domain.word_diff import word_diff
from tests.examples.eval_views import ESTIMATES, LOG_CASE, QUESTIONS, REQUEST, eval_set_page
from tests.examples.eval_views import item as evaluated
from tests.examples.eval_views import pages as evaluations
from tests.examples.prompt_views import (
    CHANGES,
    CHECKS,
    EVENTS,
    FILES,
    LISTED,
    MERGES,
    SHIPPED_VERSION,
    STATUS,
    VERSIONS,
    page,
)
from tests.examples.views import HOSTILE

WHERE = "/prompts/chat.answer"
REFUSED = Form(
    fields={"name": HOSTILE, "reason": HOSTILE, "part.system.md": HOSTILE, "override": "on"},
    refused="prompt_withdrawn_before",
)


AGAINST = (
    Phrase(key="refusal.prompt_own_version"),
    Phrase(key="refusal.prompt_gate_shut", fields={"version": "1.3.0", "reasons": f"{HOSTILE}\n{HOSTILE}"}),
)


def editing(**more: Any) -> Editing:
    return Editing(text=PromptText(name="chat.answer", files=FILES), reason=HOSTILE, **more)


def form_of(one: Editing, check: DraftCheck) -> dict[str, Any]:
    return {
        "editing": one,
        "check": check,
        "elsewhere": elsewhere(check.problems),
        "raised": raised(check, page(), "id-1.0.0"),
        "reason_chars": 500,
    }


def prompt_pages(
    renderer: Renderer, reader: Reader, outer: dict[str, Any], *, fragment: bool
) -> Iterator[tuple[str, str]]:
    """Every page of prompts; `outer` is the frame around them."""

    def drawn(name: str, **more: Any) -> tuple[str, str]:
        context = {"fragment": fragment, "where": WHERE, "parts": PARTS, "diff": diff, "event_key": ""}
        return f"{name} {fragment}", renderer.page(name, reader, **{**outer, **context, **more})

    yield drawn("prompts", items=LISTED, status=STATUS)
    yield drawn("prompts", items=(), status=STATUS.__class__(generation=1, processes=()))
    yield drawn("prompt_new", form=REFUSED, prefix="team.", parts=PARTS)
    for state in PromptState:
        shown = page(state)
        of = {"page": shown, "item": shown.item}
        proposed = next(row for row in rows(shown) if row.version.candidate)
        yield drawn("prompt", **of, rows=rows(shown), proposed=proposed, note=HOSTILE, verify_key="")
        yield drawn(
            "prompt_promote",
            **of,
            gate=[f"refusal.{code}" for code in GATE_REFUSALS],
            changes=CHANGES,
            known=CHECKS["reminded"],
            against=AGAINST,
            form=REFUSED,
        )
    yield drawn(
        "prompt_promote",
        **of,
        gate=[f"refusal.{code}" for code in GATE_REFUSALS],
        changes=(),
        known=DraftCheck(),
        against=(),
        form=Form(),
    )
    for events in (EVENTS, ()):
        yield drawn("prompt_history", **of, events=events)
    yield drawn("prompt_compare", **of, before=SHIPPED_VERSION, changes=CHANGES)
    yield drawn("prompt_compare", **of, before=VERSIONS[1], changes=())
    yield drawn("prompt_rollback", **of, changes=CHANGES, reason=HOSTILE)
    yield drawn("prompt_archive", **of, reason=HOSTILE)
    for state in (PromptState.DIVERGED, PromptState.EDITED):
        yield drawn("prompt_diverged", page=page(state), item=page(state).item)
    for runs in (tuple(evaluated(status) for status in EvalStatus), ()):
        yield drawn("evals", **of, runs=runs, form=Form(), chosen="", usual=3, most=10)
    for estimate in ESTIMATES:
        versions = {"candidate": VERSIONS[0], "baseline": SHIPPED_VERSION}
        yield drawn("eval_confirm", **of, estimate=estimate, asked=REQUEST, **versions)
    for run in evaluations():
        running = run.item.status in OPEN
        context = {"page": run, "item": run.item, "running": running, "queue": QUESTIONS}
        context |= {"cases": run.comparison.cases, "outcomes": list(run.comparison.counts.items())}
        context |= {"word_diff": word_diff, "comment_chars": 500, "poll_s": 2, "form": REFUSED}
        yield drawn("eval", **context)
    yield from eval_set_pages(drawn)
    for check in CHECKS.values():
        for one in (editing(), editing(merges=MERGES, version="2.0.0", acknowledged=True, from_draft=True)):
            yield drawn("prompt_edit", **of, **form_of(one, check))


def eval_set_pages(drawn: Callable[..., tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pages of eval sets."""
    own, shipped = eval_set_page(), eval_set_page(shipped=True)
    yield drawn("eval_sets", items=(own.item, shipped.item))
    for one in (own, shipped):
        yield drawn("eval_set", page=one, item=one.item, form=REFUSED)
    files = {"set.yaml": HOSTILE, f"cases/{HOSTILE}": HOSTILE}
    context = {"field": "file.", "prefix": "team-", "reason": HOSTILE, "reason_chars": 500}
    yield drawn("eval_set_new", files=files, **context)
    for kept in (LOG_CASE, replace(LOG_CASE, masked={}, doubts=(), left_out=(), is_new_set=False)):
        yield drawn("eval_case", case=kept, form=REFUSED)
