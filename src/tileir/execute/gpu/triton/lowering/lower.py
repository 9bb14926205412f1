"""A kernel to the text of a TTIR module."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Slot, Specialization
from tileir.execute.gpu.triton.lowering import (
    accesses,
    atomics,
    constants,
    control,
    memory,
    printing,
    reductions,
    shapes,
)
from tileir.execute.gpu.triton.lowering.accesses import from_memory
from tileir.execute.gpu.triton.lowering.context import Handlers, Lowering
from tileir.execute.gpu.triton.lowering.control import lower_kernel
from tileir.execute.gpu.triton.lowering.elementwise import ELEMENTWISE
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue, value_element
from tileir.execute.gpu.triton.program import Program
from tileir.execute.locations.source_locations import frames_of
from tileir.ir.core import Operation
from tileir.ir.types import I1, FloatType

_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_]")
_TAKEN_NAMES: Final = re.compile(r"[^a-zA-Z_]|_?$|__nv|__oc[km]l|global_smem$|WARP_SZ$")
"""Names that are none in PTX, and those of libraries, of Triton's shared memory and of PTX itself."""

_WITHOUT_EFFECT: Final = (
    ops.BARRIER, ops.GDC_LAUNCH_DEPENDENTS_TKO, ops.GDC_WAIT_TKO, ops.JOIN_TOKENS, ops.MAKE_TOKEN,
)  # fmt: skip
_TILE_VIEWS: Final = (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)
HANDLERS: Final[Handlers] = {
    **ELEMENTWISE,
    **dict.fromkeys(_WITHOUT_EFFECT, lambda build, operation: None),
    ops.GET_TILE_BLOCK_ID: lambda build, operation: control.lower_block_ids(build, operation, "tt.get_program_id"),
    ops.GET_NUM_TILE_BLOCKS: lambda build, operation: control.lower_block_ids(build, operation, "tt.get_num_programs"),
    **dict.fromkeys(_TILE_VIEWS, accesses.lower_make_tile_view),
    ops.ALLOCA: memory.lower_alloca,
    ops.ASSERT: printing.lower_assert,
    ops.ASSUME: constants.lower_assume,
    ops.ATOMIC_CAS_TKO: atomics.lower_atomic_cas,
    ops.ATOMIC_RED_VIEW_TKO: atomics.lower_atomic_view,
    ops.ATOMIC_RMW_TKO: atomics.lower_atomic_rmw,
    ops.BROADCAST: shapes.lower_broadcast,
    ops.CAT: shapes.lower_cat,
    ops.CONSTANT: constants.lower_constant,
    ops.EXTRACT: shapes.lower_extract,
    ops.FOR: control.lower_for,
    ops.GET_GLOBAL: memory.lower_global,
    ops.GET_INDEX_SPACE_SHAPE: accesses.lower_index_space_shape,
    ops.GET_TENSOR_SHAPE: accesses.lower_tensor_shape,
    ops.IF: control.lower_if,
    ops.INSERT: shapes.lower_insert,
    ops.IOTA: constants.lower_iota,
    ops.LOAD_PTR_TKO: memory.lower_load_pointers,
    ops.LOAD_VIEW_TKO: memory.lower_load_view,
    ops.LOOP: control.lower_loop,
    ops.MAKE_TENSOR_VIEW: accesses.lower_make_tensor_view,
    # What comes before it may reach the same memory as what comes after, whatever their addresses.
    ops.MEMORY_FENCE_ALIAS_TKO: lambda build, operation: build.fenced_barrier(),
    ops.MMAF: reductions.lower_mmaf,
    ops.MMAF_SCALED: reductions.lower_mmaf_scaled,
    ops.MMAI: reductions.lower_mmai,
    ops.OFFSET: memory.lower_offset,
    ops.PACK: shapes.lower_pack,
    ops.PERMUTE: shapes.lower_permute,
    ops.PRINT_TKO: printing.lower_print,
    ops.REDUCE: reductions.lower_reduce,
    ops.RESHAPE: shapes.lower_reshape,
    ops.SCAN: reductions.lower_scan,
    ops.STORE_PTR_TKO: memory.lower_store_pointers,
    ops.STORE_VIEW_TKO: memory.lower_store_view,
    ops.UNPACK: shapes.lower_unpack,
}


