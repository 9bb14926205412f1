"""C++ sources: compiling one to bytecode, and NVRTC's messages as diagnostics."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tileir.cpp.errors import CppError
from tileir.cpp.nvrtc import Compiled, compile_source, header_folders
from tileir.cpp.standard_headers import PRELUDE, standard_headers
from tileir.dialect.ops import ENTRY, GET_GLOBAL, GLOBAL
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN, CharacterLocation, Location, SourceText, file_location

_ALWAYS = ("--enable-tile", "--gpu-architecture=compute_90", "-std=c++20", f"--pre-include={PRELUDE}")
_MOST_ERRORS = 20
_MOST_NOTES = 3
# The name of the file in NVRTC's messages about the requested kernels.
_NAMES = "__nv_name_map"

# `file(line): error: message`, or `file(line): note #3043-D: message`; its lines that follow are indented.
_HEAD = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>[a-z ]+?)(?: #\d+(?:-D)?)?: (?P<message>.*)")
_WORD = re.compile(r"(\S+)")
_TEMPLATE = re.compile(r"template\s*<[^{;]*?>\s*(?:static\s+)?__tile_global__\s+(?:\w+\s+)*?(\w+)\s*\(")
_FUNCTION = re.compile(r"__tile_global__[^({;]*?(\w+)\s*\(")
_SIMT = re.compile(r"__global__[^({;]*?(\w+)\s*\(")
# The kernel that NVRTC adds to a source without one.
_DUMMY = b"__$dummy_kernel"
_MISSING = re.compile(r'cannot open source file "(.+?)"')
_EXTENTS = re.compile(r"cuda::tiles::extents<cuda::tiles::uint32_t, ([^<>]*)>")
_INCLUDE = re.compile(r'\s*#\s*include\s*[<"]')
_OF_CCCL = ("cub/", "cuda/", "nv/", "thrust/")


class CppProgram:
    """The bytecode of a source, the symbols of the requested kernels, and the compiler's warnings."""

    def __init__(self, data: bytes, symbols: list[str], diagnostics: list[Diagnostic]) -> None:
        self.data = data
        self.symbols = symbols
        self.diagnostics = diagnostics


def compile_cpp(
    data: bytes,
    path: str,
    expressions: Sequence[str] = (),
    defines: Mapping[str, object] | None = None,
    include: Sequence[str] = (),
) -> CppProgram:
    """Compile a source; `expressions` name kernels in it, instances of templates among them."""
    text = data.decode("utf-8", "surrogateescape")
    installed = header_folders()
    folders = [os.path.dirname(os.path.abspath(path)), *include, *installed]
    options = [*_ALWAYS, *[f"--define-macro={name}={value}" for name, value in (defines or {}).items()]]
    options += [f"--include-path={folder}" for folder in folders]
    headers = standard_headers(tuple(installed))
    compiled = compile_source(text, os.path.abspath(path), options, list(expressions), headers)
    found = diagnostics_of(compiled.log, text, path)
    if not compiled.data:
        errors = [each for each in found if each.severity == "error"]
        if not errors and f"\n{_NAMES}(" in f"\n{compiled.log}":
            raise CppError.of(_unknown_kernel(compiled.log, expressions), _listed(text, expressions))
        if not errors:
            reason = compiled.log.strip().partition("\n")[0].removeprefix("Command-line error: ")
            raise CppError.of(f"NVRTC refuses its options: {reason}")
        if defines and errors[0].position[0] != path:
            macros = ", ".join([f"'{name}'" for name in defines])
            _add_help(errors[0], f"macros hold in NVIDIA's headers, too: {macros}")
        raise CppError(errors)
    _check_kernels(compiled, expressions, text, path)
    return CppProgram(compiled.data, [compiled.symbols[each] for each in expressions], found)


def keep_kernels(module: Operation, symbols: Sequence[str]) -> None:
    """Keep the requested kernels of a module, all if none were requested, and the globals that they use.

    Every constant of NVIDIA's header is a global; hardly any is used.
    """
    for kernel in [each for each in _contents(module) if each.declaration is ENTRY]:
        if symbols and kernel.symbol_name not in symbols:
            kernel.erase()
    used = {each.attributes["name"].text.removeprefix("@") for each in module.walk() if each.declaration is GET_GLOBAL}
    for variable in [each for each in _contents(module) if each.declaration is GLOBAL]:
        if variable.symbol_name not in used:
            variable.erase()


def _contents(module: Operation) -> list[Operation]:
    return [each for region in module.regions for block in region.blocks for each in block]


def _unknown_kernel(log: str, expressions: Sequence[str]) -> str:
    reason = next((head["message"] for head, _ in _messages(log) if head["file"] == _NAMES), "")
    return f"no kernel {' or '.join([repr(each) for each in expressions])}: {reason}"


def _listed(text: str, expressions: Sequence[str]) -> str:
    for expression in expressions:
        if expression in _TEMPLATE.findall(text):
            return f"'{expression}' is a template: name an instance, as '{expression}<...>'"
    return f"the kernels of the file are {', '.join(dict.fromkeys(_FUNCTION.findall(text)))}"


