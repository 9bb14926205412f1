"""Rules about whole programs: where values are visible, what symbols mean, how regions end."""

from __future__ import annotations

import pytest

import tileir
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.verifier import verify_operation


def findings(text: str) -> list[Diagnostic]:
    """What the parser says or, when it is content, what the verifier says."""
    try:
        return tileir.verify(tileir.parse(text))
    except tileir.TileIRError as error:
        return error.diagnostics


def messages(text: str) -> list[str]:
    return [finding.message for finding in findings(text)]


def kernel(body: str) -> str:
    return f"cuda_tile.module @m {{\nentry @k(%c: tile<i1>, %x: tile<i32>) {{\n{body}\n}}\n}}"


# --- dominance ---


def test_use_before_the_definition_in_a_block_is_reported_with_both_places() -> None:
    (found,) = findings(kernel("%a = addi %b, %x : tile<i32>\n%b = addi %x, %x : tile<i32>\nreturn"))
    assert found.message == "operand #0 does not dominate this use"
    assert found.position[1:] == (3, 6)
    assert [(n.message, n.position[1:]) for n in found.notes] == [
        ("operand defined here (op in the same block)", (4, 6))
    ]


def test_operation_does_not_dominate_itself() -> None:
    assert messages(kernel("%a = addi %x, %a : tile<i32>\nreturn")) == ["operand #1 does not dominate this use"]


def test_region_sees_what_stands_before_its_operation_only() -> None:
    (found,) = findings(kernel("if %c {\n%a = addi %b, %x : tile<i32>\n}\n%b = addi %x, %x : tile<i32>\nreturn"))
    assert found.message == "operand #0 does not dominate this use"
    assert found.notes[0].message == "operand defined here (op in a parent region)"


def test_value_of_a_region_is_gone_after_it() -> None:
    assert messages(kernel("if %c {\n%a = addi %x, %x : tile<i32>\n}\n%b = addi %a, %x : tile<i32>\nreturn")) == [
        "use of undeclared SSA value name '%a'"
    ]


def test_kernel_sees_no_value_of_another_one() -> None:
    text = (
        "cuda_tile.module @m {\nentry @f(%x: tile<i32>) {\nreturn\n}\n"
        "entry @g() {\n%a = addi %x, %x : tile<i32>\nreturn\n}\n}"
    )
    assert "use of undeclared SSA value name '%x'" in messages(text)


def test_every_use_that_is_not_dominated_is_reported() -> None:
    body = "%a = addi %b, %x : tile<i32>\n%d = addi %x, %b : tile<i32>\n%b = addi %x, %x : tile<i32>\nreturn"
    assert messages(kernel(body)) == [
        "operand #0 does not dominate this use",
        "operand #1 does not dominate this use",
    ]


# --- names ---


def test_second_definition_of_a_value_is_reported() -> None:
    (found,) = findings(kernel("%a = addi %x, %x : tile<i32>\n%a = addi %x, %x : tile<i32>\nreturn"))
    assert found.message == "redefinition of SSA value '%a'"
    assert found.position[1] == 4
    assert [(n.message, n.position[1]) for n in found.notes] == [("previously defined here", 3)]


def test_use_with_another_type_is_reported() -> None:
    (found,) = findings(kernel("%a = addi %x, %c : tile<i32>\nreturn"))
    assert found.message == (
        "use of value '%c' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<i1>'"
    )


def test_value_name_may_be_used_again_in_another_region() -> None:
    body = "if %c {\n%a = addi %x, %x : tile<i32>\n} else {\n%a = muli %x, %x : tile<i32>\n}\nreturn"
    assert messages(kernel(body)) == []


# --- symbols ---


def test_second_symbol_of_a_name_is_reported_with_the_first() -> None:
    (found,) = findings("cuda_tile.module @m {\nentry @k() {\nreturn\n}\nglobal @k <i32: 0> : tile<1xi32>\n}")
    assert found.message == "redefinition of symbol named 'k'"
    assert found.position[1] == 5
    assert [(n.message, n.position[1]) for n in found.notes] == [("see existing symbol definition here", 2)]


def test_symbol_stands_in_a_symbol_table() -> None:
    assert messages(kernel("global @g <i32: 0> : tile<1xi32>\nreturn")) == [
        "'cuda_tile.global' op symbol's parent must have the SymbolTable trait"
    ]


def test_get_global_refers_to_a_global() -> None:
    assert messages(kernel("%g = get_global @missing : tile<ptr<i32>>\nreturn")) == [
        "'cuda_tile.get_global' op 'missing' does not reference a valid global"
    ]


def test_nested_module_has_symbols_of_its_own() -> None:
    text = (
        "builtin.module {\ncuda_tile.module @a {\nentry @k() {\nreturn\n}\n}\n"
        "cuda_tile.module @b {\nentry @k() {\nreturn\n}\n}\n}"
    )
    assert messages(text) == []


# --- regions ---


def test_terminator_ends_its_block() -> None:
    assert messages(kernel("return\nreturn")) == [
        "'cuda_tile.return' op must be the last operation in the parent block"
    ]


def test_missing_terminator_of_a_kernel_is_added() -> None:
    module = tileir.parse(kernel("%a = addi %x, %x : tile<i32>"))
    assert tileir.verify(module) == []
    assert "    return\n" in str(module)


@pytest.mark.parametrize(
    ("terminator", "parents"),
    [("yield", "cuda_tile.if, cuda_tile.reduce, cuda_tile.scan"), ("break", "cuda_tile.if, cuda_tile.loop")],
)
def test_terminator_stands_in_the_operations_it_ends(terminator: str, parents: str) -> None:
    assert messages(kernel(terminator)) == [f"'cuda_tile.{terminator}' op expects parent op to be one of '{parents}'"]


