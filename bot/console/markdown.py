"""Markdown of people and models as HTML that is safe to show.

Text is data: HTML in it is shown as text, images are never loaded, links lead only to the web or a mail program, and
characters that turn the reading direction are shown by their code and cannot turn what stands around them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

LINK_SCHEMES: Final = frozenset({"http", "https", "mailto"})
LANGUAGE: Final = re.compile(r"[\w+#.-]{1,24}")
DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Unicode's explicit directional formatting characters (Unicode 16, annex 9, table 2)."""

DIFF_LINES: Final = {"+": "added", "-": "removed", "@": "hunk"}
"""What a line of a difference is, by its first character."""

LINE_END: Final = re.compile(r"\r\n?|\n")
CACHED_TEXTS: Final = 512
HEADING_SHIFT: Final = 2
"""A page has h1 and h2 of its own; a heading inside a message starts at h3."""


def visible(text: str) -> Markup:
    """`text` escaped, with direction characters marked; copying it gives back exactly `text`."""
    return Markup(  # noqa: S704  every piece is escaped before it is joined
        DIRECTION.sub(
            lambda found: f'<span class="ctl" data-code="U+{ord(found[0]):04X}">{found[0]}</span>',
            str(escape(text)),
        )
    )


class SafeHtml(RendererHTML):
    """The renderer rules that differ from the usual ones. `copy_label` names the button over a code block."""

    copy_label = ""
    image_label = ""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return str(visible(tokens[idx].content))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{visible(tokens[idx].content)}</code>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        found = LANGUAGE.match(tokens[idx].info.strip())
        return self._code(tokens[idx].content, found[0] if found else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self._code(tokens[idx].content, "")

    def _code(self, content: str, language: str) -> str:
        kind, shown = ("code diff", _diff(content)) if language == "diff" else ("code", visible(content))
        return (
            f'<figure class="{kind}"><figcaption><span>{visible(language)}</span>'
            f'<button type="button" class="quiet" data-copy>{escape(self.copy_label)}</button></figcaption>'
            f'<pre tabindex="0"><code>{shown}</code></pre></figure>\n'
        )

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        tokens[idx].attrSet("rel", "noopener noreferrer nofollow")
        tokens[idx].attrSet("target", "_blank")
        return self.renderToken(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        source = escape(str(tokens[idx].attrGet("src") or ""))
        name = visible(tokens[idx].content or self.image_label)
        return (
            f'<a class="image" href="{source}" rel="noopener noreferrer nofollow" target="_blank">'
            f"{escape(self.image_label)}: {name}</a>"
        )

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<{_heading(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</{_heading(tokens[idx])}>\n"

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def _cell(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        style = str(tokens[idx].attrGet("style") or "")
        side = style.partition(":")[2]
        return f'<{tokens[idx].tag} class="{side}">' if side else f"<{tokens[idx].tag}>"

    td_open = _cell
    th_open = _cell


def _diff(content: str) -> Markup:
    """The lines of a difference, each with a class for what it is; the text stays what it was."""
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(DIFF_LINES.get(line[:1], "same"), visible(line))
        for line in content.splitlines(keepends=True)
    )


def _heading(token: Token) -> str:
    return f"h{min(int(token.tag[1]) + HEADING_SHIFT, 6)}"


def _leads_outside(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme.lower() in LINK_SCHEMES
    except ValueError:
        return False


class Markdown:
    """Converts the Markdown of one language's page; keeps the last conversions, since pages repeat their messages."""

    def __init__(self, *, copy_label: str, image_label: str) -> None:
        self._parser = MarkdownIt(
            "commonmark", {"html": False, "breaks": True}, renderer_cls=SafeHtml
        ).enable(["table", "strikethrough"])
        renderer: Any = self._parser.renderer
        renderer.copy_label = copy_label
        renderer.image_label = image_label
        parser: Any = self._parser
        parser.validateLink = _leads_outside
        self._convert = lru_cache(maxsize=CACHED_TEXTS)(self._parser.render)

    def html(self, text: str) -> Markup:
        """`text` as HTML. Safe to call from several threads."""
        return Markup(self._convert(text))  # noqa: S704  the parser escapes all text; html is off

    def blocks(self, text: str, links: dict[str, Any]) -> tuple[Markup, int, Markup]:
        """The blocks of `text` that more text cannot change, as HTML; how many characters they take; the rest as HTML.

        `links` holds the link definitions met so far and takes those of `text`.
        """
        tokens = self._parser.parse(text, links)
        begins = [n for n, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
        line_ends = [found.end() for found in LINE_END.finditer(text)]
        lines = [(tokens[n].map or [0])[0] for n in begins]
        # A line that is not complete may still turn out to belong to the block before it.
        last = len(begins) - (2 if lines and lines[-1] >= len(line_ends) else 1)
        if last <= 0 or not lines[last]:
            return Markup(), 0, Markup(self._rendered(tokens, links))  # noqa: S704  as above
        head, rest = (
            self._rendered(some, links) for some in (tokens[: begins[last]], tokens[begins[last] :])
        )
        return Markup(head), line_ends[lines[last] - 1], Markup(rest)  # noqa: S704  as above

    def _rendered(self, tokens: Sequence[Token], links: dict[str, Any]) -> str:
        return str(self._parser.renderer.render(tokens, self._parser.options, links))
