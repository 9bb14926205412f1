"""The CPU backend computes what the interpreter computes: random programs of every family, bit for bit.

Which NaN a NaN is may differ (docs/internals/cpu.md), so results are compared in the types they were stored with.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.cpu.both_engines import both_engines, is_approximate
from tests.execute.cpu.stress import stress_program
from tests.execute.cpu.stress_values import ARRAYS, BLOCKS, OUTPUTS, ROOM, SIZE
from tests.execute.step_limit import Enough, StepLimit
from tests.execute.test_random_programs import arguments_for
from tests.passes.test_semantics import FAMILIES, random_program
from tests.sampling import one_in

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.runtime.target import host
from tileir.execute.dtypes import constant_array, is_float_dtype, memory_dtype, value_dtype
from tileir.execute.engine.interface import KernelSettings
from tileir.execute.errors import AssertionFailedError
from tileir.execute.launching.entries import entries_of
from tileir.execute.launching.kernel import Kernel
from tileir.ir.core import Operation
from tileir.ir.values import Value

EXAMPLES = Path(__file__).parents[3] / "examples"
LESSER = [name for name in ("x86-64-v3", "x86-64", "cortex-a72") if host(name).runnable]
"""Processors with fewer instructions than most of their family, where code for them runs here."""
_STEPS = 30000
GRID = (2, 2)
Arguments = Callable[[], "list[Any]"]
# Where floats lie: the number of an argument, the first byte, how many, and what they are.
Layout = list[tuple[int, int, int, Any]]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


# --- comparison ---


def stored_floats(entry: Operation) -> Layout:
    """Where `expose` of the random programs has stored floats."""
    arguments: list[Value] = list(entry.regions[0].block.arguments)
    found: Layout = []
    for operation in entry.regions[0].block:
        if operation.declaration.mnemonic != "store_ptr_tko":
            continue
        chain = _chain(operation.operands[0])
        if chain is None or chain[0] not in arguments:
            continue
        type = operation.operands[1].type
        assert isinstance(type, TileType)
        dtype = value_dtype(type.element)
        if is_float_dtype(dtype):
            found.append((arguments.index(chain[0]), chain[1] * dtype.itemsize, type.count, dtype))
    return found


def _chain(pointers: Value) -> tuple[Value, int] | None:
    """The argument and the number of elements of `argument + iota + constant`."""
    offset = pointers.defining_operation
    if offset is None or offset.declaration.mnemonic != "offset":
        return None
    numbers = offset.operands[1].defining_operation
    if numbers is None or numbers.declaration.mnemonic != "addi":
        return None
    start = numbers.operands[1].defining_operation
    if start is None or start.declaration.mnemonic != "constant":
        return None
    value = offset.operands[0]
    while value.defining_operation is not None:
        value = value.defining_operation.operands[0]
    return value, int(constant_array(start.attributes["value"]).reshape(-1)[0])  # type: ignore[arg-type]


def shows_nan_bits(entry: Operation) -> bool:
    """Whether the bits of floats become numbers: which NaN a NaN is, is left open (docs/internals/cpu.md)."""
    for operation in entry.walk():
        if operation.declaration.mnemonic in ("bitcast", "pack"):
            type = operation.operands[0].type
            if isinstance(type, TileType) and is_float_dtype(value_dtype(type.element)):
                return True
    return False


def differences(wanted: list[Any], found: list[Any], layout: Layout) -> list[tuple[int, int]]:
    """The arguments and bytes that differ."""
    result = []
    for number, (left, right) in enumerate(zip(wanted, found, strict=True)):
        if not isinstance(left, numpy.ndarray):
            continue
        one, other = left.reshape(-1).view(numpy.uint8), right.reshape(-1).view(numpy.uint8)
        wrong = one != other
        if not wrong.any():
            continue
        pieces = [piece for piece in layout if piece[0] == number]
        if is_float_dtype(left.dtype):
            pieces.append((number, 0, left.size, left.dtype))
        for _, start, count, dtype in pieces:
            end = start + count * dtype.itemsize
            with numpy.errstate(invalid="ignore"):
                nans = [numpy.isnan(part[start:end].view(dtype).astype("f8")) for part in (one, other)]
            wrong[start:end] &= ~numpy.repeat(nans[0] & nans[1], dtype.itemsize)
        if wrong.any():
            result.append((number, int(numpy.flatnonzero(wrong)[0])))
    return result


def compare(
    module: Operation, name: str, arguments: Arguments, layout: Layout, threads: int = 1, cpu: str | None = None
) -> str:
    """Run a kernel on both engines; how that went."""
    entry = entries_of(module)[name]
    wanted = arguments()
    failure: AssertionFailedError | None = None
    printed: list[str] = []
    try:
        Kernel(entry, settings=KernelSettings(True)).launch(
            GRID, wanted, observer=StepLimit(_STEPS), output=printed.append
        )
    except Enough:
        return "long"
    except AssertionFailedError as error:
        failure = error
    except tileir.TileIRError:
        # Mostly accesses outside of all memory, where the engine promises nothing.
        return "refused"
    found = arguments()
    again: list[str] = []
    native = Kernel(entry, "cpu", KernelSettings(True, cpu=cpu))
    caught: tileir.ExecutionError | None = None
    try:
        native.launch(GRID, found, threads=threads if failure is None else 1, output=again.append)
    except tileir.ExecutionError as error:
        caught = error
    if caught is not None and "more than is available" in str(caught):
        # The interpreter gets memory that is never touched, however much of it.
        return "refused"
    if failure is not None:
        assert isinstance(caught, AssertionFailedError)
        assert caught.diagnostics[0].message == failure.diagnostics[0].message
        return "failed"
    assert caught is None, caught
    if differences(wanted, found, layout) and shows_nan_bits(entry):
        return "free"
    assert differences(wanted, found, layout) == []
    assert again == printed
    return "agreed"


# --- random programs ---


def overlapping(entry: Operation) -> list[Any] | None:
    """Arguments like those of `arguments_for` that share most of their memory."""
    found = arguments_for(entry)
    if found is None:
        return None
    base = numpy.random.default_rng(2).integers(0, 255, 1024 + 16 * len(found)).astype(numpy.uint8)
    for number, argument in enumerate(entry.regions[0].block.arguments):
        assert isinstance(argument.type, TileType)
        element = argument.type.element
        if isinstance(element, PointerType):
            found[number] = base[16 * number : 16 * number + 1024].view(memory_dtype(element.pointee))
    return found


def exact_program(seed: int, family: str) -> Operation:
    """A random program whose every result is fully specified: without `rounding<approx>`."""
    module = random_program(Random(seed), family)
    for operation in module.walk():
        if is_approximate(operation):
            operation.set_attribute("rounding_mode", None)
    tileir.verify(module)
    return module


def check_program(family: str, seed: int, **options: Any) -> Counter[str]:
    module = exact_program(seed, family)
    outcomes: Counter[str] = Counter()
    for name, entry in entries_of(module).items():
        if arguments_for(entry) is None:
            continue
        layout = stored_floats(entry)

        def separate(entry: Operation = entry) -> list[Any]:
            return arguments_for(entry) or []

        def shared(entry: Operation = entry) -> list[Any]:
            return overlapping(entry) or []

        outcomes[compare(module, name, separate, layout, **options)] += 1
        pointers = [argument for argument in entry.regions[0].block.arguments if _is_pointer(argument)]
        if len(pointers) > 1:
            # In memory that several share, a float may be read as anything.
            outcomes[compare_overlapping(module, name, shared, layout, **options)] += 1
    return outcomes


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)


def compare_overlapping(module: Operation, name: str, arguments: Arguments, layout: Layout, **options: Any) -> str:
    return compare(module, name, arguments, _shared_layout(layout), **options)


def _shared_layout(layout: Layout) -> Layout:
    """What one argument holds is also in the others, 16 bytes apart."""
    found: Layout = []
    for number, start, count, dtype in layout:
        for other in range(32):
            # As many elements as lie in the array whole.
            size = dtype.itemsize
            first = start + 16 * (number - other)
            skipped = max(0, -(first // size))
            kept = min(count, (1024 - first) // size) - skipped
            if kept > 0:
                found.append((other, first + skipped * size, kept, dtype))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seeds", one_in(2, [range(3), range(3, 6)]))
@pytest.mark.parametrize("family", ["loops", *FAMILIES])
def test_random_programs_agree(family: str, seeds: range) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        outcomes += check_program(family, seed)
    assert outcomes["agreed"] > 1


@pytest.mark.parametrize("cpu", one_in(2, LESSER[::-1]))
def test_random_programs_agree_with_less_of_a_processor(cpu: str) -> None:
    outcomes: Counter[str] = Counter()
    for family in FAMILIES:
        for seed in range(100, 103):
            outcomes += check_program(family, seed, cpu=cpu)
    assert outcomes["agreed"] > 4


@pytest.mark.parametrize("seeds", one_in(2, [range(200, 203), range(203, 206)]))
def test_random_programs_agree_on_two_threads(seeds: range) -> None:
    outcomes: Counter[str] = Counter()
    for family in ("numbers", "public numbers"):
        for seed in seeds:
            module = exact_program(seed, family)
            # Where a tile block's number is data, whichever block comes last has its way.
            if not any(operation.declaration.mnemonic == "get_tile_block_id" for operation in module.walk()):
                outcomes += check_program(family, seed, threads=2)
    assert outcomes["agreed"] > 2


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 2000, 100))
@pytest.mark.parametrize("family", ["loops", *FAMILIES])
def test_many_random_programs_agree(family: str, start: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(start, start + 100):
        outcomes += check_program(family, seed)
    assert outcomes["agreed"] > 30


# --- kernels against the rules of the lowering ---


def stress_arguments(seed: int, shared: str) -> list[Any]:
    rng = numpy.random.default_rng(seed)
    dtypes = {"f32": "f4", "f16": "f2", "i32": "i4", "i8": "i1", "i64": "i8"}

    def array(element: str, count: int) -> Any:
        if element.startswith("f"):
            return (rng.integers(-8, 9, count) / 4).astype(dtypes[element])
        return rng.integers(-100, 100, count).astype(dtypes[element])

    found = [array(element, SIZE) for element in ARRAYS.values()]
    if shared != "apart":
        base = array("f32", SIZE + 64)
        found[0], found[2] = base[:SIZE], base[16 : SIZE + 16]
        found[1] = found[0] if shared == "same" else base[5 : SIZE + 5]
        found[4] = found[3]
    found += [numpy.zeros(ROOM * BLOCKS, dtypes[element]) for element in OUTPUTS]
    return [*found, 3, 1.5, 0]


def check_stress(seed: int, size: int = 20, cpu: str | None = None) -> None:
    module = tileir.parse(stress_program(seed, size))
    for shared in ("apart", "shifted", "same"):
        outcome = compare(module, "k", lambda shared=shared: stress_arguments(seed, shared), [], cpu=cpu)  # type: ignore[misc]
        assert outcome in ("agreed", "long"), (seed, shared, outcome)


@pytest.mark.parametrize("seed", one_in(12, range(12)))
def test_loops_branches_and_aliases_agree(seed: int) -> None:
    check_stress(seed, 15)


@pytest.mark.parametrize("cpu", one_in(2, LESSER))
def test_loops_branches_and_aliases_agree_with_less_of_a_processor(cpu: str) -> None:
    check_stress(100, 15, cpu)


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 2000, 50))
def test_many_loops_branches_and_aliases_agree(start: int) -> None:
    for seed in range(start, start + 50):
        check_stress(seed, 20 + seed % 3 * 10)


# --- examples ---


def test_examples_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    examples: Any = importlib.import_module("run_all").examples()
    with both_engines() as compared:
        for example in examples:
            example.written("interpreter")()
            example.built("interpreter")()
    assert compared.launches == 2 * len(examples)
