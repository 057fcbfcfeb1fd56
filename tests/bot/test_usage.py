"""Usage as a picture with keys: what is drawn, what the keys stand for, and that no start waits for it."""

import io
import subprocess
import sys

from PIL import Image

from bot.usage import KEYED, Usage, alternative, draw_usage, legend, model_key, person_key
from core.domain.view import UsageLine
from core.i18n import LOCALES
from tests.examples.views import HOSTILE


def line(label: str, usd: float = 1.0, tokens: int = 100) -> UsageLine:
    return UsageLine(
        label=label, calls=1, input_tokens=tokens, output_tokens=0, cost_usd=usd, unpriced_calls=0
    )


def usage(models: int = 2, people: int = 2, *days: UsageLine) -> Usage:
    return Usage(
        days=days or (line("2026-11-01"), line("2026-11-30")),
        models=tuple(line(f"model-{n}") for n in range(models)),
        people=tuple(line(f"陽子{n}") for n in range(people)),
    )


async def picture(found: Usage) -> Image.Image:
    return Image.open(io.BytesIO(await draw_usage(found)))


def ink(image: Image.Image, colour: tuple[int, int, int], box: tuple[int, int, int, int]) -> int:
    """How many points of a part have a colour."""
    return sum(count for count, found in image.crop(box).getcolors(1_000_000) or () if found == colour)


BLUE, ORANGE, GREY = (0, 0x72, 0xB2), (0xD5, 0x5E, 0), (0x59, 0x63, 0x6E)


async def test_bars_are_as_high_as_what_they_stand_for_money_left_and_tokens_right() -> None:
    days = line("2026-11-01", usd=4.0, tokens=100), line("2026-11-02", usd=1.0, tokens=400)
    image = await picture(Usage(days=days, models=(line("a"),), people=(line("b"),)))
    assert image.format == "PNG"
    assert image.mode == "RGB"
    band = (0, 52, 960, 292)
    first = (band[0], band[1], 240, band[3]), (480, band[1], 720, band[3])
    second = (240, band[1], 480, band[3]), (720, band[1], 960, band[3])
    money, tokens = [ink(image, BLUE, box) for box in first]
    money_2, tokens_2 = [ink(image, BLUE, box) for box in second]
    assert 3.8 < money / money_2 < 4.2
    assert 3.8 < tokens_2 / tokens < 4.2


async def test_each_key_has_its_colour_and_the_rest_is_one_grey_bar() -> None:
    few, many = await picture(usage(2, 1)), await picture(usage(KEYED + 3, 1))
    models = (0, 292, 960, 532)
    assert ink(few, ORANGE, models) > 1_000
    # Grey is the ink of numbers too, so that a bar shows in the amount.
    assert ink(many, GREY, models) > ink(few, GREY, models) + 3_000


async def test_days_without_a_call_leave_a_gap() -> None:
    days = line("2026-11-01"), line("2026-11-03")
    image = await picture(usage(1, 1, *days))
    third = 433 // 3
    gap = (28 + third + 5, 100, 28 + 2 * third - 5, 250)
    assert ink(image, BLUE, gap) == 0
    assert ink(image, BLUE, (0, 52, 480, 290)) > 1_000


async def test_the_ground_is_the_same_in_light_and_dark_and_everything_on_it_is_told_apart() -> None:
    image = await picture(usage())
    assert image.getpixel((5, 5)) == (255, 255, 255)


async def test_nothing_but_zeros_hostile_names_and_a_year_of_days_can_be_drawn() -> None:
    await draw_usage(
        Usage(days=(line("2026-11-30", 0.0, 0),), models=(line("", 0.0, 0),), people=(line(HOSTILE),))
    )
    long = usage(40, 40, *(line(f"2026-{month:02}-{day:02}") for month in range(1, 13) for day in (1, 28)))
    assert len(await draw_usage(long)) < 200_000


def test_the_legend_names_keys_in_the_order_of_the_bars() -> None:
    models, people = legend(usage(KEYED + 3, 2), "en")
    assert models == "Models: " + " · ".join(f"{n + 1} model-{n}" for n in range(KEYED)) + " · + 3 more"
    assert people == "People: A 陽子0 · B 陽子1"
    assert [model_key(KEYED - 1), model_key(KEYED), person_key(KEYED)] == [str(KEYED), "+", "+"]
    assert legend(usage(1, KEYED + 1), "ja")[1].endswith("+ 他1件")


def test_a_very_long_name_is_cut_in_the_legend() -> None:
    (models, _) = legend(Usage(days=(), models=(line("x" * 500),), people=()), "en")
    assert models == "Models: 1 " + "x" * 39 + "…"


def test_what_the_picture_says_is_told_within_the_platforms_limits() -> None:
    for locale in LOCALES:
        told = alternative(usage(), locale)
        assert "200" in told
        assert "$2.00" in told
        assert len(told) <= 1_000


def test_no_start_waits_for_the_drawing_library() -> None:
    script = "import sys, bot.wiring, bot.usage; print('PIL' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
