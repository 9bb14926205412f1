"""Synthesized debug scopes and stripped locations."""

from __future__ import annotations

from typing import Any

import pytest

import tileir
from tileir.dialect.debug_info import DILocation, di_compile_unit, di_file, di_subprogram
from tileir.ir.core import Operation
from tileir.ir.location import (
    UNKNOWN,
    FileLocation,
    OpaqueLocation,
    call_site_location,
    file_location,
    fused_location,
    name_location,
)
from tileir.passes.debug_info import file_position, strip_locations, synthesize_scopes


def module_at(module: str, function: str, inside: str) -> Operation:
    """A module with one kernel that holds a constant, at the locations given as text."""
    text = (
        f"cuda_tile.module @m {{\nentry @k() {{\n%c = constant <i32: 1> : tile<i32> loc({inside})\n"
        f"return loc(unknown)\n}} loc({function})\n}} loc({module})"
    )
    return tileir.parse(text)


def kernel_of(module: Operation) -> Operation:
    return module.regions[0].block.first


def scoped(module: Operation) -> tuple[DILocation, DILocation]:
    """The locations of the kernel and of the first operation in it, after the pass."""
    assert synthesize_scopes(module) == 1
    tileir.verify(module)
    function, inside = kernel_of(module).location, kernel_of(module).regions[0].block.first.location
    assert isinstance(function, DILocation) and isinstance(inside, DILocation)
    return function, inside


def test_a_program_without_locations_is_in_an_unknown_file() -> None:
    module = module_at("unknown", "unknown", "unknown")
    function, inside = scoped(module)
    file = di_file("<unknown>", "")
    subprogram = di_subprogram(file, 1, "k", "k", di_compile_unit(file), 1)
    assert function.scope is subprogram and inside.scope is subprogram
    assert function.source is file_location("<unknown>", 1, 1) and inside.source is function.source


def test_file_positions_are_used() -> None:
    function, inside = scoped(module_at('"/src/all.py":1:1', '"/src/lib/k.py":10:4', '"k2.py":12:7'))
    unit = di_compile_unit(di_file("all.py", "/src"))
    assert function.scope is di_subprogram(di_file("k.py", "/src/lib"), 10, "k", "k", unit, 10)
    assert inside.scope is function.scope
    assert inside.source is file_location("k2.py", 12, 7)


def test_an_operation_without_position_gets_the_functions() -> None:
    function, inside = scoped(module_at("unknown", '"k.py":10:4', "unknown"))
    assert inside.source is function.source is file_location("k.py", 10, 4)


def test_a_function_with_a_scope_is_left_alone() -> None:
    module = module_at("unknown", "unknown", '"k.py":3:3')
    synthesize_scopes(module)
    before = module.text(debug_info=True)
    assert synthesize_scopes(module) == 0
    assert module.text(debug_info=True) == before


def test_a_scope_deep_in_the_functions_location_counts() -> None:
    module = module_at("unknown", "unknown", "unknown")
    synthesize_scopes(module)
    kernel = kernel_of(module)
    kernel.location = fused_location((file_location("x", 1, 1), name_location("n", kernel.location)))
    assert synthesize_scopes(module) == 0


POSITION = file_location("a.py", 5, 6)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (POSITION, POSITION),
        (name_location("x", POSITION), POSITION),
        (OpaqueLocation("handle", POSITION), POSITION),
        (call_site_location(UNKNOWN, POSITION), POSITION),
        (call_site_location(POSITION, UNKNOWN), None),
        (fused_location((UNKNOWN, POSITION, file_location("b.py", 1, 1))), POSITION),
        # Only the parts themselves are looked at.
        (fused_location((name_location("x", POSITION),)), None),
        (UNKNOWN, None),
    ],
)
def test_the_position_of_each_kind_of_location(location: Any, expected: FileLocation | None) -> None:
    assert file_position(location) is expected


@pytest.mark.parametrize(
    ("path", "name", "directory"),
    [
        ("/a/b/k.py", "k.py", "/a/b"),
        ("k.py", "k.py", ""),
        ("/k.py", "k.py", "/"),
        ("a//k.py", "k.py", "a"),
    ],
)
def test_a_path_is_split_into_name_and_directory(path: str, name: str, directory: str) -> None:
    function, _ = scoped(module_at("unknown", f'"{path}":1:1', "unknown"))
    assert function.scope.file is di_file(name, directory)


def test_positions_of_the_text_itself_are_positions() -> None:
    module = tileir.parse("cuda_tile.module @m {\n  entry @k() {\n    return\n  }\n}", "dir/file.mlir")
    assert synthesize_scopes(module) == 1
    kernel = kernel_of(module)
    assert kernel.location.source is file_location("dir/file.mlir", 2, 3)
    assert kernel.location.scope.file is di_file("file.mlir", "dir")


def test_globals_get_no_scope() -> None:
    module = tileir.parse(
        "cuda_tile.module @m {\n  global @g <i32: 1> : tile<1xi32>\n  entry @k() {\n    return\n  }\n}"
    )
    assert synthesize_scopes(module) == 1
    assert not isinstance(kernel_of(module).location, DILocation)
    tileir.verify(module)


def test_stripping_leaves_no_location() -> None:
    module = tileir.parse('cuda_tile.module @m {\n  entry @k(%a: tile<i32> loc("a")) {\n    return\n  }\n}')
    synthesize_scopes(module)
    plain = module.text()
    assert strip_locations(module) == 4
    assert strip_locations(module) == 0
    assert all(operation.location is UNKNOWN for operation in module.walk())
    assert kernel_of(module).regions[0].block.arguments[0].location is UNKNOWN
    assert module.text() == plain and "di_" not in module.text(debug_info=True)
    tileir.verify(module)
