"""Adding an operation is writing its declaration: two that the dialect does not have, taken through all that read one.

`lerp` is elementwise, `exchange_ptr_tko` reads and writes memory.  They are declared here and nowhere else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from generators.records import notation
from generators.reference import reference
from generators.stubs import builder_stub
from generators.support import finds_types

import tileir
from tileir.analyze.documentation.grammar import grammar
from tileir.analyze.documentation.vocabulary import close_names, find, version_page
from tileir.bytecode.annotated import annotate
from tileir.bytecode.records import maximum_opcode, records_of
from tileir.declarations import declaration_of, declarations
from tileir.dialect.constraints import (
    ANY_TILE,
    FLOAT,
    I1_TILE,
    ORDERING_ATTRIBUTE,
    POINTER_TILE,
    SCOPE_ATTRIBUTE,
    TOKEN_TYPE,
    UNIT_ATTRIBUTE,
)
from tileir.dialect.inference import Inference, mask_of, pointed_to
from tileir.dialect.rules import optional_same_shape, points_to
from tileir.dialect.types import TOKEN
from tileir.ir.core import Operation
from tileir.ir.declaration import OPTIONAL, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, PURE, SEGMENTS, TOKEN_ORDERED
from tileir.ir.traversal import is_memory_effect_free, is_pure, memory_changes
from tileir.ir.versions import NEWEST, V13_3, V13_4
from tileir.tools.programs import explain
from tileir.types import f32, ptr, tile

LERP = OperationDeclaration(
    "lerp",
    chapter="Floating point",
    opcode=0x7E,
    since=V13_4,
    summary="Go from one number toward another",
    description="Computes `start + weight * (end - start)`, element by element.",
    example="%r = lerp %a, %a, %a flush_to_zero : tile<4xf32>",
    operands=(
        operand("start", FLOAT, "where a weight of zero is"),
        operand("end", FLOAT, "where a weight of one is"),
        operand("weight", FLOAT, "how far to go"),
    ),
    attributes=(attribute("flush_to_zero", UNIT_ATTRIBUTE, "subnormal numbers are zero", optional=True),),
    results=(result("result", FLOAT, "the number in between"),),
    traits=PURE | ELEMENTWISE,
    same_types=(("start", "end", "weight", "result"),),
    name_hints=("between",),
    syntax="$start ',' $end ',' $weight flag(flush_to_zero) attr-dict ':' type($result)",
)


def verify_exchange(operation: Operation, context: VerifyContext) -> None:
    if operation.operand_group("mask") and "memory_scope" not in operation.attributes:
        raise Invalid("expects a scope where there is a mask")


EXCHANGE_PTR_TKO = OperationDeclaration(
    "exchange_ptr_tko",
    chapter="Memory",
    opcode=0x7F,
    class_name="ExchangePointers",
    since=V13_4,
    summary="Write a tile and get what was there",
    description="Reads and writes one element per pointer.  Where the mask is false nothing happens.",
    example="%v, %t = exchange_ptr_tko weak %p, %x : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token",
    operands=(
        operand("pointers", POINTER_TILE, "where to write each element"),
        operand("value", ANY_TILE, "the elements to write"),
        operand("mask", I1_TILE, "which elements to write; all when absent", OPTIONAL),
        operand("token", TOKEN_TYPE, "what the exchange comes after", OPTIONAL),
    ),
    attributes=(
        attribute("memory_ordering_semantics", ORDERING_ATTRIBUTE, "weak, relaxed or acq_rel"),
        attribute("memory_scope", SCOPE_ATTRIBUTE, "who may access the memory meanwhile", optional=True),
    ),
    results=(
        result("result", ANY_TILE, "the elements that were there"),
        result("result_token", TOKEN_TYPE, "for what must come after the exchange"),
    ),
    traits=TOKEN_ORDERED | SEGMENTS,
    reads="pointers",
    writes="pointers",
    same_types=(("value", "result"),),
    fixed_types={"token": TOKEN},
    rules=(
        points_to("pointers", "value"),
        optional_same_shape("mask", "pointers", "shape of 'mask' must match the shape of 'pointers'"),
    ),
    verify=verify_exchange,
    inference=Inference(
        lambda call: [call.pointed_to("pointers")],
        numbers={"value": pointed_to("pointers"), "mask": mask_of("pointers")},
    ),
    name_hints=("old", "after"),
    syntax=(
        "$memory_ordering_semantics ($memory_scope)? $pointers ',' $value (',' $mask)? ('token' ~ '=' ~ $token)? "
        "attr-dict ':' type($pointers) ',' type($value) (',' type($mask))? '->' type($result) ',' type($result_token)"
    ),
)

PROGRAM = """\
cuda_tile.module @kernels {
  entry @mix(%arg0: tile<ptr<f32>>, %arg1: tile<f32>) {
    %old, %after = exchange_ptr_tko weak %arg0, %arg1 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
    %between = lerp %old, %arg1, %arg1 flush_to_zero : tile<f32>
    %between_0 = lerp %between, %arg1, %old : tile<f32>
    %true = constant <i1: true> : tile<i1>
    %old_1, %after_2 = exchange_ptr_tko relaxed device %arg0, %between_0, %true token=%after : tile<ptr<f32>>, tile<f32>, tile<i1> -> tile<f32>, token
    return
  }
}"""


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    for declaration in (LERP, EXCHANGE_PTR_TKO):
        REGISTRY.add(declaration)
    yield
    for declaration in (LERP, EXCHANGE_PTR_TKO):
        REGISTRY.remove(declaration)


def operations(module: Operation) -> list[Operation]:
    return [operation for operation in module.walk() if operation.declaration in (LERP, EXCHANGE_PTR_TKO)]


def kernel(body: str) -> str:
    return f"""entry @mix(%base: tile<ptr<f32>>) {{
  %one = reshape %base : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p = broadcast %one : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %x = constant <f32: 1.0> : tile<4xf32>
  %y = constant <f32: 2.0> : tile<8xf32>
  %m = constant <i1: true> : tile<8xi1>
  {body}
}}"""


# --- text ---


def test_text_is_read_and_printed_with_the_names_it_hints_at() -> None:
    module = tileir.parse(PROGRAM, verify=True)
    assert module.text() == PROGRAM
    first, second, third, _ = operations(module)
    assert first.declaration is EXCHANGE_PTR_TKO and second.declaration is LERP
    assert "flush_to_zero" in second.attributes and "flush_to_zero" not in third.attributes


def test_generic_form_is_read_and_printed() -> None:
    generic = tileir.parse(PROGRAM).text(generic=True)
    assert '"cuda_tile.lerp"(%' in generic
    assert '"cuda_tile.exchange_ptr_tko"(%' in generic and "operandSegmentSizes = array<i32: 1, 1, 0, 0>" in generic
    assert tileir.parse(generic, verify=True).text() == PROGRAM


def test_text_of_another_shape_is_refused() -> None:
    with pytest.raises(tileir.ParseError, match="expected ','"):
        tileir.parse(kernel("%r = lerp %x, %x : tile<4xf32>"))


# --- verifier ---


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%r = "cuda_tile.lerp"(%x, %x, %y) : (tile<4xf32>, tile<4xf32>, tile<8xf32>) -> tile<4xf32>',
            "'cuda_tile.lerp' op failed to verify that all of {start, end, weight, result} have same type",
        ),
        (
            "%r = lerp %m, %m, %m : tile<8xi1>",
            "'cuda_tile.lerp' op operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got",
        ),
        (
            "%v, %t = exchange_ptr_tko weak %p, %y : tile<4xptr<f32>>, tile<8xf32> -> tile<8xf32>, token",
            "'cuda_tile.exchange_ptr_tko' op failed to verify",
        ),
        (
            "%v, %t = exchange_ptr_tko relaxed device %p, %x, %m : "
            "tile<4xptr<f32>>, tile<4xf32>, tile<8xi1> -> tile<4xf32>, token",
            "shape of 'mask' must match the shape of 'pointers'",
        ),
        (
            "%c = constant <i1: true> : tile<4xi1>\n%v, %t = exchange_ptr_tko weak %p, %x, %c : "
            "tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> tile<4xf32>, token",
            "'cuda_tile.exchange_ptr_tko' op expects a scope where there is a mask",
        ),
    ],
)
def test_wrong_programs_are_refused(body: str, message: str) -> None:
    with pytest.raises(tileir.VerifyError) as raised:
        tileir.verify(tileir.parse(kernel(body)))
    (mistake,) = raised.value.diagnostics
    assert message in mistake.message


# --- bytecode ---


def test_bytecode_is_written_and_read() -> None:
    data = tileir.to_bytecode(tileir.parse(PROGRAM), version="13.4")
    assert tileir.from_bytecode(data).text() == PROGRAM
    assert notation(LERP, V13_4) == "R F[0=flush_to_zero] %start %end %weight"
    assert records_of(NEWEST)[0x7F].class_name == "ExchangePointersOp"
    assert maximum_opcode(NEWEST) == 0x7F and maximum_opcode(V13_3) < 0x7E
    opcodes = [field.meaning for field in annotate(data).fields() if field.name == "opcode"]
    assert [each for each in opcodes if "lerp" in each] and [each for each in opcodes if "exchange_ptr_tko" in each]


def test_earlier_versions_refuse_it() -> None:
    module = tileir.parse(PROGRAM)
    with pytest.raises(
        tileir.TileIRError, match=r"'cuda_tile\.exchange_ptr_tko' is not available in bytecode version 13\.3"
    ):
        tileir.to_bytecode(module, version="13.3")
    with pytest.raises(tileir.PassError, match=r"needs version 13\.4 and has no equivalent in 13\.1"):
        tileir.run_passes(module, ["downlevel{version=13.1}"])


# --- builder ---


def test_builder_has_a_method_that_finds_the_types() -> None:
    b = tileir.Builder()
    with b.entry("mix", ptr(f32), f32) as (pointers, numbers):
        old, after = b.exchange_ptr_tko(pointers, 1.5)
        assert old.type is numbers.type and after.type is TOKEN
        mixed = b.lerp(old, numbers, 0.5, flush_to_zero=True)
        assert mixed.type is numbers.type
        b.exchange_ptr_tko(
            pointers, mixed, mask=True, token=after, memory_ordering_semantics="relaxed", memory_scope="device"
        )
    text = b.finish().text()
    assert "exchange_ptr_tko weak %arg0, %cst_f32 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token" in text
    assert "%between = lerp %old, %arg1, %cst_f32_0 flush_to_zero : tile<f32>" in text
    assert tileir.parse(text, verify=True).text() == text


def test_builder_explains_wrong_arguments() -> None:
    b = tileir.Builder()
    assert repr(b.lerp) == "lerp(start, end, weight, *, flush_to_zero=False)"
    assert {"lerp", "exchange_ptr_tko"} <= set(dir(b))
    with b.entry("mix", ptr(f32)) as (pointers,):
        numbers = b.constant(1.0, tile(8, f32))
        with pytest.raises(tileir.BuildError, match="lerp: operand 'weight' is missing"):
            b.lerp(numbers, numbers)
        with pytest.raises(tileir.BuildError, match=r"lerp: .*'speed'"):
            b.lerp(numbers, numbers, 0.5, speed=1)
        with pytest.raises(tileir.BuildError, match="'pointers' must be a tile of pointers"):
            b.exchange_ptr_tko(numbers, 1.0)
        with pytest.raises(tileir.VerifyError, match="exchange_ptr_tko"):
            b.exchange_ptr_tko(pointers, numbers)
        with pytest.raises(AttributeError, match="did you mean 'lerp'"):
            b.lerpp(numbers)


def opaque(inference: Inference | None) -> OperationDeclaration:
    return OperationDeclaration(
        "opaque",
        chapter="Core",
        summary="Nothing follows from its operand",
        operands=(operand("source", ANY_TILE, "the tile"),),
        results=(result("result", ANY_TILE, "another tile"),),
        inference=inference,
    )


def test_types_that_nothing_says_are_given() -> None:
    told, forgotten = opaque(None), opaque(Inference())
    assert finds_types(LERP) and finds_types(EXCHANGE_PTR_TKO)
    assert not finds_types(told) and not finds_types(forgotten)
    b = tileir.Builder()
    with b.entry("mix", f32) as (number,):
        assert b.build(told, (number, tile(8, f32)), {}).result.type is tile(8, f32)
        with pytest.raises(tileir.BuildError, match="opaque: argument 'type' is missing"):
            b.build(told, (number,), {})
        with pytest.raises(tileir.BuildError, match="opaque: the type of 'result' is not known"):
            b.build(forgotten, (number,), {})


def test_stub_of_the_builder_has_the_methods() -> None:
    text = builder_stub()
    assert (
        "    def lerp(self, start: _Operand, end: _Operand, weight: _Operand, *, flush_to_zero: bool | Attribute = False,"
    ) in text
    assert '"""Go from one number toward another (since 13.4).' in text
    assert re.search(
        r"def exchange_ptr_tko\(self, pointers: _Operand, value: _Operand, .*\) -> tuple\[Value, Value\]:", text
    )


