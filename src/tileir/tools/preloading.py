"""What the commonest commands always import, loaded from where it is known to be.

`tileir dis` of a small file takes the time of importing eighty modules, a fifth of which Python spends on finding them.
With this module it takes 2.4 times as long as bare Python, without it 2.7; the bar is 2.5 (`benchmarks/startup.py`).
This is for the process of a command, where no other thread imports anything yet.
"""

from __future__ import annotations

import _imp
import os
import sys

# Python itself has loaded these, unlike `importlib`.
from _frozen_importlib import ModuleSpec, _load_unlocked  # type: ignore[attr-defined]
from _frozen_importlib_external import SourceFileLoader

# Each after those that it imports.  `tests/tools/test_start_up.py` compares them with what is imported.
READING = """
annotations bytecode ir ir.floats ir.quoting ir.interning ir.types ir.attributes ir.dense ir.location ir.values
ir.accessors ir.core ir.diagnostics ir.symbols ir.traits ir.versions ir.declaration ir.traversal ir.verifier
tools.arguments tools.command tools.options cpp tools.input text collector dialect ir.registry dialect.ops
dialect.types dialect.attributes dialect.enums dialect.constraints dialect.construct dialect.debug_info
dialect.inference dialect.rules dialect.ops.control_flow dialect.ops.structure text.state dialect.ops.core text.syntax
text.syntax.draft_spellings text.syntax.directive text.syntax.attribute_directives text.syntax.format
text.syntax.structure text.syntax.aggregates dialect.ops.integer dialect.ops.memory dialect.ops.floating_point
"""
DISASSEMBLING = """
bytecode.primitives bytecode.container bytecode.records bytecode.layouts text.names text.output text.printer
tools.bytecode tools.bytecode.disassemble bytecode.entry_tables dialect.availability bytecode.debug bytecode.types
bytecode.tables bytecode.attributes bytecode.region_reader bytecode.body_reader bytecode.reader
"""
NEEDED = {"as": READING, "check": READING, "dis": READING + DISASSEMBLING, "opt": READING}

_PACKAGES = frozenset(("bytecode", "cpp", "dialect", "dialect.ops", "ir", "text", "text.syntax", "tools.bytecode"))


def preload(names: str) -> None:
    """Load modules of the package, each after those that it imports; compiled builds are left to Python."""
    folder = os.path.dirname(os.path.dirname(__file__))
    compiled = f"{folder}{os.sep}ir{os.sep}core{(_imp.extension_suffixes() or [''])[0]}"
    if type(__spec__.loader) is not SourceFileLoader or sys.pycache_prefix or os.path.exists(compiled):
        return
    ending = f".{sys.implementation.cache_tag}{f'.opt-{sys.flags.optimize}' if sys.flags.optimize else ''}.pyc"
    for name in names.split():
        full = f"tileir.{name}"
        if full in sys.modules:
            continue
        path = f"{folder}{os.sep}{name.replace('.', os.sep)}"
        is_package = name in _PACKAGES
        place, _, stem = (path, "", "__init__") if is_package else path.rpartition(os.sep)
        source = f"{place}{os.sep}{stem}.py"
        spec = ModuleSpec(full, SourceFileLoader(full, source), origin=source, is_package=is_package)
        # Python would find out the name once more.
        spec.has_location, spec.cached = True, f"{place}{os.sep}__pycache__{os.sep}{stem}{ending}"
        if is_package:
            spec.submodule_search_locations = [path]
        parent, _, own = full.rpartition(".")
        setattr(sys.modules[parent], own, _load_unlocked(spec))
