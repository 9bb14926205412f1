"""Causes: equal for programs that differ in names, numbers and places, different for different mistakes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir
from tileir.judging.verdicts.causes import LONGEST, cause_of, cause_of_crash, cause_of_exception

SAME = [
    ("a.mlir:3:4: error: redefinition of SSA value '%a'", "redefinition of SSA value '%b17'"),
    ("/tmp/x y/k.mlir:1:1: error: expected ':'", "expected ':'"),
    (
        "'cuda_tile.addi' op operand #0 must be tile of i1 or i8 values, but got '!cuda_tile.tile<128xf32>'",
        "'cuda_tile.addi' op operand #1 must be tile of i1 or i8 values, but got '!cuda_tile.tile<4x8xf16>'",
    ),
    ("the tile has the shape [4, 8]", "the tile has the shape [16]"),
    ("element 3 of argument 2 is 1.5, not -2e-05", "element 41 of argument 0 is nan, not inf"),
    ("custom op 'frobnicate' is unknown", "custom op 'tanh2' is unknown"),
    ("cannot read '/a/b/c.npy': it is empty", "cannot read 'x.npy': it is empty"),
    ("no access at 0x7ffe12 in tile block (3, 0, 1)", "no access at 0xAB in tile block (0, 1, 12)"),
    ("wants tile<4xptr<f32>> here", "wants tile<ptr<i8>> here"),
    ("kernel @main has 3 parameters, and 1,024 were given", "kernel @k_0 has 12 parameters, and 2 were given"),
    ("float32[1000] is too small", "float32[8] is too small"),
    ("expects 'i1' vs '!cuda_tile.tile<i1>'", "expects '!cuda_tile.tile<f32>' vs 'f16'"),
]
DIFFERENT = [
    ("'cuda_tile.addi' op has no result", "'cuda_tile.subi' op has no result"),
    ("expected ':'", "expected ','"),
    ("expected 'step'", "expected 'to'"),
    ("operand must be i32", "operand must be i64"),
    ("SIGSEGV", "SIGABRT"),
    ("'cuda_tile.bounded' expects more", "'cuda_tile.div_by' expects more"),
    ("attribute 'memory_scope' is missing", "attribute 'rounding' is missing"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_numbers_and_places_do_not_matter(one: str, other: str) -> None:
    assert cause_of(one) == cause_of(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_words_of_the_dialect_matter(one: str, other: str) -> None:
    assert cause_of(one) != cause_of(other)


def test_a_cause_reads_as_its_message_does() -> None:
    message = "'cuda_tile.addi' op operand #0 must be tile of i1 or i8 values, but got '!cuda_tile.tile<128xf32>'"
    assert cause_of(message) == "'cuda_tile.addi' op operand N must be tile of i1 or i8 values, but got 'TYPE'"
    assert cause_of("argument 2: element 3 is 1.5, not 2") == "argument N: element N is N, not N"


def test_only_the_first_line_counts() -> None:
    assert cause_of("\n  expected ':'\n  %0 = addi\n  ^") == "expected ':'"
    assert cause_of("") == ""
    assert len(cause_of("word " * 1000)) <= LONGEST


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(max_size=400), st.sampled_from([text for pair in SAME + DIFFERENT for text in pair])))
def test_a_cause_is_its_own_cause(message: str) -> None:
    assert cause_of(cause_of(message)) == cause_of(message)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(["x", "acc", "_t", "v$1", "arg-0"]), st.integers(0, 40), st.integers(0, 6)
)
def test_a_renamed_and_renumbered_program_has_the_same_cause(number: int, name: str, lines: int, power: int) -> None:
    program = """cuda_tile.module @m {
      entry @k() {
        %a = constant <f32: 1.0> : tile<4xf32>
        %b = addi %a, %a : tile<4xf32>
        return
      }
    }"""
    other = program.replace("%a", f"%{name}{number}").replace("@k", f"@{name}").replace("4xf32", f"{2**power}xf32")
    causes = []
    for text in (program, "//\n" * lines + other):
        with pytest.raises(tileir.VerifyError) as caught:
            tileir.parse(text, verify=True)
        causes.append(cause_of(str(caught.value)))
    assert causes[0] == causes[1]
    assert "addi" in causes[0]


def _raised(value: object) -> BaseException:
    try:
        # Something that no user should see, inside of tileir.
        tileir.types.tile(value, value)
    except Exception as error:
        return error
    raise AssertionError


def test_an_exception_is_known_by_its_class_and_the_function_of_tileir() -> None:
    one, other = cause_of_exception(_raised(object())), cause_of_exception(_raised(7))
    assert re.match(r"\w+ in [a-z_.]+\.\w+: ", one)
    assert " in " not in cause_of_exception(KeyError(3))
    assert cause_of_exception(KeyError(3)) == cause_of_exception(KeyError(4)) == "KeyError: N"
    wrapped = RuntimeError("internal error")
    wrapped.__cause__ = _raised(7)
    assert cause_of_exception(wrapped) == other


def test_a_death_is_known_by_its_signal_and_the_innermost_function_of_tileir() -> None:
    stack = """Fatal Python error: Segmentation fault

Current thread 0x0000ffff8a3d1c40 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 3 in call
  File "/opt/tileir/src/tileir/execute/cpu/native/calling.py", line 87 in launch
  File "/opt/tileir/src/tileir/execute/launching/kernel.py", line 12 in launch
"""
    assert cause_of_crash("SIGSEGV", stack) == "SIGSEGV in execute.cpu.native.calling.launch"
    assert cause_of_crash("SIGKILL") == "SIGKILL"
