"""Every operation of Triton's frontend has a rule, and what is refused is named with the reason and the line."""

from __future__ import annotations

import sys

import pytest
from tests.optional import needs
from tests.ttir.operations_of_triton import OPERATIONS, TERMINATORS
from tests.ttir.programs import module

import tileir
from tileir.errors import OptionError
from tileir.ttir import TTIRError, from_ttir, translate
from tileir.ttir.tokens import MEMORY_ORDERS, MemoryOrder
from tileir.ttir.translation import RULES

ROW = "tensor<16xf32>"
STATEMENTS: dict[str, tuple[str, str, str]] = {
    "inline assembly": (
        "%x: i32",
        '%y = "tt.elementwise_inline_asm"(%x) <{asm_string = "shl.b32\\09$0,\\0A $1, 3;", constraints = "=r,r", '
        "packed_element = 1 : i32, pure = true}> : (i32) -> i32",
        "'tt.elementwise_inline_asm' is not supported: assembly runs on a GPU only: shl.b32 $0, $1, 3;",
    ),
    "a block pointer": (
        "%x: !tt.ptr<f32>, %n: i64, %at: i32",
        '%y = "tt.make_tensor_ptr"(%x, %n, %n, %at) <{order = array<i32: 0>}> : (!tt.ptr<f32>, i64, i64, i32) -> '
        f"!tt.ptr<{ROW}>",
        "'tt.make_tensor_ptr' is not supported: Triton's pass 'rewrite-tensor-pointer'",
    ),
    "a layout": (
        f"%x: {ROW}",
        f'%y = "ttg.convert_layout"(%x) : ({ROW}) -> {ROW}',
        "'ttg.convert_layout' is not supported: it is about the layouts and threads of a GPU",
    ),
    "an unknown operation": (
        "%x: f32",
        '%y = "math.cbrt"(%x) : (f32) -> f32',
        "'math.cbrt' is not supported: Triton's frontend makes no such operation",
    ),
    "a switch": (
        "%x: i32",
        '"cf.switch"(%x) <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()',
        "'cf.switch' is not supported",
    ),
    "stochastic rounding": (
        f"%x: {ROW}",
        f'%y = "tt.fp_to_fp"(%x) <{{rounding = 2 : i32}}> : ({ROW}) -> tensor<16xf16>',
        "'tt.fp_to_fp' is not supported: stochastic rounding has no counterpart",
    ),
    "an increment that wraps around": (
        "%x: !tt.ptr<i32>, %n: i32, %s: i64, %v: tensor<16xi32>",
        '%d = "tt.make_tensor_descriptor"(%x, %n, %s) : (!tt.ptr<i32>, i32, i64) -> !tt.tensordesc<tensor<16xi32>>\n'
        '    "tt.descriptor_reduce"(%d, %v, %n) <{kind = 4 : i32}> : '
        "(!tt.tensordesc<tensor<16xi32>>, tensor<16xi32>, i32) -> ()",
        "'tt.descriptor_reduce' is not supported: Tile IR has no atomic increment",
    ),
    "a format": (
        "%a: tensor<16x32xi8>, %b: tensor<32x16xi8>, %c: tensor<16x16xf32>",
        '%d = "tt.dot_scaled"(%a, %b, %c) <{a_elem_type = 2 : i32, b_elem_type = 0 : i32, fastMath = false, '
        "lhs_k_pack = true, rhs_k_pack = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : "
        "(tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xf32>) -> tensor<16x16xf32>",
        "'tt.dot_scaled' is not supported: Tile IR has no format 'e2m3'",
    ),
    "an effect in a function of elements": (
        f"%x: {ROW}",
        '%y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({\n^bb0(%e: f32):\n'
        '"tt.print"(%e) <{hex = false, isSigned = array<i32: 0>, prefix = "x"}> : (f32) -> () loc("user.py":7:3)\n'
        f'"tt.map_elementwise.return"(%e) : (f32) -> ()\n}}) : ({ROW}) -> {ROW}',
        "'tt.print' is not supported: a function that 'tt.map_elementwise' applies",
    ),
    "an integer of 4 bits": (
        "%x: i32",
        '%y = "arith.trunci"(%x) : (i32) -> i4',
        "values of type 'i4' are not supported",
    ),
    "an atomic operation of 8 bits": (
        "%x: !tt.ptr<i8>, %v: i8",
        '%y = "tt.atomic_cas"(%x, %v, %v) <{sem = 2 : i32, scope = 1 : i32}> : (!tt.ptr<i8>, i8, i8) -> i8',
        "'tt.atomic_cas' is not supported:",
    ),
    "an unknown function": (
        "%x: f32",
        '"tt.call"(%x) <{callee = @missing}> : (f32) -> ()',
        "there is no function 'missing'",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_construct_is_refused_with_its_name_the_reason_and_the_line(name: str) -> None:
    parameters, statement, message = STATEMENTS[name]
    with pytest.raises(TTIRError) as caught:
        translate(module(parameters, f'{statement} loc("user.py":7:3)'))
    text = str(caught.value)
    assert message in text and "user.py:7:" in text


FUNCTIONS: dict[str, tuple[str, str]] = {
    "recursion": (
        '"tt.func"() <{function_type = () -> (), sym_name = "k", sym_visibility = "public"}> ({\n'
        '"tt.call"() <{callee = @k}> : () -> () loc("user.py":7:3)\n"tt.return"() : () -> ()\n'
        '}) : () -> () loc("user.py":7:3)',
        "recursive functions",
    ),
    "a parameter": (
        '"tt.func"() <{function_type = (i128) -> (), sym_name = "k", sym_visibility = "public"}> ({\n'
        '^bb0(%x: i128):\n"tt.return"() : () -> ()\n}) : () -> () loc("user.py":7:3)',
        "parameters of type 'i128' are not supported",
    ),
    "a global variable": (
        '"llvm.mlir.global"() <{sym_name = "g"}> : () -> () loc("user.py":7:3)',
        "'llvm.mlir.global' is not supported: a module of TTIR has functions only",
    ),
    "only private functions": (
        '"tt.func"() <{function_type = () -> (), sym_name = "k", sym_visibility = "private"}> ({\n'
        '"tt.return"() : () -> ()\n}) : () -> ()',
        "no function is public",
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_module_is_refused_with_the_reason(name: str) -> None:
    text, message = FUNCTIONS[name]
    with pytest.raises(TTIRError) as caught:
        translate(f'"builtin.module"() ({{\n{text}\n}}) : () -> ()')
    assert message in str(caught.value)
    assert "user.py:7:" in str(caught.value) or "loc(" not in text


def test_a_kernel_that_is_too_large_after_inlining() -> None:
    """Each function calls the next one twice."""
    functions = []
    for number in range(18):
        calls = [f'"tt.call"() <{{callee = @f{number + 1}}}> : () -> ()'] * 2 if number < 17 else []
        body = "\n".join([*calls, '"tt.return"() : () -> ()'])
        functions.append(
            f'"tt.func"() <{{function_type = () -> (), sym_name = "f{number}", sym_visibility = "private"}}> '
            f"({{\n{body}\n}}) : () -> ()"
        )
    text = module("", '"tt.call"() <{callee = @f0}> : () -> ()', "\n".join(functions))
    with pytest.raises(TTIRError, match="more than 250,000 operations after inlining"):
        translate(text)


@pytest.mark.parametrize("order", MEMORY_ORDERS)
def test_pointers_of_a_loop_without_its_operands(order: MemoryOrder) -> None:
    """Which array they lead to is looked for before the loop is translated."""
    body = """"scf.for"() ({
    ^bb0(%i: i32, %p: !tt.ptr<f32>):
      %x = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> f32
      "tt.store"(%p, %x) : (!tt.ptr<f32>, f32) -> ()
      "scf.yield"(%p) : (!tt.ptr<f32>) -> ()
    }) : () -> ()"""
    with pytest.raises(TTIRError, match=r"'scf\.for' has operands or attributes that it cannot have"):
        translate(module("", body), memory_order=order)


USUAL = "module {\n  tt.func public @k(%x: i32) attributes {noinline = false} {\n    tt.return\n  }\n}"


def test_ttir_in_its_usual_form_is_read_by_triton() -> None:
    needs("triton")
    found = from_ttir(USUAL)
    assert tileir.compile(found).name == "k"
    # Lines are those of the text.
    assert 'loc("ttir":2:' in found.text(debug_info=True)
    with pytest.raises(TTIRError, match=r"'tt.returns' is unknown\n --> ttir:3:5"):
        from_ttir(USUAL.replace("tt.return", "tt.returns"))


def test_ttir_in_its_usual_form_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton._C.libtriton", None)
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(TTIRError, match="pip install triton"):
        from_ttir(USUAL)


def test_an_unknown_memory_order() -> None:
    with pytest.raises(OptionError, match="use one of"):
        from_ttir("", memory_order="total")  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each not in TERMINATORS])
def test_every_operation_of_the_frontend_has_a_rule_or_a_refusal(operation: str) -> None:
    assert operation in RULES


def test_every_rule_is_for_an_operation_of_the_frontend() -> None:
    assert set(RULES) - set(OPERATIONS) == set()
