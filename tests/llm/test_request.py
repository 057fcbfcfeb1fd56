import pytest

from core.llm.catalogue import Model
from core.llm.request import provider_model, worker_call
from tests.llm.calls import make_call

OWN = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model_id", "api_base", "spoken"),
    [
        ("openai/gpt-5.4-2026-03-05", "", "openai/gpt-5.4-2026-03-05"),
        ("anthropic/claude-x", "", "anthropic/claude-x"),
        ("anthropic/claude-x", "https://proxy.example/anthropic", "anthropic/claude-x"),
        ("llama-3.3", OWN, "hosted_vllm/llama-3.3"),
        ("meta-llama/Llama-3.3-70B", OWN, "hosted_vllm/meta-llama/Llama-3.3-70B"),
        ("openai/llama-3.3", OWN, "hosted_vllm/llama-3.3"),
        ("openai/gpt-x", "https://api.openai.com/v1", "openai/gpt-x"),
        ("openai/gpt-x", "https://api.openai.com.evil.example/v1", "hosted_vllm/gpt-x"),
        ("hosted_vllm/llama", OWN, "hosted_vllm/llama"),
    ],
)
def test_an_address_of_ones_own_is_spoken_to_as_an_openai_compatible_server(
    model_id: str, api_base: str, spoken: str
) -> None:
    assert provider_model(Model(alias="m", id=model_id, api_base=api_base)) == spoken


def test_only_a_server_of_ones_own_is_sent_a_stand_in_for_the_key_it_does_not_want() -> None:
    own = worker_call(Model(alias="m", id="x", api_base=OWN), make_call("m"), key="", timeout_s=1.0)
    cloud = worker_call(Model(alias="m", id="bedrock/x"), make_call("m"), key="", timeout_s=1.0)
    assert (own.api_key, cloud.api_key) == ("none", "")


def test_our_own_price_is_never_looked_up_elsewhere() -> None:
    priced = Model(alias="m", id="x/y", input_price=0.0, output_price=0.0)
    bare = Model(alias="m", id="x/y")
    assert not worker_call(priced, make_call("m"), key="k", timeout_s=1.0).price
    assert worker_call(bare, make_call("m"), key="k", timeout_s=1.0).price


def test_the_key_and_the_messages_are_in_no_printed_form_of_a_call() -> None:
    call = worker_call(Model(alias="m", id="x/y"), make_call("m"), key="sk-secret", timeout_s=1.0)
    assert "sk-secret" not in repr(call)
    assert "launch code" not in repr(call)
