"""Start of the command `promptflow`, also as `python -m bot`."""

import os
import sys
from pathlib import Path

from bot import evals, serve, wiring
from bot.cli import EvalWork, PromptWork, Work, command_line

WORK = Work(
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
"""Every command of the product, as it really does it."""


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    return command_line(sys.argv[1:], os.environ, Path.cwd(), WORK)


if __name__ == "__main__":
    sys.exit(main())
