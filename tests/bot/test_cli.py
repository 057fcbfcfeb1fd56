"""Exit codes and what is said where. The work itself is a fake that remembers; the doctor has its own tests."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cli import EvalWork, PromptWork, Work, command_line
from bot.discord.sync import Synced
from bot.doctor import Probes
from bot.settings import Settings
from core.commands.eval_operator import EvalAsk
from core.commands.prompt_files import Checked, Drift, Imported
from core.domain.errors import Refusal, StoreUnavailable
from core.domain.eval_gate import Review
from core.domain.eval_run import EvalEstimate, EvalItem, EvalModel, EvalPage, EvalStatus
from core.domain.evaluation import Comparison, Conditions
from core.domain.receipt import PromptRef
from core.domain.view import Phrase
from core.llm.catalogue import Catalogue, load_catalogue
from core.llm.doctor import ProbeResult
from core.store.erasure import Erased
from tests.bot.test_doctor import no_platforms, nothing_reported


class FakeWork:
    """A product with one thread and one person."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failure: Exception | None = None
        self.asked: EvalAsk | None = None

    def work(self) -> Work:
        probes = Probes(
            ping=self.ping,
            catalogue=self.catalogue,
            try_models=self.try_models,
            reported=nothing_reported,
            try_platforms=no_platforms,
        )
        return Work(
            serve=self.serve,
            migrate=self.migrate,
            export=self.export,
            erase=self.erase,
            sync_discord=self.sync_discord,
            prompts=PromptWork(
                export=self.export_prompts,
                take_in=self.import_prompts,
                check=self.check_prompts,
                snapshot=self.snapshot_prompts,
            ),
            evals=EvalWork(
                listed=self.list_evals, shown=self.show_eval, run=self.run_eval, resume=self.show_eval
            ),
            probes=probes,
        )

    async def serve(self, settings: Settings) -> None:
        self.done.append(f"serve {settings.port}")
        if self.failure:
            raise self.failure

    async def migrate(self, settings: Settings) -> str:
        if self.failure:
            raise self.failure
        return "0007"

    async def export(self, settings: Settings, thread: str, form: str) -> AsyncGenerator[str]:
        if thread != "t1":
            raise Refusal("thread_not_found")
        yield f"{form} of {thread}: "
        if self.failure:
            raise self.failure
        yield "会話\n"

    async def erase(self, settings: Settings, workspace: str, person: str) -> Erased:
        self.done.append(f"erase {person} in {workspace}")
        return Erased(messages=3, receipts=2, attachments=1)

    async def sync_discord(self, settings: Settings, guild: str, again: bool) -> Synced:
        self.done.append(f"sync {guild or 'everywhere'}")
        return Synced(count=12, changed=again or not guild, invite="https://discord.example/invite")

    async def export_prompts(self, settings: Settings, workspace: str, folder: Path) -> int:
        self.done.append(f"prompts of {workspace} to {folder}")
        return 3

    async def import_prompts(
        self, settings: Settings, workspace: str, folder: Path, reason: str
    ) -> tuple[Imported, ...]:
        self.done.append(f"prompts of {folder} into {workspace}: {reason}")
        return (
            Imported(name="chat.answer", version="1.1.0", new=True),
            Imported(name="team.minutes", version="1.0.0", new=False),
        )

    async def check_prompts(self, settings: Settings, folder: Path | None, workspace: str) -> Checked:
        self.done.append(f"check {folder} {workspace}")
        drift = Drift(name="chat.answer", folder="1.1.0", live="", parts=("system.md", "task.md"))
        floating = {"chat.answer": ("openai/gpt-latest",)} if folder == Path("loose") else {}
        return Checked(count=2, drift=(drift,) if workspace else (), floating=floating)

    async def snapshot_prompts(self, settings: Settings, workspace: str, folder: Path) -> Path:
        return folder / f"prompts-{workspace}"

    async def list_evals(self, settings: Settings, workspace: str, prompt: str) -> tuple[EvalItem, ...]:
        return (an_eval().item,) if prompt else ()

    async def show_eval(self, settings: Settings, workspace: str, run_id: str) -> EvalPage:
        self.done.append(f"{run_id} of {workspace}")
        return an_eval(open_gate=run_id == "open")

    async def run_eval(
        self, settings: Settings, workspace: str, ask: EvalAsk, tell: Callable[[str, EvalEstimate], None]
    ) -> EvalPage:
        self.asked = ask
        model = EvalModel(alias="grok", id="xai/grok-4.5", pinned=False, trains_on_data="unknown")
        estimate = EvalEstimate(
            eval_set="compare-v1",
            cases=22,
            calls=132,
            most_calls=352,
            input_tokens=9,
            cost_usd=1.5,
            models=(model,),
            from_logs=1,
            masked={"personal.mail": 2},
        )
        tell("e1", estimate)
        return an_eval()

    async def ping(self, url: str) -> None:
        self.done.append("ping")

    def catalogue(self, settings: Settings) -> Catalogue:
        return load_catalogue({}, {}, file="", line_of=settings.configuration.line_of, env={}, local=False)

    async def try_models(
        self, settings: Settings, catalogue: Catalogue, aliases: Sequence[str]
    ) -> AsyncIterator[ProbeResult]:
        for alias in aliases:
            yield ProbeResult(alias=alias, ok=True, kind=None, seconds=0.0)


