"""What the engine needs to be told, decided once at start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Times are seconds."""

    url: str
    """Database of the engine alone: `sqlite:///…` for one machine, `postgresql://…` for several."""
    lease_ttl_s: float = 15.0
    """A process silent for longer counts as dead. Must exceed the longest single call to a chat platform."""
    poll_s: float = 0.25
    """How often a queue is looked at; a run enqueued in this process starts earlier than that."""
    drain_s: float = 25.0
    """How long runs may go on after the order to stop, before they are parked for the next process."""
    lanes_at_once: int = 50
    batch_at_once: int = 2
    keep_finished_days: float = 7.0
    call_deadline_s: float = 5.0
    """How long a command may wait for the engine's database."""
    send_tries: int = 6
    send_backoff_s: float = 1.0
    """First pause before a post is tried again; doubles each time, a platform's own `retry_after_s` wins if longer."""
    max_starts: int = 25
    """A run that was begun this often and never ended, because each time its process died, is given up."""
    stop_check_s: float = 0.2
    """How often a Stop pressed in another process is looked for while runs are going on."""
    stranded_after_s: float = 5.0
    """A run claimed by this process begins within milliseconds; one that has not by then was lost on the way."""
    sweep_check_s: float = 1.0
    """How often due sweeps are looked for."""

    @property
    def beat_s(self) -> float:
        """Pause between two renewals of the lease: four may fail before it ends."""
        return self.lease_ttl_s / 5

    @property
    def look_s(self) -> float:
        """Pause between two looks for runs of dead processes."""
        return min(self.lease_ttl_s / 5, 0.5)
