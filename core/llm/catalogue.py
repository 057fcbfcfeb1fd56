"""Which models there are: from `promptflow.toml`, from keys found in the environment, the local and the demo models.

Order matters: configured models first, as the file has them, then ready-made ones, then the local one where it is
installed, then demo. Whatever `[defaults]` does not name falls to the first usable ones in that order, and to the demo
models only when there is no real one. The local model is never chosen for anybody: it is real, and far too small.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from core.domain.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    alias: str
    """What people type and see; stored with threads and receipts."""
    id: str
    """`provider/model`; the bare name of a model is enough together with `api_base`."""
    api_base: str = ""
    """Address of an OpenAI-compatible server or a proxy; empty for the provider's own."""
    api_key_env: str = ""
    """Name of the environment variable that holds the key; empty where none is needed."""
    context_tokens: int = 32_768
    max_output_tokens: int = 4_096
    input_price: float | None = None
    """USD per million tokens; None when not known."""
    output_price: float | None = None
    vision: bool = False
    streaming: bool = True
    reasoning: bool = False
    """Thinks before it writes: its first sign of life may take longer."""
    concurrency: int = 16
    """Calls in flight at one time."""
    trains_on_data: str = "unknown"
    """Whether the provider may train on what is sent: `yes`, `no` or `unknown`."""
    demo: bool = False
    local: bool = False
    """Runs in a process of ours on this machine; its address and key are known once that has started."""

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call of this size costs; None when a price is not known. The demo models cost nothing."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Aliases used where a person names no model. A list is short where the catalogue is."""

    chat: str
    compare: tuple[str, ...]
    debate: tuple[str, ...]
    moderator: str
    drafting: str
    reviewers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    models: Mapping[str, Model]
    """By alias; configured ones first, then ready-made ones, the local one, then demo."""
    defaults: Defaults

    @property
    def real(self) -> tuple[Model, ...]:
        return tuple(model for model in self.models.values() if not model.demo)


# Spec §8: reviewers took no part. The defaults take the first three, which leaves the two that a review asks for.
DEMO_MODELS: Final = tuple(
    Model(
        alias=f"demo-{habit}",
        id=f"demo/{habit}",
        context_tokens=128_000,
        input_price=0.0,
        output_price=0.0,
        trains_on_data="no",
        demo=True,
    )
    for habit in ("sage", "critic", "builder", "auditor", "editor")
)

# 135 million parameters, trained on contexts of this size and on English. Its calls share one context: somebody who
# asks while another's answer is written is answered beside it, and what is too much for both together fails.
LOCAL_MODEL: Final = Model(
    alias="local-smollm2",
    id="local/smollm2",
    context_tokens=8_192,
    max_output_tokens=1_024,
    input_price=0.0,
    output_price=0.0,
    concurrency=4,
    trains_on_data="no",
    local=True,
)

# Sizes, prices and dated ids published by the providers in November 2026. Gemini and xAI have no dated ids.
_READY_MADE: Final = (
    Model(
        alias="gpt",
        id="openai/gpt-5.4-2026-03-05",
        api_key_env="OPENAI_API_KEY",
        context_tokens=1_050_000,
        max_output_tokens=128_000,
        input_price=2.5,
        output_price=15.0,
        vision=True,
        reasoning=True,
        trains_on_data="no",
    ),
    Model(
        alias="gpt-mini",
        id="openai/gpt-5.4-mini-2026-03-17",
        api_key_env="OPENAI_API_KEY",
        context_tokens=272_000,
        max_output_tokens=128_000,
        input_price=0.75,
        output_price=4.5,
        vision=True,
        reasoning=True,
        trains_on_data="no",
    ),
    Model(
        alias="claude-opus",
        id="anthropic/claude-opus-4-7-20260416",
        api_key_env="ANTHROPIC_API_KEY",
        context_tokens=1_000_000,
        max_output_tokens=128_000,
        input_price=5.0,
        output_price=25.0,
        vision=True,
        trains_on_data="no",
    ),
    Model(
        alias="claude-haiku",
        id="anthropic/claude-haiku-4-5-20251001",
        api_key_env="ANTHROPIC_API_KEY",
        context_tokens=200_000,
        max_output_tokens=64_000,
        input_price=1.0,
        output_price=5.0,
        vision=True,
        trains_on_data="no",
    ),
    Model(
        alias="gemini-flash",
        id="gemini/gemini-3.8-flash",
        api_key_env="GEMINI_API_KEY",
        context_tokens=1_048_576,
        max_output_tokens=65_536,
        input_price=0.75,
        output_price=3.75,
        vision=True,
        reasoning=True,
    ),
    Model(
        alias="gemini-lite",
        id="gemini/gemini-3.1-flash-lite",
        api_key_env="GEMINI_API_KEY",
        context_tokens=1_048_576,
        max_output_tokens=65_536,
        input_price=0.25,
        output_price=1.5,
        vision=True,
        reasoning=True,
    ),
    Model(
        alias="mistral-medium",
        id="mistral/mistral-medium-2604",
        api_key_env="MISTRAL_API_KEY",
        context_tokens=262_144,
        max_output_tokens=65_536,
        input_price=1.5,
        output_price=7.5,
        vision=True,
    ),
    Model(
        alias="mistral-small",
        id="mistral/mistral-small-2603",
        api_key_env="MISTRAL_API_KEY",
        context_tokens=262_144,
        max_output_tokens=65_536,
        input_price=0.15,
        output_price=0.6,
        vision=True,
    ),
    Model(
        alias="deepseek",
        id="deepseek/deepseek-v4-pro",
        api_key_env="DEEPSEEK_API_KEY",
        context_tokens=1_000_000,
        max_output_tokens=393_216,
        input_price=1.32,
        output_price=3.96,
        reasoning=True,
    ),
    Model(
        alias="grok",
        id="xai/grok-4.5",
        api_key_env="XAI_API_KEY",
        context_tokens=500_000,
        max_output_tokens=128_000,
        input_price=2.0,
        output_price=6.0,
        vision=True,
        reasoning=True,
    ),
)

