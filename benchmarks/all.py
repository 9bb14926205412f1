"""Every line that we are measured by, as one table: the peer, the ratio, the bar, and the change since earlier runs.

    python benchmarks/all.py                          # all of it, less than 15 minutes
    python benchmarks/all.py --only start,attention   # a benchmark, and the lines of others that have this word
    python benchmarks/all.py --history build/bench.jsonl --strict

A history is a file with one JSON object for each run: when, which commit, on which machine, which build, and the lines.
What got more than 3 % worse than in the best of the last ten runs of the same machine and build is marked, so that what
gets worse little by little shows too; noise is part of that, so run it on a quiet machine, and again.  Each benchmark
is a process of its own.  A peer that is not installed is told.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from measure import Line, is_compiled, machine, table, tileir_build

HERE = Path(__file__).resolve().parent
WORSE = 0.03
RUNS = 10
"""Earlier runs that a run is compared with."""
SIZES = ("1000", "20000", "100000", "1000000")
_READ = ("bytecode_speed.py", "--only-read")

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "additions": (*_READ, "--kinds", "additions", "--sizes", *SIZES),
    # A million operations of these take minutes to make in pure Python.
    "programs": (*_READ, "--kinds", "kernels", "mixed", "random"),
    "unlike": (*_READ, "--kinds", "unlike", "located", "--sizes", *SIZES[:2]),
    "text": ("text_speed.py", "--operations", "5000", "--rounds", "3"),
    "start": ("startup.py",),
    "interpreter": ("interpreter_speed.py",),
    "shapes": ("matmul_shapes.py", "--both", "--rounds", "25"),
    "cpu": ("cpu_speed.py", "--no-costs", "--seconds", "4"),
}
QUICK: dict[str, tuple[str, ...]] = {
    "programs": (*_READ, "--sizes", "100", "6000", "--seconds", "0"),
    "text": ("text_speed.py", "--operations", "500", "--rounds", "1"),
    "start": ("startup.py", "--only-tools", "--runs", "1"),
    "interpreter": ("interpreter_speed.py", "--rounds", "1"),
    "shapes": ("matmul_shapes.py", "--size", "128", "--every", "60", "--rounds", "1"),
    "cpu": ("cpu_speed.py", "--no-costs", "--seconds", "0.01", "--only", "vector add"),
}
"""The same with little work, which says nothing about speed: to see that every line can be made."""

ABOUT = {
    "additions": "read + verify + print, additions; growth",
    "programs": "read + verify + print, kernels, mixed, random; growth",
    "unlike": "read + verify + print, unlike (random programs, none twice), located (kernels with debug info); growth",
    "text": "parse, verify, print a text; memory of a parsed text",
    "start": "start of tileir dis, check, opt, as; first launch",
    "interpreter": "interpreter: matmul",
    "shapes": "product f32 on one thread: tiles from 32 to 256, other extents, through pointers, transposed, f64",
    "cpu": "vector add, seven elementwise, softmax, layer norm, matmul, attention; f32, f16, bf16",
}
"""The words by which lines can be asked for, of each benchmark."""

PEERS = {"torch": "torch", "xdsl": "xDSL", "cuda.tile": "tileirdisasm and cuTile"}


def missing_peers() -> list[str]:
    """The peers that are not installed, in words."""
    return [words for name, words in PEERS.items() if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def asked_for(only: str, chosen: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The benchmarks to run, each with the words that its lines have to have one of; without any all of them count."""
    words = [word.strip() for word in only.split(",") if word.strip()]
    found: dict[str, list[str]] = {name: [] for name in chosen if name in words or not words}
    for word in words:
        if word not in chosen:
            about = [name for name in chosen if word in ABOUT[name]]
            if not about:
                raise ValueError(
                    f"no line has '{word}'; there are {', '.join(chosen)}, and {'; '.join(ABOUT.values())}"
                )
            for name in about:
                if name not in words:
                    found.setdefault(name, []).append(word)
    return {name: found[name] for name in chosen if name in found}


