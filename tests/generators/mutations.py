"""Random texts and random edits of programs, for readers that must refuse nonsense politely."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tileir.text.lexer import TOKEN

# Words, marks and fragments that mean something somewhere, and some that never do.
FRAGMENTS = (
    *(
        "%",
        "%0",
        "%a",
        "%a:2",
        "%0#1",
        "=",
        ",",
        ":",
        "::",
        "->",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "?",
        "*",
        "-",
    ),
    *(
        "@",
        "@k",
        '@"a b"',
        "^bb0",
        "^bb0:",
        "#",
        "#loc",
        "#loc1 = loc(unknown)",
        "!",
        "!t = i32",
        "//",
        "// -----",
        '"',
    ),
    *("loc(", "loc(unknown)", 'loc("a":1:2)', "callsite(", "fused<", "fused[", "unknown", "in", "at", "to", "step"),
    *("0", "1", "-1", "0x", "0xFF", "1.5", "1.0e999999999", "1.0e-999999999", "18446744073709551616", "9" * 50, "true"),
    *(
        "tile<4xf32>",
        "tile<",
        "tile<-1xf32>",
        "tile<3xi32>",
        "tile<i4>",
        "tile<4x?xf32>",
        "ptr<f32>",
        "token",
        "string",
    ),
    *("tensor_view<?x4xf32, strides=[4,1]>", "partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>", "i32", "f64"),
    *("tile<99999999999999999999xf32>", "tile<4xtile<4xf32>>", "!cuda_tile.tile<f32>", "() -> ()", "(i32) -> (i32)"),
    *(
        "cuda_tile.module",
        "module",
        "builtin.module",
        "entry",
        "global",
        "constant",
        "addi",
        "if",
        "else",
        "for",
        "loop",
    ),
    *("reduce", "scan", "yield", "return", "break", "continue", "assume", "print_tko", "load_view_tko", "iter_values"),
    *("dense<", "dense<[1, 2]>", "array<i32: 1>", "<i32: 1>", '<f32: "0x00">', "<i1: [true, 2]>", "unit", "attributes"),
    *("#cuda_tile.overflow<none>", "#cuda_tile.di_loc<", "#cuda_tile.div_by<0>", "div_by<", "bounded<?, ?>", "strict"),
    *("#cute.layout<(1@0)>", "#other.x<a>", "!other.y<b>", "optimization_hints=<sm_80 = {}>", "inbounds = [true]"),
    *('"cuda_tile.addi"', '"other.op"() : () -> ()', '"cuda_tile.constant"() : () -> i32', "operandSegmentSizes"),
    *("weak", "relaxed", "device", "signed", "rounding<zero>", "overflow<", "flush_to_zero", "token=%0", "token = %0"),
    *(
        "\n",
        "\t",
        "\r\n",
        "\0",
        "\x0b",
        "\u2028",
        "ß",
        "\udc80",
        "\ud800",
        "\\",
        "\\22",
        "\U0001f600",
        "²",
        "٣",
        "x" * 300,
    ),
)


def random_text(rng: Random) -> str:
    """Anything: bytes, unicode, words in no order."""
    kind = rng.randrange(4)
    length = rng.choice((0, 1, 3, 10, 40, 120))
    if kind == 0:
        return rng.randbytes(length).decode("utf-8", "surrogateescape")
    if kind == 1:
        return "".join(
            [
                chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000))))
                for _ in range(length)
            ]
        )
    if kind == 2:
        return " ".join([rng.choice(FRAGMENTS) for _ in range(length)])
    return "".join([rng.choice("%@#^!<>(){}[],:=-\"'/\\ \n0123456789abcdefxtile_.") for _ in range(length)])


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the tokens are."""
    return [match.span(1) for match in TOKEN.finditer(text) if match.end(1) > match.start(1)]


