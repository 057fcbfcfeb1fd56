"""The one settings object: built once from the environment, `.env` and `promptflow.toml`, then passed down.

Names are those of architecture §9. The real environment wins over `.env`; an empty value counts as not set. No value of
a variable appears in a message, because it may be a secret.
"""

import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from urllib.parse import urlsplit

import dotenv
import platformdirs
from dotenv.parser import parse_stream

from bot.configuration import Configuration, read_configuration, read_policies, read_text_file
from core.domain.errors import ConfigurationError
from core.domain.policy import Policy

CONFIG_FILE = "promptflow.toml"
ENV_FILE = ".env"
DEFAULT_PORT = 8484
LOOPBACK = "127.0.0.1"
MIN_SECRET_KEY_CHARS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Empty where not set."""

    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)
    signing_secret: str = field(repr=False)
    client_id: str
    client_secret: str = field(repr=False)
    api_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """Empty where not set."""

    token: str = field(repr=False)
    api_url: str
    gateway_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSocket:
    """Where Slack's HTTP events, OAuth, health and metrics are served beside the console."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    data_dir: Path
    """Absolute; may not exist yet."""
    database_url: str = field(repr=False)
    engine_database_url: str = field(repr=False)
    workflow_dir: Path | None
    """Folder with workflow files of one's own, absolute; None for the product's alone."""
    port: int
    """Of the console, always on 127.0.0.1; 0 takes any free one."""
    public: PublicSocket | None
    slack: SlackSettings
    discord: DiscordSettings
    secret_key: str = field(repr=False)
    configuration: Configuration = field(repr=False)
    """Source of `[models]` and `[defaults]`, which the model catalogue checks itself."""
    default_policy: Policy
    policies: Mapping[str, Policy]
    """By platform id of the workspace, only those that override something."""
    env: Mapping[str, str] = field(repr=False)
    """Environment and `.env` together; this is where keys of models are looked up."""

    def policy_for(self, workspace_external_id: str) -> Policy:
        """The policy of the workspace with this platform id."""
        return self.policies.get(workspace_external_id, self.default_policy)

    def check_allowed_models(self, aliases: Collection[str]) -> None:
        """Raise ConfigurationError when a policy allows a model that the catalogue does not have."""
        for path, policy in (
            (("policy",), self.default_policy),
            *((("policy", workspace), policy) for workspace, policy in self.policies.items()),
        ):
            for alias in policy.allowed_models or ():
                if alias not in aliases:
                    reason = (
                        f"'allowed_models' names the unknown model '{alias}'; there are: {', '.join(aliases)}"
                    )
                    self.configuration.fail((*path, "allowed_models"), reason)


def load_settings(env: Mapping[str, str], cwd: Path) -> Settings:
    """Settings from `env`, `cwd/.env` and the configuration file. Reads files, creates none.

    Raises ConfigurationError with file (or variable), line, reason and what is allowed.
    """
    found = _Variables(_merged(env, cwd / ENV_FILE))
    data_dir = _data_dir(found, cwd)
    configuration = read_configuration(
        cwd / Path(found.text("PROMPTFLOW_CONFIG", CONFIG_FILE)).expanduser(),
        required=found.has("PROMPTFLOW_CONFIG"),
    )
    default_policy, policies = read_policies(configuration)
    database_url, engine_database_url = _database_urls(found, data_dir)
    return Settings(
        data_dir=data_dir,
        database_url=database_url,
        engine_database_url=engine_database_url,
        workflow_dir=_workflow_dir(found, cwd),
        port=found.port("PROMPTFLOW_PORT", DEFAULT_PORT),
        public=_public_socket(found),
        slack=SlackSettings(
            bot_token=found.text("SLACK_BOT_TOKEN"),
            app_token=found.text("SLACK_APP_TOKEN"),
            signing_secret=found.text("SLACK_SIGNING_SECRET"),
            client_id=found.text("SLACK_CLIENT_ID"),
            client_secret=found.text("SLACK_CLIENT_SECRET"),
            api_url=found.url("SLACK_API_URL", ("https", "http")),
        ),
        discord=DiscordSettings(
            token=found.text("DISCORD_TOKEN"),
            api_url=found.url("DISCORD_API_URL", ("https", "http")),
            gateway_url=found.url("DISCORD_GATEWAY_URL", ("wss", "ws")),
        ),
        secret_key=_secret_key(found),
        configuration=configuration,
        default_policy=default_policy,
        policies=policies,
        env=found.values,
    )


