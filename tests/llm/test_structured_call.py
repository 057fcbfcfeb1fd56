"""How a schema for the answer reaches a provider."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from core.ai_input.cross_review import verdict_schema
from core.llm.answer import Answer, Deadlines
from core.llm.link import WorkerCall, WorkerLink
from core.llm.request import worker_call
from core.prompts.registry import load_library
from tests.llm.calls import KEY, make_call, make_input, make_model
from tests.llm.fake_provider import TEXT, FakeProvider

SCHEMA = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 1, "pattern": "^x"},
        "items": {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 3}},
    },
    "required": ["pattern", "items"],
    "additionalProperties": False,
}


def made(schema: dict[str, Any] | None) -> WorkerCall:
    ai_input = replace(make_input(), output_schema=schema)
    call = make_call("m", ai_input=ai_input)
    return worker_call(make_model("m", "http://127.0.0.1:9/v1"), call, key=KEY, timeout_s=5.0)


def test_free_text_asks_for_no_format() -> None:
    assert made(None).response_format is None
    assert json.loads(made(None).line(1))["response_format"] is None


def test_a_schema_goes_without_what_providers_do_not_enforce_and_with_all_its_properties() -> None:
    assert json.loads(made(SCHEMA).line(1))["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "items": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["pattern", "items"],
                "additionalProperties": False,
            },
        },
    }


def test_every_schema_of_the_library_can_be_enforced_strictly() -> None:
    """Strict providers want every property required and no others, at every level."""
    library = load_library()
    schemas = [json.loads(v.parts.schema_json) for v in library.versions.values() if v.parts.schema_json]
    schemas = [s for s in schemas if "ranking" not in s["properties"]] + [verdict_schema(library, ("A", "B"))]
    assert len(schemas) == 10
    for schema in schemas:
        for node in objects(schema):
            assert node["additionalProperties"] is False
            assert set(node["required"]) == set(node["properties"])


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for item in schema.values() for found in objects(item)]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("openai/fine", "json_schema"),
        ("hosted_vllm/fine", "json_schema"),
        ("anthropic/fine", "schema"),
        ("gemini/fine", "application/json"),
    ],
)
async def test_the_answer_to_a_structured_call_arrives_through_each_interface(
    link: WorkerLink, provider: FakeProvider, model: str, sent: str
) -> None:
    address = provider.base_url.removesuffix("/v1") if model.startswith("anthropic") else provider.base_url
    call = replace(made(SCHEMA), model=model, api_base=address, timeout_s=20.0, price=False)
    exchange = await link.call(call)
    now = asyncio.get_running_loop().time()
    answer = Answer(
        exchange, Deadlines(first_s=15.0, idle_s=1.0, total_s=20.0), sent_at=now, end_at=now + 20.0
    )
    try:
        async for _ in answer.deltas():
            pass
    finally:
        exchange.close()
    assert answer.text == TEXT
    body = provider.requests[-1]
    assert sent in json.dumps(body)
