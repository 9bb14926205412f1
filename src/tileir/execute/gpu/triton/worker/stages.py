"""TTIR to code by Triton's own stages, in the process that runs it.

`triton.compile` of a file leaves out the first stage, may want a GPU and writes to its own cache, so the stages are
called here.  This module does not import tileir: a copy of it is kept with a crash, and is a program.

    python stages.py REQUEST.json       compile `program.ttir` beside the request, and print what comes of it
    python stages.py DIRECTORY PATH..   serve requests; the directory goes at the end, modules are found in the paths

Messages on standard input and output are `marshal`ed; Triton, LLVM and ptxas print to standard error.  The process ends
when its input does.  Triton reads all of libdevice for each kernel that calls a function, which takes longer than the
rest of a small kernel: the functions of a kernel are extracted once, with those that they call.
"""

from __future__ import annotations

import json
import marshal
import os
import re
import select
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Final

_TYPES: Final = {
    "float": "f32", "double": "f64", "half": "f16", "i16": "i16", "i32": "i32", "i64": "i64", "ptr": "!llvm.ptr",
}  # fmt: skip
_DECLARED: Final = re.compile(r"^declare (?:\w+ )*?(\w+) @(__nv_\w+)\(([^)]*)\)", re.MULTILINE)
_INTERNAL: Final = re.compile(r"^define internal (.*@(__nv_\w+)\()", re.MULTILINE)

MADE: Final = "made"
REFUSED: Final = "refused"
BROKEN: Final = "broken"  # Whether Triton made code, output why not, or could not be imported.

_IDLE_SECONDS: Final = 600
"""How long it waits for a request: it has some hundred megabytes, and another is started when one comes."""

FILE: Final = "program.ttir"
_LLVM: Final = "llir"
_EMPTY: Final = "module {\n  tt.func public @empty() {\n    tt.return\n  }\n}\n"
_ENTRY: Final = re.compile(r"\.entry\s+[\w$.]+\s*\((.*?)\)", re.DOTALL)
_NARROW: Final = re.compile(r"^(\s*)(sub|neg|abs)\.s16\s+([^;]*);", re.MULTILINE)
"""Instructions that ptxas before CUDA 13 computes in 32 bits and does not wrap: the negative of -32768 is 32768 to what
compares, extends or shifts it with its sign.  So is a difference from a value that ptxas finds to be zero."""
_SHARED_ADDRESS: Final = re.compile(r"bfe\.u32\s+(%r\d+), %r\d+, 4, 14;")
_DEFINED: Final = re.compile(r"^\s+[a-z]\S*\s+(%rd\d+),", re.MULTILINE)
_EXTENDED: Final = re.compile(r"cvt\.u64\.u32\s+(%rd\d+), (%r\d+);")
_DESCRIPTOR: Final = re.compile(r"(?:or\.b64|add\.s64)\s+(%rd\d+), (%rd\d+), (-?\d+);")
"""The address of a tile in shared memory, as matrix descriptors have it, and the constant part that is added to it.
ptxas 12.8, which comes with Triton 3.6, computes such a 64-bit sum in one branch of a kernel and uses it in another."""
_AMD_PARAMETER: Final = re.compile(r"^\s+(?:- )?\.value_kind:\s+(?!hidden_)", re.MULTILINE)
_SKIPPED: Final = ("triton", "triton.runtime", "triton.backends")
"""Packages that import all of Triton's language, and all plugins that are installed, of which nothing is needed."""


def link_extracts(libtriton: Any) -> None:
    """Have kernels linked with extracts of a library of functions, each made once."""
    link: Callable[[Any, list[str]], None] = libtriton.llvm.link_extern_libs
    known: dict[tuple[str, ...], str] = {}

    def linked(module: Any, paths: list[str]) -> None:
        functions = sorted([_declaration(*each) for each in _DECLARED.findall(str(module))])
        if len(paths) == 1 and functions and "" not in functions:
            key = (paths[0], *functions)
            if key not in known:
                known[key] = _extract(libtriton, functions, lambda extracted: link(extracted, paths))
            paths = [known[key]]
        link(module, paths)

    libtriton.llvm.link_extern_libs = linked


def _extract(libtriton: Any, functions: list[str], link: Callable[[Any], None]) -> str:
    """Write down functions of a library, with those that they call; the path of the file."""
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write("module {\n" + "\n".join(functions) + "\n}\n")
        file.flush()
        declared = libtriton.ir.parse_mlir_module(file.name, context)
    declared.context = context
    space = libtriton.llvm.context()
    module = libtriton.llvm.to_module(declared, space)
    link(module)
    # Triton makes what it has linked internal, and here others are to be linked with it.
    text = _INTERNAL.sub(r"define \1", str(module))
    del module, space
    with tempfile.NamedTemporaryFile("w", prefix="libdevice-", suffix=".ll", encoding="utf-8", delete=False) as made:
        made.write(text)
    return made.name