@dataclass(frozen=True, slots=True)
class _Variables:
    values: Mapping[str, str]

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def port(self, name: str, default: int) -> int:
        text = self.text(name)
        if not text:
            return default
        if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65_535:
            _refuse(name, "must be a port number from 0 to 65535; 0 takes any free port")
        return int(text)

    def url(self, name: str, schemes: tuple[str, ...]) -> str:
        text = self.text(name)
        if text and not _is_url(text, schemes):
            _refuse(name, f"must be an address that begins with {' or '.join(f'{s}://' for s in schemes)}")
        return text


def _refuse(name: str, reason: str) -> NoReturn:
    raise ConfigurationError(name, reason)


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _merged(env: Mapping[str, str], file: Path) -> Mapping[str, str]:
    text = read_text_file(file, required=False) or ""
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            # The parser counts empty lines above as part of what it could not read.
            written = binding.original.string
            above = written[: len(written) - len(written.lstrip())].count("\n")
            reason = "this line is not of the form NAME=value"
            raise ConfigurationError(str(file), reason, line=binding.original.line + above)
    # No interpolation: a secret may hold "${", and what is written is what is meant.
    from_file = dotenv.dotenv_values(stream=io.StringIO(text), interpolate=False)
    stripped = {name: value.strip() for name, value in {**from_file, **env}.items() if value is not None}
    return MappingProxyType({name: value for name, value in stripped.items() if value})


def _data_dir(found: _Variables, cwd: Path) -> Path:
    named = found.text("PROMPTFLOW_DATA_DIR")
    if named:
        return (cwd / Path(named).expanduser()).resolve()
    return platformdirs.user_data_path("promptflow", appauthor=False)


def _workflow_dir(found: _Variables, cwd: Path) -> Path | None:
    named = found.text("PROMPTFLOW_WORKFLOWS")
    if not named:
        return None
    folder = (cwd / Path(named).expanduser()).resolve()
    if not folder.is_dir():
        _refuse("PROMPTFLOW_WORKFLOWS", f"must be a folder with workflow files; {folder} is none")
    return folder


def _database_urls(found: _Variables, data_dir: Path) -> tuple[str, str]:
    urls = (
        found.text("DATABASE_URL") or f"sqlite:///{data_dir / 'promptflow.db'}",
        found.text("ENGINE_DATABASE_URL") or f"sqlite:///{data_dir / 'engine.db'}",
    )
    for name, url in zip(("DATABASE_URL", "ENGINE_DATABASE_URL"), urls, strict=True):
        if not _DATABASE_URL.match(url):
            _refuse(name, "must begin with postgresql:// or be sqlite:/// followed by the path of a file")
    if urls[0] == urls[1]:
        _refuse("ENGINE_DATABASE_URL", "must name another database than DATABASE_URL")
    return urls


_DATABASE_URL: re.Pattern[str] = re.compile(r"postgres(ql)?(\+psycopg)?://|sqlite(\+aiosqlite)?:///[^?:]")


def _public_socket(found: _Variables) -> PublicSocket | None:
    if not found.has("PROMPTFLOW_PUBLIC_PORT"):
        if found.has("PROMPTFLOW_PUBLIC_HOST"):
            _refuse("PROMPTFLOW_PUBLIC_HOST", "needs PROMPTFLOW_PUBLIC_PORT beside it")
        return None
    return PublicSocket(
        host=found.text("PROMPTFLOW_PUBLIC_HOST", LOOPBACK), port=found.port("PROMPTFLOW_PUBLIC_PORT", 0)
    )


def _secret_key(found: _Variables) -> str:
    key = found.text("PROMPTFLOW_SECRET_KEY")
    if key and len(key) < MIN_SECRET_KEY_CHARS:
        _refuse("PROMPTFLOW_SECRET_KEY", f"must have at least {MIN_SECRET_KEY_CHARS} characters")
    return key
