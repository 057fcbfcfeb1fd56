"""What Slack is told about a delivery."""

from typing import Any, Final

from slack_bolt.response import BoltResponse

ACK_S: Final = 2.2
"""Slack waits three seconds for an acknowledgement; the store gets two of them (architecture §1)."""


def acknowledged() -> BoltResponse:
    return BoltResponse(status=200, body="")


def answered(body: dict[str, Any]) -> BoltResponse:
    """An acknowledgement that changes a form."""
    return BoltResponse(status=200, body=body)


def come_again() -> BoltResponse:
    """No acknowledgement: over a socket nothing is sent, over HTTP this status; Slack delivers again for both."""
    return BoltResponse(status=503, body="")
