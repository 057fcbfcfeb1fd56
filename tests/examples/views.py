"""Example data for every kind of view. Each renderer is tried on all of it, in every language."""

from datetime import UTC, datetime, timedelta
from typing import Final

from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId
from core.domain.message import AuthorKind, Cut
from core.domain.receipt import CapApplied, InputImage, InputPart, Omission, Origin, PromptRef, Role, Usage
from core.domain.thread import Mode, Place, Status
from core.domain.view import (
    AnswerState,
    AnswerView,
    AttachmentView,
    BranchHeaderView,
    Button,
    ButtonAction,
    ChannelItem,
    MessageView,
    ModelItem,
    NoticeView,
    Phrase,
    PostView,
    Quote,
    ReceiptView,
    ThreadItem,
    ThreadPage,
    UsageLine,
)

START: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

HOSTILE: Final = (
    "</textarea></div><script>alert(1)</script><img src=x onerror=alert(2)> "
    "[go](javascript:alert(3)) [data](data:text/html;base64,PHNjcmlwdD4=) ![pic](https://tracker.example/p.png) "
    '<a href="https://x.example" onclick=alert(4)>x</a> "quoted\' {{ 7*7 }} \u202egnp.exe\u202c @everyone <!channel>'
)
"""Text that tries to leave the place it is shown in."""

MARKDOWN: Final = """Postgres fits better here. **Three reasons**:

1. Writers do not wait for each other.
2. `LISTEN`/`NOTIFY` replaces the poller.
3. A replica is one setting away.

| | SQLite | Postgres |
|---|---:|---:|
| Writers | 1 | many |
| p95, ms | 4 | 6 |

```python
async with engine.begin() as connection:
    await connection.execute(statement)
```

> A queue in the database is enough until about 1,000 jobs a second.

See [the manual](https://www.postgresql.org/docs/) for details."""


def thread_id(number: int) -> ThreadId:
    return ThreadId(f"0195e000-0000-7000-8000-0000000000{number:02x}")


def message_id(number: int) -> MessageId:
    return MessageId(f"0195e000-0000-7000-9000-0000000000{number:02x}")


def run_id(number: int) -> RunId:
    return RunId(f"0195e000-0000-7000-a000-0000000000{number:02x}")


def receipt_id(number: int) -> ReceiptId:
    return ReceiptId(f"0195e000-0000-7000-b000-0000000000{number:02x}")


PLACE: Final = Place(platform="console", channel="general", thread=thread_id(1))
USAGE: Final = Usage(input_tokens=1_840, output_tokens=312, estimated=False, cost_usd=0.0042)
ESTIMATED_USAGE: Final = Usage(input_tokens=96, output_tokens=41, estimated=True, cost_usd=None)


def finished_buttons(number: int) -> tuple[Button, ...]:
    return (
        Button(action=ButtonAction.BRANCH, ref=message_id(number)),
        Button(action=ButtonAction.RETRY, ref=message_id(number)),
        Button(action=ButtonAction.OTHER_MODEL, ref=message_id(number)),
        Button(action=ButtonAction.SHOW_INPUT, ref=receipt_id(number)),
    )


def answer(number: int, *, state: AnswerState, text: str, buttons: tuple[Button, ...]) -> AnswerView:
    return AnswerView(
        run_id=run_id(number),
        step="answer",
        model="demo-careful",
        state=state,
        text=text,
        demo=True,
        buttons=buttons,
        created_at=START + timedelta(minutes=number),
    )


