"""Every elementwise operation with every combination of attributes and element types that the verifier accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import numpy
from tests.execute.cpu.elementwise import Case

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.vector import instructions
from tileir.execute.dtypes import memory_bytes
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.core import Operation
from tileir.ir.types import I1

FLOATS = ("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
COMPUTED = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
POINTEES = ("f32", "i8", "f64", "i1")
SIGNEDNESS = ("signed", "unsigned")
MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")
PREDICATES = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
FUNCTIONS = (
    "absf", "negf", "ceil", "floor", "recipf", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "sigmoid",
)  # fmt: skip


_FAST = re.compile(r"(exp|tanhf?) .*rounding<approx>")
"""Near the interpreter's results by definition: test_fast_math.py has those."""


def _roundings(*modes: str) -> list[str]:
    return ["", *[f" rounding<{mode}>" for mode in modes]]


def _float_texts(name: str) -> Iterator[str]:
    tile = f"tile<16x{name}>"
    modes = {"divf": ("approx", "full"), "sqrt": ("approx",)}
    for mnemonic, count in (("addf", 2), ("subf", 2), ("mulf", 2), ("divf", 2), ("fma", 3), ("sqrt", 1)):
        operands = ", ".join([f"%{letter}_{name}" for letter in "abc"[:count]])
        for rounding in _roundings(*MODES, *modes.get(mnemonic, ())):
            for flush in ("", " flush_to_zero"):
                yield f"{mnemonic} {operands}{rounding}{flush} : {tile}"
    for mnemonic in ("maxf", "minf"):
        for flags in ("", " flush_to_zero", " propagate_nan", " flush_to_zero propagate_nan"):
            yield f"{mnemonic} %a_{name}, %b_{name}{flags} : {tile}"
    for mnemonic in ("remf", "maximumf", "minimumf", "pow", "powf", "atan2"):
        yield f"{mnemonic} %a_{name}, %b_{name} : {tile}"
    for mnemonic in FUNCTIONS:
        yield f"{mnemonic} %a_{name} : {tile}"
    for mnemonic in ("exp", "tanh", "tanhf"):
        for rounding in _roundings("approx", "full"):
            yield f"{mnemonic} %a_{name}{rounding} : {tile}"
    for mnemonic in ("exp2", "rsqrt"):
        for flush in ("", " flush_to_zero"):
            yield f"{mnemonic} %a_{name}{flush} : {tile}"
    for integer in INTEGERS:
        yield f"fpowi %a_{name}, %b_{integer} : {tile}, tile<16x{integer}>"
    for predicate in PREDICATES:
        for ordering in ("ordered", "unordered"):
            yield f"cmpf {predicate} {ordering} %a_{name}, %b_{name} : {tile} -> tile<16xi1>"


def _integer_texts(name: str) -> Iterator[str]:
    tile = f"tile<16x{name}>"
    for mnemonic in ("addi", "subi", "muli", "mulhii", "mulhi", "andi", "ori", "xori", "shli"):
        yield f"{mnemonic} %a_{name}, %b_{name} : {tile}"
    for mnemonic in ("remi", "maxi", "mini", "shri", "divi"):
        for signedness in SIGNEDNESS:
            for rounding in _roundings("zero", "positive_inf", "negative_inf") if mnemonic == "divi" else [""]:
                yield f"{mnemonic} %a_{name}, %b_{name} {signedness}{rounding} : {tile}"
    for mnemonic in ("negi", "negsi", "absi", "noti", "popcnt", "clz", "ctz", "brev"):
        yield f"{mnemonic} %a_{name} : {tile}"
    for predicate in PREDICATES:
        for signedness in SIGNEDNESS:
            yield f"cmpi {predicate} %a_{name}, %b_{name}, {signedness} : {tile} -> tile<16xi1>"
    for pointee in POINTEES:
        pointer = f"tile<16xptr<{pointee}>>"
        yield f"offset %a_ptr_{pointee}, %b_{name} : {pointer}, {tile} -> {pointer}"


