"""Programs that nest deeper than Python's stack: everything that walks a program must get through them."""

from __future__ import annotations

import itertools
import pickle
from contextlib import ExitStack

import pytest

import tileir
from tileir.bytecode.annotated import annotate
from tileir.ir.core import Operation
from tileir.ir.symbols import SymbolTable
from tileir.ir.traversal import DEEPEST_REGION, clone, is_memory_effect_free, structurally_equal
from tileir.passes.catalog import registered_passes
from tileir.text.printer import print_disassembly
from tileir.types import i1, i32

DEPTH = 500
#: Deeper than anything that Python's stack bears.
DEEPER = 1500
KINDS = {"ifs": ("if",), "fors": ("for",), "mixed": ("if", "for", "loop")}
#: The one that is only for the public test suite needs options.
PASSES = [known.name for known in registered_passes() if not known.name.startswith("test-")]


def nest(kind: str, depth: int = DEPTH) -> Operation:
    """Regions in one another, with something to do and something to simplify at every level."""
    builder = tileir.Builder("deep")
    with ExitStack() as scopes:
        condition, x, n = scopes.enter_context(builder.entry("k", i1, i32, i32))
        for _, shape in zip(range(depth), itertools.cycle(KINDS[kind])):
            value = builder.addi(x, builder.constant(1, i32))
            builder.print_tko([value], str="%d")
            if shape == "if":
                scopes.enter_context(builder.if_(condition))
            elif shape == "for":
                zero, one = builder.constant(0, i32), builder.constant(1, i32)
                x = scopes.enter_context(builder.for_(zero, n, one)).index
            else:
                scopes.enter_context(builder.loop())
        builder.print_tko([x], str="%d")
    return builder.module


def bare_nest(depth: int) -> Operation:
    builder = tileir.Builder("deep")
    with ExitStack() as scopes:
        (condition,) = scopes.enter_context(builder.entry("k", i1))
        for _ in range(depth):
            scopes.enter_context(builder.if_(condition))
    return builder.module


@pytest.fixture(scope="module", params=KINDS)
def module(request: pytest.FixtureRequest) -> Operation:
    return nest(request.param)


def depth_of(module: Operation) -> int:
    """How many operations with regions the innermost operation is in, without the module and the kernel."""
    deepest = 0
    depths = {module: 0}
    for operation in module.walk():
        parent = operation.parent_operation
        if parent is not None:
            depths[operation] = depths[parent] + 1
            deepest = max(deepest, depths[operation])
    return deepest - 2


def test_verifies(module):
    assert tileir.verify(module) == []


@pytest.mark.parametrize("depth", [DEEPER, pytest.param(DEEPEST_REGION, marks=pytest.mark.long)])
def test_nest_as_deep_as_bytecode_allows_goes_through_everything(depth):
    module = nest("mixed", depth)
    again = tileir.from_bytecode(tileir.to_bytecode(module))
    assert str(again.regions[0].block.first) == str(module.regions[0].block.first)
    assert depth_of(tileir.parse(str(again))) == depth
    assert depth_of(pickle.loads(pickle.dumps(again))) == depth
    tileir.optimize(again, level=3, rules="full")
    tileir.verify(again)
    assert depth_of(again) == depth


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("depth", [DEEPER, pytest.param(DEEPEST_REGION, marks=pytest.mark.long)])
def test_a_launch_runs_or_refuses_at_its_own_depth(backend, sanitize, depth, capfd):
    if backend == "cpu":
        pytest.importorskip("llvmlite")
    kernel = tileir.compile(nest("ifs", depth), backend=backend)
    try:
        kernel.launch((1,), (False, 1, 1), sanitize=sanitize)
    except tileir.TileIRError as error:
        assert "nested too deeply" in str(error)
    else:
        assert capfd.readouterr().out == "2"


def test_mistake_at_the_bottom_is_found_once():
    broken = nest("mixed")
    innermost = [operation for operation in broken.walk() if operation.name == "cuda_tile.print_tko"][-1]
    innermost.parent.last.erase()
    with pytest.raises(tileir.VerifyError) as caught:
        tileir.verify(broken)
    assert [d.message.partition(",")[0] for d in caught.value.diagnostics] == ["block with no terminator"]


def test_use_that_is_not_dominated_is_found_at_the_bottom():
    broken = nest("ifs")
    first = next(operation for operation in broken.walk() if operation.name == "cuda_tile.addi")
    prints = [operation for operation in broken.walk() if operation.name == "cuda_tile.print_tko"]
    prints[-1].set_operand(0, first.results[0])
    tileir.verify(broken)
    first.detach()
    last = broken.regions[0].block.first.regions[0].block.last
    last.parent.insert_before(first, last)
    with pytest.raises(tileir.VerifyError) as caught:
        tileir.verify(broken)
    assert [d.message for d in caught.value.diagnostics] == ["operand #0 does not dominate this use"] * 2