def an_eval(*, open_gate: bool = False) -> EvalPage:
    """An evaluation of no case, which keeps the gate shut for one reason or leaves it open."""
    conditions = Conditions(set_name="compare-v1", set_sha256="c" * 64, repeats=3, checks_version=1)
    ref = PromptRef(name="compare.summary", version="1.0.0", sha256="a" * 64)
    item = EvalItem(
        run_id="e1",
        prompt="compare.summary",
        baseline=ref,
        candidate=replace(ref, version="1.0.1"),
        baseline_model="alpha",
        candidate_model="alpha",
        eval_set="compare-v1",
        status=EvalStatus.DONE if open_gate else EvalStatus.FAILED,
        done=132,
        expected=132,
        who="",
        started_at=datetime(2026, 12, 1, 2, 0, tzinfo=UTC),
        finished_at=None,
        cost_usd=1.0,
        counts={},
        failure=None if open_gate else Phrase(key="refusal.eval_conditions_changed"),
    )
    return EvalPage(
        item=item,
        comparison=Comparison(baseline=conditions, candidate=conditions, cases=()),
        review=Review(),
        closed=() if open_gate else (Phrase(key="eval_gate.conditions"),),
        reported={},
        can_judge=False,
    )


@pytest.fixture
def fake() -> FakeWork:
    return FakeWork()


def run(fake: FakeWork, folder: Path, *arguments: str, **env: str) -> int:
    environment = {"PROMPTFLOW_DATA_DIR": "data", "PROMPTFLOW_PORT": "0", "LANG": "en_US.UTF-8", **env}
    return command_line(arguments, environment, folder, fake.work())


def test_serve_runs_with_the_settings_of_the_environment(fake: FakeWork, tmp_path: Path) -> None:
    assert run(fake, tmp_path, "serve", PROMPTFLOW_PORT="9000") == 0
    assert fake.done == ["serve 9000"]


