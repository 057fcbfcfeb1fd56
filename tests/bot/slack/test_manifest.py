"""The manifests say what the code does, within Slack's schema."""

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from bot.slack.carrying import CARRIED_SHORTCUTS
from bot.slack.http import EVENTS as EVENTS_PATH
from bot.slack.oauth import REDIRECT
from bot.slack.offered import COMMANDS, EVENTS, SHORTCUTS, THREADS_SHORTCUT
from bot.slack.scopes import SCOPES
from tests.tree import ROOT

SCHEMA = ROOT.parent / "shared" / "schemas" / "slack-manifest.schema.json"
FILES = ("slack-app.yaml", "slack-app.http.yaml")


def manifest(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "manifests" / name).read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", FILES)
def test_commands_shortcuts_events_and_scopes_are_those_of_the_code(name: str) -> None:
    found = manifest(name)
    features = found["features"]
    assert {c["command"] for c in features["slash_commands"]} == set(COMMANDS)
    by_kind = {(s["type"], s["callback_id"]) for s in features["shortcuts"]}
    assert by_kind == {
        *(("message", s) for s in (*SHORTCUTS, *CARRIED_SHORTCUTS)),
        ("global", THREADS_SHORTCUT),
    }
    assert found["settings"]["event_subscriptions"]["bot_events"] == sorted(EVENTS)
    assert found["oauth_config"]["scopes"]["bot"] == sorted(SCOPES)


@pytest.mark.parametrize("name", FILES)
def test_every_scope_has_its_reason_beside_it(name: str) -> None:
    text = (ROOT / "manifests" / name).read_text("utf-8")
    for scope, reason in SCOPES.items():
        assert any(
            line.strip().startswith(f"- {scope} ") and line.endswith(f"# {reason}")
            for line in text.splitlines()
        )


def test_one_listens_over_a_socket_and_the_other_over_http() -> None:
    socket, http = (manifest(name) for name in FILES)
    assert socket["settings"]["socket_mode_enabled"] is True
    assert http["settings"]["socket_mode_enabled"] is False
    addresses = {
        http["settings"]["event_subscriptions"]["request_url"],
        http["settings"]["interactivity"]["request_url"],
        *(c["url"] for c in http["features"]["slash_commands"]),
    }
    assert addresses == {f"https://PUBLIC_ADDRESS{EVENTS_PATH}"}
    assert http["oauth_config"]["redirect_urls"] == [f"https://PUBLIC_ADDRESS{REDIRECT}"]
    assert "assistant_view" not in socket["features"]


@pytest.mark.parametrize("name", FILES)
def test_lengths_that_slack_allows(name: str) -> None:
    found = manifest(name)
    assert len(found["display_information"]["description"]) <= 140
    assert 175 <= len(found["display_information"]["long_description"]) <= 4_000
    assert all(len(s["name"]) <= 24 and len(s["description"]) <= 150 for s in found["features"]["shortcuts"])
    assert len(found["features"]["agent_view"]["suggested_prompts"]) <= 4


@pytest.mark.parametrize("name", FILES)
def test_a_manifest_is_valid_where_slack_s_schema_lies_beside_the_project(name: str) -> None:
    if not SCHEMA.is_file():
        return
    errors = [e.message for e in Draft7Validator(json.loads(SCHEMA.read_text())).iter_errors(manifest(name))]
    assert errors == []
