"""What an engine of ours makes of a program: the memories afterwards, and whether the program says what they must be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from tests.execute.step_limit import Enough, StepLimit
from tests.hardware.agreement.program import Number, Pointer, Program, dtype_of, element_of

import tileir
from tileir.execute.dtypes import is_float_dtype, value_dtype
from tileir.execute.observing.observer import Observers

STEPS = 200_000


class Outcome(NamedTuple):
    memories: list[bytes]
    unspecified: list[str]
    """What the sanitizer found: kinds of mistakes that leave the result open."""
    notes: list[str]
    """Where it says that NVIDIA's assembler may lose an order."""


class NotRunError(Exception):
    """The interpreter does not run the program to its end."""


def arena(program: Program) -> tuple[list[Any], list[Any]]:
    """Memory for a launch, and the arguments that point into it."""
    memories = []
    for content in program.memories:
        raw = numpy.zeros(len(content) + 256, numpy.uint8)
        start = -raw.ctypes.data % 256
        memory = raw[start : start + len(content)]
        memory[:] = numpy.frombuffer(content, numpy.uint8)
        memories.append(memory)
    for place in program.addresses:
        address = memories[place.target].ctypes.data + place.target_start
        memories[place.memory][place.start : place.start + 8] = numpy.array([address], "u8").view(numpy.uint8)
    arguments: list[Any] = []
    for argument in program.arguments:
        if isinstance(argument, Pointer):
            dtype = dtype_of(argument.element)
            size = argument.length * dtype.itemsize
            arguments.append(memories[argument.memory][argument.start : argument.start + size].view(dtype))
        else:
            arguments.append(number_of(argument))
    return memories, arguments


def number_of(argument: Number) -> Any:
    dtype = value_dtype(element_of(argument.element))
    array = numpy.array([argument.bits], f"u{dtype.itemsize}").view(dtype)
    return float(array[0]) if is_float_dtype(dtype) else int(array[0])


def contents(program: Program, memories: list[Any]) -> list[bytes]:
    """The memories as they are compared: addresses as they were before the launch."""
    for place in program.addresses:
        content = program.memories[place.memory][place.start : place.start + 8]
        memories[place.memory][place.start : place.start + 8] = numpy.frombuffer(content, numpy.uint8)
    return [memory.tobytes() for memory in memories]


def interpret(program: Program, watched: bool = True) -> Outcome:
    """Run a program in the interpreter; `watched` also asks the sanitizer."""
    unspecified: list[str] = []
    notes: list[str] = []
    try:
        if watched:
            sanitizer = tileir.sanitizer.Sanitizer()
            launched(program, "interpreter", observer=Observers([StepLimit(STEPS), sanitizer]))
            unspecified = sorted(set(sanitizer.report.kinds))
            notes = [note.help for note in sanitizer.report.notes]
        memories = launched(program, "interpreter")
    except Enough:
        raise NotRunError("runs for too long") from None
    except tileir.TileIRError as error:
        raise NotRunError(str(error).splitlines()[0]) from None
    return Outcome(memories, unspecified, notes)


def launched(program: Program, backend: str, **options: Any) -> list[bytes]:
    # Compiled anew for each launch: global variables keep what a launch has written.
    kernel = tileir.compile(tileir.parse(program.text), backend=backend, exact=True)
    memories, arguments = arena(program)
    reached = memories if program.addresses else ()
    kernel.launch(program.grid, arguments, memory=reached, output=lambda text: None, **options)
    return contents(program, memories)


def run_on(program: Program, backend: str) -> list[bytes]:
    """What one of our engines gives: the stand-in for a GPU."""
    return launched(program, backend)
