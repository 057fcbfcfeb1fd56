"""Looking at threads: the tree, one thread, its name."""

from collections import defaultdict
from dataclasses import replace

from core.ai_input.handover import Words
from core.ai_input.material import SHARED_PROMPTS, Material
from core.commands.services import Services, access_thread, can_see
from core.domain.errors import Refusal
from core.domain.handover import routes
from core.domain.ids import ThreadId
from core.domain.message import Entry
from core.domain.policy import Action, Actor
from core.domain.thread import TITLE_CHARS, Status, Thread
from core.domain.view import (
    AdoptionCardView,
    AnswerView,
    BranchHeaderView,
    ChannelItem,
    MessageView,
    NoticeView,
    ThreadItem,
    ThreadPage,
)
from core.files.charset import clean
from core.store.adoption import adoptions_of
from core.store.adoption_page import load_adoption_card
from core.store.audit import do_audit, notices
from core.store.carried import load_carried
from core.store.database import Session
from core.store.feedback import thumbs_of
from core.store.message import entry_at
from core.store.page import hidden_name, load_branch_header, read_stretch, to_notice_view
from core.store.thread import chain, conversations, do_rename, list_threads, thread_channels
from core.store.workspace import channels_by_id

PAGE_ENTRIES = 50

ADOPTIONS = 10
"""Requests shown at the end of a thread; `list_adoptions` has all."""

PageItem = MessageView | AnswerView | BranchHeaderView | NoticeView


async def list_channels(services: Services, actor: Actor, platform: str) -> tuple[ChannelItem, ...]:
    """Channels the actor can see at this moment with their threads, newest first, branches under their parents."""
    async with services.store.reading() as session:
        known = await channels_by_id(session, actor.workspace_id)
        used = await thread_channels(session, actor.workspace_id, platform)
    visible = [c for c in dict.fromkeys([*known, *used]) if await can_see(services, actor, platform, c)]
    async with services.store.reading() as session:
        threads = await list_threads(session, actor.workspace_id, visible)
    by_channel: dict[str, list[tuple[Thread, bool]]] = defaultdict(list)
    for thread, busy in threads:
        by_channel[thread.place.channel].append((thread, busy))
    return tuple(
        ChannelItem(
            external_id=channel,
            name=known[channel].name if channel in known else channel,
            visibility=known[channel].visibility if channel in known else "public",
            threads=_tree(by_channel[channel]),
        )
        for channel in visible
    )


def _tree(threads: list[tuple[Thread, bool]]) -> tuple[ThreadItem, ...]:
    below: dict[ThreadId | None, list[tuple[Thread, bool]]] = defaultdict(list)
    listed = {thread.id for thread, _ in threads}
    for thread, busy in threads:
        # A branch of a private place may lie in a channel of its own; there it stands without its parent.
        below[thread.parent_id if thread.parent_id in listed else None].append((thread, busy))

    def items(parent_id: ThreadId | None) -> tuple[ThreadItem, ...]:
        # Top-level threads newest first; branches in the order in which they were made.
        found = below[parent_id] if parent_id is None else reversed(below[parent_id])
        return tuple(
            ThreadItem(
                thread_id=thread.id,
                title=thread.title,
                branch_name=thread.branch_name,
                mode=thread.mode,
                status=thread.status,
                depth=thread.depth,
                place=thread.place,
                busy=busy,
                children=items(thread.id),
            )
            for thread, busy in found
        )

    return items(None)


