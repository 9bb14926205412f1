"""The examples and the cuTile kernels of the tests, compiled for two GPUs, or on the list of what NVIDIA's assembler
refuses, in its own words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available

import tileir
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.gpu.tileiras.tool import AssemblyOptions, why_missing
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation

pytestmark = [
    pytest.mark.skipif(bool(why_missing()), reason="needs NVIDIA's assembler: pip install 'tileir[tileiras]'"),
    pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING),
]

EXAMPLES = Path(__file__).parents[3] / "examples"
TARGETS = ("sm_90", "sm_100")
TIME_LIMIT = 300.0

# Kernels by their name, and the type that the GPU lacks: "Incompatibility with architecture 'sm_90': unsupported type ".
NO_TYPE = {
    "sm_90": {
        "dequantize_e8m0": "f8E8M0FNU",
        "dequantize_e5m3": "fnv8E5M3FNU",
        "quantize_e5m3": "fnv8E5M3FNU",
        "scaled_matmul_float8_e4m3fn": "f8E8M0FNU",
        "scaled_matmul_float8_e5m2": "f8E8M0FNU",
        "scaled_matmul_of_packed_float8_e8m0fnu_32": "f8E8M0FNU",
        "scaled_matmul_of_packed_float8_e8m0fnu_16": "f8E8M0FNU",
        "scaled_matmul_of_packed_float8_e4m3fn_16": "f4E2M1FN",
        "scaled_matmul_of_packed_float8_e5m3fnu_16": "fnv8E5M3FNU",
        "batched_scaled_matmul": "f8E8M0FNU",
        "microscale": "f8E8M0FNU",
        "constants_in_float8_e8m0fnu": "f8E8M0FNU",
        "constants_in_float8_e5m3fnu": "fnv8E5M3FNU",
        "packed_four_bits": "f4E2M1FN",
    },
    "sm_100": {
        "dequantize_e5m3": "fnv8E5M3FNU",
        "quantize_e5m3": "fnv8E5M3FNU",
        "scaled_matmul_of_packed_float8_e5m3fnu_16": "fnv8E5M3FNU",
        "constants_in_float8_e5m3fnu": "fnv8E5M3FNU",
    },
}

# A few of every kind, which are quick; those that are refused, and those with names that the assembler does not take.
SAMPLE = (
    "dequantize_e5m3",
    "packed_four_bits",
    "entry_name_quoted",
    "entry_name_dollar",
    "entry_name_digit",
    "unchecked",
    "assert_values",
)


def compiled(name: str, module: Operation, target: str) -> Iterator[None]:
    """Compile every kernel of a module; what is refused must be on the list, and what is on it must be refused."""
    lacking = NO_TYPE[target].get(name)
    for kernel, entry in entries_of(module).items():
        try:
            cubin = assemble(entry, target, AssemblyOptions(time_limit=TIME_LIMIT)).cubin
        except tileir.errors.AssemblerError as error:
            words = f"Incompatibility with architecture '{target}': unsupported type '{lacking}'"
            assert error.message.endswith(words), str(error)
            # At a line of the script.
            assert error.diagnostics[0].position[0].endswith(".py")
        else:
            assert lacking is None, f"{kernel} is on the list of what is refused"
            assert cubin.target == target and cubin.resources.registers > 0
            count = len(entry.regions[0].blocks[0].arguments)
            assert len(cubin.resources.parameters) == count
        yield


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["vector_add", "softmax", "histogram"])
def test_example_compiles(name: str, target: str) -> None:
    assert list(compiled(name, tileir.load(EXAMPLES / f"{name}.mlir"), target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SAMPLE)
def test_kernel_compiles_or_is_on_the_list(name: str, target: str) -> None:
    (case,) = [case for case in all_cases() if case.name == name]
    assert list(compiled(name, tileir.from_bytecode(export(case, case.versions[-1])), target))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", [path for path in sorted(EXAMPLES.glob("*.mlir")) if path.stem != "broken"])
def test_every_example_compiles(path: Path, target: str) -> None:
    assert list(compiled(path.stem, tileir.load(path), target))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [case.name for case in all_cases()] if tools_available() else [])
def test_every_kernel_compiles_or_is_on_the_list(name: str, target: str) -> None:
    (case,) = [case for case in all_cases() if case.name == name]
    assert list(compiled(name, tileir.from_bytecode(export(case, case.versions[-1])), target))


def test_the_list_has_kernels_that_there_are() -> None:
    names = {case.name for case in all_cases()}
    assert all(set(listed) <= names for listed in NO_TYPE.values())
    assert set(SAMPLE) <= names


def test_refusal_of_a_cutile_kernel_is_in_the_words_of_its_script() -> None:
    (case,) = [case for case in all_cases() if case.name == "packed_four_bits"]
    (entry,) = entries_of(tileir.from_bytecode(export(case, "13.4"))).values()
    with pytest.raises(tileir.errors.AssemblerError) as refused:
        assemble(entry, "sm_90")
    found = refused.value.diagnostics[0]
    assert found.message == (
        "`ct.load(a, (0,), (64,)).astype`: Incompatibility with architecture 'sm_90': unsupported type 'f4E2M1FN'"
    )
    assert found.position[0].endswith("low_precision.py")
    assert "t = ct.load(a, (0,), (64,)).astype(E2M1)" in found.render()
