"""Every page and entry of the console, drawn from the examples."""

from collections.abc import Iterator
from datetime import UTC, date
from typing import Any

from bot.console.opening import STARTED_BY_FORM, Wish, setup_of
from bot.console.page import START_LIMITS
from bot.console.parse import COMMANDS, Typed
from bot.console.render import Reader, Renderer
from core.commands.artifact import Shown
from core.commands.console import LOCAL
from core.commands.person import PersonSeen
from core.domain.artifact import diff
from core.domain.thread import Mode
from core.domain.view import (
    ItemView,
    Quote,
    ThreadPage,
)
from core.modes.workflow_file import load_workflows
from tests.bot.console.page_source import PageSource
from tests.bot.console.prompt_pages import prompt_pages
from tests.examples.handover_views import CARDS, DELIVERIES
from tests.examples.handover_views import HEADERS as HEADERS_OF_HANDOVERS
from tests.examples.records import CHANNELS, ESTIMATES, MODELS, RECEIPTS, SAVED, USAGE_LINES, VERSIONS
from tests.examples.views import (
    ANSWERS,
    HOSTILE,
    ITEMS,
    PAGES,
    message_id,
    thread_id,
)

ENGLISH = Reader(locale="en", zone=UTC, today=date(2026, 3, 2))
JAPANESE = Reader(locale="ja", zone=UTC, today=date(2026, 3, 2))
READERS = {"en": ENGLISH, "ja": JAPANESE}
PERSON = PersonSeen(workspace=LOCAL, external_id="you", name=HOSTILE, locale="en")
WORKFLOWS = load_workflows()
CARRIED: tuple[ItemView, ...] = (*HEADERS_OF_HANDOVERS, *DELIVERIES, *CARDS)
SHOWN: dict[str, ItemView] = {
    **ITEMS,
    **{f"carried {n}": view for n, view in enumerate(CARRIED)},
}
NEVER = {"script", "img", "textarea", "style", "iframe", "object", "embed"}


def frame(**more: Any) -> dict[str, Any]:
    shell = {
        "person": PERSON,
        "people": (PERSON,),
        "channels": CHANNELS,
        "current": thread_id(7),
        "channel": "general",
        "here": "",
        "back": "/",
        "flash": HOSTILE,
        "modes": STARTED_BY_FORM,
        "typed": Typed(text=HOSTILE, name=HOSTILE, reason=HOSTILE, title=HOSTILE, position=HOSTILE),
        "error": HOSTILE,
        "commands": COMMANDS,
        "target": ("thread_id", HOSTILE),
        "placeholder": HOSTILE,
        "models": MODELS,
        "thread_id": thread_id(1),
    }
    return {**shell, **more}


def entry(
    renderer: Renderer, view: ItemView, reader: Reader = ENGLISH, page: ThreadPage | None = None
) -> PageSource:
    return PageSource(renderer.entry(view, page or PAGES["thread"], reader))


def whole_pages(renderer: Renderer, reader: Reader) -> Iterator[tuple[str, str]]:
    """Every page and fragment, each filled with hostile text wherever people's text can stand."""
    for name, page in PAGES.items():
        yield name, renderer.thread(page, reader, newest=True, **frame())
        yield f"{name}, earlier", renderer.thread(page, reader, newest=False, **frame())
    yield "tree", renderer.tree(reader, channels=CHANNELS, current="", channel="")
    yield "tree of nobody", renderer.tree(reader, channels=(), current="", channel="")
    for name in ("codraft", "run_hostile"):
        yield (
            f"{name} with artifacts",
            renderer.thread(PAGES[name], reader, newest=True, saved=SAVED, **frame()),
        )
    for fragment in (False, True):
        yield from mode_pages(renderer, reader, fragment=fragment)
        yield from artifact_pages(renderer, reader, fragment=fragment)
        yield from prompt_pages(renderer, reader, frame(), fragment=fragment)
        for name, view in RECEIPTS.items():
            yield f"{name} {fragment}", renderer.receipt(view, reader, fragment=fragment, **frame())
        for name, lines in {"usage": USAGE_LINES, "no usage": ()}.items():
            yield f"{name} {fragment}", renderer.usage(lines, reader, fragment=fragment, by="day", **frame())
        quote = Quote(author=HOSTILE, text=HOSTILE)
        for name in ("branch", "edit", "delete", "rename", "other_model", "person", "models", "help"):
            yield f"{name} {fragment}", renderer.page(name, reader, fragment=fragment, quote=quote, **frame())
        yield "refused", renderer.page("refused", reader, fragment=fragment, way_out="/", **frame())
    for channel in (*CHANNELS, None):
        yield "home", renderer.page("home", reader, here_channel=channel, demo_only=True, **frame())