def _declaration(result: str, name: str, parameters: str) -> str:
    """A function of LLVM's, declared in MLIR; empty if it has types that are not known here."""
    types = [_TYPES.get(each.split()[0]) for each in (result, *parameters.split(",")) if each.strip()]
    return "" if None in types else f"  llvm.func @{name}({', '.join(map(str, types[1:]))}) -> {types[0]}"


class Failure(Exception):
    """Triton refuses; the words are its own."""


class Stages:
    def __init__(self, in_parts: bool = False) -> None:
        """Import them, `in_parts` if this version lets it: that takes a third of the time."""
        libtriton, target, language = _imported(in_parts)
        self.library: Final[Any] = libtriton
        self._target: Final[Any] = target
        self._language: Final[Any] = language
        self._backends: dict[str, Any] = {}
        self._flush: Final[Any] = libtriton.nvidia.set_nvvm_reflect_ftz

    def _backend(self, target: str) -> Any:
        found = self._backends.get(target)
        if found is None:
            if target.startswith("sm_"):
                from triton.backends.nvidia.compiler import CUDABackend

                found = CUDABackend(self._target("cuda", int(target.removeprefix("sm_")), 32))
            else:
                from triton.backends.amd.compiler import HIPBackend

                # Waves of the GPUs for computing have 64 threads, of those for graphics 32.
                found = HIPBackend(self._target("hip", target, 64 if target.startswith("gfx9") else 32))
            self._backends[target] = found
        return found

    def compile(
        self, text: str, target: str, options: dict[str, Any], last: str, first: str = "ttir"
    ) -> tuple[bytes, dict[str, Any], int]:
        """What the last stage gives, Triton's metadata, and the number of parameters."""
        backend = self._backend(target)
        options = dict(options)
        # Triton reads this when it needs it.  Without, there is less to write and to assemble.
        os.environ["TRITON_DISABLE_LINE_INFO"] = "0" if options.pop("lineinfo", False) else "1"
        # Functions of libdevice flush denormals or not, as an option says that came with Triton 3.6: before, they
        # always did.
        flushes = options.get("enable_reflect_ftz", True)
        self.library.nvidia.set_nvvm_reflect_ftz = self._flush if flushes else (lambda module: None)
        parsed = backend.parse_options(options)
        libtriton = self.library
        context = libtriton.ir.context()
        libtriton.ir.load_dialects(context)
        backend.load_dialects(context)
        stages: dict[str, Any] = {}
        backend.add_stages(stages, parsed, self._language.TRITON)
        ending = _LLVM if last == "llvm" else last
        if ending not in stages:
            raise Failure(f"there is no stage '{last}' for {target}")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, FILE if first == "ttir" else f"program.{first}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            current = libtriton.ir.parse_mlir_module(path, context)
        current.context = context
        metadata: dict[str, Any] = {"num_warps": parsed.num_warps, "num_ctas": getattr(parsed, "num_ctas", 1)}
        parameters = 0
        if first == "ttgir":
            del stages["ttir"], stages["ttgir"]
            metadata["tensordesc_meta"] = current.get_tensordesc_metadata()
        for stage, make in stages.items():
            current = make(current, metadata)
            if stage == "ptx":
                current = narrow_descriptors(wrapped(current))
                entry = _ENTRY.search(current)
                parameters = entry[1].count(".param") if entry is not None else 0
            elif stage == "amdgcn":
                parameters = len(_AMD_PARAMETER.findall(current))
            if stage == ending:
                break
        # Without the folder that the program was read from: its locations are the same each time.
        data = current if isinstance(current, bytes) else str(current).replace(folder + os.sep, "").encode()
        return data, {key: _plain(value) for key, value in metadata.items()}, parameters


def _imported(in_parts: bool) -> tuple[Any, Any, Any]:
    if in_parts:
        _skip_packages()
    try:
        from triton._C import libtriton
        from triton.backends.compiler import GPUTarget, Language
        from triton.backends.nvidia import compiler  # noqa: F401

        return libtriton, GPUTarget, Language
    except (ImportError, AttributeError):
        if not in_parts:
            raise
    # A version that needs what was left out.
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
        del sys.modules[name]
    return _imported(False)


def _skip_packages() -> None:
    """Have modules of Triton imported without what the packages that they are in import."""
    found = PathFinder.find_spec("triton")
    if found is None or not found.submodule_search_locations:
        return
    root = found.submodule_search_locations[0]
    for name in _SKIPPED:
        package = ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split(".")[1:])]
        sys.modules[name] = package


