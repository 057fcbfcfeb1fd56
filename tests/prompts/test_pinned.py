from datetime import date

import pytest

from core.domain.errors import ConfigurationErrors
from core.prompts.pinned import PinnedModel, load_pinned, parse_pinned, pinned

ENTRY = """\
- provider: acme
  id: model-1
  statement: https://acme.example/models
  checked_on: "2026-12-01"
"""
LISTED = PinnedModel(
    provider="acme", id="model-1", statement="https://acme.example/models", checked_on=date(2026, 12, 1)
)

PINNED = [
    "openai/gpt-4o-2024-08-06",
    "openai/gpt-5.4-mini-2026-03-17",
    "openai/gpt-4-0613",
    "openai/gpt-4-1106-preview",
    "azure/gpt-4o-2024-08-06",
    "anthropic/claude-sonnet-4-20250514",
    "anthropic/claude-haiku-4-5-20251001",
    "vertex_ai/claude-haiku-4-5@20251001",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gemini/gemini-2.5-pro-preview-06-05",
    "gemini/gemini-2.5-flash-preview-09-2025",
    "mistral/mistral-large-2411",
    "mistral/mistral-medium-2604",
    "xai/grok-4-0709",
    "xai/grok-2-1212",
    "openrouter/openai/gpt-4o-2024-08-06",
    "dashscope/qwen-max-2025-01-25",
    "acme/model-1",
]
FLOATING = [
    "openai/gpt-4o",
    "openai/chatgpt-4o-latest",
    "openai/gpt-4.1",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-3-5-sonnet-latest",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-flash-latest",
    "gemini/gemini-2.0-flash-001",
    "gemini/gemini-2.5-pro-preview",
    "gemini/gemini-2.0-pro-exp-02-05",
    "gemini/gemini-exp-2024-12-06",
    "mistral/mistral-large-latest",
    "xai/grok-4.5",
    "xai/grok-4-latest",
    "deepseek/deepseek-v4-pro",
    "bedrock/amazon.nova-pro-v1:0",
    "bedrock/arn:aws:bedrock:us-east-1:202501011234:application-inference-profile/a1b2c3d4",
    "ollama/llama3.2",
    "ollama/llama3.2:latest",
    "ollama/qwen3:8b",
    "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "openai/model-2024-13-06",
    "openai/model-20250230",
    "openai/model-4096",
    "openai/model-2048",
    "other/model-1",
    "model-1",
    "",
]


@pytest.mark.parametrize("model_id", PINNED)
def test_an_id_with_a_date_or_on_the_list_is_pinned(model_id: str) -> None:
    assert pinned(model_id, [LISTED])


@pytest.mark.parametrize("model_id", FLOATING)
def test_any_other_id_floats(model_id: str) -> None:
    assert not pinned(model_id, [LISTED])


def test_the_list_of_the_product_pins_what_it_names_and_holds_no_dated_id() -> None:
    listed = load_pinned()
    assert listed
    for one in listed:
        assert pinned(one.model_id, listed)
        assert not pinned(one.model_id, [])


def test_an_entry_is_read() -> None:
    assert parse_pinned("pinned.yaml", ENTRY) == (LISTED,)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["pinned.yaml: is empty"]),
        ("a: b", ["pinned.yaml:1: must be a list of models"]),
        ("- a", ["pinned.yaml:1: an entry has exactly provider, id, statement, checked_on, each a text"]),
        (
            ENTRY.replace("  id: model-1\n", ""),
            ["pinned.yaml:1: an entry has exactly provider, id, statement, checked_on, each a text"],
        ),
        (
            ENTRY + "  note: x\n",
            ["pinned.yaml:1: an entry has exactly provider, id, statement, checked_on, each a text"],
        ),
        (
            ENTRY.replace("model-1", "[x]"),
            ["pinned.yaml:1: an entry has exactly provider, id, statement, checked_on, each a text"],
        ),
        (
            ENTRY.replace("https://acme.example/models", "a friend"),
            ["pinned.yaml:1: statement must be the https address of the provider's page"],
        ),
        (
            ENTRY.replace("2026-12-01", "2026-13-01") + ENTRY.replace("2026-12-01", "20261201"),
            [
                "pinned.yaml:1: checked_on must be a date, such as 2026-01-31",
                "pinned.yaml:5: checked_on must be a date, such as 2026-01-31",
            ],
        ),
        (ENTRY + ENTRY, ["pinned.yaml:5: acme/model-1 is listed twice"]),
    ],
)
def test_a_list_that_is_not_exactly_right_is_refused_with_every_problem(
    text: str, problems: list[str]
) -> None:
    with pytest.raises(ConfigurationErrors) as error:
        parse_pinned("pinned.yaml", text)
    assert [str(one) for one in error.value.problems] == problems
