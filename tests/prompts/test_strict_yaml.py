import pytest

from core.domain.errors import ConfigurationError
from core.prompts.strict_yaml import MAX_DEPTH, read_yaml


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as error:
        read_yaml("x.yaml", text)
    return str(error.value)


def test_every_scalar_is_a_string() -> None:
    document = "a: 1.10\nb: no\nc: 2026-01-01\nd: ~\ne: [1, true]\nf: {g: 0x10}\nh:\n"
    assert read_yaml("x.yaml", document).plain() == {
        "a": "1.10", "b": "no", "c": "2026-01-01", "d": "~", "e": ["1", "true"], "f": {"g": "0x10"}, "h": "",
    }  # fmt: skip


def test_a_key_knows_its_line() -> None:
    value = read_yaml("x.yaml", "a: 1\nb:\n\n  c: 2\n").value
    assert isinstance(value, dict)
    assert (value["a"].line, value["b"].line) == (1, 2)
    assert value["b"].value["c"].line == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "x.yaml:3: key given twice: a"),
        ("a:\n  b: 1\n  b: 2", "x.yaml:3: key given twice: b"),
        ("a: &x 1\nb: *x", "x.yaml:1: anchors and aliases are not allowed"),
        ("a: 1\nb: !!python/object:os.system 1", "x.yaml:2: tags are not allowed"),
        ("a: 1\n[b]: 2", "x.yaml:2: a key must be plain text"),
        ("", "x.yaml: is empty"),
        ("# nothing\n", "x.yaml: is empty"),
        ("a: 1\n---\nb: 2", "x.yaml:2: cannot be read as YAML: but found another document"),
        ("a: 1\n b: 2", "x.yaml:2: cannot be read as YAML: mapping values are not allowed here"),
        ("a: 'open", "x.yaml:1: cannot be read as YAML: found unexpected end of stream"),
        (
            "a: \x01",
            "x.yaml: cannot be read as YAML: unacceptable character #x0001: special characters are not allowed",
        ),
        ("[" * 100_000, f"x.yaml:1: nested deeper than {MAX_DEPTH}"),
    ],
)
def test_a_surprising_document_is_refused_with_its_line(text: str, message: str) -> None:
    assert refused(text) == message
