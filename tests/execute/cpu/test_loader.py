"""Loading objects and calling them."""

from __future__ import annotations

import gc
import math
from typing import cast

import numpy
import pytest

from tileir.execute.cpu.runtime.llvm_compile import _made, assemble
from tileir.execute.cpu.runtime.loader import load
from tileir.execute.cpu.runtime.target import host
from tileir.execute.errors import CompilationError

FMA_AND_FMOD = """
@offset = private unnamed_addr constant [8 x float] [float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0, float 8.0], align 32
define i64 @worker(ptr %record, ptr %scratch) {
  %x = load <8 x float>, ptr %record, align 4
  %y = load <8 x float>, ptr @offset
  %z = call <8 x float> @llvm.fma.v8f32(<8 x float> %x, <8 x float> %y, <8 x float> %x)
  store <8 x float> %z, ptr %scratch, align 4
  %first = extractelement <8 x float> %z, i64 0
  %wide = fpext float %first to double
  %rest = call double @fmod(double %wide, double 3.0)
  %whole = fptosi double %rest to i64
  ret i64 %whole
}
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare double @fmod(double, double)
"""


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v2", "x86-64-v3", "skylake-avx512", "native"])
@pytest.mark.parametrize("level", [0, 3])
def test_code_for_each_width_runs(name: str, level: int) -> None:
    target = host(name)
    if not target.runnable:
        pytest.skip("this machine lacks what the code needs")
    function = load(assemble(FMA_AND_FMOD, target, level))
    source = numpy.array([4.0, 1.5, -2.25, 1e30, 3.0, -0.0, 7.0, 1 / 3], numpy.float32)
    result = numpy.zeros(8, numpy.float32)
    returned = function.call(source.ctypes.data, result.ctypes.data)
    factor = numpy.arange(1, 9, dtype=numpy.float64)
    assert result.tobytes() == (source * factor + source).astype(numpy.float32).tobytes()
    assert returned == math.fmod(8.0, 3.0)


def test_function_outlives_the_objects_it_was_made_with() -> None:
    call = load(assemble("define i64 @worker(ptr %a, ptr %b) {\n  ret i64 42\n}\n", host()))
    gc.collect()
    for number in range(20):
        load(assemble(f"define i64 @worker(ptr %a, ptr %b) {{\n  ret i64 {number}\n}}\n", host()))
    gc.collect()
    assert call.call(0, 0) == 42


def test_same_object_loads_many_times() -> None:
    data = assemble("define i64 @worker(ptr %a, ptr %b) {\n  ret i64 7\n}\n", host())
    functions = [load(data) for _ in range(50)]
    assert {function.call(0, 0) for function in functions} == {7}


def test_object_without_the_entry_is_refused() -> None:
    data = assemble("define i64 @other(ptr %a, ptr %b) {\n  ret i64 7\n}\n", host())
    with pytest.raises(CompilationError, match=r"cannot be loaded: .*worker"):
        load(data)


def test_bytes_that_are_no_object_are_refused() -> None:
    with pytest.raises(CompilationError, match="cannot be loaded"):
        load(b"\x7fELF\x02\x01" + bytes(40))
    with pytest.raises(CompilationError, match="cannot be loaded"):
        load(b"")


def test_object_that_needs_a_missing_function_is_refused() -> None:
    text = "define i64 @worker(ptr %a, ptr %b) {\n  %x = call i64 @absent()\n  ret i64 %x\n}\ndeclare i64 @absent()\n"
    with pytest.raises(CompilationError, match="cannot be loaded"):
        load(cast(bytes, _made("object", text, host(), 0)))