def _replace_span(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def delete_token(rng: Random, text: str, other: str) -> str:
    spans = _spans(text)
    return _replace_span(text, rng.choice(spans), "") if spans else text


def duplicate_token(rng: Random, text: str, other: str) -> str:
    spans = _spans(text)
    if not spans:
        return text
    start, end = rng.choice(spans)
    return text[:end] + " " + text[start:end] + text[end:]


def swap_tokens(rng: Random, text: str, other: str) -> str:
    spans = _spans(text)
    if len(spans) < 2:
        return text
    first, second = sorted(rng.sample(spans, 2))
    left, right = text[first[0] : first[1]], text[second[0] : second[1]]
    return _replace_span(_replace_span(text, second, left), first, right)


def replace_token(rng: Random, text: str, other: str) -> str:
    spans = _spans(text)
    return _replace_span(text, rng.choice(spans), rng.choice(FRAGMENTS)) if spans else text


def insert_fragment(rng: Random, text: str, other: str) -> str:
    place = rng.randint(0, len(text))
    return text[:place] + rng.choice(FRAGMENTS) + text[place:]


def borrow_token(rng: Random, text: str, other: str) -> str:
    spans, others = _spans(text), _spans(other)
    if not spans or not others:
        return text
    start, end = rng.choice(others)
    return _replace_span(text, rng.choice(spans), other[start:end])


def change_number(rng: Random, text: str, other: str) -> str:
    digits = [index for index, character in enumerate(text) if character in "0123456789"]
    if not digits:
        return text
    place = rng.choice(digits)
    number = rng.choice(("0", "1", "3", "-1", "4294967296", "9" * 25, "1.5", "0x1", "", "?"))
    return text[:place] + number + text[place + 1 :]


def delete_characters(rng: Random, text: str, other: str) -> str:
    place = rng.randint(0, len(text))
    return text[:place] + text[place + rng.choice((1, 1, 2, 10, 60)) :]


def insert_characters(rng: Random, text: str, other: str) -> str:
    place = rng.randint(0, len(text))
    return text[:place] + random_text(rng)[:20] + text[place:]


def change_character(rng: Random, text: str, other: str) -> str:
    place = rng.randint(0, max(len(text) - 1, 0))
    new = rng.choice((chr(rng.randrange(32, 127)), chr(rng.randrange(0x3000)), "\n", '"', "<", ">", "}"))
    return text[:place] + new + text[place + 1 :]


def truncate(rng: Random, text: str, other: str) -> str:
    return text[: rng.randint(0, len(text))]


def drop_beginning(rng: Random, text: str, other: str) -> str:
    return text[rng.randint(0, len(text)) :]


def splice(rng: Random, text: str, other: str) -> str:
    return text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]


def move_line(rng: Random, text: str, other: str) -> str:
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randint(0, len(lines)), line)
    return "\n".join(lines)


def delete_line(rng: Random, text: str, other: str) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def duplicate_line(rng: Random, text: str, other: str) -> str:
    lines = text.split("\n")
    index = rng.randrange(len(lines))
    return "\n".join([*lines[:index], lines[index], *lines[index:]])


def borrow_line(rng: Random, text: str, other: str) -> str:
    lines = text.split("\n")
    lines.insert(rng.randint(0, len(lines)), rng.choice(other.split("\n")))
    return "\n".join(lines)


MUTATIONS: tuple[Callable[[Random, str, str], str], ...] = (
    delete_token,
    duplicate_token,
    swap_tokens,
    replace_token,
    insert_fragment,
    borrow_token,
    change_number,
    delete_characters,
    insert_characters,
    change_character,
    truncate,
    drop_beginning,
    splice,
    move_line,
    delete_line,
    duplicate_line,
    borrow_line,
)


def mutated_text(rng: Random, sources: list[str]) -> str:
    """A program with one or a few edits."""
    text = rng.choice(sources)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        text = rng.choice(MUTATIONS)(rng, text, rng.choice(sources))
    return text
