from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.configuration import KeyPath, read_configuration, read_policies
from core.domain.errors import ConfigurationError
from core.domain.policy import Listen, Policy

FULL = """\
# what this workspace allows
[policy]
listen = "mentions"
approvers = [
    "U1",   # the lead
    "U2",
]
four_eyes = true
branch = true
handover_routes = ["chat>debate", "workflow>chat"]
allowed_models = ["fast"]
retention_days = 90
budget_person_usd_month = 20
budget_workspace_usd_month = 200.5

[policy."T0001"]
branch = false
listen = "all"

[models.fast]
id = \"\"\"
[policy]
branch = 3\"\"\"
limits = { context_tokens = 8000 }
deep.key = 1
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "promptflow.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("policy",), 2),
        (("policy", "listen"), 3),
        (("policy", "approvers"), 4),
        (("policy", "four_eyes"), 8),
        (("policy", "T0001"), 16),
        (("policy", "T0001", "branch"), 17),
        (("models",), 20),
        (("models", "fast", "id"), 21),
        (("models", "fast", "limits", "context_tokens"), 24),
        (("models", "fast", "deep", "key"), 25),
        (("models", "fast", "missing"), 20),
        (("nowhere",), 0),
    ],
)
def test_the_line_of_a_key_is_found_through_comments_lists_and_long_texts(
    tmp_path: Path, path: KeyPath, line: int
) -> None:
    assert read_configuration(write(tmp_path, FULL), required=True).line_of(path) == line


@given(keys=st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1, max_size=6))
def test_the_line_of_any_quoted_key_is_its_own(
    tmp_path_factory: pytest.TempPathFactory, keys: list[str]
) -> None:
    def quoted(key: str) -> str:
        return '"' + "".join(f"\\U{ord(c):08x}" for c in key) + '"'

    keys = [key for key in keys if not any(0xD800 <= ord(c) <= 0xDFFF for c in key)]
    text = "[models]\n" + "".join(f"\n{quoted(key)} = 1\n" for key in keys)
    configuration = read_configuration(write(tmp_path_factory.mktemp("c"), text), required=True)
    assert [configuration.line_of(("models", key)) for key in keys] == [3 + 2 * i for i in range(len(keys))]


def test_a_policy_is_read_whole_and_an_override_changes_only_what_it_names(tmp_path: Path) -> None:
    default, overrides = read_policies(read_configuration(write(tmp_path, FULL), required=True))
    assert default == Policy(
        listen=Listen.MENTIONS,
        approvers=("U1", "U2"),
        four_eyes=True,
        branch=True,
        handover_routes=("chat>debate", "workflow>chat"),
        allowed_models=("fast",),
        retention_days=90,
        budget_person_usd_month=20.0,
        budget_workspace_usd_month=200.5,
    )
    override = overrides["T0001"]
    assert (override.listen, override.branch) == (Listen.ALL, False)
    assert (override.retention_days, override.approvers) == (90, ("U1", "U2"))


def test_without_a_file_the_policy_is_the_default(tmp_path: Path) -> None:
    configuration = read_configuration(tmp_path / "promptflow.toml", required=False)
    assert read_policies(configuration) == (Policy(), {})


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("listen", '"some"', '"all" or "mentions"'),
        ("listen", "[]", '"all" or "mentions"'),
        ("listen", "{ a = 1 }", '"all" or "mentions"'),
        ("approvers", '"U1"', "a list of platform ids"),
        ("approvers", "[1]", "a list of platform ids"),
        ("approvers", '[" "]', "a list of platform ids"),
        ("four_eyes", "1", "true or false"),
        ("branch", '"yes"', "true or false"),
        ("prompt_editors", '"U1"', "a list of platform ids"),
        ("prompt_verifiers", "[1]", "a list of platform ids"),
        ("prompt_promoters", "true", "a list of platform ids"),
        ("prompt_four_eyes", "1", "true or false"),
        ("prompt_channel", '" "', "platform id of a channel"),
        ("handover_routes", '["chat>review"]', "chat, compare, debate, codraft, workflow"),
        ("handover_routes", '["chat"]', "chat>debate"),
        ("handover_routes", '"chat>debate"', "a list of routes"),
        ("allowed_models", "[]", "at least one model alias"),
        ("retention_days", "0", "from 1 to 36500"),
        ("retention_days", "36501", "from 1 to 36500"),
        ("retention_days", "1.5", "from 1 to 36500"),
        ("retention_days", "true", "from 1 to 36500"),
        ("budget_person_usd_month", "-0.01", "0 or more"),
        ("budget_person_usd_month", "nan", "0 or more"),
        ("budget_workspace_usd_month", "inf", "0 or more"),
        ("budget_workspace_usd_month", "false", "0 or more"),
        ("budget_workspace_usd_month", '"20"', "0 or more"),
        ("retention", "3", "retention_days"),
    ],
)
@pytest.mark.parametrize("header", ["policy", 'policy."T0001"'])
def test_a_wrong_policy_key_is_refused_with_its_line_and_what_is_allowed(
    tmp_path: Path, header: str, key: str, value: str, allowed: str
) -> None:
    file = write(
        tmp_path,
        f"\n[{header}]\nfour_eyes = false\n{key} = {value}\n".replace(
            "four_eyes = false\nfour_eyes", "\nfour_eyes"
        ),
    )
    configuration = read_configuration(file, required=True)
    with pytest.raises(ConfigurationError) as caught:
        read_policies(configuration)
    assert caught.value.file == str(file)
    assert caught.value.line == 4
    assert f"'{key}' in [{header}]" in caught.value.reason
    assert allowed in caught.value.reason


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("[policy]\nbranch = yes\n", 2, "not valid TOML"),
        ('[policy]\n\nlisten = "all', 3, "not valid TOML"),
        ("[policy]\n[policy]\n", 2, "not valid TOML"),
        ("[policy]\nbranch = true\nbranch = true\n", 3, "not valid TOML"),
        ("[policy]\n\n[polcy]\n", 3, "allowed: models, defaults, policy"),
        ("branch = true\n", 1, "unknown table or key 'branch'"),
        ("policy = 3\n", 1, "must be a table: write [policy]"),
    ],
)
def test_an_unusable_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        read_policies(read_configuration(file, required=True))
    assert (caught.value.file, caught.value.line) == (str(file), line)
    assert reason in caught.value.reason


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "promptflow.toml"
    file.write_bytes("[policy]\n# 承認\n".encode("cp932"))
    with pytest.raises(ConfigurationError, match="not UTF-8") as caught:
        read_configuration(file, required=True)
    assert caught.value.line == 2


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "promptflow.toml"
    file.write_bytes(b"\xef\xbb\xbf[policy]\r\nbranch = false\r\n")
    configuration = read_configuration(file, required=True)
    assert read_policies(configuration)[0].branch is False
    assert configuration.line_of(("policy", "branch")) == 2


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_configuration(tmp_path, required=False)
