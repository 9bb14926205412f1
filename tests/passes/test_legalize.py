"""What only the drafts have is written with what NVIDIA's tools take, and means the same."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import numpy
import pytest
from tests.execute.evaluation import program, split_tile
from tests.generators.programs import random_module
from tests.kernels.export import TOOLS_MISSING, disassemble, disassembler, tools_available
from tests.passes.programs import module_of, names
from tests.sampling import one_in

import tileir
from tileir.execute.dtypes import memory_dtype
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError
from tileir.ir.registry import REGISTRY
from tileir.ir.types import FLOAT_TYPES, integer_type
from tileir.ir.versions import RELEASED
from tileir.passes.pipeline import PassReport, run_passes
from tileir.tools.bytecode import assemble
from tileir.tools.programs import opt

UNARY_FLOATS = ("sigmoid", "recipf", "log10", "log1p")
UNARY_INTEGERS = ("popcnt", "clz", "ctz", "brev", "noti")
POINTER = "%p: tile<ptr<i32>>, %x: tile<i32>"
ELEMENTWISE = [
    *[
        (f"{name}-{e}", f"%r = {name} %x : tile<8x{e}>", [e])
        for name in UNARY_FLOATS
        for e in ("f16", "bf16", "f32", "f64")
    ],
    *[
        (f"{name}-{e}", f"%r = {name} %x : tile<8x{e}>", [e])
        for name in UNARY_INTEGERS
        for e in ("i8", "i16", "i32", "i64")
    ],
    *[
        (f"{name}-{e}", f"%r = {name} %x, %y : tile<8x{e}>", [e, e])
        for name in ("maximumf", "minimumf")
        for e in ("f16", "bf16", "f32", "f64")
    ],
    ("noti-i1", "%r = noti %x : tile<8xi1>", ["i1"]),
]
FORMS = {
    "atomic-load": (
        "%v, %t = atomic_load_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token",
        ["load_ptr_tko"],
    ),
    "weak-atomic-load": ("%v, %t = atomic_load_tko weak sys %p : tile<ptr<i32>> -> tile<i32>, token", ["load_ptr_tko"]),
    "atomic-store": (
        "%t = atomic_store_tko release device %p, %x : tile<ptr<i32>>, tile<i32> -> token",
        ["store_ptr_tko"],
    ),
    "masked-atomic-store": (
        "%m = constant <i1: true> : tile<i1>\n%k = make_token : token\n"
        "%t = atomic_store_tko relaxed cluster %p, %x, %m token=%k : tile<ptr<i32>>, tile<i32>, tile<i1> -> token",
        ["constant", "make_token", "store_ptr_tko"],
    ),
    "masked-atomic-load": (
        "%m = constant <i1: true> : tile<i1>\n%k = make_token : token\n"
        "%v, %t = atomic_load_tko relaxed tl_blk %p, %m token=%k : tile<ptr<i32>>, tile<i1> -> tile<i32>, token",
        ["constant", "make_token", "load_ptr_tko"],
    ),
    "barrier": ("%t = barrier block -> token\n%u = barrier warp token=%t -> token", ["make_token"]),
    "cluster-barrier": ("%k = make_token : token\n%t = barrier cluster token=%k -> token", ["make_token"]),
    "assume-condition": ("%c = constant <i1: true> : tile<i1>\nassume_cond %c : tile<i1>", ["constant"]),
    "strict-bounds": ("%y = assume bounded<0, 8, strict>, %x : tile<i32>", ["assume"]),
    "strict-lower-bound": ("%y = assume bounded<-1, ?, strict>, %x : tile<i32>", ["assume"]),
    "cluster-scope": (
        "%v, %t = load_ptr_tko relaxed cluster %p : tile<ptr<i32>> -> tile<i32>, token",
        ["load_ptr_tko"],
    ),
    "cluster-exchange": (
        "%v, %t = atomic_rmw_tko acq_rel cluster %p, xchg, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        ["atomic_rmw_tko"],
    ),
    "same-cast": (
        "%y = unrealized_conversion_cast %x : tile<i32> to tile<i32>\n%z = addi %y, %y : tile<i32>",
        ["addi"],
    ),
    "cast-and-back": (
        "%y = unrealized_conversion_cast %x : tile<i32> to tile<f32>\n"
        "%z = unrealized_conversion_cast %y : tile<f32> to tile<i32>\n%s = addi %z, %z : tile<i32>",
        ["addi"],
    ),
    "unused-cast": ("%y = unrealized_conversion_cast %x : tile<i32> to tile<f32>", []),
}
# Names and forms that reading turns into public ones; they too must reach the assembler.
SPELLINGS = {
    "powf": ("%f = itof %x signed : tile<i32> -> tile<f32>\n%y = powf %f, %f : tile<f32>", ["itof", "pow"]),
    "tanhf": ("%f = itof %x signed : tile<i32> -> tile<f32>\n%y = tanhf %f : tile<f32>", ["itof", "tanh"]),
    "mulhi": ("%y = mulhi %x, %x : tile<i32>", ["mulhii"]),
    "negsi": ("%y = negsi %x : tile<i32>", ["negi"]),
    "print": ('print "%d", %x : tile<i32>', ["print_tko"]),
    "maxf-ordering": (
        "%f = itof %x signed : tile<i32> -> tile<f32>\n"
        "%y = maxf %f, %f {comparison_ordering = #cuda_tile.comparison_ordering<ordered>} : tile<f32>",
        ["itof", "maxf"],
    ),
    "remf-rounding": (
        "%f = itof %x signed : tile<i32> -> tile<f32>\n"
        "%y = remf %f, %f {rounding_mode = #cuda_tile.rounding<nearest_even>} : tile<f32>",
        ["itof", "remf"],
    ),
}
CASES = {
    **{name: (body, None) for name, body, _ in ELEMENTWISE},
    **{name: (body, expected) for name, (body, expected) in (*FORMS.items(), *SPELLINGS.items())},
}
_INPUTS = {name: elements for name, _, elements in ELEMENTWISE}


def legalized(module: Operation) -> Operation:
    run_passes(module, ["legalize"], report=PassReport(verify=True))
    assert not [operation.name for operation in module.walk() if operation.declaration.draft_only]
    return module


def case_module(name: str) -> Operation:
    body, expected = CASES[name]
    if expected is not None:
        return module_of(body, POINTER)
    elements = _INPUTS[name]
    inputs = {letter: f"tile<8x{element}>" for letter, element in zip("xy", elements, strict=False)}
    module = tileir.parse(program(body, inputs, {"r": inputs["x"]}))
    tileir.verify(module)
    return module


def test_every_operation_that_only_the_drafts_have_is_a_case() -> None:
    draft_only = {
        d.name for d in REGISTRY.declarations() if d.draft_only and d.name.startswith("cuda_tile.") and not d.testing
    }
    assert draft_only <= {operation.name for name in CASES for operation in case_module(name).walk()}


@pytest.mark.parametrize("name", CASES)
def test_form_becomes_public(name: str) -> None:
    module = legalized(case_module(name))
    expected = CASES[name][1]
    if expected is not None:
        assert names(module) == expected
    for version in ("13.1", "13.4"):
        assert tileir.to_bytecode(module, version=version)


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_disassembler_takes_every_form() -> None:
    for name in CASES:
        module = legalized(case_module(name))
        assert tileir.parse(disassemble(tileir.to_bytecode(module), False)), name


@pytest.mark.sampled(2)
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", one_in(3, CASES))
def test_assembler_takes_every_form(name: str, tmp_path: Path) -> None:
    tool = disassembler()
    assert tool is not None
    source = tmp_path / "kernel.tileirbc"
    source.write_bytes(tileir.to_bytecode(legalized(case_module(name))))
    command: list[str | Path] = [
        tool.with_name("tileiras"),
        "--gpu-name",
        "sm_90",
        source,
        "-o",
        tmp_path / "kernel.cubin",
    ]
    result = subprocess.run(command, capture_output=True, timeout=120, text=True)
    assert result.returncode == 0, result.stderr


# --- meaning ---


def _spread(rng: Random) -> list[float]:
    """One number of any size, and one near 1, where logarithms are hard."""
    return [rng.choice((1, -1)) * 2.0 ** rng.uniform(-130, 127), 1 + rng.choice((1, -1)) * 2.0 ** rng.uniform(-52, -1)]


def inputs_for(element: str, rng: Random) -> numpy.ndarray:
    """Eight numbers a function of that element type may be asked for."""
    if element in FLOAT_TYPES:
        special = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e-4, -3e-5, 1000.0, -720.0]
        values = numpy.array([*rng.sample(special, 4), *[rng.uniform(-0.9, 0.9), rng.uniform(0, 60)], *_spread(rng)])
        with numpy.errstate(over="ignore"):
            return values.astype(memory_dtype(FLOAT_TYPES[element]))
    width = int(element[1:])
    if width == 1:
        return numpy.array([rng.random() < 0.5 for _ in range(8)])
    bits = [0, -1, 1, -(1 << (width - 1)), 2, *[rng.getrandbits(width) - (1 << (width - 1)) for _ in range(3)]]
    return numpy.array(bits, memory_dtype(integer_type(width)))


def run(module: Operation, inputs: list[numpy.ndarray], type: str) -> numpy.ndarray:
    shape, element = split_tile(type)
    kind = FLOAT_TYPES[element] if element in FLOAT_TYPES else integer_type(int(element[1:]))
    output = numpy.zeros(shape, memory_dtype(kind))
    tileir.compile(module, backend="interpreter").launch(1, (*[array.copy() for array in inputs], output))
    return output


@pytest.mark.parametrize(("name", "body", "elements"), ELEMENTWISE, ids=[name for name, _, _ in ELEMENTWISE])
def test_expansion_computes_what_the_operation_computes(name: str, body: str, elements: list[str]) -> None:
    rng = Random(name)
    for _ in range(8):
        inputs = [inputs_for(element, rng) for element in elements]
        if len(inputs) == 2:
            rng.shuffle(inputs[1])  # type: ignore[arg-type]
        type = f"tile<8x{elements[0]}>"
        wanted = run(case_module(name), inputs, type)
        found = run(legalized(case_module(name)), inputs, type)
        assert wanted.tobytes() == found.tobytes()


def test_half_functions_are_rounded_once() -> None:
    module = legalized(case_module("sigmoid-f16"))
    assert [name for name in names(module) if name == "ftof"] == ["ftof", "ftof"]


# --- conditions ---

COMPARED = "%k = constant <i32: 16> : tile<i32>\n%z = constant <i32: 0> : tile<i32>\n"


@pytest.mark.parametrize(
    ("condition", "predicates"),
    [
        ("%c = cmpi less_than %x, %k, signed : tile<i32> -> tile<i1>", ["bounded<?, 15>"]),
        ("%c = cmpi less_than_or_equal %x, %k, unsigned : tile<i32> -> tile<i1>", ["bounded<0, 16>"]),
        ("%c = cmpi less_than_or_equal %k, %x, signed : tile<i32> -> tile<i1>", ["bounded<16, ?>"]),
        ("%c = cmpi greater_than %x, %z, signed : tile<i32> -> tile<i1>", ["bounded<1, ?>"]),
        ("%c = cmpi equal %x, %k, unsigned : tile<i32> -> tile<i1>", ["bounded<16, 16>"]),
        ("%r = remi %x, %k signed : tile<i32>\n%c = cmpi equal %r, %z, signed : tile<i32> -> tile<i1>", ["div_by<16>"]),
        (
            "%a = cmpi greater_than_or_equal %x, %z, signed : tile<i32> -> tile<i1>\n"
            "%b = cmpi less_than %x, %k, signed : tile<i32> -> tile<i1>\n%c = andi %a, %b : tile<i1>",
            ["bounded<0, ?>", "bounded<?, 15>"],
        ),
        ("%c = cmpi not_equal %x, %k, signed : tile<i32> -> tile<i1>", []),
        ("%c = cmpi greater_than %x, %k, unsigned : tile<i32> -> tile<i1>", []),
    ],
)
def test_condition_becomes_assumptions_about_values(condition: str, predicates: list[str]) -> None:
    body = (
        f"{COMPARED}%before = negi %x : tile<i32>\n{condition}\nassume_cond %c : tile<i1>\n%after = absi %x : tile<i32>"
    )
    module = legalized(module_of(body, POINTER))
    found = [operation for operation in module.walk() if operation.name == "cuda_tile.assume"]
    assert [operation.attributes["predicate"].bare_text for operation in found] == predicates
    users = {operation.declaration.mnemonic: operation for operation in module.walk()}
    assert users["negi"].operands[0].defining_operation is None
    assert (users["absi"].operands[0].defining_operation is None) == (not predicates)


def test_condition_in_a_branch_says_nothing_outside() -> None:
    body = (
        f"{COMPARED}%c = cmpi less_than %x, %k, signed : tile<i32> -> tile<i1>\nif %c {{\nassume_cond %c : tile<i1>\n"
        "%inside = absi %x : tile<i32>\n}\n%outside = negi %x : tile<i32>"
    )
    module = legalized(module_of(body, POINTER))
    users = {operation.declaration.mnemonic: operation for operation in module.walk()}
    assert users["absi"].operands[0].defining_operation is not None
    assert users["negi"].operands[0].defining_operation is None


# --- warnings and errors ---


def warnings_of(body: str) -> list[str]:
    report = PassReport()
    run_passes(module_of(body, POINTER), ["legalize"], report=report)
    return [diagnostic.message for diagnostic in report.diagnostics]


def test_widening_a_scope_is_told() -> None:
    body, _ = FORMS["cluster-scope"]
    (warning,) = warnings_of(body)
    assert warning == (
        "'cuda_tile.load_ptr_tko' op: the scope 'cluster' is widened to 'device', which orders more than requested"
    )


def test_a_barrier_of_a_cluster_is_told() -> None:
    assert len(warnings_of(FORMS["cluster-barrier"][0])) == 1
    assert warnings_of(FORMS["barrier"][0]) == []


def test_strict_bounds_become_inclusive_ones() -> None:
    module = legalized(module_of(FORMS["strict-bounds"][0], POINTER))
    assert "bounded<1, 7>" in str(module)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%v, %t = load_ptr_tko seq_cst device %p : tile<ptr<i32>> -> tile<i32>, token",
            "'cuda_tile.load_ptr_tko' op has the memory ordering 'seq_cst', which no public ordering is as strong as",
        ),
        (
            "%y = unrealized_conversion_cast %x : tile<i32> to tile<f32>\n%z = negf %y : tile<f32>",
            "'cuda_tile.unrealized_conversion_cast' op has no public form: it neither keeps its types nor is it undone "
            "by another cast",
        ),
        (
            "%y = assume bounded<3, 4, strict>, %x : tile<i32>",
            "'cuda_tile.assume' op has the predicate bounded<3, 4, strict>, which no value satisfies",
        ),
        (
            "%y = assume bounded<2147483647, ?, strict>, %x : tile<i32>",
            "'cuda_tile.assume' op has the predicate bounded<2147483647, ?, strict>, which no value satisfies",
        ),
    ],
)
def test_what_has_no_public_form_is_an_error_and_nothing_changes(body: str, message: str) -> None:
    module = module_of(f"%n = noti %x : tile<i32>\n{body}", POINTER)
    before = str(module)
    with pytest.raises(PassError) as caught:
        run_passes(module, ["legalize"])
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [message]
    assert str(module) == before


def test_a_string_is_an_error_and_nothing_changes() -> None:
    """The verifier refuses one too; who legalizes without verifying is told all the same."""
    body = '%s = unrealized_conversion_cast %x : tile<i32> to string\n%t = print_tko "%s", %s : string -> token'
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k(%x: tile<i32>) {{\n{body}\nreturn }} }}")
    before = str(module)
    with pytest.raises(PassError) as caught:
        run_passes(module, ["legalize"], verify_each=False)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "'cuda_tile.unrealized_conversion_cast' op has no public form: it neither keeps its types nor is it undone by "
        "another cast",
        "'cuda_tile.unrealized_conversion_cast' op has a value of type 'string', which has no public form",
    ]
    assert str(module) == before


def test_a_string_argument_is_an_error() -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k(%s: string) {\nreturn } }")
    with pytest.raises(
        PassError, match=r"'cuda_tile\.entry' op has a value of type 'string', which has no public form"
    ):
        run_passes(module, ["legalize"], verify_each=False)


def test_random_programs_become_public_or_are_refused() -> None:
    written = 0
    for seed in range(120):
        module = random_module(Random(seed), size=25, locations=False, version=RELEASED)
        try:
            run_passes(module, ["legalize"], report=PassReport(verify=True))
        except PassError:
            continue
        tileir.to_bytecode(module)
        assert run_passes(module, ["legalize"]).text() == module.text()
        written += 1
    assert written > 20


# --- tools ---


def test_opt_and_as_legalize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text("cuda_tile.module @m { entry @k(%x: tile<i32>) {\n%n = noti %x : tile<i32>\nreturn } }")
    assert opt.run(["--passes", "legalize", str(source)]) == 0
    assert "xori" in capsys.readouterr().out
    target = tmp_path / "k.tileirbc"
    assert assemble.run([str(source), "-o", str(target)]) == 1
    assert "legalize the program first" in capsys.readouterr().err
    assert assemble.run(["--legalize", str(source), "-o", str(target)]) == 0
    assert "xori" in str(tileir.load(target))


def test_as_tells_what_cannot_be_legalized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(
        "cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {\n"
        "%v, %t = load_ptr_tko seq_cst device %p : tile<ptr<i32>> -> tile<i32>, token\nreturn } }"
    )
    assert assemble.run(["--legalize", str(source), "-o", str(tmp_path / "k.tileirbc")]) == 1
    assert "seq_cst" in capsys.readouterr().err
