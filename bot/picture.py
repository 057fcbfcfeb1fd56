"""Bar charts as a PNG, drawn with Pillow, which is loaded with the first picture: no start should wait for it.

The library's own font holds Latin letters only: a bar is labelled with a day or a short key, and names stand in the
message beside the picture. The ground is opaque, so that the picture reads the same in a light and a dark client.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

WIDTH: Final = 960
BAND: Final = 240
TOP: Final = 52
MARGIN: Final = 28
GUTTER: Final = 40
HEADROOM: Final = 44
"""Above the highest bar, for its value."""
FOOTROOM: Final = 34
"""Below the bars, for their labels."""
WIDEST_BAR: Final = 56
LABELLED: Final = 10
"""Up to so many bars each has its value and label; of more, the highest has its value and some have their label."""
LABELS: Final = 5

GROUND: Final = "#ffffff"
BORDER: Final = "#d0d7de"
INK: Final = "#1f2328"
FAINT: Final = "#59636e"
COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#332288", "#882255", "#44779a", "#59636e",
)  # fmt: skip
"""Told apart also by people who see few colours; each at least 3 to 1 against the ground. The last is for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    label: str
    """Latin letters and digits only."""
    usd: float
    tokens: int
    colour: int
    """Place in `COLOURS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pen:
    at: "ImageDraw"
    large: "FreeTypeFont | ImageFont"
    small: "FreeTypeFont | ImageFont"


def draw(bands: Sequence[Sequence[Bar]]) -> bytes:
    """A PNG with one band below another, each with the money of its bars on the left and their tokens on the right."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - see above

    image = Image.new("RGB", (WIDTH, TOP + BAND * len(bands) + MARGIN), GROUND)
    large, small = ImageFont.load_default(22), ImageFont.load_default(18)
    pen = _Pen(at=ImageDraw.Draw(image), large=large, small=small)
    pen.at.rectangle((0, 0, image.width - 1, image.height - 1), outline=BORDER)
    width = (WIDTH - 2 * MARGIN - GUTTER) / 2
    columns = ((MARGIN, "USD"), (MARGIN + width + GUTTER, "tokens"))
    for left, title in columns:
        pen.at.text((left, 16), title, fill=INK, font=pen.large)
    for number, bars in enumerate(bands):
        top = TOP + BAND * number
        for (left, _), values, say in (
            (columns[0], [bar.usd for bar in bars], _money),
            (columns[1], [float(bar.tokens) for bar in bars], _count),
        ):
            shown = [(bar, value, say(value)) for bar, value in zip(bars, values, strict=True)]
            _panel(pen, left, top, width, shown)
    data = io.BytesIO()
    image.save(data, format="PNG", optimize=True)
    return data.getvalue()


def _panel(pen: _Pen, left: float, top: float, width: float, shown: Sequence[tuple[Bar, float, str]]) -> None:
    ground, height = top + BAND - FOOTROOM, BAND - FOOTROOM - HEADROOM
    pen.at.line((left, ground, left + width, ground), fill=BORDER, width=2)
    highest = max((value for _, value, _ in shown), default=0.0)
    step = width / max(len(shown), 1)
    thick = min(step * 0.7, WIDEST_BAR)
    every = 1 if len(shown) <= LABELLED else -(-len(shown) // LABELS)
    peak = next((n for n, (_, value, _) in enumerate(shown) if value == highest), 0)
    for number, (bar, value, said) in enumerate(shown):
        middle = left + step * (number + 0.5)
        tall = height * value / highest if highest else 0.0
        if tall:
            box = (middle - thick / 2, ground - max(tall, 2.0), middle + thick / 2, ground - 1)
            pen.at.rectangle(box, fill=COLOURS[bar.colour % len(COLOURS)])
        if number % every == 0:
            place = min(max(middle, left + 24), left + width - 24)
            pen.at.text((place, ground + 8), bar.label, fill=INK, font=pen.small, anchor="ma")
        if every == 1 or (number == peak and highest):
            place = min(max(middle, left + 30), left + width - 30)
            pen.at.text((place, ground - tall - 8), said, fill=FAINT, font=pen.small, anchor="mb")


def _money(usd: float) -> str:
    if usd >= 100 or usd == 0:
        return f"${usd:,.0f}"
    return f"${usd:.2f}" if usd >= 0.01 else f"${usd:.2g}"


def _count(tokens: float) -> str:
    for unit, sign in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= unit:
            return f"{tokens / unit:.3g}{sign}"
    return f"{tokens:.0f}"
