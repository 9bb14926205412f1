"""Canonicalize, CSE and DCE against xDSL, and how the cost grows with programs of several shapes.

The first table runs the three passes on the same program on both sides, in turns, in one process: 20,000 operations,
one printing operation per section so that not everything is dead (`programs.py`, `live`). The best of all rounds
counts; the garbage collector is off during every timed step on both sides. xDSL runs its own `canonicalize`, `cse` and
`dce` with its stock dialects. Not equal, and not hidden: each side applies the rules of its own dialect; what is left
is shown.

The second table is tileir alone: microseconds per operation as programs grow, for ordinary programs, for one long
block, for nests of ifs and of loops and for chains of adjacent ifs; those also with `cse` alone, because `canonicalize`
leaves only one of them. Last, what goes with it: verifying nests, writing them as bytecode and reading that. Linear
means that the figure stays as it is. It is processor time, because the rows are not taken in turns and other work on
the machine would show.

    python benchmarks/optimizer_speed.py
    python benchmarks/optimizer_speed.py --strict      # exit status 1 when a bar is missed
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from measure import Line, add_line_options, finish, is_compiled, machine, table, tileir_build, timed
from programs import arith_program, cuda_tile_program

OPERATIONS = 20_000
SPEED_BAR = 15.0
GROWTH_BAR = 1.6
PASSES = ["canonicalize", "cse", "dce"]


def xdsl_passes() -> tuple[Callable[[str], Any], Callable[[Any], None]]:
    from xdsl.context import Context
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.dialects.scf import Scf
    from xdsl.dialects.test import Test
    from xdsl.parser import Parser
    from xdsl.transforms.canonicalize import CanonicalizePass
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
    from xdsl.transforms.dead_code_elimination import DeadCodeElimination

    context = Context()
    for dialect in (Builtin, Func, Arith, Scf, Test):
        context.load_dialect(dialect)

    def run(module: Any) -> None:
        for transform in (CanonicalizePass, CommonSubexpressionElimination, DeadCodeElimination):
            transform().apply(context, module)

    return lambda text: Parser(context, text).parse_module(), run


def count(module: Any) -> int:
    return sum(1 for _ in module.walk())


def compare(rounds: int) -> Line:
    import tileir

    parse, run = xdsl_passes()
    theirs_text, operations = arith_program(OPERATIONS, live=True)
    ours_text, same = cuda_tile_program(OPERATIONS, live=True)
    if operations != same:
        sys.exit("the two programs differ in size: the comparison would not be fair")
    tileir.run_passes(tileir.parse(cuda_tile_program(1, live=True)[0]), PASSES, verify_each=False)
    run(parse(arith_program(1, live=True)[0]))
    theirs: list[float] = []
    ours: list[float] = []
    left = (0, 0)
    for _ in range(rounds):
        their_module = parse(theirs_text)
        theirs.append(timed(lambda module=their_module: run(module))[0])
        our_module = tileir.parse(ours_text)
        ours.append(timed(lambda module=our_module: tileir.run_passes(module, PASSES, verify_each=False))[0])
        left = (count(their_module), count(our_module))
    ratio = min(theirs) / min(ours)
    line = Line(f"canonicalize + cse + dce, {operations} operations", "xDSL", ratio, SPEED_BAR, unit="x")
    by_round = [a / b for a, b in zip(theirs, ours, strict=True)]
    print(f"{operations} operations, best of {rounds} rounds taken in turns, collector off\n")
    rows = [
        (
            "canonicalize + cse + dce (ms)",
            f"{min(theirs) * 1e3:.0f}",
            f"{min(ours) * 1e3:.1f}",
            f"{ratio:.1f}x faster",
            f">= {SPEED_BAR:.0f}x",
            line.verdict,
            f"{min(by_round):.1f}-{max(by_round):.1f}x",
        ),
        ("operations left", str(left[0]), str(left[1]), "", "", "", ""),
    ]
    print(table(("", f"xDSL {metadata.version('xdsl')}", "tileir", "ratio", "bar", "", "by round"), rows))
    return line


# --- shapes ---


def one_block(operations: int) -> Any:
    """A kernel that is a single block."""
    import tileir
    from tileir.types import i32

    b = tileir.Builder("long")
    with b.entry("k", i32) as (x,):
        value = x
        for index in range(operations // 2):
            c = b.constant(index % 100, i32)
            value = b.addi(value, c)
        b.print_tko([value], str="%d")
    return b.module


def nest(depth: int) -> Any:
    """Ifs in one another, each on a condition of its own, with something to do at every level."""
    return nested_ifs(depth, combinable=False)


def combinable_nest(depth: int) -> Any:
    """Ifs in one another and nothing else: all of them become one."""
    return nested_ifs(depth, combinable=True)


def nested_ifs(depth: int, combinable: bool) -> Any:
    import tileir
    from tileir.ir.core import Block, Operation, Region
    from tileir.ir.registry import REGISTRY
    from tileir.types import i1, i32

    b = tileir.Builder("nest")
    with b.entry("k", *[i1] * 8, i32) as arguments:
        block = b.point.block
        for level in range(depth):
            inner = Block()
            branch = Operation(
                REGISTRY.by_name["cuda_tile.if"], [arguments[level % 8]], [], regions=[Region([inner]), Region()]
            )
            if not combinable:
                tileir.Builder(block=block).print_tko([arguments[8]], str="%d")
            block.append(branch)
            if level > 0:
                block.append(Operation(REGISTRY.by_name["cuda_tile.yield"], [], []))
            block = inner
        tileir.Builder(block=block).print_tko([arguments[8]], str="%d")
        block.append(Operation(REGISTRY.by_name["cuda_tile.yield"], [], []))
    return b.module


def nested_loops(depth: int) -> Any:
    """Fors in one another, each with constants of its own."""
    from contextlib import ExitStack

    import tileir
    from tileir.types import i32

    b = tileir.Builder("loops")
    with ExitStack() as scopes:
        (bound,) = scopes.enter_context(b.entry("k", i32))
        for _ in range(depth):
            index = scopes.enter_context(b.for_(b.constant(0, i32), bound, b.constant(1, i32))).index
            b.print_tko([index], str="%d")
    return b.module


def chain(length: int) -> Any:
    """Adjacent ifs on one condition, each with a result that is used: all of them become one."""
    import tileir
    from tileir.types import i1, i32

    b = tileir.Builder("chain")
    with b.entry("k", i1, i32) as (condition, x):
        results = []
        for index in range(length):
            with b.if_(condition) as branch:
                b.yield_(b.addi(x, b.constant(index, i32)))
            with branch.else_():
                b.yield_(b.muli(x, x))
            results.append(branch.results[0])
        for start in range(0, length, 8):
            b.print_tko(results[start : start + 8], str="%d" * len(results[start : start + 8]))
    return b.module


def ordinary(operations: int) -> Any:
    import tileir

    return tileir.parse(cuda_tile_program(operations, live=True)[0])


def optimize(module: Any) -> None:
    import tileir

    tileir.run_passes(module, PASSES, verify_each=False)


def eliminate(module: Any) -> None:
    import tileir

    tileir.run_passes(module, ["cse"], verify_each=False)


def store(module: Any) -> None:
    """Verify, write as bytecode, read back; reading verifies again."""
    import tileir

    tileir.verify(module)
    tileir.from_bytecode(tileir.to_bytecode(module))


SHAPES: tuple[tuple[str, Callable[[int], Any], Callable[[Any], None], tuple[int, ...]], ...] = (
    ("ordinary programs", ordinary, optimize, (20_000, 100_000, 400_000)),
    ("one block", one_block, optimize, (10_000, 50_000, 100_000)),
    ("nest of ifs", nest, optimize, (125, 250, 500)),
    ("nest that combines", combinable_nest, optimize, (125, 250, 500)),
    ("nest of loops", nested_loops, optimize, (125, 250, 500)),
    ("adjacent ifs", chain, optimize, (2_500, 5_000, 10_000)),
    ("adjacent ifs, cse alone", chain, eliminate, (2_500, 5_000, 10_000)),
    ("nest of ifs, bytecode", nest, store, (125, 250, 500)),
    ("nest of loops, bytecode", nested_loops, store, (125, 250, 500)),
)


def processor_seconds(module: Any, work: Callable[[Any], None]) -> float:
    gc.collect()
    gc.disable()
    start = time.process_time()
    work(module)
    seconds = time.process_time() - start
    gc.enable()
    return seconds


def scale(rounds: int) -> list[Line]:
    import tileir

    rows: list[tuple[str, ...]] = []
    lines: list[Line] = []
    tileir.run_passes(ordinary(1), PASSES, verify_each=False)
    for name, make, work, sizes in SHAPES:
        work(make(10))
        first = 0.0
        for size in sizes:
            best = float("inf")
            operations = 0
            # Small programs are over quickly: only the best of many runs says what they cost.
            for _ in range(1 if size >= 100_000 else rounds if size >= 1_000 else 5 * rounds):
                module = make(size)
                operations = count(module)
                best = min(best, processor_seconds(module, work))
            cost = best * 1e6 / operations
            first = first or cost
            growth = cost / first
            lines.append(Line(f"{name}, {size:,}: growth", "smaller programs", growth, GROWTH_BAR, True))
            rows.append((name, f"{size:,}", f"{operations:,}", f"{cost:.2f}", f"{growth:.2f}"))
    print(table(("shape", "size", "operations", "us per operation", "against first"), rows))
    print(f"\nbar: growth <= {GROWTH_BAR}: {'met' if all(line.met for line in lines) else 'MISSED'}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of canonicalize, cse and dce.")
    parser.add_argument("--rounds", type=int, default=3)
    add_line_options(parser)
    parser.add_argument("--only", choices=("comparison", "scaling"))
    options = parser.parse_args()
    print(tileir_build() + (" (compiled)" if is_compiled() else ""))
    print(machine())
    lines: list[Line] = []
    if options.only != "scaling":
        lines.append(compare(options.rounds))
        print()
    if options.only != "comparison":
        lines += scale(options.rounds)
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
