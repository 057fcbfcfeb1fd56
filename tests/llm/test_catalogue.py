import tomllib
from collections.abc import Mapping

import pytest

from core.domain.errors import ConfigurationError
from core.llm.catalogue import Catalogue, load_catalogue

FILE = "promptflow.toml"
DEMO = ["demo-sage", "demo-critic", "demo-builder", "demo-auditor", "demo-editor"]


def load(text: str, env: Mapping[str, str] | None = None, *, local: bool = False) -> Catalogue:
    """The catalogue of a configuration text; a path's line is found by looking for its last name."""

    def line_of(path: tuple[str, ...]) -> int:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.startswith((f"{path[-1]} ", f"[{'.'.join(path)}]")):
                return number
        return 0

    tables = tomllib.loads(text)
    return load_catalogue(
        tables.get("models", {}),
        tables.get("defaults", {}),
        file=FILE,
        line_of=line_of,
        env=env or {},
        local=local,
    )


LOCAL = """
[models.local]
id = "llama-3.3"
api_base = "http://127.0.0.1:8000/v1"
context_tokens = 8192
max_output_tokens = 1024
input_price = 0
output_price = 0.5
vision = true
streaming = false
concurrency = 4
trains_on_data = "no"
"""


def test_without_a_key_and_without_configuration_only_the_demo_models_exist() -> None:
    catalogue = load("")
    assert list(catalogue.models) == DEMO
    assert catalogue.real == ()
    assert catalogue.defaults.chat == "demo-sage"
    assert list(catalogue.defaults.compare) == list(catalogue.defaults.debate) == DEMO[:3]
    assert list(catalogue.defaults.reviewers) == DEMO
    assert all(model.demo and model.trains_on_data == "no" for model in catalogue.models.values())


