"""The AI input of Chat (spec §4).

In this order: system prompt, its examples, what a handover brought or the first message where it is kept apart, a note
on what is left out, the history, the files of the request, the request.
"""

from collections.abc import Callable
from dataclasses import replace

from core.ai_input.caps import Cap, Left
from core.ai_input.estimate import estimate_message_tokens, estimate_parts
from core.ai_input.framing import FRAGMENTS_PROMPT, MAX_IMAGES, Framing, images_to_send
from core.ai_input.handover import handover_part
from core.ai_input.material import MODE_FRAGMENTS, Material
from core.ai_input.window import Selection, select
from core.domain.errors import Refusal
from core.domain.message import Message
from core.domain.receipt import AiInput, CapApplied, InputPart, Omission, Origin, Role
from core.ports import Turn
from core.prompts.registry import PromptLibrary
from core.prompts.render import render_examples, render_system, render_task
from core.prompts.version import PromptVersion

CHAT_PROMPT = "chat.answer"
PROMPT_NAMES = (CHAT_PROMPT, FRAGMENTS_PROMPT, MODE_FRAGMENTS)
"""The prompts that a run of Chat works with."""


def build_chat(turn: Turn, prompts: PromptLibrary) -> AiInput:
    """What the model of `turn` is sent to answer its request; the same turn and prompts give the same bytes.

    History that does not fit the model beside its longest answer is left out as well, oldest first. Raises
    Refusal `request_too_large` when system prompt, first message and request alone do not fit.
    """
    return build_conversation(turn, prompts, name=CHAT_PROMPT)


def build_conversation(
    turn: Turn, prompts: PromptLibrary, *, name: str, ahead: tuple[InputPart, ...] = ()
) -> AiInput:
    """As `build_chat`, with the prompt `name`, and with the parts `ahead` of the history.

    In a thread that came by handover, its message stands at the very top, in place of the kept first message.
    """
    prompt, fragments = prompts.get(name), prompts.get(FRAGMENTS_PROMPT)
    framing = _framing(turn, fragments)
    history = {entry.message.id: framing.history(entry.message) for entry in turn.window.recent}
    carried, cut = handover_part(turn, Material.of(prompts))
    head, tail = (*_head(prompt), *carried, *ahead), _tail(prompt, framing, turn.request)

    def parts_of(selection: Selection) -> tuple[InputPart, ...]:
        first = (framing.first(selection.first)[0],) if selection.first else ()
        note = (framing.omitted_note(selection.omitted),) if selection.omitted else ()
        return (*head, *first, *note, *(history[entry.message.id] for entry in selection.history), *tail)

    selection = select(
        turn.window,
        lambda message: estimate_message_tokens(history[message.id].text),
        keeps_first=not carried,
    )
    selection, parts = _fit(selection, parts_of, turn)
    sent = [
        *([selection.first] if selection.first else []),
        *(e.message for e in selection.history),
        turn.request,
    ]
    first_caps = framing.first(selection.first)[1] if selection.first else ()
    return AiInput(
        parts=parts,
        prompts=(prompt.ref, fragments.ref, *(prompts.refs(MODE_FRAGMENTS) if carried else ())),
        estimate_tokens=estimate_parts(parts),
        caps=(*cut, *selection.caps, *first_caps, *_image_cap(framing, sent)),
        omissions=_omissions(selection, framing, sent),
        params={"max_tokens": turn.max_output_tokens},
    )


def _framing(turn: Turn, fragments: PromptVersion) -> Framing:
    recent = [entry.message for entry in turn.window.recent]
    first = [turn.window.first.message] if turn.window.first else []
    images = images_to_send([turn.request, *reversed(recent), *first]) if turn.vision else frozenset()
    return Framing(fragments=fragments, vision=turn.vision, images=images)


def _head(prompt: PromptVersion) -> tuple[InputPart, ...]:
    system = InputPart(role=Role.SYSTEM, origin=Origin.SYSTEM_PROMPT, text=render_system(prompt, {}))
    examples = [
        InputPart(role=role, origin=Origin.EXAMPLE, text=text)
        for pair in render_examples(prompt)
        for role, text in zip((Role.USER, Role.ASSISTANT), pair, strict=True)
    ]
    return (system, *examples)


def _tail(prompt: PromptVersion, framing: Framing, request: Message) -> tuple[InputPart, ...]:
    asked = InputPart(
        role=Role.USER,
        origin=Origin.REQUEST,
        text=render_task(prompt, {"request": framing.request_text(request)}),
        message_id=request.id,
        images=framing.images_of(request),
    )
    return (*framing.request_files(request), asked)


def _fit(
    selection: Selection, parts_of: Callable[[Selection], tuple[InputPart, ...]], turn: Turn
) -> tuple[Selection, tuple[InputPart, ...]]:
    """Leave out history until the input fits the model beside its answer."""
    room = turn.context_tokens - turn.max_output_tokens
    parts = parts_of(selection)
    had = tokens = estimate_parts(parts)
    while tokens > room and selection.history:
        selection = selection.without_oldest()
        parts = parts_of(selection)
        tokens = estimate_parts(parts)
    if tokens > room:
        raise Refusal("request_too_large", needed=tokens, allowed=max(room, 0), model=turn.model)
    if tokens == had:
        return selection, parts
    cap = CapApplied(name=Cap.CONTEXT_TOKENS, limit=room, had=had, kept=tokens)
    return replace(selection, caps=(*selection.caps, cap)), parts


def _image_cap(framing: Framing, sent: list[Message]) -> tuple[CapApplied, ...]:
    images = [file.id for message in sent for file in message.attachments if file.is_image]
    if not framing.vision or len(images) <= MAX_IMAGES:
        return ()
    kept = sum(image in framing.images for image in images)
    return (CapApplied(name=Cap.IMAGES, limit=MAX_IMAGES, had=len(images), kept=kept),)


def _omissions(selection: Selection, framing: Framing, sent: list[Message]) -> tuple[Omission, ...]:
    files = [file for message in sent for file in message.attachments]
    counts = {
        Left.MESSAGES: selection.omitted,
        Left.ERASED_MESSAGES: selection.erased,
        Left.UNREAD_FILES: sum(file.is_unread for file in files),
        Left.IMAGES: sum(file.is_image and file.id not in framing.images for file in files),
    }
    return tuple(Omission(what=what, count=count) for what, count in counts.items() if count)
