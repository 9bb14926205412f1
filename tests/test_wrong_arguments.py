"""Every public function with arguments of the wrong kind: refused at once, in words, by an error one can expect."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir import types
from tileir.ir.quoting import type_text
from tileir.passes.catalog import REGISTERED

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
    "to_bytecode version": lambda v: tileir.to_bytecode(module(), version=v),
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
    "compile entry": lambda v: tileir.compile(module(), entry=v),
    "compile backend": lambda v: tileir.compile(module(), backend=v),
    "compile schedule": lambda v: tileir.compile(module(), backend="interpreter", schedule=v).launch(1, (1,)),
    "compile cpu": lambda v: tileir.compile(module(), backend="cpu", cpu=v).launch(1, (1,)),
    "launch": lambda v: tileir.launch(v, (1,), ()),
    "Sanitizer": lambda v: tileir.sanitizer.Sanitizer(uninitialized=v),
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
    "apply_greedily": lambda v: tileir.passes.apply_greedily(v, []),
    "apply_greedily patterns": lambda v: tileir.passes.apply_greedily(module(), v),
    "apply_greedily pattern": lambda v: tileir.passes.apply_greedily(module(), [v]),
    "Pass options": lambda v: tileir.passes.Pass("p", "", wrong(print), options=v),
    "Diagnostic": lambda v: tileir.Diagnostic("error", "x", v),
    "lint": tileir.lint,
    "lint select": lambda v: tileir.lint(module(), select=v),
    "lint ignore": lambda v: tileir.lint(module(), ignore=v),
    "lint target": lambda v: tileir.lint(module(), target=v),
    "lint version": lambda v: tileir.lint(module(), version=v),
    "JudgePlan backends": lambda v: tileir.sweeps.JudgePlan(backends=v),
    "Plan targets": lambda v: tileir.sweeps.JudgePlan(targets=v),
    "Plan cost": lambda v: tileir.sweeps.JudgePlan(cost=v),
    "Plan trials": lambda v: tileir.sweeps.JudgePlan(trials=v),
    "Plan limits": lambda v: tileir.sweeps.JudgePlan(limits=v),
    "ProcessLimits seconds": lambda v: tileir.sweeps.ProcessLimits(seconds=v),
    "ProcessLimits memory": lambda v: tileir.sweeps.ProcessLimits(memory=v),
    "emulate": tileir.emulate,
    "emulate names": lambda v: tileir.emulate(names=v),
    "emulate trace": lambda v: tileir.emulate(trace=v),
    "launch grid": lambda v: tileir.compile(module(), backend="interpreter").launch(v, (1,)),
    "launch sanitize": lambda v: tileir.compile(module(), backend="interpreter").launch(1, (1,), sanitize=v),
    "launch schedule": lambda v: tileir.compile(module(), backend="interpreter").launch(1, (1,), schedule=v),
    "launch observer": lambda v: tileir.compile(module(), backend="interpreter").launch(1, (1,), observer=v),
    "cost": lambda v: tileir.cost(v, 1),
    "cost target": lambda v: tileir.cost(module(), 1, (1,), target=v, assemble=False),
    "cost grid": lambda v: tileir.cost(module(), v, (1,), assemble=False),
    "diff": lambda v: tileir.diff(v, module()),
    "compare": lambda v: tileir.recording.compare(v, v),
    "record": lambda v: tileir.record(v, 1, ((),)),
    "record args": lambda v: tileir.record(module(), 1, (v,)),
    "load_recording": tileir.recording.load,
    "reduce": lambda v: tileir.reduce(v, bool),
    "report": tileir.sweeps.report,
    "pointer_to": lambda v: tileir.compile(module(), backend="interpreter").launch(1, (tileir.kernels.pointer_to(v),)),
    "register_engine": tileir.backends.register_backend,
    "register_pass": lambda v: REGISTERED.pop(tileir.passes.register_pass(v, "", wrong(print)).name),
    "losses": tileir.losses,
    "div_by": tileir.attributes.div_by,
    "same_elements": tileir.attributes.same_elements,
}  # fmt: skip


STRINGS = ("'x'", "'\\ud800'", "'a\\x00b'")
EMPTY = ("[]", "()", "{}", "iterator")
VALUES = ("None", "1", "-1", "1.5", "True", *STRINGS, "[]", "()", "{}", "nan")

ACCEPTED: dict[str, tuple[str, ...]] = {
    "parse name": STRINGS,
    "from_bytecode layout": ("None",),
    "to_bytecode version": ("None",),
    "optimize level": ("1", "True"),
    "run_passes passes": ("[]", "()"),
    "compile entry": ("None",),
    "compile cpu": ("None",),
    "Sanitizer": ("[]", "()", "iterator"),
    "Builder": STRINGS,
    "Builder producer": ("None", *STRINGS),
    "Builder block": ("None",),
    "Builder.entry": STRINGS,
    "Builder.constant": ("1", "-1", "True"),
    "Builder.if_": ("1", "-1", "True"),
    "Builder attributes": ("None", "{}"),
    "Builder attribute": (*VALUES, "[None]"),
    "Builder location": ("None",),
    "Block": ("None", *EMPTY),
    "Region": ("None", *EMPTY),
    "set_attribute": (*VALUES, "[None]"),
    "set_attribute name": STRINGS,
    "set_operands": EMPTY,
    "apply_greedily patterns": EMPTY,
    "Pass options": ("None", "{}"),
    "lint select": ("None", *EMPTY),
    "lint ignore": EMPTY,
    "lint target": EMPTY,
    "JudgePlan backends": (*STRINGS, *EMPTY),
    "Plan targets": (*STRINGS, *EMPTY),
    "Plan cost": (*STRINGS, *EMPTY),
    "Plan trials": ("1", str(1 << 80)),
    "ProcessLimits seconds": ("1", "1.5", str(1 << 80)),
    "ProcessLimits memory": ("1", str(1 << 80)),
    "emulate trace": ("None", "1", str(1 << 80)),
    "launch grid": ("1",),
    "launch sanitize": ("True",),
    "launch schedule": ("None",),
    "launch observer": ("None",),
    "cost grid": ("1",),
    "record args": ("1", "-1", "True"),
    "register_pass": STRINGS,
    "div_by": ("1", "-1", "True", str(1 << 80)),
    "same_elements": ("()",),
}
"""The odd values that each function takes, because they make sense there.  It refuses all others."""


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_what_makes_no_sense_is_refused_at_once(name: str) -> None:
    accepted = []
    for value in ODD:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                FUNCTIONS[name](value)
        except (tileir.TileIRError, TypeError, ValueError, OSError):
            continue
        accepted.append("iterator" if isinstance(value, Iterator) else repr(value))
    assert sorted(accepted) == sorted(ACCEPTED.get(name, ()))


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
        (lambda: tileir.passes.apply_greedily(wrong("x"), []), "patterns are applied to an operation, not to a str"),
        (
            lambda: tileir.passes.apply_greedily(module(), [wrong(print)]),
            "the rules are tileir.passes.Pattern and tileir.passes.Fold obj",
        ),
        (
            lambda: tileir.passes.Pass("p", "", wrong(print), options=wrong(["a"])),
            "a dict of names and defaults, not a list",
        ),
        (lambda: addition().replace_with(wrong(1)), "is replaced by a list of values, not by an int"),
    ],
)
def test_the_words_say_what_is_wanted(work: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        work()
    # A compiled build looks at its arguments before we do: `Operation object expected; got str`.
    assert words in str(caught.value) or " object expected; got " in str(caught.value)


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (lambda: tileir.lint(wrong("k.mlir")), TypeError, "a module is needed, not a str: tileir.parse, tileir.load"),
        (lambda: tileir.lint(module(), select=wrong(3)), TypeError, "select is a name or a list of names, not 3"),
        (lambda: tileir.lint(module(), ignore=wrong([3])), TypeError, "ignore is a name or a list of names, not [3]"),
        (lambda: tileir.lint(module(), select="memry"), tileir.OptionError, "did you mean 'memory'?"),
        (lambda: tileir.sweeps.JudgePlan(backends=wrong(3)), TypeError, "backends is a name or a list of names, not 3"),
        (lambda: tileir.sweeps.JudgePlan(trials=0), ValueError, "trials is a whole number from 1 on, not 0"),
        (lambda: tileir.sweeps.JudgePlan(speedup=-1.0), ValueError, "speedup is a number from 0 on, not -1.0"),
        (
            lambda: tileir.sweeps.JudgePlan(limits=wrong(30)),
            TypeError,
            "limits is a tileir.sweeps.ProcessLimits, not an int",
        ),
        (lambda: tileir.sweeps.ProcessLimits(seconds=-1), ValueError, "seconds is a number above 0, not -1"),
        (lambda: tileir.sweeps.ProcessLimits(seconds=wrong("3")), ValueError, "seconds is a number above 0, not '3'"),
        (lambda: tileir.sweeps.ProcessLimits(memory=0), ValueError, "memory is a whole number from 1 on, not 0"),
        (
            lambda: tileir.emulate(sanitise=True),
            TypeError,
            "emulate has no option 'sanitise': did you mean 'sanitize'?",
        ),
        (lambda: tileir.load(TEXT), TypeError, "the text of a program was given where the path of a file belongs"),
        (lambda: tileir.load(wrong(None)), TypeError, "read from the path of a file or from bytes, not from None"),
        (lambda: tileir.load(wrong(3)), TypeError, "read from the path of a file or from bytes, not from an int"),
        (lambda: tileir.load(b"\0garbage"), tileir.BytecodeError, "does not correspond to Tile IR bytecode"),
        (
            lambda: tileir.compile(module(), wrong((1, 2))),
            tileir.LaunchError,
            "not a Module: pass entry= to name the kernel",
        ),
        (
            lambda: tileir.compile(module(), entry=wrong(numpy.zeros(9))),
            tileir.LaunchError,
            "is a string, not an ndarray",
        ),
        (lambda: tileir.compile(module(), backend=wrong(3)), tileir.LaunchError, "named by a string, not by an int"),
        (
            lambda: tileir.compile(module(), backend="x"),
            tileir.LaunchError,
            "there is no backend 'x': choose one of auto",
        ),
        (
            lambda: tileir.compile(module(), schedule="x"),
            tileir.LaunchError,
            "there is no schedule 'x': choose forward",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    work: Callable[[], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        work()
    assert words in str(caught.value) and len(str(caught.value).splitlines()) <= 2


def test_one_name_is_a_list_of_one() -> None:
    assert tileir.sweeps.JudgePlan(backends="interpreter") == tileir.sweeps.JudgePlan(backends=("interpreter",))
    assert tileir.sweeps.JudgePlan(backends=wrong(["cpu"])).digest == tileir.sweeps.JudgePlan(backends=("cpu",)).digest
    rules = [{finding.rule for finding in tileir.lint(module(), select=each)} for each in ("unused-", ["unused-"])]
    assert rules[0] == rules[1] == {"unused-value"}


def test_articles() -> None:
    for value, words in ((1, "an int"), ("", "a str"), (None, "None"), (numpy.zeros(2), "an ndarray"), ([], "a list")):
        assert type_text(value) == words
    first = module().body.block.first
    assert (type_text(module()), type_text(first)) == ("a Module", "an Operation")


def test_no_message_writes_the_article_of_a_type_itself() -> None:
    root = Path(str(tileir.__file__)).parent
    wrong_articles = re.compile(r"\ban? (?:\" *\n *f?\")?\{type\(\w+\)\.__(?:qual)?name__\}")
    assert [path.name for path in root.rglob("*.py") if wrong_articles.search(path.read_text(encoding="utf-8"))] == []


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