MESSAGES: Final[dict[str, MessageView]] = {
    "message": MessageView(
        message_id=message_id(1),
        author="Aiko Tanaka",
        author_kind=AuthorKind.PERSON,
        text="Which database should hold the job queue? We have **four** writers and 200 jobs a minute.",
        created_at=START,
        position=1,
        attachments=(
            AttachmentView(name="load.csv", size_bytes=18_204),
            AttachmentView(
                name="sketch.heic", size_bytes=2_400_000, problem=Phrase(key="attachment.unsupported_type")
            ),
        ),
        mine=True,
        edited=True,
        buttons=(Button(action=ButtonAction.BRANCH, ref=message_id(1)),),
    ),
    "message_inherited": MessageView(
        message_id=message_id(2),
        author="Ben",
        author_kind=AuthorKind.PERSON,
        text="予算は月5万円までです。\n来週の金曜日までに決めたいです。",
        created_at=START + timedelta(minutes=1),
        position=2,
        inherited=True,
        buttons=(Button(action=ButtonAction.BRANCH, ref=message_id(2)),),
    ),
    "message_of_a_bot": MessageView(
        message_id=message_id(3),
        author="deploy-bot",
        author_kind=AuthorKind.BOT,
        text="Build 4812 is green.",
        created_at=START + timedelta(minutes=2),
        position=3,
    ),
    "message_hostile": MessageView(
        message_id=message_id(4),
        author=f"Mallory {HOSTILE}",
        author_kind=AuthorKind.PERSON,
        text=HOSTILE,
        created_at=START + timedelta(minutes=3),
        position=None,
        attachments=(AttachmentView(name=HOSTILE, size_bytes=1),),
    ),
}

ANSWERS: Final[dict[str, AnswerView]] = {
    "answer_queued": answer(
        10, state=AnswerState.QUEUED, text="", buttons=(Button(action=ButtonAction.STOP, ref=run_id(10)),)
    ),
    "answer_writing": answer(
        11,
        state=AnswerState.WRITING,
        text="Postgres fits **better** here, <b>because",
        buttons=(Button(action=ButtonAction.STOP, ref=run_id(11)),),
    ),
    "answer_done": AnswerView(
        run_id=run_id(12),
        step="answer",
        model="claude-sonnet",
        state=AnswerState.DONE,
        text=MARKDOWN,
        message_id=message_id(12),
        position=4,
        answers_id=message_id(1),
        receipt_id=receipt_id(12),
        usage=USAGE,
        omitted=14,
        notices=(Phrase(key="notice.file_not_read", fields={"name": "sketch.heic"}),),
        buttons=finished_buttons(12),
        created_at=START + timedelta(minutes=12),
    ),
    "answer_replaced": AnswerView(
        run_id=run_id(13),
        step="answer",
        model="demo-brief",
        state=AnswerState.DONE,
        text="SQLite.",
        message_id=message_id(13),
        answers_id=message_id(1),
        kept=False,
        receipt_id=receipt_id(13),
        usage=ESTIMATED_USAGE,
        demo=True,
        buttons=(
            Button(action=ButtonAction.KEEP_ANSWER, ref=message_id(13)),
            Button(action=ButtonAction.SHOW_INPUT, ref=receipt_id(13)),
        ),
        created_at=START + timedelta(minutes=13),
    ),
    "answer_stopped": AnswerView(
        run_id=run_id(14),
        step="answer",
        model="demo-careful",
        state=AnswerState.STOPPED,
        text="Postgres fits better",
        message_id=message_id(14),
        position=6,
        answers_id=message_id(1),
        cut=Cut.STOPPED,
        receipt_id=receipt_id(14),
        usage=ESTIMATED_USAGE,
        demo=True,
        buttons=finished_buttons(14),
        created_at=START + timedelta(minutes=14),
    ),
    "answer_interrupted": AnswerView(
        run_id=run_id(15),
        step="answer",
        model="gpt-large",
        state=AnswerState.FAILED,
        text="Half of the ans",
        message_id=message_id(15),
        position=7,
        cut=Cut.INTERRUPTED,
        failure=Phrase(key="model_failure.interrupted", fields={"model": "gpt-large"}),
        receipt_id=receipt_id(15),
        buttons=finished_buttons(15),
        created_at=START + timedelta(minutes=15),
    ),
    "answer_failed": AnswerView(
        run_id=run_id(16),
        step="answer",
        model="gpt-large",
        state=AnswerState.FAILED,
        text="",
        failure=Phrase(key="model_failure.rate_limited", fields={"model": "gpt-large"}),
        receipt_id=receipt_id(16),
        buttons=(
            Button(action=ButtonAction.RETRY, ref=run_id(16)),
            Button(action=ButtonAction.OTHER_MODEL, ref=run_id(16)),
            Button(action=ButtonAction.SHOW_INPUT, ref=receipt_id(16)),
        ),
        created_at=START + timedelta(minutes=16),
    ),
    "answer_cut_by_length": AnswerView(
        run_id=run_id(17),
        step="answer",
        model="gpt-large",
        state=AnswerState.DONE,
        text="x" * 400,
        message_id=message_id(17),
        position=9,
        cut=Cut.LENGTH,
        receipt_id=receipt_id(17),
        usage=USAGE,
        buttons=finished_buttons(17),
        created_at=START + timedelta(minutes=17),
    ),
    "answer_cut_by_content_policy": AnswerView(
        run_id=run_id(18),
        step="answer",
        model="gpt-large",
        state=AnswerState.DONE,
        text="The first half.",
        message_id=message_id(18),
        position=10,
        cut=Cut.CONTENT_POLICY,
        receipt_id=receipt_id(18),
        usage=USAGE,
        buttons=finished_buttons(18),
        created_at=START + timedelta(minutes=18),
    ),
    "answer_hostile": AnswerView(
        run_id=run_id(19),
        step="answer",
        model=HOSTILE,
        state=AnswerState.DONE,
        text=f"{HOSTILE}\n\n```html\n{HOSTILE}\n```\n\n# {HOSTILE}\n\n<{HOSTILE}>",
        message_id=message_id(19),
        position=11,
        receipt_id=receipt_id(19),
        buttons=finished_buttons(19),
        created_at=START + timedelta(minutes=19),
    ),
}

