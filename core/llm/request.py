"""A model call as the worker and the provider take it."""

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from core.domain.receipt import InputImage, InputPart
from core.llm.catalogue import Model
from core.llm.link import WorkerCall
from core.ports import ModelCall

# Providers whose own interface is spoken even at another address, such as a proxy or a regional one. Any other
# address is taken for an OpenAI-compatible server.
_OWN_INTERFACE: Final = frozenset(
    {
        "anthropic",
        "azure",
        "azure_ai",
        "bedrock",
        "cohere",
        "deepseek",
        "gemini",
        "groq",
        "hosted_vllm",
        "mistral",
        "ollama_chat",
        "openrouter",
        "vertex_ai",
        "xai",
    }
)
_NO_KEY: Final = "none"
"""Sent to a server of one's own that wants no key, because the OpenAI interface cannot do without one."""

# Providers that enforce a schema refuse these; our own check of the answer applies them.
_NOT_ENFORCED: Final = frozenset({"maxItems", "maxLength", "minItems", "minLength", "pattern", "uniqueItems"})


def worker_call(model: Model, call: ModelCall, *, key: str, timeout_s: float) -> WorkerCall:
    """Exactly the parts of the AI input, in order, with the address and key of `model`."""
    return WorkerCall(
        model=provider_model(model),
        api_base=model.api_base,
        api_key=key or (_NO_KEY if model.api_base else ""),
        messages=tuple(_message(part, call.images) for part in call.ai_input.parts),
        params=call.ai_input.params,
        stream=model.streaming,
        timeout_s=timeout_s,
        price=model.input_price is None and not model.api_base,
        response_format=_response_format(call.ai_input.output_schema),
    )


def _response_format(schema: Mapping[str, Any] | None) -> Mapping[str, object] | None:
    """The schema as providers take it that can enforce one; others get it by the system prompt alone."""
    if schema is None:
        return None
    enforced = {"name": "answer", "strict": True, "schema": _enforceable(schema)}
    return {"type": "json_schema", "json_schema": enforced}


def _enforceable(schema: Any) -> Any:
    """Without limits that providers do not enforce. Names of properties are no keywords and stay."""
    if isinstance(schema, list):
        return [_enforceable(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _NOT_ENFORCED}
    return {
        key: {name: _enforceable(item) for name, item in value.items()}
        if key == "properties"
        else _enforceable(value)
        for key, value in kept.items()
    }


def provider_model(model: Model) -> str:
    """The id with the provider interface that is to be spoken in front of it."""
    provider, _, name = model.id.partition("/")
    if not model.api_base or provider in _OWN_INTERFACE:
        return model.id
    if provider != "openai" or not name:
        return f"hosted_vllm/{model.id}"
    official = urlsplit(model.api_base).hostname == "api.openai.com"
    return model.id if official else f"hosted_vllm/{name}"


def _message(part: InputPart, images: Mapping[str, bytes]) -> dict[str, object]:
    if not part.images:
        return {"role": part.role.value, "content": part.text}
    pictures = [_picture(image, images[image.sha256]) for image in part.images]
    return {"role": part.role.value, "content": [{"type": "text", "text": part.text}, *pictures]}


def _picture(image: InputImage, data: bytes) -> dict[str, object]:
    address = f"data:{image.media_type};base64,{base64.b64encode(data).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": address}}
