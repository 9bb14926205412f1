"""Broken TTIR is an error with a position, whatever is broken: modules of Triton's frontend with random edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest
import triton
import triton.language as tl
from tests.bridge.triton import triton_kernels as kernels

from tileir.bridge.triton.resolving import resolved
from tileir.errors import TileIRError, TTIRError
from tileir.ttir import from_ttir
from tileir.ttir.tokens import MEMORY_ORDERS


@triton.jit(noinline=True)
def following(n, found):
    if found > 9:
        return n // 2
    return n - found - 1


@triton.jit
def steps(x, out, n, BLOCK: tl.constexpr):
    """Branches, loops, a call, a reduction and a scan."""
    if n < 0:
        return
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    for number in range(n):
        if number != 3:
            values = tl.cumsum(values, axis=0)
    while n > 1:
        n = following(n, tl.argmax(values, axis=0))
    tl.store(out + at, tl.reshape(tl.join(values, values), (2, BLOCK)).sum(axis=0))


@triton.jit
def products(x, out, n, BLOCK: tl.constexpr):
    """A product, descriptors, atomic operations, a gather, a histogram, a print."""
    read = tl.make_tensor_descriptor(x, [n, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    written = tl.make_tensor_descriptor(out, [n, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    square = read.load([0, 0])
    square = tl.dot(square.to(tl.float16), square.T.to(tl.float16), square)
    at = tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at).to(tl.int32), BLOCK)
    tl.device_print("counts", counts)
    tl.atomic_add(out + at, tl.gather(tl.sum(square, 1), counts % BLOCK, 0), mask=at < n)
    tl.atomic_xchg(out + at, tl.exp(tl.max(square, 1)), sem="release")
    written.store([0, 0], tl.where(square > 0, square, tl.sqrt(square)))


X = np.zeros(4096, np.float32)
LAUNCHES = [
    (kernels.add, (X, X, X, 100, 64)),
    (kernels.copy_2d, (X, X, 9, 9, 16, 1, 16, 16)),
    (kernels.scaled, (X, X, 0.5, True, 64)),
    (kernels.total, (X, X, 64)),
    (kernels.through_memory, (X, X, X, 64, True)),
    (steps, (X, X, 70, 64)),
    (products, (X, X, 70, 16)),
]
NAME, NUMBER, VALUE = re.compile(r'"\w+\.[\w.]+"'), re.compile(r"\d+"), re.compile(r"%[\w#]+")
TYPE = re.compile(r"tensor<[^<>]*(?:<\w+>)?>|!tt\.ptr<\w+>|\b[if]\d+\b")
PROPERTIES = re.compile(r"<\{.*?\}>")
NUMBERS = ("0", "1", "-1", "3", "7", "64", str(1 << 31), str(1 << 63), "1" + "0" * 30)
TYPES = ("i1", "i7", "index", "none", "bf16", "!tt.ptr<f64>", "tensor<0xi32>", "tensor<3xf32>", "tensor<*xf32>")
NAMES = ('"foo.bar"', '"cuda_tile.addi"', '"tt.dot"', '"scf.yield"', '"tt.return"', '"cf.br"')


@cache
def modules() -> list[str]:
    found = [resolved(kernel, (1,), arguments, {})[0].ttir.generic for kernel, arguments in LAUNCHES]
    # Positions are those of the text where there are no locations.
    return [*found, *[re.sub(r" loc\(.*?\)+(?=$|[,)])|^#loc.*$", "", each, flags=re.MULTILINE) for each in found]]


def replaced(pattern: re.Pattern[str], others: tuple[str, ...]) -> Callable[[Random, list[str]], None]:
    """An edit that replaces one match by another of the same module, or by one of these."""

    def edit(random: Random, lines: list[str]) -> None:
        places = [(number, match.span()) for number, line in enumerate(lines) for match in pattern.finditer(line)]
        if places:
            number, (start, end) = random.choice(places)
            texts = [*others, *[lines[line][first:last] for line, (first, last) in random.sample(places, 1)]]
            lines[number] = lines[number][:start] + random.choice(texts) + lines[number][end:]

    return edit


def truncated(random: Random, lines: list[str]) -> None:
    del lines[random.randrange(len(lines)) :]
    if lines:
        lines[-1] = lines[-1][: random.randrange(len(lines[-1]) + 1)]


def moved(random: Random, lines: list[str]) -> None:
    lines.insert(random.randrange(len(lines)), lines.pop(random.randrange(len(lines))))


def repeated(random: Random, lines: list[str]) -> None:
    lines.insert(random.randrange(len(lines)), random.choice(lines))


def removed(random: Random, lines: list[str]) -> None:
    del lines[random.randrange(len(lines))]


def scribbled(random: Random, lines: list[str]) -> None:
    number = random.randrange(len(lines))
    place = random.randrange(len(lines[number]) + 1)
    lines[number] = lines[number][:place] + random.choice('"<>(){}[]%:=#!^ \0é') + lines[number][place:]


EDITS = [
    *(truncated, moved, repeated, removed, scribbled),
    *(replaced(NAME, NAMES), replaced(NUMBER, NUMBERS), replaced(VALUE, ()), replaced(TYPE, TYPES)),
    replaced(PROPERTIES, ("", "<{}>", "<{axis = 9 : i32}>", "<{value = dense<1> : tensor<4xi32>}>")),
]


@pytest.mark.parametrize("edit", range(len(EDITS)))
def test_an_edited_module_is_translated_or_refused_with_a_position(edit: int) -> None:
    random = Random(edit)
    refused = 0
    for number in range(60):
        lines = random.choice(modules()).split("\n")
        for each in (EDITS[edit], *random.sample(EDITS, number % 3)):
            if lines:
                each(random, lines)
        try:
            from_ttir("\n".join(lines), memory_order=random.choice(MEMORY_ORDERS))
        except TileIRError as error:
            refused += 1
            assert re.search(r"--> .*:\d+:\d+", str(error)) or not "".join(lines).strip(), error
    assert refused


@pytest.mark.parametrize("text", ["", "module {}", "tt.func @f() { tt.retrun }", "(" * 5000, '"builtin.module"() ({'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(TileIRError):
        from_ttir(text)


def test_what_triton_says_of_the_usual_form_is_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TTIRError, match=r"(?s)undeclared SSA value name.*--> ttir:2:\d+") as caught:
        from_ttir("tt.func @f(%a: i32) {\n  %0 = arith.addi %a, %b : i32\n  tt.return\n}")
    assert len(caught.value.diagnostics) == 1
    assert capfd.readouterr() == ("", "")