async def show_thread(
    services: Services, actor: Actor, thread_id: str, *, before: int | None = None
) -> ThreadPage:
    """The last entries of a thread, or those before a position, with notices between them by time. Raises Refusal."""
    thread = await access_thread(services, actor, Action.READ, thread_id)
    prompts = await services.prompts.live(thread.workspace_id, SHARED_PROMPTS)
    async with services.store.reading() as session:
        above = await chain(session, thread)
        lines = await conversations(session, thread.workspace_id, thread.id)
        stretch = await read_stretch(
            session, thread, lines, actor, before=before, limit=PAGE_ENTRIES, workflows=services.workflows
        )
        notes = [to_notice_view(row) for row in await notices(session, thread.workspace_id, thread.id)]
        next_page = await entry_at(session, lines[0].id, before) if before else None
        header = (
            await load_branch_header(session, thread) if thread.parent_id and not stretch.earlier else None
        )
        first_page = not stretch.earlier
        words = Words(material=Material.of(prompts), locale=thread.locale)
        carried = await load_carried(session, thread, words) if first_page else None
        cards = [] if before else await _adoption_cards(session, thread)
        stretch = replace(stretch, items=await _with_thumbs(session, actor, stretch.items))
    parent = above[-2] if len(above) > 1 else None
    items = _with_notices(stretch.items, notes, header, first_page=first_page, next_page=next_page)
    return ThreadPage(
        thread_id=thread.id,
        title=thread.title,
        branch_name=thread.branch_name,
        mode=thread.mode,
        status=thread.status,
        depth=thread.depth,
        place=thread.place,
        model=hidden_name(thread, thread.mode.value, lines[0].line) or lines[0].model,
        locale=thread.locale,
        parent_id=thread.parent_id,
        parent_title=parent.title if parent else "",
        chain=tuple(each.title for each in above),
        items=(*(each for each in carried or () if each), *items, *cards),
        earlier=stretch.earlier,
        can_rename=thread.owner_id == actor.person_id or actor.is_admin,
        targets=routes(thread.mode, services.policy(actor.workspace)),
        can_adopt=thread.parent_id is not None and thread.status is Status.ACTIVE,
    )


async def _with_thumbs(
    session: Session, actor: Actor, items: tuple[MessageView | AnswerView, ...]
) -> tuple[MessageView | AnswerView, ...]:
    """The same with the reader's own feedback on the answers."""
    answers = [item.message_id for item in items if isinstance(item, AnswerView) and item.message_id]
    held = await thumbs_of(session, actor.workspace_id, actor.person_id, answers)
    return tuple(
        replace(item, thumb=held.get(item.message_id or "")) if isinstance(item, AnswerView) else item
        for item in items
    )


async def _adoption_cards(session: Session, thread: Thread) -> list[AdoptionCardView]:
    """The newest requests from a thread or into it, oldest first."""
    newest = await adoptions_of(session, thread.workspace_id, thread.id, limit=ADOPTIONS)
    found = [await load_adoption_card(session, thread.workspace_id, each.id) for each in reversed(newest)]
    return [card for card in found if card]


def last_answer(page: ThreadPage) -> AnswerView:
    """The newest answer that a thread keeps. Raises Refusal when there is none."""
    for item in reversed(page.items):
        if isinstance(item, AnswerView) and item.kept:
            return item
    raise Refusal("answer_not_found")


def _with_notices(
    items: tuple[MessageView | AnswerView, ...],
    notes: list[NoticeView],
    header: BranchHeaderView | None,
    *,
    first_page: bool,
    next_page: Entry | None,
) -> tuple[PageItem, ...]:
    """Entries in their own order, each notice before the first entry that is younger.

    A notice stands on one page only: from the page's first entry up to `next_page`, the first entry after it.
    """
    merged: list[PageItem] = [header] if header else []
    waiting = list(notes)
    if items and not first_page:
        oldest = items[0].created_at
        waiting = [n for n in waiting if not (n.created_at and oldest and n.created_at < oldest)]
    if next_page is not None:
        waiting = [n for n in waiting if n.created_at and n.created_at < next_page.message.created_at]
    for item in items:
        while (
            waiting and waiting[0].created_at and item.created_at and waiting[0].created_at < item.created_at
        ):
            merged.append(waiting.pop(0))
        merged.append(item)
    return (*merged, *waiting)


async def rename(services: Services, actor: Actor, thread_id: str, title: str) -> None:
    """Give a thread another title. Raises Refusal."""
    title = " ".join(clean(title).split())
    if not title:
        raise Refusal("empty_title")
    if len(title) > TITLE_CHARS:
        raise Refusal("name_too_long", had=len(title), limit=TITLE_CHARS)
    thread = await access_thread(services, actor, Action.RENAME, thread_id)
    async with services.store.writing() as session:
        await do_rename(session, actor.workspace_id, thread.id, title)
        await do_audit(
            session,
            actor.workspace_id,
            actor_id=actor.person_id,
            action="rename",
            subject_id=thread.id,
            clock=services.clock,
        )
