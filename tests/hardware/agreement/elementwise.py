"""One program for each elementwise operation with each attribute and element type, on special values and random bits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy
from tests.execute.cpu.elementwise import operand_arrays, special_patterns
from tests.execute.cpu.operations import all_operations
from tests.hardware.agreement.program import Program, dtype_of, element_of, simple

from tileir.ir.core import Operation

TILE = 256
COUNT = 4096


def elements_of(operation: Operation) -> tuple[list[str], str]:
    """The names of the element types of the operands and of the result."""
    names = [str(value.type.element) for value in (*operation.operands, *operation.results)]
    return names[:-1], names[-1]


def named(text: str, tile: int, names: list[str]) -> str:
    """The operation on values of these names, for tiles of another size, 0 for none."""
    head, _, types = text.partition(" : ")
    following = iter(names)
    head = re.sub(r"%\w+", lambda _: f"%{next(following)}", head)
    return f"{head} : {types.replace('tile<16x', f'tile<{tile}x' if tile else 'tile<')}"


def pointers(name: str, element: str, tile: int) -> str:
    """`%NAME_p`: pointers to the elements of this tile block."""
    point = f"ptr<{element}>"
    return (
        f"%{name}_0 = offset %{name}, %start : tile<{point}>, tile<i32> -> tile<{point}>\n"
        f"%{name}_1 = reshape %{name}_0 : tile<{point}> -> tile<1x{point}>\n"
        f"%{name}_n = broadcast %{name}_1 : tile<1x{point}> -> tile<{tile}x{point}>\n"
        f"%{name}_p = offset %{name}_n, %lane : tile<{tile}x{point}>, tile<{tile}xi32> -> tile<{tile}x{point}>\n"
    )


def kernel(sources: list[str], result: str, body: str, tile: int) -> str:
    """Load a tile of each array into %a, %b, %c, run the body, and store its %r."""
    names = list("abc"[: len(sources)])
    parameters = [f"%{name}_in: tile<ptr<{source}>>" for name, source in zip(names, sources, strict=True)]
    parameters.append(f"%out: tile<ptr<{result}>>")
    lines = [
        "%x, %y, %z = get_tile_block_id : tile<i32>\n"
        f"%extent = constant <i32: {tile}> : tile<i32>\n%start = muli %x, %extent : tile<i32>\n"
        f"%lane = iota : tile<{tile}xi32>\n"
    ]
    for name, source in zip(names, sources, strict=True):
        lines.append(pointers(f"{name}_in", source, tile))
        types = f"tile<{tile}xptr<{source}>> -> tile<{tile}x{source}>, token"
        lines.append(f"%{name}, %{name}_t = load_ptr_tko weak %{name}_in_p : {types}\n")
    lines += [f"{body}\n", pointers("out", result, tile)]
    types = f"tile<{tile}xptr<{result}>>, tile<{tile}x{result}> -> token"
    lines.append(f"%s = store_ptr_tko weak %out_p, %r : {types}\n")
    return f"cuda_tile.module @m {{ entry @k({', '.join(parameters)}) {{\n{''.join(lines)}return }} }}"


def defined(text: str, arrays: list[Any], sources: list[str]) -> list[Any]:
    """The operands, changed where the operation is undefined for them: division by zero, shifts by the width."""
    mnemonic = text.split()[0]
    if mnemonic in ("divi", "remi"):
        a, b = (array.view(f"u{array.itemsize}").copy() for array in arrays)
        b[b == 0] = 1
        if " signed" in text:
            if sources[0] == "i1":
                a[:] = 0
            else:
                least, minus = 1 << (8 * a.itemsize - 1), (1 << (8 * a.itemsize)) - 1
                b[(a == a.dtype.type(least)) & (b == b.dtype.type(minus))] = 1
        return [a, b]
    if mnemonic in ("shli", "shri"):
        b = arrays[1].view(f"u{arrays[1].itemsize}") % (1 if sources[1] == "i1" else 8 * arrays[1].itemsize)
        return [arrays[0], b.astype(f"u{arrays[1].itemsize}")]
    return arrays


def programs() -> Iterator[Program]:
    for text, operation in all_operations():
        sources, result = elements_of(operation)
        if any("ptr" in name or name == "i4" for name in (*sources, result)):
            continue
        seed = sum([ord(letter) for letter in "".join(sources)])
        arrays = operand_arrays(tuple([element_of(source) for source in sources]), COUNT, seed)
        count = arrays[0].size // TILE * TILE
        arrays = [array[:count] for array in defined(text, arrays, sources)]
        written = kernel(sources, result, f"%r = {named(text, TILE, list('abc'))}", TILE)
        given: list[Any] = list(zip(sources, arrays, strict=True))
        given.append((result, numpy.zeros(count, dtype_of(result))))
        details = {"unwatched": True, "operation": text, "operands": len(sources)}
        yield simple(f"elementwise: {described(text)}", written, given, (count // TILE, 1, 1), details)


def described(text: str) -> str:
    """An operation without its operands: `ftof rounding<zero> f64 -> f32`."""
    head, _, types = text.partition(" : ")
    head = re.sub(r"%\w+,? ?", "", head).replace(",", "").strip()
    types = re.sub(r"tile<16x(.*?)>", r"\1", types)
    return f"{head} {types}"


# --- operands that are constants, which assemblers compute with ---

FOLDED = 6
"""Operations in one program."""


def folded() -> Iterator[Program]:
    """The same operations on constants, several of each in a program."""
    for number, (text, operation) in enumerate(all_operations()):
        sources, result = elements_of(operation)
        if any("ptr" in name or name in ("i4", "tf32", "f4E2M1FN") for name in (*sources, result)):
            continue
        rng = numpy.random.default_rng(number)
        columns = [rng.choice(special_patterns(element_of(source)), FOLDED) for source in sources]
        columns = [column & 1 if source == "i1" else column for column, source in zip(columns, sources, strict=True)]
        typed = [column.view(dtype_of(source)) for column, source in zip(columns, sources, strict=True)]
        columns = [array.view(f"u{array.itemsize}") for array in defined(text, typed, sources)]
        lines = []
        for place in range(FOLDED):
            names = []
            for letter, source, column in zip("abc", sources, columns, strict=False):
                names.append(f"{letter}{place}")
                lines.append(
                    f"%{names[-1]} = constant <{source}: {constant(source, int(column[place]))}> : tile<{source}>"
                )
            lines.append(f"%r{place} = {named(text, 0, names)}")
            lines.append(f"%i{place} = constant <i32: {place}> : tile<i32>")
            point = f"ptr<{result}>"
            lines.append(f"%p{place} = offset %out, %i{place} : tile<{point}>, tile<i32> -> tile<{point}>")
            lines.append(
                f"%s{place} = store_ptr_tko weak %p{place}, %r{place} : tile<{point}>, tile<{result}> -> token"
            )
        body = "\n".join(lines)
        written = f"cuda_tile.module @m {{ entry @k(%out: tile<ptr<{result}>>) {{\n{body}\nreturn }} }}"
        details = {"unwatched": True, "operation": text, "operands": 0}
        zeros = numpy.zeros(FOLDED, dtype_of(result))
        yield simple(f"folded: {described(text)}", written, [(result, zeros)], details=details)


def constant(element: str, pattern: int) -> str:
    if element == "i1":
        return "true" if pattern & 1 else "false"
    width = 8 * dtype_of(element).itemsize
    if element.startswith("i"):
        return str(pattern - (1 << width) if pattern >> (width - 1) else pattern)
    return f"0x{pattern:0{width // 4}X}"
