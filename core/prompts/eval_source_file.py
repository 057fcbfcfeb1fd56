"""The source of an eval case as it stands in a file, held to the shape of its prompt."""

import re
from collections.abc import Callable, Mapping

from core.domain.debate import LEAST_PARTICIPANTS, MOST_PARTICIPANTS, DebateRole
from core.domain.pin import PinKind
from core.domain.setup import LETTERS
from core.domain.thread import Mode
from core.prompts.eval_set import SHAPES, Carried, Line, Pinned, SaidBefore, Source, shape_of
from core.prompts.strict_yaml import Node

Problem = Callable[[str, int], None]

HANDED_OVER = (Mode.CHAT, Mode.COMPARE, Mode.DEBATE)
"""Modes of threads that cases of handover drafting can be made of."""
_ROUND = re.compile(r"rebuttals\.[1-3]")
_STEP = re.compile(r"problem_framing|positions:[A-D]|rebuttals\.[1-3]:[A-D]")


def read_source(node: Node | None, prompt: str, case_id: str, problem: Problem, line: int) -> Source:
    """The source at a node; what is wrong with it is noted and reads as empty."""
    return _Reading(case_id, problem).source(node, prompt, line)


def input_problem(name: str, value: str, source: Source) -> str:
    """Why no builder takes this value for a placeholder of the product's; empty when it does."""
    letters = LETTERS[: len(source.participants)]
    if name == "target" and value not in set(Mode):
        return f"target must be one of {', '.join(Mode)}"
    if name == "letter" and value not in letters:
        return f"letter must be one of the participants' {', '.join(letters)}"
    if name == "round" and not _ROUND.fullmatch(value):
        return "round must be rebuttals.1, rebuttals.2 or rebuttals.3"
    return ""


