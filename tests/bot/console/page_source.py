"""A look at a page as a browser parses it: elements with attributes and text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "input", "img", "br", "hr", "path", "rect", "line", "circle"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    """Its own text and that of everything inside it."""
    inside: list[str] = field(default_factory=list)
    """Tags around it, outermost first."""

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


class PageSource(HTMLParser):
    """Parses a page or a fragment; fails on a tag that is not closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        if self._open:
            raise AssertionError(f"not closed: {[one.tag for one in self._open]}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(
            tag, {name: value or "" for name, value in attrs}, inside=[one.tag for one in self._open]
        )
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1].tag != tag:
            raise AssertionError(f"</{tag}> closes {[one.tag for one in self._open]}")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            one
            for one in self.elements
            if one.tag == tag and all(one.attributes.get(name) == value for name, value in wanted.items())
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {attributes}"
        return found[0]

    def chosen(self) -> dict[str, str]:
        """What every choice stands at, as a browser would send it."""
        values: dict[str, str] = {}
        name = ""
        for one in self.elements:
            if one.tag == "select":
                name = one.attributes["name"]
            elif (
                one.tag == "option"
                and "select" in one.inside
                and (name not in values or "selected" in one.attributes)
            ):
                values[name] = one.attributes["value"]
        return values

    def fields(self) -> dict[str, str]:
        """What a browser would send of all forms of the page together."""
        sent = {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in self.all("input")
            if one.attributes.get("type") != "checkbox" or "checked" in one.attributes
        }
        texts = {one.attributes["name"]: one.text.removeprefix("\n") for one in self.all("textarea")}
        return {**sent, **texts, **self.chosen()}

    @property
    def text(self) -> str:
        return self.elements[0].text if self.elements else ""