_USUAL_KEYS: Final = MappingProxyType(
    {
        **{model.id.partition("/")[0]: model.api_key_env for model in _READY_MADE},
        "cohere": "COHERE_API_KEY",
        "groq": "GROQ_API_KEY",
        "openrouter": "OPENROUTER_API_KEY",
    }
)
"""Where the key of a provider usually is; used unless the file names another place or another address."""

_ALIAS: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")
_TRAINING: Final = ("yes", "no", "unknown")
_MODEL_KEYS: Final = tuple(f.name for f in fields(Model) if f.name not in {"alias", "demo", "local"})
_DEFAULT_KEYS: Final = tuple(f.name for f in fields(Defaults))
# Spec §3: Compare asks 2 to 6 models, Debate has 2 to 4 participants.
_LIST_SIZES: Final = {"compare": (2, 6), "debate": (2, 4), "reviewers": (1, 6)}


def load_catalogue(
    models_table: Mapping[str, object],
    defaults_table: Mapping[str, object],
    *,
    file: str,
    line_of: Callable[[tuple[str, ...]], int],
    env: Mapping[str, str],
    local: bool,
) -> Catalogue:
    """The catalogue from the parsed `[models.*]` and `[defaults]` tables of `file` and the keys in `env`.

    `local` says whether the local model is installed. `line_of` gives the line of a key's path such as
    `("models", "fast", "id")`. Raises ConfigurationError, with file, line, reason and what is allowed, for anything
    that is not exactly as it should be.
    """
    reader = _Reader(file=file, line_of=line_of)
    configured = [reader.model(alias, table) for alias, table in models_table.items()]
    taken = {model.alias for model in configured} | {model.id for model in configured}
    ready = [m for m in _READY_MADE if env.get(m.api_key_env) and m.alias not in taken and m.id not in taken]
    own = [LOCAL_MODEL] if local and LOCAL_MODEL.alias not in taken else []
    models = {model.alias: model for model in (*configured, *ready, *own, *DEMO_MODELS)}
    real = [m.alias for m in (*configured, *ready)]
    usable = [m.alias for m in (*configured, *ready) if not m.api_key_env or env.get(m.api_key_env)]
    pool = tuple(usable or real or [m.alias for m in DEMO_MODELS])
    defaults = Defaults(
        chat=pool[0],
        compare=pool[:3],
        debate=pool[:3],
        moderator=pool[0],
        drafting=pool[0],
        reviewers=pool[:6],
    )
    return Catalogue(
        models=MappingProxyType(models),
        defaults=replace(defaults, **reader.defaults(defaults_table, tuple(models))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Turns untrusted tables into values, or says where and why it cannot."""

    file: str
    line_of: Callable[[tuple[str, ...]], int]

    def fail(self, path: tuple[str, ...], reason: str) -> NoReturn:
        table = ".".join(path[:2]) if path[0] == "models" else path[0]
        raise ConfigurationError(self.file, f"[{table}] {reason}", line=self.line_of(path))

    def model(self, alias: str, table: object) -> Model:
        path = ("models", alias)
        if not _ALIAS.fullmatch(alias):
            self.fail(path, "is no alias: 1 to 40 of a-z 0-9 . _ - are allowed, a letter or digit first")
        if alias.startswith("demo-"):
            self.fail(path, "is taken: aliases that begin with 'demo-' belong to the demo models")
        if not isinstance(table, Mapping):
            self.fail(path, "must be a table with at least 'id'")
        for key in table:
            if key not in _MODEL_KEYS:
                self.fail((*path, key), f"has the unknown key '{key}'; allowed: {', '.join(_MODEL_KEYS)}")
        if "id" not in table:
            self.fail(
                path, "has no 'id': give the provider's model id, such as \"mistral/mistral-small-2603\""
            )
        values = {key: self._value(alias, key, value) for key, value in table.items()}
        known = next((m for m in _READY_MADE if m.id == values["id"] and "api_base" not in values), None)
        usual = "" if "api_base" in values else _USUAL_KEYS.get(values["id"].partition("/")[0], "")
        base = known if known is not None else Model(alias=alias, id="", api_key_env=usual)
        return self._checked(replace(base, alias=alias, **values), values)

    def _checked(self, model: Model, values: Mapping[str, object]) -> Model:
        path = ("models", model.alias)
        if "/" not in model.id and not model.api_base:
            self.fail((*path, "id"), f'id must name its provider, such as "openai/{model.id}"')
        if ("input_price" in values) != ("output_price" in values):
            self.fail(
                path, "must have both 'input_price' and 'output_price' (USD per million tokens), or neither"
            )
        if model.max_output_tokens > model.context_tokens:
            sizes = f"{model.max_output_tokens} and {model.context_tokens}"
            self.fail(path, f"has max_output_tokens above context_tokens: {sizes}; the context holds both")
        return model

    def _value(self, alias: str, key: str, value: object) -> Any:
        allowed = _ALLOWED[key]
        if not allowed.holds(value):
            # The value is not repeated: someone may have put a key where its name belongs.
            self.fail(("models", alias, key), f"{key} must be {allowed.text}")
        return float(value) if allowed is _PRICE and isinstance(value, int) else value

    def defaults(self, table: Mapping[str, object], aliases: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in table.items():
            path = ("defaults", key)
            if key not in _DEFAULT_KEYS:
                self.fail(path, f"has the unknown key '{key}'; allowed: {', '.join(_DEFAULT_KEYS)}")
            found[key] = (
                self._listed(key, value, aliases) if key in _LIST_SIZES else self._alias(key, value, aliases)
            )
        return found

    def _alias(self, key: str, value: object, aliases: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in aliases:
            self.fail(("defaults", key), f"{key} must name one model; there are: {', '.join(aliases)}")
        return value

    def _listed(self, key: str, value: object, aliases: tuple[str, ...]) -> tuple[str, ...]:
        least, most = _LIST_SIZES[key]
        if not isinstance(value, list) or not least <= len(value) <= most:
            self.fail(("defaults", key), f"{key} must be a list of {least} to {most} aliases")
        names = tuple(self._alias(key, item, aliases) for item in value)
        if len(set(names)) < len(names):
            self.fail(("defaults", key), f"{key} names a model twice; each may stand there once")
        return names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allowed:
    """What a key may hold, as a test and as a text for whoever wrote something else."""

    text: str
    holds: Callable[[object], bool]


def _whole(least: int, most: int) -> _Allowed:
    return _Allowed(
        text=f"a whole number from {least} to {most}",
        holds=lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most,
    )


def _is_address(value: object) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username


_PRICE: Final = _Allowed(
    text="a number from 0 to 10000 (USD per million tokens)",
    holds=lambda v: isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= 10_000,
)
_FLAG: Final = _Allowed(text="true or false", holds=lambda v: isinstance(v, bool))
_ALLOWED: Final = {
    "id": _Allowed(
        text='a text without spaces, such as "anthropic/claude-haiku-4-5-20251001"',
        holds=lambda v: (
            isinstance(v, str)
            and bool(v)
            and not any(c.isspace() for c in v)
            and not v.startswith("demo/")
            and v != LOCAL_MODEL.id
        ),
    ),
    "api_base": _Allowed(
        text='an http or https address without a user name, such as "http://127.0.0.1:8000/v1"',
        holds=_is_address,
    ),
    "api_key_env": _Allowed(
        text='the NAME of the environment variable with the key, such as "OPENAI_API_KEY", not the key',
        holds=lambda v: isinstance(v, str) and _ENV_NAME.fullmatch(v) is not None,
    ),
    "context_tokens": _whole(512, 100_000_000),
    "max_output_tokens": _whole(1, 100_000_000),
    "input_price": _PRICE,
    "output_price": _PRICE,
    "vision": _FLAG,
    "streaming": _FLAG,
    "reasoning": _FLAG,
    "concurrency": _whole(1, 256),
    "trains_on_data": _Allowed(
        text='"yes", "no" or "unknown"', holds=lambda v: isinstance(v, str) and v in _TRAINING
    ),
}
