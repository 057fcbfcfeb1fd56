"""The command `promptflow`: reads arguments, builds the settings, hands over, turns the outcome into an exit code.

0 done; 1 something is wrong or was refused; 2 arguments or configuration cannot be used. `serve` also ends with 75
when another process took over its work (core.engine.lease), which asks a supervisor to start it again.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

from bot.discord.sync import Synced
from bot.doctor import Health, Probes, examine
from bot.eval_report import EvalReport, html_report, markdown_report
from bot.settings import Settings, load_settings
from core.commands.eval_operator import EvalAsk
from core.commands.prompt_files import Checked, Imported
from core.domain.errors import ConfigurationError, Refusal, UpstreamFailure
from core.domain.eval_run import USUAL_REPEATS, EvalEstimate, EvalItem, EvalPage
from core.i18n import money, nearest, phrase, refusal, text
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
class EvalWork:
    """What `promptflow evals` does. Workspaces go by their platform ids; all raise Refusal."""

    listed: Callable[[Settings, str, str], Awaitable[Sequence[EvalItem]]]
    """The newest evaluations of a workspace, of one prompt or (empty) of all."""
    shown: Callable[[Settings, str, str], Awaitable[EvalPage]]
    run: Callable[[Settings, str, EvalAsk, Callable[[str, EvalEstimate], None]], Awaitable[EvalPage]]
    """Carries an evaluation out, and tells its id and estimate before anything leaves."""
    resume: Callable[[Settings, str, str], Awaitable[EvalPage]]
    """Carries one on whose command was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the commands do once settings are read; `bot.__main__` fills it from serve and wiring."""

    serve: Callable[[Settings], Awaitable[None]]
    """Runs until it is told to stop, then drains."""
    migrate: Callable[[Settings], Awaitable[str]]
    """Brings the database to this version's form; the revision it has then."""
    export: Callable[[Settings, str, str], AsyncGenerator[str]]
    """The document of a thread (id) as `markdown` or `json`, part by part. Raises Refusal before the first."""
    erase: Callable[[Settings, str, str], Awaitable[Erased]]
    """Blanks the content of a person in a workspace (platform ids). Raises Refusal."""
    sync_discord: Callable[[Settings, str, bool], Awaitable[Synced]]
    """Registers the commands with Discord: in one server or, where that is empty, in all; again if asked."""
    prompts: PromptWork
    evals: EvalWork
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
    async with aclosing(work.export(settings, asked.thread, asked.format)) as parts:
        if asked.output is None:
            async for part in parts:
                print(part, end="")
            return Exit.DONE
        # Under its own name only once it is whole; a refusal leaves nothing.
        half = asked.output.with_name(f"{asked.output.name}.part")
        try:
            await _written(parts, half)
            await asyncio.to_thread(half.replace, asked.output)
        except OSError as error:
            _complain(text(locale, "cli.not_written", file=str(asked.output), reason=error.strerror or ""))
            return Exit.WRONG
        finally:
            with suppress(OSError):
                await asyncio.to_thread(half.unlink, missing_ok=True)
    return Exit.DONE


async def _written(parts: AsyncGenerator[str], file: Path) -> None:
    target = await asyncio.to_thread(file.open, "w", encoding="utf-8")
    try:
        async for part in parts:
            await asyncio.to_thread(target.write, part)
    finally:
        await asyncio.to_thread(target.close)


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
    for name, models in checked.floating.items():
        print(text(locale, "cli.prompt_floating", name=name, models=", ".join(models)))
    if checked.drift or checked.floating:
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


# --- evaluations ----------------------------------------------------------------------------------------------------


async def _evals(settings: Settings, asked: argparse.Namespace, work: Work, locale: str) -> Exit:
    return await EVALS[asked.act](settings, asked, work.evals, locale)


async def _list_evals(settings: Settings, asked: argparse.Namespace, work: EvalWork, locale: str) -> Exit:
    items = await work.listed(settings, asked.workspace, asked.prompt)
    for item in items:
        models = dict.fromkeys((item.baseline_model, item.candidate_model))
        print(
            text(
                locale,
                "cli.eval_item",
                id=item.run_id,
                prompt=item.prompt,
                baseline=item.baseline.version,
                candidate=item.candidate.version,
                models=" / ".join(models),
                status=text(locale, f"eval_run_status.{item.status}"),
                at=f"{item.started_at:%Y-%m-%d %H:%M}",
            )
        )
    if not items:
        print(text(locale, "cli.evals_none"))
    return Exit.DONE


