"""Rules of the architecture that no linter knows. What import-linter can check stands in pyproject.toml."""

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.tree import ROOT, project_files, python_files, text_files, tree_of

MAX_FUNCTION_LINES = 60

MAY_CATCH_EVERYTHING = {
    "bot/console/app.py": "a request ends; it is answered and recorded",
    "bot/discord/client.py": "an event ends; it is recorded and concerns no other",
    "bot/discord/connection.py": "a connection ends, whatever the library raised; the next one is begun",
    "bot/discord/intake.py": "a message ends; whoever mentioned us is told, and it is recorded",
    "bot/discord/private.py": "an interaction ends; it is answered and recorded",
    "bot/slack/app.py": "a request ends; the person is told and it is recorded",
    "core/engine/execution.py": "a run ends: people are told, then it is raised on",
    "core/engine/engine.py": "a run ends and is counted; a turn of a loop ends and the loop goes on",
    "core/engine/sweeps.py": "a sweep ends; it comes round again",
    "core/llm/link.py": "a worker process ends; the next one is started",
    "core/llm/worker.py": "a job ends; the parent learns its kind. And litellm's price table raises what it likes",
}
"""Files whose job or request ends there: what went wrong is recorded or answered, never lost."""

VENDOR_WORDS = re.compile(r"slack|discord|guild|thread_ts", re.IGNORECASE)
VENDOR_KEYS = re.compile(r"slack|discord|guild|thread_ts|^blocks$|^embeds$", re.IGNORECASE)
"""As the key of a dict or a keyword argument these are a platform's payload; as a variable they are plain words."""

WRITES_MESSAGES = ("core/ai_input/", "core/llm/")
"""Only what builds or sends an AI input may write messages with roles."""

MAY_HOLD_SENTENCES = {
    "core/domain/prior_context.py": "a reason for whoever wrote the caller",
    "core/engine/host.py": "messages of the library that are kept out of the log",
    "core/llm/catalogue.py": "reasons why a configuration file cannot be used",
    "core/llm/classify.py": "how providers word a failure",
    "core/llm/doctor.py": "asks whether a model answers at all; nobody reads the answer",
    "core/modes/workflow_file.py": "reasons why a workflow's file cannot be used",
}
"""Files whose sentences no model is sent, apart from the doctor's one."""

SENTENCE = re.compile(r"(?:[A-Za-z'’,;:]+ ){3,}[A-Za-z'’]+|[ぁ-んァ-ヶ一-龠、。]{12,}")
FOR_OPERATORS = {
    "debug",
    "info",
    "warning",
    "error",
    "critical",
    "exception",
    "Counter",
    "Gauge",
    "Histogram",
}


def at(file: Path, node: ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword) -> str:
    return f"{file.as_posix()}:{node.lineno}"


def test_only_the_edge_of_a_job_or_request_catches_everything() -> None:
    found = {
        file.as_posix()
        for file in python_files("bot", "core")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node)
    }
    assert found == set(MAY_CATCH_EVERYTHING)


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        c is None or (isinstance(c, ast.Name) and c.id in {"Exception", "BaseException"}) for c in caught
    )


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{at(file, node)} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for file in python_files("bot", "core")
        if not file.is_relative_to("core/store/migrations/versions")
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


def test_the_core_speaks_no_platform_s_language() -> None:
    found = [
        f"{place}: {word}"
        for file in python_files("core")
        for place, word, words in _vocabulary(file)
        if words.search(word)
    ]
    assert found == []


