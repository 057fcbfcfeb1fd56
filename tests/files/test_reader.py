import io
import zipfile

import pytest

from core.files.reader import MAX_FILE_BYTES, MAX_IMAGE_BYTES, MAX_TEXT_CHARS, FileReader, FileText
from tests.files.pdf_maker import line, locked, pdf

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"
GIF = b"GIF89a\x01\x00\x01\x00"
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L"


def zip_file() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>")
    return out.getvalue()


async def read(name: str, data: bytes, media_type: str = "") -> FileText:
    return await FileReader().read_file(name, media_type, data)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.txt", "text/plain"),
        ("a.MD", "text/markdown"),
        ("a.csv", "text/csv"),
        ("main.rs", "text/plain"),
        ("Makefile", "text/plain"),
    ],
)
async def test_text_is_read_whatever_it_is_called(name: str, media_type: str) -> None:
    found = await read(name, "fn main() { /* 始め */ }\r\n".encode())
    assert found == FileText(media_type=media_type, text="fn main() { /* 始め */ }\n")


async def test_a_shift_jis_table_is_read_as_japanese() -> None:
    table = "名前,部署\n山田太郎,営業部\n佐藤花子,開発部とサポート\n"
    found = await read("社員.csv", table.encode("cp932"), "text/csv")
    assert found == FileText(media_type="text/csv", text=table)


async def test_the_text_of_a_pdf_is_read_page_by_page() -> None:
    found = await read("report.pdf", pdf(line("First (page)"), line("Zweite Seite: Größe")))
    assert found == FileText(media_type="application/pdf", text="First (page)\n\nZweite Seite: Größe")


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.png", PNG, "image/png"),
        ("a.jpg", JPEG, "image/jpeg"),
        ("a.gif", GIF, "image/gif"),
        ("a.webp", WEBP, "image/webp"),
        ("photo.jpeg", PNG, "image/png"),
        ("clipboard", PNG, "image/png"),
    ],
)
async def test_an_image_is_known_by_its_content(name: str, data: bytes, media_type: str) -> None:
    assert await read(name, data) == FileText(media_type=media_type)


@pytest.mark.parametrize(
    ("name", "data", "media_type", "problem"),
    [
        ("a.txt", b"", "", "empty"),
        ("a.pdf", b"", "", "empty"),
        ("a.txt", b" \r\n\t\n", "", "empty"),
        ("a.txt", "\ufeff".encode(), "", "empty"),
        ("invoice.pdf", zip_file(), "", "wrong_type"),
        ("invoice.pdf", b"just text", "", "wrong_type"),
        ("invoice", b"just text", "application/pdf", "wrong_type"),
        ("a.png", b"<script>alert(1)</script>", "", "wrong_type"),
        ("a.png", pdf(line("x")), "", "wrong_type"),
        ("notes.txt", PNG, "", "wrong_type"),
        ("notes.txt", pdf(line("x")), "", "wrong_type"),
        ("notes", zip_file(), "text/plain; charset=utf-8", "wrong_type"),
        ("letter.docx", zip_file(), "", "unsupported_type"),
        ("run.exe", b"MZ\x90\x00\x03\x00\x00\x00", "", "unsupported_type"),
        ("noise.bin", bytes(range(1, 256)) * 4, "", "unsupported_type"),
        ("a.pdf", b"%PDF-1.7\nnothing that a PDF needs", "", "damaged"),
        ("a.pdf", pdf(line("half"))[:300], "", "damaged"),
        ("scan.pdf", pdf(b"0 0 100 100 re f"), "", "no_text"),
        ("a.pdf", pdf(), "", "no_text"),
        ("a.pdf", locked(pdf(line("secret")), "pass"), "", "encrypted_pdf"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_its_reason(
    name: str, data: bytes, media_type: str, problem: str
) -> None:
    found = await read(name, data, media_type)
    assert (found.problem, found.text) == (problem, "")


async def test_a_pdf_that_is_locked_only_against_printing_is_read() -> None:
    assert (await read("a.pdf", locked(pdf(line("open to all")), ""))).text == "open to all"


async def test_a_file_of_the_greatest_size_is_read_and_one_byte_more_is_refused() -> None:
    data = b"a" * MAX_FILE_BYTES
    assert (await read("a.txt", data)).problem == "cut"
    assert await read("a.txt", data + b"a") == FileText(media_type="text/plain", problem="too_large")


async def test_an_image_of_the_greatest_size_is_taken_and_one_byte_more_is_refused() -> None:
    data = PNG.ljust(MAX_IMAGE_BYTES, b"\x01")
    assert (await read("a.png", data)).problem == ""
    assert (await read("a.png", data + b"\x01")).problem == "too_large"


@pytest.mark.parametrize("name", ["a.txt", "a.pdf"])
@pytest.mark.parametrize(("extra", "problem"), [(0, ""), (1, "cut")])
async def test_a_long_text_is_kept_up_to_the_limit_and_said_to_be_cut(
    name: str, extra: int, problem: str
) -> None:
    text = "w" * (MAX_TEXT_CHARS + extra)
    data = text.encode() if name == "a.txt" else pdf(line(text))
    found = await read(name, data)
    assert (len(found.text), found.problem) == (MAX_TEXT_CHARS, problem)


async def test_no_character_comes_out_that_a_database_refuses() -> None:
    wide = "a\x00b\r\nc".encode("utf-16")
    assert (await read("a.txt", wide)).problem == "unsupported_type"
    long = ("text " * 100 + "\x00\r\n\rend").encode("utf-16")
    assert (await read("a.txt", long)).text == "text " * 100 + "\n\nend"
