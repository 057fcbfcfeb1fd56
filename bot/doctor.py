"""`promptflow doctor`: what would keep the product from working, and what to do about it. Changes nothing."""

import asyncio
import errno
import os
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bot.check import Check
from bot.settings import LOOPBACK, Settings
from core.domain.errors import ConfigurationError, StoreUnavailable
from core.domain.reported import ReportedModel
from core.domain.view import Phrase
from core.llm.catalogue import Catalogue
from core.llm.doctor import ProbeResult
from core.llm.floating import floating
from core.prompts.pinned import PinnedModel, load_pinned

PROBE_DEADLINE_S = 5.0

MIN_FREE_BYTES = 200 * 1024 * 1024
"""Write-ahead logs of both databases at their usual greatest, with room for a day of small use."""


class Health(StrEnum):
    """How a check ended; people read `cli.health_<value>` of the catalogue."""

    GOOD = "good"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    health: Health
    phrase: Phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What the doctor tries by way of concrete classes, which only the wiring knows."""

    ping: Callable[[str], Awaitable[None]]
    """Asks the database at this URL one question; raises StoreUnavailable."""
    catalogue: Callable[[Settings], Catalogue]
    """Raises ConfigurationError."""
    try_models: Callable[[Settings, Catalogue, Sequence[str]], AsyncIterator[ProbeResult]]
    """Asks each of these models one small question, in order."""
    reported: Callable[[str], Awaitable[Mapping[tuple[str, str], ReportedModel]]]
    """What models reported last, by alias and id, as the database at this URL has it; empty where it has nothing.
    Raises StoreUnavailable."""
    try_platforms: Callable[[Settings], AsyncIterator[Check]]
    """Asks each platform whose tokens are set whether it takes them."""


async def examine(settings: Settings, probes: Probes) -> AsyncIterator[Finding]:
    """Findings as they come, the quick ones first."""
    yield _configuration(settings)
    yield await asyncio.to_thread(_data_folder, settings.data_dir)
    for name, url in (
        ("DATABASE_URL", settings.database_url),
        ("ENGINE_DATABASE_URL", settings.engine_database_url),
    ):
        yield await _database(name, url, probes)
    if _is_sqlite(settings.engine_database_url) and not _is_sqlite(settings.database_url):
        yield _note("doctor_engine_alone")
    yield await _port(LOOPBACK, settings.port, "PROMPTFLOW_PORT")
    if settings.public is not None:
        yield await _port(settings.public.host, settings.public.port, "PROMPTFLOW_PUBLIC_PORT")
    async for check in probes.try_platforms(settings):
        yield Finding(health=Health.GOOD if check.well else Health.PROBLEM, phrase=check.phrase)
    async for finding in _models(settings, probes):
        yield finding


def _good(key: str, **fields: str | float) -> Finding:
    return Finding(health=Health.GOOD, phrase=Phrase(key=f"cli.{key}", fields=fields))


def _note(key: str, **fields: str | float) -> Finding:
    return Finding(health=Health.NOTE, phrase=Phrase(key=f"cli.{key}", fields=fields))


def _problem(key: str, **fields: str | float) -> Finding:
    return Finding(health=Health.PROBLEM, phrase=Phrase(key=f"cli.{key}", fields=fields))


def _configuration(settings: Settings) -> Finding:
    if not settings.configuration.file:
        return _good("doctor_no_configuration")
    return _good("doctor_configuration", file=settings.configuration.file)


def _data_folder(folder: Path) -> Finding:
    """The folder need not exist yet; then the nearest one above it counts."""
    standing = next(place for place in (folder, *folder.parents) if place.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        return _problem("doctor_data_folder_closed", folder=str(folder), at=str(standing))
    free = shutil.disk_usage(standing).free
    if free < MIN_FREE_BYTES:
        return _problem("doctor_disk_full", folder=str(folder), free_mb=free // 2**20)
    return _good("doctor_data_folder", folder=str(folder))


def _is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


async def _database(name: str, url: str, probes: Probes) -> Finding:
    if _is_sqlite(url) and not await asyncio.to_thread(_file_of(url).exists):
        return _good("doctor_database_new", name=name)
    try:
        async with asyncio.timeout(PROBE_DEADLINE_S):
            await probes.ping(url)
    except StoreUnavailable as failure:
        return _problem("doctor_database_away", name=name, reason=str(failure))
    except TimeoutError:
        return _problem("doctor_database_silent", name=name, seconds=int(PROBE_DEADLINE_S))
    return _good("doctor_database", name=name)


async def _port(host: str, port: int, name: str) -> Finding:
    error = _cannot_listen(host, port)
    if error is None:
        return _good("doctor_port", host=host, port=port)
    if error.errno == errno.EADDRINUSE and await _is_ours(host, port):
        return _note("doctor_running", host=host, port=port)
    reason = os.strerror(error.errno) if error.errno else str(error)
    return _problem("doctor_port_taken", host=host, port=port, name=name, reason=reason)


def _cannot_listen(host: str, port: int) -> OSError | None:
    """Why nobody can listen there at this moment; None when we could."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(1)
        except OSError as error:
            return error
    return None


