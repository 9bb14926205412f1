"""A kernel to the text of a TTIR module."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.code import Slot
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.control import lower_kernel
from tileir.execute.gpu.triton.lowering.promises import promised_divisor
from tileir.execute.gpu.triton.lowering.roster import HANDLERS
from tileir.execute.gpu.triton.options import CodeOptions, Schedule, Specialization
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.ttir.values import TtirValue, memory_element, value_element
from tileir.ir.core import Operation
from tileir.ir.types import F4E2M1FN, I1, I4, FloatType

_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_]")
_TAKEN_NAMES: Final = re.compile(r"[^a-zA-Z_]|_?$|__nv|__oc[km]l|global_smem$|WARP_SZ$")
"""Names that are none in PTX, and those of libraries, of Triton's shared memory and of PTX itself."""


class Lowered(NamedTuple):
    """TTIR, and what a launch of its code needs."""

    text: str
    name: str
    """Of the kernel in it."""
    slots: tuple[Slot, ...]
    """What its parameters are; Triton adds some of its own behind them."""
    options: dict[str, Any]
    """For Triton."""
    notes: tuple[str, ...]
    operations: list[Operation | None]
    """By line of the text: the operation of the program that it does the work of."""


def lower(
    program: Program,
    target: str,
    schedule: Schedule,
    specialization: Specialization,
    options: CodeOptions,
    version: tuple[int, ...],
) -> Lowered:
    """Lower a kernel for a GPU."""
    lowering = Lowering(program, target, schedule, specialization, options, version, HANDLERS)
    parameters = [_parameter(lowering, number) for number in range(len(program.parameters))]
    try:
        lower_kernel(lowering, program.entry.regions[0].blocks[0])
    except RecursionError:
        lowering.refuse(program.entry, "branches that end loops or the kernel follow each other too many times")
    slots = [Slot("argument", number) for number in range(len(program.parameters))]
    for hidden in lowering.hidden:
        slots.append(hidden.slot)
        parameters.append(f"{hidden.value.name}: {hidden.value.type}{hidden.attributes}")
    name = kernel_name(program.entry)
    lines = [("module {", None), (f"  tt.func public @{name}({', '.join(parameters)}) {{", program.entry)]
    lines += [(line.text, line.operation) for line in lowering.build.lines()]
    lines += [("  }", None), ("}", None)]
    made = {
        "num_warps": schedule.num_warps,
        "num_stages": schedule.num_stages,
        "enable_fp_fusion": options.fast,
        "enable_reflect_ftz": options.fast,
        **({"maxnreg": schedule.most_registers} if schedule.most_registers else {}),
        **lowering.compile_options,
    }
    text = "\n".join([line for line, _ in lines]) + "\n"
    return Lowered(text, name, tuple(slots), made, tuple(lowering.notes), [operation for _, operation in lines])


def kernel_name(entry: Operation) -> str:
    """The name of the kernel in the code: an identifier of PTX that nothing else has."""
    name = _OTHER_CHARACTERS.sub("_", entry.symbol_name or "")
    return f"kernel_{name}" if _TAKEN_NAMES.match(name) else name


def _parameter(lowering: Lowering, number: int) -> str:
    """A parameter of the kernel: as the launcher passes it, read as what the program takes it for."""
    argument = lowering.program.parameters[number]
    type = argument.type
    assert isinstance(type, TileType) and not type.shape, "kernels take scalars"
    build, element = lowering.build, type.element
    wanted = value_element(element)
    # What is less than a byte, and what the calling convention does not know, is passed as its bits.
    is_bits = wanted in ("f8E4M3FN", "f8E5M2") or element is I1
    passed = memory_element(element) if is_bits else wanted
    passed = "i8" if is_bits else passed
    given = TtirValue(f"%argument{number}", passed)
    if element is I1:
        lowering.values[argument] = build.compare("ne", given, build.integer(0, "i8"))
    elif is_bits:
        lowering.values[argument] = build.bitcast(given, wanted)
    elif element is I4:
        four = build.integer(4, "i8")
        lowering.values[argument] = build.binary("arith.shrsi", build.binary("arith.shli", given, four), four)
    elif element is F4E2M1FN:
        lowering.values[argument] = build.binary("arith.andi", given, build.integer(15, "i8"))
    else:
        lowering.values[argument] = given
    divisors = lowering.specialization.divisors
    divisor = max(divisors[number] if number < len(divisors) else 1, promised_divisor(lowering, argument))
    if not isinstance(element, FloatType) and divisor > 1 and given.bits >= 32:
        return f"{given.name}: {given.type} {{tt.divisibility = {divisor} : i32}}"
    return f"{given.name}: {given.type}"
