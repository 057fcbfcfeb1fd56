"""Example data for every kind of view. Each renderer is tried on all of it, in every language."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from core.domain.feedback import Thumb
from core.domain.ids import MessageId, ReceiptId, RunId, ThreadId
from core.domain.message import AuthorKind, Cut
from core.domain.receipt import Usage
from core.domain.thread import Mode, Place, Status
from core.domain.view import (
    AnswerState,
    AnswerView,
    AttachmentView,
    BranchHeaderView,
    Button,
    ButtonAction,
    ItemView,
    MessageView,
    NoticeView,
    PageView,
    Phrase,
    Quote,
    ThreadPage,
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
        feedback_ref=message_id(12),
        thumb=Thumb.UP,
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

DIFF: Final = """### What changed, and why

- Shorter opening — Nobody reads the old one.

```diff
@@ unchanged lines: 3 @@
  We decided on **Friday**.
- The queue moves to Postgres, because of the writers, as all of us know.
+ The queue moves to Postgres.
```"""

TABLE: Final = """| Place | Answer | demo-critic | gpt-large |
| --- | --- | --- | --- |
| 1 | Answer 2 | 1: sound | 2: usable with fixes |
| 2 | Answer 1 | 2: unsound | 1: sound |

The reviewers do not agree on the best answer."""


def stops(run: str, turn: int) -> tuple[Button, ...]:
    """The buttons of an answer that is being written beside others of its run."""
    return (
        Button(action=ButtonAction.STOP_ONE, ref=f"{run}/{turn}"),
        Button(action=ButtonAction.STOP_RUN, ref=run),
    )


def part_of_a_run(
    number: int, step: str, model: str, text: str, *, state: AnswerState = AnswerState.DONE, **more: Any
) -> AnswerView:
    """One answer of a run in which several models speak, with the buttons such answers have."""
    answer_id = message_id(number)
    is_open = state in (AnswerState.QUEUED, AnswerState.WRITING)
    actions = more.pop("actions", (ButtonAction.BRANCH, ButtonAction.REVIEW, ButtonAction.SAVE))
    refs = {ButtonAction.COMPARE_ANSWERS: run_id(30), ButtonAction.REVEAL: thread_id(9)}
    buttons = [Button(action=action, ref=refs.get(action, answer_id)) for action in actions]
    return AnswerView(
        run_id=run_id(more.pop("run", 30)),
        step=step,
        model=model,
        state=state,
        text=text,
        message_id=None if is_open else answer_id,
        position=None if is_open else more.pop("position", 2),
        answers_id=message_id(1),
        receipt_id=None if is_open else receipt_id(number),
        buttons=stops(run_id(30), number) if is_open else tuple(buttons),
        created_at=START + timedelta(minutes=number),
        **more,
    )


COMPARE_ACTIONS: Final = (
    ButtonAction.BRANCH,
    ButtonAction.COMPARE_ANSWERS,
    ButtonAction.REVIEW,
    ButtonAction.SAVE,
)

ANSWERS.update(
    {
        "answer_of_a_compare": part_of_a_run(
            30,
            "answer:claude-sonnet",
            "claude-sonnet",
            MARKDOWN,
            actions=COMPARE_ACTIONS,
            shared_sha256="4ab6691e" * 8,
            usage=USAGE,
        ),
        "answer_of_a_compare_writing": part_of_a_run(
            31, "answer:gpt-large", "gpt-large", "SQLite is", state=AnswerState.WRITING
        ),
        "answer_blind": part_of_a_run(
            32,
            "answer:B",
            "Model B",
            "SQLite is enough.",
            run=32,
            actions=(*COMPARE_ACTIONS, ButtonAction.VOTE, ButtonAction.REVEAL),
            shared_sha256="4ab6691e" * 8,
        ),
        "answer_of_a_debate": part_of_a_run(
            33,
            "positions:A",
            "demo-careful",
            "**Stance: For a small trial first**\n\nTwo people can run it.",
            run=33,
            label=Phrase(key="label.debate_positions", fields={"number": 2, "of": 4, "who": "A"}),
        ),
        "answer_of_a_debate_writing": part_of_a_run(
            34,
            "positions:B",
            "gpt-large",
            "",
            run=33,
            state=AnswerState.WRITING,
            label=Phrase(key="label.debate_positions", fields={"number": 2, "of": 4, "who": "B"}),
        ),
        "answer_of_a_codraft": part_of_a_run(
            35,
            "revise.1",
            "gpt-large",
            DIFF,
            run=35,
            label=Phrase(key="label.revise", fields={"number": 1}),
            actions=(ButtonAction.BRANCH, ButtonAction.SAVE),
        ),
        "answer_of_a_review": part_of_a_run(
            36,
            "result",
            "demo-critic",
            TABLE,
            run=36,
            label=Phrase(key="label.result"),
            position=None,
            actions=(ButtonAction.SAVE,),
        ),
        "answer_of_a_run_hostile": part_of_a_run(
            37,
            HOSTILE,
            HOSTILE,
            f"```diff\n- {HOSTILE}\n+ {HOSTILE}\n@@ {HOSTILE}\n```",
            run=37,
            label=Phrase(key="label.debate_positions", fields={"number": 2, "of": 4, "who": HOSTILE}),
            shared_sha256="0" * 64,
        ),
    }
)

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

POSTS: Final[dict[str, PageView]] = {**ANSWERS, **HEADERS, **NOTICES}
"""Every kind that a Poster can be asked to post."""

ITEMS: Final[dict[str, ItemView]] = {**MESSAGES, **POSTS}
"""Every kind that a thread's page shows."""

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
        targets=tuple(Mode),
        can_adopt=False,
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
        targets=(),
        can_adopt=True,
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
        targets=tuple(Mode),
        can_adopt=False,
    ),
}


def mode_page(number: int, title: str, mode: Mode, *names: str) -> ThreadPage:
    """A thread in a mode of several models, with a question and these answers."""
    return replace(
        PAGES["empty"],
        thread_id=thread_id(number),
        title=title,
        mode=mode,
        place=Place(platform="console", channel="general", thread=thread_id(number)),
        locale="en",
        chain=(title,),
        items=(MESSAGES["message"], *(ANSWERS[name] for name in names)),
    )


PAGES.update(
    {
        "compare": mode_page(
            9, "Which queue?", Mode.COMPARE, "answer_of_a_compare", "answer_of_a_compare_writing"
        ),
        "blind": mode_page(9, "Which queue?", Mode.COMPARE, "answer_blind", "answer_of_a_review"),
        "debate": mode_page(
            10, "Ship on Friday?", Mode.DEBATE, "answer_of_a_debate", "answer_of_a_debate_writing"
        ),
        "codraft": mode_page(11, "A note to all", Mode.CODRAFT, "answer_of_a_codraft"),
        "run_hostile": mode_page(12, HOSTILE, Mode.WORKFLOW, "answer_of_a_run_hostile"),
    }
)
