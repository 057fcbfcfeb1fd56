from dataclasses import replace
from pathlib import Path

import pytest

from bot.settings import PublicSocket, Settings, load_settings
from core.domain.errors import ConfigurationError
from core.domain.policy import Policy

SECRETS = {
    "SLACK_BOT_TOKEN": "xoxb-hidden-1",
    "SLACK_APP_TOKEN": "xapp-hidden-2",
    "SLACK_SIGNING_SECRET": "hidden-3",
    "SLACK_CLIENT_SECRET": "hidden-4",
    "DISCORD_TOKEN": "hidden-5",
    "PROMPTFLOW_SECRET_KEY": "hidden-6-" + "k" * 32,
    "DATABASE_URL": "postgresql://app:hidden-7@127.0.0.1/app",
    "ENGINE_DATABASE_URL": "postgresql://app:hidden-8@127.0.0.1/engine",
    "OPENAI_API_KEY": "hidden-9",
}


def load(cwd: Path, **env: str) -> Settings:
    return load_settings({"PROMPTFLOW_DATA_DIR": "data", **env}, cwd)


def test_with_nothing_set_two_sqlite_files_lie_in_the_data_folder(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.data_dir == tmp_path / "data"
    assert settings.database_url == f"sqlite:///{tmp_path}/data/promptflow.db"
    assert settings.engine_database_url == f"sqlite:///{tmp_path}/data/engine.db"
    assert (settings.port, settings.public) == (8484, None)
    assert settings.policy_for("anything") == Policy()
    assert not settings.data_dir.exists()


def test_the_data_folder_is_the_platform_s_own_when_none_is_named(tmp_path: Path) -> None:
    folder = load_settings({}, tmp_path).data_dir
    assert folder.name == "promptflow"
    assert folder.is_absolute()
    assert tmp_path not in folder.parents


def test_the_environment_wins_over_the_env_file_and_an_empty_value_does_not(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# comment\nexport PROMPTFLOW_PORT=9000\nSLACK_APP_TOKEN='from file'\nDISCORD_TOKEN=a${HOME}b\n"
    )
    settings = load(tmp_path, PROMPTFLOW_PORT="9001", SLACK_BOT_TOKEN="")
    assert settings.port == 9001
    assert settings.slack.app_token == "from file"
    assert settings.discord.token == "a${HOME}b"
    assert settings.slack.bot_token == ""


def test_keys_of_models_are_found_in_the_env_file_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=key-from-file\n")
    assert load(tmp_path).env["OPENAI_API_KEY"] == "key-from-file"


def test_a_broken_line_of_the_env_file_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n\nDISCORD_TOKEN='hidden\n")
    with pytest.raises(ConfigurationError, match="NAME=value") as caught:
        load(tmp_path)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / ".env"), 3)
    assert "hidden" not in str(caught.value)


def test_no_secret_shows_in_the_representation(tmp_path: Path) -> None:
    settings = load(tmp_path, **SECRETS)
    shown = repr(settings) + str(settings) + repr(replace(settings, port=1))
    assert "hidden" not in shown
    assert settings.slack.signing_secret == "hidden-3"
    assert settings.secret_key == SECRETS["PROMPTFLOW_SECRET_KEY"]


def test_the_public_socket_is_off_until_its_port_is_named(tmp_path: Path) -> None:
    assert load(tmp_path, PROMPTFLOW_PUBLIC_PORT="8080").public == PublicSocket(host="127.0.0.1", port=8080)
    assert load(
        tmp_path, PROMPTFLOW_PUBLIC_PORT="80", PROMPTFLOW_PUBLIC_HOST="10.0.0.5"
    ).public == PublicSocket(host="10.0.0.5", port=80)
    with pytest.raises(ConfigurationError, match="needs PROMPTFLOW_PUBLIC_PORT"):
        load(tmp_path, PROMPTFLOW_PUBLIC_HOST="10.0.0.5")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PROMPTFLOW_PORT", "http", "from 0 to 65535"),
        ("PROMPTFLOW_PORT", "65536", "from 0 to 65535"),
        ("PROMPTFLOW_PORT", "-1", "from 0 to 65535"),
        ("PROMPTFLOW_PORT", "٣", "from 0 to 65535"),
        ("PROMPTFLOW_PUBLIC_PORT", "x", "from 0 to 65535"),
        ("DATABASE_URL", "mysql://app:hidden@h/d", "postgresql://"),
        ("DATABASE_URL", "sqlite://", "sqlite:///"),
        ("DATABASE_URL", "sqlite:///:memory:", "the path of a file"),
        ("ENGINE_DATABASE_URL", "hidden", "postgresql://"),
        ("SLACK_API_URL", "slack.example", "https:// or http://"),
        ("SLACK_API_URL", "https://", "https:// or http://"),
        ("DISCORD_API_URL", "http://[::1", "https:// or http://"),
        ("DISCORD_GATEWAY_URL", "https://gateway.example", "wss:// or ws://"),
        ("PROMPTFLOW_SECRET_KEY", "hidden", "at least 32 characters"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_without_being_shown(
    tmp_path: Path, name: str, value: str, allowed: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, **{name: value})
    assert caught.value.file == name
    assert allowed in caught.value.reason
    assert "hidden" not in str(caught.value)


def test_the_engine_never_shares_the_database_of_the_store(tmp_path: Path) -> None:
    url = "postgresql://127.0.0.1/one"
    with pytest.raises(ConfigurationError, match="another database than DATABASE_URL"):
        load(tmp_path, DATABASE_URL=url, ENGINE_DATABASE_URL=url)


def test_the_configuration_file_is_read_from_the_working_folder_or_from_where_it_is_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "promptflow.toml").write_text("[policy]\nretention_days = 1\n")
    (tmp_path / "other.toml").write_text('[policy]\nretention_days = 2\n[policy."T1"]\nretention_days = 3\n')
    assert load(tmp_path).default_policy.retention_days == 1
    named = load(tmp_path, PROMPTFLOW_CONFIG="other.toml")
    assert named.policy_for("T2").retention_days == 2
    assert named.policy_for("T1").retention_days == 3
    with pytest.raises(ConfigurationError, match="does not exist"):
        load(tmp_path, PROMPTFLOW_CONFIG="missing.toml")


def test_a_policy_that_allows_an_unknown_model_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text('[policy]\n[policy."T1"]\nallowed_models = ["fast", "fsat"]\n')
    settings = load(tmp_path)
    settings.check_allowed_models({"fast", "fsat"})
    with pytest.raises(ConfigurationError, match="unknown model 'fsat'") as caught:
        settings.check_allowed_models(["fast"])
    assert caught.value.line == 3


def test_the_tables_of_models_and_defaults_are_handed_on_as_written(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text('[models.fast]\nid = "x/y"\n\n[defaults]\nchat = "fast"\n')
    configuration = load(tmp_path).configuration
    assert configuration.table("models") == {"fast": {"id": "x/y"}}
    assert configuration.table("defaults") == {"chat": "fast"}
    assert configuration.line_of(("defaults", "chat")) == 5


def test_a_folder_of_workflows_is_named_and_has_to_be_one(tmp_path: Path) -> None:
    assert load(tmp_path).workflow_dir is None
    (tmp_path / "flows").mkdir()
    assert load(tmp_path, PROMPTFLOW_WORKFLOWS="flows").workflow_dir == tmp_path / "flows"
    with pytest.raises(
        ConfigurationError, match="PROMPTFLOW_WORKFLOWS: must be a folder with workflow files"
    ):
        load(tmp_path, PROMPTFLOW_WORKFLOWS="none")
