import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ai_input.window import WINDOW_MESSAGES, WINDOW_TOKENS, Selection, select
from core.domain.message import Message
from core.domain.receipt import CapApplied
from tests.ai_input.conversation import message, read_window, talk


def selected(tokens: list[int], erased: frozenset[int] = frozenset()) -> Selection:
    """The window over messages numbered from 1 that cost these tokens each."""
    messages = [message(n, "", erased=n in erased) for n in range(1, len(tokens) + 1)]
    cost = {m.id: t for m, t in zip(messages, tokens, strict=True)}
    return select(read_window(messages), lambda m: cost[m.id])


def positions(selection: Selection) -> list[int]:
    return [entry.position for entry in selection.history]


def test_an_empty_conversation_sends_no_history() -> None:
    assert selected([]) == Selection(first=None, history=(), omitted=0, erased=0)


def test_twenty_messages_are_sent_whole_with_the_first_among_them() -> None:
    selection = selected([10] * 20)
    assert positions(selection) == list(range(1, 21))
    assert (selection.first, selection.omitted, selection.caps) == (None, 0, ())


def test_of_twenty_one_messages_the_first_is_kept_apart_and_none_is_omitted() -> None:
    selection = selected([10] * 21)
    assert positions(selection) == list(range(2, 22))
    assert selection.first is not None
    assert selection.first.id == "m1"
    assert (selection.omitted, selection.caps) == (0, ())


def test_of_twenty_two_messages_one_is_omitted_and_the_cap_is_named() -> None:
    selection = selected([10] * 22)
    assert positions(selection) == list(range(3, 23))
    assert selection.omitted == 1
    assert selection.caps == (CapApplied(name="window_messages", limit=20, had=21, kept=20),)


def test_exactly_twelve_thousand_tokens_are_inside() -> None:
    selection = selected([4_000, 4_000, 4_000])
    assert positions(selection) == [1, 2, 3]
    assert selection.caps == ()


def test_one_token_more_moves_the_first_message_apart() -> None:
    selection = selected([4_001, 4_000, 4_000])
    assert positions(selection) == [2, 3]
    assert selection.first is not None
    assert selection.omitted == 0
    assert selection.caps == (CapApplied(name="window_tokens", limit=12_000, had=12_001, kept=8_000),)


def test_the_tokens_leave_out_the_oldest_first() -> None:
    selection = selected([10, 6_000, 10, 6_000, 6_000])
    assert positions(selection) == [4, 5]
    assert selection.omitted == 2


def test_a_newest_message_over_the_tokens_is_left_out_with_all_older_ones() -> None:
    selection = selected([10, 10, 12_001])
    assert positions(selection) == []
    assert selection.first is not None
    assert selection.omitted == 2


def test_a_newest_message_that_is_also_the_first_and_too_large_is_kept_apart() -> None:
    selection = selected([12_001])
    assert (positions(selection), selection.omitted) == ([], 0)
    assert selection.first is not None


def test_both_caps_are_named_when_both_cut() -> None:
    selection = selected([1_000] * 30)
    assert positions(selection) == list(range(19, 31))
    assert selection.omitted == 17
    assert [cap.name for cap in selection.caps] == ["window_messages", "window_tokens"]


def test_an_erased_message_is_not_sent_and_not_counted_as_omitted() -> None:
    selection = selected([10] * 5, erased=frozenset({3}))
    assert positions(selection) == [1, 2, 4, 5]
    assert (selection.omitted, selection.erased) == (0, 1)


def test_an_erased_first_message_is_not_kept() -> None:
    selection = selected([10] * 25, erased=frozenset({1}))
    assert selection.first is None
    assert (selection.omitted, selection.erased) == (4, 1)


def test_more_entries_than_the_window_allows_are_cut_even_if_the_store_hands_them_over() -> None:
    messages = talk(30)
    selection = select(read_window(messages, newest=25), lambda _: 1)
    assert positions(selection) == list(range(11, 31))


sizes = st.lists(st.integers(min_value=4, max_value=WINDOW_TOKENS + 1), max_size=60)


@given(sizes, st.sets(st.integers(min_value=1, max_value=60)))
def test_the_window_holds_its_bounds_and_accounts_for_every_message(
    tokens: list[int], erased: set[int]
) -> None:
    gone = frozenset(n for n in erased if n <= len(tokens))
    selection = selected(tokens, gone)
    sent = positions(selection)
    reach = [n for n in range(max(1, len(tokens) - WINDOW_MESSAGES + 1), len(tokens) + 1) if n not in gone]

    assert len(sent) <= WINDOW_MESSAGES
    assert sum(tokens[n - 1] for n in sent) <= WINDOW_TOKENS
    assert sent == reach[len(reach) - len(sent) :]
    if len(sent) < len(reach):
        next_older = reach[len(reach) - len(sent) - 1]
        assert sum(tokens[n - 1] for n in [next_older, *sent]) > WINDOW_TOKENS
    kept_first = 1 not in sent and 1 not in gone and bool(tokens)
    assert (selection.first is not None) is kept_first
    assert len(sent) + kept_first + selection.omitted + selection.erased == len(tokens)


def test_dropping_the_oldest_never_loses_the_first_message() -> None:
    selection = selected([10, 10])
    smaller = selection.without_oldest()
    assert smaller.first == message(1, "")
    assert smaller.omitted == 0
    assert smaller.without_oldest().omitted == 1


@pytest.mark.parametrize("total", [100, 100_000])
def test_the_cost_does_not_grow_with_the_conversation(total: int) -> None:
    asked: list[Message] = []

    def tokens_of(one: Message) -> int:
        asked.append(one)
        return 10

    window = read_window(talk(total))
    assert select(window, tokens_of).omitted == total - 21
    assert len(asked) == 20
