"""Cubins of kernels that were compiled before, found without what compiles them.

The key of a cubin is made of bytecode (`compiling.py`), and what writes that takes longer to import than everything
else a first launch does.  So the cache also has, under a key of the structure of the module and of the sources that
write bytecode, the key of the cubin, and whether there was something to say about it: what it was depends on where the
program stands.
"""

from __future__ import annotations

from _blake2 import blake2b
from typing import Final

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.cache.source_hash import hash_of_installed, hash_of_sources
from tileir.execute.cache.structural_digest import structural_digest
from tileir.execute.errors import AssemblerWarning, warn_caller
from tileir.execute.gpu.cubin import Cubin, CubinError
from tileir.execute.gpu.targets import target_named
from tileir.execute.gpu.tileiras.options import AssemblyOptions
from tileir.execute.gpu.tileiras.tool import installed_assembler, is_made_by
from tileir.ir.core import Operation

_USUAL: Final = AssemblyOptions()
PARTS: Final = ("bytecode", "dialect", "execute/gpu/tileiras", "ir", "passes", "rewrite")
"""The folders of the package that decide what bytecode the assembler gets: to look at a file takes microseconds."""

_sources: bytes = b""


def make_cubin(entry: Operation, target: str, options: AssemblyOptions = _USUAL, *, warns: bool = False) -> Cubin:
    """The cubin of a kernel for a GPU; if it `warns`, what there is to say about it is a warning at the caller's line.

    Launches do not: what is said helps who writes the kernel, and is the same in each process that runs it.
    """
    target = target_named(target)
    options = options.checked()
    # Its structure does not say where a program stands, which line information does.
    short = "" if options.lineinfo else _short_key(entry, target, options)
    found = _found(short, warns) if short else None
    if found is None:
        from tileir.execute.gpu.tileiras.compiling import assemble

        made = assemble(entry, target, options)
        found = made.cubin
        warnings = [each for each in made.diagnostics if each.severity == "warning"]
        if short:
            default_cache().put(short, b"", {"key": made.key, "kernel": found.kernel, "warnings": len(warnings)})
        if warns:
            for each in warnings:
                warn_caller(each.render(), AssemblerWarning)
    return found


def _short_key(entry: Operation, target: str, options: AssemblyOptions) -> str:
    global _sources
    if not _sources:
        _sources = hash_of_installed() or hash_of_sources((), PARTS)
    module = entry.parent_operation
    settings = (entry.symbol_name, target, options.opt_level, options.host, options.system)
    digest = blake2b(_sources, digest_size=20, person=b"tileir cubins")
    digest.update(repr(settings).encode() + b"\0" + structural_digest(entry if module is None else module))
    return f"program-{digest.hexdigest()}"


def _found(short: str, warns: bool) -> Cubin | None:
    """The cubin, if it is known; where one `warns`, if there is nothing to say about it."""
    cache = default_cache()
    known = cache.get(short)
    if known is not None and warns and known[1].get("warnings") != 0:
        return None
    stored = None if known is None else cache.get(str(known[1].get("key")))
    if known is None or stored is None or not is_made_by(stored[1], installed_assembler()):
        return None
    try:
        return Cubin(stored[0], str(known[1].get("kernel")), str(stored[1].get("version", "")))
    except CubinError:
        return None
