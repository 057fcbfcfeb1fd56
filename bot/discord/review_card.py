"""A Cross Review that someone is about to start, as shown and as read back. Pure.

Nothing of it is kept on our side: the card with the estimate carries what was asked for, in a file.
"""

import json
from dataclasses import asdict
from typing import Final

from bot.discord.card import Card, PressButton, TextFile
from bot.discord.limit import CONTENT, head
from bot.discord.plan import costs
from bot.discord.render import plain
from core.commands.review import ReviewRequest
from core.domain.view import EstimateView
from core.i18n import phrase, text

BEGIN: Final = "begin_review"
FILE: Final = "review.json"
FIRST_WORDS: Final = 300


def offer(request: ReviewRequest, estimate: EstimateView, ref: str, locale: str) -> Card:
    """What a review would cost, with the one button that begins it."""
    lines = [
        f"**{text(locale, 'discord.review_title', count=len(request.answers))}**",
        *([f"> {plain(request.focus, FIRST_WORDS)}"] if request.focus.strip() else []),
        f"- {text(locale, 'discord.review_by', models=plain(', '.join(estimate.models), FIRST_WORDS))}",
        *(f"- {line}" for line in costs(estimate, locale)),
        *(f"⚠️ {plain(phrase(locale, note), FIRST_WORDS)}" for note in estimate.notes),
        f"-# {text(locale, 'discord.review_means')}",
    ]
    button = PressButton(label=text(locale, "discord.start"), action=BEGIN, ref=ref, strong=True)
    return Card(content=head("\n".join(lines), CONTENT), buttons=(button,), file=document(request))


def document(request: ReviewRequest) -> TextFile:
    """What was asked for, as `read_request` reads it back."""
    return TextFile(name=FILE, text=json.dumps(asdict(request), ensure_ascii=False, indent=2) + "\n")


def read_request(data: bytes) -> ReviewRequest:
    """What `document` wrote, of this release. Raises ValueError, KeyError or TypeError."""
    kept = json.loads(data)
    answers = tuple(str(ref) for ref in kept["answers"])
    return ReviewRequest(answers=answers, reviewers=int(kept["reviewers"]), focus=str(kept["focus"]))
