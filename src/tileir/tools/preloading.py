"""Load the modules that a command is known to need from where they are known to be.

`tileir dis` of a small file takes the time of importing eighty modules, and Python spends a quarter of that on finding
them: it asks finders, reads directories, takes locks, splits paths.  With this module `dis` takes 2.3 times as long as
bare Python, without it 2.75, with a finder of our own at the head of `sys.meta_path` 2.6; the bar is 2.5
(`benchmarks/startup.py`).  A module of this package is a file in its directory, with its code in `__pycache__`.  Where
both are there and belong together, it is loaded here; Python imports everything else.  This is for the process of a
command, where no other thread imports anything yet.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys

# Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from types import CodeType, ModuleType
else:
    # Python itself has loaded these, unlike `importlib` and `types`.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

    ModuleType = type(sys)

# Each after those that it imports.  `tests/tools/test_start_up.py` compares them with what is imported.
READING = """
annotations bytecode ir ir.floats ir.quoting ir.interning ir.types ir.attributes ir.dense ir.location ir.values
ir.accessors ir.core ir.diagnostics ir.symbols ir.traits ir.versions ir.declaration ir.traversal ir.verifier
tools.arguments tools.command tools.options tools.programs text collector dialect ir.registry dialect.ops
dialect.types dialect.attributes dialect.enums dialect.constraints dialect.construct dialect.debug_info
dialect.inference dialect.rules dialect.ops.control_flow dialect.ops.structure text.state dialect.ops.core text.syntax
text.syntax.draft_spellings text.syntax.directive text.syntax.attribute_directives text.syntax.format
text.syntax.structure text.syntax.aggregates dialect.ops.integer dialect.ops.memory dialect.ops.floating_point
"""
DISASSEMBLING = """
bytecode.primitives bytecode.container bytecode.records bytecode.layouts text.names text.output text.printer
tools.disassemble bytecode.entry_tables bytecode.debug dialect.availability bytecode.types bytecode.tables
bytecode.attributes bytecode.region_reader bytecode.body_reader bytecode.reader
"""
NEEDED = {"as": READING, "check": READING, "dis": READING + DISASSEMBLING, "opt": READING}

_PACKAGES = frozenset(("bytecode", "dialect", "dialect.ops", "ir", "text", "text.syntax"))
_HEAD = 16
"""Code in a file begins after the number of Python's version, flags, and the time and size of its source."""
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_LONGEST = 120_000
"""Of files of code, in bytes: this much memory is at hand without asking the system."""


def preload(names: str) -> None:
    """Load modules of the package, each after those that it imports."""
    folder = os.path.dirname(os.path.dirname(__file__))
    compiled = f"{folder}{os.sep}ir{os.sep}core{(_imp.extension_suffixes() or [''])[0]}"
    if type(__spec__.loader) is not SourceFileLoader or sys.pycache_prefix is not None or os.path.exists(compiled):
        return
    level = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
    ending = f".{sys.implementation.cache_tag}{level}.pyc"
    for name in names.split():
        full = f"tileir.{name}"
        if full not in sys.modules:
            _load(full, f"{folder}{os.sep}{name.replace('.', os.sep)}", name in _PACKAGES, ending)


def _load(name: str, path: str, is_package: bool, ending: str) -> None:
    parent, _, own = name.rpartition(".")
    place, _, stem = (path, "", "__init__") if is_package else path.rpartition(os.sep)
    source, cached = f"{place}{os.sep}{stem}.py", f"{place}{os.sep}__pycache__{os.sep}{stem}{ending}"
    code, package = _code(source, cached), sys.modules.get(parent)
    if code is None or package is None:
        return
    # As Python's own machinery leaves a module.
    loader = SourceFileLoader(name, source)
    spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
    spec.has_location, spec.cached = True, cached
    # Looked at wherever the module is imported, and found faster than missed.
    setattr(spec, "_initializing", True)  # noqa: B010
    module = ModuleType(name)
    module.__spec__, module.__loader__, module.__file__ = spec, loader, source
    setattr(module, "__cached__", cached)  # noqa: B010
    module.__package__ = name if is_package else parent
    if is_package:
        module.__path__ = spec.submodule_search_locations = [path]
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    setattr(spec, "_initializing", False)  # noqa: B010
    setattr(package, own, module)


def _code(source: str, cached: str) -> CodeType | None:
    """The code of a source file, if it was kept and the file is as it was."""
    try:
        status = os.stat(source)
        file = os.open(cached, _READING)
        try:
            data = os.read(file, _LONGEST)
        finally:
            os.close(file)
    except OSError:
        return None
    # As Python itself judges it; flags say that another way was chosen.
    written, size = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    head = MAGIC_NUMBER + bytes(4) + written.to_bytes(4, "little") + size.to_bytes(4, "little")
    if data[:_HEAD] != head or len(data) == _LONGEST:
        return None
    code: CodeType = marshal.loads(memoryview(data)[_HEAD:])
    # Where the package was moved with its code, tracebacks show the sources all the same.
    _imp._fix_co_filename(code, source)  # type: ignore[attr-defined]
    return code
