"""The command `promptflow`: reads arguments, builds the settings, hands over, turns the outcome into an exit code.

0 done; 1 something is wrong or was refused; 2 arguments or configuration cannot be used. `serve` also ends with 75
when another process took over its work (core.engine.lease), which asks a supervisor to start it again.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

from bot.discord.sync import Synced
from bot.doctor import Health, Probes, examine
from bot.settings import Settings, load_settings
from core.commands.prompt_files import Checked, Imported
from core.domain.errors import ConfigurationError, Refusal, UpstreamFailure
from core.i18n import nearest, phrase, refusal, text
from core.store.erasure import Erased

FORMATS = ("markdown", "json")


class Exit(IntEnum):
    DONE = 0
    WRONG = 1
    UNUSABLE = 2
    INTERRUPTED = 130
    """As shells report a program that Ctrl-C ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWork:
    """What `promptflow prompts` does. Workspaces go by their platform ids; all raise Refusal."""

    export: Callable[[Settings, str, Path], Awaitable[int]]
    """Writes the live prompts of a workspace into a folder; how many."""
    take_in: Callable[[Settings, str, Path, str], Awaitable[Sequence[Imported]]]
    """Takes prompts of a folder in as proposed versions, for a reason."""
    check: Callable[[Settings, Path | None, str], Awaitable[Checked]]
    """Holds a folder (None: the product's own) against its lock and, where named, a workspace."""
    snapshot: Callable[[Settings, str, Path], Awaitable[Path]]
    """Writes a full copy of the live prompts into a new dated folder there; which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the commands do once settings are read; `bot.__main__` fills it from serve and wiring."""

    serve: Callable[[Settings], Awaitable[None]]
    """Runs until it is told to stop, then drains."""
    migrate: Callable[[Settings], Awaitable[str]]
    """Brings the database to this version's form; the revision it has then."""
    export: Callable[[Settings, str, str], Awaitable[str]]
    """The document of a thread (id) as `markdown` or `json`. Raises Refusal."""
    erase: Callable[[Settings, str, str], Awaitable[Erased]]
    """Blanks the content of a person in a workspace (platform ids). Raises Refusal."""
    sync_discord: Callable[[Settings, str, bool], Awaitable[Synced]]
    """Registers the commands with Discord: in one server or, where that is empty, in all; again if asked."""
    prompts: PromptWork
    probes: Probes


def command_line(arguments: Sequence[str], env: Mapping[str, str], cwd: Path, work: Work) -> int:
    """Run one command and return its exit code. Results go to standard output, everything else to standard error."""
    locale = nearest(env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or "")
    try:
        asked = _parser(locale).parse_args(arguments)
    except SystemExit as ended:
        # argparse ends the program itself, after --help and after a mistake alike.
        if ended.code == 0:
            return Exit.DONE
        _complain(text(locale, "cli.arguments", commands=", ".join(COMMANDS)))
        return Exit.UNUSABLE
    try:
        return asyncio.run(COMMANDS[asked.command](load_settings(env, cwd), asked, work, locale))
    except ConfigurationError as error:
        _complain(text(locale, "cli.configuration", problem=str(error)))
        return Exit.UNUSABLE
    except Refusal as refused:
        _complain(refusal(locale, refused))
    except UpstreamFailure as failure:
        _complain(text(locale, "cli.unavailable", reason=str(failure)))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.WRONG


def _complain(sentence: str) -> None:
    print(sentence, file=sys.stderr)


