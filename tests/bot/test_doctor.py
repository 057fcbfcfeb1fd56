"""Each thing that can be wrong is made wrong, one at a time, on real files, sockets and databases."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot import wiring
from bot.check import Check
from bot.doctor import Finding, Health, Probes, examine
from bot.settings import Settings, load_settings
from core.domain.errors import FailureKind
from core.domain.reported import ReportedModel
from core.domain.view import Phrase
from core.i18n import phrase
from core.llm.catalogue import Catalogue, load_catalogue
from core.llm.doctor import ProbeResult
from core.store.database import Store
from core.store.migrations import migrate
from core.store.reported import do_note_reported


async def ping(url: str) -> None:
    store = Store(url)
    try:
        await store.ping()
    finally:
        await store.close()


async def hang(url: str) -> None:
    await asyncio.Event().wait()


def catalogue(settings: Settings) -> Catalogue:
    configuration = settings.configuration
    return load_catalogue(
        configuration.table("models"),
        configuration.table("defaults"),
        file=configuration.file,
        line_of=configuration.line_of,
        env=settings.env,
        local="LOCAL" in settings.env,
    )


async def try_models(
    settings: Settings, catalogue: Catalogue, aliases: Sequence[str]
) -> AsyncIterator[ProbeResult]:
    for alias in aliases:
        kind = None if alias in {"good", "local-smollm2"} else FailureKind.AUTH
        yield ProbeResult(alias=alias, ok=kind is None, kind=kind, seconds=1.25)


async def no_platforms(settings: Settings) -> AsyncIterator[Check]:
    nothing: tuple[Check, ...] = ()
    for check in nothing:
        yield check


async def nothing_reported(url: str) -> Mapping[tuple[str, str], ReportedModel]:
    return {}


PROBES = Probes(
    ping=ping,
    catalogue=catalogue,
    try_models=try_models,
    reported=nothing_reported,
    try_platforms=no_platforms,
)


async def findings(folder: Path, probes: Probes = PROBES, **env: str) -> list[Finding]:
    environment = {"PROMPTFLOW_DATA_DIR": "data", "PROMPTFLOW_PORT": "0", **env}
    settings = await asyncio.to_thread(load_settings, environment, folder)
    return [finding async for finding in examine(settings, probes)]


async def problems(folder: Path, probes: Probes = PROBES, **env: str) -> list[str]:
    found = await findings(folder, probes, **env)
    return [phrase("en", finding.phrase) for finding in found if finding.health is Health.PROBLEM]


def keys(found: list[Finding]) -> list[str]:
    return [finding.phrase.key.removeprefix("cli.doctor_") for finding in found]


async def test_a_fresh_folder_is_ready_for_the_first_start_and_stays_untouched(tmp_path: Path) -> None:
    found = await findings(tmp_path)
    assert keys(found) == [
        "no_configuration",
        "data_folder",
        "database_new",
        "database_new",
        "port",
        "only_demo",
    ]
    assert list(tmp_path.iterdir()) == []


async def test_a_file_in_the_place_of_the_data_folder_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert await problems(tmp_path) == [
        f"Data should lie in {tmp_path}/data, but nothing can be written at {tmp_path}/data. Allow this user to "
        "write there, or name another folder in PROMPTFLOW_DATA_DIR."
    ]


async def test_a_file_that_is_no_database_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "promptflow.db").write_text(
        "no database at all, but long enough to be looked at" * 40
    )
    assert await problems(tmp_path) == [
        "DATABASE_URL: the database cannot be used: file is not a database. "
        "Check that it runs and that the address is right."
    ]


async def test_a_postgres_that_answers_is_good_and_an_engine_on_this_machine_is_noted(
    tmp_path: Path, postgres_url: str
) -> None:
    found = await findings(tmp_path, DATABASE_URL=postgres_url)
    assert keys(found)[2:5] == ["database", "database_new", "engine_alone"]
    both = await findings(
        tmp_path, DATABASE_URL=postgres_url, ENGINE_DATABASE_URL=postgres_url + "&application_name=engine"
    )
    assert keys(both)[2:5] == ["database", "database", "port"]


async def test_a_postgres_that_is_away_is_a_problem_and_its_password_is_not_shown(tmp_path: Path) -> None:
    said = await problems(tmp_path, DATABASE_URL="postgresql://app:hidden@127.0.0.1:1/app")
    assert len(said) == 1
    assert said[0].startswith("DATABASE_URL: the database cannot be used: ")
    assert "hidden" not in said[0]


async def test_a_database_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.PROBE_DEADLINE_S", 0.05)
    probes = replace(PROBES, ping=hang)
    found = await findings(tmp_path, probes, DATABASE_URL="postgresql://127.0.0.1/app")
    assert keys(found)[2] == "database_silent"


@pytest.fixture
async def listener() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server whose port is taken, and what it answers."""
    answer = [b"SSH-2.0\r\n"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer[0])
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], answer


