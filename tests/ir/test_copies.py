"""`copy.copy`, `copy.deepcopy` and `pickle` of programs and their parts: they work, or refuse at once."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.generators.programs import random_module

import tileir
from tileir import types
from tileir.dialect import attributes as dialect
from tileir.dialect import debug_info
from tileir.ir import attributes, location
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.traversal import structurally_equal
from tileir.ir.types import Type

PROGRAM = """\
cuda_tile.module @m {
  entry @k(%x: tile<i32>, %c: tile<i1>) {
    %0 = addi %x, %x : tile<i32> loc("there.py":7:3)
    %1 = if %c -> (tile<i32>) {
      yield %0 : tile<i32>
    } else {
      yield %x : tile<i32>
    }
    return
  }
}
"""


def operation_named(module: Operation, mnemonic: str) -> Operation:
    return next(operation for operation in module.walk() if operation.declaration.mnemonic == mnemonic)


def through_pickle(thing: object) -> Any:
    found = [pickle.loads(pickle.dumps(thing, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    return found[-1]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
@pytest.mark.parametrize("seed", range(6))
def test_a_random_program(seed: int, again: Any) -> None:
    module = random_module(Random(seed))
    before = module.text(generic=True, debug_info=True)
    new = again(module)
    tileir.verify(new)
    assert new is not module
    assert new.text(generic=True, debug_info=True) == before == module.text(generic=True, debug_info=True)
    assert structurally_equal(module, new, locations=True)
    assert not set(new.walk()) & set(module.walk())
    for operation in module.walk():
        for result in operation.results:
            assert set(result.users) <= set(module.walk())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
def test_every_type_attribute_and_location_is_itself(again: Any) -> None:
    seen: dict[type, object] = {}
    for seed in range(40):
        for operation in random_module(Random(seed)).walk():
            for thing in [*operation.attributes.values(), operation.location, *[r.type for r in operation.results]]:
                seen.setdefault(type(thing), thing)
    view = types.tensor_view((64,), types.f32, (1,))
    scope = debug_info.di_subprogram(
        debug_info.di_file("k.py", "/"), 3, "k", "k", debug_info.di_compile_unit(debug_info.di_file("k.py", "/"))
    )
    for thing in [
        types.token, types.f4E2M1FN, types.partition_view((8,), view),
        dialect.div_by(8), dialect.bounded(0, None), dialect.same_elements((1,)), attributes.UNIT,
        attributes.integer_attribute(types.i32, -1), attributes.float_attribute(types.f32, 0x7FC00001),
        location.call_site_location(location.file_location("a", 1, 1), location.UNKNOWN), location.name_location("n"),
        debug_info.di_location(location.file_location("k.py", 4, 1), debug_info.di_lexical_block(scope, scope.file, 4, 2)),
    ]:  # fmt: skip
        seen.setdefault(type(thing), thing)
    assert len(seen) > 20
    for each in seen.values():
        assert isinstance(each, (Type, Attribute))
        if not isinstance(each, location.TextLocation):
            assert again(each) is each
            assert again([each, each]) == [each, each]


def test_a_chain_deeper_than_pythons_stack() -> None:
    place: location.Location = location.file_location("k.py", 1, 1)
    for line in range(5000):
        place = location.call_site_location(place, location.file_location("k.py", line, 1))
    assert through_pickle(place) is place
    assert copy.deepcopy(place) is place


def test_a_deep_nest() -> None:
    builder = tileir.Builder("deep")
    with ExitStack() as scopes:
        (condition,) = scopes.enter_context(builder.entry("k", types.i1))
        for _ in range(1500):
            scopes.enter_context(builder.if_(condition))
    module = builder.module
    assert sum(1 for _ in copy.deepcopy(module).walk()) == sum(1 for _ in module.walk())
    assert sum(1 for _ in through_pickle(module).walk()) == sum(1 for _ in module.walk())


# --- parts ---


def test_a_copy_of_an_operation_is_in_no_block() -> None:
    module = tileir.parse(PROGRAM)
    addition = operation_named(module, "addi")
    for again in (copy.copy, copy.deepcopy):
        new = again(addition)
        assert new.parent is None
        assert new.operands == addition.operands
        new.erase()


def test_a_deep_copy_of_a_program_and_its_parts_stays_together() -> None:
    module = tileir.parse(PROGRAM)
    branch = operation_named(module, "if")
    things = [module, branch, branch.results[0], branch.regions[1], branch.regions[1].blocks[0], branch.operands[0]]
    ways: list[Any] = [copy.deepcopy, through_pickle]
    for again in ways:
        new, *parts = again(things)
        inner = operation_named(new, "if")
        expected = [inner, inner.results[0], inner.regions[1], inner.regions[1].blocks[0], inner.operands[0]]
        assert all(part is wanted for part, wanted in zip(parts, expected, strict=True))
        assert inner is not branch


def test_parts_come_with_their_program() -> None:
    branch = operation_named(tileir.parse(PROGRAM), "if")
    new = through_pickle(branch)
    assert new.parent_operation.name == "cuda_tile.entry"
    assert through_pickle(branch.operands[0]).parent_block.parent_operation.name == "cuda_tile.entry"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_what_cannot_be_copied_alone_says_so_at_once(again: Any) -> None:
    branch = operation_named(tileir.parse(PROGRAM), "if")
    for thing in (branch.results[0], branch.operands[0], branch.regions[0], branch.regions[0].blocks[0]):
        with pytest.raises(TypeError, match="are part of a program and cannot be copied alone"):
            again(thing)


def test_what_belongs_to_nothing_cannot_be_pickled() -> None:
    operation = copy.copy(operation_named(tileir.parse(PROGRAM), "addi"))
    with pytest.raises(TypeError, match="it takes a value of another program"):
        pickle.dumps(operation)
    for thing in (tileir.Block(), tileir.Region()):
        with pytest.raises(TypeError, match="belongs to no operation"):
            pickle.dumps(thing)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_builder_at_work_is_not_copied(again: Any) -> None:
    with pytest.raises(TypeError, match="a Builder"):
        again(tileir.Builder("m"))


# --- files and positions ---


def test_bytecode_is_written_back_byte_for_byte() -> None:
    data = tileir.to_bytecode(tileir.parse(PROGRAM), version="13.2")
    module = tileir.from_bytecode(data)
    for again in (copy.deepcopy, through_pickle):
        assert tileir.to_bytecode(again(module), preserve=True) == data


def test_positions_in_a_text_come_along() -> None:
    module = through_pickle(tileir.parse(PROGRAM.replace("%x, %x : tile<i32> loc", "%x, %x : tile<i32> loc"), "k.mlir"))
    operation_named(module, "addi").set_attribute("overflow", "none")
    entry = operation_named(module, "entry")
    assert "k.mlir" in str(location.resolved(entry.location))


# --- errors, which processes hand to each other ---


def _caught(work: Callable[[], object]) -> tileir.TileIRError:
    with pytest.raises(tileir.TileIRError) as caught:
        work()
    return caught.value


def _wrong_module() -> None:
    tileir.parse(PROGRAM.replace("yield %0", "yield %nothing"), "k.mlir")


def _failing_kernel() -> None:
    text = (
        'cuda_tile.module @m { entry @k() { %f = constant <i1: false> : tile<i1> assert %f, "no" : tile<i1> return } }'
    )
    tileir.compile(tileir.parse(text), backend="interpreter").launch(1)


ERRORS = [
    _wrong_module,
    _failing_kernel,
    lambda: tileir.from_bytecode(b"\x7fTileIR\x00\x0d\x01\x00\x00\x99"),
    lambda: tileir.run_passes(tileir.parse(PROGRAM), ["nonsense"]),
    lambda: tileir.Builder("m").addi(1),  # type: ignore[call-arg]
    lambda: tileir.compile(tileir.parse(PROGRAM), entry="nothing"),
]


@pytest.mark.parametrize("work", ERRORS)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
def test_errors(work: Callable[[], object], again: Any) -> None:
    error = _caught(work)
    new = again(error)
    assert type(new) is type(error)
    assert str(new) == str(error)
    assert [str(d) for d in new.diagnostics] == [str(d) for d in error.diagnostics]
    assert vars(new).keys() == vars(error).keys()


def _work(module: Operation) -> tuple[str, Operation]:
    if module.symbol_name == "wrong":
        tileir.parse("nonsense", "k.mlir")
    return module.text(), tileir.optimize(module)


def test_programs_go_to_other_processes_and_back() -> None:
    module = tileir.parse(PROGRAM)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        text, new = pool.apply(_work, (module,))
        assert text == module.text()
        tileir.verify(new)
        module.set_attribute("sym_name", "wrong")
        with pytest.raises(tileir.ParseError, match=r"k\.mlir:1:1"):
            pool.apply(_work, (module,))


def test_a_fresh_process_can_print_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "module.pickle"
    path.write_bytes(pickle.dumps(tileir.parse(PROGRAM)))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')))"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert done.stdout == str(tileir.parse(PROGRAM)) + "\n"


def test_a_type_alone_in_a_fresh_process() -> None:
    program = "import pickle; from tileir.types import f32; print(pickle.loads(pickle.dumps(f32)) is f32)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n", done.stderr


# --- kernels ---


@pytest.mark.parametrize("backend", ["interpreter", "cpu", "auto"])
def test_a_kernel_is_compiled_again(backend: str) -> None:
    import numpy

    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
      %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %y = addi %x, %x : tile<i32>
      %u = store_ptr_tko weak %p, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
      return } }"""
    kernel = tileir.compile(tileir.parse(text), backend=backend)
    data = numpy.ones(1, numpy.int32)
    kernel.launch(1, (data,))
    for again in (copy.copy, copy.deepcopy, through_pickle):
        again(kernel).launch(1, (data,))
    assert data.tolist() == [16]


