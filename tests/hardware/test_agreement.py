"""`benchmarks/hardware_agreement.py` with an engine of ours in place of the GPU: what agrees, what does not, what hangs."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.gpu.conftest import fake, fake_library  # noqa: F401  (fixtures)
from tests.execute.gpu.fake_cuda import FakeDriver
from tests.execute.gpu.triton.fake_code import fake_code
from tests.hardware.agreement import files
from tests.hardware.agreement.assembling import Assembled, assemble, find_tool
from tests.hardware.agreement.comparing import compare, table_of_measures
from tests.hardware.agreement.families import FAMILIES, programs_of
from tests.hardware.agreement.interpreting import Outcome, interpret
from tests.hardware.agreement.launching import Launcher
from tests.hardware.agreement.program import Address, Number, Pointer, Program, simple
from tests.hardware.agreement.rules import RULES
from tests.hardware.agreement.running import (
    GUARD,
    Gpu,
    NoDeviceError,
    Result,
    StandIn,
    found_in,
    laid_out,
    run_all,
)

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.triton.kernel import TritonKernel

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hardware_agreement.py"
FAST = "folded,accesses,atomics,control"


@pytest.fixture(scope="module")
def main() -> Any:
    specification = importlib.util.spec_from_file_location("hardware_agreement", SCRIPT)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.main


@pytest.fixture(scope="module")
def built(main: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("built")
    assert main(["build", str(directory), "--families", FAST, "--limit", "3", "--no-code", "-n", "1"]) == 0
    return directory


def test_what_agrees_is_all_the_same(
    main: Any, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(built), str(tmp_path), "--stand-in", "interpreter"]) == 0
    assert main(["compare", str(built), str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "| all | 12 | 0 | 0 | 0 | 0 | 0 | 0 | 12 |" in out
    # What the other files have is not written again.
    assert (tmp_path / "results.pack").stat().st_size < (built / "expected.pack").stat().st_size / 2
    assert out == out.replace("different:", "")
    assert main(["compare", str(built), str(tmp_path), "--again"]) == 0


def test_a_wrong_bit_is_reported_with_its_program(
    main: Any, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = [program.name for program in files.read_programs(built) if program.name.startswith("control: loop")]
    assert main(["run", str(built), str(tmp_path), "--stand-in", "interpreter", "--plant", name]) == 0
    assert main(["compare", str(built), str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"different: {name}\n" in out and "wanted 0x" in out
    assert "cuda_tile.module @m" in (tmp_path / "smallest_different.txt").read_text(encoding="utf-8")


def test_programs_are_the_same_in_every_build(built: Path) -> None:
    kept = {program.name: program for program in files.read_programs(built)}
    again = [program for name in FAST.split(",") for program in programs_of(name, 3)]
    assert [program.name for program in again] == list(kept)
    for program in again:
        other = kept[program.name]
        assert (program.text, program.grid, program.memories) == (other.text, other.grid, other.memories)
        assert list(program.arguments) == other.arguments and program.details == other.details


def test_programs_have_names_of_their_own() -> None:
    for family in ("elementwise", "shapes", "reduce", "products", "accesses", "atomics", "control"):
        names = [program.name for program in programs(family)]
        assert len(set(names)) == len(names) and all(name.startswith(f"{family}: ") for name in names)


# --- running ---


def small(name: str) -> Program:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
    %t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token
    return } }"""
    return simple(name, text, [("i32", numpy.zeros(2, "i4")), Number("i32", 5)])


def test_a_hang_and_a_fault_are_recorded_and_the_others_run() -> None:
    given = [small(name) for name in ("one", "hang", "two", "fault", "three")]
    file = Assembled(b"", {given[0].text: "k"})
    make = functools.partial(StandIn, endless="hang", faulty="fault")
    device, *results = run_all([file], given, make, 5.0)
    assert device == "interpreter in place of a GPU"
    found = {result.number: result for result in results if isinstance(result, Result)}
    assert [found[number].trouble for number in range(5)] == [
        "", "does not end within 5 s", "",
        "LaunchError: error: waiting for @k failed: an illegal memory access was encountered", "",
    ]  # fmt: skip
    right = [numpy.array([5, 0], "i4").tobytes()]
    assert [found[number].memories for number in range(5)] == [right, [], right, [], right]
    verdicts = [compare(given[number], interpret(given[number]), found[number]).kind for number in range(5)]
    assert verdicts == ["same", "not run", "same", "not run", "same"]