async def _is_ours(host: str, port: int) -> bool:
    """Whether something that answers /healthz as we do listens there."""
    try:
        async with asyncio.timeout(PROBE_DEADLINE_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(
                    f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
                )
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def _models(settings: Settings, probes: Probes) -> AsyncIterator[Finding]:
    try:
        catalogue = probes.catalogue(settings)
        settings.check_allowed_models(tuple(catalogue.models))
    except ConfigurationError as error:
        yield _problem("doctor_models_unreadable", reason=str(error))
        return
    if all(model.local for model in catalogue.real):
        yield _note("doctor_only_demo")
    usable = []
    for model in catalogue.real:
        if model.local:
            yield _note("doctor_local_model", model=model.alias)
        if model.api_key_env and not settings.env.get(model.api_key_env):
            yield _problem("doctor_model_without_key", model=model.alias, name=model.api_key_env)
        else:
            usable.append(model.alias)
    reported = await _reported(settings.database_url, probes)
    known = {model.alias: reported.get((model.alias, model.id)) for model in catalogue.real}
    for finding in _not_fixed(catalogue, known, await asyncio.to_thread(load_pinned)):
        yield finding
    if not usable:
        return
    async for result in probes.try_models(settings, catalogue, usable):
        yield _answered(result)
        last = known[result.alias]
        if last is not None and result.reported not in ("", last.reported_id):
            yield _note(
                "doctor_model_changes", model=result.alias, now=result.reported, before=last.reported_id
            )


def _not_fixed(
    catalogue: Catalogue, known: Mapping[str, ReportedModel | None], listed: Sequence[PinnedModel]
) -> Iterator[Finding]:
    """Models that can be another one tomorrow, and those that became another one."""
    for model in floating(catalogue, listed):
        yield _note("doctor_model_floating", model=model.alias, id=model.id)
    for one in known.values():
        if one is not None and one.changed:
            day = f"{one.since:%Y-%m-%d}"
            yield _note(
                "doctor_model_changed", model=one.model, now=one.reported_id, before=one.before, day=day
            )


def _answered(result: ProbeResult) -> Finding:
    if result.kind is None:
        return _good("doctor_model", model=result.alias, seconds=f"{result.seconds:.1f}")
    phrase = Phrase(key=f"model_failure.{result.kind}", fields={"model": result.alias})
    return Finding(health=Health.PROBLEM, phrase=phrase)


async def _reported(url: str, probes: Probes) -> Mapping[tuple[str, str], ReportedModel]:
    """What models reported last; nothing where the database has no say, of which another finding tells."""
    if _is_sqlite(url) and not await asyncio.to_thread(_file_of(url).exists):
        return {}
    try:
        async with asyncio.timeout(PROBE_DEADLINE_S):
            return await probes.reported(url)
    except (StoreUnavailable, TimeoutError):
        return {}


def _file_of(url: str) -> Path:
    return Path(url.partition(":///")[2])
