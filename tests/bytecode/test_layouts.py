"""A program is the same in both layouts, wherever both can hold it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.generators.programs import random_module
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available

import tileir
from tileir.bytecode.debug import location_error
from tileir.bytecode.documented.reader import read_documented
from tileir.bytecode.documented.writer import write_documented
from tileir.bytecode.layouts import from_bytes, layout_of, to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.core import Operation
from tileir.ir.location import UNKNOWN
from tileir.ir.traversal import structurally_equal
from tileir.text.printer import print_disassembly

CASES = [case.name for case in all_cases() if "13.1" in case.versions] if tools_available() else []
OLDEST = (13, 1)


@pytest.mark.sampled(4)
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", CASES)
def test_kernel_is_the_same_in_both_layouts(name: str) -> None:
    case = next(case for case in all_cases() if case.name == name)
    module = from_bytes(export(case, "13.1"))
    documented = to_bytes(module, OLDEST, "documented")
    assert layout_of(documented) == "documented"
    again = from_bytes(documented)
    assert structurally_equal(module, again, locations=True)
    assert print_disassembly(again, True) == print_disassembly(module, True)
    assert to_bytes(again, OLDEST) == to_bytes(module, OLDEST)
    assert to_bytes(again, OLDEST, "documented") == documented


def outcome(module: Operation, layout: str) -> Operation | None:
    """What a layout makes of a program; None when it has no place for it."""
    try:
        data = to_bytes(module, OLDEST, layout)
    except BytecodeError as error:
        assert error.offset == -1
        assert all(diagnostic.message for diagnostic in error.diagnostics)
        return None
    return from_bytes(data)


def program(seed: int, size: int, *, discardable: bool = False) -> Operation:
    """A random program of 13.1, without the locations that neither layout has bytes for."""
    module = random_module(Random(seed), version=OLDEST, size=size, draft_forms=False, discardable=discardable)
    for operation in module.walk():
        if location_error(operation.location) is not None:
            operation.location = UNKNOWN
    return module


@settings(max_examples=30, deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.integers(0, 30))
def test_program_of_13_1_goes_through_both_layouts(seed: int, size: int) -> None:
    module = program(seed, size)
    public = outcome(module, "public")
    documented = outcome(module, "documented")
    if public is None or documented is None:
        assert public is documented
        return
    assert structurally_equal(public, documented)
    across = outcome(public, "documented")
    assert across is not None and structurally_equal(across, public, locations=True)
    back = outcome(across, "public")
    assert back is not None and structurally_equal(back, public, locations=True)


def test_random_programs_of_13_1_have_bytes_in_both_layouts() -> None:
    for seed in range(20):
        for layout in ("public", "documented"):
            assert outcome(program(seed, 10), layout) is not None, seed


@settings(max_examples=30, deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.integers(0, 10))
def test_documented_file_holds_what_was_written(seed: int, size: int) -> None:
    """Discardable attributes included, as far as they have a form."""
    module = program(seed, size, discardable=True)
    first = outcome(module, "documented")
    if first is None:
        return
    # As in the public layout a file has no place for what the module itself is called.
    for name, value in module.attributes.items():
        first.set_attribute(name, value)
    assert structurally_equal(first, module)
    again = write_documented(first)
    assert write_documented(read_documented(again)) == again


@settings(max_examples=25, deadline=None)
@given(st.integers(0, (1 << 32) - 1))
def test_any_program_is_written_or_refused_with_a_diagnostic(seed: int) -> None:
    outcome(random_module(Random(seed), size=10), "documented")


def test_call_site_in_a_function_without_a_location_survives() -> None:
    text = "entry @k() {\n  %0 = make_token : token loc(callsite(unknown at unknown))\n  return loc(unknown)\n} loc(unknown)\n"
    module = tileir.parse(text)
    again = from_bytes(to_bytes(module, (13, 4)))
    assert print_disassembly(again, True) == print_disassembly(module, True)
