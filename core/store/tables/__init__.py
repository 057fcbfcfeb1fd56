"""All tables. Every one has `workspace_id`; ids are UUIDv7 text; times are UTC.

Message rows never change, so a conversation is a list of references to them (`entry`), and a branch is a copy of that
list: exact, cheap, and with nothing to filter when it is read.
"""

from core.store.tables.carried import (
    AdoptionReviewRow,
    AdoptionRow,
    ArtifactRow,
    ArtifactVersionRow,
    HandoverRow,
    PinRow,
)
from core.store.tables.evaluation import (
    EvalQuarantineRow,
    EvalResultRow,
    EvalRunRow,
    EvalSetVersionRow,
    HumanVerdictRow,
)
from core.store.tables.prompt import (
    PromptDraftRow,
    PromptEventRow,
    PromptGenerationRow,
    PromptPointerRow,
    PromptProcessRow,
    PromptVersionRow,
)
from core.store.tables.row import Row
from core.store.tables.run import (
    AuditRow,
    ClaimRow,
    CommandSyncRow,
    FeedbackRow,
    HighWaterRow,
    NoticeRow,
    PostRow,
    ReceiptPartRow,
    ReceiptRow,
    ReportedModelRow,
    ReservationRow,
    RunRow,
    StepRow,
)
from core.store.tables.thread import (
    AttachmentRow,
    ChannelMemberRow,
    ChannelRow,
    ConversationRow,
    EntryRow,
    FileRow,
    InstallationRow,
    MessageRow,
    PersonRow,
    ThreadRow,
    WorkspaceRow,
)

__all__ = [
    "AdoptionReviewRow",
    "AdoptionRow",
    "ArtifactRow",
    "ArtifactVersionRow",
    "AttachmentRow",
    "AuditRow",
    "ChannelMemberRow",
    "ChannelRow",
    "ClaimRow",
    "CommandSyncRow",
    "ConversationRow",
    "EntryRow",
    "EvalQuarantineRow",
    "EvalResultRow",
    "EvalRunRow",
    "EvalSetVersionRow",
    "FeedbackRow",
    "FileRow",
    "HandoverRow",
    "HighWaterRow",
    "HumanVerdictRow",
    "InstallationRow",
    "MessageRow",
    "NoticeRow",
    "PersonRow",
    "PinRow",
    "PostRow",
    "PromptDraftRow",
    "PromptEventRow",
    "PromptGenerationRow",
    "PromptPointerRow",
    "PromptProcessRow",
    "PromptVersionRow",
    "ReceiptPartRow",
    "ReceiptRow",
    "ReportedModelRow",
    "ReservationRow",
    "Row",
    "RunRow",
    "StepRow",
    "ThreadRow",
    "WorkspaceRow",
]