def test_migrate_says_which_revision_the_database_has(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "migrate") == 0
    assert capsys.readouterr().out == "The database has the form of revision 0007.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("serve", "now"),
        ("export",),
        ("export", "t1", "--format", "pdf"),
        ("prompts",),
        ("prompts", "export", "--folder", "f"),
        ("prompts", "import", "--folder", "f", "--workspace", "T1"),
        ("evals",),
        ("evals", "run", "--workspace", "T1"),
        ("evals", "run", "--workspace", "T1", "--prompt", "p", "--repeats", "many"),
        ("evals", "show", "--workspace", "T1"),
        ("erase", "U1"),
        ("erase", "--workspace", "T1", "--yes"),
    ],
)
def test_arguments_that_do_not_fit_end_with_2_and_the_list_of_commands(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(fake, tmp_path, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "There are: serve, migrate, doctor, discord-sync, export, prompts, evals, erase." in said.err
    assert fake.done == []


@pytest.mark.parametrize("arguments", [("--help",), ("export", "--help")])
def test_help_is_no_mistake(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(fake, tmp_path, *arguments) == 0
    said = capsys.readouterr()
    assert said.out.startswith("usage: promptflow")
    assert said.err == ""


@pytest.mark.parametrize("command", ["serve", "migrate", "doctor"])
def test_a_configuration_that_cannot_be_used_ends_with_2_and_its_place(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "promptflow.toml").write_text("[policy]\nbranch = 1\n")
    assert run(fake, tmp_path, command) == 2
    assert (
        f"{tmp_path / 'promptflow.toml'}:2: 'branch' in [policy] must be true or false"
        in capsys.readouterr().err
    )
    assert fake.done == []


def test_a_database_that_is_away_ends_with_1_and_points_to_the_doctor(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failure = StoreUnavailable("database is locked")
    assert run(fake, tmp_path, "migrate") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "did not answer: database is locked. `promptflow doctor` tells more." in said.err


def test_control_c_ends_as_shells_expect(fake: FakeWork, tmp_path: Path) -> None:
    class Interrupted(FakeWork):
        async def serve(self, settings: Settings) -> None:
            raise KeyboardInterrupt

    assert run(Interrupted(), tmp_path, "serve") == 130


def test_export_goes_to_standard_output_or_into_a_file(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "export", "t1") == 0
    assert capsys.readouterr().out == "markdown of t1: 会話\n"
    file = tmp_path / "out.json"
    assert run(fake, tmp_path, "export", "t1", "--format", "json", "--output", str(file)) == 0
    assert file.read_text(encoding="utf-8") == "json of t1: 会話\n"
    assert list(tmp_path.iterdir()) == [file]
    assert capsys.readouterr().out == ""


def test_an_export_that_breaks_off_leaves_what_was_there(fake: FakeWork, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    file.write_text("of yesterday")
    fake.failure = StoreUnavailable("database is locked")
    assert run(fake, tmp_path, "export", "t1", "--output", str(file)) == 1
    assert file.read_text() == "of yesterday"
    assert list(tmp_path.iterdir()) == [file]


def test_export_into_a_folder_that_is_not_there_says_so(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "export", "t1", "--output", str(tmp_path / "no" / "out.md")) == 1
    assert "could not be written: No such file or directory." in capsys.readouterr().err


def test_a_refused_export_ends_with_1_and_the_reason(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "export", "unknown") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_erase_changes_nothing_until_it_is_confirmed(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "erase", "U1", "--workspace", "T1") == 2
    assert "Nothing was changed." in capsys.readouterr().err
    assert fake.done == []
    assert run(fake, tmp_path, "erase", "U1", "--workspace", "T1", "--yes") == 0
    assert capsys.readouterr().out == "Erased for U1: 3 messages, 1 files, 2 receipts.\n"
    assert fake.done == ["erase U1 in T1"]


@pytest.mark.parametrize(
    "locale", [{"LANG": "ja_JP.UTF-8"}, {"LC_ALL": "ja", "LANG": "en"}, {"LC_MESSAGES": "ja_JP", "LANG": "C"}]
)
def test_the_terminal_is_spoken_to_in_its_language(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str], locale: dict[str, str]
) -> None:
    assert run(fake, tmp_path, "migrate", **locale) == 0
    assert "リビジョン 0007" in capsys.readouterr().out


def test_doctor_ends_with_0_when_all_is_well(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "doctor") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Nothing stands in the way."
    assert not any("[problem]" in line for line in lines)


def test_doctor_ends_with_1_when_it_found_a_problem(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text("a file in the place of the folder")
    assert run(fake, tmp_path, "doctor") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Problems found: 1."
    assert sum(line.startswith("[problem] ") for line in lines) == 1


def test_commands_are_registered_with_discord_and_the_invitation_is_shown(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "discord-sync") == 0
    assert run(fake, tmp_path, "discord-sync", "--guild", "7") == 0
    assert run(fake, tmp_path, "discord-sync", "--guild", "7", "--again") == 0
    said = capsys.readouterr().out
    assert said.count("12 commands are registered") == 2
    assert said.count("nothing was changed") == 1
    assert said.count("https://discord.example/invite") == 3
    assert fake.done == ["sync everywhere", "sync 7", "sync 7"]


def test_prompts_are_exported_imported_and_copied_by_command(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--workspace", "T1", "--folder", "f")
    assert run(fake, tmp_path, "prompts", "export", *where) == 0
    assert run(fake, tmp_path, "prompts", "import", *where, "--reason", "from the file") == 0
    assert run(fake, tmp_path, "prompts", "snapshot", *where) == 0
    assert fake.done == ["prompts of T1 to f", "prompts of f into T1: from the file"]
    assert capsys.readouterr().out.splitlines() == [
        "3 prompts written to f.",
        "chat.answer 1.1.0: taken in as a proposed version.",
        "team.minutes 1.0.0: known already.",
        "All live prompts are copied to f/prompts-T1.",
    ]


def test_a_check_of_prompts_ends_with_1_where_folder_and_workspace_differ(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "prompts", "check") == 0
    assert capsys.readouterr().out == "2 prompts are in order.\n"
    assert run(fake, tmp_path, "prompts", "check", "--folder", "f", "--workspace", "T1") == 1
    said = capsys.readouterr().out
    assert said == "chat.answer: the folder has version 1.1.0, live is —; different: system.md, task.md.\n"
    assert fake.done == ["check None ", "check f T1"]


def test_a_check_of_prompts_names_those_whose_models_keep_them_from_going_live(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "prompts", "check", "--folder", "loose") == 1
    assert capsys.readouterr().out == (
        "chat.answer: it cannot go live, because it is written for models that are no fixed versions: "
        "openai/gpt-latest. Name ids with a date, or models on the reviewed list.\n"
    )


def test_an_evaluation_says_where_cases_go_and_ends_with_1_while_the_gate_is_shut(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--workspace", "T1", "--html", str(tmp_path / "e.html"))
    more = ("--candidate", "1.0.1", "--model", "grok", "--repeats", "5", "--accept-training")
    assert run(fake, tmp_path, "evals", "run", "--prompt", "compare.summary", *where, *more) == 1
    assert fake.asked == EvalAsk(
        prompt="compare.summary", candidate="1.0.1", model="grok", repeats=5, acknowledged=True
    )
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "Evaluation e1: 22 cases of compare-v1, 132 calls (352 at most), about $1.50.",
        "grok (xai/grok-4.5): not known whether it trains on what is sent.",
        "The model's id may change what stands behind it. Choose a dated id, or one from the reviewed list.",
        "Masked before it leaves: mail addresses (2).",
        "The eval set, its conditions or the model changed while the evaluation was under way, so old and new results"
        " cannot be compared. Start it again.",
    ]
    assert "# Evaluation of compare" in said.out
    assert "did not run under the same conditions" in said.out
    assert "did not run under the same conditions" in (tmp_path / "e.html").read_text("utf-8")


def test_an_open_gate_ends_with_0_and_a_page_that_cannot_be_written_with_1(
    fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fake, tmp_path, "evals", "show", "open", "--workspace", "T1") == 0
    assert run(fake, tmp_path, "evals", "resume", "open", "--workspace", "T1") == 0
    assert fake.done == ["open of T1", "open of T1"]
    html = ("--html", str(tmp_path / "no" / "e.html"))
    assert run(fake, tmp_path, "evals", "show", "open", "--workspace", "T1", *html) == 1
    assert "could not be written" in capsys.readouterr().err


def test_evaluations_are_listed(fake: FakeWork, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fake, tmp_path, "evals", "list", "--workspace", "T1") == 0
    assert run(fake, tmp_path, "evals", "list", "--workspace", "T1", "--prompt", "compare.summary") == 0
    assert capsys.readouterr().out.splitlines() == [
        "There is no evaluation yet.",
        "e1  2026-12-01 02:00  compare.summary 1.0.0 → 1.0.1  alpha  ended early",
    ]
