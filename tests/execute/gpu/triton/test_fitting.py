"""Code that cannot run on the GPU as it is wanted is made without descriptors, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.execute.gpu.fake_cuda import entry_of
from tests.execute.gpu.triton.fake_code import MATRIX, MATRIX_BODY, fake_code

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.triton.code import Code
from tileir.execute.gpu.triton.errors import TritonCrash, TritonError
from tileir.execute.gpu.triton.fitting import compile_fitting
from tileir.execute.gpu.triton.options import CodeOptions, Specialization
from tileir.execute.gpu.triton.targets import triton_target
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN

SM_90 = triton_target("sm_90")
DESCRIBED = Specialization((16, 16, 16, 16), frozenset((0,)), frozenset((0,)))
OPTIONS = CodeOptions(specialization=DESCRIBED)


def refused(words: str) -> TritonError:
    return TritonError([Diagnostic("error", words, UNKNOWN)])


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[CodeOptions], int]], list[CodeOptions]]:
    """Has Triton make code that needs as much shared memory as a function says."""
    asked: list[CodeOptions] = []

    def given(shared: Callable[[CodeOptions], int]) -> list[CodeOptions]:
        def compile(entry: Any, target: str, options: CodeOptions) -> Code:
            asked.append(options)
            kind = options.specialization or DESCRIBED
            return fake_code(entry, target, kind, shared=shared(options))

        monkeypatch.setattr("tileir.execute.gpu.triton.fitting.compile_kernel", compile)
        return asked

    return given


def test_code_that_fits_is_made_once(compiling: Any) -> None:
    asked = compiling(lambda options: SM_90.shared)
    code = compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, OPTIONS)
    assert len(asked) == 1 and code.notes == ()


def test_descriptors_are_given_up_where_they_take_too_much_memory(compiling: Any) -> None:
    compiling(lambda options: 300_000 if options.specialization.described else 1000)
    code = compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, OPTIONS)
    assert code.specialization.described == frozenset() and code.shared == 1000
    assert code.notes == ("compiled without descriptors, with which a tile block needs 300000 bytes of shared memory",)


def test_descriptors_are_given_up_where_triton_refuses_them(compiling: Any) -> None:
    def shared(options: CodeOptions) -> int:
        if options.specialization is not None and options.specialization.described:
            raise refused("no descriptors")
        return 0

    compiling(shared)
    code = compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, OPTIONS)
    assert code.specialization.described == frozenset()
    assert code.notes == ("compiled without descriptors, as Triton makes no code with them: no descriptors",)


def test_error_that_is_not_about_descriptors_is_told(compiling: Any) -> None:
    def shared(options: CodeOptions) -> int:
        kind = options.specialization
        raise refused("with descriptors" if kind is not None and kind.described else "without")

    compiling(shared)
    with pytest.raises(TritonError, match="with descriptors"):
        compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, OPTIONS)


def test_crash_is_told_where_nothing_helps(compiling: Any) -> None:
    def shared(options: CodeOptions) -> int:
        raise TritonCrash([Diagnostic("error", "Triton crashed", UNKNOWN)], "", "SIGABRT")

    compiling(shared)
    with pytest.raises(TritonCrash):
        compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, CodeOptions())


def test_what_never_fits_is_told(compiling: Any) -> None:
    compiling(lambda options: 300_000)
    with pytest.raises(
        CompilationError, match=r"a tile block of @k needs 300000 bytes of shared memory, and sm_90 has"
    ):
        compile_fitting(entry_of(MATRIX, MATRIX_BODY), SM_90, OPTIONS)
