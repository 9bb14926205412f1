"""Numbers in a text: an integer in other bases, a float as bits and as the value that it is rounded to."""

from __future__ import annotations

from math import inf

from tileir.ir.floats import FORMATS, FloatFormat, is_finite, parse_float, to_double
from tileir.serve.language.document import Document
from tileir.serve.language.structure import WrittenOperation

# How far before a number its element type may stand: a constant may be long.
_FURTHEST = 4096


def number_words(document: Document, written: WrittenOperation, token: int) -> list[str]:
    """What a number is, by the element type that stands before or behind it."""
    tokens = document.syntax.tokens
    text = tokens[token]
    negative = tokens[token - 1] == "-"
    format = FORMATS.get(_element(tokens, written, token))
    if format is not None:
        return _float_words(format, text, negative)
    if "." in text:
        return []
    return _integer_words(int(text, 0) if not text.startswith("0") or text[1:2] == "x" else int(text), negative)


def _element(tokens: list[str], written: WrittenOperation, token: int) -> str:
    """The element type of a constant's number: `<f32: 1.0`, `1.0 : f32`."""
    if tokens[token + 1] == ":":
        return tokens[token + 2]
    for place in range(token - 1, max(written.name, token - _FURTHEST), -1):
        if tokens[place] == ":" and tokens[place - 2] == "<":
            return tokens[place - 1]
    return ""


def _float_words(format: FloatFormat, text: str, negative: bool) -> list[str]:
    digits = -(-format.width // 4)
    if text.startswith("0x"):
        bits = int(text, 16)
        if bits >> format.width:
            return []
    else:
        try:
            bits = parse_float(format, f"-{text}" if negative else text)
        except ValueError:
            return []
    lines = [f"`{'-' if negative else ''}{text}`: `{format.name}` with the bits `0x{bits:0{digits}X}`"]
    value = to_double(format, bits)
    if not is_finite(format, bits):
        lines.extend(["", "infinity" if value in (inf, -inf) else "not a number"])
    elif text.startswith("0x") or value != float(f"-{text}" if negative else text):
        lines.extend(["", f"is {value!r}"])
    return lines


def _integer_words(value: int, negative: bool) -> list[str]:
    if negative:
        value = -value
    facts = [f"`{value}`", f"`{value:#x}`"]
    if 0 <= value < 1 << 16:
        facts.append(f"`{value:#b}`")
    words = ", ".join(facts)
    power = value.bit_length() - 1
    if value > 1 and value == 1 << power:
        words += f": 2 to the power of {power}"
    return [words]
