"""Imports point one way, between layers and between the modules of a layer, and take public names
(docs/internals/architecture.md)."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tileir.dialect.ops.testing import TESTING_FUNC
from tileir.ir.registry import REGISTRY

SOURCE = Path(__file__).parents[1] / "src"

# A layer, or a module beside the layers, imports only those of lower numbers.
LAYERS = {
    "annotations": 0,
    "browser": 0,
    "collector": 0,
    "forking": 0,
    "processes": 0,
    "processors": 0,
    "notebook": 0,
    "whole_files": 0,
    "terminal": 1,
    "ir": 1,
    "dialect": 2,
    "text": 3,
    "bytecode": 3,
    "rewrite": 3,
    "passes": 4,
    "cpp": 4,
    "descriptions": 4,
    "pickling": 4,
    "program_files": 4,
    "interface": 5,
    "types": 6,
    "builder": 6,
    "attributes": 6,
    "declarations": 6,
    "execute": 6,
    "ttir": 7,
    "bridge": 8,
    "analyze": 9,
    **dict.fromkeys(("analysis", "backends", "costs", "errors", "kernels", "observers", "recording", "sanitizer"), 6),
    "sweeps": 6,
    "proofs": 10,
    "serve": 11,
    "judging": 11,
    "agent": 12,
    "tools": 13,
    "__main__": 14,
}

# Annotations that go round in a circle, each of a class and the one it is a part of; nothing else does.
PARTS = {
    "an operation has a declaration, which checks operations": (
        "ir.core -> ir.declaration",
        "ir.accessors -> ir.declaration",
    ),
    "a value belongs to an operation or a block, which have values": ("ir.values -> ir.core",),
}

# When an import happens: with the module, in a function that is called, for the type checker alone.
LOADED, CALLED, CHECKED = "loaded", "called", "checked"


class Import(NamedTuple):
    importer: str
    imported: str
    when: str


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SOURCE / "tileir").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(nodes: Iterable[ast.AST], importer: str, known: Iterable[str], when: str = LOADED) -> Iterator[Import]:
    """The imports of known modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(importer, alias.name, when) for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{importer} has a relative import"
            for alias in node.names:
                # What is taken from a package may be a module in it.
                outer, inner = str(node.module), f"{node.module}.{alias.name}"
                if inner in known or outer in known:
                    yield Import(importer, inner if inner in known else outer, when)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_in(node.body, importer, known, CHECKED)
            yield from imports_in(node.orelse, importer, known, when)
        else:
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            # Imports are statements: expressions, which are most of a module, hold none.
            statements = [
                each for part in ("body", "handlers", "cases", "orelse", "finalbody") for each in _of(node, part)
            ]
            yield from imports_in(statements, importer, known, CALLED if is_function else when)


def _of(node: ast.AST, part: str) -> list[ast.AST]:
    """Statements of a node; the body of an expression is none."""
    found = getattr(node, part, None)
    return found if isinstance(found, list) else []


def imports_of(sources: dict[str, str]) -> list[Import]:
    found: list[Import] = []
    for importer, source in sources.items():
        found += imports_in([ast.parse(source)], importer, sources)
    return found


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return imports_of({name: path.read_text(encoding="utf-8") for name, path in modules().items()})


