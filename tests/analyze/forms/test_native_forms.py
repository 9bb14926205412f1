"""What the CPU backend makes of a program, with the operations that each line comes from."""

from __future__ import annotations

import pytest
from tests.analyze.forms.forms_of import EXAMPLES, PROGRAMS, names_of

import tileir
from tileir.analyze.forms.form import Representation
from tileir.analyze.forms.forms import Representations

STAGES = {"tiles": "tiles", "loops": "loops", "llvm": "llvm", "llvm-opt": "llvm-opt", "assembly": "asm"}
QUICK = ("histogram.mlir", "matmul.mlir", "vector_add.mlir")
"""Those that LLVM compiles in no time."""


def check(name: str, id: str, cpu: str | None = None) -> Representation:
    """A form has the text that the kernel dumps, and every operation but the last one is linked."""
    module = tileir.load(EXAMPLES / name)
    forms = Representations(module, cpu=cpu)
    form = forms.get(id)
    assert form.text == tileir.compile(module, backend="cpu", cpu=cpu).dump(STAGES[id])
    assert len(form.links) == len(form.lines)
    assert form.notes == []
    linked = {number for numbers in form.links for number in numbers}
    missing = [mnemonic for number, mnemonic in enumerate(names_of(forms)) if number not in linked]
    # Nothing is left of the end of a kernel but the end of a loop.
    assert [mnemonic for mnemonic in missing if mnemonic != "return"] == []
    return form