def lines_of(name: str, command: tuple[str, ...], folder: Path, quiet: bool) -> tuple[list[Line], str]:
    """The lines of a benchmark, and what went wrong, if anything did."""
    file = folder / f"{name}.jsonl"
    script, *options = command
    done = subprocess.run(
        [sys.executable, str(HERE / script), *options, "--json", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=HERE.parent,
    )
    if not quiet:
        print(done.stdout, flush=True)
    lines: list[Line] = []
    if file.exists():
        lines = [Line(**json.loads(text)) for text in file.read_text(encoding="utf-8").splitlines()]
    if lines:
        return lines, ""
    last = done.stdout.strip().splitlines()[-1:] or [f"status {done.returncode}"]
    return [], f"{script} has no lines: {last[0]}"


# --- the history ---


def commit() -> str:
    """The commit that is measured; empty in a copy of the sources, and where there is no git."""
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=HERE)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def processor() -> str:
    """The name of the processor, by which runs are compared with each other."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def entry(lines: list[Line], quick: bool = False) -> dict[str, Any]:
    build = "compiled" if is_compiled() else "pure"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        # What was done with little work is compared with its like only.
        "build": f"{build}, quick" if quick else build,
        "lines": [line._asdict() for line in lines],
    }


def best_before(history: Path, like: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The best figures on the same machine with the same build; of each line the best of the last runs that have it."""
    found: dict[tuple[str, str], list[Line]] = {}
    if history.exists():
        for text in history.read_text(encoding="utf-8").splitlines():
            earlier = json.loads(text)
            if all(earlier[key] == like[key] for key in ("machine", "build")):
                for line in [Line(**each) for each in earlier["lines"]]:
                    found.setdefault((line.work, line.peer), []).append(line)
    best: dict[tuple[str, str], float] = {}
    for key, lines in found.items():
        # Which way is better is what the newest says.
        choose = min if lines[-1].at_most else max
        best[key] = choose(line.ratio for line in lines[-RUNS:])
    return best


def change(line: Line, before: dict[tuple[str, str], float]) -> float | None:
    """How much better the line is than before, as a fraction; None if there is nothing to compare with."""
    earlier = before.get((line.work, line.peer))
    if not earlier or not line.ratio:
        return None
    return (earlier / line.ratio if line.at_most else line.ratio / earlier) - 1


def changed(line: Line, before: dict[tuple[str, str], float]) -> str:
    found = change(line, before)
    if found is None:
        return ""
    return f"{found:+.1%}{' WORSE' if found < -WORSE else ''}"


def shown(lines: list[Line], before: dict[tuple[str, str], float]) -> str:
    cells = [
        (line.work, line.peer, f"{line.ratio:.2f}{line.unit}", line.asked, line.verdict, changed(line, before))
        for line in lines
    ]
    return table(("work", "peer", "measured", "bar", "", "change"), cells)


def main() -> int:
    parser = argparse.ArgumentParser(description="Every line that we are measured by, as one table.")
    parser.add_argument("--only", default="", metavar="WORDS", help="benchmarks, and lines that have one of the words")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write this run as a JSON object")
    parser.add_argument(
        "--history", type=Path, metavar="FILE", help="compare with the last runs there, and add this one"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with status 1 when a bar is missed or a line is worse"
    )
    parser.add_argument("--quick", action="store_true", help="little work: the lines are made, but say nothing")
    parser.add_argument("--quiet", action="store_true", help="leave out the tables of the benchmarks themselves")
    options = parser.parse_args()
    chosen = QUICK if options.quick else BENCHMARKS
    try:
        wanted = asked_for(options.only, chosen)
    except ValueError as error:
        parser.error(f"--only: {error}")
    print(f"{tileir_build()}\n{machine()}, {processor()}", flush=True)
    for peer in missing_peers():
        print(f"not installed, so not compared: {peer}")
    # Looked at first: a file that is no history is an error now, not after ten minutes.
    before = best_before(options.history, entry([], options.quick)) if options.history is not None else {}
    lines: list[Line] = []
    problems: list[str] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in wanted.items():
            # The one that takes longest can leave out what is not asked for.
            only = ("--only", ",".join(words)) if name == "cpu" and words else ()
            began = time.monotonic()
            found, problem = lines_of(name, (*chosen[name], *only), Path(folder), options.quiet)
            print(f"[{name}: {time.monotonic() - began:.0f} s]", flush=True)
            lines += [line for line in found if not words or any(word in line.work for word in words)]
            problems += [problem] if problem else []
    run = entry(lines, options.quick)
    print(f"\n{shown(lines, before)}\n")
    for problem in problems:
        print(problem)
    missed = [line for line in lines if not line.met]
    worse = [line for line in lines if (change(line, before) or 0.0) < -WORSE]
    bars = sum(line.bar is not None for line in lines)
    minutes = (time.monotonic() - start) / 60
    print(
        f"{bars - len(missed)} of {bars} bars met, {len(worse)} lines worse by more than {WORSE:.0%}; {minutes:.1f} min"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    if options.history is not None and lines:
        options.history.parent.mkdir(parents=True, exist_ok=True)
        with open(options.history, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
    return 1 if options.strict and (missed or worse or problems) else 0


if __name__ == "__main__":
    sys.exit(main())
