"""Optimizing twice changes nothing more than optimizing once: every pass alone, every level of both pipelines."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.generators.programs import random_module
from tests.passes.forms import formed, forms
from tests.passes.split_loops import split_loops
from tests.rewrite.branching import branching_program
from tests.rewrite.integer_programs import RandomProgram
from tests.rewrite.test_simplifier_proofs import RandomExpressions

from tileir.ir.core import Operation

_MANY_LOOPS = [
    "for",
    "loop",
    "if",
    "cmpi",
    "xori",
    "select",
    "addi",
    "addf",
    "mulf",
    "subf",
    "constant",
    "divi",
    "load_ptr_tko",
]
_NEWER = [
    "insert",
    "fpowi",
    "ftoi",
    "ftof",
    "exp",
    "tanh",
    "negi",
    "for",
    "print_tko",
    "make_strided_view",
    "load_view_tko",
    "global",
]

# Programs of several kinds, because each pass looks for something else.
PROGRAMS: dict[str, Callable[[Random], Operation]] = {
    "all operations": lambda rng: random_module(rng, size=30),
    "loops and branches": lambda rng: random_module(rng, operations=_MANY_LOOPS, size=50),
    "newer forms": lambda rng: random_module(rng, operations=_NEWER, size=4, draft_forms=False),
    "loops to split": split_loops,
    "branches": lambda rng: branching_program(rng, 40),
    "integers": lambda rng: RandomProgram(rng).module,
    "expressions": lambda rng: RandomExpressions(rng, 8, 30).module(),
}


def check_programs(kind: str, seeds: range) -> set[str]:
    """The forms that change one of the programs; none may change it twice."""
    changed: set[str] = set()
    for seed in seeds:
        module = PROGRAMS[kind](Random(seed))
        before = module.text(debug_info=True)
        for name, form in forms().items():
            found = formed(module, name, form)
            if found is not None:
                once = found.text(debug_info=True)
                assert form(found).text(debug_info=True) == once, (kind, seed, name)
                if once != before:
                    changed.add(name)
    return changed


def test_optimizing_twice_changes_nothing_more() -> None:
    changed: set[str] = set()
    for kind in PROGRAMS:
        # What the newest version has and the one before it has not is rare.
        changed |= check_programs(kind, range(4 if kind == "newer forms" else 1))
    # Nothing is ever called, so there is nothing to inline.
    idle = {"inline parity", "inline full", "-O0 parity", "-O0 full"}
    assert changed == set(forms()) - idle


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1200, 20))
@pytest.mark.parametrize("kind", PROGRAMS)
def test_optimizing_twice_changes_nothing_more_in_many_programs(kind: str, start: int) -> None:
    check_programs(kind, range(start, start + 20))
