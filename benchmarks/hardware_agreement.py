"""Small programs on a GPU and in the interpreter, compared bit for bit: build here, run there, compare.

    python benchmarks/hardware_agreement.py build DIR     programs, arguments and code; needs NVIDIA's assembler
    python benchmarks/hardware_agreement.py run DIR OUT   on a machine with a GPU: NumPy and these sources are enough
    python benchmarks/hardware_agreement.py compare DIR OUT

There is one program for each operation, element type and attribute, and there are shapes, reductions, scans, views,
atomics, control flow, products, memory orders, the examples, cuTile kernels and random programs (`--families`).  DIR
gets few files, which may be carried elsewhere.  `compare` sorts the programs: the same bits, differences that the
dialect leaves open (with the largest seen), unspecified results, the assembler's mistakes, and all others, whose
smallest programs it writes.  Where no rule knows a difference, the interpreter is run again with other choices where
the dialect leaves some, and what changes with them is open.  `--unoptimized OUT0`, what `run` found with code made by
`assemble --opt-level 0`, tells mistakes of the assembler's optimizer.  Exit status 1: there are others.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from tests.hardware.agreement.interpreting import Outcome
    from tests.hardware.agreement.program import Program
    from tests.hardware.agreement.running import Result

CACHE = "cache"
"""The folder with the code of an engine, in that of the programs."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="make programs, their code, and what the interpreter makes of them")
    build.add_argument("directory", type=Path)
    build.add_argument("--families", help="names of families, separated by commas; all without")
    build.add_argument("--limit", type=int, help="at most so many programs of each family, taken evenly")
    build.add_argument("--target", default="sm_90")
    build.add_argument("-n", "--processes", type=int, default=os.cpu_count() or 1)
    build.add_argument("--no-code", action="store_true", help="leave the assembler to `assemble`, or to a stand-in")
    build.add_argument("--host", default="x86_64", help="the processor of the machine with the GPU, or aarch64")
    build.add_argument("--at-most", type=float, default=float("inf"), help="seconds after which no code is begun")
    build.add_argument("--backend", choices=("tileiras", "triton"), default="tileiras", help="which engine compiles")
    build.add_argument("--as-written", action="store_true", help="keep what the assembler is known to get wrong")
    code = commands.add_parser("assemble", help="make the code again, on a machine with more processors say")
    code.add_argument("directory", type=Path)
    code.add_argument("--target", default="sm_90")
    code.add_argument("-n", "--processes", type=int, default=os.cpu_count() or 1)
    code.add_argument("--host", default="x86_64", help="the processor of the machine with the GPU, or aarch64")
    code.add_argument("--at-most", type=float, default=float("inf"), help="seconds after which no code is begun")
    code.add_argument("--as-written", action="store_true", help="keep what the assembler is known to get wrong")
    code.add_argument("--backend", choices=("tileiras", "triton"), default="tileiras", help="which engine compiles")
    code.add_argument("--opt-level", type=int, choices=range(4), help="how much the assembler optimizes")
    run = commands.add_parser("run", help="run the programs on the GPU")
    run.add_argument("directory", type=Path)
    run.add_argument("out", type=Path)
    run.add_argument("--seconds", type=float, default=10.0, help="for one program")
    run.add_argument("--backend", help="an engine that compiles and launches, in place of the code of `assemble`")
    run.add_argument("-n", "--processes", type=int, default=1, help="that use the GPU at once")
    run.add_argument("--stand-in", choices=("interpreter", "cpu"), help="an engine in place of the GPU")
    run.add_argument("--plant", default="", help="with a stand-in: flip a bit in programs with this in their names")
    comparison = commands.add_parser("compare", help="sort the programs by how the results agree")
    comparison.add_argument("directory", type=Path)
    comparison.add_argument("out", type=Path)
    comparison.add_argument("--again", action="store_true", help="ask the interpreter anew")
    comparison.add_argument("--unoptimized", type=Path, help="what `run` found with code of `assemble --opt-level 0`")
    given = parser.parse_args(arguments)
    if given.command == "build":
        return _build(given)
    if given.command == "assemble":
        return _assemble(given)
    return _run(given) if given.command == "run" else _compare(given)


def _build(given: argparse.Namespace) -> int:
    from tests.hardware.agreement import files
    from tests.hardware.agreement.families import FAMILIES

    names = given.families.split(",") if given.families else list(FAMILIES)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        print(f"there is no family '{unknown[0]}': there are {', '.join(FAMILIES)}", file=sys.stderr)
        return 2
    given.directory.mkdir(parents=True, exist_ok=True)
    everything: list[tuple[Program, Outcome]] = []
    with ProcessPoolExecutor(given.processes) as pool:
        for name, (made, left_out, seconds) in zip(
            names, pool.map(files.made, names, [given.limit] * len(names)), strict=True
        ):
            everything += made
            print(f"{name}: {len(made)} programs in {seconds:.0f} s, {len(left_out)} left out", flush=True)
            for program, words in left_out[:3]:
                print(f"    {program.name}: {words}", flush=True)
    size = files.write_built(given.directory, everything)
    print(f"{len(everything)} programs with arguments and results: {size / 1e6:.1f} MB", flush=True)
    return 0 if given.no_code else _assemble(given)


