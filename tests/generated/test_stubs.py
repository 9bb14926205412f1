"""What type checkers and editors are told about the builder is what the builder does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from generators.stubs import BY_HAND, builder_stub

import tileir
from tileir.dialect.signature import python_name, signature_of

ROOT = Path(__file__).parents[2]


def methods(text: str, name: str) -> dict[str, ast.FunctionDef]:
    (found,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name: node for node in reversed(found.body) if isinstance(node, ast.FunctionDef)}


def arguments(method: ast.FunctionDef) -> list[str]:
    given = method.args
    spread = [given.vararg] if given.vararg is not None else []
    return [argument.arg for argument in [*given.args[1:], *spread, *given.kwonlyargs]]


def test_every_operation_has_a_method_with_its_arguments_and_words() -> None:
    written = methods(builder_stub(), "Builder")
    for declaration in tileir.declarations.declarations():
        if not declaration.name.startswith("cuda_tile.") or declaration in BY_HAND:
            continue
        signature = signature_of(declaration)
        method = written[python_name(declaration.mnemonic)]
        names = [name.removesuffix("_") for name in arguments(method)]
        assert set(names) == {*signature.by_name, "location", "attributes"}, declaration.mnemonic
        assert ast.get_docstring(method), declaration.mnemonic


def test_methods_written_by_hand_are_those_of_the_builder() -> None:
    real = methods((ROOT / "src/tileir/dialect/builder.py").read_text(encoding="utf-8"), "Builder")
    written = methods(builder_stub(), "Builder")
    for name, method in real.items():
        if name.startswith("_") and name != "__init__":
            continue
        assert arguments(written[name])[: len(arguments(method))] == arguments(method), name
        if name != "__init__":
            assert ast.get_docstring(written[name]) == ast.get_docstring(method), name


def test_the_public_builder_is_the_builder() -> None:
    from tileir.dialect.builder import Builder

    found: object = tileir.Builder
    assert found is Builder


RIGHT = """
import tileir
from tileir.types import f32, i32, ptr, tile

build = tileir.Builder("kernels", version="13.4")
with build.entry("scale", ptr(f32), i32) as (data, rows):
    block, _, _ = build.get_tile_block_id()
    tensor = build.make_tensor_view(data, shape=[rows, 64], strides=[64, 1])
    tiles = build.make_partition_view(tensor, tile=(16, 64), padding="zero")
    zero: tileir.Value = build.constant(0, tile((), i32))
    x, token = build.load_view_tko(tiles, [block, zero])
    y = build.addf(x, build.mulf(x, 0.5, rounding_mode="zero"), flush_to_zero=True)
    total: tileir.Value = build.reduce(y, 0, 0.0, body=build.addf)
    with build.for_(0, rows, init=[zero]) as loop:
        build.continue_(build.addi(loop.value, loop.index, overflow="no_signed_wrap"))
    last = build.extract(y, [zero, zero], (16, 32))
    again = build.extract(y, indices=[zero, zero], shape=(16, 32))
    after: tileir.Value = build.print_tko([zero], token, "%d\\n")
    build.print_tko(str="done\\n", token=after)
    build.store_view_tko(y, tiles, [block, zero], token=token)
module: tileir.Operation = build.finish()
"""

WRONG = {
    "build.adf(x, x)": '"Builder" has no attribute "adf"',
    "build.addf(x)": 'Missing positional argument "rhs" in call to "addf" of "Builder"',
    "build.addf(x, x, rounding='zero')": 'Unexpected keyword argument "rounding" for "addf" of "Builder"',
    "build.addf(x, x, rounding_mode='zer0')": 'Argument "rounding_mode" to "addf" of "Builder" has incompatible type',
    "build.addf(x, 'one')": 'Argument 2 to "addf" of "Builder" has incompatible type',
    "a, b = build.addf(x, x)": '"Value" object is not iterable',
    "n: int = build.addf(x, x)": 'Incompatible types in assignment (expression has type "Value"',
    "tileir.nonsense": 'Module has no attribute "nonsense"',
    "build.extract(x)": 'No overload variant of "extract" of "Builder" matches argument type "Value"',
}


def type_check(path: Path) -> str:
    # With the cache of `make lint`, where that has run: it knows the package already.
    sources = Path(tileir.__file__).parents[1]
    environment = {**os.environ, "MYPYPATH": str(sources) if sources == ROOT / "src" else ""}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment).stdout


@pytest.mark.long
def test_a_type_checker_tells_right_calls_from_wrong_ones(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    wrong = "".join([f"def wrong_{number}() -> None:\n    {call}\n" for number, call in enumerate(WRONG)])
    program.write_text(f"{RIGHT}\n{wrong}")
    lines = type_check(program).splitlines()
    start = RIGHT.count("\n") + 3
    for number, words in enumerate(WRONG.values()):
        found = [line for line in lines if f"program.py:{start + 2 * number}: error: " in line]
        assert found and words in found[0], (words, found)
    first_lines = [line for line in lines if ": error: " in line]
    assert all(int(line.split(":")[1]) >= start for line in first_lines), first_lines


def test_the_program_that_type_checks_builds(tmp_path: Path) -> None:
    scope: dict[str, object] = {}
    exec(RIGHT, scope)
    assert isinstance(scope["module"], tileir.Operation)