def _check_kernels(compiled: Compiled, expressions: Sequence[str], text: str, path: str) -> None:
    """Templates become kernels only where they are named, and kernels of threads never do."""
    threads = _SIMT.findall(text)
    chosen = [name for name in threads if name in [each.partition("<")[0].rpartition(":")[2] for each in expressions]]
    if not chosen and _DUMMY not in compiled.data:
        return
    templates = _TEMPLATE.findall(text)
    if templates and not chosen:
        called = ", ".join([f"'{name}'" for name in templates])
        help = f"name an instance, as '{templates[0]}<...>': --entry, or entry= of tileir.load"
        raise CppError.of(f"'{path}' has kernel templates alone ({called}), so nothing to run", help)
    message = f"'{path}' has no tile kernel" if not chosen else f"'{chosen[0]}' is not a tile kernel"
    shown = f": '{threads[0]}' is a kernel of threads (__global__)" if threads else ""
    raise CppError.of(message, f"tile kernels are marked __tile_global__{shown}")


def _add_help(diagnostic: Diagnostic, help: str) -> None:
    diagnostic.notes.append(Diagnostic("help", help, UNKNOWN))


def _help_of(message: str) -> str:
    """What to do about an error, where NVRTC's message does not name it."""
    missing = _MISSING.search(message)
    if missing is None:
        return _HOST if message.startswith("A function without execution space annotations") else ""
    header = missing[1]
    if not header.startswith(_OF_CCCL):
        return "folders with headers are given by -I, or include= of tileir.load"
    if any(Path(folder, "cuda", "std").is_dir() for folder in header_folders()):
        return "CCCL is installed, and has no such header"
    return "it is part of CCCL: pip install nvidia-cuda-cccl"


_HOST = "mark it __tile__, or keep code of the host from NVRTC: #ifndef __CUDACC_RTC__"


def diagnostics_of(log: str, text: str, path: str) -> list[Diagnostic]:
    """NVRTC's messages, without the notes about its headers, names of kernels and errors that follow from another."""
    found: list[Diagnostic] = []
    for head, rest in _messages(log):
        if head["file"] == _NAMES:
            continue
        kind = head["kind"].removeprefix("catastrophic ")
        is_own = os.path.abspath(head["file"]) == os.path.abspath(path)
        location = _location(int(head["line"]), rest, text, path) if is_own else _elsewhere(head)
        message = _plain("; ".join([head["message"], *_continued(rest)]))
        if kind.startswith("note"):
            if is_own and found and len(found[-1].notes) < _MOST_NOTES and found[-1].position[1] != int(head["line"]):
                found[-1].notes.append(Diagnostic("note", message, location))
        elif len(found) < _MOST_ERRORS and not (found and "<error-type>" in message):
            severity = kind if kind in ("error", "warning") else "remark"
            found.append(Diagnostic(severity, message, location))
            if is_own and (help := _help_of(message)):
                _add_help(found[-1], help)
    return found


def _plain(message: str) -> str:
    """A message with the types of tiles as people write them."""
    text = message.replace("cuda::tiles::__1::", "cuda::tiles::").replace("__nv_bool", "bool")
    text = _EXTENTS.sub(lambda found: f"cuda::tiles::shape<{found[1].replace('UL', '')}>", text)
    return text.partition(", and host functions are not allowed in JIT mode")[0].replace("cuda::tiles::", "")


def _messages(log: str) -> list[tuple[re.Match[str], list[str]]]:
    """Each message: its first line, and those that belong to it."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in log.splitlines():
        head = None if line.startswith(" ") else _HEAD.fullmatch(line)
        if head is not None:
            found.append((head, []))
        elif found and line.startswith(" "):
            found[-1][1].append(line)
    return found


def _continued(rest: list[str]) -> list[str]:
    """The lines of a message before the source line and its caret."""
    end = len(rest) - 2 if rest and rest[-1].strip() == "^" else len(rest)
    return [line.strip() for line in rest[: max(end, 0)]]


def _location(line: int, rest: list[str], text: str, path: str) -> Location:
    lines = text.splitlines(keepends=True)
    column = 0
    if rest and rest[-1].strip() == "^" and line <= len(lines):
        # NVRTC moves the source line; the caret moves with it.
        shown = rest[-2]
        moved = len(shown) - len(shown.lstrip()) - (len(lines[line - 1]) - len(lines[line - 1].lstrip()))
        column = max(rest[-1].index("^") - moved, 0)
        # The caret for a missing header is after its name.
        header = _INCLUDE.match(lines[line - 1])
        column = header.end() if header else column
    offset = sum(map(len, lines[: line - 1])) + column
    return CharacterLocation(SourceText(text, path, _WORD), 0, offset)


def _elsewhere(head: re.Match[str]) -> Location:
    return file_location(head["file"], int(head["line"]), 1)
