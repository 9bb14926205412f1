"""NVRTC, NVIDIA's library that compiles CUDA C++, found where pip or a CUDA toolkit put it and called by ctypes."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from tileir.cpp.errors import CppError

_SUCCESS = 0
_COMPILATION_FAILED = 6
LIBRARY = "nvrtc64_130_0.dll" if sys.platform == "win32" else "libnvrtc.so.13"
FOLDERS = ("bin", "bin/x64") if sys.platform == "win32" else ("lib", "lib64")
_FIRST_VERSION = (13, 3)
_INSTALL = "pip install 'tileir[cpp]'"


class Compiled:
    """The result of a compilation: bytecode (empty if it failed), NVRTC's log, and the symbol of each expression."""

    def __init__(self, data: bytes, log: str, symbols: dict[str, str]) -> None:
        self.data = data
        self.log = log
        self.symbols = symbols


@cache
def roots() -> tuple[Path, ...]:
    """The folders that may hold CUDA: of pip's packages, in the order of the search path, then a toolkit."""
    found = [Path(folder, "nvidia", "cu13") for folder in sys.path if folder]
    found += [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return tuple([root for root in found if root.is_dir()])


def header_folders() -> list[str]:
    """Where CUDA's headers are: cuda_fp16.h and its like.  NVRTC itself has cuda_tile.h."""
    found = [root / "include" for root in roots()]
    found += [folder / "cccl" for folder in found]
    return [str(folder) for folder in found if folder.is_dir()]


@cache
def _library() -> ctypes.CDLL:
    paths = [root / folder / LIBRARY for root in roots() for folder in FOLDERS]
    names = [str(path) for path in paths if path.is_file()] or [LIBRARY]
    try:
        found = ctypes.CDLL(names[0])
    except OSError as error:
        raise CppError.of(f"C++ kernels need NVRTC 13.3 or newer, which cannot be loaded: {error}", _INSTALL) from None
    major, minor = ctypes.c_int(), ctypes.c_int()
    found.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) < _FIRST_VERSION:
        version = f"{major.value}.{minor.value}"
        raise CppError.of(f"NVRTC {version} cannot compile tile kernels: they need 13.3 or newer", _INSTALL)
    found.nvrtcGetErrorString.restype = ctypes.c_char_p
    return found


def _check(status: int, what: str) -> None:
    if status != _SUCCESS:
        message = _library().nvrtcGetErrorString(status)
        raise CppError.of(f"NVRTC cannot {what}: {message.decode()}")


def compile_source(
    text: str, name: str, options: list[str], expressions: list[str], headers: Mapping[str, str]
) -> Compiled:
    """Compile a source; `expressions` name instances of templates, as `scale<128>`, `headers` are texts by name."""
    library = _library()
    program = ctypes.c_void_p()
    texts, names = _strings(headers.values()), _strings(headers)
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), _encoded(text), _encoded(name), len(headers), texts, names
    )
    _check(status, "begin a program")
    try:
        for expression in expressions:
            _check(library.nvrtcAddNameExpression(program, _encoded(expression)), f"take the name '{expression}'")
        status = library.nvrtcCompileProgram(program, len(options), _strings(options))
        log = _output(program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
        if status == _COMPILATION_FAILED:
            return Compiled(b"", log, {})
        _check(status, "compile the program")
        return Compiled(_output(program, "TileIR"), log, {each: _symbol(program, each) for each in expressions})
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _strings(texts: Collection[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*map(_encoded, texts))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _output(program: ctypes.c_void_p, what: str) -> bytes:
    library = _library()
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), "state the size of its output")
    data = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{what}")(program, data), "give its output")
    return data.raw


def _symbol(program: ctypes.c_void_p, expression: str) -> str:
    name = ctypes.c_char_p()
    status = _library().nvrtcGetLoweredName(program, _encoded(expression), ctypes.byref(name))
    _check(status, f"find the kernel '{expression}'")
    return (name.value or b"").decode()
