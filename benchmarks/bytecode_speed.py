"""Bytecode against NVIDIA's own: reading against tileirdisasm, writing against cuTile's writer.

Reading is what `tileir dis` does: read, verify, print.  CPU time on both sides, best of several rounds taken in turns
(`reading_rounds.py`), for at least so many seconds: of a small program there are many.  The program of the last round
is gone; the types and constants it had are known, unless `--cold` is given.  From the tool's time the time it takes for
an empty program is subtracted, as its start-up.  Both print the same text, which is checked first.

The programs are of several kinds (`tool_programs.py`), and of several sizes: the time of an operation must not depend
on how many there are.  How much it grows is the median of the rounds, from that of the smaller programs from which it
grows most.  The machine has a part in that: a small program is read into memory that the process has and the caches
hold, a large one into new pages.  How much the tool's own time grows and that of as many plain lists and strings is
measured in the same rounds.

Writing is the step from the program in memory to its bytes. cuTile's is measured inside its own compiler (the function
that turns its IR into bytecode) while it exports the kernels in `tests/kernels`; ours writes the same programs, read
back from those files.

    python benchmarks/bytecode_speed.py                    # the tables
    python benchmarks/bytecode_speed.py --strict           # exit status 1 when a bar is missed
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.kernels import export

import tileir
from measure import (
    Line,
    add_line_options,
    finish,
    is_compiled,
    line_table,
    machine,
    stay_on_one_processor,
    table,
    tileir_build,
    timed,
)
from programs import cuda_tile_program
from reading_rounds import NEWEST, Growth, Readings, read_kind
from tileir.bytecode.layouts import from_bytes, to_bytes
from tool_programs import KINDS

READ_BAR = 3.0
COMPILED_READ_BAR = 0.8
# How much more an operation of the largest program may take than one of the smallest.
GROWTH_BAR = 1.2
WRITE_BAR = 4.0
SIZES = (1_000, 20_000, 100_000)
SECONDS = 3.0
"""How long rounds go on for each program, and how many there are at least; of a huge one these are enough."""
ROUNDS = 3
HUGE = 500_000
# Iterations of the unrolled loop in the long kernel; about 19 operations each.
LONG_KERNEL = 1_000


def cpu_of(action: Callable[..., object]) -> float:
    """CPU seconds of an action, with the collector off."""
    return timed(action, clock=time.process_time)[0]


def most(rounds: list[Growth], growth: Callable[[Growth], list[float]]) -> float:
    """The median of the rounds, of the growth from the smaller programs from which there is most."""
    smaller: list[tuple[float, ...]] = list(zip(*[growth(each) for each in rounds], strict=True))
    return max(median(found) for found in smaller)


def read_lines(found: list[Readings]) -> list[Line]:
    """The ratios of the programs that are large enough to measure, and how the time of an operation grows."""
    bar = COMPILED_READ_BAR if is_compiled() else READ_BAR
    lines = [
        Line(f"read + verify + print, {program.kind} {size(program.count)}", "tileirdisasm", program.ratio, bar, True)
        for readings in found
        for program in readings.programs
        if program.count > 5_000
    ]
    plain: list[float] = []
    for programs, rounds in found:
        if len(programs) > 1:
            kind, peer = programs[0].kind, "smaller programs"
            ours, tool = most(rounds, lambda each: each.ours), most(rounds, lambda each: each.tool)
            beside = most(rounds, lambda each: [mine / its for mine, its in zip(each.ours, each.tool, strict=True)])
            lines.append(Line(f"growth of read + verify + print, {kind}", peer, ours, GROWTH_BAR, True))
            lines.append(Line(f"growth of tileir / tileirdisasm, {kind}", peer, beside, GROWTH_BAR, True))
            lines.append(Line(f"growth of tileirdisasm, {kind}", peer, tool))
            plain += [each.plain for each in rounds]
    if plain:
        largest = max(program.count for readings in found for program in readings.programs)
        lines.append(Line(f"growth of plain lists and strings, {size(largest)}", "a few of them", median(plain)))
    return lines


def size(count: int) -> str:
    return f"{round(count, -3) // 1000}K" if count < 950_000 else f"{round(count / 1e6)}M"


def write_rows(rounds: int) -> tuple[list[tuple[str, ...]], float]:
    """Write one long kernel and the small ones of the tests, on both sides; the ratio is that of the long one."""
    import cuda.tile._compile as compiler
    from tests.kernels.case import KernelCase
    from tests.kernels.control_flow import F32, long_chain

    spent = [0.0]
    inner = compiler.generate_bytecode_for_kernel

    def measured(*arguments: object, **named: object) -> object:
        start = time.process_time()
        try:
            return inner(*arguments, **named)
        finally:
            spent[0] += time.process_time() - start

    small = [case for case in export.all_cases() if "13.4" in case.versions]
    long = KernelCase("long", long_chain, (F32, F32, LONG_KERNEL))
    groups = [("one long kernel", [long]), ("kernels of the tests", small)]
    rows: list[tuple[str, ...]] = []
    ratios: list[float] = []
    for name, cases in groups:
        theirs, ours, count = [], [], 0
        for _ in range(rounds):
            spent[0] = 0.0
            compiler.generate_bytecode_for_kernel = measured
            gc.disable()
            try:
                files = [export._export_uncached(case, "13.4") for case in cases]
            finally:
                compiler.generate_bytecode_for_kernel = inner
                gc.enable()
            theirs.append(spent[0])
            modules = [from_bytes(data) for data in files]
            count = sum(sum(1 for _ in module.walk()) for module in modules)
            ours.append(cpu_of(lambda modules=modules: [to_bytes(module, NEWEST) for module in modules]))
        ratios.append(min(theirs) / min(ours))
        per = [f"{seconds / count * 1e6:.2f}" for seconds in (min(theirs), min(ours))]
        rows.append((f"{name}: {count:,} operations in {len(cases)}", *per, f"{ratios[-1]:.1f}x"))
    return rows, ratios[0]


def write_scaling(sizes: list[int]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for size in sizes:
        text, count = cuda_tile_program(size)
        module = tileir.parse(text)
        data = to_bytes(module, NEWEST)
        read = min(cpu_of(lambda data=data: from_bytes(data)) for _ in range(2))
        write = min(cpu_of(lambda module=module: to_bytes(module, NEWEST)) for _ in range(2))
        rows.append((f"{count:,}", f"{read / count * 1e6:.2f}", f"{write / count * 1e6:.2f}"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of operations to read")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to read each program, again and again")
    parser.add_argument("--cold", action="store_true", help="forget types, constants and locations before each round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of writing")
    parser.add_argument("--only-read", action="store_true", help="leave out writing")
    parser.add_argument("--scaling", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    add_line_options(parser)
    given = parser.parse_args()
    stay_on_one_processor()
    if not export.tools_available():
        print(export.TOOLS_MISSING)
        return 2
    print(f"{tileir_build()} against tileirdisasm and cuTile\n{machine()}, CPU time in us per operation\n")
    sizes = sorted(given.sizes)
    seconds = given.seconds * len(sizes) if sizes[-1] <= HUGE else 0.0
    with tempfile.TemporaryDirectory() as folder:
        found = [
            read_kind(kind, [KINDS[kind](each) for each in sizes], Path(folder), seconds, ROUNDS, given.cold)
            for kind in given.kinds
        ]
    lines = read_lines(found)
    header = ("operations", "tileirdisasm", "read", "verify", "print", "tileir", "tileir / tool")
    print(table(header, [program.row() for readings in found for program in readings.programs]))
    print("\n" + line_table(lines) + "\n")
    if given.only_read:
        return finish(lines, given)
    rows, write_ratio = write_rows(max(1, given.rounds - 1))
    print(table(("writing", "cuTile", "tileir", "ratio"), rows))
    print(f"bar >= {WRITE_BAR}x for the long kernel: {'met' if write_ratio >= WRITE_BAR else 'MISSED'}\n")
    print(table(("operations", "read", "write"), write_scaling(given.scaling)))
    lines.append(Line("write a long kernel", "cuTile's writer", write_ratio, WRITE_BAR))
    return finish(lines, given)


if __name__ == "__main__":
    sys.exit(main())