def test_module_region_has_no_arguments() -> None:
    text = '"cuda_tile.module"() <{sym_name = "m"}> ({\n^bb0(%x: !cuda_tile.tile<i32>):\n}) : () -> ()'
    assert messages(text) == ["'cuda_tile.module' op region should have no arguments"]


def test_verifier_reports_every_operation_once_and_stops_at_the_first_when_asked() -> None:
    text = kernel(
        "%a = assume div_by<3>, %x : tile<i32>\n%b = assume bounded<2, 1>, %x : tile<i32>\n"
        "%d = assume same_elements<[1]>, %x : tile<i32>\nreturn"
    )
    assert len(messages(text)) == 3
    context = VerifyContext(first_only=True)
    verify_operation(tileir.parse(text), context)
    assert len(context.diagnostics) == 1


# --- hints (docs/reference/conflicts.md E) ---

HINTS = {
    "unknown architecture": ("<sm_75 = {occupancy = 2}>", "unknown hint key sm_75"),
    "hint of another operation": ("<sm_100 = {latency = 2}>", "latency is not known hint for current Operation"),
    "no such hint": ("<sm_100 = {speed = 2}>", "speed is not known hint for current Operation"),
    "wrong type": ('<sm_100 = {occupancy = "x"}>', "integer value expected for sm_100.occupancy"),
    "out of range": (
        "<sm_100 = {occupancy = 33}>",
        "integer value in the range [1, 32] is expected for sm_100.occupancy",
    ),
    "not a power of two": (
        "<sm_100 = {num_cta_in_cga = 3}>",
        "expected power-of-two ≤ 16 for sm_100.num_cta_in_cga",
    ),
    "no clusters there": ("<sm_80 = {num_cta_in_cga = 2}>", "expected 1 for sm_80.num_cta_in_cga"),
    "too many warps": (
        "<default = {num_worker_warps_per_cta = 64}>",
        "expected power-of-two ≤ 32 for default.num_worker_warps_per_cta",
    ),
}


def hinted(hints: str) -> tileir.Operation:
    return tileir.parse(f"cuda_tile.module @m {{\nentry @k() optimization_hints={hints} {{\nreturn\n}}\n}}")


@pytest.mark.parametrize(("hints", "message"), HINTS.values(), ids=HINTS)
def test_doubtful_hint_is_ignored_warned_about_or_refused_as_asked(hints: str, message: str) -> None:
    module = hinted(hints)
    assert tileir.verify(module) == []
    assert tileir.verify(module, hints="ignore") == []
    assert [(d.severity, d.message) for d in tileir.verify(module, hints="warn")] == [("warning", message)]
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module, hints="error")
    assert [(d.severity, d.message) for d in failure.value.diagnostics] == [
        ("warning", message),
        ("error", "'cuda_tile.entry' op Optimization hints verification failed"),
    ]


@pytest.mark.parametrize(
    "hints",
    [
        "<sm_80 = {num_cta_in_cga = 1, occupancy = 32}>",
        "<sm_100 = {num_cta_in_cga = 16, num_worker_warps_per_cta = 32, occupancy = 1}, default = {}>",
        "<sm_121 = {}>",
    ],
)
def test_hint_within_the_rules_is_never_doubted(hints: str) -> None:
    assert tileir.verify(hinted(hints), hints="error") == []


def test_doubtful_hint_is_printed_as_it_was_read() -> None:
    assert "optimization_hints=<sm_75 = {speed = 2}> {" in str(hinted("<sm_75 = {speed = 2}>"))


def test_architecture_of_13_4_is_unknown_before() -> None:
    module = hinted("<sm_107 = {occupancy = 1}>")
    assert tileir.verify(module, hints="error") == []
    assert [d.message for d in tileir.verify(module, hints="warn", version="13.3")] == ["unknown hint key sm_107"]


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ("<sm_90 = {allow_tma = 1}>", "boolean value expected for sm_90.allow_tma"),
        ("<sm_90 = {latency = 11}>", "integer value in the range [1, 10] is expected for sm_90.latency"),
        ("<sm_90 = {occupancy = 1}>", "occupancy is not known hint for current Operation"),
    ],
)
def test_hints_of_a_view_load_have_their_own_rules(hints: str, message: str) -> None:
    view = "partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>"
    module = tileir.parse(
        "cuda_tile.module @m {\nentry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {\n"
        "%t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>\n"
        f"%v = make_partition_view %t : {view}\n"
        f"%r, %s = load_view_tko weak %v[%i] optimization_hints = {hints} : {view}, tile<i32> -> tile<4xf32>, token\n"
        "return\n}\n}"
    )
    assert [d.message for d in tileir.verify(module, hints="warn")] == [message]


def test_operation_without_its_region_is_found_after_a_sound_one_of_the_same_types() -> None:
    program = """cuda_tile.module @m { entry @k() {
      loop { break }
      "cuda_tile.loop"() : () -> ()
      return
    } }"""
    with pytest.raises(tileir.VerifyError, match=r"'cuda_tile\.loop' op requires one region"):
        tileir.verify(tileir.parse(program))


def test_unknown_operation_of_the_dialect_is_refused_even_where_other_dialects_are_allowed() -> None:
    with pytest.raises(tileir.ParseError, match=r"unregistered operation 'cuda_tile\.frobnicate'"):
        tileir.parse('"cuda_tile.frobnicate"() : () -> ()', allow_unregistered=True)
