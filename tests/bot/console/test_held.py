"""Files that wait with a form: for one person, for a while, and never without bound."""

from datetime import timedelta

from bot.console.held import KEPT_FOR, MOST_BYTES, HeldFiles
from core.commands.say import Upload
from tests.product import SteppingClock


def upload(name: str, size: int = 1) -> Upload:
    return Upload(name=name, media_type="text/plain", data=b"x" * size)


def test_files_wait_for_the_person_who_gave_them_alone() -> None:
    held = HeldFiles(SteppingClock())
    token = held.hold("aki", (upload("a"),))
    assert held.of("aki", token) == (upload("a"),)
    assert held.of("ben", token) is None
    assert held.of("aki", "unheard") is None


def test_files_that_nobody_asked_for_go_after_their_time() -> None:
    clock = SteppingClock()
    held = HeldFiles(clock)
    old = held.hold("aki", (upload("a"),))
    clock.advance(KEPT_FOR / 2)
    new = held.hold("aki", (upload("b"),))
    clock.advance(KEPT_FOR / 2 + timedelta(seconds=1))
    assert held.of("aki", old) is None
    assert held.of("aki", new) is not None


def test_where_too_much_waits_the_oldest_goes_first() -> None:
    held = HeldFiles(SteppingClock())
    third = MOST_BYTES // 3
    tokens = [held.hold("aki", (upload("a", third),)) for _ in range(4)]
    assert [held.of("aki", token) is not None for token in tokens] == [False, True, True, True]