def test_processes_that_die_are_given_up_after_some() -> None:
    given = [small(f"fault {number}") for number in range(4)]
    file = Assembled(b"", {given[0].text: "k"})
    found: list[Any] = []
    with pytest.raises(NoDeviceError, match="illegal memory access"):
        for result in run_all([file], given, functools.partial(StandIn, faulty="fault"), most_deaths=2):
            found.append(result)
    assert [result.number for result in found if isinstance(result, Result)] == [0]


def test_without_a_device_nothing_is_run() -> None:
    given = [small("one")]
    options: Any = {"color": "red"}
    wrong = functools.partial(StandIn, **options)
    with pytest.raises(NoDeviceError, match="unexpected keyword"):
        list(run_all([Assembled(b"", {given[0].text: "k"})], given, wrong))


def test_guards_and_addresses_in_the_memory_of_the_device() -> None:
    program = small("one")
    program.memories.append(bytes(range(16)))
    program.addresses.append(Address(1, 8, 0, 4))
    starts, image = laid_out(program, 0x1000)
    assert all(start % 256 == 0 and start >= GUARD for start in starts)
    assert starts[1] - starts[0] - 8 >= GUARD and len(image) - starts[1] - 16 >= GUARD
    assert int.from_bytes(image[starts[1] + 8 : starts[1] + 16], "little") == 0x1000 + starts[0] + 4
    # What is compared has no addresses, which differ from machine to machine.
    assert found_in(program, starts, image, image) == (program.memories, "")
    for place in (starts[0] - 1, starts[0] + 8, len(image) - 1):
        changed = bytearray(image)
        changed[place] ^= 0x10
        assert found_in(program, starts, image, bytes(changed)) == (program.memories, "guard")


def test_a_program_on_the_driver(fake: FakeDriver) -> None:  # noqa: F811
    text = """cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    return } }"""
    values: list[Any] = [("f32", numpy.arange(4, dtype="f4")), ("f32", numpy.full(4, 2, "f4"))]
    program = simple("add", text, [*values, ("f32", numpy.zeros(4, "f4")), Number("i32", 3)], (2, 3, 1))
    gpu = Gpu(1 << 16)
    assert gpu.name.endswith("sm_90, CUDA 13.0")
    gpu.load(b"target sm_90\nkernel k7 8,8,8,4\ndoes k7 add\n")
    memories, trouble = gpu.run(program, "k7")
    assert (trouble, numpy.frombuffer(memories[2], "f4").tolist()) == ("", [2, 3, 4, 0])
    (launched,) = fake.calls("cuLaunchKernelEx")
    assert "grid 2 3 1 block 1 1 1 shared 0 stream 0" in launched and launched.endswith(",03000000")
    # A kernel that writes one element too many.
    program.arguments[3] = Number("i32", 5)
    assert gpu.run(program, "k7")[1] == "guard"
    gpu.device.close()