HEADERS: Final[dict[str, BranchHeaderView]] = {
    "branch_header": BranchHeaderView(
        thread_id=thread_id(2),
        name="Try SQLite",
        reason="The operations team has no Postgres.",
        parent_id=thread_id(1),
        parent_title="Which database should hold the job queue?",
        parent_place=PLACE,
        split_position=4,
        inherited=4,
        split_quote=Quote(author="claude-sonnet", text="Postgres fits better here. Three reasons: …"),
        quotes=(
            Quote(author="Ben", text="予算は月5万円までです。 来週の金曜日までに決めたいです。"),
            Quote(author="claude-sonnet", text="Postgres fits better here. Three reasons: …"),
        ),
        transcript="# Which database should hold the job queue?\n\n**#1 Aiko Tanaka**\n\nWhich database …",
    ),
    "branch_header_of_an_empty_thread": BranchHeaderView(
        thread_id=thread_id(3),
        name="",
        reason="",
        parent_id=thread_id(1),
        parent_title="Which database should hold the job queue?",
        parent_place=PLACE,
        split_position=0,
        inherited=0,
        split_quote=None,
        quotes=(),
        transcript="",
    ),
    "branch_header_hostile": BranchHeaderView(
        thread_id=thread_id(4),
        name=HOSTILE,
        reason=HOSTILE,
        parent_id=thread_id(1),
        parent_title=HOSTILE,
        parent_place=PLACE,
        split_position=1,
        inherited=1,
        split_quote=Quote(author=HOSTILE, text=HOSTILE),
        quotes=(Quote(author=HOSTILE, text=HOSTILE),),
        transcript=HOSTILE,
    ),
}

NOTICES: Final[dict[str, NoticeView]] = {
    "notice": NoticeView(
        phrase=Phrase(key="notice.branched", fields={"name": "Try SQLite", "position": 4}),
        link=thread_id(2),
        created_at=START + timedelta(minutes=20),
    ),
    "notice_hostile": NoticeView(
        phrase=Phrase(key="notice.branched", fields={"name": HOSTILE, "position": 1})
    ),
}

POSTS: Final[dict[str, PostView]] = {**ANSWERS, **HEADERS, **NOTICES}
"""Every kind that a Poster can be asked to post."""

ITEMS: Final[dict[str, MessageView | AnswerView | BranchHeaderView | NoticeView]] = {**MESSAGES, **POSTS}
"""Every kind that a thread's page shows."""