def _conversion_texts() -> Iterator[str]:
    for source in FLOATS:
        for target in FLOATS:
            for rounding in _roundings(*MODES, "nearest_away"):
                yield f"ftof %a_{source}{rounding} : tile<16x{source}> -> tile<16x{target}>"
        for target in INTEGERS:
            for signedness in SIGNEDNESS:
                yield f"ftoi %a_{source} {signedness} : tile<16x{source}> -> tile<16x{target}>"
                for rounding in _roundings(*MODES):
                    yield f"itof %a_{target} {signedness}{rounding} : tile<16x{target}> -> tile<16x{source}>"
    for source in (*INTEGERS, "i4"):
        for target in (*INTEGERS, "i4"):
            yield f"trunci %a_{source} : tile<16x{source}> -> tile<16x{target}>"
            for signedness in SIGNEDNESS:
                yield f"exti %a_{source} {signedness} : tile<16x{source}> -> tile<16x{target}>"
    for source in (*FLOATS, *INTEGERS, "i4"):
        yield f"select %a_i1, %a_{source}, %b_{source} : tile<16xi1>, tile<16x{source}>"
        for target in (*FLOATS, *INTEGERS, "i4"):
            yield f"bitcast %a_{source} : tile<16x{source}> -> tile<16x{target}>"
    yield "int_to_ptr %a_i64 : tile<16xi64> -> tile<16xptr<f32>>"
    yield "ptr_to_int %a_ptr_f32 : tile<16xptr<f32>> -> tile<16xi64>"
    yield "ptr_to_ptr %a_ptr_f32 : tile<16xptr<f32>> -> tile<16xptr<i8>>"


def _program(texts: list[str]) -> str:
    lines = []
    for name in FLOATS + INTEGERS:
        number = "1.0" if name in FLOATS else "true" if name == "i1" else "1"
        lines += [f"%{letter}_{name} = constant <{name}: {number}> : tile<16x{name}>" for letter in "abc"]
    lines.append("%packed = constant <i8: 1> : tile<8xi8>")
    lines += [f"%{letter}_i4 = unpack %packed : tile<8xi8> -> tile<16xi4>" for letter in "abc"]
    for name in POINTEES:
        lines.append(f"%one_{name} = reshape %p_{name} : tile<ptr<{name}>> -> tile<1xptr<{name}>>")
        lines.append(f"%a_ptr_{name} = broadcast %one_{name} : tile<1xptr<{name}>> -> tile<16xptr<{name}>>")
    lines += [f"%r{number} = {text}" for number, text in enumerate(texts)]
    parameters = ", ".join([f"%p_{name}: tile<ptr<{name}>>" for name in POINTEES])
    return f"cuda_tile.module @m {{ entry @k({parameters}) {{\n" + "\n".join(lines) + "\nreturn } }"


@cache
def all_operations() -> list[tuple[str, Operation]]:
    """The text and the operation of each valid combination."""
    texts = [text for name in FLOATS for text in _float_texts(name)]
    texts += [text for name in INTEGERS for text in _integer_texts(name)]
    texts += list(_conversion_texts())
    program = _program(texts)
    lines = program.split("\n")
    refused = set()
    try:
        tileir.verify(tileir.parse(program))
    except tileir.VerifyError as error:
        for diagnostic in error.diagnostics:
            position = re.search(r":(\d+):\d+: error", str(diagnostic))
            assert position is not None
            refused.add(lines[int(position[1]) - 1].split(" = ", 1)[1])
    texts = [text for text in texts if text not in refused]
    module: Any = tileir.parse(_program(texts))
    tileir.verify(module)
    (kernel,) = module.regions[0].blocks[0].operations
    body = [operation for operation in kernel.regions[0].blocks[0].operations if operation.results][-len(texts) :]
    return list(zip(texts, body, strict=True))


def operations() -> list[tuple[str, Operation]]:
    """Those of which the CPU backend gives the interpreter's bits."""
    return [(text, operation) for text, operation in all_operations() if not _FAST.match(text)]


def _kernel(operation: Operation) -> Any:
    mnemonic = operation.declaration.mnemonic
    if mnemonic == "select":
        return numpy.where
    if mnemonic == "offset":
        pointer, index = (cast(TileType, operand.type).element for operand in operation.operands)
        size = memory_bytes(cast(PointerType, pointer).pointee)

        def advance(address: Any, amount: Any) -> Any:
            wide = amount.astype(numpy.int64)
            return address + ((-wide if index is I1 else wide) * size).view(numpy.uint64)

        return advance
    return KERNELS[operation.declaration](operation, True)


def case_of(text: str, operation: Operation, traced: bool = False) -> Case:
    elements = tuple([cast(TileType, operand.type).element for operand in operation.operands])
    result = cast(TileType, operation.results[0].type).element
    use_trace = traced and operation.declaration in KERNELS
    emit = instructions.emit_traced if use_trace else instructions.emit_operation

    def emit_case(builder: Any, operands: Any) -> Any:
        return emit(builder, operation, operands)

    return Case(text, elements, result, emit_case, _kernel(operation))


def sample(every: int) -> list[tuple[str, Operation]]:
    """One in so many combinations of each operation, at least one."""
    groups: dict[str, list[tuple[str, Operation]]] = {}
    for text, operation in operations():
        groups.setdefault(operation.declaration.mnemonic, []).append((text, operation))
    return [entry for group in groups.values() for entry in group[len(group) // 2 % every :: every] or group[:1]]


__all__ = ["all_operations", "case_of", "operations", "sample"]
