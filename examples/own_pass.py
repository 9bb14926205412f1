"""A pass and an analysis of one's own (docs/guide/writing_passes.md).

    tileir opt examples/vector_add.mlir --load examples/own_pass.py --passes multiply-by-shifting,count-memory

or, as a program that runs them and prints what they did:

    python examples/own_pass.py
"""

from __future__ import annotations

import os

import tileir
from tileir.dialect.ops.integer import MULI

HERE = os.path.dirname(os.path.abspath(__file__))

# --- a pattern: x * 2^k becomes x << k ---


def multiply_by_shifting(operation: tileir.Operation, rewriter: tileir.passes.Rewriter) -> bool:
    """Change the program through the rewriter and return True, or change nothing and return False."""
    left, right = operation.operands
    # What is known about the value: here, the number that every element is.
    multiplier = tileir.passes.Facts().integer(right)
    if multiplier is None or multiplier < 2 or multiplier & (multiplier - 1):
        return False
    # A builder in front of the operation: types are inferred, numbers become constants, everything is verified.
    build = rewriter.builder()
    rewriter.replace(operation, [build.shli(left, multiplier.bit_length() - 1)])
    return True


PATTERNS = [tileir.passes.Pattern("multiply-by-shifting", MULI, multiply_by_shifting)]


def run(root: tileir.Operation, options: dict[str, str], session: tileir.passes.PassSession) -> int:
    """Apply the patterns until none fires; `session` counts them and shows the steps of --trace-rewrites."""
    before = sum(session.statistics.fired.values())
    tileir.passes.apply_greedily(root, PATTERNS, statistics=session.statistics, trace=session.trace)
    return sum(session.statistics.fired.values()) - before


tileir.passes.register_pass("multiply-by-shifting", "write multiplications by powers of two as shifts", run)

# --- an analysis: it changes nothing, and reports what it finds as remarks ---


def count_memory(function: tileir.Operation, options: dict[str, str], session: tileir.passes.PassSession) -> int:
    """Which operations of a kernel access memory, and how often each occurs."""
    counts: dict[str, int] = {}
    for operation in function.walk():
        if operation.declaration.accesses_memory:
            name = operation.declaration.mnemonic
            counts[name] = counts.get(name, 0) + 1
    words = ", ".join([f"{count} {name}" for name, count in sorted(counts.items())])
    remark = tileir.Diagnostic("remark", f"@{function.symbol_name} has {words or 'no accesses'}", function.location)
    session.diagnostics.append(remark)
    return 0


tileir.passes.register_pass("count-memory", "report how often a kernel accesses memory", count_memory, scope="function")


def main() -> None:
    module = tileir.load(os.path.join(HERE, "vector_add.mlir"))
    sizes: list[str] = []

    def after_each(name: str, module: tileir.Operation) -> None:
        sizes.append(f"{name}: {sum(1 for _ in module.walk())} operations")

    report = tileir.passes.PassReport(after_each=after_each)
    tileir.run_passes(module, ["multiply-by-shifting", "canonicalize", "count-memory"], report=report)
    for line in sizes:
        print(line)
    for run in report.runs:
        print(run.name, dict(sorted(run.fired.items())))
    for diagnostic in report.diagnostics:
        print(diagnostic.message)


if __name__ == "__main__":
    main()