def test_a_key_in_the_environment_brings_ready_made_models_with_dated_ids() -> None:
    catalogue = load("", {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": ""})
    assert [model.id for model in catalogue.real] == [
        "anthropic/claude-opus-4-7-20260416",
        "anthropic/claude-haiku-4-5-20251001",
    ]
    assert catalogue.models["claude-haiku"].input_price == 1.0


def test_demo_models_stay_selectable_beside_real_ones_but_are_no_default() -> None:
    catalogue = load(LOCAL)
    assert "demo-sage" in catalogue.models
    assert catalogue.defaults.chat == catalogue.defaults.moderator == catalogue.defaults.drafting == "local"
    assert (
        catalogue.defaults.compare == catalogue.defaults.debate == catalogue.defaults.reviewers == ("local",)
    )


def test_a_configured_model_holds_exactly_what_the_file_says() -> None:
    model = load(LOCAL).models["local"]
    assert (model.id, model.api_base, model.context_tokens) == ("llama-3.3", "http://127.0.0.1:8000/v1", 8192)
    assert (model.max_output_tokens, model.input_price, model.output_price) == (1024, 0.0, 0.5)
    assert (model.vision, model.streaming, model.concurrency, model.demo) == (True, False, 4, False)
    assert isinstance(model.input_price, float)


def test_a_configured_model_takes_what_is_known_of_its_id_from_the_ready_made_one() -> None:
    catalogue = load(
        '[models.small]\nid = "mistral/mistral-small-2603"\nconcurrency = 2', {"MISTRAL_API_KEY": "k"}
    )
    model = catalogue.models["small"]
    assert (model.context_tokens, model.api_key_env, model.concurrency) == (262_144, "MISTRAL_API_KEY", 2)
    assert "mistral-small" not in catalogue.models, "the same model would stand in the list twice"
    assert "mistral-medium" in catalogue.models


def test_the_local_model_is_offered_where_it_is_installed_and_is_nobody_s_default() -> None:
    alone, beside = load("", local=True), load(LOCAL, {"OPENAI_API_KEY": "k"}, local=True)
    assert list(alone.models) == ["local-smollm2", *DEMO]
    assert list(beside.models)[:4] == ["local", "gpt", "gpt-mini", "local-smollm2"]
    assert alone.defaults == load("").defaults
    assert beside.defaults == load(LOCAL, {"OPENAI_API_KEY": "k"}).defaults
    model = alone.models["local-smollm2"]
    assert (model.local, model.demo, model.api_base, model.cost_usd(10, 10)) == (True, False, "", 0.0)
    assert alone.real == (model,)


def test_the_local_model_can_be_chosen_as_a_default_and_its_alias_can_be_taken() -> None:
    chosen = load('[defaults]\nchat = "local-smollm2"', local=True)
    assert chosen.defaults.chat == "local-smollm2"
    taken = load('[models.local-smollm2]\nid = "x/a"', local=True)
    assert (taken.models["local-smollm2"].id, taken.models["local-smollm2"].local) == ("x/a", False)


def test_defaults_prefer_models_whose_key_is_there() -> None:
    text = '[models.a]\nid = "x/a"\napi_key_env = "KEY_A"\n[models.b]\nid = "x/b"\napi_key_env = "KEY_B"\n'
    assert load(text, {"KEY_B": "k"}).defaults.chat == "b"
    assert load(text).defaults.chat == "a"


def test_a_configured_model_takes_its_key_from_the_usual_place_unless_it_has_an_address() -> None:
    text = '[models.a]\nid = "groq/x"\n[models.b]\nid = "groq/y"\napi_base = "http://h/v1"\n[models.c]\nid = "z/z"\n'
    models = load(text).models
    assert [models[alias].api_key_env for alias in "abc"] == ["GROQ_API_KEY", "", ""]


def test_named_defaults_win_over_the_order_of_the_file() -> None:
    defaults = load(LOCAL + '[defaults]\nchat = "demo-critic"\ncompare = ["demo-sage", "local"]').defaults
    assert defaults.chat == "demo-critic"
    assert defaults.compare == ("demo-sage", "local")
    assert defaults.moderator == "local"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[models.a]\nid = 'x/a'\nprize = 1", 3, "unknown key 'prize'; allowed: id, api_base"),
        ("[models.a]\napi_key_env = 'K'", 1, "has no 'id'"),
        ("[models.A]\nid = 'x/a'", 1, "is no alias"),
        ("[models.demo-x]\nid = 'x/a'", 1, "belong to the demo models"),
        ("[models]\na = 'x/a'", 2, "must be a table"),
        ("[models.a]\nid = 'gpt-9'", 2, 'id must name its provider, such as "openai/gpt-9"'),
        ("[models.a]\nid = 7", 2, "id must be a text"),
        ("[models.a]\nid = 'demo/sage'", 2, "id must be a text"),
        ("[models.a]\nid = 'local/smollm2'", 2, "id must be a text"),
        ("[models.a]\nid = 'x/a'\nlocal = true", 3, "unknown key 'local'"),
        ("[models.a]\nid = 'x/a'\napi_base = 'localhost:8000'", 3, "must be an http or https address"),
        ("[models.a]\nid = 'x/a'\napi_base = 'http://u:p@h/v1'", 3, "without a user name"),
        ("[models.a]\nid = 'x/a'\nvision = 'yes'", 3, "vision must be true or false"),
        ("[models.a]\nid = 'x/a'\nconcurrency = true", 3, "a whole number from 1 to 256"),
        ("[models.a]\nid = 'x/a'\ncontext_tokens = 1.5", 3, "a whole number from 512"),
        ("[models.a]\nid = 'x/a'\ninput_price = -1\noutput_price = 1", 3, "a number from 0"),
        ("[models.a]\nid = 'x/a'\ninput_price = 1", 1, "both 'input_price' and 'output_price'"),
        ("[models.a]\nid = 'x/a'\ntrains_on_data = 'maybe'", 3, '"yes", "no" or "unknown"'),
        ("[models.a]\nid = 'x/a'\ncontext_tokens = 1000\nmax_output_tokens = 2000", 1, "2000 and 1000"),
        (
            "[defaults]\nchat = 'gpt'",
            2,
            "must name one model; there are: " + ", ".join(DEMO),
        ),
        ("[defaults]\ncompare = ['demo-sage']", 2, "a list of 2 to 6 aliases"),
        ("[defaults]\ndebate = 'demo-sage'", 2, "a list of 2 to 4 aliases"),
        ("[defaults]\ncompare = ['demo-sage', 'demo-sage']", 2, "names a model twice"),
        ("[defaults]\ncompare = ['demo-sage', 'gpt']", 2, "must name one model"),
        ("[defaults]\ntitle = 'demo-sage'", 2, "unknown key 'title'; allowed: chat, compare, debate"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_reason_and_what_is_allowed(
    text: str, line: int, said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    assert caught.value.file == FILE
    assert caught.value.line == line
    assert said in caught.value.reason


def test_a_key_put_where_its_name_belongs_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load("[models.a]\nid = 'x/a'\napi_key_env = 'sk-secret-123'")
    assert "NAME of the environment variable" in caught.value.reason
    assert "sk-secret" not in str(caught.value)