def _assemble(given: argparse.Namespace) -> int:
    from tests.hardware.agreement import files
    from tests.hardware.agreement.assembling import assemble

    target, processes = given.target, given.processes
    programs = files.read_programs(given.directory)
    if getattr(given, "backend", None) == "triton":
        return _compile(given, programs)
    start = time.perf_counter()
    level = getattr(given, "opt_level", None)
    assembly = assemble(programs, target, processes, given.as_written, given.host, given.at_most, level)
    seconds = time.perf_counter() - start
    size = files.write_assembly(given.directory, assembly)
    texts = len({program.text for program in programs})
    print(f"{texts} programs in {len(assembly.files)} files for {target}, {len(assembly.refused)} refused: ", end="")
    rate = texts / seconds * 60 / processes
    print(f"{seconds:.0f} s, {rate:.0f} programs a minute for each of {processes} processes, {size / 1e6:.1f} MB")
    return 0


def _compile(given: argparse.Namespace, programs: list[Program]) -> int:
    """Code of the engine of Triton, in a cache beside the programs."""
    from tests.hardware.agreement import comparing
    from tests.hardware.agreement.compiling import compile_programs

    start = time.perf_counter()
    cache = given.directory / CACHE
    refused = list(compile_programs(programs, cache, given.target, given.processes, given.at_most))
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    print(comparing.refusals(refused))
    seconds = time.perf_counter() - start
    print(f"{len(programs)} programs for {given.target}, {len(refused)} refused: {seconds:.0f} s, {size / 1e6:.1f} MB")
    return 0


def _run(given: argparse.Namespace) -> int:
    from tests.hardware.agreement import files
    from tests.hardware.agreement.running import REFUSED, Gpu, NoDeviceError, StandIn, run_all

    programs = files.read_programs(given.directory)
    assembly = files.read_assembly(given.directory)
    make: Callable[[], Any] = functools.partial(StandIn, given.stand_in, given.plant) if given.stand_in else Gpu
    if given.backend:
        from tests.hardware.agreement.launching import Launcher

        cache = given.directory / CACHE
        make = functools.partial(Launcher, given.backend, cache if cache.exists() else None)
        assembly = files.not_assembled(programs)
    given.out.mkdir(parents=True, exist_ok=True)
    results = []
    devices: list[str] = []
    start = time.perf_counter()

    def run_part(part: int) -> str:
        """Run some of the files; why not all of them, if so."""
        try:
            for result in run_all(assembly.files[part :: given.processes], programs, make, given.seconds):
                if isinstance(result, str):
                    devices.append(result)
                    continue
                results.append(result)
                if result.trouble and not result.trouble.startswith(REFUSED):
                    print(f"{programs[result.number].name}: {result.trouble}", flush=True)
        except NoDeviceError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(given.processes) as pool:
        for words in pool.map(run_part, range(given.processes)):
            if words:
                print(words, file=sys.stderr)
    if not results:
        return 2
    device = devices[0]
    seconds = time.perf_counter() - start
    size = files.write_results(given.out, device, results, given.directory)
    print(f"{len(results)} programs on {device}: {seconds:.1f} s, {size / 1e6:.1f} MB of results")
    return 0


def _compare(given: argparse.Namespace) -> int:
    from tests.hardware.agreement import comparing, files
    from tests.hardware.agreement.choices import judged_again
    from tests.hardware.agreement.comparing import Verdict
    from tests.hardware.agreement.rules import DIFFERENT

    programs = files.read_programs(given.directory)
    assembly = files.read_assembly(given.directory)
    device, results = files.read_results(given.out, given.directory)
    wanted = files.interpreted_again(programs) if given.again else files.read_expected(given.directory)
    unoptimized = {} if given.unoptimized is None else files.read_results(given.unoptimized, given.directory)[1]
    verdicts: list[Verdict] = []
    refused = []

    # Only NVIDIA's assembler makes its mistakes.
    mistakes = "backend=" not in device or "backend='tileiras'" in device

    def verdict_on(number: int, found: Result) -> Verdict:
        verdict = comparing.compare(programs[number], wanted[number], found, mistakes)
        return judged_again(verdict, found) if verdict.kind == DIFFERENT else verdict

    for number, program in enumerate(programs):
        if number not in results and program.text in assembly.refused:
            refused.append((program, assembly.refused[program.text]))
            verdicts.append(Verdict(program, comparing.REFUSED, [], [], [assembly.refused[program.text]]))
        elif number in results and number in wanted:
            verdict = verdict_on(number, results[number])
            if verdict.kind == comparing.REFUSED:
                refused.append((program, verdict.words[0]))
            if verdict.kind in (DIFFERENT, comparing.NOT_RUN) and number in unoptimized:
                verdict = comparing.optimizers_mistake(verdict, verdict_on(number, unoptimized[number]))
            verdicts.append(verdict)
    report = "\n\n".join(
        [
            f"# {device}",
            comparing.table_of_classes(verdicts),
            comparing.table_of_rules(verdicts),
            comparing.table_of_choices(verdicts),
            comparing.table_of_measures(verdicts),
            "Refused:\n" + comparing.refusals(refused),
        ]
    )
    print(report)
    (given.out / "report.md").write_text(report + "\n", encoding="utf-8")
    for kind in ("different", "not run", "assembler", "open", "unspecified"):
        text = comparing.smallest_programs(verdicts, kind, 60)
        (given.out / f"smallest_{kind.replace(' ', '_')}.txt").write_text(text, encoding="utf-8")
    wrong = [verdict for verdict in verdicts if verdict.kind in ("different", "not run")]
    for verdict in wrong[:100]:
        print(f"{verdict.kind}: {verdict.program.name}\n    {verdict.words[0] if verdict.words else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
