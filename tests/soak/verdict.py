"""What a series did, judged by what the outside saw."""

from collections import Counter
from dataclasses import dataclass, fields
from itertools import pairwise
from statistics import median
from typing import Any

STEPS = ("first", "second", "left", "right")

Event = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    runs: int
    cut: int
    """Runs that more than one process worked on."""
    lost: int
    """Posts that never came."""
    doubled: int
    """Posts that came more than once."""
    disordered: int
    """Posts that came before a post which should precede them in their lane."""
    repeated: int
    """Model calls made again though their result was kept."""
    in_window: int
    """Model calls made again because the process died between the answer and keeping it: not avoidable."""
    begun_again: int
    """Model calls made again because the process died before the answer."""
    resumed_p50_s: float
    resumed_max_s: float
    """From the last sign of a killed process in a run to the first sign of the next one."""

    def __str__(self) -> str:
        return "  ".join(f"{field.name}={getattr(self, field.name):g}" for field in fields(self))


def judge(events: list[Event], runs: list[tuple[str, str]]) -> Verdict:
    posts = [event for event in events if event["op"] == "post"]
    expected = {f"{run_id}/{step}" for run_id, _ in runs for step in STEPS}
    times = Counter(event["key"] for event in posts)
    gaps = _gaps(events)
    repeated, in_window, begun_again = _repeats(events)
    return Verdict(
        runs=len(runs),
        cut=len({run_id for run_id, _ in gaps}),
        lost=len(expected - times.keys()),
        doubled=sum(count - 1 for count in times.values()),
        disordered=_disordered(posts, runs),
        repeated=repeated,
        in_window=in_window,
        begun_again=begun_again,
        resumed_p50_s=median([gap for _, gap in gaps] or [0.0]),
        resumed_max_s=max([gap for _, gap in gaps] or [0.0]),
    )


def _disordered(posts: list[Event], runs: list[tuple[str, str]]) -> int:
    count = 0
    for lane in {lane for _, lane in runs}:
        should = [f"{run_id}/{step}" for run_id, of in runs if of == lane for step in STEPS]
        places = [should.index(event["key"]) for event in posts if event["lane"] == lane]
        count += sum(later < earlier for earlier, later in pairwise(places))
    return count


def _repeats(events: list[Event]) -> tuple[int, int, int]:
    state: dict[tuple[str, str], str] = {}
    counts = Counter[str]()
    for event in events:
        if event["op"] in {"ask", "answered", "kept"}:
            call = (event["run"], event["step"])
            if event["op"] == "ask" and call in state:
                counts[state[call]] += 1
            # A call that was kept once stays kept, whatever a process that died late still sends.
            if state.get(call) != "kept":
                state[call] = event["op"]
    return counts["kept"], counts["answered"], counts["ask"]


def _gaps(events: list[Event]) -> list[tuple[str, float]]:
    last: dict[str, Event] = {}
    gaps: list[tuple[str, float]] = []
    for event in events:
        before = last.get(event["run"])
        if before is not None and before["pid"] != event["pid"]:
            gaps.append((event["run"], event["at"] - before["at"]))
        last[event["run"]] = event
    return gaps
