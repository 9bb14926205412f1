"""Versions of Triton beside the one that is installed: those in the folders that TILEIR_TRITON_VERSIONS lists.

    pip download --no-deps triton==3.6.0 && unzip -d triton-3.6 triton-3.6.0-*.whl
    TILEIR_TRITON_VERSIONS=triton-3.6:triton-3.8 make test-long

Each compiles all examples for a GPU of each generation, and for one of AMD's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.execute.gpu.triton.attention_programs import attention
from tests.execute.gpu.triton.uniform_registers import undefined_reads

import tileir
from tileir.execute.gpu.nvidia_tools import disassembled
from tileir.execute.gpu.triton.code import CodeOptions, Schedule
from tileir.execute.gpu.triton.compiler import make
from tileir.execute.gpu.triton.toolchain import check_target, find_triton, triton_target
from tileir.execute.gpu.triton.worker.pool import close_workers
from tileir.execute.launching.entries import entries_of, select_entry

FOLDERS = [folder for folder in os.environ.get("TILEIR_TRITON_VERSIONS", "").split(os.pathsep) if folder]
EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.mlir"))
# One is an example of a program that is wrong.
EXAMPLES = [path for path in EXAMPLES if path.stem != "broken"]
TARGETS = ("sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "gfx942")

pytestmark = pytest.mark.long


@pytest.fixture(params=FOLDERS or [""], ids=[Path(folder).name for folder in FOLDERS] or ["none"])
def version(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not request.param:
        pytest.skip("TILEIR_TRITON_VERSIONS lists no folders with other versions of Triton")
    monkeypatch.setenv("TILEIR_TRITON", request.param)
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEIR_CRASH_DIR", str(tmp_path / "crashes"))
    yield
    close_workers()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_compiled_by_every_version(example: Path, version: None) -> None:
    module = tileir.load(example)
    for name in TARGETS:
        target = triton_target(name)
        try:
            check_target(target, find_triton())
        except tileir.errors.CompilationError:
            continue
        for entry in entries_of(module).values():
            made = make(entry, target)
            assert made.data.startswith(b"\x7fELF")
            if not target.is_amd:
                assert made.code.cubin.target == target.code
                assert len(made.code.slots) == len(made.code.cubin.parameter_sizes or [])
                assert not made.resources.spills


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("keys", [64, 128])
@pytest.mark.parametrize("depth", [64, 128])
def test_machine_code_of_attention_reads_no_register_before_it_has_a_value(
    depth: int, keys: int, causal: bool, version: None
) -> None:
    options = CodeOptions(schedule=Schedule(num_warps=8, num_stages=3, warp_specialize=True))
    entry = select_entry(attention(4096, depth, 128, keys, causal), None)
    made = make(entry, triton_target("sm_90"), options)
    assert made.code is not None and made.code.threads == 384
    assert undefined_reads(disassembled(made.code.cubin)) == []
