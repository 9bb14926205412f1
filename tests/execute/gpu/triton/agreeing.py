"""Programs of the comparison with a GPU, run as TTIR: what a GPU would have to show that runs it by the letter.

python -m tests.execute.gpu.triton.agreeing [--every N] [--target sm_90] FAMILY ..
"""

from __future__ import annotations

import argparse
import traceback
from collections import Counter

import numpy
from tests.execute.gpu.triton.evaluating import Memory, run
from tests.execute.gpu.triton.lowered_programs import lowered
from tests.hardware.agreement.choices import judged_again
from tests.hardware.agreement.comparing import REFUSED, Verdict, compare
from tests.hardware.agreement.families import programs_of
from tests.hardware.agreement.interpreting import NotRunError, arena, contents, interpret
from tests.hardware.agreement.program import Pointer, Program
from tests.hardware.agreement.rules import DIFFERENT
from tests.hardware.agreement.running import Result

from tileir.execute.gpu.errors import TritonError


def evaluated(program: Program, target: str = "sm_90") -> list[bytes]:
    """The memories of a program after its TTIR has run."""
    # Arrays begin anywhere, and nothing is promised of how they are aligned.
    made = lowered(program.text, target, divisor=1, described=not program.addresses)
    memories, numbers = arena(program)
    memory = Memory()
    starts = [memory.add(each) for each in memories]
    for place in program.addresses:
        address = numpy.array([starts[place.target] + place.target_start], numpy.int64)
        memories[place.memory][place.start : place.start + 8] = address.view(numpy.uint8)
    arguments = [
        starts[argument.memory] + argument.start if isinstance(argument, Pointer) else number
        for argument, number in zip(program.arguments, numbers, strict=True)
    ]
    run(made, program.grid, arguments, memory)
    return contents(program, memories)


def verdict(program: Program, target: str = "sm_90") -> Verdict:
    """How it compares with the interpreter; refused where one of them does not run it."""
    try:
        wanted = interpret(program, watched=False)
        found = Result(0, evaluated(program, target), "")
    except (NotRunError, TritonError) as error:
        return Verdict(program, REFUSED, [], [], [str(getattr(error, "message", error)).splitlines()[0]])
    made = compare(program, wanted, found, mistakes=False)
    return judged_again(made, found) if made.kind == DIFFERENT else made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--target", default="sm_90")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for family in options.families:
        for program in programs_of(family)[:: options.every]:
            try:
                made = verdict(program, options.target)
            except Exception as error:
                counts[f"{family}: {type(error).__name__}"] += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                print(program.name, type(error).__name__, str(error)[:200], f"{where.name}:{where.lineno}")
                continue
            counts[f"{family}: {made.kind}{' ' + made.words[0] if made.kind == REFUSED else ''}"] += 1
            if made.kind == DIFFERENT:
                print(program.name, made.kind, *made.words[:3], sep="\n  ")
    for kind, count in sorted(counts.items()):
        print(f"{count:6} {kind}")


if __name__ == "__main__":
    main()
