"""Many seeds of `tileir smith`, each held against what it promises.

    PYTHONPATH=src:. python -m tests.analyze.smith.seeds 0 10000 -n 16 --assembler 10

Each program must verify, come back from text and bytecode, run on the interpreter and on the CPU backend with equal bits,
before and after optimizing and with tile blocks in another order, and give the sanitizer nothing to find; `--assembler 10` gives one of ten to NVIDIA's assembler.  The last line is the
verdict; every seed that fails has a line of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import tileir
from tileir import smith
from tileir.analysis import SmithProgram

COMPILE_SECONDS = 120
MEMORY = 8 << 30


def check_engines(program: SmithProgram, sanitize: bool = True) -> str:
    """What is wrong with a program, or nothing."""
    tileir.verify(program.module)
    if sanitize:
        sanitizer = tileir.sanitizer.Sanitizer()
        arguments = program.arguments
        tileir.compile(program.module, backend="interpreter", exact=True).launch(
            program.grid, arguments, observer=sanitizer, output=lambda text: None
        )
        if sanitizer.report.findings:
            return f"sanitizer: {sanitizer.report.render()}"
        difference = program.check(arguments)
        if difference is not None:
            return f"observed: {difference}"
    optimized = tileir.optimize(tileir.parse(program.text()), level=3, rules="full")
    ways = (
        ("cpu, from bytecode", tileir.from_bytecode(program.bytecode()), "cpu", "forward"),
        (
            "interpreter, from text, tile blocks in another order",
            tileir.parse(program.text()),
            "interpreter",
            "reverse",
        ),
        ("interpreter, optimized", optimized, "interpreter", "forward"),
    )
    for name, module, engine, schedule in ways:
        arguments = program.arguments
        kernel = tileir.compile(module, backend=engine, exact=True, schedule=schedule)
        kernel.launch(program.grid, arguments, output=lambda text: None)
        difference = program.check(arguments)
        if difference is not None:
            return f"{name}: {difference}"
    return ""


def check_assembler(program: SmithProgram, tool: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.tileirbc"
        source.write_bytes(program.bytecode())
        target = f"--gpu-name={program.target}"
        command = [tool, target, str(source), "-o", str(Path(folder) / "program.cubin")]
        try:
            done = subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS, text=True)
        except subprocess.TimeoutExpired:
            return "assembler: timeout"
    return "" if done.returncode == 0 else f"assembler {program.target}: {' '.join(done.stderr.split())[:300]}"


def check_seed(seed: int, assembler: str | None, **wanted: Any) -> str:
    try:
        program = smith(seed, **wanted)
        return check_engines(program) or (check_assembler(program, assembler) if assembler else "")
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def assembler_path() -> str | None:
    from tileir.execute.gpu.tileiras.tool import installed_assembler

    found = installed_assembler()
    return found.path if found is not None else None


def _check_some(seeds: list[int], every: int, wanted: dict[str, Any]) -> list[tuple[int, bool, str]]:
    tool = assembler_path() if every else None
    # A program that goes astray ends here, and not with the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found = []
    for seed in seeds:
        with_assembler = bool(every and seed % every == 0)
        found.append((seed, with_assembler, check_seed(seed, tool if with_assembler else None, **wanted)))
    return found


def _chunks(first: int, last: int, count: int) -> Iterator[list[int]]:
    for start in range(first, last, count):
        yield list(range(start, min(last, start + count)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--assembler", type=int, default=0, metavar="N", help="one of N seeds to NVIDIA's assembler")
    parser.add_argument("--family")
    parser.add_argument("--version")
    parser.add_argument("--size", type=int)
    given = parser.parse_args()
    os.environ["TILEIR_CACHE"] = "0"
    wanted = {name: getattr(given, name) for name in ("family", "version", "size") if getattr(given, name) is not None}
    if given.assembler and assembler_path() is None:
        print("NVIDIA's assembler is not installed: pip install 'tileir[tileiras]'")
        return 2
    failures: Counter[str] = Counter()
    assembled = done = 0
    with ProcessPoolExecutor(given.n) as pool:
        futures = [
            pool.submit(_check_some, seeds, given.assembler, wanted) for seeds in _chunks(given.first, given.last, 20)
        ]
        for future in futures:
            for seed, with_assembler, mistake in future.result():
                done += 1
                assembled += with_assembler
                if mistake:
                    failures[mistake.partition(":")[0]] += 1
                    print(f"seed {seed}: {mistake}", flush=True)
    failed = ", ".join([f"{count} {kind}" for kind, count in failures.most_common()]) or "none failed"
    print(f"{done} seeds, {assembled} of them by the assembler: {failed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
