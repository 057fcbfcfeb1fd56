"""How many tokens a text is likely to cost, without any provider's tokenizer.

A weight per class of character, fitted on 298 texts in a dozen languages and measured on the same texts
against the largest of six modern tokenizers: 14 % too high on average, more than 5 % too low for one text in
ten. Counting happens on UTF-8 bytes, so that a long text costs microseconds.
"""

from collections.abc import Iterable

from core.domain.receipt import InputPart

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WHITESPACE = b" \t\n\r\x0b\x0c"
_DIGITS = b"0123456789"
_NOT_ASCII = bytes(range(0x80, 0x100))
_NOT_LEAD_OF_2 = bytes(b for b in range(0x100) if not 0xC2 <= b <= 0xDF)
_NOT_LEAD_OF_3 = bytes(b for b in range(0x100) if not 0xE0 <= b <= 0xEF)
_NOT_LEAD_OF_4 = bytes(b for b in range(0x100) if not 0xF0 <= b <= 0xF4)

MESSAGE_OVERHEAD_TOKENS = 4
"""What a provider adds around one message: role and separators."""

IMAGE_TOKENS = 1_600
"""One image. Providers count by its size, which is not known here; the large ones charge up to about this much."""

OUTPUT_GUESS_TOKENS = 700
"""What an answer is taken to cost before it is written: a page of text."""


def estimate_tokens(text: str) -> int:
    """Estimated tokens of one text, rounded up; 0 for the empty text. More text never costs less."""
    data = text.encode("utf-8", "surrogatepass")
    ascii_only = data.translate(None, _NOT_ASCII)
    no_letters = ascii_only.translate(None, _LETTERS)
    no_whitespace = no_letters.translate(None, _WHITESPACE)
    other = no_whitespace.translate(None, _DIGITS)
    hundredths = (
        28 * (len(ascii_only) - len(no_letters))
        + 15 * (len(no_letters) - len(no_whitespace))
        + 120 * (len(no_whitespace) - len(other))
        + 70 * len(other)
    )
    if len(ascii_only) != len(data):
        hundredths += (
            65 * len(data.translate(None, _NOT_LEAD_OF_2))
            + 105 * len(data.translate(None, _NOT_LEAD_OF_3))
            + 300 * len(data.translate(None, _NOT_LEAD_OF_4))
        )
    return -(-hundredths // 100)


def estimate_message_tokens(text: str) -> int:
    """Estimated tokens of one message with this text, what the provider adds around it included."""
    return estimate_tokens(text) + MESSAGE_OVERHEAD_TOKENS


def estimate_parts(parts: Iterable[InputPart]) -> int:
    """Estimated tokens of a whole AI input, images included."""
    return sum(estimate_message_tokens(part.text) + IMAGE_TOKENS * len(part.images) for part in parts)
