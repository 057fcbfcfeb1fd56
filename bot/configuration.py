"""`promptflow.toml`: its tables, the line each key stands on, and the policies it sets (architecture §9)."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from core.domain.errors import ConfigurationError
from core.domain.policy import Listen, Policy

TABLES = ("models", "defaults", "policy")

MODES = ("chat", "compare", "debate", "codraft", "workflow")

MAX_RETENTION_DAYS = 36_500

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One configuration file as read. Without a file all tables are empty."""

    file: str
    """Name for messages; empty when there is no file."""
    tables: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def table(self, name: str) -> Mapping[str, Any]:
        """The top-level table `name`, empty when it is not there. Raises ConfigurationError when it is no table."""
        value = self.tables.get(name, {})
        if not isinstance(value, Mapping):
            self.fail((name,), f"'{name}' must be a table: write [{name}]")
        return value

    def line_of(self, path: KeyPath) -> int:
        """Line of the key at `path`, counted from 1; of the nearest table above it when the key itself is missing."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def fail(self, path: KeyPath, reason: str) -> NoReturn:
        raise ConfigurationError(self.file, reason, line=self.line_of(path))


def read_configuration(file: Path, *, required: bool) -> Configuration:
    """The configuration in `file`; an empty one when there is no such file and it is not `required`.

    Raises ConfigurationError for a file that is missing, unreadable, not TOML, or has a table we do not know.
    """
    text = read_text_file(file, required=required)
    if text is None:
        return Configuration(file="")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(file, text, str(error)) from None
    configuration = Configuration(file=str(file), tables=tables, lines=_key_lines(text))
    for name in tables:
        if name not in TABLES:
            configuration.fail((name,), f"unknown table or key '{name}'; allowed: {', '.join(TABLES)}")
    return configuration


def read_text_file(file: Path, *, required: bool) -> str | None:
    """The text of a small UTF-8 file; None when it does not exist and is not `required`."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if not required:
            return None
        raise ConfigurationError(str(file), "the file does not exist") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigurationError(str(file), "the file is not UTF-8 text", line=line) from None
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror}"
        raise ConfigurationError(str(file), reason) from None


def _syntax_error(file: Path, text: str, message: str) -> ConfigurationError:
    """tomllib of Python 3.11 tells the place only inside its message."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(place[1]) if place and place[1] else len(text.splitlines())
    reason = message[: place.start()] if place else message
    return ConfigurationError(str(file), f"not valid TOML: {reason}", line=line)


def _key_lines(text: str) -> dict[KeyPath, int]:
    """First line of every table and key of a valid TOML text.

    A TOML statement ends with its line and never begins as another complete one, so the parser itself finds where each
    ends: lines are added until they parse. Keys inside a value stand on the line where the value begins.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    statement = ""
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        start = start if statement else number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        found = _paths(parsed)
        if statement.lstrip().startswith("["):
            table = found[-1]
            found = [table[:length] for length in range(1, len(table) + 1)]
        else:
            found = [table + path for path in found]
        for path in found:
            lines.setdefault(path, start)
        statement = ""
    return lines


def _paths(value: Mapping[str, Any]) -> list[KeyPath]:
    found: list[KeyPath] = []
    for key, inner in value.items():
        found.append((key,))
        if isinstance(inner, list) and inner and isinstance(inner[-1], Mapping):
            inner = inner[-1]
        if isinstance(inner, Mapping):
            found.extend((key, *rest) for rest in _paths(inner))
    return found


def read_policies(configuration: Configuration) -> tuple[Policy, Mapping[str, Policy]]:
    """The default policy and the full policy of every workspace that overrides it, by platform id.

    An override changes the keys it names and keeps the defaults for the rest. Raises ConfigurationError.
    """
    table = configuration.table("policy")
    own = {key: value for key, value in table.items() if key in _RULES or not isinstance(value, Mapping)}
    default = _policy(configuration, ("policy",), own, Policy())
    overrides = {
        workspace: _policy(configuration, ("policy", workspace), value, default)
        for workspace, value in table.items()
        if workspace not in own
    }
    return default, MappingProxyType(overrides)


def _policy(configuration: Configuration, path: KeyPath, table: Mapping[str, Any], base: Policy) -> Policy:
    changes: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _RULES:
            configuration.fail(
                (*path, key), f"unknown key '{key}' in [{_header(path)}]; allowed: {', '.join(_RULES)}"
            )
        rule = _RULES[key]
        if not rule.holds(value):
            configuration.fail((*path, key), f"'{key}' in [{_header(path)}] must be {rule.allowed}")
        changes[key] = rule.convert(value)
    return replace(base, **changes)


def _header(path: KeyPath) -> str:
    return path[0] if len(path) == 1 else f'{path[0]}."{path[1]}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    holds: Callable[[Any], bool]
    convert: Callable[[Any], Any]
    allowed: str


def _is_listen(value: object) -> bool:
    return isinstance(value, str) and value in {choice.value for choice in Listen}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)


def _is_filled_text_list(value: object) -> bool:
    return _is_text_list(value) and value != []


def _is_route_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and _is_route(item) for item in value)


def _is_route(route: str) -> bool:
    source, _, target = route.partition(">")
    return source in MODES and target in MODES


def _is_days(value: object) -> bool:
    return type(value) is int and 1 <= value <= MAX_RETENTION_DAYS


def _is_money(value: object) -> bool:
    return type(value) in {int, float} and math.isfinite(value) and value >= 0  # type: ignore[arg-type,operator]


_FLAG = _Rule(holds=lambda value: isinstance(value, bool), convert=bool, allowed="true or false")
_PEOPLE = _Rule(holds=_is_text_list, convert=tuple, allowed='a list of platform ids, such as ["U012AB3CD"]')
_MONEY = _Rule(holds=_is_money, convert=float, allowed="an amount in USD, 0 or more, such as 20.0")

_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "listen": _Rule(holds=_is_listen, convert=Listen, allowed='"all" or "mentions"'),
        "approvers": _PEOPLE,
        "four_eyes": _FLAG,
        "branch": _FLAG,
        "handover_routes": _Rule(
            holds=_is_route_list,
            convert=tuple,
            allowed=f'a list of routes such as "chat>debate" between {", ".join(MODES)}',
        ),
        "allowed_models": _Rule(
            holds=_is_filled_text_list, convert=tuple, allowed="a list of at least one model alias"
        ),
        "prompt_editors": _PEOPLE,
        "prompt_verifiers": _PEOPLE,
        "prompt_promoters": _PEOPLE,
        "prompt_four_eyes": _FLAG,
        "prompt_channel": _Rule(
            holds=_is_text, convert=str, allowed='the platform id of a channel, such as "C012AB3CD"'
        ),
        "retention_days": _Rule(
            holds=_is_days, convert=int, allowed=f"a whole number of days from 1 to {MAX_RETENTION_DAYS}"
        ),
        "budget_person_usd_month": _MONEY,
        "budget_workspace_usd_month": _MONEY,
    }
)

if set(_RULES) != {f.name for f in fields(Policy)}:
    raise TypeError("every field of Policy needs its rule, and no other")
