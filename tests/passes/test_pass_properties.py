"""What every pass keeps: programs stay valid, and running a pass again changes nothing more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from tests.generators.programs import programs, random_module
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available
from tests.passes.programs import numbers
from tests.rewrite.integer_programs import Evaluator, RandomProgram, Undefined
from tests.sampling import one_in

import tileir
from tileir.ir.core import Operation
from tileir.passes.pipeline import run_passes

# These are checked in files of their own.
_OTHERS = ("canonicalize", "simplify", "cse", "dce", "legalize", "downlevel", "test-debuginfo-update-symbol-name")
PASSES = tuple([found.name for found in tileir.passes.registered_passes() if found.name not in _OTHERS])


def check(module: Operation, name: str) -> None:
    run_passes(module, [name])
    tileir.verify(module)
    before = module.text(debug_info=True)
    run_passes(module, [name])
    assert module.text(debug_info=True) == before


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=20, deadline=None)
@given(module=programs())
def test_random_programs_stay_valid(name: str, module: Operation) -> None:
    check(module, name)


@pytest.mark.parametrize("seeds", one_in(2, [range(10), range(10, 25)]))
@pytest.mark.parametrize("name", PASSES)
def test_random_programs_with_many_loops_and_branches_stay_valid(name: str, seeds: range) -> None:
    operations = ["for", "loop", "if", "cmpi", "addi", "addf", "mulf", "subf", "constant", "divi", "load_ptr_tko"]
    for seed in seeds:
        check(random_module(Random(seed), operations=operations, size=60), name)


@pytest.mark.parametrize("rules", ["parity", "full"])
@pytest.mark.parametrize("name", [*PASSES, "canonicalize", "simplify", "cse", "dce"])
def test_statistics_count_what_changed(name: str, rules: str) -> None:
    texts = [path.read_text() for path in sorted(Path("examples").glob("*.mlir")) if path.stem != "broken"]
    texts += [str(tileir.smith(seed).module) for seed in (54, 7)]
    for text in texts:
        module = tileir.parse(text)
        report = tileir.passes.PassReport(statistics=True)
        before = module.text(debug_info=True)
        run_passes(module, [name], rules=rules, report=report)
        (run,) = report.runs
        assert bool(run.changes or run.fired) == (module.text(debug_info=True) != before)


@pytest.mark.sampled(2)
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("case", one_in(4, all_cases(), [case.name for case in all_cases()]))
def test_kernels_of_cutile_stay_valid(case) -> None:
    data = export(case, case.versions[-1])
    for name in PASSES:
        check(tileir.load(data), name)


# --- what passes may not change ---


@pytest.mark.parametrize("name", ["loop-invariant-code-motion", "loop-split"])
def test_integer_programs_compute_the_same(name: str) -> None:
    """The operations that are not copied or moved see the same values in the same order."""
    changed = compared = 0
    for seed in range(60):
        rng = Random(seed)
        program = RandomProgram(rng)
        block = program.kernel.regions[0].block
        # Watch the results of the kernel's own operations: every one that stays keeps its value.
        watched = [operation for operation in block if operation.results]
        runs = []
        for _ in range(12):
            arguments = [[number] for number in numbers(rng, 8, 3)]
            runs.append((arguments, values_of(program.kernel, watched, arguments)))
        before = str(program.module)
        run_passes(program.module, [name])
        tileir.verify(program.module)
        changed += str(program.module) != before
        still = [operation for operation in watched if operation.parent is not None]
        for arguments, expected in runs:
            if expected is not None:
                found = values_of(program.kernel, still, arguments)
                assert found == [value for value, o in zip(expected, watched, strict=True) if o.parent is not None]
                compared += 1
    assert changed and compared


def values_of(kernel: Operation, watched: list[Operation], arguments: list[list[int]]) -> list[list[int]] | None:
    """The values of operations of the kernel's own block, None if the run is undefined."""
    evaluator = Evaluator()
    try:
        evaluator.run(kernel, arguments)
    except Undefined:
        return None
    return [evaluator.now[operation.results[0]] for operation in watched]
