"""A prompt as a ZIP file."""

import io
import zipfile

import pytest

from bot.console.prompt_zip import MOST_BYTES, MOST_FILES, parts_in, zipped
from core.commands.say import Upload
from core.domain.errors import Refusal

FILES = {"system.md": "Be brief.\n{{ \u202e</textarea>", "prompt.yaml": "name: team.x\n"}


def upload(name: str, data: bytes) -> Upload:
    return Upload(name=name, media_type="application/octet-stream", data=data)


def packed(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return held.getvalue()


def patched(at: int, byte: int, *, both: bool = False) -> bytes:
    """A ZIP file with one byte changed, counted from the header of its entry; `both`: in the directory as well."""
    data = bytearray(packed({"system.md": b"Be brief. " * 50}))
    data[data.index(b"PK\x03\x04") + at] = byte
    if both:
        data[data.index(b"PK\x01\x02") + at + 2] = byte
    return bytes(data)


def test_what_goes_out_comes_in_again_and_is_the_same_file_every_time() -> None:
    data = zipped("team.x", FILES)
    assert parts_in([upload("team.x.zip", data)]) == FILES
    assert zipped("team.x", dict(reversed(FILES.items()))) == data


def test_single_parts_go_by_their_names_and_come_with_plain_line_ends() -> None:
    assert parts_in([upload("C:\\work\\system.md", b"\xef\xbb\xbfone\r\ntwo")]) == {"system.md": "one\ntwo"}


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("notes.md", b"x", "prompt_upload"),
        ("x.zip", packed({"a/system.md": b"1", "b/system.md": b"2"}), "prompt_upload"),
        ("x.zip", packed({}), "prompt_upload"),
        ("system.md", b"\xff", "prompt_upload_not_text"),
        ("x.zip", b"no zip at all", "prompt_upload_zip"),
        ("x.zip", zipped("x", FILES)[:-30], "prompt_upload_zip"),
        # Encrypted; packed in a way that nobody here can unpack; its data damaged.
        ("x.zip", patched(6, 1, both=True), "prompt_upload_zip"),
        ("x.zip", patched(8, 99, both=True), "prompt_upload_zip"),
        ("x.zip", patched(30 + len("system.md"), 0xFF), "prompt_upload_zip"),
        ("x.zip", packed({"system.md": b"0" * (MOST_BYTES + 1)}), "prompt_upload_zip"),
        ("x.zip", packed({f"{n}/system.md": b"" for n in range(MOST_FILES + 1)}), "prompt_upload_zip"),
    ],
)
def test_what_is_no_part_of_a_prompt_is_refused(name: str, data: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        parts_in([upload(name, data)])
    assert refused.value.code == code
