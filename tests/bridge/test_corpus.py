"""Every kernel of the corpus runs, the same way each time, and the sanitizer has no false word for any."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

import tileir

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    TupleConstraint,
)
from tests.kernels.case import KernelCase
from tests.kernels.export import TOPICS, all_cases, export
from tests.sampling import one_in

# Extents large enough for the tiles of the corpus, by rank.
EXTENTS = (1, 512, 128, 32, 16, 8)

# Mistakes that random numbers bring into kernels, by the first words of a case's name.
FINDINGS = {
    "integer_arithmetic_": {"division-by-zero"},
    "signed_arithmetic_": {"division-by-zero"},
    "bitwise_": {"shift"},
    "assert_values": {"assert"},
    "assumptions": {"assume"},
}


class Arguments:
    """Arguments of a compiled kernel, made from what it was compiled for."""

    def __init__(self, signature: Any) -> None:
        self.random = numpy.random.default_rng(0)
        self.values: list[Any] = []
        self.arrays: list[Any] = []
        for constraint in KernelSignature(signature, CallingConvention.cutile_python_v2()).parameters:
            self.values += self.make(constraint)

    def make(self, constraint: Any) -> list[Any]:
        if isinstance(constraint, ArrayConstraint):
            array = self.array(constraint)
            strides = [stride // array.itemsize for stride in array.strides]
            return [tileir.kernels.pointer_to(array), *array.shape, *strides]
        if isinstance(constraint, ScalarConstraint):
            return [1.5 if "float" in constraint.dtype.name else 1]
        if isinstance(constraint, ListConstraint):
            items = [self.make(constraint.element) for _ in range(3)]
            return [numpy.array([[pointer.array.ctypes.data, *rest] for pointer, *rest in items], numpy.int64), 3]
        if isinstance(constraint, TupleConstraint):
            return [value for item in constraint.items for value in self.make(item)]
        return []

    def array(self, constraint: ArrayConstraint) -> Any:
        dtype = self.dtype(constraint.dtype.name)
        extents = [EXTENTS[constraint.ndim] if extent is None else extent for extent in constraint.shape_constant]
        room = numpy.zeros(int(numpy.prod(extents)) * dtype.itemsize + 256, numpy.uint8)
        start = -room.ctypes.data % 256
        array = room[start : start + room.size - 256].view(dtype).reshape(extents)
        if constraint.ndim == 2 and constraint.stride_constant[0] == 1:
            array = array.T
        numbers = self.random.standard_normal(array.shape) * 2
        array[...] = numbers.astype(dtype) if dtype.kind in "if" else abs(numbers).astype(dtype)
        self.arrays.append(array)
        return array

    @staticmethod
    def dtype(name: str) -> Any:
        if name == "bool_":
            return numpy.dtype(bool)
        # NumPy has no such type: its bit patterns do.
        found = getattr(numpy, name, None) or getattr(ml_dtypes, name, numpy.uint8)
        return numpy.dtype(found)

    def bytes(self) -> list[bytes]:
        return [array.tobytes() for array in self.arrays]


def launched(case: KernelCase, number: int, **options: Any) -> list[bytes]:
    """What is in the arrays after a launch of an entry of a case."""
    module = tileir.load(export(case, case.versions[-1]))
    entries = [entry.symbol_name for entry in module.regions[0].blocks[0] if entry.name == "cuda_tile.entry"]
    arguments = Arguments((case.signature, *case.overloads)[number])
    # What these two wait for: a lock that is free, a flag that is set.
    if case.name in ("critical_section", "spin_until"):
        arguments.arrays[0][:] = case.name == "spin_until"
    kernel = tileir.compile(module, entry=entries[number])
    try:
        kernel.launch(1, arguments.values, memory=arguments.arrays, output=lambda text: None, **options)
    except tileir.ExecutionError:
        assert case.name == "assert_values"
    return arguments.bytes()


def cases_of(topic: str) -> list[tuple[KernelCase, int]]:
    found = [case for case in all_cases() if case.kernel._pyfunc.__module__ == f"tests.kernels.{topic}"]
    return [(case, number) for case in found for number in range(1 + len(case.overloads))]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", one_in(2, range(2)))
@pytest.mark.parametrize("topic", one_in(4, TOPICS))
def test_kernels_run_twice_to_the_same_bits(topic: str, part: int) -> None:
    cases = cases_of(topic)[part::2]
    assert cases
    for case, number in cases:
        assert launched(case, number) == launched(case, number), case.name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", one_in(2, range(2)))
@pytest.mark.parametrize("topic", TOPICS)
def test_sanitizer_finds_only_what_is_there(topic: str, part: int) -> None:
    for case, number in cases_of(topic)[part::2]:
        expected: set[str] = set()
        for words, kinds in FINDINGS.items():
            if case.name.startswith(words):
                expected = kinds
        try:
            launched(case, number, sanitize=True)
        except tileir.SanitizerError as error:
            assert set(error.report.kinds) <= expected, f"{case.name}: {error}"
