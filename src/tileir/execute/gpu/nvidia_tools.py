"""NVIDIA's tools: where they are, and the instructions of a cubin by the disassembler, whose slow output is cached.

Packages of pip put a tool into `nvidia/cu13/bin` beside other packages; Triton includes some too, often older ones.
"""

from __future__ import annotations

import os
import re
import sys
from _blake2 import blake2b
from typing import Final

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.cache.private_files import name_of, stamp_of
from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.cubin import Cubin

_SUFFIX: Final = ".exe" if sys.platform == "win32" else ""
_TRITON_TOOLS: Final = os.path.join("triton", "backends", "nvidia", "bin")

_SECONDS: Final = 60.0
_FILE: Final = "kernel.cubin"
_TOOL: Final = "nvdisasm"
_PLACE: Final = re.compile(r'\s*//## File ".*", line (\d+)')
_INSTRUCTION: Final = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+\S")


def find_tool(name: str) -> str:
    """The path of a tool: in a package, that for the newest CUDA, on PATH, or Triton's; empty if nowhere."""
    found = _installed(name + _SUFFIX)
    if found:
        return found
    # Imported here: hardly any machine gets here.
    from shutil import which

    with_triton = [os.path.join(folder or os.curdir, _TRITON_TOOLS, name + _SUFFIX) for folder in sys.path]
    return which(name) or next((os.path.abspath(path) for path in with_triton if os.path.isfile(path)), "")


def _installed(name: str) -> str:
    for folder in sys.path:
        packages = os.path.join(folder or os.curdir, "nvidia")
        try:
            kits = os.listdir(packages)
        except OSError:
            continue
        for kit in sorted(kits, key=lambda kit: int(kit[2:]) if re.fullmatch("cu[0-9]+", kit) else -1, reverse=True):
            path = os.path.join(packages, kit, "bin", name)
            if kit.startswith("cu") and os.path.isfile(path):
                return os.path.abspath(path)
    return ""


def why_missing() -> str:
    """Why there is no disassembler, with what to do about it; empty if there is one."""
    return (
        "" if find_tool(_TOOL) else f"NVIDIA's disassembler, {_TOOL}, is not installed: pip install nvidia-cuda-{_TOOL}"
    )


def disassembled_lines(cubin: Cubin) -> tuple[list[str], list[int]]:
    """What it prints of a kernel with line information, and for each instruction its line; 0 is none."""
    lines: list[str] = []
    numbers: list[int] = []
    number = 0
    for line in disassembled(cubin, "-g").splitlines():
        place = _PLACE.match(line)
        if place is not None:
            number = int(place[1])
            continue
        is_padding = line.rstrip().endswith(" NOP;")
        lines.append(line)
        numbers.append(number if _INSTRUCTION.match(line) and not is_padding else 0)
    return lines, numbers


def disassembled(cubin: Cubin, *options: str) -> str:
    """What `nvdisasm` prints of a kernel."""
    tool = find_tool(_TOOL)
    if not tool:
        raise MissingDependencyError(why_missing())
    try:
        stamp = name_of([stamp_of(tool, os.stat(tool))], " ".join(options))
    except OSError as error:
        raise MissingDependencyError(f"NVIDIA's disassembler, '{tool}', cannot be used: {error.strerror}") from None
    key = blake2b(stamp.encode() + cubin.data, digest_size=20).hexdigest()
    kept = default_cache().get(key)
    if kept is not None:
        return kept[0].decode("utf-8", "surrogateescape")
    # Imported here: finding a tool starts no process.
    from tileir.processes.command import run_command

    outcome = run_command([tool, "-c", *options, _FILE], {_FILE: cubin.data}, time_limit=_SECONDS)
    if outcome.status != 0:
        how = "did not finish" if outcome.timed_out else f"ended with status {outcome.status}"
        raise CompilationError(f"NVIDIA's disassembler {how}: {outcome.output.strip()}")
    # One that is older than what made the cubin warns of its format.
    output = "".join(
        [line for line in outcome.output.splitlines(keepends=True) if not line.startswith(f"{_TOOL} warning")]
    )
    default_cache().put(key, output.encode("utf-8", "surrogateescape"), {})
    return output
