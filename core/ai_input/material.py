"""What the builders of modes with several speakers share: data in fences, and the frame of one step's AI input.

In this order: system prompt, its examples, the data of the step, the files of the request, the instruction.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.ai_input.caps import Left
from core.ai_input.estimate import estimate_parts
from core.ai_input.fencing import clean_name, fence_code, inert
from core.ai_input.framing import FRAGMENTS_PROMPT, Framing, images_to_send
from core.domain.errors import Refusal
from core.domain.ids import MessageId
from core.domain.message import AuthorKind, Cut, Message
from core.domain.receipt import AiInput, CapApplied, InputImage, InputPart, Omission, Origin, Role
from core.domain.setup import LETTERS
from core.ports import Spoken, Turn
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_examples, render_fragment, render_system, render_task
from core.prompts.version import OutputFormat, PromptVersion

MODE_FRAGMENTS = "modes.fragments"
SHARED_PROMPTS = (FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""What every builder of several speakers works with besides its own prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Words around data, from `shared.fragments` and `modes.fragments`."""

    shared: PromptVersion
    own: PromptVersion

    @classmethod
    def of(cls, prompts: PromptLibrary) -> "Material":
        return cls(shared=prompts.get(FRAGMENTS_PROMPT), own=prompts.get(MODE_FRAGMENTS))

    def say(self, fragment: str, **values: str) -> str:
        return render_fragment(self.own, fragment, values)

    def fenced(self, what: str, content: str, *ids: str, **values: str) -> str:
        """`content` inert and in a fence that says what it is; `what` is a fragment with `values`."""
        held = inert(content)
        named = {"code": fence_code(held, *ids), "what": self.say(what, **values), "content": held}
        return render_fragment(self.shared, "data", named)

    def data(
        self,
        origin: Origin,
        what: str,
        content: str,
        message_id: MessageId | None = None,
        **values: str,
    ) -> InputPart:
        """A part that holds one fence."""
        ids = (message_id,) if message_id else ()
        return InputPart(
            role=Role.USER,
            origin=origin,
            text=self.fenced(what, content, *ids, **values),
            message_id=message_id,
        )

    def note(self, fragment: str, **values: str) -> InputPart:
        """A remark on what is missing or different."""
        return InputPart(role=Role.USER, origin=Origin.INSTRUCTION, text=self.say(fragment, **values))

    def spoken(self, one: Spoken, what: str, origin: Origin = Origin.SPOKEN, **values: str) -> InputPart:
        """What a model said, with a note where it is not whole."""
        text = self.fenced(what, words(one), one.message_id, **values)
        if one.cut is not Cut.NONE:
            text += "\n" + render_fragment(self.shared, f"cut_{one.cut}", {})
        return InputPart(role=Role.USER, origin=origin, text=text, message_id=one.message_id)

    def message(self, message: Message, origin: Origin = Origin.HISTORY) -> InputPart:
        """A message of a person or program among what models said."""
        author = clean_name(message.author.name) or render_fragment(self.shared, "unnamed", {})
        return self.data(origin, "message_of", message.text, message.id, author=author)

    def inherited(self, message: Message) -> InputPart:
        """What a model said in the parent of this branch; whose words they were is not told."""
        return self.data(Origin.HISTORY, "inherited", message.text, message.id)

    def said(self, message: Message) -> InputPart:
        is_model = message.author.kind is AuthorKind.MODEL
        return self.inherited(message) if is_model else self.message(message)

    def omitted(self, count: int) -> InputPart:
        """How many messages are left out at this place."""
        text = render_fragment(self.shared, "omitted", {"count": str(count)})
        return InputPart(role=Role.USER, origin=Origin.OMITTED_NOTE, text=text)


