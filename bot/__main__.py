"""Start of the command `promptflow`, also as `python -m bot`."""

import os
import sys
from pathlib import Path

from bot import evals, serve, wiring
from bot.cli import EvalWork, PromptWork, Work, command_line


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    work = Work(
        serve=serve.run,
        migrate=wiring.migrate_database,
        export=wiring.export_thread,
        erase=wiring.erase_person,
        sync_discord=wiring.sync_discord,
        prompts=PromptWork(
            export=wiring.export_prompts,
            take_in=wiring.import_prompts,
            check=wiring.check_prompts,
            snapshot=wiring.snapshot_prompts,
        ),
        evals=EvalWork(listed=evals.listed, shown=evals.shown, run=evals.run, resume=evals.resume),
        probes=wiring.PROBES,
    )
    return command_line(sys.argv[1:], os.environ, Path.cwd(), work)


if __name__ == "__main__":
    sys.exit(main())