async def _serve(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    await work.serve(settings)
    return Exit.DONE


async def _migrate(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    print(text(locale, "cli.migrated", revision=await work.migrate(settings)))
    return Exit.DONE


async def _doctor(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    problems = 0
    async for finding in examine(settings, work.probes):
        label = text(locale, f"cli.health_{finding.health}")
        print(f"{label} {phrase(locale, finding.phrase)}", flush=True)
        problems += finding.health is Health.PROBLEM
    if problems:
        print(text(locale, "cli.doctor_problems", count=problems))
        return Exit.WRONG
    print(text(locale, "cli.doctor_well"))
    return Exit.DONE


async def _export(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    document = await work.export(settings, asked.thread, asked.format)
    if asked.output is None:
        print(document)
        return Exit.DONE
    try:
        await asyncio.to_thread(asked.output.write_text, document, encoding="utf-8")
    except OSError as error:
        _complain(text(locale, "cli.not_written", file=str(asked.output), reason=error.strerror or ""))
        return Exit.WRONG
    return Exit.DONE


async def _erase(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    if not asked.yes:
        _complain(text(locale, "cli.erase_unconfirmed", person=asked.person, workspace=asked.workspace))
        return Exit.UNUSABLE
    erased = await work.erase(settings, asked.workspace, asked.person)
    counts = {"messages": erased.messages, "receipts": erased.receipts, "attachments": erased.attachments}
    print(text(locale, "cli.erased", person=asked.person, **counts))
    return Exit.DONE


async def _sync_discord(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    synced = await work.sync_discord(settings, asked.guild, asked.again)
    key = "cli.discord_synced" if synced.changed else "cli.discord_same"
    print(text(locale, key, count=synced.count, invite=synced.invite))
    return Exit.DONE


async def _prompts(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    return await PROMPTS[asked.act](settings, asked, work.prompts, locale)


async def _export_prompts(
    settings: Settings, asked: argparse.Namespace, work: PromptWork, locale: str
) -> Exit:
    count = await work.export(settings, asked.workspace, asked.folder)
    print(text(locale, "cli.prompts_exported", count=count, folder=str(asked.folder)))
    return Exit.DONE


async def _import_prompts(
    settings: Settings, asked: argparse.Namespace, work: PromptWork, locale: str
) -> Exit:
    for one in await work.take_in(settings, asked.workspace, asked.folder, asked.reason):
        key = "cli.prompt_imported" if one.new else "cli.prompt_known"
        print(text(locale, key, name=one.name, version=one.version))
    return Exit.DONE


async def _check_prompts(
    settings: Settings, asked: argparse.Namespace, work: PromptWork, locale: str
) -> Exit:
    checked = await work.check(settings, asked.folder, asked.workspace)
    for one in checked.drift:
        print(
            text(
                locale,
                "cli.prompt_drift",
                name=one.name,
                folder=one.folder or "—",
                live=one.live or "—",
                parts=", ".join(one.parts),
            )
        )
    if checked.drift:
        return Exit.WRONG
    print(text(locale, "cli.prompts_in_order", count=checked.count))
    return Exit.DONE


async def _snapshot_prompts(
    settings: Settings, asked: argparse.Namespace, work: PromptWork, locale: str
) -> Exit:
    folder = await work.snapshot(settings, asked.workspace, asked.folder)
    print(text(locale, "cli.prompts_copied", folder=str(folder)))
    return Exit.DONE


PROMPTS: Mapping[
    str, Callable[[Settings, argparse.Namespace, PromptWork, str], Coroutine[None, None, Exit]]
] = MappingProxyType(
    {
        "export": _export_prompts,
        "import": _import_prompts,
        "check": _check_prompts,
        "snapshot": _snapshot_prompts,
    }
)


COMMANDS: Mapping[str, Callable[[Settings, argparse.Namespace, Work, str], Coroutine[None, None, Exit]]] = (
    MappingProxyType(
        {
            "serve": _serve,
            "migrate": _migrate,
            "doctor": _doctor,
            "discord-sync": _sync_discord,
            "export": _export,
            "prompts": _prompts,
            "erase": _erase,
        }
    )
)


def _parser(locale: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="promptflow", description=text(locale, "cli.description"))
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands = {name: parsers.add_parser(name, help=text(locale, f"cli.help_{name}")) for name in COMMANDS}
    export = commands["export"]
    export.add_argument("thread", metavar="THREAD", help=text(locale, "cli.help_thread"))
    export.add_argument("--format", choices=FORMATS, default=FORMATS[0], help=text(locale, "cli.help_format"))
    export.add_argument("--output", type=Path, metavar="FILE", help=text(locale, "cli.help_output"))
    _add_prompts(commands["prompts"], locale)
    sync = commands["discord-sync"]
    sync.add_argument("--guild", default="", metavar="ID", help=text(locale, "cli.help_guild"))
    sync.add_argument("--again", action="store_true", help=text(locale, "cli.help_again"))
    erase = commands["erase"]
    erase.add_argument("person", metavar="PERSON", help=text(locale, "cli.help_person"))
    erase.add_argument("--workspace", required=True, metavar="ID", help=text(locale, "cli.help_workspace"))
    erase.add_argument("--yes", action="store_true", help=text(locale, "cli.help_yes"))
    return parser


def _add_prompts(parser: argparse.ArgumentParser, locale: str) -> None:
    parsers = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    for name in PROMPTS:
        act = parsers.add_parser(name, help=text(locale, f"cli.help_prompts_{name}"))
        checks = name == "check"
        act.add_argument(
            "--workspace",
            required=not checks,
            default="",
            metavar="ID",
            help=text(locale, "cli.help_workspace"),
        )
        act.add_argument(
            "--folder",
            required=not checks,
            type=Path,
            metavar="FOLDER",
            help=text(locale, "cli.help_prompt_folder"),
        )
        if name == "import":
            act.add_argument("--reason", required=True, metavar="TEXT", help=text(locale, "cli.help_reason"))
