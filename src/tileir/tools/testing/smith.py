"""`tileir smith`: random programs for anyone's compiler, with arguments and expected results."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tileir.terminal import tracked
from tileir.tools.arguments import Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command
from tileir.tools.options import JSON, OUTPUT, QUIET, VERSION
from tileir.tools.output import check_target, make_directory, write_bytes, write_output

if TYPE_CHECKING:
    from tileir.analyze.smith.program import SmithProgram

USAGE = Usage(
    "tileir smith",
    "",
    ("tileir smith --seed 7", "tileir smith --count 10 --family matmuls -o programs"),
    (
        Option("--seed N", "which program, from 0 on (default: 0)"),
        Option("--count K", "the programs of that many seeds, beginning with N; '-o DIR' takes them"),
        Option("--family NAME", "what kind of program (default: any; see --list-families)"),
        Option("--ops NAMES", "only these operations, as addf,mmaf, and what feeds them"),
        VERSION.with_help("the bytecode version to keep to (default: the newest)"),
        Option("--size N", "about how many operations (default: 80)"),
        Option("--allow-open", "also results whose bits the dialect leaves open, in arrays that have a tolerance"),
        OUTPUT.with_help("a file, or a directory for SEED.mlir and SEED.npz (default: standard output)"),
        Option("--bytecode", "write bytecode instead of text"),
        Option("--expected FILE.npz", "write arguments and expected results there"),
        JSON.with_help("print an object for each program: its text, launch, and digests of the expected results"),
        Option("--list-families", "list the families and stop"),
        QUIET,
    ),
    """\
The same command prints the same program on every machine. Its first line is its launch, with the options of
'tileir run', which reads it: 'tileir run FILE'. In a .npz file argument_0, argument_1, .. are the arguments of the
launch, and expected_N is the array that argument N must be afterwards, bit for bit.""",
    statuses={1: ""},
)

_LARGEST = 100_000
"""Operations of one program, and programs of one command."""


@command(USAGE)
def run(given: Arguments) -> None:
    from tileir.analyze.smith.program import SMITH_FAMILIES, smith

    if given.has("list-families"):
        width = max(map(len, SMITH_FAMILIES))
        for family in SMITH_FAMILIES.values():
            print(f"{family.name:{width}}  {family.summary}")
        return
    first, count = given.number("seed", 0, least=0), given.number("count", 1, least=0, most=_LARGEST)
    options: dict[str, Any] = {"family": given.value("family") or None, "allow_open": given.has("allow-open")}
    options |= {"version": given.value("bytecode-version") or None}
    options |= {"operations": given.names("ops")} if given.has("ops") else {}
    options |= {"size": given.number("size", least=0, most=_LARGEST)} if given.has("size") else {}
    output = given.value("output", "-")
    folder = output != "-" and (count > 1 or output.endswith(os.sep) or os.path.isdir(output))
    _check(given, count, output, folder)
    for seed in tracked(range(first, first + count), count, "programs", is_quiet=given.has("quiet")):
        program = smith(seed, **options)
        if given.has("expected"):
            _save(program, given.value("expected"))
        if given.has("json"):
            print(json.dumps(_described(program)), flush=True)
            continue
        path, ending = os.path.join(output, str(seed)), ".tileirbc" if given.has("bytecode") else ".mlir"
        target = f"{path}{ending}" if folder else output
        if given.has("bytecode"):
            write_bytes(target, program.bytecode())
        else:
            write_output(target, program.text())
        if folder:
            _save(program, f"{path}.npz")


def _check(given: Arguments, count: int, output: str, folder: bool) -> None:
    """Refuse before there is work that would be lost."""
    if given.has("json") and output != "-":
        raise ToolFailure("'--json' prints to standard output: leave out '-o'")
    if count > 1 and output == "-" and not given.has("json"):
        raise ToolFailure("several programs go to a directory: add '-o DIR', or '--json'")
    if given.has("expected"):
        if count > 1 or folder:
            raise ToolFailure("'--expected' names one file: '-o DIR' writes one for each program")
        check_target(given.value("expected"))
    if folder:
        make_directory(output)
    else:
        check_target(output)


def _save(program: SmithProgram, path: str) -> None:
    # Its error names what to install where NumPy is missing.
    results = program.results()
    import numpy

    from tileir.tools.launches import save

    arrays = {f"argument_{number}": numpy.asarray(each) for number, each in enumerate(program.arguments)}
    save(path, numpy.savez, **arrays, **{f"expected_{number}": array for number, array in results})


def _described(program: SmithProgram) -> dict[str, Any]:
    import hashlib

    expected = []
    for number, array in program.results():
        digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
        one: dict[str, Any] = {"argument": number, "bytes": array.nbytes, "blake2b": digest}
        if number in program.tolerances:
            one["tolerance"] = program.tolerances[number]
        expected.append(one)
    found = {name: getattr(program, name) for name in ("seed", "family", "version", "target")}
    found |= {"exact": program.is_exact, "grid": list(program.grid), "arguments": list(program.launch.arguments)}
    return found | {"operations": program.operations, "expected": expected, "text": program.text()}
