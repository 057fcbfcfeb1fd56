"""Debate: a moderator lays out a topic, participants take positions and answer each other (spec §3)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.domain.errors import Refusal
from core.domain.prior_context import Admitted, admit
from core.domain.setup import LETTERS, Fields, Json

LEAST_PARTICIPANTS, MOST_PARTICIPANTS = 2, 4
LEAST_REBUTTALS, MOST_REBUTTALS = 1, 3
TOPIC_CHARS = 4_000
BACKGROUND_CHARS = 8_000

PROBLEM_FRAMING = "problem_framing"
SYNTHESIS = "synthesis"


def positions_step(letter: str) -> str:
    return f"positions:{letter}"


def rebuttals_step(number: int, letter: str) -> str:
    return f"rebuttals.{number}:{letter}"


_REBUTTAL = re.compile(r"rebuttals\.(\d+):[A-F]")


def rebuttals_in(steps: Iterable[str]) -> int:
    """Number of the last rebuttal round among the steps; 0 when there is none."""
    return max((int(match[1]) for step in steps if (match := _REBUTTAL.fullmatch(step))), default=0)


class DebateRole(StrEnum):
    """From where a participant argues; people read it as `debate_role.<value>` of the catalogue."""

    PROPONENT = "proponent"
    SKEPTIC = "skeptic"
    ANALYST = "analyst"
    PRAGMATIST = "pragmatist"


DEFAULT_ROLES = (DebateRole.PROPONENT, DebateRole.SKEPTIC, DebateRole.ANALYST, DebateRole.PRAGMATIST)
"""Of participants A, B, C, D where a person chose none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    letter: str
    """What it is called in AI input; people see the model's name."""
    model: str
    role: DebateRole


class RoundKind(StrEnum):
    """People read it as `round.<value>` of the catalogue."""

    PROBLEM_FRAMING = "problem_framing"
    POSITIONS = "positions"
    REBUTTALS = "rebuttals"
    SYNTHESIS = "synthesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who speaks in one step of a round."""

    step: str
    model: str
    letter: str
    """Empty for the moderator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    kind: RoundKind
    speakers: tuple[Speaker, ...]
    """In the order in which they speak, or are shown when they speak at once."""
    at_once: bool
    """They write in parallel and do not see each other's words."""
    rebuttal: int = 0
    """Number of a rebuttal round within its thread, from 1; 0 for other rounds."""
    last_rebuttal: bool = False
    """Each contribution opens with a stance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateSetup:
    topic: str
    background: str = ""
    """Premises for every round."""
    background_auto: bool = False
    """A handover wrote `background`, and nobody edited it since."""
    participants: tuple[Participant, ...]
    moderator: str
    rebuttal_rounds: int = 1
    prior_context: Admitted | None = None

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> "DebateSetup":
        """Raises Refusal that says what is allowed.

        `participants` are tables of `model` and, where a person chose one, `role`. `prior_context` is what
        `to_json` wrote; a handover brings its own under `priorContext`, which goes through the entry point.
        """
        fields = Fields(raw)
        fields.only(
            "topic",
            "background",
            "background_auto",
            "participants",
            "moderator",
            "rebuttal_rounds",
            "prior_context",
            "priorContext",
        )
        topic = fields.text("topic", limit=TOPIC_CHARS, too_long="topic_too_long")
        if not topic:
            raise Refusal("topic_empty")
        background = fields.text("background", limit=BACKGROUND_CHARS, too_long="background_too_long")
        moderator = fields.text("moderator", limit=200)
        if not moderator:
            raise Refusal("moderator_missing")
        return cls(
            topic=topic,
            background=background,
            background_auto=bool(background) and fields.flag("background_auto"),
            participants=_participants(fields),
            moderator=moderator,
            rebuttal_rounds=fields.number(
                "rebuttal_rounds", least=LEAST_REBUTTALS, most=MOST_REBUTTALS, default=1
            ),
            prior_context=_prior_context(fields),
        )

    def to_json(self) -> Json:
        return {
            "topic": self.topic,
            "background": self.background,
            "background_auto": self.background_auto,
            "participants": [{"model": p.model, "role": p.role.value} for p in self.participants],
            "moderator": self.moderator,
            "rebuttal_rounds": self.rebuttal_rounds,
            **({"prior_context": self.prior_context.to_json()} if self.prior_context else {}),
        }

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(participant.letter for participant in self.participants)

    def participant(self, letter: str) -> Participant:
        """Raises KeyError for a letter that nobody has."""
        return {participant.letter: participant for participant in self.participants}[letter]

    def rounds(self) -> tuple[Round, ...]:
        """The whole debate, in order; its length is the “of” in “round 2 of 4”."""
        last = self.rebuttal_rounds
        return (
            self._moderated(RoundKind.PROBLEM_FRAMING, PROBLEM_FRAMING),
            Round(
                kind=RoundKind.POSITIONS,
                speakers=tuple(
                    Speaker(step=positions_step(p.letter), model=p.model, letter=p.letter)
                    for p in self.participants
                ),
                at_once=True,
            ),
            *(self._rebuttals(number, last=number == last) for number in range(1, last + 1)),
            self._moderated(RoundKind.SYNTHESIS, SYNTHESIS),
        )

    def follow_up_rounds(self, rebuttals_before: int) -> tuple[Round, ...]:
        """What a message in the finished debate starts: one more rebuttal round, and a synthesis."""
        return (
            self._rebuttals(rebuttals_before + 1, last=True),
            self._moderated(RoundKind.SYNTHESIS, SYNTHESIS),
        )

    def _rebuttals(self, number: int, *, last: bool) -> Round:
        return Round(
            kind=RoundKind.REBUTTALS,
            speakers=tuple(
                Speaker(step=rebuttals_step(number, p.letter), model=p.model, letter=p.letter)
                for p in self.participants
            ),
            at_once=False,
            rebuttal=number,
            last_rebuttal=last,
        )

    def _moderated(self, kind: RoundKind, step: str) -> Round:
        speaker = Speaker(step=step, model=self.moderator, letter="")
        return Round(kind=kind, speakers=(speaker,), at_once=False)


def participants_of(
    models: Iterable[str], roles: Iterable[DebateRole] = DEFAULT_ROLES
) -> tuple[Participant, ...]:
    """Participants A, B, … with these models and roles, as far as both go."""
    return tuple(
        Participant(letter=letter, model=model, role=role)
        for letter, model, role in zip(LETTERS, models, roles, strict=False)
    )


def _participants(fields: Fields) -> tuple[Participant, ...]:
    tables = [Fields({"participant": item}).table("participant") for item in fields.items("participants")]
    if not LEAST_PARTICIPANTS <= len(tables) <= MOST_PARTICIPANTS:
        raise Refusal(
            "debate_participant_count",
            had=len(tables),
            least=LEAST_PARTICIPANTS,
            most=MOST_PARTICIPANTS,
        )
    participants = []
    for letter, default, table in zip(LETTERS, DEFAULT_ROLES, tables, strict=False):
        table.only("model", "role")
        model = table.text("model", limit=200)
        if not model:
            raise Refusal("participant_model_missing", participant=letter)
        role = table.text("role", limit=200) or default
        if role not in set(DebateRole):
            raise Refusal("unknown_role", role=role, allowed=", ".join(DebateRole))
        participants.append(Participant(letter=letter, model=model, role=DebateRole(role)))
    return tuple(participants)


def _prior_context(fields: Fields) -> Admitted | None:
    if "prior_context" in fields.raw:
        return Admitted.from_json(fields.table("prior_context").raw)
    return admit(fields.table("priorContext").raw) if "priorContext" in fields.raw else None
