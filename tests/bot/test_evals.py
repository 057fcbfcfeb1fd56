"""`promptflow evals` from its arguments to its exit code, on a real database, with the demo models."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from bot import wiring
from bot.__main__ import WORK
from bot.cli import command_line
from bot.settings import Settings, load_settings
from core.commands.eval_operator import EvalAsk, begin_for_operator, operator_of, request_of
from core.llm.catalogue import Catalogue
from core.llm.demo import DemoSettings
from core.llm.gateway import Gateway, GatewaySettings
from core.llm.link import WorkerLink
from core.llm.metrics import ModelMetrics
from core.ports import ModelCall
from tests.commands.evaluating import Deaf

PROMPT = "debate.last_rebuttal"
CASES = 3
HERE = ("--workspace", "local")
ENV = {"PROMPTFLOW_DATA_DIR": "data"}


class CountedGateway(Gateway):
    """The product's gateway; notes which calls reach a model."""

    made: list[str]

    def stream(self, call: ModelCall) -> Any:
        self.made.append(call.request_id)
        return super().stream(call)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the calls that were made; the demo models answer without pausing between words."""
    calls: list[str] = []

    def quick(settings: Settings, catalogue: Catalogue, registry: CollectorRegistry) -> Gateway:
        gateway = CountedGateway(
            catalogue=catalogue,
            env=settings.env,
            metrics=ModelMetrics(registry),
            link=WorkerLink(env=settings.env),
            settings=GatewaySettings(demo=DemoSettings(word_s=0.0)),
        )
        gateway.made = calls
        return gateway

    monkeypatch.setattr(wiring, "gateway_of", quick)
    return calls


def run(folder: Path, *arguments: str, env: Mapping[str, str] = ENV) -> int:
    return command_line(["evals", *arguments], env, folder, WORK)


def table(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "data" / "promptflow.db")) as connection:
        return connection.execute(sql).fetchall()


def begun(folder: Path) -> str:
    """An evaluation of the operator whose process died before it made a call; its id."""

    async def begin() -> str:
        settings = await asyncio.to_thread(load_settings, ENV, folder)
        async with wiring.open_evaluating(settings) as services:
            operator = await operator_of(services, "local", "en")
            request = await request_of(services, operator, EvalAsk(prompt=PROMPT, repeats=1))
            deaf = replace(services, engine=Deaf())  # type: ignore[arg-type]
            return await begin_for_operator(deaf, operator, request)

    return asyncio.run(begin())


def test_a_run_tells_its_id_first_then_its_comparison_and_is_listed_and_shown_afterwards(
    made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    assert run(tmp_path, "run", *HERE, "--prompt", PROMPT, "--repeats", "1", "--html", str(report)) == 0
    said = capsys.readouterr()
    ((run_id, status),) = table(tmp_path, "SELECT id, status FROM eval_run")
    assert status == "done"
    assert said.err.startswith(f"Evaluation {run_id}: {CASES} cases of debate-v1, {2 * CASES} calls")
    assert "does not train on what is sent" in said.err
    assert "| unchanged | 3 |" in said.out
    assert PROMPT in report.read_text()
    assert len(set(made)) == len(made) == len(table(tmp_path, "SELECT 1 FROM eval_result")) == 2 * CASES

    assert run(tmp_path, "list", *HERE) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(run_id)
    assert "demo-sage" in listed
    assert run(tmp_path, "list", *HERE, "--prompt", "chat.answer") == 0
    assert capsys.readouterr().out == "There is no evaluation yet.\n"
    assert run(tmp_path, "show", *HERE, run_id) == 0
    assert capsys.readouterr().out == said.out
    # Resuming what has come to its end shows it and pays for nothing.
    assert run(tmp_path, "resume", *HERE, run_id) == 0
    assert capsys.readouterr().out == said.out
    assert len(made) == 2 * CASES


@pytest.mark.soak
def test_one_whose_command_was_ended_is_carried_on_by_resume(
    made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = begun(tmp_path)
    with closing(sqlite3.connect(tmp_path / "data" / "promptflow.db")) as connection, connection:
        # As a kill in the middle leaves it.
        connection.execute("UPDATE eval_run SET status = 'running'")
    assert made == []
    assert run(tmp_path, "list", *HERE) == 0
    assert "running" in capsys.readouterr().out
    assert run(tmp_path, "show", *HERE, run_id) == 1
    assert f"0 of {CASES} cases are done" in capsys.readouterr().out.replace("\\", "")
    assert run(tmp_path, "resume", *HERE, run_id) == 0
    assert len(set(made)) == len(made) == 2 * CASES
    assert table(tmp_path, "SELECT status, held_usd FROM eval_run") == [("done", 0.0)]


@pytest.mark.soak
def test_two_models_are_compared(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ("--model", "demo-sage", "--candidate-model", "demo-critic")
    assert run(tmp_path, "run", *HERE, "--prompt", PROMPT, "--repeats", "1", *models) in (0, 1)
    answered = table(tmp_path, "SELECT DISTINCT side, model FROM eval_result ORDER BY side")
    assert answered == [("baseline", "demo-sage"), ("candidate", "demo-critic")]
    assert "demo-critic" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--workspace", "T9", "--prompt", PROMPT), "T9"),
        (("run", *HERE, "--prompt", "no.such"), "There is no prompt “no.such” here."),
        (("run", *HERE, "--prompt", "chat.answer"), "names no eval set"),
        (("run", *HERE, "--prompt", PROMPT, "--model", "nobody"), "nobody"),
        (("run", *HERE, "--prompt", PROMPT, "--repeats", "0"), "1 to 10 times"),
        (("run", *HERE, "--prompt", PROMPT, "--candidate", "9.9.9"), "no such version"),
        (("show", *HERE, "no-such-run"), "There is no such evaluation here."),
        (("resume", *HERE, "no-such-run"), "There is no such evaluation here."),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence_and_nothing_is_stored_or_sent(
    made: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    assert run(tmp_path, *arguments) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert table(tmp_path, "SELECT 1 FROM eval_run") == []
    assert made == []


def test_what_is_said_follows_the_language_of_the_terminal(
    made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "show", *HERE, "no-such-run", env={**ENV, "LANG": "ja_JP.UTF-8"}) == 1
    assert capsys.readouterr().err == "その評価はここにはありません。\n"


def test_an_evaluation_that_somebody_began_in_the_product_is_not_resumed_by_command(
    made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = begun(tmp_path)
    with closing(sqlite3.connect(tmp_path / "data" / "promptflow.db")) as connection, connection:
        connection.execute("UPDATE eval_run SET started_by = (SELECT id FROM person LIMIT 1)")
    assert run(tmp_path, "resume", *HERE, run_id) == 1
    assert "There is no such evaluation here." in capsys.readouterr().err
    assert made == []
