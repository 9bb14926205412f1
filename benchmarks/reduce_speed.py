"""How long it takes to reduce a program of 1,000 operations with a test that takes 10 ms.

The programs are those of `tileir.smith`, all kinds of operations mixed. Each row wants something else of a candidate:
one operation, operations of twelve kinds at once, a chain from a load through arithmetic to a store, or fifty
operations, so that a twentieth of the program has to stay. The test waits 10 ms besides looking, in this process or as
a command; the command takes what it takes to start beyond that.

    python benchmarks/reduce_speed.py
    python benchmarks/reduce_speed.py --strict      # exit status 1 when the bar is missed
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import tileir
from measure import Line, add_line_options, finish, machine, table, tileir_build
from tileir.ir.core import Operation

OPERATIONS = 1000
TEST = 0.010
BAR = 60.0

Interesting = Callable[[Operation], bool]


def program() -> Operation:
    """The first of smith's programs that is large enough and has what the rows want."""
    for seed in range(100):
        module = tileir.smith(seed, size=OPERATIONS).module
        if sum(1 for _ in module.walk()) >= OPERATIONS and chain(module) and many(module):
            return module
    raise SystemExit("no program of smith's is large enough")


def kinds(module: Operation) -> Counter[str]:
    return Counter([operation.declaration.mnemonic for operation in module.walk()])


def one(module: Operation) -> bool:
    return kinds(module)["negi"] > 0


def twelve(names: list[str]) -> Interesting:
    return lambda module: all(kinds(module)[name] for name in names)


def many(module: Operation) -> bool:
    return kinds(module)["reshape"] >= 20 and kinds(module)["addi"] >= 30


def chain(module: Operation) -> bool:
    """A value that is loaded, goes through three integer operations and is stored."""
    for store in module.walk():
        if store.declaration.mnemonic != "store_ptr_tko":
            continue
        depths = {store.operands[1]: 0}
        pending = [store.operands[1]]
        while pending:
            value = pending.pop()
            definition = value.defining_operation
            if definition is None or definition.regions:
                continue
            if definition.declaration.mnemonic == "load_ptr_tko":
                if depths[value] >= 3:
                    return True
                continue
            arithmetic = definition.declaration.mnemonic in ("addi", "andi", "subi", "muli", "xori", "ori")
            for operand in definition.operands:
                depth = depths[value] + arithmetic
                if depths.get(operand, -1) < depth:
                    depths[operand] = depth
                    pending.append(operand)
    return False


def slow(interesting: Interesting) -> Interesting:
    def test(module: Operation) -> bool:
        time.sleep(TEST)
        return interesting(module)

    return test


def rows(module: Operation) -> list[tuple[str, float, int, int]]:
    names = [name for name, _ in kinds(module).most_common(22)[10:]]
    wanted: list[tuple[str, Interesting]] = [
        ("one operation", one),
        ("operations of twelve kinds", twelve(names)),
        ("a chain from a load to a store", chain),
        ("fifty operations", many),
    ]
    found = []
    for title, interesting in wanted:
        if not interesting(module):
            continue
        for jobs in (1, 2):
            start = time.perf_counter()
            result = tileir.reduce(module, slow(interesting), jobs=jobs)
            seconds = time.perf_counter() - start
            found.append((f"{title}, {jobs} at a time", seconds, result.tests, result.operations))
    return found


def command_row(module: Operation) -> tuple[str, float, int, int]:
    from tileir.tools.main import run

    with tempfile.TemporaryDirectory() as folder:
        source, out, script = Path(folder, "a.mlir"), Path(folder, "b.mlir"), Path(folder, "test.sh")
        source.write_text(module.text())
        count = Path(folder, "count")
        first, second = [name for name, _ in kinds(module).most_common(12)[10:]]
        wanted = f'grep -q " = {first} " "$1" && grep -q " = {second} " "$1"'
        script.write_text(f"#!/bin/sh\necho >> {count}\nsleep {TEST}\n{wanted}\n")
        script.chmod(0o755)
        start = time.perf_counter()
        status = run(["reduce", str(source), "--interesting", str(script), "-o", str(out), "-q", "-j", "2"])
        seconds = time.perf_counter() - start
        assert status == 0
        operations = sum(1 for _ in tileir.load(out).walk())
        return ("a command, 2 at a time", seconds, len(count.read_text()), operations)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_line_options(options)
    given = options.parse_args()
    module = program()
    count = sum(1 for _ in module.walk())
    print(f"{machine()}; tileir {tileir_build()}; a program of {count} operations, a test of {TEST * 1000:.0f} ms")
    found = [*rows(module), command_row(module)]
    cells = [(title, f"{seconds:.1f} s", str(tests), str(left)) for title, seconds, tests, left in found]
    print(table(("what has to stay", "time", "tests", "operations left"), cells))
    worst = max([seconds for _, seconds, _, _ in found])
    print(f"at most {worst:.1f} s; the bar is {BAR:.0f} s")
    return finish([Line(f"reduce: {title}", "", seconds, BAR, True, " s") for title, seconds, _, _ in found], given)


if __name__ == "__main__":
    sys.exit(main())