class Lowered(NamedTuple):
    text: str
    slots: tuple[Slot, ...]  # What its parameters are; Triton adds some of its own behind them.
    options: dict[str, Any]
    operations: list[Operation | None]  # By line of the text: the operation of the program that it does the work of.
    notes: tuple[str, ...] = ()


def lower(
    program: Program,
    target: str,
    schedule: Schedule,
    specialization: Specialization,
    options: CodeOptions,
    version: tuple[int, ...],
) -> Lowered:
    build = Lowering(program, target, schedule, specialization, options, version, HANDLERS)
    parameters = [_parameter(build, number) for number in range(len(program.parameters))]
    try:
        lower_kernel(build, program.entry.regions[0].blocks[0])
    except RecursionError:
        build.refuse(program.entry, "branches that end loops or the kernel follow each other too many times")
    slots = [Slot("argument", number) for number in range(len(program.parameters))]
    for hidden in build.hidden:
        slots.append(hidden.slot)
        parameters.append(f"{hidden.value.name}: {hidden.value.type}{hidden.attributes}")
    name = kernel_name(program.entry)
    lines = [("module {", None), (f"  tt.func public @{name}({', '.join(parameters)}) {{", program.entry)]
    lines += [(line.text, line.operation) for line in build.lines()]
    lines += [("  }", None), ("}", None)]
    made = {
        "num_warps": schedule.num_warps,
        "num_stages": schedule.num_stages,
        "enable_fp_fusion": options.fast,
        "enable_reflect_ftz": options.fast,
    }
    text = "\n".join([line for line, _ in lines]) + "\n"
    return Lowered(text, tuple(slots), made, [operation for _, operation in lines])


def kernel_name(entry: Operation) -> str:
    """The name of the kernel in the code: an identifier of PTX that nothing else has."""
    name = _OTHER_CHARACTERS.sub("_", entry.symbol_name or "")
    return f"kernel_{name}" if _TAKEN_NAMES.match(name) else name


def _parameter(build: Lowering, number: int) -> str:
    """A parameter of the kernel: as the launcher passes it, read as what the program takes it for."""
    argument = build.program.parameters[number]
    type = argument.type
    assert isinstance(type, TileType) and not type.shape, "kernels take scalars"
    element = type.element
    expected = value_element(element)
    # What is less than a byte, and what the calling convention does not know, is passed as its bits.
    is_f8 = expected in ("f8E4M3FN", "f8E5M2")
    given = TtirValue(f"%argument{number}", "i8" if is_f8 or element is I1 else expected)
    if isinstance(element, PointerType):
        build.values[argument] = given
    else:
        build.values[argument] = build.bitcast(given, expected) if is_f8 else from_memory(build, element, given)
    divisors = build.specialization.divisors
    divisor = divisors[number] if number < len(divisors) else 1
    if not isinstance(element, FloatType) and divisor > 1 and given.bits >= 32:
        return f"{given.name}: {given.type} {{tt.divisibility = {divisor} : i32}}"
    return f"{given.name}: {given.type}"


def located_text(text: str, operations: list[Operation | None]) -> str:
    """The text, in which each line is an operation, or the beginning or end of one that has regions."""
    found: list[str] = []
    begun: list[Operation | None] = []
    for line, operation in zip(text.splitlines(), operations, strict=True):
        words = line.strip()
        if words.startswith("}"):
            operation = begun.pop()
        if words.endswith("{"):
            # Its location comes behind its regions.
            begun.append(operation)
        # Labels of blocks have none.
        is_whole = words and not words.endswith("{") and not words.startswith("^")
        frames = frames_of(operation.location)[:1] if operation is not None else []
        places = [f"{json.dumps(frame.file)}:{frame.line}:{frame.column}" for frame in frames] or ["unknown"]
        found.append(f"{line} loc({places[0]})" if is_whole else line)
    return "\n".join(found) + "\n"
