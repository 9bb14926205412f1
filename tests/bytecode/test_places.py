"""Places in scripts, which are decoded many at a time, are those that the file has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileir
from tileir.bytecode import container as sections
from tileir.bytecode.container import read_container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.bytecode.primitives import Trace
from tileir.bytecode.strings import StringTable
from tileir.dialect.attributes import di_compile_unit, di_file, di_lexical_block, di_location, di_subprogram
from tileir.ir.location import Location, file_location

NEWEST = (13, 4)
FILE = di_file("k.py", "/src")
KERNEL = di_subprogram(FILE, 1, "k", "k", di_compile_unit(FILE), 1)
SCOPES = [KERNEL, *[di_lexical_block(KERNEL, FILE, line, 1) for line in (2, 3)]]
FILES = ["k.py", "a file of others.py"]


def program(places: list[Location]) -> tileir.Operation:
    """A kernel with an operation at each place."""
    lines = "\n".join(f"%{i} = constant <i32: {i}> : tile<i32>" for i in range(len(places)))
    module = tileir.parse(f"cuda_tile.module @m {{\nentry @k() {{\n{lines}\nreturn\n}}\n}}")
    kernel = module.regions[0].block.first
    kernel.location = di_location(file_location("k.py", 1, 1), SCOPES[0])
    for operation in kernel.regions[0].block:
        operation.location = places.pop(0) if places else kernel.location
    return module


def places_of(module: tileir.Operation) -> list[Location]:
    return [operation.location for operation in module.regions[0].block.first.walk()]


# What is near a limit of the numbers that are read in one step.
NUMBERS = st.integers(0, 300) | st.sampled_from([127, 128, 16383, 16384, 2097151, 2097152, 2**32 - 1])
PLACES = st.builds(
    di_location,
    st.builds(file_location, st.sampled_from(FILES), NUMBERS, NUMBERS),
    # One more often than the others: only those that follow one another are read at a time.
    st.sampled_from([SCOPES[0]] * 8 + SCOPES),
)


@given(st.lists(PLACES, max_size=60))
def test_places_are_read_as_they_were_written(places):
    module = program(list(places))
    assert all(
        one is other
        for one, other in zip(places_of(from_bytes(to_bytes(module, NEWEST))), places_of(module), strict=True)
    )


@pytest.mark.parametrize("count", [2, 255, 256, 257, 600])
def test_many_places_behind_one_another(count):
    module = program([di_location(file_location("k.py", 7 * i, i % 90), SCOPES[i // 500]) for i in range(count)])
    found = places_of(from_bytes(to_bytes(module, NEWEST)))
    assert len(found) == count + 2
    assert all(one is other for one, other in zip(found, places_of(module), strict=True))


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_order_in_which_places_are_asked_for_does_not_matter(order):
    data = to_bytes(program([di_location(file_location("k.py", i, i), SCOPES[i // 20]) for i in range(40)]), NEWEST)
    tables = []
    for trace in (None, Trace()):
        file = read_container(data, NEWEST, trace=trace)
        tables.append(DebugTable(file.reader(sections.DEBUG), StringTable(file.reader(sections.STRING))))
    at_a_time, one_by_one = tables
    for reference in order:
        assert at_a_time.location(reference) is one_by_one.location(reference)
