"""Many programs compiled for several GPUs: what is not, why, and the shortest program of each cause.

    python -m tests.execute.gpu.triton.sweeping [--built DIR] [--families a,b] [--targets sm_80,sm_90,sm_100]
                                                [--every N] [--lower] [--crashes DIR] [-n N] [--out FILE]

The programs are those of the comparison with a GPU (`benchmarks/hardware_agreement.py`), made anew or out of the folder
that its `build` has filled.  `--every 10` takes every tenth, `--lower` leaves out Triton.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import tileir
from tileir.execute.gpu.errors import TritonCrash, TritonError, TritonTimeout
from tileir.execute.gpu.triton.code import CodeOptions, Limits
from tileir.execute.gpu.triton.compiler import Prepared, make
from tileir.execute.gpu.triton.toolchain import find_triton, triton_target
from tileir.execute.launching.entries import entries_of

TARGETS = ("sm_80", "sm_90", "sm_100")
TIME_LIMIT = 120.0


class Failure(NamedTuple):
    """A program that there is no code for."""

    name: str
    text: str
    target: str
    where: str
    """lowering, Triton, crash, time or tileir (a mistake of ours: an exception that is no diagnostic)."""
    words: str

    @property
    def cause(self) -> str:
        """The words without what is the program's own: numbers, shapes, places."""
        words = re.sub(r"program\.ttir:\d+:\d+: ", "", self.words.splitlines()[0] if self.words else "")
        words = re.sub(r"tensor<[^>]*>+|%\w+|#\w+", "_", words)
        return f"{self.where}: {re.sub(r'[0-9]+', '#', words)[:160]}"


def compile_program(name: str, text: str, target: str, only_lower: bool = False) -> Iterator[Failure]:
    """Compile the kernels of a program; what fails."""
    gpu = triton_target(target)
    try:
        for entry in entries_of(tileir.parse(text)).values():
            if only_lower:
                Prepared(entry, gpu, CodeOptions(), find_triton())
            else:
                make(entry, gpu, CodeOptions(), Limits(seconds=TIME_LIMIT))
    except TritonCrash as error:
        words = next((line for line in error.said.splitlines() if "Assert" in line or "rror" in line), error.message)
        yield Failure(name, text, target, "crash", words)
    except TritonTimeout as error:
        yield Failure(name, text, target, "time", error.message)
    except TritonError as error:
        where = "Triton" if error.said else "lowering"
        words = error.message.removeprefix("Triton refuses the program: ")
        yield Failure(name, text, target, where, words)
    except tileir.TileIRError as error:
        yield Failure(name, text, target, "lowering", str(error))
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        file = "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno} "
        yield Failure(name, text, target, "tileir", f"{file}{type(error).__name__}: {error}")


def compile_all(
    programs: Iterable[tuple[str, str]], targets: Iterable[str], threads: int, only_lower: bool = False
) -> Iterator[Failure]:
    """Compile programs, given by name and text, for all targets."""
    tasks = [(name, text, target) for name, text in programs for target in targets]
    with ThreadPoolExecutor(threads) as pool:
        for failures in pool.map(lambda task: list(compile_program(task[0], task[1], task[2], only_lower)), tasks):
            yield from failures


def table_of_causes(failures: Iterable[Failure], most: int = 100) -> str:
    """How many programs fail for each cause, the most frequent first, with the shortest of each."""
    causes: dict[str, list[Failure]] = {}
    for failure in failures:
        causes.setdefault(failure.cause, []).append(failure)
    lines = []
    for cause, group in sorted(causes.items(), key=lambda pair: -len(pair[1]))[:most]:
        shortest = min(group, key=lambda failure: len(failure.text))
        targets = ",".join(sorted({failure.target for failure in group}))
        lines.append(f"{len(group):5} [{targets}] {cause}\n        {shortest.name}")
    return "\n".join(lines)


def agreement_programs(built: Path | None, families: list[str]) -> list[tuple[str, str]]:
    """Names and texts of the programs of the comparison with a GPU, each text once."""
    from tests.hardware.agreement.families import FAMILIES, programs_of
    from tests.hardware.agreement.files import read_programs

    if built is None:
        programs = [program for name in families or FAMILIES for program in programs_of(name)]
    else:
        programs = [each for each in read_programs(built) if not families or each.family in families]
    found: dict[str, str] = {}
    for program in programs:
        found.setdefault(program.text, program.name)
    return [(name, text) for text, name in found.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", type=Path)
    parser.add_argument("--families", default="")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("-n", "--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    programs = agreement_programs(given.built, given.families.split(",") if given.families else [])[:: given.every]
    start = time.perf_counter()
    failures = list(compile_all(programs, given.targets.split(","), given.threads, given.lower))
    seconds = time.perf_counter() - start
    failed = len({(failure.text, failure.target) for failure in failures})
    print(f"{len(programs)} programs for {given.targets}: {failed} times no code, {seconds:.0f} s")
    print(table_of_causes(failures))
    if given.out is not None:
        smallest: dict[str, Failure] = {}
        for failure in sorted(failures, key=lambda failure: len(failure.text)):
            smallest.setdefault(failure.cause, failure)
        parts = [
            f"== {cause}\n{each.name}, {each.target}: {each.words}\n{each.text}\n" for cause, each in smallest.items()
        ]
        given.out.write_text("\n".join(parts), encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
