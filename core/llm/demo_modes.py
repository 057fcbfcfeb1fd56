"""What the demo models say where several speak: Debate, Co-Draft, Workflow, comparisons and reviews.

Everything is worked out from the fences of the AI input: what is equal, what is counted, what is quoted. A structured
answer is then fitted to the schema of the call, so that it satisfies it however the prompt was edited.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from core.domain.receipt import InputPart, Origin
from core.i18n import text
from core.llm.demo_fence import fence_name

GIST_CHARS: Final = 90
_FENCE: Final = re.compile(r"⟦data (\w+): ([^⟧]*)⟧\n(.*?)\n?⟦end of data \1⟧", re.DOTALL)
_SPEAKER: Final = re.compile(r"participant ([A-F]) \((\w+)\)")
_CONTRIBUTION: Final = re.compile(r"contribution of participant ([A-F]), round (\S+)")
_STANCE: Final = re.compile(r"^Stance: (.+)$", re.MULTILINE)
_JAPANESE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_BREAK: Final = re.compile(r"、|, |; ")
_LIMIT: Final = re.compile(r"\d|以内|まで|上限|at most|no more|must|budget|deadline", re.IGNORECASE)
_SUM: Final = re.compile(r"(\d{1,9}) ?\+ ?(\d{1,9}) ?= ?(\d{1,10})")
_LINK: Final = re.compile(r"https?://\S+")
_HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_CONSTRAINTS: Final = ("Constraints", "制約")
_LONG_SENTENCE: Final = 60

Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fence:
    what: str
    content: str


class Reading:
    """The fences of one AI input, and the language to answer in."""

    def __init__(self, habit: str, parts: Sequence[InputPart]) -> None:
        self.habit = habit
        self.task = next((p.text for p in reversed(parts) if p.origin is Origin.INSTRUCTION), "")
        outside = [part for part in parts if part.origin is not Origin.SYSTEM_PROMPT]
        self.fences = [Fence(what, held) for p in outside for _, what, held in _FENCE.findall(p.text)]
        spoken = [
            p for p in outside if p.origin in {Origin.REQUEST, Origin.UNDER_REVIEW, Origin.FIRST_MESSAGE}
        ]
        words = " ".join(held for p in spoken for _, _, held in _FENCE.findall(p.text))
        self.locale = "ja" if _JAPANESE.search(words) else "en"

    def say(self, name: str, **fields: str | int) -> str:
        return text(self.locale, f"demo_mode.{name}", **fields)

    def label(self) -> str:
        return text(self.locale, "demo.label")

    def of(self, beginning: str) -> list[Fence]:
        return [fence for fence in self.fences if fence.what.startswith(beginning)]

    def first(self, beginning: str) -> str:
        return next((fence.content for fence in self.of(beginning)), "")

    def received(self) -> str:
        """Every fence by name and size: what a newcomer should see."""
        items = [
            self.say("received_item", what=fence_name(self.locale, f.what), chars=len(f.content))
            for f in self.fences
        ]
        return self.say("received", items=("、" if self.locale == "ja" else "; ").join(items))

    def speaker(self) -> tuple[str, str]:
        """Letter and role of whoever is asked to speak."""
        match = _SPEAKER.search(self.task)
        return (match[1], match[2]) if match else ("", "")

    def stances(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for fence in self.fences:
            who, stance = _CONTRIBUTION.match(fence.what), _STANCE.match(fence.content)
            if who and stance:
                found.setdefault(who[1], []).append(stance[1])
        return found

    def limits(self) -> list[str]:
        """Lines of premises and carried constraints that set a limit, word for word.

        Premises that a handover filled have headings; there only what stands under its constraints is one.
        """
        premises = self.first("premises for every round")
        if _HEADING.search(premises):
            _, *pieces = _HEADING.split(premises)
            sections = zip(pieces[::2], pieces[1::2], strict=True)
            premises = "".join(body for heading, body in sections if heading.strip() in _CONSTRAINTS)
        return list(dict.fromkeys([*_lines(premises), *_lines(self.first("carried over: constraints"))]))


def mode_text(habit: str, parts: Sequence[InputPart]) -> str:
    """A rebuttal, a draft, a step or a follow-up; empty when the AI input is none of these."""
    reading = Reading(habit, parts)
    if reading.first("the task") and not reading.first("the text"):
        return _draft(reading)
    if reading.first("the topic"):
        return _rebuttal(reading)
    if reading.of("result of step") or reading.of("input "):
        asked = reading.first("new message") or reading.task
        return "\n\n".join(
            [
                reading.label(),
                reading.say("step", gist=_gist(asked)),
                reading.received(),
                text(reading.locale, f"demo.{habit}"),
            ]
        )
    return ""


def _rebuttal(reading: Reading) -> str:
    letter, _ = reading.speaker()
    others = {who: taken[-1] for who, taken in reading.stances().items() if who != letter}
    asked = reading.first("new message")
    answers = [reading.say("answer_to", who=who, stance=_gist(stance)) for who, stance in others.items()]
    return "\n\n".join(
        [
            reading.label(),
            *([reading.say("on_message", gist=_gist(asked))] if asked else []),
            *answers,
            reading.received(),
            text(reading.locale, f"demo.{reading.habit}"),
        ]
    )


def _draft(reading: Reading) -> str:
    task = reading.first("the task")
    limits = [*(line for line in _lines(task) if _LIMIT.search(line)), *reading.limits()]
    return "\n".join(
        [
            f"# {_gist(task)}",
            "",
            reading.label(),
            "",
            reading.say("draft_body", chars=len(task), materials=len(reading.fences) - 1),
            *(["", reading.say("draft_limits"), *(f"- {line}" for line in limits)] if limits else []),
            "",
            reading.say("draft_end"),
        ]
    )


# --- structured -----------------------------------------------------------------------------------------------------


def structured_answer(habit: str, parts: Sequence[InputPart], schema: Schema) -> Any:
    """A value that satisfies `schema`, with what the model would say in its places."""
    reading = Reading(habit, parts)
    names = set(schema.get("properties", {}))
    wish = next((make(reading) for keys, make in _WISHES if keys <= names), {})
    return fitted(schema, wish, reading.label())


def fitted(schema: Schema, wish: Any, fallback: str) -> Any:
    """`wish` as far as the schema allows, the least that it demands elsewhere; strings fall back to `fallback`."""
    if "enum" in schema:
        return wish if wish in schema["enum"] else schema["enum"][0]
    match schema.get("type"):
        case "object":
            given = wish if isinstance(wish, Mapping) else {}
            properties = schema.get("properties", {})
            return {
                key: fitted(properties.get(key, {}), given.get(key), fallback)
                for key in schema.get("required", properties)
            }
        case "array":
            return _fitted_list(schema, wish if isinstance(wish, list) else [], fallback)
        case "boolean":
            return bool(wish)
        case "integer" | "number":
            return _fitted_number(schema, wish)
        case _:
            return _fitted_text(schema, wish if isinstance(wish, str) else fallback, fallback)


def _fitted_list(schema: Schema, wish: list[Any], fallback: str) -> list[Any]:
    kept = wish[: schema.get("maxItems", len(wish))]
    lacking = max(schema.get("minItems", 0) - len(kept), 0)
    return [fitted(schema.get("items", {}), item, fallback) for item in [*kept, *[None] * lacking]]


def _fitted_number(schema: Schema, wish: Any) -> int:
    value = wish if isinstance(wish, int) else int(schema.get("minimum", 0))
    return int(min(max(value, schema.get("minimum", value)), schema.get("maximum", value)))


def _fitted_text(schema: Schema, wish: str, fallback: str) -> str:
    value = wish if len(wish) >= schema.get("minLength", 0) else fallback
    if "pattern" in schema and not re.search(schema["pattern"], value):
        value = " ".join(value.split())
    return value[: schema.get("maxLength", len(value))]


# --- what each kind says --------------------------------------------------------------------------------------------


def _comparison(reading: Reading) -> dict[str, Any]:
    """Lines that are equal, and lines that only one answer has: no more than can be found by looking.

    That an answer comes from a demo model is said everywhere and is nothing to agree on.
    """
    label = reading.label().strip("* ")
    answers = {
        fence.what.removeprefix("answer "): [line for line in _lines(fence.content) if line != label]
        for fence in reading.of("answer ")
    }
    everyone = [set(lines) for lines in answers.values()]
    shared = [line for line in next(iter(answers.values()), []) if all(line in one for one in everyone)]
    own = {
        letter: [line for line in lines if sum(line in other for other in everyone) == 1]
        for letter, lines in answers.items()
    }
    views = [{"answer": letter, "view": lines[0]} for letter, lines in own.items() if lines]
    return {
        "agreements": list(dict.fromkeys(shared))[:5],
        "differences": [{"point": reading.say("own_words"), "views": views}] if len(views) > 1 else [],
        "only_one": [
            {"answer": letter, "point": lines[-1]} for letter, lines in own.items() if len(lines) > 1
        ],
        "missing": [reading.say("compares_lines")],
    }


def _problem_framing(reading: Reading) -> dict[str, Any]:
    topic = _gist(reading.first("the topic"))
    questions = _lines(reading.first("carried over: open questions"))
    return {
        "issues": [
            {
                "question": reading.say(f"issue_{number}", topic=topic),
                "stakes": reading.say(f"stakes_{number}"),
            }
            for number in (1, 2)
        ],
        "constraints": reading.limits(),
        "open_questions": [*questions, f"{reading.label()} {reading.received()}"],
    }


def _handover_draft(reading: Reading) -> dict[str, Any]:
    """The first request and how many messages came after it, what is pinned, and what ends in a question mark."""
    said = [f for f in reading.fences if f.what.startswith(("message of", "answer of", "contribution"))]
    asked = [line for f in said for line in _lines(f.content) if line.endswith(("?", "？"))]
    first = (
        reading.first("first request") or reading.first("the topic") or reading.first("input firstRequest")
    )
    summary = reading.say("handover_summary", gist=_gist(first), count=len(said))
    return {
        "summary": f"{reading.label()} {summary}",
        "background": "",
        "openQuestions": _distinct(reading, "open questions", asked[-3:]),
        "constraints": _distinct(reading, "constraints", reading.limits()),
        "conclusions": _distinct(reading, "decisions", []),
    }


def _adoption_review(reading: Reading) -> dict[str, Any]:
    """How much the branch holds, its last answer, and the links in it."""
    said = [f for f in reading.fences if f.what.startswith(("message of", "answer of", "answer ", "contrib"))]
    answers = [f for f in said if not f.what.startswith("message of")]
    about = reading.say("review_about", gist=_gist(reading.first("name of the branch")), count=len(said))
    return {
        "about": f"{reading.label()} {about}",
        "concluded": _gist(answers[-1].content) if answers else "",
        "next_steps": "",
        "sources": "\n".join(dict.fromkeys(link for f in said for link in _LINK.findall(f.content))),
        "contradictions": [],
    }


def _distinct(reading: Reading, pinned: str, more: list[str]) -> list[str]:
    """Pins of a kind to the letter, then the rest."""
    marked = reading.first(f"pinned {pinned}").removeprefix("- ").split("\n- ")
    return list(dict.fromkeys(text for text in (*marked, *more) if text))


def _stance(reading: Reading) -> dict[str, Any]:
    """A position, or a last rebuttal. The builder lets itself be convinced once it has heard somebody else."""
    letter, role = reading.speaker()
    topic = _gist(reading.first("the topic"))
    taken = reading.stances()
    heard = [who for who in taken if who != letter]
    moved = bool(taken.get(letter)) and reading.habit == "builder" and bool(heard)
    limits = [reading.say("keeps", limit=line) for line in reading.limits()]
    if moved:
        stance = reading.say("stance_moved", topic=topic, who=heard[0])
    else:
        known = role if role in {"proponent", "skeptic", "analyst", "pragmatist"} else "analyst"
        stance = reading.say(f"stance_{known}", topic=topic)
    body = [_rebuttal(reading) if heard else reading.label(), *limits]
    if not heard:
        body += [reading.received(), text(reading.locale, f"demo.{reading.habit}")]
    return {"stance": stance, "text": "\n\n".join(body)}


def _synthesis(reading: Reading) -> dict[str, Any]:
    stances = reading.stances()
    last = {who: taken[-1] for who, taken in stances.items()}
    views = [{"participant": who, "view": stance} for who, stance in last.items()]
    unlike = len(set(last.values())) > 1
    return {
        "agreed": [] if unlike else list(last.values())[:1],
        "unresolved": [{"point": _gist(reading.first("the topic")), "views": views}] if unlike else [],
        "dissent": views[1:] if unlike else [],
        "recommendation": f"{reading.label()} {reading.say('recommends', count=len(views))}",
        "constraints": [
            {"constraint": line, "status": "unclear", "reason": reading.say("cannot_check")}
            for line in reading.limits()
        ],
        "changes": [
            {
                "participant": who,
                "changed": taken[0] != taken[-1],
                "reason": reading.say("words_differ" if taken[0] != taken[-1] else "words_same"),
            }
            for who, taken in stances.items()
            if len(taken) > 1
        ],
    }


def _critique(reading: Reading) -> dict[str, Any]:
    standing = reading.first("the text")
    sentence = _longest(standing)
    points = []
    if len(sentence) > _LONG_SENTENCE and _BREAK.search(sentence):
        points.append(
            {
                "quote": sentence,
                "problem": reading.say("too_long", chars=len(sentence)),
                "suggestion": reading.say("split_it"),
            }
        )
    asked = reading.first("new message")
    if asked:
        points.insert(0, {"quote": "", "problem": _gist(asked), "suggestion": reading.say("needs_a_model")})
    return {"points": points, "keep": [_gist(line) for line in _lines(standing)[:1]]}


def _revision(reading: Reading) -> dict[str, Any]:
    standing = reading.first("the text")
    sentence = _longest(standing)
    commas = list(_BREAK.finditer(sentence))
    if len(sentence) <= _LONG_SENTENCE or not commas:
        return {"text": standing, "changes": []}
    middle = min(commas, key=lambda match: abs(match.start() - len(sentence) // 2))
    rest = sentence[middle.end() :]
    stop = "。" if middle[0] == "、" else ". "
    divided = sentence[: middle.start()] + stop + rest[:1].upper() + rest[1:]
    reason = f"{reading.say('too_long', chars=len(sentence))} {reading.label()}"
    return {
        "text": standing.replace(sentence, divided, 1),
        "changes": [{"change": reading.say("split_done", quote=_gist(sentence)), "reason": reason}],
    }


def _verdict(reading: Reading) -> dict[str, Any]:
    """Sums are checked, points or characters counted; a tie is settled by content, never by the order of reading.

    What counts besides the sums is the model's habit: the editor likes what is short, the others what has points.
    """
    answers = {fence.what.removeprefix("answer "): fence.content for fence in reading.of("answer ")}
    wrong = {letter: _wrong_sums(content) for letter, content in answers.items()}
    listed = {
        letter: sum(line[0] in "-*•1234567890" for line in _raw_lines(c)) for letter, c in answers.items()
    }
    by_length = reading.habit == "editor"
    ranking = sorted(
        answers,
        key=lambda letter: (
            len(wrong[letter]),
            len(answers[letter]) if by_length else -listed[letter],
            hashlib.sha256(f"{reading.habit}{answers[letter]}".encode()).digest(),
        ),
    )
    return {
        "answers": {
            letter: {
                "strengths": [reading.say("has_points", count=listed[letter])] if listed[letter] else [],
                "errors": [
                    {"quote": quote, "problem": reading.say("wrong_sum", right=right)}
                    for quote, right in wrong[letter]
                ],
                "verdict": "unsound" if wrong[letter] else "usable_with_fixes",
                "reason": f"{reading.label()} {reading.say('checks_sums', chars=len(content))}",
            }
            for letter, content in answers.items()
        },
        "ranking": ranking,
        "reason": reading.say("ranks_by_length" if by_length else "ranks_by"),
    }


def _wrong_sums(content: str) -> list[tuple[str, int]]:
    """(quote, right result) of every sum of two numbers that is wrong."""
    return [
        (match[0], int(match[1]) + int(match[2]))
        for match in _SUM.finditer(content)
        if int(match[1]) + int(match[2]) != int(match[3])
    ]


_WISHES: Final[tuple[tuple[set[str], Callable[[Reading], dict[str, Any]]], ...]] = (
    ({"agreements", "differences"}, _comparison),
    ({"issues", "constraints"}, _problem_framing),
    ({"stance", "text"}, _stance),
    ({"recommendation", "dissent"}, _synthesis),
    ({"points", "keep"}, _critique),
    ({"text", "changes"}, _revision),
    ({"answers", "ranking"}, _verdict),
    ({"summary", "openQuestions"}, _handover_draft),
    ({"about", "concluded"}, _adoption_review),
)
"""What a schema with these properties asks for."""


def _raw_lines(content: str) -> list[str]:
    return [line.strip() for line in content.splitlines() if line.strip()]


def _lines(content: str) -> list[str]:
    """Lines without list marks and emphasis, blank ones left out."""
    bare = (line.lstrip("-*•#> ").strip("* ") for line in _raw_lines(content))
    return [line for line in bare if line]


def _longest(content: str) -> str:
    sentences = [
        found.strip() for found in _SENTENCE.findall(content) if not found.lstrip().startswith(("#", "*"))
    ]
    return max(sentences, key=len, default="")


def _gist(whole: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(whole.split()).lstrip("#> ")
    return line if len(line) <= GIST_CHARS else line[: GIST_CHARS - 1] + "…"
