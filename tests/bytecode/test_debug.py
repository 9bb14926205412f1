"""Locations in scripts are read as they were written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tileir
from tileir.bytecode import container as sections
from tileir.bytecode.container import read_container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.entry_tables import StringTable
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.bytecode.primitives import Trace
from tileir.dialect.debug_info import di_compile_unit, di_file, di_lexical_block, di_location, di_subprogram
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


# The lengths of varints change near these.
NUMBERS = st.integers(0, 300) | st.sampled_from([127, 128, 16383, 16384, 2097151, 2097152, 2**32 - 1])
PLACES = st.builds(
    di_location,
    st.builds(file_location, st.sampled_from(FILES), NUMBERS, NUMBERS),
    st.sampled_from(SCOPES),
)


@given(st.lists(PLACES, max_size=60))
def test_locations_are_read_as_they_were_written(places):
    module = program(list(places))
    assert all(
        one is other
        for one, other in zip(places_of(from_bytes(to_bytes(module, NEWEST))), places_of(module), strict=True)
    )


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_order_of_requests_does_not_matter(order):
    data = to_bytes(program([di_location(file_location("k.py", i, i), SCOPES[i // 20]) for i in range(40)]), NEWEST)
    tables = []
    for trace in (None, Trace()):
        file = read_container(data, NEWEST, trace=trace)
        tables.append(DebugTable(file.reader(sections.DEBUG), StringTable(file.reader(sections.STRING)), NEWEST))
    untraced, traced = tables
    for reference in order:
        assert untraced.location(reference) is traced.location(reference)