class _Reading:
    def __init__(self, case_id: str, problem: Problem) -> None:
        self.case_id = case_id
        self.report = problem

    def problem(self, reason: str, line: int) -> None:
        self.report(f"case {self.case_id}: {reason}", line)

    def source(self, node: Node | None, prompt: str, line: int) -> Source:
        shape = shape_of(prompt)
        table = self.table(node, "source") if node else {}
        for key in shape.required:
            if key not in table:
                self.problem(f"source lacks {key}", node.line if node else line)
        allowed = (*shape.required, *shape.optional)
        for key, inner in table.items():
            if key not in allowed:
                may = ", ".join(dict.fromkeys(allowed)) or "nothing; all that goes in are its inputs"
                self.problem(f"source of {prompt} has an unknown key: {key}; it may hold {may}", inner.line)
        source = Source(
            mode=self.mode(table),
            messages=self.messages(table),
            pins=self.pins(table),
            question=self.text(table, "question"),
            answers=self.answers(table),
            focus=self.text(table, "focus"),
            topic=self.text(table, "topic"),
            background=self.text(table, "background"),
            participants=self.participants(table),
            said=self.said(table),
            carried=self.carried(table),
            task=self.text(table, "task"),
            text=self.text(table, "text"),
            critique=self.data(table, "critique"),
            instruction=self.text(table, "instruction"),
        )
        if prompt in SHAPES and node:
            self.check_whole(source, prompt, node.line)
        return source

    def check_whole(self, source: Source, prompt: str, line: int) -> None:
        """What the parts must hold together, so that a builder can read them."""
        came = sum(bool(answer) for answer in source.answers)
        if prompt == "compare.summary" and came < 2:
            self.problem("source needs two answers that came", line)
        if prompt == "handover.draft" and source.mode in (Mode.CHAT, Mode.COMPARE):
            if not source.messages or not source.messages[0].by:
                self.problem("messages must begin with one of a person", line)
            if source.mode == Mode.COMPARE and came < 2:
                self.problem("a compare needs two answers that came", line)
        if (
            prompt == "handover.draft"
            and source.mode == Mode.DEBATE
            and not (source.topic and source.participants)
        ):
            self.problem("a debate needs topic and participants", line)
        if prompt in ("chat.answer", "compare.answer") and not (source.messages and source.messages[-1].by):
            self.problem("messages must end with one of a person, which is answered", line)

    # --- parts ------------------------------------------------------------------------------------------------------

    def mode(self, table: Mapping[str, Node]) -> str:
        mode = self.text(table, "mode")
        if mode and mode not in HANDED_OVER:
            self.problem(f"mode must be one of {', '.join(HANDED_OVER)}", table["mode"].line)
        return mode

    def messages(self, table: Mapping[str, Node]) -> tuple[Line, ...]:
        lines = []
        for item in self.items(table, "messages"):
            fields = self.fields(item, "a message", ("text",), ("by",))
            lines.append(Line(by=fields.get("by", ""), text=fields.get("text", "")))
        return tuple(lines)

    def pins(self, table: Mapping[str, Node]) -> tuple[Pinned, ...]:
        pins = []
        for item in self.items(table, "pins"):
            fields = self.fields(item, "a pin", ("kind", "text"), ())
            if fields and fields.get("kind") not in set(PinKind):
                self.problem(f"kind of a pin must be one of {', '.join(PinKind)}", item.line)
            pins.append(Pinned(kind=fields.get("kind", ""), text=fields.get("text", "")))
        return tuple(pins)

    def answers(self, table: Mapping[str, Node]) -> tuple[str, ...]:
        items = self.items(table, "answers")
        if "answers" in table and not 1 <= len(items) <= len(LETTERS):
            self.problem(f"answers must be 1 to {len(LETTERS)}", table["answers"].line)
        return self.texts(items, may_be_empty=True)

    def participants(self, table: Mapping[str, Node]) -> tuple[str, ...]:
        items = self.items(table, "participants")
        roles = self.texts(items)
        if "participants" in table:
            fits = LEAST_PARTICIPANTS <= len(items) <= MOST_PARTICIPANTS
            if not fits or any(role not in set(DebateRole) for role in roles):
                count = f"{LEAST_PARTICIPANTS} to {MOST_PARTICIPANTS}"
                self.problem(
                    f"participants must be {count} roles of {', '.join(DebateRole)}",
                    table["participants"].line,
                )
        return roles

    def said(self, table: Mapping[str, Node]) -> tuple[SaidBefore, ...]:
        said = []
        for item in self.items(table, "said"):
            inner = self.table(item, "a contribution")
            step = self.text(inner, "step")
            for key in inner.keys() - {"step", "text", "stance", "data"}:
                self.problem(f"a contribution has an unknown key: {key}", inner[key].line)
            if not _STEP.fullmatch(step):
                self.problem("step must be problem_framing, positions:A or rebuttals.1:A", item.line)
            if ("data" in inner) == ("text" in inner):
                self.problem("a contribution has either a text or data", item.line)
            one = SaidBefore(
                step=step,
                text=self.text(inner, "text"),
                stance=self.text(inner, "stance"),
                data=self.data(inner, "data"),
            )
            said.append(one)
        return tuple(said)

    def carried(self, table: Mapping[str, Node]) -> Carried | None:
        if "carried" not in table:
            return None
        inner = self.table(table["carried"], "carried")
        known = ("summary", "background", "first_request", "open_questions", "constraints", "conclusions")
        for key in inner.keys() - set(known):
            self.problem(
                f"carried has an unknown key: {key}; it may hold {', '.join(known)}", inner[key].line
            )
        return Carried(
            summary=self.text(inner, "summary"),
            background=self.text(inner, "background"),
            first_request=self.text(inner, "first_request"),
            open_questions=self.texts(self.items(inner, "open_questions")),
            constraints=self.texts(self.items(inner, "constraints")),
            conclusions=self.texts(self.items(inner, "conclusions")),
        )

    # --- values -----------------------------------------------------------------------------------------------------

    def table(self, node: Node, what: str) -> Mapping[str, Node]:
        if isinstance(node.value, Mapping):
            return node.value
        self.problem(f"{what} must be a table of keys and values", node.line)
        return {}

    def items(self, table: Mapping[str, Node], key: str) -> tuple[Node, ...]:
        node = table.get(key)
        if node is None:
            return ()
        if isinstance(node.value, tuple):
            return node.value
        self.problem(f"{key} must be a list", node.line)
        return ()

    def text(self, table: Mapping[str, Node], key: str) -> str:
        node = table.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or not node.value.strip():
            self.problem(f"{key} must be a text", node.line)
            return ""
        return node.value.strip()

    def texts(self, items: tuple[Node, ...], *, may_be_empty: bool = False) -> tuple[str, ...]:
        texts = []
        for item in items:
            if not isinstance(item.value, str) or not (item.value.strip() or may_be_empty):
                self.problem("a text is wanted here", item.line)
            else:
                texts.append(item.value.strip())
        return tuple(texts)

    def fields(
        self, node: Node, what: str, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> dict[str, str]:
        table = self.table(node, what)
        if not set(required) <= table.keys() <= {*required, *optional}:
            self.problem(f"{what} is a table of {', '.join((*required, *optional))}", node.line)
        return {key: self.text(table, key) for key in table}

    def data(self, table: Mapping[str, Node], key: str) -> Mapping[str, object]:
        if key not in table:
            return {}
        plain = Node(line=table[key].line, value=self.table(table[key], key)).plain()
        return plain if isinstance(plain, dict) else {}
