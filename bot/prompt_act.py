"""What people do with prompts in chat: the same steps on every chat platform, each of them a command of the core."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.prompt_outline import (
    begun_from,
    both_changes,
    numbered,
    opening,
    overtaken,
    rollback_reason,
    rows,
    typed_part,
    version_in,
)
from core import i18n
from core.commands.prompt import compare_versions, show_prompt
from core.commands.prompt_edit import check_draft, save_draft, save_version
from core.commands.prompt_live import promote, roll_back, verify_version
from core.commands.services import Services
from core.domain.errors import Refusal
from core.domain.policy import Actor
from core.domain.prompt import (
    GATE_REFUSALS,
    DraftCheck,
    PartChange,
    PromoteRequest,
    PromptPage,
    PromptSource,
    PromptText,
    PromptVersionView,
    RollBackRequest,
    SaveRequest,
)

VERIFY = "verify"
PROMOTE = "promote"
ROLL_BACK = "rollback"
MOVES = (VERIFY, PROMOTE, ROLL_BACK)
"""What can be done with a version, each with a reason."""

STALE = ("prompt_stale", "prompt_stale_release")
"""Refusals of a text that was overtaken; it is kept as a draft then."""

WITHDRAWN = "prompt_withdrawn_before"
MOVED = "prompt_moved"
AGAIN = GATE_REFUSALS | {WITHDRAWN, MOVED}
"""Refusals after which the same can be asked for once more, in the knowledge of what they say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Something done with a version of a prompt."""

    kind: str
    """One of `MOVES`."""
    name: str
    version_id: str
    rev: int
    """`PromptPage.rev` as the person saw it."""
    reason: str
    acknowledged: bool = False
    override: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A person's draft of a prompt, with what is known about it."""

    page: PromptPage
    text: PromptText
    check: DraftCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A version of a prompt with what it changed in the one before, and what its reader can do with it."""

    page: PromptPage
    version: PromptVersionView
    changes: tuple[PartChange, ...]
    moves: tuple[str, ...]


# --- editing --------------------------------------------------------------------------------------------------------


async def keep_part(
    services: Services, actor: Actor, text: PromptText, file: str, typed: str, *, key: str
) -> None:
    """Keep a part as it was typed in the person's draft. `text` is what its form began with; its files are not read.

    Raises Refusal.
    """
    page = await show_prompt(services, actor, text.name, version_id=text.base_id)
    draft = page.draft if page.draft is not None and page.draft.base_id == text.base_id else None
    before = draft.files if draft is not None else page.files
    kept = {**before, file: typed_part(typed, before.get(file, ""))}
    changed = PromptText(name=text.name, base_id=text.base_id, head_id=text.head_id, files=kept)
    await save_draft(services, actor, changed, event_key=key)


async def drafted(services: Services, actor: Actor, name: str) -> Drafted:
    """The person's draft and what is known about it. Raises Refusal `prompt_no_draft` where there is none."""
    page = await show_prompt(services, actor, name)
    if page.draft is None:
        raise Refusal("prompt_no_draft", name=name)
    text = begun_from(page)
    return Drafted(page=page, text=text, check=await check_draft(services, actor, text))


async def join_changes(services: Services, actor: Actor, name: str, *, key: str) -> None:
    """Lay the person's draft over what others saved meanwhile, and keep that as the draft. Raises Refusal."""
    page = await show_prompt(services, actor, name)
    if page.draft is not None and overtaken(page):
        await save_draft(services, actor, both_changes(page, page.draft), event_key=key)


async def save(
    services: Services,
    actor: Actor,
    name: str,
    *,
    reason: str,
    version: str,
    acknowledged: bool,
    key: str,
) -> str:
    """Save the person's draft as a version; the sentence that says so. Raises Refusal."""
    page = await show_prompt(services, actor, name)
    request = SaveRequest(
        text=begun_from(page),
        reason=reason,
        source=PromptSource.CHAT,
        # The number was chosen before another version was saved; that there is one has to be said first.
        version="" if overtaken(page) else version,
        acknowledged=acknowledged,
    )
    saved = await save_version(services, actor, request, event_key=key)
    return i18n.text(actor.locale, "console.prompt_saved", version=saved.version)


# --- versions -------------------------------------------------------------------------------------------------------


