"""A program for an older version means the same, or is refused with the name of what that version has nothing for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import numpy
import pytest
from tests.execute.evaluation import program
from tests.generators.programs import declared_operations, random_module
from tests.kernels.export import TOOLS_MISSING, all_cases, disassemble, disassembler, export, tools_available
from tests.passes.programs import module_of, names
from tests.passes.test_semantics import memory_after

import tileir
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError
from tileir.ir.traversal import clone
from tileir.passes.pipeline import PassReport, run_passes

ARGUMENTS = "%p: tile<ptr<f32>>, %n: tile<i32>, %f: tile<f32>, %i: tile<i32>"
TILES = "%x = constant <f32: 1.0> : tile<4xf32>\n%g = constant <f32: 2.0> : tile<8xf32>\n"
TENSOR = "tensor_view<?xf32, strides=[1]>"
PARTITION = f"partition_view<tile=(4), {TENSOR}>"
VIEW = (
    f"%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {TENSOR}\n"
    f"%pv = make_partition_view %tv : {PARTITION}\n"
)
# What is rewritten: the name, the body, the version that brought it, and what is left of it in 13.1.
REWRITTEN = {
    "load-inbounds": (
        VIEW + f"%v, %t = load_view_tko weak %pv[%i] inbounds = [true] : {PARTITION}, tile<i32> -> tile<4xf32>, token",
        "13.4",
        ["make_tensor_view", "make_partition_view", "load_view_tko"],
    ),
    "store-inbounds": (
        VIEW + f"%t = store_view_tko weak %x, %pv[%i] inbounds = [true] : tile<4xf32>, {PARTITION}, tile<i32> -> token",
        "13.4",
        ["make_tensor_view", "make_partition_view", "store_view_tko"],
    ),
    "launch-dependents": (
        "%k = make_token : token\n%t = gdc_launch_dependents_tko token = %k -> token\n%v, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token",
        "13.4",
        ["make_token", "load_ptr_tko"],
    ),
    "launch-dependents-first": (
        "%t = gdc_launch_dependents_tko -> token\n%v, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token",
        "13.4",
        ["make_token", "load_ptr_tko"],
    ),
    "fpowi": ("%r = fpowi %f, %n : tile<f32>, tile<i32>", "13.4", ["ftof", "itof", "pow", "ftof"]),
    "insert": ("%r = insert %x, %g[%i] : tile<4xf32>, tile<8xf32>", "13.4", None),
    "nearest-away": ("%r = ftof %x rounding<nearest_away> : tile<4xf32> -> tile<4xtf32>", "13.4", None),
    "widening": ("%d = ftof %x rounding<positive_inf> : tile<4xf32> -> tile<4xf64>", "13.4", ["ftof"]),
    "narrowing": ("%d = ftof %x rounding<zero> : tile<4xf32> -> tile<4xf16>", "13.4", None),
    "insert-all": ("%r = insert %g, %g[%i] : tile<8xf32>, tile<8xf32>", "13.4", []),
    "saturating": ("%r = ftoi %x signed saturating : tile<4xf32> -> tile<4xi32>", "13.4", None),
    "fast-accumulation": (
        "%l = constant <f8E4M3FN: 1.0> : tile<16x32xf8E4M3FN>\n%m = constant <f8E4M3FN: 1.0> : tile<32x16xf8E4M3FN>\n"
        "%c = constant <f32: 0.0> : tile<16x16xf32>\n"
        "%r = mmaf %l, %m, %c fast_acc : tile<16x32xf8E4M3FN>, tile<32x16xf8E4M3FN>, tile<16x16xf32>",
        "13.3",
        ["mmaf"],
    ),
    "exp-rounding": ("%r = exp %x rounding<approx> : tile<4xf32>", "13.3", ["exp"]),
    "touching-strided-view": (
        f"%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {TENSOR}\n"
        f"%pv = make_strided_view %tv : strided_view<tile=(4), traversal_strides=[4], {TENSOR}>\n"
        f"%v, %t = load_view_tko weak %pv[%i] : strided_view<tile=(4), traversal_strides=[4], {TENSOR}>, tile<i32> -> tile<4xf32>, token",
        "13.3",
        ["make_tensor_view", "make_partition_view", "load_view_tko"],
    ),
    "tanh-rounding": ("%r = tanh %x rounding<approx> : tile<4xf32>", "13.2", ["tanh"]),
    "negi-overflow": ("%r = negi %n overflow<no_signed_wrap> : tile<i32>", "13.2", ["negi"]),
    "unsigned-for": (
        "%a = constant <i32: 3> : tile<i32>\nfor unsigned %k in (%i to %n, step %a) : tile<i32> {\n"
        '%t = print_tko "%d", %k : tile<i32> -> token\ncontinue\n}',
        "13.2",
        None,
    ),
    "print-token": (
        '%k = make_token : token\n%t = print_tko "%f", %f token=%k : tile<f32> -> token\n'
        '%u = print_tko "%f", %f token=%t : tile<f32> -> token\n'
        "%v, %w = load_ptr_tko weak %p token=%u : tile<ptr<f32>> -> tile<f32>, token",
        "13.2",
        ["make_token", "print_tko", "print_tko", "load_ptr_tko"],
    ),
    "fresh-print-token": (
        '%t = print_tko "%f", %f : tile<f32> -> token\n'
        "%v, %w = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token",
        "13.2",
        ["make_token", "print_tko", "load_ptr_tko"],
    ),
}
# What is refused: the body, the version that brought it, what the message names.
REFUSED = {
    "gdc-wait": ("%t = gdc_wait_tko -> token", "13.4", "'cuda_tile.gdc_wait_tko' op needs version 13.4"),
    "fence": (
        "%k = make_token : token\n%t = memory_fence_alias_tko %k",
        "13.4",
        "'cuda_tile.memory_fence_alias_tko' op needs version 13.4",
    ),
    "return-in-loop": ("loop {\nreturn\n}", "13.4", "'cuda_tile.return' op"),
    "pack": (
        "%c = constant <i8: 1> : tile<4xi8>\n%r = unpack %c : tile<4xi8> -> tile<8xi4>",
        "13.3",
        "'cuda_tile.unpack' op needs version 13.3",
    ),
    "alloca": (
        "%r = alloca num_elem = 4, alignment = 4 : tile<ptr<f32>>",
        "13.3",
        "'cuda_tile.alloca' op needs version 13.3",
    ),
    "strided-view": (
        f"%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {TENSOR}\n"
        f"%pv = make_strided_view %tv : strided_view<tile=(4), traversal_strides=[2], {TENSOR}>",
        "13.3",
        "'cuda_tile.make_strided_view' op has a value of type 'strided_view<",
    ),
    "gather-view": (
        f"%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {TENSOR}\n"
        f"%pv = make_gather_scatter_view %tv : gather_scatter_view<tile=(4), {TENSOR}, sparse_dim=0>",
        "13.3",
        "'cuda_tile.make_gather_scatter_view' op needs version 13.3",
    ),
    "i4": (
        "%r = trunci %n : tile<i32> -> tile<i4>",
        "13.3",
        "'cuda_tile.trunci' op has a value of type 'tile<i4>': 'i4' needs version 13.3",
    ),
    "atan2": ("%r = atan2 %x, %x : tile<4xf32>", "13.2", "'cuda_tile.atan2' op needs version 13.2"),
    "f8E8M0FNU": (
        "%r = ftof %x rounding<zero> : tile<4xf32> -> tile<4xf8E8M0FNU>",
        "13.2",
        "'f8E8M0FNU' needs version 13.2",
    ),
    "unsigned-for-step": (
        "for unsigned %k in (%i to %n, step %i) : tile<i32> {\ncontinue\n}",
        "13.2",
        "'cuda_tile.for' op is an unsigned loop, which needs version 13.2",
    ),
}
VERSIONS = ("13.1", "13.2", "13.3")


def lowered(module: Operation, version: str) -> Operation:
    return run_passes(module, [f"downlevel{{version={version}}}"], report=PassReport(verify=True))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", REWRITTEN)
def test_form_is_written_for_an_older_version(name: str, version: str) -> None:
    body, since, expected = REWRITTEN[name]
    module = module_of(TILES + body, ARGUMENTS)
    before = str(module)
    lowered(module, version)
    if version >= since:
        assert str(module) == before
    elif expected is not None and version == "13.1":
        assert [found for found in names(module) if found != "constant"] == expected
    data = tileir.to_bytecode(module, version=version)
    tileir.verify(module, version=version)
    if tools_available():
        assert disassemble(data, False)


@pytest.mark.long
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", REWRITTEN)
def test_assembler_takes_every_form(name: str, tmp_path: Path) -> None:
    tool = disassembler()
    assert tool is not None
    source = tmp_path / "kernel.tileirbc"
    source.write_bytes(
        tileir.to_bytecode(lowered(module_of(TILES + REWRITTEN[name][0], ARGUMENTS), "13.1"), version="13.1")
    )
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


@pytest.mark.parametrize("name", REWRITTEN)
def test_form_is_not_there_in_the_version_before(name: str) -> None:
    """There is something to do: without the pass the program is refused."""
    body, since, _ = REWRITTEN[name]
    module = module_of(TILES + body, ARGUMENTS)
    before = VERSIONS[("13.1", "13.2", "13.3", "13.4").index(since) - 1]
    with pytest.raises((tileir.BytecodeError, tileir.VerifyError)):
        tileir.verify(module, version=before)
        tileir.to_bytecode(module, version=before)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", REFUSED)
def test_form_without_an_equivalent_is_refused(name: str, version: str) -> None:
    body, since, message = REFUSED[name]
    module = module_of(f"{TILES}%first = exp %x rounding<approx> : tile<4xf32>\n{body}", ARGUMENTS)
    before = str(module)
    if version >= since:
        lowered(module, version)
        assert tileir.to_bytecode(module, version=version)
        return
    with pytest.raises(PassError) as caught:
        lowered(module, version)
    assert message in caught.value.diagnostics[0].message
    assert (
        f"in {version}" in caught.value.diagnostics[0].message
        or f"version {version}" in caught.value.diagnostics[0].message
    )
    assert str(module) == before


def test_all_that_is_refused_is_told_at_once() -> None:
    module = module_of(TILES + "%t = gdc_wait_tko -> token\n%r = atan2 %x, %x : tile<4xf32>", ARGUMENTS)
    with pytest.raises(PassError) as caught:
        lowered(module, "13.1")
    assert len(caught.value.diagnostics) == 2


def test_pointer_attribute_goes_from_every_type() -> None:
    text = (
        "cuda_tile.module @m { entry @k(%p: tile<ptr<f32, <none>>>, %n: tile<i32>) {\n"
        "%q = reshape %p : tile<ptr<f32, <none>>> -> tile<1xptr<f32, <none>>>\nreturn } }"
    )
    module = tileir.parse(text)
    tileir.verify(module)
    with pytest.raises(tileir.BytecodeError):
        tileir.to_bytecode(module, version="13.3")
    lowered(module, "13.3")
    assert "none" not in str(module)
    assert tileir.to_bytecode(module, version="13.3")


def test_globals_lose_what_older_versions_do_not_have() -> None:
    module = tileir.parse(
        "cuda_tile.module @m {\nglobal constant @g <f32: 1.0> : tile<1xf32>\nglobal private @h <f32: 1.0> : tile<1xf32>\n"
        "entry @k() { return } }"
    )
    tileir.verify(module)
    report = PassReport(verify=True)
    run_passes(module, ["downlevel{version=13.2}"], report=report)
    assert [diagnostic.message for diagnostic in report.diagnostics] == [
        "'cuda_tile.global' op: a private global can be seen by others in 13.2"
    ]
    assert tileir.to_bytecode(module, version="13.2")


def test_version_must_be_one() -> None:
    with pytest.raises(
        tileir.errors.VersionError, match=r"'13\.7' is not a version of the dialect: 13\.1, 13\.2, 13\.3, 13\.4"
    ):
        lowered(module_of("", ARGUMENTS), "13.7")


def test_newest_version_changes_nothing() -> None:
    module = module_of(TILES + REWRITTEN["insert"][0], ARGUMENTS)
    before = str(module)
    assert str(lowered(module, "13.4")) == before


# --- meaning ---


def results(text: str, inputs: list[numpy.ndarray], output: numpy.ndarray, version: str | None) -> numpy.ndarray:
    module = tileir.parse(text)
    tileir.verify(module)
    if version is not None:
        lowered(module, version)
    output = output.copy()
    tileir.compile(module, backend="interpreter").launch(1, (*[array.copy() for array in inputs], output))
    return output


def compare(
    body: str,
    inputs: dict[str, tuple[str, numpy.ndarray]],
    type: str,
    output: numpy.ndarray,
    version: str = "13.1",
) -> numpy.ndarray:
    """Run a body as it is and written for an older version; the results must agree bit for bit."""
    text = program(body, {name: kind for name, (kind, _) in inputs.items()}, {"r": type})
    arrays = [array for _, array in inputs.values()]
    wanted = results(text, arrays, output, None)
    found = results(text, arrays, output, version)
    assert wanted.tobytes() == found.tobytes()
    return found


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("source", ["f32", "f64", "f16"])
def test_saturating_conversion(element: str, signedness: str, source: str) -> None:
    width = int(element[1:])
    ends = [2.0**width, 2.0 ** (width - 1), -(2.0 ** (width - 1)), 2.0 ** (width - 1) - 1]
    numbers = [
        *ends,
        *[-end for end in ends],
        0.5,
        -0.5,
        -1.0,
        float("nan"),
        float("inf"),
        -float("inf"),
        127.9,
        -128.9,
    ]
    with numpy.errstate(over="ignore"):
        values = numpy.array(numbers).astype({"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}[source])
    body = f"%r = ftoi %x {signedness} saturating : tile<16x{source}> -> tile<16x{element}>"
    output = numpy.zeros(16, f"int{width}" if width > 1 else numpy.bool_)
    compare(body, {"x": (f"tile<16x{source}>", values)}, f"tile<16x{element}>", output)


ROUNDINGS = [
    *[("f64", "f32", mode) for mode in ("zero", "negative_inf", "positive_inf")],
    *[("f32", "tf32", mode) for mode in ("zero", "nearest_away")],
    *[(source, target, "zero") for source in ("f64", "f32") for target in ("f16", "bf16")],
    ("f64", "tf32", "zero"),
    ("f16", "bf16", "zero"),
    ("bf16", "f16", "zero"),
    ("tf32", "f16", "zero"),
    ("f16", "f32", "nearest_away"),
    ("f16", "f64", "negative_inf"),
    ("f8E8M0FNU", "f16", "zero"),
    ("f8E8M0FNU", "bf16", "zero"),
]


@pytest.mark.parametrize(("source", "target", "mode"), ROUNDINGS)
def test_rounded_conversion(source: str, target: str, mode: str) -> None:
    """Numbers of all sizes, halfway cases, subnormal results, results that overflow, and what is no number."""
    rng = Random(f"{source} {target} {mode}")
    numbers = [
        0.0,
        -0.0,
        float("inf"),
        -float("inf"),
        float("nan"),
        65519.9,
        -65520.1,
        3.4e38,
        -3.4e38,
        1e300,
        -1e300,
        1e-310,
    ]
    numbers += [
        1 + 2.0**-11,
        -1 - 2.0**-11,
        1 + 2.0**-24,
        -(1 + 3 * 2.0**-24),
        2.0**-24 * 1.5,
        -(2.0**-25),
        2.0**-150,
        -(2.0**-149) * 1.5,
    ]
    numbers += [1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-9]
    while len(numbers) < 256:
        numbers.append(
            rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.choice((rng.randint(-160, 130), rng.randint(-26, 17)))
        )
    with numpy.errstate(over="ignore"):
        values = numpy.array(numbers).astype(numpy.float64 if source == "f64" else numpy.float32)
    given = "f64" if source == "f64" else "f32"
    way = " rounding<zero>" if source == "f8E8M0FNU" else ""
    first = "" if source == given else f"%s = ftof %x{way} : tile<256x{given}> -> tile<256x{source}>\n"
    body = (
        f"{first}%t = ftof {'%s' if first else '%x'} rounding<{mode}> : tile<256x{source}> -> tile<256x{target}>\n"
        f"{f'%r = ftof %t : tile<256x{target}> -> tile<256xf64>' if target != 'f64' else '%r = reshape %t : tile<256xf64> -> tile<256xf64>'}"
    )
    version = "13.2" if source == "f8E8M0FNU" else "13.1"
    found = compare(body, {"x": (f"tile<256x{given}>", values)}, "tile<256xf64>", numpy.zeros(256), version)
    assert len(set(found.tolist())) > 20


@pytest.mark.parametrize("index", [(0, 0), (1, 2), (1, 0), (0, 3)])
def test_insertion(index: tuple[int, int]) -> None:
    part = numpy.arange(8, dtype=numpy.float32).reshape(2, 4) + 100
    whole = numpy.arange(64, dtype=numpy.float32).reshape(4, 16)
    body = (
        f"%a = constant <i32: {index[0]}> : tile<i32>\n%b = constant <i32: {index[1]}> : tile<i32>\n"
        "%r = insert %x, %y[%a, %b] : tile<2x4xf32>, tile<4x16xf32>"
    )
    inputs = {"x": ("tile<2x4xf32>", part), "y": ("tile<4x16xf32>", whole)}
    found = compare(body, inputs, "tile<4x16xf32>", numpy.zeros((4, 16), numpy.float32))
    expected = whole.copy()
    expected[2 * index[0] : 2 * index[0] + 2, 4 * index[1] : 4 * index[1] + 4] = part
    assert numpy.array_equal(found, expected)


@pytest.mark.parametrize("exponent", ["i8", "i32"])
def test_integer_power(exponent: str) -> None:
    base = numpy.array([2.0, -1.5, 0.0, -0.0, 1.0000001, float("inf"), float("nan"), 3.0], numpy.float32)
    for power in (0, 1, 2, -1, -3, 7, 100):
        powers = numpy.full(8, power, f"int{exponent[1:]}")
        body = f"%r = fpowi %x, %y : tile<8xf32>, tile<8x{exponent}>"
        inputs = {"x": ("tile<8xf32>", base), "y": (f"tile<8x{exponent}>", powers)}
        compare(body, inputs, "tile<8xf32>", numpy.zeros(8, numpy.float32))


@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, 10, 3), (2**31 - 4, 2**31 + 5, 2), (2**32 - 9, 2**32 - 2, 1), (5, 5, 1), (9, 3, 1)]
)
def test_unsigned_loop(start: int, end: int, step: int) -> None:
    def number(value: int) -> int:
        return value - 2**32 if value >= 2**31 else value

    body = (
        f"%a = constant <i32: {number(start)}> : tile<i32>\n%b = constant <i32: {number(end)}> : tile<i32>\n"
        f"%s = constant <i32: {step}> : tile<i32>\n%z = constant <i32: 0> : tile<i32>\n%m = constant <i32: 31> : tile<i32>\n"
        "%r = for unsigned %k in (%a to %b, step %s) : tile<i32> iter_values(%h = %z) -> (tile<i32>) {\n"
        "%h1 = muli %h, %m : tile<i32>\n%h2 = addi %h1, %k : tile<i32>\ncontinue %h2 : tile<i32>\n}"
    )
    found = compare(body, {}, "tile<i32>", numpy.zeros((), numpy.int32))
    expected = 0
    for counter in range(start, end, step):
        expected = (expected * 31 + counter) % 2**32
    assert int(found) % 2**32 == expected


# --- whole programs ---


def test_random_programs_are_written_or_refused() -> None:
    written = 0
    for seed in range(150):
        for version in VERSIONS:
            module = random_module(Random(seed), size=5, locations=False, draft_forms=False)
            try:
                lowered(module, version)
            except PassError:
                continue
            data = tileir.to_bytecode(module, version=version)
            assert tileir.to_bytecode(lowered(module, version), version=version) == data
            written += 1
    assert written > 60


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_kernels_of_cutile_are_written_for_the_oldest_version() -> None:
    written = 0
    for case in all_cases()[::12]:
        if "13.4" not in case.versions:
            continue
        module = tileir.load(export(case, "13.4"))
        try:
            lowered(module, "13.1")
        except PassError:
            continue
        assert disassemble(tileir.to_bytecode(module, version="13.1"), False)
        written += 1
    assert written > 5


# Addresses differ from run to run.
_COMPARED = [
    d.mnemonic for d in declared_operations(draft_forms=False) if d.mnemonic not in ("ptr_to_int", "print_tko")
]
_REFUSED_ALWAYS = (
    "gdc_wait_tko",
    "memory_fence_alias_tko",
    "make_gather_scatter_view",
    "atan2",
    "pack",
    "unpack",
    "alloca",
)


def check_results(seed: int) -> int:
    operations = [name for name in _COMPARED if seed % 2 or name not in _REFUSED_ALWAYS]
    module = random_module(
        Random(seed), size=12, operations=operations, draft_forms=False, discardable=False, locations=False
    )
    expected = {name: memory_after(module, name) for name in entries_of(module)}
    compared = 0
    for version in VERSIONS:
        try:
            form = lowered(clone(module), version)
        except PassError:
            continue
        for name, memory in expected.items():
            if memory is not None:
                assert memory_after(form, name) == memory, (seed, version)
                compared += 1
    return compared


def test_random_programs_compute_the_same_in_an_older_version() -> None:
    assert sum([check_results(seed) for seed in range(60)]) > 20


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 3000, 250))
def test_many_random_programs_compute_the_same_in_an_older_version(start: int) -> None:
    assert sum([check_results(seed) for seed in range(start, start + 250)]) > 80
