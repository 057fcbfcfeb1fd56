"""The demo models: offline, scripted, plainly labelled. They tell what reached them.

Whoever tries the product without a key sees with their own eyes what a model receives, so every number is counted
from the AI input of this very call, and nothing else is looked at. The same input gives the same answer. No answer
holds a model's name: it would give the author away where names are hidden.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from core.ai_input.estimate import estimate_parts, estimate_tokens
from core.domain.receipt import AiInput, Finish, InputPart, Origin, Role, Usage
from core.i18n import text
from core.llm.catalogue import Model
from core.llm.demo_modes import Reading, mode_text, structured_answer
from core.ports import Done, ModelCall, ModelEvent, Started, TextDelta

GIST_CHARS: Final = 160

# The labels and fences of the AI input; no text from outside can hold these brackets.
_LABEL: Final = re.compile(r"\s*⟦(?:person|program): ([^⟧]*)⟧\s*")
_FILE: Final = re.compile(r"⟦data \w+: attached file ([^⟧]+), \d+ bytes⟧")
_UNREAD: Final = re.compile(
    r"⟦note: the (?:attached file ([^⟧]+), \d+ bytes,|image ([^⟧]+)) was not read: [^⟧]*⟧"
)
_NUMBER: Final = re.compile(r"\d+")
_JAPANESE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
# A word with the blanks after it; text without blanks between words goes in small pieces.
_WORD: Final = re.compile(r"[\x21-\x7e]+\s*|[^\x21-\x7e\s]{1,4}\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSettings:
    word_s: float = 0.02
    """Pause before each word."""


async def stream_demo(model: Model, call: ModelCall, settings: DemoSettings) -> AsyncGenerator[ModelEvent]:
    """Events of one call to a demo model, as `ModelGateway.stream` gives them. Never fails."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    yield Started(queued_s=0.0)
    answer = _answer(model, call.ai_input)
    first_delta_s = 0.0
    for word in _WORD.findall(answer):
        await asyncio.sleep(settings.word_s)
        first_delta_s = first_delta_s or loop.time() - begun
        yield TextDelta(text=word)
    usage = Usage(
        input_tokens=estimate_parts(call.ai_input.parts),
        output_tokens=estimate_tokens(answer),
        estimated=True,
        cost_usd=0.0,
    )
    yield Done(
        finish=Finish.STOP,
        usage=usage,
        reported_model_id=model.id,
        first_delta_s=first_delta_s,
        total_s=loop.time() - begun,
    )


def _answer(model: Model, ai_input: AiInput) -> str:
    habit = model.id.partition("/")[2]
    if ai_input.output_schema is not None:
        data = structured_answer(habit, ai_input.parts, ai_input.output_schema)
        return json.dumps(data, ensure_ascii=False, indent=1)
    return mode_text(habit, ai_input.parts) or demo_answer(model, ai_input.parts)


def demo_answer(model: Model, parts: tuple[InputPart, ...]) -> str:
    """The answer in Chat and Compare: label, what came, the model's habit. In Japanese to a request in Japanese."""
    report = _Report(parts)
    habit = model.id.partition("/")[2]
    received = "\n".join(f"- {line}" for line in report.lines())
    return "\n\n".join(
        [
            report.say("label"),
            f"{report.say('received', count=len(parts))}\n{received}",
            report.say(habit),
            report.say("advice"),
        ]
    )


class _Report:
    """What the parts of one AI input hold, in words."""

    def __init__(self, parts: tuple[InputPart, ...]) -> None:
        self._parts = parts
        request = self._text(Origin.REQUEST)
        self._locale = "ja" if _JAPANESE.search(request) else "en"

    def say(self, name: str, **fields: str | int) -> str:
        return text(self._locale, f"demo.{name}", **fields)

    def lines(self) -> list[str]:
        return [
            self._system(),
            *(self._handover() or [self._first()]),
            self._omitted(),
            self._history(),
            *self._files(),
            self._request(),
        ]

    def _of(self, origin: Origin) -> list[InputPart]:
        return [part for part in self._parts if part.origin is origin]

    def _text(self, origin: Origin) -> str:
        """The texts of an origin without the labels of who wrote them."""
        return "\n".join(_LABEL.sub("", part.text, count=1) for part in self._of(origin))

    def _system(self) -> str:
        if not self._of(Origin.SYSTEM_PROMPT):
            return self.say("system_no")
        return self.say("system_yes", chars=len(self._text(Origin.SYSTEM_PROMPT)))

    def _first(self) -> str:
        if self._of(Origin.FIRST_MESSAGE):
            first = self._text(Origin.FIRST_MESSAGE)
            return self.say("first_apart", chars=len(first), gist=_gist(first))
        if self._of(Origin.OMITTED_NOTE):
            return self.say("first_missing")
        return self.say("first_inside" if self._of(Origin.HISTORY) else "first_is_request")

    def _handover(self) -> list[str]:
        """What was carried over, item by item; nothing in a thread that came by no handover."""
        carried = self._of(Origin.HANDOVER)
        if not carried:
            return []
        reading = Reading("", carried)
        lines = [self.say("handover", chars=sum(len(part.text) for part in carried))]
        for what in ("constraints", "open questions"):
            items = [line.removeprefix("- ") for line in reading.first(f"carried over: {what}").splitlines()]
            if items:
                name = "handover_constraints" if what == "constraints" else "handover_questions"
                lines.append(self.say(name, count=len(items), items="; ".join(_gist(item) for item in items)))
        return lines

    def _omitted(self) -> str:
        if not self._of(Origin.OMITTED_NOTE):
            return self.say("omitted_none")
        number = _NUMBER.search(self._text(Origin.OMITTED_NOTE))
        return self.say("omitted", count=int(number[0])) if number else self.say("omitted_unreadable")

    def _history(self) -> str:
        history = self._of(Origin.HISTORY)
        if not history:
            return self.say("history_none")
        counts = Counter(self._author(part) for part in history)
        authors = ("、" if self._locale == "ja" else ", ").join(
            self._counted(author, count) for author, count in counts.items()
        )
        return self.say("history", count=len(history), authors=authors)

    def _author(self, part: InputPart) -> tuple[Role, str]:
        label = _LABEL.match(part.text)
        return part.role, label[1] if label else ""

    def _counted(self, author: tuple[Role, str], count: int) -> str:
        role, name = author
        if role is Role.ASSISTANT:
            return self.say("author_model", count=count)
        return self.say("author_count" if name else "author_unnamed", author=name, count=count)

    def _files(self) -> list[str]:
        outside = [part for part in self._parts if part.role is not Role.SYSTEM]
        files = [name for part in outside for name in _FILE.findall(part.text)]
        files += [
            self.say("file_unread", file=file or image)
            for part in outside
            for file, image in _UNREAD.findall(part.text)
        ]
        images = [image.name for part in outside for image in part.images]
        lines = [self._listed("files", files) if files else self.say("files_none")]
        return [*lines, self._listed("images", images)] if images else lines

    def _listed(self, what: str, names: list[str]) -> str:
        return self.say(what, count=len(names), names=", ".join(names))

    def _request(self) -> str:
        parts = self._of(Origin.REQUEST)
        if not parts:
            return self.say("request_none")
        request = self._text(Origin.REQUEST)
        _, author = self._author(parts[0])
        name = "request" if author else "request_unnamed"
        return self.say(name, chars=len(request), author=author, gist=_gist(request))


def _gist(whole: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(whole.split())
    return line if len(line) <= GIST_CHARS else line[: GIST_CHARS - 1] + "…"
