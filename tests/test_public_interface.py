"""The public modules: every name, every type in a signature, and the same with nothing installed."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.public import MODULES, TABLES

SOURCE = Path(__file__).parents[1] / "src"

SPACES = ["tileir", *[f"tileir.{name}" for name in MODULES]]
WORDS = ("tileir.attributes", "tileir.types")
# Classes whose objects are given, and not made: nobody calls their constructors.
GIVEN = (
    "Comparison", "Exploration", "Kernel", "ProgramChange", "ProgramDifference", "RecordedArray", "Recording",
    "Results", "ResultRow", "Rewriter", "SemanticDifference", "SmithProgram", "SweepComparison", "SweepProgress",
    "SweepReport", "SweepResult", "TileBlock",
)  # fmt: skip


# --- names ---


@functools.cache
def tree(module: str) -> ast.Module:
    path = SOURCE / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("space", SPACES)
def test_every_name_is_there(space: str) -> None:
    module = importlib.import_module(space)
    assert len(module.__all__) == len(set(module.__all__)) > 0
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_few_names_are_at_the_top() -> None:
    assert len(tileir.__all__) <= 45
    # Types, attributes and declarations are the words of a program; the others are classes and functions to know.
    others = {name for space in TABLES if space not in WORDS for name in TABLES[space]}
    assert len(others - set(tileir.__all__)) <= 120


def test_a_name_has_one_home() -> None:
    found: dict[str, str] = {}
    for space, table in TABLES.items():
        for name, (home, _) in table.items():
            # The top has the errors of `tileir.errors`, and each of two modules a function that loads.
            home = TABLES[home][name][0] if home in TABLES else home
            assert found.setdefault(name, home) == home or name == "load", (space, name)


def test_no_name_is_that_of_a_module() -> None:
    """Importing `tileir.passes.cse` makes `tileir.passes` the package, whatever it was before."""
    inside = {path.stem for path in (SOURCE / "tileir").iterdir()}
    assert not inside & set(tileir.__all__)
    assert set(MODULES) <= inside & set(dir(tileir))


def test_a_name_nobody_knows_is_an_attribute_error() -> None:
    assert not hasattr(tileir, "bogus")
    with pytest.raises(AttributeError, match="module 'tileir' has no attribute 'bogus'"):
        _ = tileir.bogus


# --- the types in signatures ---


@functools.cache
def statements(module: str) -> dict[str, ast.AST]:
    """The names a module defines, gives or imports at its top, and under `if TYPE_CHECKING`."""
    found: dict[str, ast.AST] = {}
    pending: list[ast.AST] = list(tree(module).body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(node.name, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, node)
        elif isinstance(node, (ast.If, ast.Try)):
            pending.extend(ast.iter_child_nodes(node))
    return found


def definition(module: str, name: str) -> tuple[str, ast.AST]:
    """Where a name that a module uses comes from: the module, and the statement that makes it."""
    node = statements(module).get(name)
    if node is None:
        if "*" in statements(module):
            return definition(str(statements(module)["*"].module), name)
        return "builtins" if hasattr(builtins, name) else "", tree(module)
    if isinstance(node, ast.ImportFrom):
        if not str(node.module).startswith("tileir."):
            return str(node.module), node
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        return definition(str(node.module), original)
    return module, node


def names_in(module: str, annotation: ast.AST | None) -> Iterator[tuple[str, str]]:
    """The classes of tileir an annotation names, each with its module; aliases are looked through."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "TypeVar":
            yield from names_in(module, node.keywords[0].value)
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            node = ast.Name(node.value)
        if not isinstance(node, ast.Name):
            continue
        origin, made = definition(module, node.id)
        if not origin.startswith("tileir."):
            continue
        if isinstance(made, ast.Assign):
            yield from names_in(origin, made.value)
        elif isinstance(made, ast.ClassDef):
            yield origin, made.name