def circle_in(imports: Iterable[Import]) -> str:
    """A circle, each module with the one it imports behind it; empty if there is none."""
    graph: dict[str, list[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, []).append(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as failure:
        return " -> ".join(reversed(failure.args[1]))
    return ""


def layer_of(module: str) -> str:
    """The layer a module belongs to; empty for the package and its tables, which say what is public and nothing else."""
    return module.split(".")[1] if "." in module and module != "tileir.public" else ""


def test_no_circle_of_imports(imports: list[Import]) -> None:
    assert circle_in(each for each in imports if each.when == LOADED) == ""


def test_no_circle_hides_in_a_function(imports: list[Import]) -> None:
    assert circle_in(each for each in imports if each.when != CHECKED) == ""


def test_annotations_go_round_in_a_circle_only_where_classes_are_parts_of_each_other(imports: list[Import]) -> None:
    allowed = {edge for edges in PARTS.values() for edge in edges}
    inside = [each for each in imports if layer_of(each.importer) and layer_of(each.imported)]
    parts = [each for each in inside if each.when == CHECKED and edge_of(each) in allowed]
    others = [each for each in inside if each not in parts]
    assert circle_in(others) == ""
    # What closes no circle needs no permission.
    alike = [each._replace(when=LOADED) for each in inside]
    closing = {edge_of(each) for each in parts if each.importer in reached_from(each.imported, alike)}
    assert sorted(allowed - closing) == []


def edge_of(each: Import) -> str:
    return f"{each.importer.removeprefix('tileir.')} -> {each.imported.removeprefix('tileir.')}"


def test_the_contributors_page_draws_every_layer() -> None:
    page = (SOURCE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = [path.name for path in (SOURCE / "tileir").iterdir() if (path / "__init__.py").exists()]
    drawn = next(line for line in page.splitlines() if "ir <- dialect" in line)
    groups = [re.findall(r"\w+", group) for group in drawn.split("<-")]
    assert sorted(name for group in groups for name in group) == sorted(set(packages) - {"browser", "docs"})
    for lower, higher in itertools.pairwise(groups):
        assert max(LAYERS[name] for name in lower) < min(LAYERS[name] for name in higher)
    for name in packages:
        assert name == "browser" or f"  {name}/" in page


def test_a_layer_imports_lower_layers_only(imports: list[Import]) -> None:
    wrong = set()
    for each in imports:
        importer, imported = layer_of(each.importer), layer_of(each.imported)
        if importer and imported and importer != imported and LAYERS[importer] <= LAYERS[imported]:
            wrong.add(f"{each.importer} -> {each.imported}")
    assert sorted(wrong) == []


def reached_from(start: str, imports: Iterable[Import]) -> set[str]:
    """A module and all that it imports, at once or when it is called."""
    graph: dict[str, list[str]] = {}
    for each in imports:
        if each.when != CHECKED:
            graph.setdefault(each.importer, []).append(each.imported)
    reached, pending = {start}, [start]
    while pending:
        new = [name for name in graph.get(pending.pop(), []) if name not in reached]
        reached.update(new)
        pending += new
    return reached


def test_the_code_cache_follows_all_that_the_cpu_engine_imports(imports: list[Import]) -> None:
    loader = pytest.importorskip("tileir.execute.cpu.runtime.loader", reason="running programs needs NumPy")
    source_hash = pytest.importorskip("tileir.execute.cache.code_cache")
    # From the folder of the package in use, which need not be that of the sources.
    package = Path(source_hash.__file__).parents[2]
    followed = {Path(path).relative_to(package) for path, *_ in source_hash.sources_but(loader.NO_PART)}
    paths = {name: path.relative_to(SOURCE / "tileir") for name, path in modules().items()}
    reached = reached_from("tileir.execute.cpu.engine", imports)
    assert {"tileir.execute.sanitizer.bounds", "tileir.passes.cse", "tileir.text.printer"} <= reached
    assert sorted(name for name in reached if paths[name] not in followed) == []


# What these decide is what messages say.
NAMING = {"tileir.annotations", "tileir.collector"}
NAMING |= {f"tileir.execute.locations.{name}" for name in ("source_locations", "python_source", "script", "wording")}


def test_the_cache_of_cubins_follows_all_that_writes_their_bytecode(imports: list[Import]) -> None:
    cached = pytest.importorskip("tileir.execute.gpu.tileiras.kernel")
    source_hash = pytest.importorskip("tileir.execute.cache.code_cache")
    package = Path(source_hash.__file__).parents[2]
    looked_at = source_hash.sources_but((), cached.PARTS)
    followed = {Path(path).relative_to(package) for path, *_ in looked_at}
    paths = {name: path.relative_to(SOURCE / "tileir") for name, path in modules().items()}
    reached = reached_from("tileir.execute.gpu.tileiras.program", imports)
    assert {"tileir.bytecode.writer", "tileir.passes.legalize", "tileir.dialect.ops"} <= reached
    assert sorted(name for name in reached - NAMING if paths[name] not in followed) == []
    assert sorted(NAMING - reached) == []


def test_the_cache_of_tritons_code_follows_all_that_makes_it(imports: list[Import]) -> None:
    cached = pytest.importorskip("tileir.execute.gpu.triton.stored_code")
    source_hash = pytest.importorskip("tileir.execute.cache.code_cache")
    package = Path(source_hash.__file__).parents[2]
    looked_at = source_hash.sources_but(cached.NO_PART, cached.PARTS)
    followed = {Path(path).relative_to(package) for path, *_ in looked_at}
    paths = {name: path.relative_to(SOURCE / "tileir") for name, path in modules().items()}
    reached = reached_from("tileir.execute.gpu.triton.lowering.lower", imports)
    assert {"tileir.execute.gpu.triton.program", "tileir.passes.canonicalize", "tileir.dialect.ops"} <= reached
    assert (
        sorted(
            name
            for name in reached - {"tileir.annotations", "tileir.cpp.demangling", "tileir.forking"}
            if paths[name] not in followed
        )
        == []
    )
    of_ttir = {Path(path).relative_to(package) for path, *_ in source_hash.sources_but((), cached.TTIR_PARTS)}
    assert paths["tileir.execute.gpu.triton.ttgir.specialize"] in of_ttir
    assert of_ttir <= followed, "a kernel that is found without lowering it names code that these made"


def cpu_layers() -> list[set[str]]:
    """The layers of the CPU backend as the docstring of its package draws them, the lowest first."""
    text = ast.get_docstring(ast.parse(modules()["tileir.execute.cpu"].read_text(encoding="utf-8"))) or ""
    drawn = "".join([line for line in text.splitlines() if " <- " in line])
    return [set(re.findall(r"\w+", layer)) for layer in drawn.split("<-")]


def test_the_layers_of_the_cpu_engine_are_those_it_draws(imports: list[Import]) -> None:
    package = "tileir.execute.cpu"
    layers = cpu_layers()
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    parts = {name.split(".")[3] for name in modules() if name.startswith(f"{package}.")}
    assert sorted(level) == sorted(parts)
    wrong = set()
    # Matmuls and the sanitizer go through all layers from `ir` on: no circle among modules is all they need.
    across, beside = {"matmul", "sanitizer"}, {"ir", "lowering", "codegen", "matmul", "sanitizer"}
    # For the type checker alone counts too.
    for each in imports:
        if each.importer.startswith(f"{package}.") and each.imported.startswith(f"{package}."):
            importer, imported = each.importer.split(".")[3], each.imported.split(".")[3]
            if across & {importer, imported} and {importer, imported} <= beside:
                continue
            # What stands on top are modules, not folders: no circle among them is all they need.
            is_top = level[importer] == level[imported] == len(layers) - 1
            if importer != imported and level[importer] <= level[imported] and not is_top:
                wrong.add(f"{each.importer} -> {each.imported}")
    assert sorted(wrong) == []


def test_no_lock_of_cached_property_is_left_to_a_forked_process() -> None:
    # Until Python 3.11 `functools.cached_property` holds a lock while a value is computed.
    users = [
        name for name, path in modules().items() if "from functools import cached_property" in path.read_text("utf-8")
    ]
    assert users == ["tileir.forking"]


# --- declarations, not names ---

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_told_apart(source: str, operations: Collection[str]) -> list[str]:
    """Where a module asks for an operation by its name: by the full name, or by what it does with a mnemonic.

    A mnemonic may be printed.  It is not compared, no key of a table and no subject of a `match`; the same goes for a
    variable that was given one.  Who reads a name somebody wrote looks it up in the registry.
    """
    found: list[tuple[int, str]] = []

    def visit(scope: ast.AST, outer: frozenset[str]) -> None:
        inside: list[ast.AST] = []
        pending: list[ast.AST] = list(ast.iter_child_nodes(scope))
        functions: list[ast.AST] = []
        while pending:
            node = pending.pop()
            inside.append(node)
            (functions if isinstance(node, FUNCTIONS) else pending).extend(
                [node] if isinstance(node, FUNCTIONS) else ast.iter_child_nodes(node)
            )
        given = {
            target.id
            for node in inside
            if isinstance(node, ast.Assign) and is_mnemonic(node.value, frozenset())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        names = outer | given
        found.extend((node.lineno, ast.unparse(node)) for node in inside if is_asked(node, names))
        for function in functions:
            visit(function, names)

    def is_mnemonic(node: ast.AST, names: frozenset[str]) -> bool:
        return (isinstance(node, ast.Attribute) and node.attr == "mnemonic") or (
            isinstance(node, ast.Name) and node.id in names
        )

    def is_asked(node: ast.AST, names: frozenset[str]) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str) and "." in node.value and node.value in operations
        if isinstance(node, ast.Compare):
            return any(is_mnemonic(part, names) for part in (node.left, *node.comparators))
        if isinstance(node, ast.Subscript):
            return is_mnemonic(node.slice, names)
        if isinstance(node, ast.Match):
            return is_mnemonic(node.subject, names)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("startswith", "endswith"):
                return is_mnemonic(node.func.value, names)
            return node.func.attr in ("get", "pop") and any(is_mnemonic(part, names) for part in node.args)
        return False

    # Most modules speak of neither, and need not be read.
    if "mnemonic" in source or any(name in source for name in operations if "." in name):
        visit(ast.parse(source), frozenset())
    return [text for _, text in sorted(found)]


def test_operations_are_told_apart_by_declaration() -> None:
    assert TESTING_FUNC.name in REGISTRY.by_name
    found = {
        name: names_told_apart(path.read_text(encoding="utf-8"), REGISTRY.by_name) for name, path in modules().items()
    }
    assert {name: asked for name, asked in found.items() if asked} == {}


def test_names_told_apart_are_seen() -> None:
    source = """
"cuda_tile.for ends a line"
if operation.name == "cuda_tile.for" or declaration.mnemonic in ROSTER: pass
print(f"{declaration.mnemonic}")
TABLE[declaration.mnemonic], TABLE.get(declaration.mnemonic), "x" + declaration.mnemonic
def function(mnemonic):
    kind = self.declaration.mnemonic
    mnemonic == "for"
    return lambda: (kind == "for", kind.startswith("atomic"), kind.upper())
match declaration.mnemonic:
    case "for": pass
"""
    assert names_told_apart(source, {"for", "cuda_tile.for"}) == [
        "'cuda_tile.for'",
        "declaration.mnemonic in ROSTER",
        "TABLE.get(declaration.mnemonic)",
        "TABLE[declaration.mnemonic]",
        "kind == 'for'",
        "kind.startswith('atomic')",
        "match declaration.mnemonic:\n    case 'for':\n        pass",
    ]


# --- attributes ---

# These collect what an operation is made from.
COLLECTORS = ("call", "self", "state")
CHANGES = ("clear", "pop", "popitem", "setdefault", "update")


def attributes_changed_in_place(source: str) -> list[str]:
    """The places where the attributes of an operation are changed, which others share, and not replaced."""

    def is_shared(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "attributes"
            and not (isinstance(node.value, ast.Name) and node.value.id in COLLECTORS)
        )

    found: list[str] = []
    # Most modules have no such word, and need not be read.
    tree = ast.parse(source if ".attributes" in source else "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and is_shared(node.value):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            if is_shared(node.func.value):
                found.append(ast.unparse(node.func))
    return found


def test_attributes_of_operations_are_changed_by_replacing_them() -> None:
    found = {name: attributes_changed_in_place(path.read_text(encoding="utf-8")) for name, path in modules().items()}
    assert {name: changed for name, changed in found.items() if changed} == {}


def test_attributes_changed_in_place_are_seen() -> None:
    source = """
del operation.attributes["a"]
self.entry.attributes["b"] = operation.attributes["c"]
self.entry.attributes.pop("d", None)
state.attributes["e"] = operation.attributes.get("f")
"""
    wanted = ["operation.attributes['a']", "self.entry.attributes.pop", "self.entry.attributes['b']"]
    assert sorted(attributes_changed_in_place(source)) == wanted


# --- private names ---


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# A private name of another module stands behind a dot, or in an import.
MAY_TAKE = re.compile(r"(?<!\bself)(?<!\bcls)\._(?!_)|\bimport\b(?: *\([^)]*|.*)\b_(?!_)")


def private_names(source: str, known: Iterable[str]) -> list[str]:
    """The names with an underscore in front that a module takes from another."""
    # Most modules have no such word, and need not be read.
    nodes = list(ast.walk(ast.parse(source))) if MAY_TAKE.search(source) else []
    taken, names = [], set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in known:
                    names.add(alias.asname or alias.name)
                elif node.module in known and is_private(alias.name):
                    taken.append(f"{node.module}.{alias.name}")
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            if is_private(node.attr):
                taken.append(f"{node.value.id}.{node.attr}")
    return taken


def test_private_names_stay_in_their_module() -> None:
    known = modules()
    taken = {name: private_names(path.read_text(encoding="utf-8"), known) for name, path in known.items()}
    assert {name: private for name, private in taken.items() if private} == {}


def test_private_names_are_seen() -> None:
    source = "from a import b as other, _c, __version__\nfrom a.b import d\nother._e(d._f, other.g, other.__doc__)"
    assert private_names(source, ["a", "a.b"]) == ["a._c", "other._e"]
    assert private_names("from a import b\nself._e = b._f", ["a.b"]) == ["b._f"]
    assert private_names("from a import (\n    b,\n    _c,\n)", ["a"]) == ["a._c"]


def test_imports_are_told_apart_and_a_circle_is_named() -> None:
    found = imports_of(
        {
            "a": "import b\nif TYPE_CHECKING:\n    from c import C\nelse:\n    import c.d",
            "b": "class B:\n    def run(self):\n        with self:\n            from c import d",
            "c": "from e import E",
            "c.d": "try:\n    from a import A\nexcept ImportError:\n    pass",
        }
    )
    assert found == [
        Import("a", "b", LOADED),
        Import("a", "c", CHECKED),
        Import("a", "c.d", LOADED),
        Import("b", "c.d", CALLED),
        Import("c.d", "a", LOADED),
    ]
    assert circle_in(found[:3]) == ""
    # Where a circle begins is not said.
    assert circle_in(each for each in found if each.when == LOADED) in ("a -> c.d -> a", "c.d -> a -> c.d")
    assert sorted(circle_in(found[:1] + found[3:]).split(" -> ")[1:]) == ["a", "b", "c.d"]
