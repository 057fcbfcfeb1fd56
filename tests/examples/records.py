"""Example data for what is listed: channels, receipts, versions, estimates, models, usage."""

from datetime import timedelta
from typing import Final

from core.domain.message import AuthorKind
from core.domain.receipt import CapApplied, InputImage, InputPart, Omission, Origin, PromptRef, Role
from core.domain.thread import Mode, Place, Status
from core.domain.view import (
    ArtifactItem,
    ChannelItem,
    EstimateView,
    ModelItem,
    Phrase,
    ReceiptView,
    ThreadItem,
    UsageLine,
    VersionItem,
)
from tests.examples.views import ESTIMATED_USAGE, HOSTILE, START, USAGE, message_id, receipt_id, thread_id


def thread_item(
    number: int,
    title: str,
    *,
    depth: int = 0,
    children: tuple[ThreadItem, ...] = (),
    status: Status = Status.ACTIVE,
    mode: Mode = Mode.CHAT,
    busy: bool = False,
) -> ThreadItem:
    return ThreadItem(
        thread_id=thread_id(number),
        title=title,
        branch_name=title if depth else "",
        mode=mode,
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
            thread_item(9, "Which queue?", mode=Mode.COMPARE),
            thread_item(10, "Ship on Friday?", mode=Mode.DEBATE),
            thread_item(11, "A note to all", mode=Mode.CODRAFT),
            thread_item(12, "発注先の比較メモ", mode=Mode.WORKFLOW),
        ),
    ),
    ChannelItem(external_id="research", name="research", visibility="private", threads=()),
    ChannelItem(external_id="direct-aiko", name="Aiko Tanaka", visibility="direct", threads=()),
)

VERSIONS: Final = (
    VersionItem(
        number=1,
        author="demo-careful",
        author_kind=AuthorKind.MODEL,
        reason="Drafted by demo-careful",
        chars=512,
        sha256="ab" * 32,
        message_id=message_id(35),
        receipt_id=receipt_id(35),
        created_at=START,
    ),
    VersionItem(
        number=2,
        author=HOSTILE,
        author_kind=AuthorKind.PERSON,
        reason=HOSTILE,
        chars=480,
        sha256="cd" * 32,
        message_id=None,
        receipt_id=None,
        created_at=START + timedelta(minutes=40),
    ),
)

SAVED: Final = (
    ArtifactItem(thread_id=thread_id(11), name="draft", newest=VERSIONS[1]),
    ArtifactItem(thread_id=thread_id(11), name="結果 1 & more <b>", newest=VERSIONS[0]),
)

ESTIMATES: Final[dict[str, EstimateView]] = {
    "estimate": EstimateView(calls=8, input_tokens=24_640, output_tokens=5_600, cost_usd=0.1612, unpriced=()),
    "estimate_unpriced": EstimateView(
        calls=2,
        input_tokens=1_300,
        output_tokens=1_400,
        cost_usd=0.0,
        unpriced=("house-model", HOSTILE),
        notes=(Phrase(key="mode_notice.same_model_twice", fields={"models": HOSTILE}),),
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
    "receipt_of_a_debate": ReceiptView(
        receipt_id=receipt_id(33),
        thread_id=thread_id(10),
        model="demo-careful",
        model_id="demo/careful",
        reported_model_id="demo/careful",
        parts=(
            InputPart(role=Role.SYSTEM, origin=Origin.SYSTEM_PROMPT, text="You take part in a debate."),
            InputPart(role=Role.USER, origin=Origin.BACKGROUND, text="Budget: 300,000 yen."),
            InputPart(role=Role.USER, origin=Origin.PRIOR_CONTEXT, text="Decided so far: nothing."),
            InputPart(role=Role.USER, origin=Origin.SPOKEN, text=f"A: {HOSTILE}"),
            InputPart(role=Role.USER, origin=Origin.UNDER_REVIEW, text="Answer A"),
            InputPart(role=Role.USER, origin=Origin.INSTRUCTION, text="Write your rebuttal."),
        ),
        prompts=(PromptRef(name="debate.rebuttals", version="1.0.0", sha256="cd" * 32),),
        caps=(),
        omissions=(),
        params={},
        input_sha256="45" * 32,
        hash_matches=True,
        estimate_tokens=90,
        usage=USAGE,
        finish="stop",
        failure=None,
        reasoning="",
        duration_s=1.0,
        created_at=START,
        erased=False,
        output_schema={"type": "object", "properties": {"text": {"type": "string", "title": HOSTILE}}},
        shared_sha256="4ab6691e" * 8,
    ),
    "receipt_blind": ReceiptView(
        receipt_id=receipt_id(32),
        thread_id=thread_id(9),
        model="Model B",
        model_id="",
        reported_model_id="",
        parts=(InputPart(role=Role.USER, origin=Origin.REQUEST, text="Which queue?"),),
        prompts=(),
        caps=(),
        omissions=(),
        params={},
        input_sha256="67" * 32,
        hash_matches=True,
        estimate_tokens=4,
        usage=None,
        finish="stop",
        failure=None,
        reasoning="",
        duration_s=1.0,
        created_at=START,
        erased=False,
        shared_sha256="4ab6691e" * 8,
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
        local=False,
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
        local=False,
        context_tokens=200_000,
        input_price=3.0,
        output_price=15.0,
        vision=True,
        trains_on_data="unknown",
        allowed=True,
    ),
    ModelItem(
        alias="local-smollm2",
        model_id="local/smollm2",
        demo=False,
        local=True,
        context_tokens=8_192,
        input_price=0.0,
        output_price=0.0,
        vision=False,
        trains_on_data="no",
        allowed=True,
    ),
    ModelItem(
        alias="gpt-large",
        model_id="openai/gpt-large",
        demo=False,
        local=False,
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
