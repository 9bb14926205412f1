"""Every public function with arguments of the wrong kind: refused at once, in words, by an error one can expect."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tileir
from tileir import types

TEXT = "cuda_tile.module @m { entry @k(%x: tile<i32>) { %0 = addi %x, %x : tile<i32> return } }"


def module() -> tileir.Operation:
    return tileir.parse(TEXT)


def addition() -> tileir.Operation:
    return next(operation for operation in module().walk() if operation.name == "cuda_tile.addi")


ODD = [
    None, 1, -1, 1.5, True, "x", b"x", [], (), {}, object(), print, ..., numpy.zeros(2), float("nan"), "\ud800", "a\0b",
    [None], 1 << 80, bytearray(b"x"), type, {1}, 1j, iter(()),
]  # fmt: skip


def wrong(value: object) -> Any:
    """A value that a type checker would refuse."""
    return value


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "parse": tileir.parse,
    "parse name": lambda v: tileir.parse(TEXT, v),
    "load": tileir.load,
    "from_bytecode": tileir.from_bytecode,
    "from_bytecode layout": lambda v: tileir.from_bytecode(tileir.to_bytecode(module()), layout=v),
    "to_bytecode": tileir.to_bytecode,
    "to_bytecode version": lambda v: tileir.to_bytecode(module(), v),
    "to_bytecode layout": lambda v: tileir.to_bytecode(module(), layout=v),
    "verify": tileir.verify,
    "verify hints": lambda v: tileir.verify(module(), hints=v),
    "verify version": lambda v: tileir.verify(module(), version=v),
    "optimize": tileir.optimize,
    "optimize level": lambda v: tileir.optimize(module(), v),
    "optimize rules": lambda v: tileir.optimize(module(), rules=v),
    "run_passes": lambda v: tileir.run_passes(v, ["cse"]),
    "run_passes passes": lambda v: tileir.run_passes(module(), v),
    "run_passes rules": lambda v: tileir.run_passes(module(), ["cse"], rules=v),
    "compile": tileir.compile,
    "compile entry": lambda v: tileir.compile(module(), v),
    "compile backend": lambda v: tileir.compile(module(), None, v),
    "compile schedule": lambda v: tileir.compile(module(), None, "interpreter", schedule=v).launch(1, 1),
    "compile cpu": lambda v: tileir.compile(module(), None, "cpu", cpu=v).launch(1, 1),
    "launch": lambda v: tileir.launch(v, (1,), ()),
    "Sanitizer": lambda v: tileir.Sanitizer(uninitialized=v),
    "Builder": lambda v: tileir.Builder(v).finish(),
    "Builder producer": lambda v: tileir.Builder("m", producer=v).finish(),
    "Builder block": lambda v: tileir.Builder(block=v).finish(),
    "Builder.entry": lambda v: tileir.Builder("m").entry(v),
    "Builder.entry types": lambda v: tileir.Builder("m").entry("k", v),
    "Builder.constant": lambda v: tileir.Builder("m").constant(v, types.i32),
    "Builder.constant type": lambda v: tileir.Builder("m").constant(1, v),
    "Builder.global_": lambda v: tileir.Builder("m").global_(v, 1, types.i32),
    "Builder.if_": lambda v: tileir.Builder("m").if_(v),
    "Builder.operation": lambda v: tileir.Builder("m").operation(v),
    "Builder attributes": lambda v: tileir.Builder("m").operation("make_token", attributes=v),
    "Builder attribute": lambda v: tileir.Builder("m").operation("make_token", attributes={"a": v}),
    "Builder location": lambda v: tileir.Builder("m").operation("make_token", location=v),
    "types.tile": types.tile,
    "types.ptr": types.ptr,
    "types.tensor_view": lambda v: types.tensor_view(v, v, v),
    "types.partition_view": lambda v: types.partition_view(v, v),
    "Block": tileir.Block,
    "Block.append": lambda v: tileir.Block().append(v),
    "Block.add_argument": lambda v: tileir.Block().add_argument(v),
    "Region": tileir.Region,
    "Region.append": lambda v: tileir.Region().append(v),
    "set_attribute": lambda v: addition().set_attribute("note", v),
    "set_attribute name": lambda v: addition().set_attribute(v, "x"),
    "set_operand": lambda v: addition().set_operand(0, v),
    "set_operands": lambda v: addition().set_operands(v),
    "replace_with": lambda v: addition().replace_with(v),
    "replace_all_uses_with": lambda v: addition().results[0].replace_all_uses_with(v),
    "text names": lambda v: module().text(names=v),
    "apply_greedily": lambda v: tileir.apply_greedily(v, []),
    "apply_greedily patterns": lambda v: tileir.apply_greedily(module(), v),
    "apply_greedily pattern": lambda v: tileir.apply_greedily(module(), [v]),
    "Pass options": lambda v: tileir.Pass("p", "", wrong(print), options=v),
    "Diagnostic": lambda v: tileir.Diagnostic("error", "x", v),
    "div_by": tileir.div_by,
    "same_elements": tileir.same_elements,
}  # fmt: skip


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_what_makes_no_sense_is_refused_at_once(name: str) -> None:
    for value in ODD:
        with (
            contextlib.suppress(tileir.TileIRError, TypeError, ValueError, OSError),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            FUNCTIONS[name](value)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: tileir.parse(wrong(b"x")), "a program's text is a string, not a bytes; tileir.load takes bytes"),
        (lambda: tileir.verify(wrong(TEXT)), "a module is needed, not a str"),
        (lambda: tileir.to_bytecode(wrong(None)), "a module is needed, not None"),
        (lambda: tileir.compile(wrong(TEXT)), "the text of a program was given where the path of a file belongs"),
        (lambda: tileir.optimize(wrong(TEXT)), "passes run on a module, not on a str"),
        (lambda: tileir.run_passes(module(), "cse"), "passes are a list of names"),
        (lambda: tileir.Block().append(wrong(tileir.Block())), "a block holds operations, not a Block"),
        (lambda: tileir.apply_greedily(wrong("x"), []), "patterns are applied to an operation, not to a str"),
        (lambda: tileir.apply_greedily(module(), [wrong(print)]), "the rules are tileir.Pattern and tileir.Fold obj"),
        (lambda: tileir.Pass("p", "", wrong(print), options=wrong(["a"])), "a dict of names and defaults, not a list"),
        (lambda: addition().replace_with(wrong(1)), "is replaced by a list of values, not by an int"),
    ],
)
def test_the_words_say_what_is_wanted(work: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        work()
    # A compiled build looks at its arguments before we do: `Operation object expected; got str`.
    assert words in str(caught.value) or " object expected; got " in str(caught.value)


def test_a_refused_operand_leaves_everything_as_it_was() -> None:
    operation = addition()
    before = operation.operands[0].use_count
    for value in (None, 1, operation):
        with pytest.raises(TypeError):
            operation.set_operands([operation.operands[0], wrong(value)])
    assert operation.operands[0].use_count == before


def test_the_name_of_a_file_given_for_its_text_is_told_apart() -> None:
    hint = "note: tileir.load reads a file, tileir.parse the text itself"
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse("examples/vector_add.mlir")
    assert str(caught.value).endswith(hint)
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse("cuda_tile.module @m {")
    assert hint not in str(caught.value)
    assert tileir.parse("cuda_tile.module @m { } // from m.mlir").name == "cuda_tile.module"
