"""Waiting for the engine's threads, also for one that is only just being started."""

import threading

import pytest

from core.engine import host


def test_a_thread_that_is_being_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = threading.Thread(name="queue-worker-new", target=lambda: None)
    looks = 0

    def threads() -> list[threading.Thread]:
        nonlocal looks
        looks += 1
        if looks == 2:
            starting.start()
        return [starting] if looks < 3 or starting.is_alive() else []

    monkeypatch.setattr(threading, "enumerate", threads)
    host._join_threads("queue-worker-")
    assert looks >= 3
    assert not starting.is_alive()