# --- documentation ---


def test_it_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["lerp", "exchange_ptr_tko"]) == 0
    shown = capsys.readouterr().out
    for declaration in (LERP, EXCHANGE_PTR_TKO):
        assert declaration.summary in shown
        for declared in (*declaration.operands, *declaration.results):
            assert declared.documentation in shown
    assert grammar(LERP) == "%result = lerp %start, %end, %weight flush_to_zero? : type(%result)"
    assert find("cuda_tile.lerp")[0].name == "lerp"
    assert "lerp" in close_names("lerpp")


def test_it_is_in_the_reference_and_among_the_declarations() -> None:
    written = reference()
    assert "\n## lerp\n" in written["floating_point.md"] and LERP.example in written["floating_point.md"]
    assert "\n## exchange_ptr_tko\n" in written["memory.md"]
    assert "[`lerp`](floating_point.md#lerp)" in written["index.md"]
    assert "`lerp`" in str(version_page(V13_4))
    assert declaration_of("lerp") is LERP
    assert {LERP, EXCHANGE_PTR_TKO} <= set(declarations())


# --- effects ---


def test_effects_are_those_it_declares() -> None:
    module = tileir.parse(PROGRAM)
    exchange, lerp = operations(module)[:2]
    assert is_pure(lerp) and is_memory_effect_free(lerp)
    assert not is_pure(exchange) and not is_memory_effect_free(exchange)
    assert exchange in memory_changes(module) and lerp not in memory_changes(module)


