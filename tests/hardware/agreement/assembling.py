"""NVIDIA's assembler on many programs: several kernels in one file, and a refusal told of the one that is refused."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.hardware.agreement.program import Program

import tileir
from tileir.execute.gpu.tileiras.program import work_around
from tileir.ir.traversal import clone

TOGETHER = 24
"""Kernels in one file; starting the assembler takes as long as a few of them."""
LENGTH = 60_000
"""Characters of the programs in one file, so that those of long programs are soon made."""
SECONDS = 120.0
"""For one run; a kernel that takes longer is refused."""


class Assembled(NamedTuple):
    """A file of several kernels: by the text of a program, the name of its kernel."""

    cubin: bytes
    names: dict[str, str]


class Assembly(NamedTuple):
    files: list[Assembled]
    refused: dict[str, str]
    """By the text of a program, why there is no code for it."""


def find_tool() -> str:
    """The path of tileiras: `$TILEIRAS`, or that of the installed package."""
    given = os.environ.get("TILEIRAS")
    if given:
        return given
    for file in importlib.metadata.files("nvidia-cuda-tileiras") or []:
        if file.name == "tileiras":
            return str(file.locate())
    raise FileNotFoundError("nvidia-cuda-tileiras has no tileiras")


def assemble(
    programs: list[Program],
    target: str,
    processes: int,
    as_written: bool = False,
    host: str = "x86_64",
    at_most: float = float("inf"),
    opt_level: int | None = None,
) -> Assembly:
    """Code for programs, several at a time, as the engine "tileiras" has them made.

    The engine writes what the assembler refuses or gets wrong as something else; `as_written` gives it to the assembler.
    After `at_most` seconds no file is begun, and the programs of the others stay without code.
    """
    # Cubins have code for the host that launches them, too.
    options = ["--gpu-name", target, f"--host-arch={host}", "--host-os=linux"]
    if opt_level is not None:
        options.append(f"--opt-level={opt_level}")
    tool = find_tool()
    end = time.monotonic() + at_most
    files: list[Assembled] = []
    refused: dict[str, str] = {}
    groups = list(_groups(programs, refused, as_written))
    with ThreadPoolExecutor(processes) as pool:
        for made, wrong in pool.map(lambda group: _assembled([tool, *options], group, end), groups):
            files += made
            refused.update(wrong)
    return Assembly(files, refused)


def _groups(programs: list[Program], refused: dict[str, str], as_written: bool) -> Iterator[list[tuple[str, Any]]]:
    """Programs as modules with one kernel each, in groups; what cannot be written goes to `refused`."""
    group: list[tuple[str, Any]] = []
    length = 0
    texts = list(dict.fromkeys([program.text for program in programs]))
    for text in texts:
        try:
            module = tileir.parse(text)
            tileir.run_passes(module, ["legalize"])
            if not as_written:
                work_around(module)
            tileir.to_bytecode(module)
        except tileir.TileIRError as error:
            refused[text] = f"tileir: {str(error).splitlines()[0]}"
            continue
        if len(list(module.regions[0].block)) > 1:
            # Global variables and several kernels: names may collide.
            yield [(text, module)]
            continue
        group.append((text, module))
        length += len(text)
        if len(group) == TOGETHER or length > LENGTH:
            yield group
            group, length = [], 0
    if group:
        yield group


def _assembled(command: list[str], group: list[tuple[str, Any]], end: float) -> tuple[list[Assembled], dict[str, str]]:
    """One file for a group, or where that is refused, files for halves of it."""
    if time.monotonic() > end:
        return [], {}
    names, data = _together(group)
    cubin, words = _run(command, data)
    if cubin is not None:
        return [Assembled(cubin, names)], {}
    lacking = re.search(r"unsupported type '(\w+)'", words)
    if lacking is not None:
        # None of the others with this type can be taken either.
        having = re.compile(rf"x?{lacking[1]}\b")
        wrong = {text: words for text, _ in group if having.search(text)}
        rest = [(text, module) for text, module in group if text not in wrong]
        if wrong:
            files, refused = _assembled(command, rest, end) if rest else ([], {})
            return files, {**wrong, **refused}
    if len(group) == 1:
        return [], {group[0][0]: words}
    middle = len(group) // 2
    files, refused = _assembled(command, group[:middle], end)
    more, others = _assembled(command, group[middle:], end)
    return files + more, {**refused, **others}


def _together(group: list[tuple[str, Any]]) -> tuple[dict[str, str], bytes]:
    if len(group) == 1:
        text, module = group[0]
        return {text: "k"}, tileir.to_bytecode(module)
    whole = tileir.parse("cuda_tile.module @m {}")
    names: dict[str, str] = {}
    for number, (text, module) in enumerate(group):
        (entry,) = module.regions[0].block
        copied = clone(entry)
        names[text] = f"k{number}"
        copied.set_attribute("sym_name", names[text])
        whole.regions[0].block.append(copied)
    tileir.verify(whole)
    return names, tileir.to_bytecode(whole)


def _run(command: list[str], data: bytes) -> tuple[bytes | None, str]:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "k.tileirbc", Path(folder) / "k.cubin"
        source.write_bytes(data)
        whole = [*command, str(source), "-o", str(made)]
        try:
            result = subprocess.run(whole, capture_output=True, text=True, timeout=SECONDS, env=_environment())
        except subprocess.TimeoutExpired:
            return None, f"takes longer than {SECONDS:.0f} s"
        if result.returncode == 0:
            return made.read_bytes(), ""
        if result.returncode < 0:
            return None, f"ends by signal {-result.returncode}"
        lines = [line.strip() for line in (result.stderr + result.stdout).replace(folder, "").splitlines()]
        said = [line for line in lines if line and "failed to compile Tile IR program" not in line]
        return None, "; ".join(said[:3]) or f"exit status {result.returncode}"


def _environment() -> dict[str, str]:
    """Without another CUDA, whose libraries the assembler would take instead of its own."""
    return {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