def wrapped(ptx: str) -> str:
    """PTX with every 16-bit `sub`, `neg` and `abs` computed in 32 bits and truncated."""
    return _NARROW.sub(_wide, ptx)


def _wide(found: re.Match[str]) -> str:
    space, name, operands = found.groups()
    result, *given = [each.strip() for each in operands.split(",")]
    wide = [f"%wide{number}" for number in range(len(given))]
    loads = [
        f"cvt.s32.s16 {register}, {each};" if each.startswith("%") else f"mov.b32 {register}, {each};"
        for register, each in zip(wide, given, strict=True)
    ]
    computed = f"{name}.s32 {wide[0]}, {', '.join(wide)}; cvt.u16.u32 {result}, {wide[0]};"
    return f"{space}{{ .reg .b32 {', '.join(wide)}; {' '.join(loads)} {computed} }}"


def narrow_descriptors(ptx: str) -> str:
    """PTX with the matrix descriptors of wgmma computed in 32 bits: their upper half is a constant."""
    shared = set(_SHARED_ADDRESS.findall(ptx))
    defined = Counter(_DEFINED.findall(ptx))
    addresses = {wide for wide, narrow in _EXTENDED.findall(ptx) if narrow in shared and defined[wide] == 1}

    def descriptor(found: re.Match[str]) -> str:
        result, address, constant = found.groups()
        upper, lower = divmod(int(constant) % (1 << 64), 1 << 32)
        # The address has 14 bits: nothing is carried into the upper half.
        if address not in addresses or upper == 0 or lower >= 1 << 31 or (lower and found[0].startswith("or")):
            return found[0]
        low = f"cvt.u32.u64 %low, {address}; add.s32 %low, %low, {lower};"
        return f"{{ .reg .b32 %low; {low} mov.b64 {result}, {{%low, {upper}}}; }}"

    return _DESCRIPTOR.sub(descriptor, ptx)


def _plain(value: Any) -> Any:
    """A value of Triton's as one that needs no Triton to be read."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return str(value)


def serve(directory: str, folders: list[str]) -> None:
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    # Not where this file is: modules in its folder have names that others have too.
    sys.path[:] = folders
    stages: Stages | None = None
    try:
        stages, problem = Stages(in_parts=True), ""
        link_extracts(stages.library)
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    if stages is not None and not problem and not poll.poll(0):
        # Nobody waits yet: do what the first kernel does, as far as it is the same for all.
        _answer_to(stages.compile, _EMPTY, "sm_90", {"enable_fp_fusion": False}, "ptx")
    while poll.poll(_IDLE_SECONDS * 1000):
        try:
            request, seconds, memory = marshal.load(requests)
        except EOFError:
            break
        os.ftruncate(2, 0)
        _limit(seconds, memory)
        _end_with(requests.fileno(), True)
        answer = (BROKEN, problem) if stages is None or problem else _answer_to(stages.compile, *request)
        _end_with(requests.fileno(), False)
        answers.write(marshal.dumps(answer))
        answers.flush()
    # Who started this may have been killed.
    shutil.rmtree(directory, ignore_errors=True)


def _answer_to(work: Callable[..., Any], *request: Any) -> tuple[Any, ...]:
    try:
        return (MADE, *(work(*request) or ()), _output())
    except MemoryError:
        # What ends a process for want of memory ends it here too.
        os.write(2, b"out of memory\n")
        os.abort()
    except (Exception, SystemExit) as error:
        return (REFUSED, type(error).__name__, str(error), _output())


def _output() -> str:
    sys.stdout.flush()
    sys.stderr.flush()
    size = os.fstat(2).st_size
    return os.pread(2, size, 0).decode("utf-8", "replace")


def _limit(seconds: float, memory: int) -> None:
    """Limit memory and processor time of what comes now, should the caller stop counting seconds, and dump no core."""
    # Not on Windows, where this module is imported for what it names.
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime + seconds) + 2,
    }
    for kind, number in limits.items():
        most = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (number if most == resource.RLIM_INFINITY else min(number, most), most))


def _end_with(pipe: int, does: bool) -> None:
    """Have the system end this process, and what it started, when the other end of a pipe is closed."""
    import fcntl

    if not hasattr(fcntl, "F_SETOWN") or not hasattr(os, "O_ASYNC"):
        return
    signal.signal(signal.SIGIO, signal.SIG_DFL if does else signal.SIG_IGN)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC if does else flags & ~os.O_ASYNC)


def _reproduce(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    with open(os.path.join(os.path.dirname(path), FILE), encoding="utf-8") as file:
        text = file.read()
    first = request.get("first", "ttir")
    data, metadata, _ = Stages().compile(text, request["target"], request["options"], request["last"], first)
    print(f"{len(data)} bytes, {metadata}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(sys.argv[1], sys.argv[2:])
    else:
        _reproduce(sys.argv[1])
