from bot.console.chart import BARS_SHOWN, bar_chart
from tests.bot.console.page_source import PageSource
from tests.examples.views import HOSTILE


def test_the_highest_bar_fills_the_height_and_others_are_in_proportion() -> None:
    page = PageSource(str(bar_chart({"a": (1.0, "$1"), "b": (4.0, "$4")}, title="Cost")))
    heights = [float(bar.attributes["height"]) for bar in page.all("rect")]
    assert heights[0] * 4 == heights[1]
    assert page.one("svg").attributes["aria-label"] == "Cost"


def test_only_the_newest_bars_are_drawn() -> None:
    bars = {f"day {day}": (float(day), str(day)) for day in range(BARS_SHOWN + 5)}
    assert len(PageSource(str(bar_chart(bars, title="t"))).all("rect")) == BARS_SHOWN


def test_bars_without_a_value_have_no_height() -> None:
    page = PageSource(str(bar_chart({"a": (0.0, "0")}, title="t")))
    assert page.one("rect").attributes["height"] == "0.0"


def test_no_bars_are_an_empty_chart() -> None:
    assert PageSource(str(bar_chart({}, title="t"))).all("rect") == []


def test_a_hostile_label_stays_text_and_no_style_attribute_is_needed() -> None:
    page = PageSource(str(bar_chart({HOSTILE: (1.0, HOSTILE)}, title=HOSTILE)))
    assert {one.tag for one in page.elements} == {"svg", "line", "g", "title", "rect", "text"}
    assert not any("style" in one.attributes for one in page.elements)
