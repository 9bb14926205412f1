"""From LLVM IR text to objects, and what is refused on the way."""

from __future__ import annotations

import gc
import re

import numpy
import pytest
from tests.execute.cpu.elementwise import function_text
from tests.execute.cpu.native import undefined_symbols
from tests.execute.cpu.operations import case_of, sample

from tileir.execute.cpu.runtime.llvm_compile import assemble, assembly, optimized
from tileir.execute.cpu.runtime.loader import CALLABLE, load
from tileir.execute.cpu.runtime.target import KNOWN, Target, host
from tileir.execute.cpu.vector.module import Module
from tileir.execute.errors import CompilationError

CALLS_FMOD = """
define double @outer(double %x) {
  %y = call double @fmod(double %x, double 3.0)
  ret double %y
}
declare double @fmod(double, double)
"""

TRIPLES = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "arm64-apple-macosx11.0.0",
    "x86_64-pc-windows-msvc",
]

CONVERT = """
define i64 @from_double(ptr %input, ptr %output) {
  %value = load double, ptr %input
  %result = fptrunc double %value to half
  store half %result, ptr %output
  ret i64 0
}
define i64 @from_single(ptr %input, ptr %output) {
  %value = load float, ptr %input
  %result = fptrunc float %value to half
  store half %result, ptr %output
  ret i64 0
}
define i64 @to_single(ptr %input, ptr %output) {
  %value = load half, ptr %input
  %result = fpext half %value to float
  store float %result, ptr %output
  ret i64 0
}
"""


def machine(triple: str) -> Target:
    arm = triple.startswith(("aarch64", "arm64"))
    name = "neoverse-n1" if arm else "x86-64-v3"
    return Target(name, triple, frozenset(KNOWN[name].split()), "", False)


@pytest.mark.parametrize("triple", TRIPLES)
def test_code_for_other_systems_assembles(triple: str) -> None:
    assert b"fmod" in assemble(CALLS_FMOD, machine(triple))


def test_declared_function_outside_the_list_is_refused() -> None:
    with pytest.raises(CompilationError, match="calls 'system'"):
        assemble("declare i32 @system(ptr)\n", host())


def test_quoted_and_attributed_declarations_are_seen() -> None:
    for declaration in ('declare noalias ptr @"malloc"(i64) #0', "declare dso_local i32 @puts(ptr nocapture)"):
        with pytest.raises(CompilationError, match="not among the functions it may call"):
            assemble(declaration + "\nattributes #0 = { nounwind }\n", host())


def test_intrinsic_that_becomes_a_call_of_an_inexact_function_is_refused() -> None:
    with pytest.raises(CompilationError, match=r"calls .llvm\.sin\.f64"):
        assemble("declare double @llvm.sin.f64(double)\n", host())


@pytest.mark.parametrize(
    "text",
    [
        "define i64 @worker() {\n  ret i32 0\n}\n",
        "define i64 @worker() {\n  %x = frobnicate i64 1\n  ret i64 %x\n}\n",
        # Parses, and is wrong all the same: the value does not dominate its use.
        "define i64 @worker(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i64 1, 2\n  br label %b\nb:\n  ret i64 %x\n}\n",
    ],
)
def test_wrong_text_is_an_error_with_the_words_of_llvm(text: str) -> None:
    with pytest.raises(CompilationError, match=r"LLVM refuses the generated code: .+") as caught:
        assemble(text, host())
    assert len(caught.value.message.splitlines()) <= 6


@pytest.mark.parametrize("name", ["neoverse-v1", "apple-m2"])
def test_code_for_aarch64_assembles(name: str) -> None:
    text = assembly(CALLS_FMOD + CONVERT, host(name))
    assert "fcvt" in text
    assert "fmod" in text
    assert not re.search(r"\bbl?\s+__", text), "calls a function of the compiler's library"


def test_optimization_removes_what_is_not_needed() -> None:
    text = "define i64 @worker(i64 %x) {\n  %y = add i64 %x, 1\n  %z = sub i64 %y, 1\n  ret i64 %z\n}\n"
    assert "add i64" not in optimized(text, host())