async def _run_eval(settings: Settings, asked: argparse.Namespace, work: EvalWork, locale: str) -> Exit:
    ask = EvalAsk(
        prompt=asked.prompt,
        candidate=asked.candidate,
        baseline=asked.baseline,
        model=asked.model,
        candidate_model=asked.candidate_model,
        repeats=asked.repeats,
        acknowledged=asked.accept_training,
    )

    def tell(run_id: str, estimate: EvalEstimate) -> None:
        """Before the result, and not in its place: what is sent where, and what that costs."""
        for line in _estimate_lines(run_id, estimate, locale):
            _complain(line)

    return await _report(await work.run(settings, asked.workspace, ask, tell), asked, locale)


def _estimate_lines(run_id: str, estimate: EvalEstimate, locale: str) -> Iterator[str]:
    cost = "—" if estimate.cost_usd is None else money(estimate.cost_usd)
    yield text(
        locale,
        "cli.eval_estimate",
        id=run_id,
        eval_set=estimate.eval_set,
        cases=estimate.cases,
        calls=estimate.calls,
        most=estimate.most_calls,
        cost=cost,
    )
    for model in estimate.models:
        trains = text(locale, f"eval_trains.{model.trains_on_data}")
        yield text(locale, "cli.eval_model", model=model.alias, id=model.id, trains=trains)
        if not model.pinned:
            yield text(locale, "eval_gate.floating_model")
    for kind, count in estimate.masked.items():
        yield text(locale, "cli.eval_masked", kind=text(locale, kind), count=count)
    for warning in estimate.warnings:
        yield phrase(locale, warning)


async def _resume_eval(settings: Settings, asked: argparse.Namespace, work: EvalWork, locale: str) -> Exit:
    return await _report(await work.resume(settings, asked.workspace, asked.run), asked, locale)


async def _show_eval(settings: Settings, asked: argparse.Namespace, work: EvalWork, locale: str) -> Exit:
    return await _report(await work.shown(settings, asked.workspace, asked.run), asked, locale)


async def _report(page: EvalPage, asked: argparse.Namespace, locale: str) -> Exit:
    """The comparison as Markdown, and as a page where one is asked for; 1 while the gate is shut."""
    item = page.item
    if item.failure is not None:
        _complain(phrase(locale, item.failure))
    report = EvalReport(
        prompt=item.prompt,
        baseline=item.baseline.version,
        candidate=item.candidate.version,
        comparison=page.comparison,
        closed=page.closed,
    )
    print(markdown_report(report, locale))
    if asked.html is not None:
        document = await asyncio.to_thread(html_report, report, locale)
        try:
            await asyncio.to_thread(asked.html.write_text, document, encoding="utf-8")
        except OSError as error:
            _complain(text(locale, "cli.not_written", file=str(asked.html), reason=error.strerror or ""))
            return Exit.WRONG
    return Exit.WRONG if page.closed else Exit.DONE


EVALS: Mapping[str, Callable[[Settings, argparse.Namespace, EvalWork, str], Coroutine[None, None, Exit]]] = (
    MappingProxyType({"list": _list_evals, "run": _run_eval, "resume": _resume_eval, "show": _show_eval})
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
            "evals": _evals,
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
    _add_evals(commands["evals"], locale)
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


def _add_evals(parser: argparse.ArgumentParser, locale: str) -> None:
    parsers = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    acts = {name: parsers.add_parser(name, help=text(locale, f"cli.help_evals_{name}")) for name in EVALS}
    for name, act in acts.items():
        act.add_argument("--workspace", required=True, metavar="ID", help=text(locale, "cli.help_workspace"))
        if name != "list":
            act.add_argument("--html", type=Path, metavar="FILE", help=text(locale, "cli.help_html"))
    for name in ("resume", "show"):
        acts[name].add_argument("run", metavar="EVALUATION", help=text(locale, "cli.help_evaluation"))
    prompt = text(locale, "cli.help_prompt")
    acts["list"].add_argument("--prompt", default="", metavar="NAME", help=prompt)
    run = acts["run"]
    run.add_argument("--prompt", required=True, metavar="NAME", help=prompt)
    for option in ("candidate", "baseline"):
        run.add_argument(
            f"--{option}", default="", metavar="VERSION", help=text(locale, f"cli.help_{option}")
        )
    run.add_argument("--model", default="", metavar="ALIAS", help=text(locale, "cli.help_model"))
    run.add_argument(
        "--candidate-model", default="", metavar="ALIAS", help=text(locale, "cli.help_candidate_model")
    )
    run.add_argument(
        "--repeats", type=int, default=USUAL_REPEATS, metavar="N", help=text(locale, "cli.help_repeats")
    )
    run.add_argument("--accept-training", action="store_true", help=text(locale, "cli.help_accept_training"))
