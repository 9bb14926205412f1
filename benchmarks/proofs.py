"""What `tileir prove` decides about published kernels, and the processor time that takes.

    python benchmarks/recorded_programs.py ~/cutile-python build/programs/samples
    python benchmarks/recorded_programs.py ~/TileGym build/programs/tilegym
    python benchmarks/proofs.py build/programs/samples build/programs/tilegym [--reasons] [--json FILE]

The examples and the kernels of tests/proofs are always among them, with their own assumptions.  Folders have programs
as recorded_programs.py writes them, one for each structure.  A refutation is printed with the launch that shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT))

from tests.proofs.kernels import EXAMPLE_KERNELS, KERNELS  # noqa: E402

import tileir  # noqa: E402
from measure import table  # noqa: E402
from recorded_programs import structure  # noqa: E402
from tileir.execute.launching.entries import entries_of  # noqa: E402
from tileir.proofs.prover import prove_entry  # noqa: E402
from tileir.proofs.records import QUESTIONS  # noqa: E402
from tileir.proofs.report import Proof, location_text  # noqa: E402

VERDICTS = ("proved", "refuted", "unknown")


class Program(NamedTuple):
    source: str
    path: Path
    assume: Sequence[str] = ()
    grid: Sequence[str] | None = None


def programs(folders: Sequence[Path]) -> Iterator[Program]:
    """The programs of the table."""
    named = {kernel.name: kernel for kernel in EXAMPLE_KERNELS.values()}
    for path in sorted((ROOT / "examples").glob("*.mlir")):
        if path.stem != "broken":
            yield Program("examples", path, named[path.stem].assume if path.stem in named else ())
    for kernel in KERNELS.values():
        yield Program("own kernels", kernel.folder / f"{kernel.name}.mlir", kernel.assume)
    for folder in folders:
        for path in sorted([*folder.glob("*.tileirbc"), *folder.glob("*.mlir")]):
            yield Program(folder.name, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="programs that were recorded")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit for a kernel (default: 30)")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose path has this in it")
    parser.add_argument("--reasons", action="store_true", help="print why questions stay open, the commonest first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {question: Counter() for question in QUESTIONS}
    sources: dict[str, dict[str, Counter[str]]] = {}
    seconds: list[float] = []
    reasons: Counter[str] = Counter()
    where: dict[str, str] = {}
    refuted: list[str] = []
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    for program in programs(given.folders):
        if given.only not in str(program.path):
            continue
        module = tileir.load(str(program.path))
        key = f"{program.source} {structure(module)}"
        if key in seen:
            continue
        seen.add(key)
        for name, entry in entries_of(module).items():
            label = f"{program.source}/{program.path.stem}"
            before = sum(os.times()[:4])
            try:
                proof = prove_entry(entry, program.assume, program.grid, given.seconds)
            except Exception as error:
                print(f"{label}: {type(error).__name__}: {error}", flush=True)
                continue
            taken = sum(os.times()[:4]) - before
            seconds.append(taken)
            line = []
            for question in QUESTIONS:
                verdict = proof[question].verdict
                counts[question][verdict] += 1
                sources.setdefault(program.source, {each: Counter() for each in QUESTIONS})[question][verdict] += 1
                line.append(f"{question} {verdict}" if verdict != "proved" else "")
                if verdict == "refuted":
                    refuted.append(_refutation(label, proof, question))
                for reason in _reasons(proof, question):
                    reasons[f"{question}: {reason}"] += 1
                    where.setdefault(f"{question}: {reason}", label)
            print(f"{label}: {', '.join(filter(None, line)) or 'proved'} in {taken:.2f} s", flush=True)
            found.append({"program": label, "entry": name, **proof.to_dict()})
    print()
    _print_table("all", counts)
    for source, own in sources.items():
        _print_table(source, own)
    if seconds:
        words = f"median {median(seconds):.2f} s, at most {max(seconds):.2f} s"
        print(f"{len(seconds)} kernels: {words} of one processor, the launches included")
    for text in refuted:
        print(f"\n{text}")
    if given.reasons:
        print()
        for reason, count in reasons.most_common():
            print(f"{count:4} {reason}   ({where[reason]})")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _print_table(title: str, counts: dict[str, Counter[str]]) -> None:
    rows = []
    for question, verdicts in counts.items():
        total = sum(verdicts.values())
        decided = 100 * (total - verdicts["unknown"]) / total if total else 0
        rows.append((question, *[str(verdicts[each]) for each in VERDICTS], f"{decided:.0f} %"))
    print(table((title, *VERDICTS, "decided"), rows))
    print()


def _reasons(proof: Proof, question: str) -> list[str]:
    """Why a question stays open, each reason once."""
    if proof[question].verdict != "unknown":
        return []
    texts = [
        f"{claim.operation.declaration.mnemonic if claim.operation is not None else ''}: {claim.reason}"
        for claim in proof[question].claims
        if claim.verdict != "proved"
    ]
    return list(dict.fromkeys(texts))


def _refutation(label: str, proof: Proof, question: str) -> str:
    answer = proof[question]
    assert answer.launch is not None and answer.finding is not None
    launch = f"launch: {answer.launch.text()}"
    return f"{label}, {question} at {location_text(answer.finding.operation)}\n{launch}\n{answer.finding.render()}"


if __name__ == "__main__":
    sys.exit(main())
