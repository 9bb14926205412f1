"""Where the tools write: files by name or in a directory, or standard output."""

from __future__ import annotations

import os
import stat
import sys

from tileir import whole_files
from tileir.tools.arguments import Arguments, ToolFailure
from tileir.tools.command import SYSTEM, refusing
from tileir.tools.input import name_of
from tileir.tools.options import OUTPUT_DIRECTORY


def output_paths(given: Arguments, extension: str) -> list[str]:
    """Where the output of each operand goes: `-o` is for one, `--output-dir` for any number."""
    operands, directory = given.operands, given.value(OUTPUT_DIRECTORY.name)
    if not given.has(OUTPUT_DIRECTORY.name):
        output = given.value("output", "-")
        if len(operands) > 1 and output != "-":
            raise ToolFailure(f"'-o' names one file, and there are {len(operands)}: use '--output-dir DIR'")
        return [output] * len(operands)
    if given.has("output"):
        raise ToolFailure("'-o' and '--output-dir' exclude each other")
    found: dict[str, str] = {}
    for operand in operands:
        if operand == "-":
            raise ToolFailure("standard input has no name for '--output-dir': use '-o FILE'")
        name = os.path.splitext(os.path.basename(operand))[0] + extension
        if name in found:
            raise ToolFailure(f"'{found[name]}' and '{operand}' would both become '{name}'")
        found[name] = operand
    make_directory(directory)
    return [os.path.join(directory, name) for name in found]


def make_directory(path: str) -> None:
    with refusing(f"cannot make the directory '{path}': ", SYSTEM):
        os.makedirs(path, exist_ok=True)


def write_output(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`."""
    if path == "-":
        sys.stdout.write(text)
    else:
        write_file(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str, data: bytes, subject: str = "bytecode is") -> None:
    """Write bytes to a file, or to standard output for `-`, but never onto a screen."""
    if path != "-":
        write_file(path, data)
    elif sys.stdout.isatty():
        raise ToolFailure(f"{subject} not written to a terminal: use '-o FILE'")
    else:
        sys.stdout.buffer.write(data)


def write_file(path: str, data: bytes | memoryview) -> None:
    """Give a file new contents, or fail with what was there before in place."""
    with refusing(f"cannot write '{path}': ", SYSTEM):
        whole_files.write_file(path, data)


def check_target(path: str) -> None:
    """Refuse a file before the work that `write_file` would refuse after it; `-` is standard output."""
    if path != "-":
        with refusing(f"cannot write '{path}': ", SYSTEM):
            whole_files.check_target(path)


def protect_input(path: str, source: str, kinds: tuple[str, str]) -> None:
    """Refuse to replace an input by something of another kind; `kinds` are what it holds and what would be written.

    Symbolic and hard links to the input are the input.
    """
    if kinds[0] == kinds[1] or path == "-":
        return
    try:
        written = os.stat(path)
        read = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)
    except (OSError, ValueError, AttributeError):
        # It is not the file that was read; writing reports what is wrong with it.
        return
    if stat.S_ISREG(read.st_mode) and os.path.samestat(written, read):
        same = "it" if path == source else f"'{path}', which is the same file,"
        loss = f"'{name_of(source)}' holds {kinds[0]}, and {same} would be replaced by {kinds[1]}"
        raise ToolFailure(f"{loss}: choose another file")
