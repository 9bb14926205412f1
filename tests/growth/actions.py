"""What is done with programs: for each action how its input is prepared, which is not measured, and the work itself.

An action that does not apply to a program (a layout without a place for its attributes, a kernel with arguments that
are no arrays) raises `NotApplicable` while it is prepared.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy

import tileir
from tileir.bytecode.annotated import annotate
from tileir.execute.cpu.code import MANY_CHECKS
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.kernel import CpuKernel
from tileir.execute.cpu.runtime.llvm_compile import assemble
from tileir.execute.cpu.runtime.target import host
from tileir.execute.memory import Region
from tileir.ir.traversal import clone, structurally_equal
from tileir.text.printer import print_operation


class NotApplicable(Exception):
    pass


class Action:
    """`prepare` makes from a text what `work` takes; `work` may change it, as each is used once."""

    def __init__(self, prepare: Callable[[str], Any], work: Callable[[Any], object]) -> None:
        self.prepare = prepare
        self.work = work


def text_itself(text: str) -> str:
    return text


def bytecode(layout: str) -> Callable[[str], bytes]:
    def prepare(text: str) -> bytes:
        try:
            return tileir.to_bytecode(tileir.parse(text), layout=layout)
        except tileir.BytecodeError:
            raise NotApplicable from None

    return prepare


def writable(layout: str) -> Callable[[str], Any]:
    def prepare(text: str) -> Any:
        bytecode(layout)(text)
        return tileir.parse(text)

    return prepare


def two_modules(text: str) -> tuple[Any, Any]:
    return tileir.parse(text), tileir.parse(text)


def thinned(text: str) -> tuple[Any, Any]:
    """A program, and itself without every second operation that nobody uses, up to the second level of uses."""
    whole, other = two_modules(text)
    for _ in range(2):
        unused = [each for each in other.walk() if each.results and each.is_unused and not each.regions]
        for operation in unused[::2]:
            operation.erase()
    return whole, other


def entry_of(module: Any) -> Any:
    return next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")


def lowered(sanitize: bool) -> Callable[[Any], object]:
    def work(module: Any) -> object:
        return CpuKernel(entry_of(module), global_memory(module)).lower(Options(sanitize=sanitize)).text

    return work


def native_text(sanitize: bool) -> Callable[[str], str]:
    """The LLVM IR of a kernel."""

    def prepare(text: str) -> str:
        return str(lowered(sanitize)(tileir.parse(text)))

    return prepare


def compiled(sanitize: bool) -> Callable[[str], bytes]:
    """What LLVM makes of it: an object file."""

    def work(text: str) -> bytes:
        return assemble(text, host(), 0 if sanitize and text.count("br i1 ") > MANY_CHECKS else 3)

    return work


def forms(module: Any) -> object:
    """All forms of a kernel but those that compilers make, with their links."""
    found = tileir.analysis.Representations(module, entry=entry_of(module).symbol_name)
    made = [each.id for each in found.list() if each.reason is None]
    return [found.get(id).links for id in made if id not in ("llvm-opt", "assembly") and not id.startswith("sass")]


def global_memory(module: Any) -> dict[str, Region]:
    found = [operation.symbol_name for operation in module.walk() if operation.name == "cuda_tile.global"]
    return {name: Region(64 * number, 0, None, (name,), False) for number, name in enumerate(found)}


def launchable(text: str) -> tuple[Any, list[Any]]:
    """The kernel and its arguments: an array for a pointer, two for a number."""
    module = tileir.parse(text)
    kernels = [operation for operation in module.walk() if operation.name == "cuda_tile.entry"]
    if len(kernels) > 1:
        raise NotApplicable
    arguments = [
        numpy.zeros(64, "f4") if "ptr" in value.type.text else 2 for value in kernels[0].regions[0].block.arguments
    ]
    return tileir.compile(module, backend="interpreter"), arguments


def launched(**options: Any) -> Callable[[Any], object]:
    def work(prepared: Any) -> object:
        kernel, arguments = prepared
        observer = tileir.sanitizer.Sanitizer() if options else None
        return kernel.launch(1, arguments, observer=observer, output=lambda text: None)

    return work


def diagnosed(text: str) -> object:
    """Parse, verify and tell all mistakes."""
    try:
        tileir.verify(tileir.parse(text))
    except tileir.TileIRError as error:
        return str(error)
    raise AssertionError("the program has mistakes")


def passes(*names: str, rules: str = "full") -> Action:
    return Action(tileir.parse, lambda module: tileir.run_passes(module, list(names), rules=rules))


def optimized(level: int, rules: str) -> Action:
    return Action(tileir.parse, lambda module: tileir.optimize(module, level, rules=rules, fuse_fma=True))


TEXT: dict[str, Action] = {
    "parse": Action(text_itself, tileir.parse),
    "verify": Action(tileir.parse, tileir.verify),
    "print": Action(tileir.parse, str),
    "print generic": Action(tileir.parse, lambda module: print_operation(module, generic=True)),
    "print debug info": Action(tileir.parse, lambda module: print_operation(module, debug_info=True)),
    "clone": Action(tileir.parse, clone),
    "copy": Action(tileir.parse, copy.deepcopy),
    "compare": Action(two_modules, lambda pair: structurally_equal(*pair, locations=True)),
    "diff": Action(two_modules, lambda pair: tileir.diff(*pair).unified()),
    "diff of another": Action(thinned, lambda pair: tileir.diff(*pair).unified()),
}

BYTECODE: dict[str, Action] = {
    "write": Action(writable("public"), tileir.to_bytecode),
    "read": Action(bytecode("public"), tileir.from_bytecode),
    "write documented": Action(writable("documented"), lambda module: tileir.to_bytecode(module, layout="documented")),
    "read documented": Action(bytecode("documented"), tileir.from_bytecode),
    "objdump": Action(bytecode("public"), lambda data: annotate(data).fields()),
}

OPTIMIZE: dict[str, Action] = {
    "optimize": optimized(3, "parity"),
    "optimize with all rules": optimized(3, "full"),
    **{
        found.name: passes(found.name)
        for found in tileir.passes.registered_passes()
        if found.name not in ("downlevel", "test-debuginfo-update-symbol-name")
    },
}

EXECUTE: dict[str, Action] = {
    "lower for the CPU": Action(tileir.parse, lowered(False)),
    "lower for the CPU with checks": Action(tileir.parse, lowered(True)),
    "forms": Action(tileir.parse, forms),
    "run": Action(launchable, launched()),
    "sanitize": Action(launchable, launched(sanitize=True)),
}

COMPILE: dict[str, Action] = {
    "compile natively": Action(native_text(False), compiled(False)),
    "compile natively with checks": Action(native_text(True), compiled(True)),
}
"""What LLVM does, which takes no steps of Python: measured by time, and by the size of what it makes."""

ANALYZE: dict[str, Action] = {
    "lint": Action(tileir.parse, lambda module: tileir.lint(module, select=["all"], target="h100", version="13.1")),
}

ACTIONS: dict[str, Action] = {**TEXT, **BYTECODE, **OPTIMIZE, **EXECUTE, **ANALYZE}
