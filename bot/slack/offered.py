"""What the app offers in Slack, as the manifests name it: commands, shortcuts, buttons with forms, events."""

from typing import Final

from bot.slack.carrying import SENT as CARRIED_FORMS
from bot.slack.eval_form import FAIL_TITLE, SENT_EVALS
from bot.slack.feedback import FEEDBACK, FEEDBACK_TITLE
from bot.slack.form import BRANCH, OTHER
from bot.slack.prompt_form import SENT_PROMPTS
from bot.slack.review import REVIEW, SAVE
from bot.slack.start_form import START
from core.commands.text import Word
from core.domain.view import ButtonAction

FORMS: Final = {
    ButtonAction.BRANCH: "slack.branch_title",
    ButtonAction.OTHER_MODEL: "slack.other_title",
    ButtonAction.SHOW_INPUT: "slack.input_title",
    ButtonAction.EVAL_FAIL: FAIL_TITLE,
}
"""Buttons that open a form, and its title."""

SHORTCUTS: Final = {
    "message_branch": ButtonAction.BRANCH,
    "message_other_model": ButtonAction.OTHER_MODEL,
    "message_show_input": ButtonAction.SHOW_INPUT,
    "message_review": ButtonAction.REVIEW,
    "message_save": ButtonAction.SAVE,
}
TITLES: Final = {
    **FORMS,
    ButtonAction.REVIEW: "slack_modes.review_title",
    ButtonAction.SAVE: "slack_modes.save_title",
}
"""Of the forms that shortcuts on messages open."""

SENT_FORMS: Final = {
    **CARRIED_FORMS,
    **SENT_PROMPTS,
    **SENT_EVALS,
    BRANCH: "slack.branch_title",
    OTHER: "slack.other_title",
    START: "slack_modes.title",
    REVIEW: "slack_modes.review_title",
    SAVE: "slack_modes.save_title",
    FEEDBACK: FEEDBACK_TITLE,
}
"""Forms that can be sent, and their titles."""

THREADS_SHORTCUT: Final = "threads"
COMMANDS: Final = {
    "/compare": Word.COMPARE,
    "/debate": Word.DEBATE,
    "/codraft": Word.CODRAFT,
    "/workflow": Word.WORKFLOW,
    "/branch": Word.BRANCH,
    "/review": Word.REVIEW,
    "/handover": Word.HANDOVER,
    "/adopt": Word.ADOPT,
    "/approve": Word.APPROVE,
    "/reject": Word.REJECT,
    "/withdraw": Word.WITHDRAW,
    "/adoptions": Word.ADOPTIONS,
    "/pins": Word.PINS,
    "/artifacts": Word.ARTIFACTS,
    "/prompts": Word.PROMPTS,
    "/threads": Word.THREADS,
    "/models": Word.MODELS,
    "/usage": Word.USAGE,
    "/help": Word.HELP,
}
EVENTS: Final = (
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "channel_archive",
    "channel_deleted",
    "channel_unarchive",
    "group_archive",
    "group_unarchive",
    "member_left_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
)
"""What the manifests subscribe to."""
