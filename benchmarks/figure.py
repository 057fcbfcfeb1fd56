"""One measured figure, and the table of them."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEAD = ("figure", "measured", "compared with", "ratio", "bound", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A line of the table."""

    what: str
    measured: str
    compared: str = ""
    """What stands against it, measured in the same run."""
    ratio: float | None = None
    """Measured over compared."""
    bound: str = ""
    """What is promised; empty where the figure is only reported."""
    kept: bool | None = None
    """Whether the promise was kept; None where there is none."""

    @property
    def verdict(self) -> str:
        return {None: "", True: "ok", False: "over"}[self.kept]


def bounded(what: str, measured_s: float, compared_s: float, *, against: str, at_most: float) -> Figure:
    """A time that may be at most `at_most` times another one of the same run."""
    ratio = measured_s / compared_s
    return Figure(
        what=what,
        measured=milliseconds(measured_s),
        compared=f"{milliseconds(compared_s)} {against}",
        ratio=ratio,
        bound=f"≤ {at_most:g} ×",
        kept=ratio <= at_most,
    )


def milliseconds(seconds: float) -> str:
    """Three significant digits, no more than a thousandth of a millisecond."""
    value = seconds * 1000
    digits = max(0, min(3, 2 - math.floor(math.log10(value)))) if value > 0 else 0
    return f"{value:,.{digits}f} ms"


def megabytes(count: float) -> str:
    return f"{count / 1_000_000:,.0f} MB"


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def table(figures: Iterable[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = [HEAD, tuple("---" for _ in HEAD)]
    lines += [
        (f.what, f.measured, f.compared, f"{f.ratio:.2f}" if f.ratio is not None else "", f.bound, f.verdict)
        for f in figures
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
