"""A bar chart as SVG markup. Geometry stands in attributes, colours in the style sheet."""

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup, escape

BARS_SHOWN: Final = 31
"""The newest ones; a month of days."""
WIDTH: Final = 640
HEIGHT: Final = 180
GROUND: Final = 150
TOP: Final = 18
WIDEST_BAR: Final = 56
LABEL_CHARS: Final = 10
LABELS_SHOWN: Final = 8


def bar_chart(bars: Mapping[str, tuple[float, str]], *, title: str) -> Markup:
    """Bars in the order given, each with its value as text; the highest fills the height."""
    shown = list(bars.items())[-BARS_SHOWN:]
    highest = max((value for _, (value, _) in shown), default=0.0) or 1.0
    step = WIDTH / max(len(shown), 1)
    width = min(step * 0.7, WIDEST_BAR)
    every = -(-len(shown) // LABELS_SHOWN)
    parts = []
    for index, (label, (value, text)) in enumerate(shown):
        height = (GROUND - TOP) * value / highest
        middle = step * (index + 0.5)
        parts.append(
            Markup('<g><title>{}: {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="3"/>').format(
                label,
                text,
                f"{middle - width / 2:.1f}",
                f"{GROUND - height:.1f}",
                f"{width:.1f}",
                f"{height:.1f}",
            )
        )
        if index % every == 0:
            short = label if len(label) <= LABEL_CHARS else label[: LABEL_CHARS - 1] + "…"
            parts.append(Markup('<text x="{}" y="{}">{}</text>').format(f"{middle:.1f}", GROUND + 18, short))
            parts.append(
                Markup('<text class="value" x="{}" y="{}">{}</text>').format(
                    f"{middle:.1f}", f"{GROUND - height - 5:.1f}", text
                )
            )
        parts.append(Markup("</g>"))
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="xMidYMid meet">'
        '<line x1="0" y1="{}" x2="{}" y2="{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, title, GROUND, WIDTH, GROUND, Markup("").join(parts) if parts else escape(""))