def test_a_program_through_an_engine(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    def compiled(self: Any, target: Any, kind: Any) -> Any:
        if self.entry.regions[0].blocks[0].arguments[0].type.text.endswith("i32>>"):
            raise CompilationError("there is no code for it")
        return fake_code(self.entry, target.name, kind, "add")

    monkeypatch.setattr(TritonKernel, "compiled", compiled)
    text = """cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    return } }"""
    values: list[Any] = [("f32", numpy.arange(4, dtype="f4")), ("f32", numpy.full(4, 2, "f4"))]
    program = simple("add", text, [*values, ("f32", numpy.zeros(4, "f4")), Number("i32", 3)], (2, 3, 1))
    gpu = Launcher("triton", size=1 << 16)
    assert gpu.name.endswith("sm_90, CUDA 13.0, backend='triton'")
    memories, trouble = gpu.run(program, "k")
    assert (trouble, numpy.frombuffer(memories[2], "f4").tolist()) == ("", [2, 3, 4, 0])
    program.arguments[3] = Number("i32", 5)
    assert gpu.run(program, "k")[1] == "guard"
    memories, trouble = gpu.run(small("refused"), "k")
    assert compare(small("refused"), interpret(small("refused")), Result(0, memories, trouble)).kind == "refused"
    gpu.device.close()


# --- comparing ---


def result_of(program: Program, change: dict[int, int]) -> Result:
    """The interpreter's result, with other patterns in some places of the last array."""
    memories = wanted(program).memories
    argument = [each for each in program.arguments if isinstance(each, Pointer)][-1]
    size = len(memories[argument.memory]) // argument.length
    array = numpy.frombuffer(memories[argument.memory], f"u{size}").copy()
    for place, pattern in change.items():
        array[place] = pattern
    return Result(0, [*memories[:-1], array.tobytes()], "")


def case(family: str, name: str) -> Program:
    return next(program for program in programs(family) if program.name == f"{family}: {name}")


@functools.cache
def programs(family: str) -> list[Program]:
    return list(FAMILIES[family]())


@functools.cache
def wanted(program: Program) -> Outcome:
    return interpret(program)


def pattern(program: Program, place: int) -> int:
    memories = wanted(program).memories
    return int(numpy.frombuffer(memories[-1], f"u{len(memories[-1]) // program.arguments[-1].length}")[place])


@pytest.mark.parametrize(
    ("family", "name", "apart", "kind", "rule"),
    [
        ("elementwise", "exp f32", 2, "open", "functions"),
        ("elementwise", "exp f32", 5, "different", None),
        ("elementwise", "addf f32", 1, "different", None),
        ("elementwise", "sqrt rounding<approx> f32", 1, "open", "approximate square root"),
        ("elementwise", "sqrt f32", 1, "different", None),
        ("elementwise", "itof signed i32 -> tf32", 1 << 13, "assembler", "two roundings"),
        ("elementwise", "itof signed i32 -> f32", 1, "different", None),
        ("products", "mmaf f16 f32 0x16x16x16 numbers", 1, "open", "sums"),
        ("products", "mmaf f16 f32 0x16x16x16 numbers", 1 << 16, "different", None),
        ("reduce", "addi i32 64 dim 0 patterns", 1, "different", None),
    ],
)
def test_each_difference_has_its_rule(family: str, name: str, apart: int, kind: str, rule: str | None) -> None:
    program = case(family, name)
    # A place whose number is an ordinary one.
    place = next(number for number in range(4000) if _ordinary(program, number))
    found = compare(program, wanted(program), result_of(program, {place: pattern(program, place) + apart}))
    assert found.kind == kind
    if rule is not None:
        assert found.rules == [rule] and rule in table_of_measures([found])


def _ordinary(program: Program, place: int) -> bool:
    argument = program.arguments[-1]
    if argument.element[0] == "i":
        return True
    bits = pattern(program, place)
    exponent = bits >> {"f32": 23, "tf32": 23, "f16": 10}[argument.element] & 0xFF
    return 100 < exponent < 150


def test_a_nan_may_be_any_nan_but_where_bits_are_moved() -> None:
    program = case("elementwise", "addf f32")
    memories = wanted(program).memories
    place = int(numpy.flatnonzero(numpy.isnan(numpy.frombuffer(memories[-1], "f4")))[0])
    found = compare(program, wanted(program), result_of(program, {place: 0x7FFFFFFF}))
    assert (found.kind, found.rules) == ("open", ["which NaN"])
    moved = case("shapes", "permute (32, 64) (1, 0) f32 pointers")
    memories = wanted(moved).memories
    nans = numpy.flatnonzero(numpy.isnan(numpy.frombuffer(memories[-1], "f4")))
    found = compare(moved, wanted(moved), result_of(moved, {int(nans[0]): 0x7FFFFFFE}))
    assert found.kind == "different"


def test_rules_have_reasons_and_names_of_their_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.reason and rule.kind in ("open", "assembler", "unspecified") for rule in RULES)


# --- code ---


def test_a_refused_program_does_not_keep_the_others_from_their_code() -> None:
    try:
        find_tool()
    except (FileNotFoundError, importlib.metadata.PackageNotFoundError):
        pytest.skip("needs NVIDIA's assembler: pip install nvidia-cuda-tileiras")
    chosen = [case("elementwise", name) for name in ("addf f32", "ftof f8E8M0FNU -> f32", "negf f32")]
    assembly = assemble(chosen, "sm_90", 1)
    assert [sorted(file.names.values()) for file in assembly.files] == [["k0", "k1"]]
    assert all(file.cubin.startswith(b"\x7fELF") for file in assembly.files)
    (words,) = assembly.refused.values()
    assert "unsupported type 'f8E8M0FNU'" in words
