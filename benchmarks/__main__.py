"""`python -m benchmarks [figure ...]`: measure, print the table, keep it. Ends with 1 when a promise was not kept."""

import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchmarks import ai_input, branch, departure, modes, start, streams
from benchmarks.figure import Figure, table

OUTPUT = Path(".artifacts/benchmarks.md")
FIGURES: Mapping[str, Callable[[], Awaitable[list[Figure]]]] = MappingProxyType(
    {
        "branch": branch.measure,
        "ai_input": ai_input.measure,
        "departure": departure.measure,
        "modes": modes.measure,
        "streams": streams.measure,
        "start": start.measure,
    }
)
NOTE = (
    "Medians or percentiles of many repeats; what is compared was measured in turn in the same run. "
    "Other work on the machine shows in the times, much less in the ratios."
)


async def _measured(names: Sequence[str]) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        figures += await FIGURES[name]()
    return figures


def main(arguments: Sequence[str]) -> int:
    unknown = [name for name in arguments if name not in FIGURES]
    if unknown:
        print(f"unknown figure {unknown[0]}; there are: {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    figures = asyncio.run(_measured(arguments or tuple(FIGURES)))
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    report = f"# Benchmarks\n\n{machine}. {NOTE}\n\n{table(figures)}\n"
    print(report)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(report, encoding="utf-8")
    return 1 if any(figure.kept is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