async def see_version(
    services: Services, actor: Actor, name: str, which: Callable[[PromptPage], PromptVersionView]
) -> Seen:
    """One version of a prompt, which `which` finds on its page. Raises Refusal."""
    page = await show_prompt(services, actor, name)
    version = which(page)
    row = next(one for one in rows(page) if one.version.version_id == version.version_id)
    changes: tuple[PartChange, ...] = ()
    if row.previous:
        changes = await compare_versions(services, actor, name, row.previous, version.version_id)
    can = ((VERIFY, row.can_verify), (PROMOTE, row.can_promote))
    moves = [kind for kind, holds in (*can, (ROLL_BACK, row.can_roll_back)) if holds]
    return Seen(page=page, version=version, changes=changes, moves=tuple(moves))


def by_id(version_id: str) -> Callable[[PromptPage], PromptVersionView]:
    return lambda page: version_in(page, version_id)


def by_number(number: str) -> Callable[[PromptPage], PromptVersionView]:
    return lambda page: numbered(page, number)


def first_words(kind: str, page: PromptPage, version: PromptVersionView) -> str:
    """What the reason of a move begins with."""
    return opening(page, version) if kind == ROLL_BACK else ""


def move_title(kind: str, version: PromptVersionView, locale: str) -> str:
    """What is pressed to do something with a version."""
    match kind:
        case "verify":
            return i18n.text(locale, "console.prompt_verify")
        case "promote":
            return i18n.text(locale, "console.prompt_promote_this", version=version.version)
        case _:
            return i18n.text(locale, "console.prompt_roll_back_to", version=version.version)


def reason_label(kind: str, locale: str) -> str:
    """What the reason of a move is asked for as."""
    labels = {VERIFY: "console.prompt_verify_note", ROLL_BACK: "console.prompt_roll_back_why"}
    return i18n.text(locale, labels.get(kind, "console.prompt_reason"))


def move_means(kind: str, page: PromptPage, version: PromptVersionView, locale: str) -> list[str]:
    """What a move does, and what the record will say of it."""
    match kind:
        case "verify":
            return [i18n.text(locale, "console.prompt_verify_means")]
        case "rollback":
            return [i18n.text(locale, "console.prompt_roll_back_means")]
    before = page.item.version
    if before:
        means = i18n.text(locale, "console.prompt_promote_means", version=version.version, before=before)
    else:
        means = i18n.text(locale, "console.prompt_promote_first")
    more = (
        ("prompt_follows_again", version.of_release),
        ("prompt_alone", version.mine and not version.verified_by),
    )
    return [means, *(i18n.text(locale, f"console.{key}") for key, holds in more if holds)]


def all_the_same(move: Move, refused: Refusal) -> Move:
    """The same move in the knowledge of a refusal, as it is asked for once more. Raises any but those of `AGAIN`."""
    if refused.code not in AGAIN:
        raise refused
    return replace(
        move,
        acknowledged=move.acknowledged or refused.code == WITHDRAWN,
        override=move.override or refused.code in GATE_REFUSALS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a move."""

    sentence: str
    told_in: str = ""
    """The thread that tells people of it, which the platform may not open; empty where there is none."""


async def carry_out(services: Services, actor: Actor, move: Move, *, key: str) -> Done:
    """Do something with a version, once for each key. Raises Refusal."""
    t = actor.locale
    if move.kind == VERIFY:
        await verify_version(services, actor, move.name, move.version_id, move.reason, event_key=key)
        return Done(sentence=i18n.text(t, "console.prompt_verified"))
    if move.kind == ROLL_BACK:
        back = RollBackRequest(
            name=move.name,
            version_id=move.version_id,
            rev=move.rev,
            reason=rollback_reason(move.reason),
        )
        moved = await roll_back(services, actor, back, event_key=key)
        fields = {"before": moved.from_version, "version": moved.to_version}
        return Done(sentence=i18n.text(t, "console.prompt_rolled_back", **fields), told_in=moved.told_in)
    request = PromoteRequest(
        name=move.name,
        version_id=move.version_id,
        rev=move.rev,
        reason=move.reason,
        acknowledged=move.acknowledged,
        override=move.override,
    )
    moved = await promote(services, actor, request, event_key=key)
    return Done(sentence=i18n.text(t, "console.prompt_promoted", version=moved.to_version))