def wish(mode: Mode, **fields: str) -> Wish:
    return Wish(mode=mode, channel="general", event_key="", fields=fields)


WISHES = {
    "compare": wish(
        Mode.COMPARE,
        text=HOSTILE,
        blind="on",
        **{"take.gpt-large": "on", "times.gpt-large": "2", "take.demo-careful": "on"},
    ),
    "debate": wish(
        Mode.DEBATE,
        text=HOSTILE,
        background=HOSTILE,
        moderator="gpt-large",
        **{"model.A": "gpt-large", "role.A": "skeptic", "model.B": "gone-model", "role.B": "analyst"},
    ),
    "codraft": wish(Mode.CODRAFT, text=HOSTILE, passes="3", **{"model.1": "gpt-large", "model.2": HOSTILE}),
    "workflow": wish(
        Mode.WORKFLOW,
        text=HOSTILE,
        workflow="decision_memo",
        **{"input.constraints": HOSTILE, "model.1": "demo-careful"},
    ),
}


def mode_pages(renderer: Renderer, reader: Reader, *, fragment: bool) -> Iterator[tuple[str, str]]:
    for name, one in WISHES.items():
        given: dict[str, Any] = {
            "wish": one,
            "here_channel": CHANNELS[0],
            "workflow": WORKFLOWS["decision_memo"] if name == "workflow" else None,
            "fragment": fragment,
        }
        yield f"start {name} {fragment}", renderer.page("start", reader, **given, **START_LIMITS, **frame())
        for kind, estimate in ESTIMATES.items():
            page = renderer.page(
                "confirm", reader, **given, setup=setup_of(one), estimate=estimate, **frame()
            )
            yield f"confirm {name} {kind} {fragment}", page
    yield (
        f"workflows {fragment}",
        renderer.page(
            "workflows",
            reader,
            fragment=fragment,
            wish=WISHES["workflow"],
            workflows=WORKFLOWS.values(),
            **frame(),
        ),
    )
    answers = [view for view in ANSWERS.values() if view.label or view.shared_sha256]
    more = {"thread_locale": "en", "least": 1, "most": 4, "usual": 2, "chosen": {message_id(30)}}
    more |= {"estimate": next(iter(ESTIMATES.values()))}
    yield (
        f"review {fragment}",
        renderer.page("review", reader, fragment=fragment, answers=answers, **more, **frame()),
    )
    yield f"join {fragment}", renderer.page("join", reader, fragment=fragment, **frame())


def artifact_pages(renderer: Renderer, reader: Reader, *, fragment: bool) -> Iterator[tuple[str, str]]:
    shown = artifact_shown()
    for name, saved in {"artifacts": SAVED, "no artifacts": ()}.items():
        yield (
            f"{name} {fragment}",
            renderer.page("artifacts", reader, fragment=fragment, saved=saved, **frame()),
        )
    yield f"save {fragment}", renderer.page("save", reader, fragment=fragment, saved=SAVED, **frame())
    yield f"artifact {fragment}", renderer.page("artifact", reader, fragment=fragment, shown=shown, **frame())
    for overtaken in (False, True):
        page = renderer.page(
            "edit_artifact",
            reader,
            fragment=fragment,
            newest=2,
            overtaken=overtaken,
            changes=shown.changes,
            **frame(),
        )
        yield f"edit artifact {overtaken} {fragment}", page


def artifact_shown() -> Shown:
    before = "one\ntwo\n" + "same\n" * 9 + "end"
    text = f"one\n{HOSTILE}\n" + "same\n" * 9 + "the end"
    return Shown(
        artifact=SAVED[0], version=VERSIONS[1], text=text, changes=diff(before, text), versions=VERSIONS
    )