def thread_item(
    number: int,
    title: str,
    *,
    depth: int = 0,
    children: tuple[ThreadItem, ...] = (),
    status: Status = Status.ACTIVE,
    busy: bool = False,
) -> ThreadItem:
    return ThreadItem(
        thread_id=thread_id(number),
        title=title,
        branch_name=title if depth else "",
        mode=Mode.CHAT,
        status=status,
        depth=depth,
        place=Place(platform="console", channel="general", thread=thread_id(number)),
        busy=busy,
        children=children,
    )


CHANNELS: Final = (
    ChannelItem(
        external_id="general",
        name="general",
        visibility="public",
        threads=(
            thread_item(
                1,
                "Which database should hold the job queue?",
                children=(
                    thread_item(
                        2,
                        "Try SQLite",
                        depth=1,
                        busy=True,
                        children=(
                            thread_item(
                                5,
                                "With a write-ahead log",
                                depth=2,
                                children=(
                                    thread_item(
                                        6,
                                        "チェックポイントの間隔を変える",
                                        depth=3,
                                        children=(thread_item(7, "Fifty pages", depth=4),),
                                    ),
                                ),
                            ),
                        ),
                    ),
                    thread_item(3, "Ask for a budget first", depth=1, status=Status.ADOPT_PENDING),
                    thread_item(4, HOSTILE, depth=1, status=Status.ADOPTED),
                ),
            ),
            thread_item(8, "来期の採用計画の叩き台を作る"),
        ),
    ),
    ChannelItem(external_id="research", name="research", visibility="private", threads=()),
    ChannelItem(external_id="direct-aiko", name="Aiko Tanaka", visibility="direct", threads=()),
)

PAGES: Final[dict[str, ThreadPage]] = {
    "thread": ThreadPage(
        thread_id=thread_id(1),
        title="Which database should hold the job queue?",
        branch_name="",
        mode=Mode.CHAT,
        status=Status.ACTIVE,
        depth=0,
        place=PLACE,
        model="demo-careful",
        locale="en",
        parent_id=None,
        parent_title="",
        chain=("Which database should hold the job queue?",),
        items=tuple(ITEMS.values()),
        earlier=0,
        can_rename=True,
    ),
    "branch": ThreadPage(
        thread_id=thread_id(7),
        title="Fifty pages",
        branch_name="Fifty pages",
        mode=Mode.CHAT,
        status=Status.ADOPTED,
        depth=4,
        place=Place(platform="console", channel="general", thread=thread_id(7)),
        model="demo-careful",
        locale="ja",
        parent_id=thread_id(6),
        parent_title="チェックポイントの間隔を変える",
        chain=(
            "Which database should hold the job queue?",
            "Try SQLite",
            "With a write-ahead log",
            "Fifty pages",
        ),
        items=(HEADERS["branch_header"], MESSAGES["message_inherited"], ANSWERS["answer_done"]),
        earlier=120,
        can_rename=False,
    ),
    "empty": ThreadPage(
        thread_id=thread_id(8),
        title="来期の採用計画の叩き台を作る",
        branch_name="",
        mode=Mode.CHAT,
        status=Status.ACTIVE,
        depth=0,
        place=Place(platform="console", channel="general", thread=thread_id(8)),
        model="demo-careful",
        locale="ja",
        parent_id=None,
        parent_title="",
        chain=("来期の採用計画の叩き台を作る",),
        items=(),
        earlier=0,
        can_rename=True,
    ),
}

