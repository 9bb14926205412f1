"""Parse, verify and print against xDSL: the same program, the same process, in turns.

Each round parses, verifies and prints the program once on every side before the next round begins, so that a slow
moment of the machine falls on both. The best of all rounds counts, with the same number of rounds on both sides, in
seconds of the processor. The garbage collector is off during every timed step on both sides, or on for both with
`--collector`. Memory is what tracemalloc says the parsed module holds, divided by its operations, in a parse of its
own.

xDSL is measured with its stock dialects (`arith`, `scf`, `func`, `builtin`), as released; tileir through its public
API. Not equal, and not hidden: the two verifiers check different rules, each those of its own dialect.

    python benchmarks/text_speed.py                    # the table
    python benchmarks/text_speed.py --only xdsl        # one side
    python benchmarks/text_speed.py --strict           # exit status 1 when a bar is missed
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from measure import (
    Line,
    add_line_options,
    bytes_held,
    finish,
    is_compiled,
    line_table,
    machine,
    stay_on_one_processor,
    table,
    tileir_build,
    timed,
)
from programs import arith_program, cuda_tile_program, printed_operation_count
from tool_programs import KINDS

STEPS = ("parse", "verify", "print")
BARS = {"parse": 20.0, "verify": 15.0, "print": 10.0}
COMPILED_BARS = BARS | {"parse": 40.0}
# Parse and print together: what passes a text through.
BOTH_BAR = 20.0
COMPILED_BOTH_BAR = 60.0
MEMORY_BAR = 0.5

# Of other kinds of programs xDSL reads one so many times as short, in so many times the rounds, and we ours as often in
# each, of which the mean counts.
SHORTER = 6
TURNS = 3


def processor_timed(action: Callable[..., Any], *, collector: bool = False) -> tuple[float, Any]:
    """Seconds of a processor that `action` takes, and what it returns.

    Both sides run on one.  By the clock, what another program takes from the machine falls on the side that runs for
    seconds, and seldom on the one that runs for some milliseconds.
    """
    return timed(action, collector=collector, clock=time.process_time)


@dataclass
class Side:
    """One of the two peers: how it does each step, its program, and the seconds measured so far."""

    name: str
    program: Callable[[int], tuple[str, int]]
    parse: Callable[[str], Any]
    verify: Callable[[Any], object]
    seconds: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    text: str = ""
    operations: int = 0
    bytes_per_operation: float = 0.0

    def best(self, step: str) -> float:
        return min(self.seconds[step])


def xdsl_side() -> Side:
    from xdsl.context import Context
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.dialects.scf import Scf
    from xdsl.parser import Parser

    context = Context()
    for dialect in (Builtin, Func, Arith, Scf):
        context.load_dialect(dialect)
    return Side(
        name=f"xDSL {metadata.version('xdsl')}",
        program=arith_program,
        parse=lambda text: Parser(context, text).parse_module(),
        verify=lambda module: module.verify(),
    )


def tileir_side() -> Side:
    import tileir

    return Side(name=tileir_build(), program=cuda_tile_program, parse=tileir.parse, verify=tileir.verify)


# --- other kinds of programs ---


def arith_additions(operations: int) -> str:
    """The additions of `tool_programs`, as xDSL reads them."""
    kind = "vector<8xf32>"
    lines = [f"    %v{i + 1} = arith.addf %v{i}, %v{i} : {kind}" for i in range(max(operations - 2, 1))]
    first = f"    %v0 = arith.constant dense<1.0> : {kind}"
    return "\n".join(["builtin.module {", "  func.func @k() {", first, *lines, "    func.return", "  }", "}"])


def other_kinds(xdsl: Side, ours: Side, operations: int, rounds: int) -> list[Line]:
    """Parse and print of other programs: additions on both sides, and what xDSL has no counterpart of beside an
    operation of the mixed program there.

    A machine has fast and slow minutes: xDSL reads a short program, in many short turns, so that both sides are
    measured in the same seconds, and the times of one operation are compared.
    """
    bar = COMPILED_BOTH_BAR if is_compiled() else BOTH_BAR
    shorter = operations // SHORTER
    lines: list[Line] = []
    for kind in ("additions", "kernels", "random"):
        theirs = arith_additions(shorter) if kind == "additions" else xdsl.program(shorter)[0]
        turns = [(ours.parse, KINDS[kind](operations), TURNS), (xdsl.parse, theirs, 1)]
        # The best seconds of parsing and of printing one operation, on each side.
        best = [[float("inf"), float("inf")] for _ in turns]
        for _ in range(TURNS * rounds):
            for (parse, text, times), found in zip(turns, best, strict=True):
                parsing = printing = 0.0
                count = 0
                for _ in range(times):
                    seconds, module = processor_timed(lambda parse=parse, text=text: parse(text))
                    parsing += seconds
                    printing += processor_timed(lambda module=module: str(module))[0]
                    count += sum(1 for _ in module.walk())
                found[:] = map(min, found, (parsing / count, printing / count))
        peer = "xDSL" if kind == "additions" else "xDSL, an operation of mixed"
        lines.append(Line(f"parse + print a text, {kind}", peer, sum(best[1]) / sum(best[0]), bar, unit="x"))
    return lines


def prepare(side: Side, operations: int) -> None:
    """Write the program and take one small turn, so that imports and lazily built tables are not measured."""
    side.text, side.operations = side.program(operations)
    small = side.parse(side.program(1)[0])
    side.verify(small)
    str(small)


def play_round(side: Side, *, collector: bool) -> None:
    seconds, module = processor_timed(lambda: side.parse(side.text), collector=collector)
    side.seconds["parse"].append(seconds)
    seconds, _ = processor_timed(lambda: side.verify(module), collector=collector)
    side.seconds["verify"].append(seconds)
    seconds, printed = processor_timed(lambda: str(module), collector=collector)
    side.seconds["print"].append(seconds)
    count = printed_operation_count(printed)
    # tileir may print the module with or without its wrapper line.
    if count not in (side.operations, side.operations - 1):
        sys.exit(f"{side.name} printed {count} operations of {side.operations}: the comparison would not be fair")


def measure_memory(side: Side) -> None:
    held, module = bytes_held(lambda: side.parse(side.text))
    side.bytes_per_operation = held / side.operations
    del module


def one_side_table(side: Side) -> str:
    rows = [
        (
            step,
            f"{side.best(step) * 1e3:.1f}",
            f"{side.best(step) * 1e6 / side.operations:.2f}",
            f"{min(side.seconds[step]) * 1e3:.0f}-{max(side.seconds[step]) * 1e3:.0f}",
        )
        for step in STEPS
    ]
    rows.append(("bytes per operation", f"{side.bytes_per_operation:.0f}", "", ""))
    return table(("", "best ms", "us/op", "all rounds ms"), rows)


def comparison(xdsl: Side, ours: Side) -> tuple[str, list[Line]]:
    """The table, and the lines."""
    bars = COMPILED_BARS if is_compiled() else BARS
    rows: list[tuple[str, ...]] = []
    lines: list[Line] = []
    for step in STEPS:
        ratio = xdsl.best(step) / ours.best(step)
        lines.append(Line(f"{step} a text", "xDSL", ratio, bars[step], unit="x"))
        rounds = [theirs / own for theirs, own in zip(xdsl.seconds[step], ours.seconds[step], strict=True)]
        rows.append(
            (
                f"{step} (ms)",
                f"{xdsl.best(step) * 1e3:.1f}",
                f"{ours.best(step) * 1e3:.1f}",
                f"{ratio:.1f}x faster",
                f"{lines[-1].asked}x",
                lines[-1].verdict,
                f"{min(rounds):.1f}-{max(rounds):.1f}x",
            )
        )
    both = [sum(side.best(step) for step in ("parse", "print")) for side in (xdsl, ours)]
    bar = COMPILED_BOTH_BAR if is_compiled() else BOTH_BAR
    lines.append(Line("parse + print a text, mixed", "xDSL", both[0] / both[1], bar, unit="x"))
    rows.append(
        (
            "parse + print (ms)",
            *[f"{seconds * 1e3:.1f}" for seconds in both],
            f"{both[0] / both[1]:.1f}x faster",
            f"{lines[-1].asked}x",
            lines[-1].verdict,
            "",
        )
    )
    ratio = ours.bytes_per_operation / xdsl.bytes_per_operation
    lines.append(Line("memory of a parsed text", "xDSL", ratio, MEMORY_BAR, True))
    rows.append(
        (
            "memory (bytes/op)",
            f"{xdsl.bytes_per_operation:.0f}",
            f"{ours.bytes_per_operation:.0f}",
            f"{ratio:.2f} of xDSL",
            f"<= {MEMORY_BAR:.1f}",
            lines[-1].verdict,
            "",
        )
    )
    return table(("", "xDSL", "tileir", "ratio", "bar", "", "by round"), rows), lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Parse, verify and print speed and memory, against xDSL.")
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--collector", action="store_true", help="leave the garbage collector on, on both sides")
    parser.add_argument("--only", choices=("xdsl", "tileir"), help="measure one side")
    parser.add_argument("--only-mixed", action="store_true", help="leave out other kinds of programs")
    add_line_options(parser)
    options = parser.parse_args()
    stay_on_one_processor()

    sides: list[Side] = []
    for name, make in (("xdsl", xdsl_side), ("tileir", tileir_side)):
        if options.only in (None, name):
            try:
                sides.append(make())
            except ImportError as error:
                sys.exit(f"{name} cannot be imported ({error}); pip install 'tileir[bench]' brings both sides")

    for side in sides:
        prepare(side, options.operations)
    if len({side.operations for side in sides}) != 1:
        sys.exit("the two programs differ in size: the comparison would not be fair")
    for _ in range(options.rounds):
        for side in sides:
            play_round(side, collector=options.collector)
    for side in sides:
        measure_memory(side)

    print(" against ".join(side.name for side in reversed(sides)))
    print(machine())
    print(
        f"{sides[0].operations} operations, best of {options.rounds} rounds taken in turns,"
        f" collector {'on' if options.collector else 'off'}; "
        + ", ".join(f"{side.name.split()[0]} text {len(side.text) / 1e6:.2f} MB" for side in sides)
    )
    print()
    if len(sides) == 1:
        print(one_side_table(sides[0]))
        return
    text, lines = comparison(*sides)
    print(text)
    if not options.only_mixed:
        others = other_kinds(sides[0], sides[1], options.operations, options.rounds)
        print(f"\n{line_table(others)}")
        lines += others
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
