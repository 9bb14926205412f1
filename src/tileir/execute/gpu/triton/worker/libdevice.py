"""NVIDIA's library of functions, libdevice, in parts: Triton reads all of it for each kernel that has a function of it.

That takes longer than all the rest of a small kernel.  So the functions that a kernel has are taken out of the library
once, with those that they call, and written down; kernels that have the same are linked with these.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from typing import Any, Final

_TYPES: Final = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "ptr": "!llvm.ptr",
}
"""Types of LLVM, in the dialect of MLIR."""
_DECLARED: Final = re.compile(r"^declare (?:\w+ )*?(\w+) @(__nv_\w+)\(([^)]*)\)", re.MULTILINE)
_INTERNAL: Final = re.compile(r"^define internal (.*@(__nv_\w+)\()", re.MULTILINE)

Link = Callable[[Any, list[str]], None]


class Libdevice:
    """The library, as far as it was needed."""

    def __init__(self, libtriton: Any) -> None:
        self._triton: Final = libtriton
        self._link: Final[Link] = libtriton.llvm.link_extern_libs
        self._known: Final[dict[tuple[str, ...], str]] = {}
        """Paths, by that of the library and the functions."""

    def install(self) -> None:
        """Have Triton link with the parts."""
        self._triton.llvm.link_extern_libs = self.link

    def link(self, module: Any, paths: list[str]) -> None:
        """Link a module of LLVM with libraries."""
        self._link(module, self._parts(str(module), paths[0]) if len(paths) == 1 else paths)

    def _parts(self, text: str, path: str) -> list[str]:
        functions = [_declaration(*each) for each in _DECLARED.findall(text)]
        if not functions or "" in functions:
            return [path]
        key = (path, *sorted(functions))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._taken_out(sorted(functions), path)
        return [found]

    def _taken_out(self, functions: list[str], path: str) -> str:
        """Write down functions of a library, with those that they call."""
        libtriton = self._triton
        context = libtriton.ir.context()
        libtriton.ir.load_dialects(context)
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write("module {\n" + "\n".join(functions) + "\n}\n")
            file.flush()
            declared = libtriton.ir.parse_mlir_module(file.name, context)
        declared.context = context
        space = libtriton.llvm.context()
        module = libtriton.llvm.to_module(declared, space)
        self._link(module, [path])
        # Triton makes what it has linked internal, and here others are to be linked with it.
        text = _INTERNAL.sub(r"define \1", str(module))
        del module, space
        descriptor, made = tempfile.mkstemp(prefix="libdevice-", suffix=".ll")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return made


def _declaration(result: str, name: str, parameters: str) -> str:
    """A function of LLVM's, declared in MLIR; empty if it has types that are not known here."""
    given = [each.split()[0] for each in parameters.split(",") if each.strip()]
    if result not in _TYPES or any(each not in _TYPES for each in given):
        return ""
    return f"  llvm.func @{name}({', '.join([_TYPES[each] for each in given])}) -> {_TYPES[result]}"