def words(one: Spoken) -> str:
    """What a model said as other models read it: letters in place of names, which only `data` keeps apart."""
    if one.data is None:
        return one.text
    if set(one.data) == {"stance", "text"}:
        return f"Stance: {one.data['stance']}\n\n{one.data['text']}"
    if "text" in one.data:
        return str(one.data["text"])
    return json.dumps(one.data, ensure_ascii=False, indent=1)


def compose(
    turn: Turn,
    prompts: PromptLibrary,
    name: str,
    *,
    data: Sequence[InputPart],
    system: Mapping[str, str] | None = None,
    task: Mapping[str, str] | None = None,
    schema: Mapping[str, Any] | None = None,
    files: bool = True,
    caps: Sequence[CapApplied] = (),
    omissions: Sequence[Omission] = (),
) -> AiInput:
    """The AI input of one step that works with the prompt `name`.

    `system` and `task` fill its templates; `schema` takes the place of its output schema, which it narrows. The files
    of the request go along unless `files` is false. Raises Refusal `request_too_large`: nothing is left out.
    """
    prompt, material = prompts.get(name), Material.of(prompts)
    wanted = output_schema(prompt) if schema is None else schema
    values = {"rules": material.say("rules"), **(system or {})}
    if wanted is not None:
        values["schema"] = json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))
    attached, images = _files(turn, prompts) if files else ((), ())
    asked = InputPart(
        role=Role.USER, origin=Origin.INSTRUCTION, text=render_task(prompt, task or {}), images=images
    )
    parts = (*_head(prompt, values), *data, *attached, asked)
    tokens, room = estimate_parts(parts), turn.context_tokens - turn.max_output_tokens
    if tokens > room:
        raise Refusal("request_too_large", needed=tokens, allowed=max(room, 0), model=turn.model)
    return AiInput(
        parts=parts,
        prompts=prompts.refs(name, *SHARED_PROMPTS),
        estimate_tokens=tokens,
        caps=tuple(caps),
        omissions=(*omissions, *(_left_out(turn) if files else ())),
        params={"max_tokens": turn.max_output_tokens},
        output_schema=wanted,
    )


def output_schema(prompt: PromptVersion) -> dict[str, Any] | None:
    """The schema of a prompt's answers; None for free text."""
    if prompt.parts.output_format is not OutputFormat.JSON:
        return None
    schema: dict[str, Any] = json.loads(prompt.parts.schema_json)
    return schema


def narrowed(schema: Any, letters: Sequence[str]) -> Any:
    """The schema with every choice among all letters narrowed to `letters`."""
    if isinstance(schema, list):
        return [narrowed(item, letters) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("enum") == list(LETTERS):
        return {**schema, "enum": list(letters)}
    return {key: narrowed(value, letters) for key, value in schema.items()}


def _head(prompt: PromptVersion, values: Mapping[str, str]) -> tuple[InputPart, ...]:
    system = InputPart(role=Role.SYSTEM, origin=Origin.SYSTEM_PROMPT, text=render_system(prompt, values))
    examples = [
        InputPart(role=role, origin=Origin.EXAMPLE, text=text)
        for pair in render_examples(prompt)
        for role, text in zip((Role.USER, Role.ASSISTANT), pair, strict=True)
    ]
    return (system, *examples)


def _files(turn: Turn, prompts: PromptLibrary) -> tuple[tuple[InputPart, ...], tuple[InputImage, ...]]:
    images = images_to_send([turn.request]) if turn.vision else frozenset()
    framing = Framing(fragments=prompts.get(FRAGMENTS_PROMPT), vision=turn.vision, images=images)
    return tuple(framing.request_files(turn.request)), framing.images_of(turn.request)


def _left_out(turn: Turn) -> tuple[Omission, ...]:
    files = turn.request.attachments
    images = images_to_send([turn.request]) if turn.vision else frozenset()
    counts = {
        Left.UNREAD_FILES: sum(file.is_unread for file in files),
        Left.IMAGES: sum(file.is_image and file.id not in images for file in files),
    }
    return tuple(Omission(what=what, count=count) for what, count in counts.items() if count)
