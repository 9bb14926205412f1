"""What a reader says to bytecode: ours, and NVIDIA's disassembler."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.kernels.export import disassembler

import tileir
from tileir.bytecode.reader import read_public


class Verdict:
    """What a reader said: whether it took the file, its errors without their places, and its text where asked for."""

    def __init__(self, accepted: bool, lines: list[str], crashed: bool = False, text: str = "") -> None:
        self.accepted = accepted
        self.lines = lines
        self.crashed = crashed
        self.text = text


def our_verdict(data: bytes) -> Verdict:
    """Read and verify, as the disassembler does; any exception but ours goes through."""
    try:
        tileir.verify(read_public(data))
    except tileir.TileIRError as error:
        return Verdict(False, [d.message for d in error.diagnostics if d.severity == "error"])
    return Verdict(True, [])


def tool_verdicts(files: Iterable[bytes], workers: int = 2) -> Iterator[Verdict]:
    """What tileirdisasm says, in order."""
    return _judged(files, workers, False)


def tool_outputs(files: Iterable[bytes], workers: int = 2) -> Iterator[Verdict]:
    """What tileirdisasm says and prints, in order."""
    return _judged(files, workers, True)


def _judged(files: Iterable[bytes], workers: int, with_text: bool) -> Iterator[Verdict]:
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=folder) as directory, ThreadPoolExecutor(workers) as pool:
        judge = functools.partial(_tool_verdict, directory, with_text)
        numbered = list(enumerate(files))
        yield from pool.map(judge, [number for number, _ in numbered], [data for _, data in numbered])


#: What the tool may print, and how long it may take; of some files it never makes an end.
TOOL_OUTPUT = 32 << 20
TOOL_SECONDS = 20


def _tool_verdict(directory: str, with_text: bool, number: int, data: bytes) -> Verdict:
    path = Path(directory) / f"{number}.tileirbc"
    path.write_bytes(data)
    # Windows has neither this module nor NVIDIA's disassembler.
    import resource

    tool = disassembler()
    assert tool is not None
    errors, output = path.with_suffix(".errors"), path.with_suffix(".text")
    with open(errors, "wb") as error_file, open(output, "wb") as output_file:
        # Without close_fds the start of a process costs a third.
        process = subprocess.Popen([tool, path], stdout=output_file, stderr=error_file, close_fds=False)
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (TOOL_OUTPUT, TOOL_OUTPUT))
        try:
            status = process.wait(TOOL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
    said = errors.read_bytes() if status in (0, 3) else b""
    text = output.read_bytes().decode("utf-8", "surrogateescape") if with_text and status == 0 else ""
    for file in (path, errors, output):
        file.unlink()
    lines = [line.partition("error: ")[2] for line in said.decode("utf-8", "surrogateescape").split("\n")]
    return Verdict(status == 0, [line for line in lines if line], status not in (0, 3), text)
