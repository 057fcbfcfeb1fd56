"""Stored messages as parts of an AI input: labelled, fenced, with their files.

The words around the data are fragments of the prompt `shared.fragments`; this module only decides which goes where.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from core.ai_input.caps import Cap
from core.ai_input.fencing import FILE_NAME_CHARS, clean_name, fence_code, inert
from core.ai_input.window import FIRST_MESSAGE_CHARS
from core.domain.ids import AttachmentId
from core.domain.message import Attachment, AuthorKind, Cut, Message
from core.domain.receipt import CapApplied, InputImage, InputPart, Origin, Role
from core.prompts.render import render_fragment
from core.prompts.version import PromptVersion

FRAGMENTS_PROMPT = "shared.fragments"

MAX_IMAGES = 10
"""Images in one AI input, the newest first. Both platforms allow ten files in a message."""


def images_to_send(newest_first: Iterable[Message]) -> frozenset[AttachmentId]:
    """The images that fit into one AI input."""
    images = (a.id for message in newest_first for a in message.attachments if a.is_image)
    return frozenset(islice(images, MAX_IMAGES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """How the messages of one AI input are put."""

    fragments: PromptVersion
    vision: bool
    images: frozenset[AttachmentId]
    """The images sent along; empty for a model that sees none."""

    def history(self, message: Message) -> InputPart:
        """A message of the history, whole, its files included."""
        files = [self._file(message, attachment, attachment.text) for attachment in message.attachments]
        return self._part(message, Origin.HISTORY, [self._spoken(message, message.text), *files])

    def first(self, message: Message) -> tuple[InputPart, tuple[CapApplied, ...]]:
        """The first message where it is kept apart: its text, then that of its files, up to the cap together."""
        left = FIRST_MESSAGE_CHARS - len(message.text)
        blocks = [self._spoken(message, message.text[:FIRST_MESSAGE_CHARS])]
        for attachment in message.attachments:
            blocks.append(self._file(message, attachment, attachment.text[: max(left, 0)]))
            left -= len(attachment.text)
        if left >= 0:
            return self._part(message, Origin.FIRST_MESSAGE, blocks), ()
        had = FIRST_MESSAGE_CHARS - left
        blocks.append(self._say("first_cut", kept=str(FIRST_MESSAGE_CHARS), had=str(had)))
        cap = CapApplied(
            name=Cap.FIRST_MESSAGE_CHARS, limit=FIRST_MESSAGE_CHARS, had=had, kept=FIRST_MESSAGE_CHARS
        )
        return self._part(message, Origin.FIRST_MESSAGE, blocks), (cap,)

    def omitted_note(self, count: int) -> InputPart:
        return InputPart(
            role=Role.USER, origin=Origin.OMITTED_NOTE, text=self._say("omitted", count=str(count))
        )

    def request_files(self, message: Message) -> list[InputPart]:
        """The files of the request, each a part of its own; images that are sent go with the request itself."""
        return [
            self._part(
                message, Origin.ATTACHMENT, [self._label(message), self._file(message, file, file.text)]
            )
            for file in message.attachments
            if file.id not in self.images
        ]

    def request_text(self, message: Message) -> str:
        """What a task template takes as the request."""
        images = [self._file(message, file, "") for file in message.attachments if file.id in self.images]
        return "\n".join([self._spoken(message, message.text), *images])

    def images_of(self, message: Message) -> tuple[InputImage, ...]:
        return tuple(
            InputImage(name=self._file_name(file), media_type=file.media_type, sha256=file.sha256)
            for file in message.attachments
            if file.id in self.images
        )

    def _part(self, message: Message, origin: Origin, blocks: list[str]) -> InputPart:
        cut = "" if message.cut is Cut.NONE else self._say(f"cut_{message.cut}")
        return InputPart(
            role=Role.ASSISTANT if message.is_answer else Role.USER,
            origin=origin,
            text="\n".join(block for block in (*blocks, cut) if block),
            message_id=message.id,
            images=self.images_of(message) if origin is not Origin.ATTACHMENT else (),
        )

    def _label(self, message: Message) -> str:
        if message.is_answer:
            return ""
        name = clean_name(message.author.name) or self._say("unnamed")
        return self._say("program" if message.author.kind is AuthorKind.BOT else "person", author=name)

    def _spoken(self, message: Message, text: str) -> str:
        """Label and text. Only what people and models say stands unfenced; the role of the part holds it."""
        if message.author.kind is AuthorKind.BOT:
            text = self._fenced(text, self._say("post_of_program"), message.id)
        else:
            text = inert(text)
        return "\n".join(piece for piece in (self._label(message), text) if piece)

    def _file(self, message: Message, file: Attachment, text: str) -> str:
        """A file of a message with as much of its text as is given, or a note why there is none."""
        name, size = self._file_name(file), str(file.size_bytes)
        if file.is_image:
            return self._image(file, name)
        if file.is_unread:
            return self._say("file_not_read", file=name, size=size, reason=file.problem.replace("_", " "))
        what = self._say("attached_file_cut" if file.problem else "attached_file", file=name, size=size)
        return self._fenced(text, what, message.id, file.id)

    def _image(self, file: Attachment, name: str) -> str:
        if file.id in self.images:
            return self._say("image_sent", file=name)
        if not self.vision:
            return self._say("image_not_seen", file=name)
        return self._say("image_over_limit", file=name, limit=str(MAX_IMAGES))

    def _file_name(self, file: Attachment) -> str:
        return clean_name(file.name, limit=FILE_NAME_CHARS) or self._say("unnamed")

    def _fenced(self, text: str, what: str, *ids: str) -> str:
        content = inert(text)
        return self._say("data", code=fence_code(content, *ids), what=what, content=content)

    def _say(self, fragment: str, **values: str) -> str:
        return render_fragment(self.fragments, fragment, values)