def test_passes_use_its_effects() -> None:
    body = """
    %a = lerp %x, %x, %x : tile<4xf32>
    %b = lerp %x, %x, %x : tile<4xf32>
    %unused = lerp %y, %y, %y : tile<8xf32>
    %v, %t = exchange_ptr_tko weak %p, %a : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token
    %w, %u = exchange_ptr_tko weak %p, %b token=%t : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token
    """
    module = tileir.run_passes(tileir.parse(kernel(body), verify=True), ["cse", "canonicalize"])
    assert [o.declaration.mnemonic for o in operations(module)] == ["lerp", "exchange_ptr_tko", "exchange_ptr_tko"]


def test_a_declaration_can_be_taken_back() -> None:
    REGISTRY.remove(LERP)
    try:
        with pytest.raises(tileir.ParseError, match="lerp"):
            tileir.parse(PROGRAM)
        assert 0x7E not in records_of(NEWEST) and LERP not in declarations()
    finally:
        REGISTRY.add(LERP)
    assert tileir.parse(PROGRAM).text() == PROGRAM


# --- a function, in the engines too ---


def test_a_function_is_a_declaration_a_numpy_function_and_a_rule_for_triton() -> None:
    """`new_function.py` adds one with these three alone."""
    program = [sys.executable, "-m", "tests.dialect.new_function"]
    # Code on disk is not known by what the test adds.
    environment = {**os.environ, "TILEIR_CACHE": "0"}
    found = subprocess.run(program, capture_output=True, text=True, timeout=300, env=environment)
    assert found.stdout == "tanh10 is known everywhere\n", found.stderr