# --- attributes from plain values ---


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", '"text"'), (True, "true"), (5, "5 : i64"), (-1, "-1 : i64"), (2**64 - 1, "-1 : i64"), (0.5, "5.000000e-01 : f64"),
        ([1, "a", [True]], '[1, "a", [true]]'), ({"b": 1, "a": 0.5}, "{a = 5.000000e-01 : f64, b = 1 : i64}"),
        (types.f32, "f32"), (attributes.UNIT, "unit"),
    ],
)  # fmt: skip
def test_a_plain_value_is_the_attribute_it_stands_for(value: object, text: str) -> None:
    module = tileir.parse(PROGRAM)
    module.set_attribute("note", value)
    assert module.attributes["note"].text == text
    assert str(tileir.parse(str(module))) == str(module)


def test_a_plain_value_fits_the_declaration() -> None:
    module = tileir.parse(PROGRAM)
    addition = operation_named(module, "addi")
    addition.set_attribute("overflow", "no_signed_wrap")
    assert "overflow<no_signed_wrap>" in str(addition)
    module.set_attribute("sym_name", "other")
    assert str(module).startswith("cuda_tile.module @other")


@pytest.mark.parametrize(
    ("name", "value"),
    [("overflow", "nonsense"), ("overflow", 1), ("note", object()), ("note", [object()]), ("note", {1: 2}), ("note", 1 << 70),
     ("note", b"bytes"), (1, "text"), (None, None)],
)  # fmt: skip
def test_what_is_no_attribute_is_refused_at_once(name: Any, value: object) -> None:
    addition = operation_named(tileir.parse(PROGRAM), "addi")
    before = addition.attributes
    with pytest.raises(TypeError):
        addition.set_attribute(name, value)
    assert addition.attributes is before


def test_an_operand_is_a_value() -> None:
    addition = operation_named(tileir.parse(PROGRAM), "addi")
    argument = addition.operands[0]
    wrongs: list[Any] = [1, None, "x", addition]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            addition.set_operand(0, wrong)
        with pytest.raises(TypeError):
            addition.set_operands([argument, wrong])
    assert argument.use_count == 3
