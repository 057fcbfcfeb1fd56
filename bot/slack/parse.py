"""Slack's payloads as plain values. Pure: what is none of our business comes out as Ignored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = Mapping[str, Any]

OWN_SUBTYPES: Final = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes that are a person's message; "also send to channel" and files are messages like others."""

CHANGES: Final = frozenset(
    {"channel_archive", "channel_unarchive", "channel_deleted", "channel_rename", "group_archive",
     "group_unarchive", "member_joined_channel", "member_left_channel", "channel_left", "group_left"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message of a person. `thread` is the root of the thread it stands in, its own id for one at the top."""

    event_id: str
    channel: str
    user: str
    message: str
    thread: str
    text: str
    """As Slack sent it, with its escapes and references."""
    files: tuple[Json, ...] = ()
    direct: bool = False
    """In the conversation with the bot alone."""
    at_top: bool = False

    def mentions(self, user: str) -> bool:
        return f"<@{user}>" in self.text or f"<@{user}|" in self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    event_id: str
    now: Written
    before: str
    """Text of the version before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    event_id: str
    channel: str
    message: str
    thread: str
    user: str
    """Who had written it; empty when Slack does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeOpened:
    user: str
    tab: str
    channel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPressed:
    """A person pressed stop in the agent's conversation."""

    user: str
    channel: str
    thread: str
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChanged:
    channel: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The app was removed from the workspace, or the bot's token revoked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    reason: str


Event = Written | Edited | Deleted | HomeOpened | StopPressed | ChannelChanged | Removed | Ignored


def parse_event(body: Json) -> Event:
    """What an Events API delivery is to us."""
    event: Json = body.get("event") or {}
    event_id = str(body.get("event_id") or "")
    kind = event.get("type")
    if kind in ("message", "app_mention"):
        return _message(event, event_id)
    if kind == "app_home_opened":
        return HomeOpened(user=_text(event, "user"), tab=_text(event, "tab"), channel=_text(event, "channel"))
    if kind == "agent_session_stopped":
        return StopPressed(
            user=_text(event, "user"),
            channel=_text(event, "channel"),
            thread=_text(event, "thread_ts"),
            event_id=event_id,
        )
    if kind in CHANGES:
        channel = event.get("channel")
        channel = channel.get("id") if isinstance(channel, Mapping) else channel
        return ChannelChanged(channel=str(channel or ""), user=_text(event, "user"))
    if kind == "app_uninstalled" or (kind == "tokens_revoked" and (event.get("tokens") or {}).get("bot")):
        return Removed()
    return Ignored(reason=f"event {kind}")


def _message(event: Json, event_id: str) -> Event:
    subtype = event.get("subtype")
    if subtype == "message_changed":
        return _changed(event, event_id)
    if subtype == "message_deleted":
        before: Json = event.get("previous_message") or {}
        if before.get("bot_id"):
            return Ignored(reason="a bot's message was deleted")
        message = _text(event, "deleted_ts") or _text(before, "ts")
        return Deleted(
            event_id=event_id,
            channel=_text(event, "channel"),
            message=message,
            thread=_text(before, "thread_ts") or message,
            user=_text(before, "user"),
        )
    if event.get("type") == "app_mention" and event.get("edited"):
        return Ignored(reason="a mention that came by an edit arrives as message_changed too")
    if subtype not in OWN_SUBTYPES or event.get("hidden"):
        return Ignored(reason=f"message {subtype}")
    if event.get("bot_id") or event.get("bot_profile") or not event.get("user"):
        return Ignored(reason="not written by a person")
    return written(event, event_id, _text(event, "channel"), _text(event, "channel_type"))


def written(message: Json, event_id: str, channel: str, channel_type: str) -> Written:
    """A person's message as Slack describes it, in an event or in a list."""
    own = _text(message, "ts")
    thread = _text(message, "thread_ts") or own
    files = message.get("files")
    return Written(
        event_id=event_id,
        channel=channel,
        user=_text(message, "user"),
        message=own,
        thread=thread,
        text=_text(message, "text"),
        files=tuple(f for f in files if isinstance(f, Mapping)) if isinstance(files, list) else (),
        direct=channel_type == "im",
        at_top=thread == own,
    )


def _changed(event: Json, event_id: str) -> Event:
    now: Json = event.get("message") or {}
    before: Json = event.get("previous_message") or {}
    channel = _text(event, "channel")
    if now.get("subtype") == "tombstone":
        # A root that had replies is not deleted but emptied; the thread goes on.
        message = _text(now, "ts")
        return Deleted(
            event_id=event_id,
            channel=channel,
            message=message,
            thread=_text(now, "thread_ts") or message,
            user=_text(before, "user"),
        )
    if now.get("subtype") not in OWN_SUBTYPES or now.get("bot_id") or not now.get("user"):
        return Ignored(reason="not a person's message that changed")
    if not now.get("edited") or now.get("text") == before.get("text"):
        return Ignored(reason="a change without a new text, such as a link preview")
    current = written(now, event_id, channel, _text(event, "channel_type"))
    return Edited(event_id=event_id, now=current, before=_text(before, "text"))


def _text(source: Json, name: str) -> str:
    value = source.get(name)
    return value if isinstance(value, str) else ""


# --- clicks, shortcuts, commands, forms ------------------------------------------------------------------------------


ACTION: Final = "do."
"""What the ids of our buttons begin with; a `ButtonAction` follows."""

FEEDBACK_ACTION: Final = f"{ACTION}feedback"
"""Id of the thumbs under an answer; the value says which one, of which answer."""

MORE: Final = "more."
"""What the ids of overflow menus begin with; the option says which button it stands for."""

SEPARATOR: Final = "|"
LISTED: Final = "\n"
"""Between the values of a field from which several were taken, in the order in which they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where something was clicked or typed, and how to answer there."""

    channel: str
    user: str
    thread: str = ""
    """Root of the thread; empty outside threads."""
    message: str = ""
    response_url: str = ""
    trigger: str = ""
    key: str = ""
    """The same for the same click, however often it is delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    spot: Spot
    action: str
    value: str
    view: Json | None
    """The form or page it was clicked in; None for a message."""
    state: Json


def parse_click(body: Json) -> Click:
    """A `block_actions` payload."""
    action: Json = (body.get("actions") or [{}])[0]
    container: Json = body.get("container") or {}
    message: Json = body.get("message") or {}
    view = body.get("view")
    chosen = action.get("selected_option")
    value = str(action.get("value") or (chosen.get("value") if isinstance(chosen, Mapping) else "") or "")
    name = _text(action, "action_id")
    if name.startswith(MORE):
        wanted, _, value = value.partition(SEPARATOR)
        name = f"{ACTION}{wanted}"
    user = _text(body.get("user") or {}, "id")
    own = _text(container, "message_ts")
    spot = Spot(
        channel=_text(body.get("channel") or {}, "id") or _text(container, "channel_id"),
        user=user,
        thread=_text(container, "thread_ts") or _text(message, "thread_ts") or own,
        message=own,
        response_url=_text(body, "response_url"),
        trigger=_text(body, "trigger_id"),
        key=f"click:{user}:{_text(action, 'action_ts') or _text(body, 'trigger_id')}",
    )
    return Click(
        spot=spot,
        action=name,
        value=value,
        view=view if isinstance(view, Mapping) else None,
        state=_values(view) if isinstance(view, Mapping) else {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    spot: Spot
    name: str


def parse_shortcut(body: Json) -> Shortcut:
    """A message shortcut, or a global one, which has no place."""
    message: Json = body.get("message") or {}
    own = _text(body, "message_ts") or _text(message, "ts")
    user = _text(body.get("user") or {}, "id")
    return Shortcut(
        name=_text(body, "callback_id"),
        spot=Spot(
            channel=_text(body.get("channel") or {}, "id"),
            user=user,
            thread=_text(message, "thread_ts") or own,
            message=own,
            response_url=_text(body, "response_url"),
            trigger=_text(body, "trigger_id"),
            key=f"shortcut:{user}:{_text(body, 'action_ts') or _text(body, 'trigger_id')}",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    spot: Spot
    command: str
    text: str


def parse_slash(body: Json) -> Slash:
    user, trigger = _text(body, "user_id"), _text(body, "trigger_id")
    return Slash(
        command=_text(body, "command"),
        text=_text(body, "text").strip(),
        spot=Spot(
            channel=_text(body, "channel_id"),
            user=user,
            response_url=_text(body, "response_url"),
            trigger=trigger,
            key=f"slash:{user}:{trigger}",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    user: str
    name: str
    view_id: str
    metadata: str
    values: Mapping[str, str]
    """What was typed or chosen, by block."""
    view: Json
    """The whole form as Slack sent it."""

    @property
    def key(self) -> str:
        return f"form:{self.view_id}"


def parse_submission(body: Json) -> Submission:
    view: Json = body.get("view") or {}
    return Submission(
        user=_text(body.get("user") or {}, "id"),
        name=_text(view, "callback_id"),
        view_id=_text(view, "id"),
        metadata=_text(view, "private_metadata"),
        values=_values(view),
        view=view,
    )


def _values(view: Json) -> dict[str, str]:
    """The values of a form by block; every block of ours has one element."""
    found: dict[str, str] = {}
    for block, elements in ((view.get("state") or {}).get("values") or {}).items():
        for element in elements.values():
            chosen = element.get("selected_option")
            value = chosen.get("value") if isinstance(chosen, Mapping) else element.get("value")
            value = element.get("selected_conversation") or value
            several = element.get("selected_options")
            if isinstance(several, list):
                value = LISTED.join(str(one.get("value")) for one in several if isinstance(one, Mapping))
            found[block] = value if isinstance(value, str) else ""
    return found


def workspace_of(body: Json) -> tuple[str, str]:
    """Ids of team and organisation that the app was installed in, for what this delivery is; either may be empty.

    For shared channels the installation stands in `authorizations`, which can differ from the envelope's team.
    """
    granted = (body.get("authorizations") or [None])[0]
    if isinstance(granted, Mapping):
        whole_org = bool(granted.get("is_enterprise_install"))
        return "" if whole_org else _text(granted, "team_id"), _text(granted, "enterprise_id")
    whole_org = str(body.get("is_enterprise_install")).lower() == "true"
    team = body.get("team")
    team_id = _text(team, "id") if isinstance(team, Mapping) else _text(body, "team_id")
    team_id = (
        team_id
        or _text(body.get("user") or {}, "team_id")
        or _text(body.get("view") or {}, "app_installed_team_id")
    )
    organisation = body.get("enterprise")
    enterprise = (
        _text(organisation, "id") if isinstance(organisation, Mapping) else _text(body, "enterprise_id")
    )
    return "" if whole_org else team_id, enterprise
