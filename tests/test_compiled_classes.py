"""What the compiled layers must be told of their classes, so that the others can use them (compile_layers.py).

A method of a compiled class refuses objects of classes that are derived from it elsewhere, unless the class allows them.
Which it does for some without being told, as long as several compiled classes are derived from it, too.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tileir"
ALLOWED = "mypyc_attr(allow_interpreted_subclasses=True)"


def _layers() -> tuple[str, ...]:
    specification = importlib.util.spec_from_file_location("compile_layers", ROOT / "compile_layers.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    found: tuple[str, ...] = module.LAYERS
    return found


def _base_classes() -> dict[tuple[str, str], str]:
    """The classes of compiled layers, by module and name, from which others derive; with one that does."""
    layers = _layers()
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[0] in layers:
            continue
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[:1] == ["tileir"]
            for alias in node.names
            if node.module.split(".")[1:2] and node.module.split(".")[1] in layers
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for base in node.bases:
                    if isinstance(base, ast.Name) and base.id in imported:
                        found[imported[base.id]] = f"{'.'.join(parts)}.{node.name}"
    return found


def _definition(module: str, name: str) -> ast.ClassDef:
    path = SOURCE.parent / Path(*module.split(".")).with_suffix(".py")
    (found,) = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return found


def test_classes_that_others_derive_from_allow_it() -> None:
    bases = _base_classes()
    assert ("tileir.ir.diagnostics", "OptionError") in bases
    for (module, name), derived in bases.items():
        decorators = [ast.unparse(each) for each in _definition(module, name).decorator_list]
        assert ALLOWED in decorators, f"{derived} derives from {name}"


def test_compiled_code_imports_each_operation_by_name() -> None:
    """`ops.ADDF` in compiled code does not load the chapter of `ADDF`: `from tileir.dialect.ops import ADDF` does."""
    for path in [path for layer in _layers() for path in (SOURCE / layer).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "tileir.dialect":
                assert "ops" not in [alias.name for alias in node.names], path
