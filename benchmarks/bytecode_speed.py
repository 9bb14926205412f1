"""Bytecode against NVIDIA's own: reading against tileirdisasm, writing against cuTile's writer.

Reading is what `tileir dis` does: read, verify, print. CPU time on both sides, best of several rounds taken in turns,
for at least so many seconds: of a small program there are many.  The program of the last round is gone; the types and
constants it had are known, unless `--cold` is given.  From the tool's time the time it takes for an empty program is
subtracted, as its start-up.  Both print the same text, which is checked first.

The programs are of several kinds (`tool_programs.py`), and of several sizes: the time of an operation must not depend
on how many there are.  The machine has a part in that: a small program is read into memory that the process has and the
caches hold, a large one into new pages.  How much plain lists and strings of the same size take more for each when
there are many is measured beside it.

Writing is the step from the program in memory to its bytes. cuTile's is measured inside its own compiler (the function
that turns its IR into bytecode) while it exports the kernels in `tests/kernels`; ours writes the same programs, read
back from those files.

    python benchmarks/bytecode_speed.py                    # the tables
    python benchmarks/bytecode_speed.py --strict           # exit status 1 when a bar is missed
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

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
)
from programs import cuda_tile_program
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.ir.interning import POOL
from tileir.text.printer import print_disassembly
from tool_programs import KINDS

READ_BAR = 3.0
COMPILED_READ_BAR = 0.8
# How much more an operation of the largest program may take than one of the smallest.
GROWTH_BAR = 1.2
WRITE_BAR = 4.0
SIZES = (1_000, 20_000, 100_000)
SECONDS = 3.0
"""How long rounds go on for each program, and how many there are at least; of a huge one once is enough."""
ROUNDS = 3
HUGE = 500_000
NEWEST = (13, 4)
# Iterations of the unrolled loop in the long kernel; about 19 operations each.
LONG_KERNEL = 1_000


def cpu_of(action: Callable[..., object]) -> float:
    """CPU seconds of an action, with the collector off."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        gc.enable()


def cpu_of_tool(path: Path) -> float:
    """CPU seconds of one run of the disassembler."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(export.disassembler()), str(path)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Reading:
    """What reading, verifying and printing one program took, in CPU seconds, and what the tool took."""

    def __init__(self, kind: str, count: int, tool: float, parts: list[float]) -> None:
        self.kind: str = kind
        self.count: int = count
        self.tool: float = tool
        self.parts: list[float] = parts

    @property
    def total(self) -> float:
        return sum(self.parts)

    @property
    def ratio(self) -> float:
        return self.total / self.tool

    def row(self) -> tuple[str, ...]:
        each = [self.tool, *self.parts, self.total]
        return f"{self.kind} {self.count:,}", *[f"{s / self.count * 1e6:.2f}" for s in each], f"{self.ratio:.2f}"


def read_program(kind: str, operations: int, seconds: float, folder: Path, cold: bool) -> Reading:
    """Read, verify and print a program of so many operations, on both sides."""
    parsed = tileir.parse(KINDS[kind](operations))
    count = sum(1 for _ in parsed.walk())
    data = to_bytes(parsed, NEWEST)
    del parsed
    file, empty = folder / "program.tileirbc", folder / "empty.tileirbc"
    file.write_bytes(data)
    empty.write_bytes(to_bytes(tileir.parse("entry @k() { return }"), NEWEST))
    if print_disassembly(from_bytes(data)) != export.disassemble(data, False):
        raise SystemExit("the two sides print different texts")
    tool: list[float] = []
    start: list[float] = []
    read, verify, output = [], [], []
    modules: list[tileir.Operation] = []
    end = time.monotonic() + seconds
    while not tool or (count <= HUGE and (len(tool) < ROUNDS or time.monotonic() < end)):
        tool.append(cpu_of_tool(file))
        start.extend(cpu_of_tool(empty) for _ in range(2))
        modules.clear()
        if cold:
            gc.collect()
            POOL.release()
        read.append(cpu_of(lambda: modules.append(from_bytes(data))))
        verify.append(cpu_of(lambda: tileir.verify(modules[0])))
        output.append(cpu_of(lambda: print_disassembly(modules[0])))
    return Reading(kind, count, max(min(tool) - min(start), 1e-6), [min(read), min(verify), min(output)])


def read_lines(found: list[Reading]) -> list[Line]:
    """The ratios of the programs that are large enough to measure, and how the time of an operation grows."""
    bar = COMPILED_READ_BAR if is_compiled() else READ_BAR
    lines = [
        Line(f"read + verify + print, {reading.kind} {size(reading.count)}", "tileirdisasm", reading.ratio, bar, True)
        for reading in found
        if reading.count > 5_000
    ]
    for kind in dict.fromkeys(reading.kind for reading in found):
        each = [reading.total / reading.count for reading in found if reading.kind == kind]
        if len(each) > 1:
            ratio = each[-1] / min(each[:-1])
            lines.append(Line(f"growth of read + verify + print, {kind}", "smaller programs", ratio, GROWTH_BAR, True))
    return lines


def plain_growth(small: int, large: int) -> Line:
    """How much more as many lists and texts as operations have take, for each, when there are many."""

    def make(count: int) -> None:
        rows: list[list[object]] = []
        for number in range(count):
            rows.append([[number], [rows], [rows], f"  %{number} = addf %{number}, %{number} : tile<8xf32>\n"])
        "".join([str(row[3]) for row in rows])

    each = [min(cpu_of(lambda count=count: make(count)) for _ in range(ROUNDS)) / count for count in (small, large)]
    return Line(f"growth of plain lists and strings, {size(large)}", "a few of them", each[1] / each[0])


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
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of operations to read")
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
    with tempfile.TemporaryDirectory() as folder:
        found = [
            read_program(kind, each, given.seconds, Path(folder), given.cold)
            for kind in given.kinds
            for each in given.sizes
        ]
    lines = read_lines(found)
    if len(given.sizes) > 1:
        lines.append(plain_growth(min(given.sizes), max(given.sizes)))
    header = ("operations", "tileirdisasm", "read", "verify", "print", "tileir", "tileir / tool")
    print(table(header, [reading.row() for reading in found]))
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
