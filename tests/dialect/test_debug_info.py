"""The rules about debug scopes (docs/reference/conflicts.md F), each with its exact text."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.debug_info import di_compile_unit, di_file, di_lexical_block, di_location, di_subprogram
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import OpaqueLocation, file_location

HEAD = """#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#k = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#other = #cuda_tile.di_subprogram<file = #file, line = 9, name = "o", linkageName = "o", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #k, file = #file, line = 2>
#inner = #cuda_tile.di_lexical_block<scope = #block, file = #file, line = 3>
#other_block = #cuda_tile.di_lexical_block<scope = #other, file = #file, line = 10>
#plain = loc("k.py":1:1)
#in_k = #cuda_tile.di_loc<#plain in #k>
#in_block = #cuda_tile.di_loc<#plain in #block>
#in_inner = #cuda_tile.di_loc<#plain in #inner>
#in_other = #cuda_tile.di_loc<#plain in #other>
#in_other_block = #cuda_tile.di_loc<#plain in #other_block>
"""
FILE = '<"k.py" in "/src">'
K = f'#cuda_tile.di_subprogram<file = {FILE}, line = 1, name = "k", linkageName = "k", compileUnit = <file = {FILE}>>'
OTHER = (
    f'#cuda_tile.di_subprogram<file = {FILE}, line = 9, name = "o", linkageName = "o", compileUnit = <file = {FILE}>>'
)
BLOCK = f"#cuda_tile.di_lexical_block<scope = {K}, file = {FILE}, line = 2>"


def findings(function: str, operation: str = "#plain", variable: str = "#plain") -> list[Diagnostic]:
    """What the verifier says to a kernel `k`, an operation in it and a global, at these locations."""
    module = tileir.parse(
        f"{HEAD}cuda_tile.module @m {{\nglobal @g <i32: 0> : tile<1xi32> loc({variable})\n"
        f"entry @k() {{\n%r = make_token : token loc({operation})\nreturn loc(#plain)\n}} loc({function})\n}}"
    )
    try:
        return tileir.verify(module)
    except tileir.VerifyError as error:
        return error.diagnostics


def messages(function: str, operation: str = "#plain", variable: str = "#plain") -> list[str]:
    return [finding.message for finding in findings(function, operation, variable)]


@pytest.mark.parametrize(
    ("function", "operation"),
    [
        ("#plain", "#plain"),
        ("unknown", "unknown"),
        ("#in_k", "#plain"),
        ("#in_k", "#in_k"),
        ("#in_k", "#in_block"),
        ("#in_k", "#in_inner"),
        ("#in_k", '"name"(#in_block)'),
        ("#in_k", "fused[#plain, #in_inner]"),
        ('"name"(#in_k)', "#in_k"),
        # Of a call site the caller's side must match; the callee may belong to any subprogram.
        ("#in_k", "callsite(#in_other at #in_k)"),
        ("#in_k", "callsite(#plain at callsite(#in_other at #in_block))"),
        ("#in_k", "callsite(unknown at #in_k)"),
        ("#in_k", "callsite(#in_other at unknown)"),
        ("#plain", "callsite(#in_other at #plain)"),
    ],
)
def test_scopes_of_one_subprogram_agree(function: str, operation: str) -> None:
    assert messages(function, operation) == []


def test_function_location_is_no_call_site() -> None:
    assert messages("callsite(#plain at #plain)") == [
        "'cuda_tile.entry' op invalid function debug info location: "
        'loc(callsite("k.py":1:1 at "k.py":1:1)). Function location must not be a CallSiteLoc.'
    ]


def test_function_scope_is_a_subprogram() -> None:
    assert messages("#in_block") == [
        f"'cuda_tile.entry' op invalid function debug info scope: {BLOCK}. "
        "Function location must have cuda_tile.di_subprogram debug info scope."
    ]


def test_function_name_is_the_linkage_name_of_its_subprogram() -> None:
    assert messages("#in_other") == [
        f"'cuda_tile.entry' op invalid function debug info scope: {OTHER}. "
        'Function name "k" does not match subprogram scope linkage name "o".'
    ]


def test_operation_has_no_scope_when_its_function_has_none() -> None:
    assert messages("#plain", "#in_k") == [
        f"'cuda_tile.make_token' op invalid operation debug info scope: {K}. "
        "Operation has debug info scope, but function debug info scope is undefined."
    ]


@pytest.mark.parametrize(
    "operation",
    [
        "#in_other",
        "#in_other_block",
        '"name"(#in_other)',
        "fused[#plain, #in_other]",
        "callsite(#in_k at #in_other)",
    ],
)
def test_operation_scope_is_in_the_subprogram_of_its_function(operation: str) -> None:
    assert messages("#in_k", operation) == [
        f"invalid operation debug info scope: {OTHER}. "
        f"Operation debug info scope does not match function debug info scope: {K}."
    ]


def test_global_has_no_scope() -> None:
    assert messages("#in_k", "#in_k", "#in_k") == [
        f"'cuda_tile.global' op invalid operation debug info scope: #cuda_tile.di_loc<loc(\"k.py\":1:1) in {K}>. "
        "Global variables must not have scope."
    ]


def test_scope_is_found_through_an_opaque_location() -> None:
    module = tileir.parse(
        f"{HEAD}cuda_tile.module @m {{\nentry @k() {{\n%r = make_token : token\nreturn\n}} loc(#in_k)\n}}"
    )
    file = di_file("k.py", "/src")
    other = di_subprogram(file, 9, "o", "o", di_compile_unit(file))
    operation = next(operation for operation in module.walk() if operation.results)
    operation.location = OpaqueLocation("handle", di_location(file_location("k.py", 1, 1), other))
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    assert "does not match function debug info scope" in failure.value.diagnostics[0].message


def test_operations_nested_in_regions_are_checked_too() -> None:
    module = tileir.parse(
        f"{HEAD}cuda_tile.module @m {{\nentry @k(%c: tile<i1>) {{\nif %c {{\n"
        "%r = make_token : token loc(#in_other)\n}\nreturn\n} loc(#in_k)\n}"
    )
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    assert len(failure.value.diagnostics) == 1


def test_column_and_scope_line_of_zero_are_not_printed() -> None:
    file = di_file("k.py", "/src")
    subprogram = di_subprogram(file, 1, "k", "k", di_compile_unit(file), 5)
    assert "scopeLine = 5" in subprogram.text
    assert di_lexical_block(subprogram, file, 2, 0).text.endswith("line = 2>")
    assert di_lexical_block(subprogram, file, 2, 3).text.endswith("line = 2, column = 3>")
