"""A package `triton` that stands in for Triton: what it does with a program is said by the program.

So crashes and hangs can be had at will, and in no time.
"""

from __future__ import annotations

from pathlib import Path

LIBRARY = """
import os, signal, sys, time

class Context: pass
class Module:
    def __init__(self, text): self.text = text
    def __str__(self): return self.text

class ir:
    context = Context
    @staticmethod
    def load_dialects(context): pass
    @staticmethod
    def parse_mlir_module(path, context):
        with open(path) as file:
            return Module(file.read())

class llvm:
    @staticmethod
    def link_extern_libs(module, paths): pass

class nvidia:
    @staticmethod
    def set_nvvm_reflect_ftz(module): module.flushes = True
"""

BACKEND = """
import os, signal, subprocess, sys, time
from triton._C.libtriton import nvidia

class Options:
    def __init__(self, given): self.__dict__.update(given)

class CUDABackend:
    def __init__(self, target): self.target = target
    def load_dialects(self, context): pass
    def parse_options(self, given): return Options(given)
    def add_stages(self, stages, options, language):
        stages["ttir"] = lambda module, metadata: module
        stages["ptx"] = self._ptx
        stages["cubin"] = lambda text, metadata: text.encode()
    def _ptx(self, module, metadata):
        text = str(module).strip()
        metadata["name"] = "kernel"
        word, _, rest = text.partition(" ")
        if word == "print": os.write(2, rest.encode())
        elif word == "refuse": raise RuntimeError(rest)
        elif word == "fail":
            os.write(2, rest.encode())
            raise RuntimeError("PassManager::run failed")
        elif word == "signal": os.kill(os.getpid(), int(rest))
        elif word == "exit": os._exit(int(rest))
        elif word == "hang": subprocess.run(["sleep", rest])
        elif word == "process": return str(os.getpid())
        elif word == "flush":
            nvidia.set_nvvm_reflect_ftz(module)
            return str(getattr(module, "flushes", False))
        elif word == "environment": return os.environ.get(rest, "none")
        elif word == "fill": bytearray(int(rest))
        elif word == "path": return "\\\\n".join(sys.path)
        return text
"""

COMPILER = """
class GPUTarget:
    def __init__(self, backend, arch, warp_size): pass

class Language:
    TRITON = 0
"""


def write_fake_triton(folder: Path, version: str = "3.9.0", beginning: str = "") -> Path:
    """Put the package into a folder."""
    files = {
        "__init__.py": f"__version__ = '{version}'\n{beginning}",
        "_C/__init__.py": "",
        "_C/libtriton.py": beginning + LIBRARY,
        "backends/__init__.py": "",
        "backends/compiler.py": COMPILER,
        "backends/nvidia/__init__.py": "",
        "backends/nvidia/compiler.py": BACKEND,
    }
    for name, text in files.items():
        path = folder / "triton" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