def _vocabulary(file: Path) -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Every name and key of a module with the words it must not hold; prose is left out."""
    for node in ast.walk(tree_of(file)):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield at(file, node), word, VENDOR_WORDS
            case ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word) | ast.ClassDef(name=word):
                yield at(file, node), word, VENDOR_WORDS
            case ast.keyword(arg=str(word)) | ast.Subscript(slice=ast.Constant(value=str(word))):
                yield at(file, node), word, VENDOR_KEYS
            case ast.Dict():
                yield from ((at(file, node), key, VENDOR_KEYS) for key in _keys(node))


def _keys(node: ast.Dict) -> set[str]:
    return {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def test_messages_with_roles_are_written_only_where_ai_input_is_made_or_sent() -> None:
    found = [
        at(file, node)
        for file in python_files("bot", "core")
        if not file.as_posix().startswith(WRITES_MESSAGES)
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Dict) and {"role", "content"} <= _keys(node)
    ]
    assert found == []


def test_no_prompt_lives_in_code() -> None:
    """What a model is told stands in core/prompts/library, where it has a version."""
    places = [
        (file.as_posix(), at(file, node))
        for file in python_files("core")
        if not file.as_posix().startswith(("core/store/", "core/prompts/", "core/llm/demo"))
        for node in _sentences(tree_of(file))
    ]
    assert [place for file, place in places if file not in MAY_HOLD_SENTENCES] == []
    assert {file for file, _ in places} == set(MAY_HOLD_SENTENCES)


def test_a_prompt_in_code_would_be_found() -> None:
    code = (
        '"""A docstring of many words is no prompt."""\n'
        'raise ValueError("this is said to whoever runs it")\n'
        'log.warning("this is said to whoever runs it")\n'
        'say("Answer in plain words, please.")\n'
        'say(f"Answer in the voice of {name}")\n'
        'say("次の会話を要約してください。")\n'
    )
    assert sorted(node.lineno for node in _sentences(ast.parse(code))) == [4, 5, 6]


def _sentences(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that read like sentences, other than docstrings and what is raised, logged or measured."""
    nodes = list(ast.walk(tree))
    others = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _called(node) in FOR_OPERATORS):
            others |= {id(inner) for inner in ast.walk(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in others and SENTENCE.search(str(node.value)):
            yield node


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_nothing_is_left_for_later() -> None:
    mark = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert [f"{file}: {hit[0]}" for file, text in text_files() for hit in mark.finditer(text)] == []


def test_no_file_names_a_machine_s_folder_or_a_package_index() -> None:
    marks = re.compile(
        "|".join(
            [
                "/wo" + "rk/",
                "/ro" + "ot/",
                "--(extra-)?index" + "-url",
                "--find" + "-links",
                r"pypi\.o" + "rg",
            ]
        )
    )
    assert [f"{file}: {hit[0]}" for file, text in text_files() for hit in marks.finditer(text)] == []


def test_lock_files_hold_a_hash_for_every_package_and_no_address() -> None:
    for name in ("requirements.lock", "tests/requirements.lock"):
        entries = re.split(r"\n(?=[a-z0-9])", (ROOT / name).read_text())
        assert len(entries) > 50
        assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
        assert "://" not in "".join(entries)


def test_both_lock_files_pin_the_same_versions_and_hold_what_the_project_asks_for() -> None:
    pin = re.compile(r"^([a-z0-9.\-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)
    product = dict(pin.findall((ROOT / "requirements.lock").read_text()))
    tests = dict(pin.findall((ROOT / "tests/requirements.lock").read_text()))
    assert product.items() <= tests.items()
    asked = re.findall(
        r'^    "([A-Za-z0-9.\-]+)(?:\[[a-z]+\])?==([^"]+)",', (ROOT / "pyproject.toml").read_text(), re.M
    )
    assert len(asked) > 20
    assert {(name.lower().replace(".", "-"), version) for name, version in asked} <= set(tests.items())
    assert product["litellm"] not in {"1.82.7", "1.82.8"}


def test_the_lock_of_the_local_model_pins_its_group_alone_with_hashes() -> None:
    lock = (ROOT / "core/llm/local.lock").read_text()
    group = re.search(r"^local = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert group is not None
    entries = re.split(r"\n(?=[a-z0-9])", lock)
    assert [entry.split()[0] for entry in entries] == sorted(re.findall(r'"([^"]+)"', group[1]))
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in lock
    made = (ROOT / "Makefile").read_text()
    assert "--require-hashes --no-deps --only-binary :all: -r core/llm/local.lock" in made


def test_the_installed_product_holds_every_file_of_its_packages(tmp_path: Path) -> None:
    """Built from the files that a clone has, as an installer builds it."""
    for file in project_files():
        if file.parts[0] in {"bot", "core", "pyproject.toml"}:
            target = tmp_path / "source" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target)
    (tmp_path / "source" / "README.md").write_text("# promptflow\n")
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=tmp_path / "source", check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("promptflow-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith(("bot/", "core/"))}
        scripts = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "promptflow = " in archive.read(scripts).decode()
    assert packed == {file.as_posix() for file in project_files() if file.parts[0] in {"bot", "core"}}