async def test_a_port_that_another_program_has_is_a_problem(
    tmp_path: Path, listener: tuple[int, list[bytes]]
) -> None:
    port, _ = listener
    assert await problems(tmp_path, PROMPTFLOW_PORT=str(port)) == [
        f"Nothing can listen on 127.0.0.1:{port}: Address already in use. End the other program, or choose another "
        "port in PROMPTFLOW_PORT."
    ]
    said = await problems(tmp_path, PROMPTFLOW_PUBLIC_PORT=str(port))
    assert [line.rsplit(" ", 1)[1] for line in said] == ["PROMPTFLOW_PUBLIC_PORT."]


async def test_a_port_that_we_have_ourselves_is_only_noted(
    tmp_path: Path, listener: tuple[int, list[bytes]]
) -> None:
    port, answer = listener
    answer[0] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    assert keys(await findings(tmp_path, PROMPTFLOW_PORT=str(port)))[4] == "running"


async def test_an_address_that_is_not_of_this_machine_is_a_problem(tmp_path: Path) -> None:
    said = await problems(tmp_path, PROMPTFLOW_PUBLIC_HOST="192.0.2.1", PROMPTFLOW_PUBLIC_PORT="8080")
    assert said == [
        "Nothing can listen on 192.0.2.1:8080: Cannot assign requested address. End the other program, or choose "
        "another port in PROMPTFLOW_PUBLIC_PORT."
    ]


async def test_every_configured_model_is_tried_and_a_missing_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text(
        "".join(
            f'[models.{alias}]\nid = "openai/{alias}"\napi_key_env = "{name}"\n'
            for alias, name in (("good", "KEY"), ("bad", "KEY"), ("keyless", "OTHER_KEY"))
        )
    )
    found = await findings(tmp_path, KEY="hidden")
    texts = {
        finding.phrase.fields["model"]: (finding.health, phrase("en", finding.phrase))
        for finding in found[5:]
        if finding.phrase.key != "cli.doctor_model_floating"
    }
    assert texts["good"] == (Health.GOOD, "good answered in 1.2 s.")
    assert texts["bad"][0] is Health.PROBLEM
    assert "the provider refused our key" in texts["bad"][1]
    assert texts["keyless"] == (
        Health.PROBLEM,
        "keyless has no key: the variable OTHER_KEY is not set. Put it into .env or into the environment.",
    )


async def test_a_model_whose_id_floats_is_noted_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text(
        '[models.good]\nid = "openai/gpt-latest"\n[models.fixed]\nid = "openai/gpt-5.4-2026-03-05"\n'
    )
    found = await findings(tmp_path)
    (noted,) = [one for one in found if one.phrase.key == "cli.doctor_model_floating"]
    assert noted.health is Health.NOTE
    assert phrase("en", noted.phrase) == (
        "good: its id openai/gpt-latest names no fixed version, so another model can stand behind it tomorrow. "
        "No prompt written for it can go live. Choose an id with a date, or one on the reviewed list."
    )
    assert "日付の付いたID" in phrase("ja", noted.phrase)


