"""The source of an eval case as it stands in a file, held to the shape of its prompt."""

import re
from collections.abc import Callable, Mapping

from core.domain.debate import LEAST_PARTICIPANTS, MOST_PARTICIPANTS, DebateRole
from core.domain.pin import PinKind
from core.domain.setup import LETTERS
from core.domain.thread import Mode
from core.domain.view import Phrase
from core.prompts.eval_set import SHAPES, Carried, Line, Pinned, SaidBefore, Source, shape_of
from core.prompts.strict_yaml import Node

Problem = Callable[[Phrase, int], None]

HANDED_OVER = (Mode.CHAT, Mode.COMPARE, Mode.DEBATE)
"""Modes of threads that cases of handover drafting can be made of."""
_ROUND = re.compile(r"rebuttals\.[1-3]")
_STEP = re.compile(r"problem_framing|positions:[A-D]|rebuttals\.[1-3]:[A-D]")


def read_source(node: Node | None, prompt: str, case_id: str, problem: Problem, line: int) -> Source:
    """The source at a node; what is wrong with it is noted and reads as empty."""
    return _Reading(case_id, problem).source(node, prompt, line)


def input_problem(case: str, name: str, value: str, source: Source) -> Phrase | None:
    """Why no builder takes this value for a placeholder of the product's; None when it does."""
    letters = LETTERS[: len(source.participants)]
    if name == "target" and value not in set(Mode):
        return Phrase(key="problem.case_target", fields={"case": case, "allowed": ", ".join(Mode)})
    if name == "letter" and value not in letters:
        return Phrase(key="problem.case_letter", fields={"case": case, "allowed": ", ".join(letters)})
    if name == "round" and not _ROUND.fullmatch(value):
        return Phrase(key="problem.case_round", fields={"case": case})
    return None


class _Reading:
    def __init__(self, case_id: str, problem: Problem) -> None:
        self.case_id = case_id
        self.report = problem

    def problem(self, code: str, line: int, **fields: str | float) -> None:
        self.report(Phrase(key=f"problem.case_{code}", fields={"case": self.case_id, **fields}), line)

    def source(self, node: Node | None, prompt: str, line: int) -> Source:
        shape = shape_of(prompt)
        table = self.table(node, "source") if node else {}
        for key in shape.required:
            if key not in table:
                self.problem("source_lacks", node.line if node else line, name=key)
        allowed = (*shape.required, *shape.optional)
        for key, inner in table.items():
            if key not in allowed:
                code = "source_unknown_key" if allowed else "source_empty"
                may = ", ".join(dict.fromkeys(allowed))
                self.problem(code, inner.line, prompt=prompt, name=key, allowed=may)
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
            self.problem("two_answers", line)
        if prompt == "handover.draft" and source.mode in (Mode.CHAT, Mode.COMPARE):
            if not source.messages or not source.messages[0].by:
                self.problem("first_of_person", line)
            if source.mode == Mode.COMPARE and came < 2:
                self.problem("compare_two_answers", line)
        if (
            prompt == "handover.draft"
            and source.mode == Mode.DEBATE
            and not (source.topic and source.participants)
        ):
            self.problem("debate", line)
        if prompt in ("chat.answer", "compare.answer") and not (source.messages and source.messages[-1].by):
            self.problem("last_of_person", line)

    # --- parts ------------------------------------------------------------------------------------------------------

    def mode(self, table: Mapping[str, Node]) -> str:
        mode = self.text(table, "mode")
        if mode and mode not in HANDED_OVER:
            self.problem("mode", table["mode"].line, allowed=", ".join(HANDED_OVER))
        return mode

    def messages(self, table: Mapping[str, Node]) -> tuple[Line, ...]:
        lines = []
        for item in self.items(table, "messages"):
            fields = self.fields(item, "message", ("text",), ("by",))
            lines.append(Line(by=fields.get("by", ""), text=fields.get("text", "")))
        return tuple(lines)

    def pins(self, table: Mapping[str, Node]) -> tuple[Pinned, ...]:
        pins = []
        for item in self.items(table, "pins"):
            fields = self.fields(item, "pin", ("kind", "text"), ())
            if fields and fields.get("kind") not in set(PinKind):
                self.problem("pin_kind", item.line, allowed=", ".join(PinKind))
            pins.append(Pinned(kind=fields.get("kind", ""), text=fields.get("text", "")))
        return tuple(pins)

    def answers(self, table: Mapping[str, Node]) -> tuple[str, ...]:
        items = self.items(table, "answers")
        if "answers" in table and not 1 <= len(items) <= len(LETTERS):
            self.problem("answers", table["answers"].line, most=len(LETTERS))
        return self.texts(items, may_be_empty=True)

    def participants(self, table: Mapping[str, Node]) -> tuple[str, ...]:
        items = self.items(table, "participants")
        roles = self.texts(items)
        if "participants" in table:
            fits = LEAST_PARTICIPANTS <= len(items) <= MOST_PARTICIPANTS
            if not fits or any(role not in set(DebateRole) for role in roles):
                self.problem(
                    "participants",
                    table["participants"].line,
                    least=LEAST_PARTICIPANTS,
                    most=MOST_PARTICIPANTS,
                    roles=", ".join(DebateRole),
                )
        return roles

    def said(self, table: Mapping[str, Node]) -> tuple[SaidBefore, ...]:
        said = []
        for item in self.items(table, "said"):
            inner = self.table(item, "contribution")
            step = self.text(inner, "step")
            for key in inner.keys() - {"step", "text", "stance", "data"}:
                self.problem("contribution_unknown_key", inner[key].line, name=key)
            if not _STEP.fullmatch(step):
                self.problem("contribution_step", item.line)
            if ("data" in inner) == ("text" in inner):
                self.problem("contribution_text", item.line)
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
            self.problem("carried_unknown_key", inner[key].line, name=key, allowed=", ".join(known))
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
        entry = what in ("contribution", "message", "pin")
        self.problem(f"{what}_no_table" if entry else "no_table", node.line, what=what)
        return {}

    def items(self, table: Mapping[str, Node], key: str) -> tuple[Node, ...]:
        node = table.get(key)
        if node is None:
            return ()
        if isinstance(node.value, tuple):
            return node.value
        self.problem("no_list", node.line, what=key)
        return ()

    def text(self, table: Mapping[str, Node], key: str) -> str:
        node = table.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str) or not node.value.strip():
            self.problem("no_text", node.line, what=key)
            return ""
        return node.value.strip()

    def texts(self, items: tuple[Node, ...], *, may_be_empty: bool = False) -> tuple[str, ...]:
        texts = []
        for item in items:
            if not isinstance(item.value, str) or not (item.value.strip() or may_be_empty):
                self.problem("text_here", item.line)
            else:
                texts.append(item.value.strip())
        return tuple(texts)

    def fields(
        self, node: Node, what: str, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> dict[str, str]:
        table = self.table(node, what)
        if not set(required) <= table.keys() <= {*required, *optional}:
            self.problem(f"{what}_fields", node.line, names=", ".join((*required, *optional)))
        return {key: self.text(table, key) for key in table}

    def data(self, table: Mapping[str, Node], key: str) -> Mapping[str, object]:
        if key not in table:
            return {}
        plain = Node(line=table[key].line, value=self.table(table[key], key)).plain()
        return plain if isinstance(plain, dict) else {}
