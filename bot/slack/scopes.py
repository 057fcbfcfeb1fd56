"""The permissions that the app asks for, each with its reason. The manifests are compared with this."""

from typing import Final

SCOPES: Final = {
    "app_mentions:read": "hears where it is mentioned",
    "assistant:write": "shows that it is at work, in the agent's conversation",
    "channels:history": "reads the thread it is called into, and finds its own posts again after a crash",
    "channels:read": "asks what kind of channel this is and who is in it, before it shows anything",
    "chat:write": "answers",
    "commands": "offers slash commands and shortcuts",
    "files:read": "reads files that people attach for it",
    "files:write": "attaches transcripts and answers too long for messages",
    "groups:history": "the same as channels:history, in private channels it was invited to",
    "groups:read": "the same as channels:read, in private channels it was invited to",
    "im:history": "hears what is written to it directly",
    "im:read": "knows whose direct conversation it is in",
    "im:write": "sends a person a file that is for them alone",
    "mpim:history": "the same as channels:history, in group conversations",
    "mpim:read": "the same as channels:read, in group conversations",
    "users:read": "knows the name, the language, and whether someone is a guest",
}
