"""Operations on numbers, each on parameters of which nothing is known, alone or many in a kernel of TTIR."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from tests.execute.cpu.elementwise import Case
from tests.execute.cpu.operations import FLOATS, INTEGERS, POINTEES, all_operations, case_of

import tileir
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Specialization
from tileir.execute.gpu.triton.lowering.accesses import from_memory, to_memory
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.lower import ELEMENTWISE, HANDLERS
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue, memory_element
from tileir.execute.gpu.triton.program import Program
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation

EXTENT = 256


class Number:
    """An operation: its text, itself on parameters, and what it computes."""

    def __init__(self, text: str, operation: Operation, case: Case) -> None:
        self.text = text
        self.operation = operation
        self.case = case

    @property
    def mnemonic(self) -> str:
        return self.text.partition(" ")[0]


@cache
def all_numbers() -> list[Number]:
    """Every operation with every attribute and element type."""
    found = [(text, operation) for text, operation in all_operations() if operation.declaration in ELEMENTWISE]
    made = parsed([text for text, _ in found])
    return [
        Number(text, operation, case_of(text, defined)) for (text, defined), operation in zip(found, made, strict=True)
    ]


def parsed(texts: list[str]) -> list[Operation]:
    """Operations on tiles of 16 elements (`%a_f32`, `%b_i8`, ..), on larger ones."""
    parameters = [f"%{letter}_{name}: tile<{EXTENT}x{name}>" for name in (*FLOATS, *INTEGERS, "i4") for letter in "abc"]
    parameters += [f"%a_ptr_{name}: tile<{EXTENT}xptr<{name}>>" for name in POINTEES]
    # Every operand is another parameter.
    texts = [text.replace("tile<16x", f"tile<{EXTENT}x").replace("select %a_i1", "select %c_i1") for text in texts]
    lines = [f"%r{number} = {text}\n" for number, text in enumerate(texts)]
    module: Any = tileir.parse(
        f"cuda_tile.module @m {{ entry @k({', '.join(parameters)}) {{\n{''.join(lines)}return }} }}"
    )
    (kernel,) = module.regions[0].blocks[0].operations
    return [operation for operation in kernel.regions[0].blocks[0].operations if operation.results]


@cache
def _nothing() -> Program:
    return Program(select_entry(tileir.parse("cuda_tile.module @m { entry @k() { return } }"), None))


def lowering(target: str, fast: bool = False) -> Lowering:
    options = CodeOptions(fast=fast)
    return Lowering(_nothing(), target, Schedule(), Specialization(), options, (3, 9, 0), HANDLERS)


def body(operation: Operation, target: str, fast: bool = False) -> tuple[str, str]:
    """The TTIR of an operation on `%a`, `%b` and `%c`, and the name of its result."""
    made = lowering(target, fast)
    for name, operand in zip("abc", operation.operands, strict=False):
        made.values[operand] = TtirValue(f"%{name}", *made.type_of(operand))
    made.lower(operation)
    return "\n".join([line.text for line in made.lines()]), made.value(operation.results[0]).name


def kernel(operations: list[Operation], target: str, fast: bool = False) -> str:
    """A kernel that computes all of them, each from memory and to memory."""
    made = lowering(target, fast)
    build = made
    parameters: dict[str, str] = {}

    def pointers(name: str, element: str) -> TtirValue:
        parameters[name] = f"{name}: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}"
        base = build.splat(TtirValue(name, f"!tt.ptr<{element}>"), (EXTENT,))
        return build.advance(base, build.range(EXTENT))

    for number, operation in enumerate(operations):
        for letter, operand in zip("abc", operation.operands, strict=False):
            if operand in made.values:
                continue
            element = cast(TileType, operand.type).element
            loaded = build.load(pointers(f"%p{letter}{number}", memory_element(element)))
            made.values[operand] = from_memory(build, element, loaded)
        made.lower(operation)
        (result,) = operation.results
        element = cast(TileType, result.type).element
        stored = to_memory(build, element, made.value(result))
        build.store(pointers(f"%r{number}", memory_element(element)), stored)
    lines = "\n".join([line.text for line in build.lines()])
    return f"module {{\n  tt.func public @k({', '.join(parameters.values())}) {{\n{lines}\n    tt.return\n  }}\n}}\n"