def test_vectors_are_left_as_wide_as_they_were_written() -> None:
    # Four neighboring scalars, which LLVM would otherwise pack.
    lines = []
    for i in range(4):
        lines.append(f"  %p{i} = getelementptr float, ptr %p, i64 {i}\n  %a{i} = load float, ptr %p{i}")
        lines.append(f"  %b{i} = fmul float %a{i}, %a{i}\n  store float %b{i}, ptr %p{i}")
    text = "define void @worker(ptr %p) {\n" + "\n".join(lines) + "\n  ret void\n}\n"
    assert "<4 x float>" not in optimized(text, host())


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "skylake-avx512"])
def test_half_precision_needs_no_function_that_a_compiler_would_bring(name: str) -> None:
    """Where a machine has no instruction for a conversion, LLVM calls one: generated code has none such."""
    target = host(name)
    cases = [(text, each) for text, each in sample(7) if "xf16>" in text]
    assert len(cases) > 10
    for width in (0, 8):
        module = Module()
        module.native_half, module.native_fma = target.has_f16c, target.has_fma
        functions = [function_text(module, f"f{n}", case_of(*case), width) for n, case in enumerate(cases)]
        module.functions += functions
        assert "half" in module.text()
        assert undefined_symbols(assemble(module.text(), target, 1)) <= CALLABLE


def nests(count: int) -> str:
    """A function with loops one after the other."""
    lines = ["define i64 @worker(ptr %record, ptr %scratch) {", "entry:", "  br label %head0"]
    for number in range(count):
        n = str(number)
        lines += [
            f"head{n}:", f"  br label %body{n}",
            f"body{n}:", f"  %i{n} = phi i64 [ 0, %head{n} ], [ %j{n}, %body{n} ]",
            f"  %p{n} = getelementptr i64, ptr %scratch, i64 %i{n}", f"  %x{n} = load i64, ptr %p{n}",
            f"  %y{n} = add i64 %x{n}, {number}", f"  %z{n} = sub i64 %y{n}, 1", f"  store i64 %z{n}, ptr %p{n}",
            f"  %j{n} = add i64 %i{n}, 1", f"  %c{n} = icmp ult i64 %j{n}, 5",
            f"  br i1 %c{n}, label %body{n}, label %head{number + 1}",
        ]  # fmt: skip
    return "\n".join([*lines, f"head{count}:", "  ret i64 0", "}", ""])


@pytest.mark.parametrize("count", [3, 200])
def test_large_and_small_functions_compute_the_same(count: int) -> None:
    function = load(assemble(nests(count), host()))
    data = numpy.zeros(5, numpy.int64)
    function.call(0, data.ctypes.data)
    assert data.tolist() == [sum(range(count)) - count] * 5


def test_large_functions_are_simplified_too() -> None:
    text = optimized(nests(200), host())
    # An addition and a subtraction became one.
    assert text.count("sub i64") == 0
    assert text.count("br i1") == 200


@pytest.mark.parametrize("branches", [0, 100])
def test_passes_are_given_back_once(monkeypatch: pytest.MonkeyPatch, branches: int) -> None:
    from llvmlite.binding import ffi

    name = "LLVMPY_DisposeNewModulePassManger"
    dispose = getattr(ffi.lib, name)
    disposed: list[None] = []

    def counted(manager: object) -> None:
        disposed.append(None)
        dispose(manager)

    monkeypatch.setitem(ffi.lib._fntab, name, counted)
    steps = "".join([f"  br i1 %c, label %l{n}, label %l{n}\nl{n}:\n" for n in range(branches)])
    text = f"define i64 @worker(ptr %r, ptr %a) {{\n  %c = icmp eq ptr %r, %a\n{steps}  ret i64 0\n}}\n"
    for number in range(3):
        assert assemble(text, host())
        gc.collect()
        assert len(disposed) == number + 1