RECEIPTS: Final[dict[str, ReceiptView]] = {
    "receipt": ReceiptView(
        receipt_id=receipt_id(12),
        thread_id=thread_id(1),
        model="claude-sonnet",
        model_id="anthropic/claude-sonnet-4-5-20250929",
        reported_model_id="claude-sonnet-4-5-20250929",
        parts=(
            InputPart(
                role=Role.SYSTEM,
                origin=Origin.SYSTEM_PROMPT,
                text="You are one member of a team's chat.\n\nAnswer in the language of the request.",
            ),
            InputPart(role=Role.USER, origin=Origin.EXAMPLE, text="An example request."),
            InputPart(
                role=Role.USER,
                origin=Origin.FIRST_MESSAGE,
                text="Aiko Tanaka:\nWhich database should hold the job queue?",
                message_id=message_id(1),
            ),
            InputPart(role=Role.USER, origin=Origin.OMITTED_NOTE, text="14 messages are left out here."),
            InputPart(
                role=Role.ASSISTANT,
                origin=Origin.HISTORY,
                text="Postgres, I think.",
                message_id=message_id(2),
            ),
            InputPart(
                role=Role.USER,
                origin=Origin.ATTACHMENT,
                text="load.csv\n  minute,jobs\n  0,200",
                message_id=message_id(3),
                images=(InputImage(name="sketch.png", media_type="image/png", sha256="ab" * 32),),
            ),
            InputPart(
                role=Role.USER, origin=Origin.REQUEST, text=f"Ben:\n{HOSTILE}", message_id=message_id(4)
            ),
        ),
        prompts=(PromptRef(name="chat", version="1.2.0", sha256="cd" * 32),),
        caps=(CapApplied(name="first_message_chars", limit=6_000, had=9_120, kept=6_000),),
        omissions=(Omission(what="messages", count=14),),
        params={"temperature": 0.7, "max_tokens": 4_096},
        input_sha256="ef" * 32,
        hash_matches=True,
        estimate_tokens=1_795,
        usage=USAGE,
        finish="stop",
        failure=None,
        reasoning="The person asks for a queue; count the writers first.",
        duration_s=4.21,
        created_at=START + timedelta(minutes=12),
        erased=False,
    ),
    "receipt_of_a_failure": ReceiptView(
        receipt_id=receipt_id(16),
        thread_id=thread_id(1),
        model="gpt-large",
        model_id="openai/gpt-large",
        reported_model_id="",
        parts=(InputPart(role=Role.USER, origin=Origin.REQUEST, text="Hello"),),
        prompts=(),
        caps=(),
        omissions=(),
        params={},
        input_sha256="01" * 32,
        hash_matches=True,
        estimate_tokens=3,
        usage=None,
        finish="failed",
        failure=Phrase(key="model_failure.rate_limited", fields={"model": "gpt-large"}),
        reasoning="",
        duration_s=0.3,
        created_at=START,
        erased=False,
    ),
    "receipt_erased": ReceiptView(
        receipt_id=receipt_id(20),
        thread_id=thread_id(1),
        model="demo-brief",
        model_id="demo/brief",
        reported_model_id="demo/brief",
        parts=(InputPart(role=Role.USER, origin=Origin.REQUEST, text=""),),
        prompts=(PromptRef(name="chat", version="1.2.0", sha256="cd" * 32),),
        caps=(),
        omissions=(),
        params={"max_tokens": 4_096},
        input_sha256="23" * 32,
        hash_matches=False,
        estimate_tokens=3,
        usage=ESTIMATED_USAGE,
        finish="stopped",
        failure=None,
        reasoning="",
        duration_s=61.0,
        created_at=START,
        erased=True,
    ),
}

MODELS: Final = (
    ModelItem(
        alias="demo-careful",
        model_id="demo/careful",
        demo=True,
        context_tokens=32_000,
        input_price=None,
        output_price=None,
        vision=False,
        trains_on_data="no",
        allowed=True,
    ),
    ModelItem(
        alias="claude-sonnet",
        model_id="anthropic/claude-sonnet-4-5-20250929",
        demo=False,
        context_tokens=200_000,
        input_price=3.0,
        output_price=15.0,
        vision=True,
        trains_on_data="unknown",
        allowed=True,
    ),
    ModelItem(
        alias="gpt-large",
        model_id="openai/gpt-large",
        demo=False,
        context_tokens=128_000,
        input_price=2.5,
        output_price=10.0,
        vision=True,
        trains_on_data="yes",
        allowed=False,
    ),
)

USAGE_LINES: Final = (
    UsageLine(
        label="2026-03-01", calls=4, input_tokens=5_200, output_tokens=900, cost_usd=0.0291, unpriced_calls=0
    ),
    UsageLine(
        label="2026-03-02",
        calls=11,
        input_tokens=20_400,
        output_tokens=3_310,
        cost_usd=0.1108,
        unpriced_calls=3,
    ),
    UsageLine(label=HOSTILE, calls=0, input_tokens=0, output_tokens=0, cost_usd=0.0, unpriced_calls=0),
)