@pytest.mark.parametrize("id", ["tiles", "loops", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_lowered_form_is_what_the_kernel_dumps_and_links_every_operation(name: str, id: str) -> None:
    check(name, id)


@pytest.mark.parametrize("id", ["llvm-opt", "assembly"])
@pytest.mark.parametrize("name", QUICK)
def test_compiled_form_is_what_the_kernel_dumps_and_links_every_operation(name: str, id: str) -> None:
    check(name, id)


@pytest.mark.long
@pytest.mark.parametrize("id", ["llvm-opt", "assembly"])
@pytest.mark.parametrize("cpu", [None, "x86-64-v4", "x86-64-v2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_form_of_every_example_and_machine(name: str, cpu: str | None, id: str) -> None:
    check(name, id, cpu)


@pytest.mark.parametrize("mode", ["default", "exact", "fast"])
def test_the_loop_form_says_in_which_mode_it_is_compiled(mode: str) -> None:
    exact, fast = mode == "exact", mode == "fast"
    module = tileir.load(EXAMPLES / "matmul.mlir")
    form = Representations(module, exact=exact, fast=fast).get("loops")
    assert form.lines[0].endswith(f", {mode}")
    assert form.text == tileir.compile(module, backend="cpu", exact=exact, fast=fast).dump("loops")


def lines_with(form: Representation, *words: str) -> list[list[int]]:
    """The links of the lines that have all of some words."""
    return [
        numbers
        for line, numbers in zip(form.lines, form.links, strict=True)
        if all(word in line for word in words) and not line.startswith("declare")
    ]


@pytest.fixture(scope="module")
def vector_add() -> Representations:
    forms = Representations(tileir.load(EXAMPLES / "vector_add.mlir"), cpu="x86-64-v4")
    names = names_of(forms)
    # What the tests below rely on.
    assert [names[number] for number in (2, 9, 20, 21, 22, 23)] == [
        "muli",
        "cmpi",
        "load_ptr_tko",
        "load_ptr_tko",
        "addf",
        "store_ptr_tko",
    ]
    return forms


def test_lines_of_loops_have_what_they_compute(vector_add: Representations) -> None:
    loops = vector_add.get("loops")
    assert lines_with(loops, "muli") == [[2]]
    assert lines_with(loops, "%2 = addi(%reshape, iota)")[0] == [4, 5, 6]
    assert lines_with(loops, "%3 = cmpi.less_than.signed(%2, %reshape_0)")[0] == [8, 9]
    # Loads, sum and store in one; the index and the mask have lines of their own.
    assert lines_with(loops, "memory[offset(%reshape_6, %2)] where %3 <- addf(")[0] == [11, 12, 14, 15, *range(17, 24)]
    assert lines_with(loops, "return") == [[24]]


def test_instructions_of_llvm_are_those_of_their_operation(vector_add: Representations) -> None:
    form = vector_add.get("llvm")
    assert {tuple(numbers) for numbers in lines_with(form, "fadd <")} == {(22,)}
    loads = lines_with(form, "call <", "@llvm.masked.load")
    assert {number for numbers in loads for number in numbers} & {20, 21, 22, 23} == {20, 21}
    assert all(23 in numbers for numbers in lines_with(form, "call void @llvm.masked.store"))
    assert all(9 in numbers for numbers in lines_with(form, "icmp slt <"))


def test_what_finds_tile_blocks_is_linked_with_nothing(vector_add: Representations) -> None:
    form = vector_add.get("llvm")
    assert lines_with(form, "cmpxchg ptr %range") == [[]]
    assert lines_with(form, "call i64 @take") and not any(lines_with(form, "call i64 @take"))
    assert lines_with(form, "ret i64") and not any(lines_with(form, "ret i64"))


def test_links_survive_optimization_and_the_choice_of_instructions(vector_add: Representations) -> None:
    assert {tuple(numbers) for numbers in lines_with(vector_add.get("llvm-opt"), "fadd <")} == {(22,)}
    assembly = vector_add.get("assembly")
    sums = lines_with(assembly, "\tvaddps\t")
    assert sums and {number for numbers in sums for number in numbers} >= {22}
    assert {22} <= set.intersection(*[set(numbers) for numbers in sums])
    # Directives and labels are of no operation.
    for line, numbers in zip(assembly.lines, assembly.links, strict=True):
        assert not numbers or (line.startswith("\t") and not line.startswith("\t."))


def test_a_constant_is_in_the_lines_that_use_it(vector_add: Representations) -> None:
    names = names_of(vector_add)
    constant = names.index("constant", 3)
    form = vector_add.get("llvm")
    lines = [set(form.links[line]) for line in form.lines_of(constant)]
    assert lines and all(numbers & {20, 21} for numbers in lines)


def test_the_body_of_a_loop_is_linked_with_its_operations() -> None:
    # Exact, as matrix tiles have no such instruction.
    forms = Representations(tileir.load(EXAMPLES / "matmul.mlir"), exact=True)
    names = names_of(forms)
    product, loop = names.index("mmaf"), names.index("for")
    form = forms.get("llvm")
    # The products of all turns are computed together: they are the work of the loop too.
    linked = [set(numbers) for numbers in lines_with(form, "@llvm.fma.") if numbers]
    assert linked and all({product} <= numbers <= {product, loop} for numbers in linked)
    assert form.lines_of(loop)


def test_fast_code_and_another_machine_are_shown_as_asked() -> None:
    module = tileir.load(EXAMPLES / "softmax.mlir")
    fast = Representations(module, fast=True, cpu="x86-64-v4").get("llvm")
    assert fast.text == tileir.compile(module, backend="cpu", fast=True, cpu="x86-64-v4").dump("llvm")
    exp = names_of(Representations(module)).index("exp")
    assert any(exp in numbers for numbers in fast.links)


def test_kernel_of_a_module_with_globals_is_shown() -> None:
    text = """cuda_tile.module @m {
      global @table <f32: [1.0, 2.0]> : tile<2xf32>
      entry @k(%p: tile<ptr<f32>>) {
        %g = get_global @table : tile<ptr<f32>>
        %x, %t = load_ptr_tko weak %g : tile<ptr<f32>> -> tile<f32>, token
        %s = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
        return
      }
    }"""
    form = Representations(tileir.parse(text)).get("llvm")
    assert {number for numbers in form.links for number in numbers} == {0, 1, 2, 3}