def annotations_of(definition: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Everything of a function or class that a caller passes, or is passed."""
    if isinstance(definition, ast.FunctionDef):
        arguments = definition.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            yield f"argument {argument.arg}", argument.annotation
    elif isinstance(definition, ast.ClassDef):
        for member in definition.body:
            if not isinstance(member, ast.FunctionDef):
                continue
            if member.name[0] != "_" or (member.name == "__init__" and definition.name not in GIVEN):
                for where, annotation in annotations_of(member):
                    yield f"{member.name} {where}", annotation


def public_names() -> dict[str, str]:
    """Every public name with the module it is taken from."""
    found = {name: home.removeprefix("!") for table in TABLES.values() for name, (home, _) in table.items()}
    return {**dict.fromkeys(tileir.declarations.__all__, "tileir.declarations"), **found}


# What raises a diagnostic with a code, and what is passed on as it came.
INNER = ("Code", "ValueDifference", "TuningTrial")


@pytest.mark.parametrize("name", sorted(public_names()))
def test_every_type_that_a_caller_passes_is_public(name: str) -> None:
    public = public_names()
    module, made = definition(public[name], name)
    missing = [
        f"{where}: {found} of {origin}"
        for where, annotation in annotations_of(made)
        for origin, found in names_in(module, annotation)
        if found not in public and found not in INNER
    ]
    assert missing == []


# --- errors ---


def test_every_error_a_user_can_meet_is_one_family() -> None:
    classes = [getattr(tileir.errors, name) for name in tileir.errors.__all__]
    errors = [each for each in classes if not issubclass(each, Warning)]
    assert len(errors) == 41 and len(classes) == 43
    for error in errors:
        assert issubclass(error, tileir.TileIRError)
        assert error.__name__.endswith(("Error", "Crash", "Timeout"))
    for each in classes:
        assert (each.__module__, each.__qualname__) == ("tileir.errors", each.__name__)
    assert {name for name in tileir.__all__ if name.endswith("Error")} < set(tileir.errors.__all__)


@pytest.mark.parametrize(
    ("work", "line"),
    [
        ("tileir.parse('x')", "tileir.errors.ParseError: error: custom op 'x' is unknown"),
        ("tileir.optimize(tileir.parse(''), 7)", "tileir.errors.OptionError: error: '7' is not an optimization level"),
        ("tileir.compile(tileir.parse(''))", "tileir.errors.LaunchError: error: the module has no entry"),
        (
            "tileir.compile(tileir.parse('entry @k() { return }')).launch(0)",
            "tileir.errors.LaunchError: error: the grid",
        ),
    ],
)
def test_a_traceback_names_an_error_once_and_where_it_is_found(work: str, line: str) -> None:
    found = subprocess.run([sys.executable, "-c", f"import tileir\n{work}"], capture_output=True, text=True)
    assert re.findall(r"^tileir\.errors\.\w+: .*", found.stderr, re.MULTILINE)[0].startswith(line)
    assert found.stderr.count("tileir.errors.") == 1 and "During handling" not in found.stderr


def test_no_other_error_of_the_package_is_public() -> None:
    """Errors end in `Error`, `Crash` or `Timeout` and are public; what only tileir raises and catches does not."""
    for path in (SOURCE / "tileir").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^class ([A-Z]\w+(?:Error|Crash|Timeout))\(", text, re.MULTILINE):
            assert name in tileir.errors.__all__, f"{name} of {path.name} is not in tileir.errors"


def test_the_page_lists_every_name() -> None:
    page = (SOURCE.parent / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    names = sorted({name for space in TABLES if space not in WORDS for name in TABLES[space]})
    assert [name for name in names if not re.search(rf"`([\w.]+\.)?{name}\b", page)] == []


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (lambda: tileir.parse("cuda_tile.module @m {"), tileir.ParseError),
        (lambda: tileir.load(BROKEN.encode()), tileir.VerifyError),
        (lambda: tileir.from_bytecode(b"no"), tileir.BytecodeError),
        (lambda: tileir.verify(tileir.parse(TEXT), version="12.0"), tileir.errors.VersionError),
        (lambda: tileir.verify(tileir.parse(TEXT), hints="no"), tileir.OptionError),
        (lambda: tileir.to_bytecode(tileir.parse(TEXT), layout="no"), tileir.OptionError),
        (lambda: tileir.losses(tileir.parse(TEXT), layout="no"), tileir.OptionError),
        (lambda: tileir.from_bytecode(tileir.to_bytecode(tileir.parse(TEXT)), layout="no"), tileir.OptionError),
        (lambda: tileir.optimize(tileir.parse(TEXT), 7), tileir.OptionError),
        (lambda: tileir.optimize(tileir.parse(TEXT), rules="no"), tileir.OptionError),
        (lambda: tileir.parse(TEXT).text(names="no"), tileir.OptionError),
        (lambda: tileir.run_passes(tileir.parse(TEXT), ["no"]), tileir.errors.PipelineError),
        (lambda: tileir.passes.run_pipeline(tileir.parse(TEXT), "no"), tileir.errors.PipelineError),
        (lambda: tileir.run_passes(tileir.parse(TEXT), ["downlevel{version=9.9}"]), tileir.errors.VersionError),
        (lambda: tileir.Builder("m").addi(), tileir.BuildError),  # type: ignore[call-arg]
        (lambda: tileir.declarations.declaration_of("no"), tileir.OptionError),
    ],
)
def test_an_error_says_what_went_wrong(work, error) -> None:
    with pytest.raises(error) as caught:
        work()
    assert type(caught.value) is error
    assert caught.value.message == caught.value.diagnostics[0].message != ""


def wrong(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


@pytest.mark.parametrize(
    "work",
    [
        lambda: tileir.parse(wrong(1)),
        lambda: tileir.load(wrong(1)),
        lambda: tileir.from_bytecode(wrong(1)),
        lambda: tileir.from_bytecode(wrong("text")),
        lambda: tileir.verify(wrong(1)),
        lambda: tileir.losses(wrong(1)),
        lambda: tileir.optimize(wrong(1)),
        lambda: tileir.Builder(wrong(1)),
        lambda: tileir.passes.Pass("p", "", wrong(1)),
    ],
)
def test_an_argument_of_another_type_is_a_type_error(work) -> None:
    with pytest.raises(TypeError):
        work()


# --- reading ---

TEXT = "cuda_tile.module @m { entry @k(%x: tile<i32>) { %0 = addi %x, %x : tile<i32> return } }"
# Reads well as text and as bytecode, and breaks a rule.
BROKEN = "cuda_tile.module @m { entry @k(%x: tile<4xi32>) { %0 = reshape %x : tile<4xi32> -> tile<8xi32> return } }"


def test_load_treats_text_and_bytecode_alike(tmp_path: Path) -> None:
    files = [BROKEN.encode(), tileir.to_bytecode(tileir.parse(BROKEN))]
    for number, data in enumerate(files):
        path = tmp_path / str(number)
        path.write_bytes(data)
        for source in (data, bytearray(data), memoryview(data), path, str(path)):
            with pytest.raises(tileir.VerifyError, match="same number of elements"):
                tileir.load(source)
            assert tileir.load(source, verify=False).name == "cuda_tile.module"
    with pytest.raises(tileir.VerifyError):
        tileir.from_bytecode(files[1])
    assert str(tileir.from_bytecode(files[1], verify=False)) == str(tileir.load(files[1], verify=False))


def test_a_byte_order_mark_is_no_part_of_a_text() -> None:
    plain = str(tileir.parse(TEXT))
    assert str(tileir.parse("\ufeff" + TEXT)) == str(tileir.load(b"\xef\xbb\xbf" + TEXT.encode())) == plain
    with pytest.raises(tileir.ParseError, match=r"(?m)\Aerror: .*\n --> -:1:1$"):
        tileir.parse("\ufeffnonsense")
    with pytest.raises(tileir.ParseError):
        tileir.parse("\ufeff\ufeff" + TEXT)


def test_parse_verifies_where_asked_to() -> None:
    assert tileir.parse(BROKEN).name == "cuda_tile.module"
    with pytest.raises(tileir.VerifyError, match=r"\Aerror: .*\n --> here\.mlir:1:\d+\n"):
        tileir.parse(BROKEN, "here.mlir", verify=True)
    with pytest.raises(tileir.VerifyError, match=r"\Aerror: .*\n --> here\.mlir:1:\d+\n"):
        tileir.load(BROKEN.encode(), "here.mlir")


def test_options_that_mean_the_same_have_one_name_and_one_order() -> None:
    order = ["name", "version", "layout", "allow_unregistered", "verify", "entry", "defines", "include"]
    for name in ("parse", "load", "from_bytecode"):
        _, made = definition("tileir.interface", name)
        assert isinstance(made, ast.FunctionDef)
        options = [a.arg for a in [*made.args.args[1:], *made.args.kwonlyargs]]
        assert options == [option for option in order if option in options]
        assert set(options) <= set(order)


LAUNCHING = ("launch", "record", "cost", "debug", "explore", "custom_op")
# How many parameters of the others may be passed without their names.
POSITIONAL = {
    "compile": 2, "diff": 2, "emulate": 1, "from_bytecode": 1, "from_ttir": 1, "judge": 2, "lint": 1, "load": 2, "losses": 1,
    "optimize": 2, "parse": 2, "prove": 2, "reduce": 2, "run_passes": 2, "smith": 1, "sweep": 2, "to_bytecode": 1, "verify": 1,
}  # fmt: skip
# What these mean has another name in every function and command.
SYNONYMS = {
    "limit": "memory_limit", "time_limit": "timeout", "seconds": "timeout", "num_threads": "threads", "engine": "backend",
    "targets": "target", "gpu": "target", "export": "html", "trace_block": "trace", "debug": "pdb",
}  # fmt: skip


def parameters(function: Any) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(function).parameters.values() if each.name != "self"]


def test_functions_that_take_a_launch_have_one_calling_convention() -> None:
    methods = [getattr(tileir.Kernel, name) for name in ("launch", "bind", "time", "tune", "work")]
    for function in [*[getattr(tileir, name) for name in LAUNCHING], *methods]:
        names = [each.name for each in parameters(function) if each.kind is each.POSITIONAL_OR_KEYWORD]
        expected = ["grid", "args"] if function in methods else ["kernel", "grid", "args"]
        assert names == (["kernel", "grid", "outputs"] if function is tileir.custom_op else expected)


def test_options_are_passed_by_name() -> None:
    # Where a part of it was imported before, this one is the package, which is called in its place.
    functions = [name for name in tileir.__all__ if inspect.isfunction(getattr(tileir, name))]
    assert sorted([*LAUNCHING, *POSITIONAL]) == functions
    for name, count in POSITIONAL.items():
        found = [each for each in parameters(getattr(tileir, name)) if each.kind is each.POSITIONAL_OR_KEYWORD]
        assert len(found) == count, name


@pytest.mark.parametrize("space", [space for space in TABLES if space not in WORDS])
def test_no_option_has_a_second_name(space: str) -> None:
    found = vars(importlib.import_module(space))
    for name in [name for name in TABLES[space] if inspect.isfunction(found.get(name, getattr(tileir, name, None)))]:
        options = {each.name for each in parameters(getattr(importlib.import_module(space), name))}
        if name != "apply_greedily":
            assert not options & set(SYNONYMS), (space, name)


# --- memory ---


def test_memory_of_programs_that_are_gone_is_released() -> None:
    from tileir.ir.interning import POOL

    def kept() -> int:
        return sum(len(table) for _, table, _ in POOL.tables)

    tileir.kernels.release_memory()
    before = kept()
    held = tileir.types.tile((2, 4, 8, 16, 32, 64), tileir.types.i8)
    for number in range(200):
        tileir.parse(f'cuda_tile.module @m attributes {{a = "gone {number}"}} {{ }}')
    assert kept() > before + 200
    tileir.kernels.release_memory()
    assert kept() < before + 20
    assert tileir.types.tile((2, 4, 8, 16, 32, 64), tileir.types.i8) is held


# --- with nothing installed ---

BLOCKED = """
import builtins, sys
for name in ("numpy", "ml_dtypes", "llvmlite", "cuda", "torch"):
    sys.modules[name] = None
"""


def run_bare(code: str) -> str:
    found = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_every_name_is_there_with_nothing_installed() -> None:
    code = """
import tileir
import importlib
from tileir.public import MODULES
for module in ["tileir", *[f"tileir.{name}" for name in MODULES]]:
    space = importlib.import_module(module)
    assert all(hasattr(space, name) for name in space.__all__), module
assert not hasattr(tileir, "bogus")
everything = {}
exec("from tileir import *", everything)
assert set(tileir.__all__) <= set(everything), set(tileir.__all__) - set(everything)
assert not isinstance(1, tileir.Kernel)
module = tileir.load(b"cuda_tile.module @m { entry @k() { return } }")
assert tileir.load(tileir.to_bytecode(tileir.optimize(module))).name == "cuda_tile.module"
tileir.kernels.release_memory()
running = ("compile", "launch", "emulate", "kernels.pointer_to", "kernels.overlap", "Kernel", "observers.Observer")
for name in (*running, "sanitizer.Sanitizer", "observers.Trace"):
    try:
        eval(f"tileir.{name}")()
    except tileir.MissingDependencyError as error:
        assert "pip install 'tileir[run]'" in error.message, error.message
    else:
        raise AssertionError(name)
print("fine")
"""
    assert run_bare(code) == "fine\n"


def test_help_works_with_nothing_installed() -> None:
    page = run_bare("import tileir, pydoc\nprint(pydoc.plain(pydoc.render_doc(tileir)))")
    assert "tileir: the toolkit for CUDA Tile IR." in page
    assert "parse(" in page and "class Builder" in page and "running programs needs NumPy" in page
