"""Triton on many programs: code in a cache, for the very launches that there will be."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.hardware.agreement.launching import launch_arguments
from tests.hardware.agreement.program import Program

import tileir
from tileir.execute.gpu.triton.kernel import compile_ahead
from tileir.execute.launching.entries import select_entry

TOGETHER = 50
"""Programs that a process is given at once."""


def compile_programs(
    programs: list[Program], cache: Path, target: str, processes: int, at_most: float = float("inf")
) -> Iterator[tuple[Program, str]]:
    """Compile programs into a cache; those that are refused, and why.

    After `at_most` seconds nothing is begun: the others are compiled when they are launched.
    """
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    end = time.time() + at_most
    groups = [programs[start : start + TOGETHER] for start in range(0, len(programs), TOGETHER)]
    count = len(groups)
    with ProcessPoolExecutor(processes) as pool:
        for group in pool.map(_compiled, groups, [str(cache)] * count, [target] * count, [end] * count):
            yield from group


def _compiled(programs: list[Program], cache: str, target: str, end: float) -> list[tuple[Program, str]]:
    os.environ["TILEIR_CACHE_DIR"] = cache
    refused = []
    for program in programs:
        if time.time() > end:
            break
        try:
            compile_for_launch(program, target)
        except tileir.TileIRError as error:
            refused.append((program, str(error).splitlines()[0]))
        except Exception as error:
            # A mistake of ours, which is told like the others and does not end the rest.
            refused.append((program, f"{type(error).__name__}: {error}"))
    return refused


def compile_for_launch(program: Program, target: str) -> None:
    """Compile a program for what it is launched with; memory of GPUs begins at multiples of 256."""
    starts = [(number + 1) << 28 for number in range(len(program.memories))]
    compile_ahead(select_entry(tileir.parse(program.text), None), target, launch_arguments(program, starts))