async def test_what_a_provider_answers_with_now_is_held_against_what_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text('[models.good]\nid = "openai/gpt-5.4-2026-03-05"\n')
    (tmp_path / "data").mkdir()
    url = f"sqlite:///{tmp_path}/data/promptflow.db"
    store, calls = Store(url), ("gpt-5.4-2026-03-05", "gpt-5.4-2026-05-20")
    await migrate(store)
    for day, reported in enumerate(calls, start=1):
        async with store.writing() as session:
            now = datetime(2026, 11, day, tzinfo=UTC)
            await do_note_reported(session, "good", "openai/gpt-5.4-2026-03-05", reported, now=now)
    await store.close()

    async def moved_on(
        settings: Settings, catalogue: Catalogue, aliases: Sequence[str]
    ) -> AsyncIterator[ProbeResult]:
        yield ProbeResult(alias="good", ok=True, kind=None, seconds=1.0, reported="gpt-5.4-2026-07-01")

    probes = replace(PROBES, reported=wiring.reported, try_models=moved_on)
    found = await findings(tmp_path, probes, OPENAI_API_KEY="hidden")
    said = [phrase("en", one.phrase) for one in found if one.phrase.key.startswith("cli.doctor_model_change")]
    assert said == [
        "good: since 2026-11-02 its provider reports gpt-5.4-2026-05-20, before that gpt-5.4-2026-03-05. "
        "Evaluate the prompts that use it.",
        "good: its provider reports gpt-5.4-2026-07-01; the last call reported gpt-5.4-2026-05-20. "
        "Evaluate the prompts that use it.",
    ]
    # A doctor changes nothing: what it was told is forgotten.
    assert (await wiring.reported(url))["good", "openai/gpt-5.4-2026-03-05"].reported_id == calls[1]


async def test_a_database_of_an_earlier_release_has_nothing_to_say_of_models(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    store = Store(url)
    await store.ping()
    await store.close()
    assert await wiring.reported(url) == {}


async def test_the_local_model_is_named_with_what_it_is_worth_and_tried(tmp_path: Path) -> None:
    found = (await findings(tmp_path, LOCAL="1"))[5:]
    assert [(finding.health, finding.phrase.key) for finding in found] == [
        (Health.NOTE, "cli.doctor_only_demo"),
        (Health.NOTE, "cli.doctor_local_model"),
        (Health.GOOD, "cli.doctor_model"),
    ]
    assert phrase("en", found[1].phrase).startswith(
        "local-smollm2 is installed. It is tiny, knows English only"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [("[models.fast]\nid = 3\n", 2), ('[policy]\nallowed_models = ["fast"]\n', 2), ('models = "fast"\n', 1)],
)
async def test_models_that_cannot_be_set_up_are_a_problem_with_their_place(
    tmp_path: Path, text: str, line: int
) -> None:
    (tmp_path / "promptflow.toml").write_text(text)
    said = await problems(tmp_path)
    assert len(said) == 1
    assert said[0].startswith(f"The models cannot be set up: {tmp_path}/promptflow.toml:{line}: ")


async def test_what_a_platform_says_of_its_tokens_is_found(tmp_path: Path) -> None:
    async def half_well(settings: Settings) -> AsyncIterator[Check]:
        yield Check(well=True, phrase=Phrase(key="cli.doctor_slack_sockets"))
        yield Check(well=False, phrase=Phrase(key="cli.doctor_slack_away", fields={"reason": "unreachable"}))

    probes = replace(PROBES, try_platforms=half_well)
    assert "slack_sockets" in keys(await findings(tmp_path, probes))
    (problem,) = await problems(tmp_path, probes)
    assert "unreachable" in problem


async def test_slack_that_is_half_set_up_is_a_problem_before_it_is_asked(tmp_path: Path) -> None:
    probes = replace(PROBES, try_platforms=wiring.try_platforms)
    assert [one for one in keys(await findings(tmp_path, probes)) if one.startswith("slack")] == []
    (problem,) = await problems(tmp_path, probes, SLACK_CLIENT_ID="1.2")
    assert "SLACK_CLIENT_ID" in problem
    assert "SLACK_APP_TOKEN" in problem
