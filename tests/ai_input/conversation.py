"""Made-up stored data for the builders: a thread, its messages, a turn."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from core.domain.ids import AttachmentId, ConversationId, MessageId, PersonId, RunId, ThreadId, WorkspaceId
from core.domain.message import Attachment, Author, AuthorKind, Cut, Entry, Message
from core.domain.thread import MAIN_LINE, Conversation, Mode, Place, top_level_thread
from core.ports import Turn, Window

START = datetime(2026, 11, 30, 9, tzinfo=UTC)
THREAD = top_level_thread(
    thread_id=ThreadId("t1"),
    workspace_id=WorkspaceId("w1"),
    place=Place(platform="console", channel="general", thread="1"),
    mode=Mode.CHAT,
    title="Database choice",
    owner_id=PersonId("p1"),
    locale="en",
    created_at=START,
)


def message(
    number: int,
    text: str,
    *,
    name: str = "Alice",
    kind: AuthorKind = AuthorKind.PERSON,
    attachments: Sequence[Attachment] = (),
    cut: Cut = Cut.NONE,
    erased: bool = False,
) -> Message:
    return Message(
        id=MessageId(f"m{number}"),
        thread_id=THREAD.id,
        author=Author(kind=kind, name=name),
        text=text,
        created_at=START + timedelta(minutes=number),
        attachments=tuple(attachments),
        cut=cut,
        erased=erased,
    )


def answer(number: int, text: str, *, cut: Cut = Cut.NONE) -> Message:
    return message(number, text, name="demo", kind=AuthorKind.MODEL, cut=cut)


def attachment(
    number: int, *, name: str = "notes.txt", text: str = "", media_type: str = "text/plain", problem: str = ""
) -> Attachment:
    return Attachment(
        id=AttachmentId(f"a{number}"),
        name=name,
        media_type=media_type,
        size_bytes=len(text.encode("utf-8", "surrogatepass")) or 2048,
        sha256=f"{number:064x}",
        text=text,
        problem=problem,
    )


def image(number: int, *, name: str = "") -> Attachment:
    return attachment(number, name=name or f"picture {number}.png", media_type="image/png")


def read_window(before_request: Sequence[Message], *, newest: int = 20) -> Window:
    """What the store reads of a conversation that holds these messages before the request."""
    entries = [Entry(position=place, message=m) for place, m in enumerate(before_request, start=1)]
    recent = entries[-newest:]
    first = entries[0] if entries and entries[0] not in recent else None
    return Window(first=first, recent=tuple(recent), total_before_request=len(entries))


def turn(
    before_request: Sequence[Message],
    request: Message,
    *,
    context_tokens: int = 200_000,
    max_output_tokens: int = 4_000,
    vision: bool = False,
) -> Turn:
    return Turn(
        thread=THREAD,
        conversation=Conversation(id=ConversationId("c1"), thread_id=THREAD.id, line=MAIN_LINE, model="demo"),
        window=read_window(before_request),
        request=request,
        model="demo",
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        vision=vision,
        prompts=(),
        run_id=RunId("r1"),
        line=MAIN_LINE,
    )


def talk(count: int, *, text: str = "word") -> list[Message]:
    """`count` messages, persons and answers in turn, each told apart by its number."""
    return [message(n, f"{text} {n}") if n % 2 else answer(n, f"{text} {n}") for n in range(1, count + 1)]