def test_prints_every_level_in_its_place(module):
    lines = str(module).splitlines()
    ends = lines[-DEPTH - 3 :]
    assert [line for line in ends if line.strip() != "}"] == ["    return"]
    assert ends.index("    return") == DEPTH
    indents = [len(line) - len(line.lstrip()) for line in ends if line.strip() == "}"]
    assert indents == [2 * level for level in (*range(DEPTH + 1, 1, -1), 1, 0)]
    openings = [len(line) - len(line.lstrip()) for line in lines if line.endswith("{")]
    assert openings == [2 * level for level in range(DEPTH + 2)]


def test_shallow_and_deep_levels_print_alike():
    shallow, deep = str(nest("mixed", 60)), str(nest("mixed"))
    levels = [line for line in shallow.splitlines() if line.endswith("{")]
    assert [line for line in deep.splitlines() if line.endswith("{")][: len(levels)] == levels
    assert str(tileir.parse(shallow)) == shallow


@pytest.mark.parametrize("debug_info", [False, True])
@pytest.mark.parametrize("generic", [False, True])
def test_every_form_of_text_has_every_operation(module, generic, debug_info):
    text = module.text(generic=generic, debug_info=debug_info)
    assert text.count("print_tko") == DEPTH + 1


def test_disassembles(module):
    assert print_disassembly(module).count("print_tko") == DEPTH + 1
    assert print_disassembly(module, debug_info=True).count("print_tko") == DEPTH + 1


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_bytecode_gives_the_program_back(module, layout):
    data = tileir.to_bytecode(module, layout=layout)
    again = tileir.from_bytecode(data)
    assert depth_of(again) == DEPTH
    assert print_disassembly(again) == print_disassembly(module)
    assert tileir.to_bytecode(again, layout=layout, preserve=True) == data


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_every_byte_is_explained(layout):
    data = tileir.to_bytecode(nest("mixed"), layout=layout)
    found = annotate(data)
    assert found.messages == []
    assert b"".join([data[piece.start : piece.end] for piece in found.fields()]) == data


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_deeper_bytecode_is_refused_with_the_way_there(layout):
    data = tileir.to_bytecode(bare_nest(DEEPEST_REGION + 1), layout=layout)
    with pytest.raises(tileir.BytecodeError) as caught:
        tileir.from_bytecode(data)
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert "nesting is too deep (more than 6000 levels)" in messages[0]
    assert sum("failed to parse region 0" in message for message in messages) == DEEPEST_REGION


def test_copy_is_equal_and_a_change_at_the_bottom_is_seen(module):
    copy = clone(module)
    assert depth_of(copy) == DEPTH
    assert structurally_equal(module, copy, locations=True)
    innermost = [operation for operation in copy.walk() if operation.name == "cuda_tile.print_tko"][-1]
    innermost.set_attribute("str", tileir.parse('cuda_tile.module @m attributes {a = "%d!"} {}').attributes["a"])
    assert not structurally_equal(module, copy)


def test_effect_at_the_bottom_is_seen(module):
    kernel = module.regions[0].block.first
    outermost = next(operation for operation in kernel.regions[0].block if operation.regions)
    assert not is_memory_effect_free(outermost)


def test_references_at_the_bottom_are_found():
    module = nest("mixed")
    assert SymbolTable(module).users("k") == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PASSES)
def test_every_pass_gets_through(module, name):
    copy = clone(module)
    tileir.run_passes(copy, [name])
    tileir.verify(copy)
    assert depth_of(copy) == DEPTH


def test_equal_nests_are_computed_once():
    """Each level uses a value of the level around it, so that equality has to be seen through all of them."""
    builder = tileir.Builder("twice")
    with builder.entry("k", i1, i32) as (condition, x):
        results = []
        for bottom in (7, 7, 8):
            value, branches = x, []
            for _ in range(DEPTH):
                branches.append(builder.if_(condition))
                branches[-1].__enter__()
                value = builder.addi(value, x)
            inner = builder.muli(value, builder.constant(bottom, i32))
            for branch in reversed(branches):
                builder.yield_(inner)
                branch.__exit__(None, None, None)
                with branch.else_():
                    builder.yield_(x)
                inner = branch.results[0]
            results.append(inner)
        builder.print_tko(results, str="%d %d %d")
    tileir.verify(builder.module)
    tileir.run_passes(builder.module, ["cse"])
    tileir.verify(builder.module)
    last = [operation for operation in builder.module.walk() if operation.name == "cuda_tile.print_tko"][-1]
    assert last.operands[0] is last.operands[1]
    assert last.operands[0] is not last.operands[2]


@pytest.mark.parametrize("rules", ["parity", "full"])
def test_highest_level_gets_through(module, rules):
    copy = tileir.optimize(clone(module), level=3, rules=rules)
    tileir.verify(copy)
    assert tileir.from_bytecode(tileir.to_bytecode(copy)) is not None
