"""A test engine with planted bugs, 20 kinds of them: crashes and miscompiles, each with the smallest program known.

The engine is the interpreter, given a program in which the bug has done its work.  A crash is a `PlantedCrash`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import tileir
from tileir.analyze.reducing.candidate_tests import ask_difference, ask_engine, same_difference
from tileir.analyze.reducing.program import Program
from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.engine.interface import Backend, KernelSettings, PreparedKernel
from tileir.execute.interpreter.engine import Interpreter
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.ir.types import I8, I64, Type
from tileir.ir.values import Value


class PlantedCrash(Exception):
    """What the engine ends in where a crash is planted."""


def element(value: Value) -> Type | None:
    return value.type.element if isinstance(value.type, TileType) else None


def defined_by(value: Value, declaration: object) -> bool:
    definition = value.defining_operation
    return definition is not None and definition.declaration is declaration


def is_in(operation: Operation, declaration: object) -> bool:
    around = operation.parent_operation
    while around is not None and around.declaration is not declaration:
        around = around.parent_operation
    return around is not None


def crash(operation: Operation) -> None:
    raise PlantedCrash(operation.name)


def replaced(operation: Operation, declaration: Any) -> None:
    """Let an operation of the same operands, results and attributes stand for another one."""
    operation.declaration = declaration


def swap_operands(first: int, second: int) -> Callable[[Operation], None]:
    def swap(operation: Operation) -> None:
        left, right = operation.operands[first], operation.operands[second]
        operation.set_operand(first, right)
        operation.set_operand(second, left)

    return swap


def swap_results(operation: Operation) -> None:
    first, second = operation.results[:2]
    users = [(user, index) for user in first.users for index, value in enumerate(user.operands) if value is first]
    second.replace_all_uses_with(first)
    for user, index in users:
        user.set_operand(index, second)


def swap_branches(operation: Operation) -> None:
    operation.regions.reverse()


def drop_mask(operation: Operation) -> None:
    operation.set_operands([operation.operands[0]], (1, 0, 0, 0))


def forget_operation(operation: Operation) -> None:
    operation.replace_with([operation.operands[0]])


def signedness(word: str) -> Callable[[Operation], None]:
    from tileir.dialect.enums import SIGNEDNESS

    return lambda operation: operation.set_attribute("signedness", SIGNEDNESS[word])


class Bug(NamedTuple):
    """A bug: where it strikes, what it does there, the family of programs it is planted in, the smallest program."""

    name: str
    strikes: Callable[[Operation], bool]
    does: Callable[[Operation], None]
    family: str
    smallest: str
    """With its launch in a comment."""


def _kernel(body: str, parameters: str = "", arguments: str = "") -> str:
    lines = "\n".join(["    " + line.strip() for line in body.strip().splitlines()])
    return f"// tileir: --grid 1 {arguments}\ncuda_tile.module @m {{\n  entry @f({parameters}) {{\n{lines}\n    return\n  }}\n}}\n"


def _stored(body: str, type: str, value: str, arguments: str = "", parameters: str = "") -> str:
    """A kernel that ends in a store of a scalar."""
    store = f"%stored = store_ptr_tko weak %p, {value} : tile<ptr<{type}>>, tile<{type}> -> token"
    pointer = f"%p: tile<ptr<{type}>>"
    return _kernel(
        f"{body.strip()}\n{store}",
        f"{pointer}, {parameters}" if parameters else pointer,
        f"--arg zeros:{type}:1 {arguments}",
    )


BUGS = (
    Bug(
        "a reduction along the middle of a rank-3 tile",
        lambda o: (
            o.declaration is ops.REDUCE
            and isinstance(o.operands[0].type, TileType)
            and o.operands[0].type.rank == 3
            and o.attributes["dim"].value == 1
        ),
        crash,
        "reductions",
        _kernel(
            """
            %c = constant <i8: 0> : tile<1x1x1xi8>
            %r = reduce %c dim=1 identities=[0 : i8] : tile<1x1x1xi8> -> tile<1x1xi8>
            (%a: tile<i8>, %b: tile<i8>) { yield %a : tile<i8> }
            """
        ),
    ),
    Bug(
        "a scan from the end",
        lambda o: o.declaration is ops.SCAN and o.attributes["reverse"].value == 1,
        crash,
        "reductions",
        _kernel(
            """
            %c = constant <i8: 0> : tile<1xi8>
            %r = scan %c dim=0 reverse=true identities=[0 : i8] : tile<1xi8> -> tile<1xi8>
            (%a: tile<i8>, %b: tile<i8>) { yield %a : tile<i8> }
            """
        ),
    ),
    Bug(
        "an attribute: a division that rounds up",
        lambda o: o.declaration is ops.DIVI and o.keyword("rounding") == "positive_inf",
        crash,
        "arithmetic",
        _kernel(
            """
            %c = constant <i8: 1> : tile<i8>
            %d = divi %c, %c signed rounding<positive_inf> : tile<i8>
            """
        ),
    ),
    Bug(
        "a product of what was converted",
        lambda o: o.declaration is ops.MMAF and any(defined_by(v, ops.FTOF) for v in o.operands[:2]),
        crash,
        "matmuls",
        _kernel(
            """
            %s = constant <f32: 0.0> : tile<1x1xf32>
            %c = ftof %s : tile<1x1xf32> -> tile<1x1xf16>
            %r = mmaf %c, %c, %c : tile<1x1xf16>, tile<1x1xf16>, tile<1x1xf16>
            """
        ),
    ),
    Bug(
        "a branch in a branch",
        lambda o: o.declaration is ops.IF and is_in(o, ops.IF),
        crash,
        "control_flow",
        _kernel(
            """
            %c = constant <i1: false> : tile<i1>
            if %c {
            if %c { }
            }
            """
        ),
    ),
    Bug(
        "a loop that carries two values",
        lambda o: o.declaration is ops.FOR and len(o.results) >= 2,
        crash,
        "control_flow",
        _kernel(
            """
            %c = constant <i32: 1> : tile<i32>
            %x, %y = for %i in (%c to %c, step %c) : tile<i32> iter_values(%a = %c, %b = %c) -> (tile<i32>, tile<i32>) {
            continue %a, %b : tile<i32>, tile<i32>
            }
            """
        ),
    ),
    Bug(
        "types: a number of 8 bits made one of 64",
        lambda o: o.declaration is ops.EXTI and element(o.operands[0]) is I8 and element(o.results[0]) is I64,
        crash,
        "conversions",
        _kernel(
            """
            %c = constant <i8: 0> : tile<i8>
            %d = exti %c signed : tile<i8> -> tile<i64>
            """
        ),
    ),
    Bug(
        "a global",
        lambda o: o.declaration is ops.GET_GLOBAL,
        crash,
        "memory",
        """// tileir: --grid 1
cuda_tile.module @m {
  global @g <i8: [0]> : tile<1xi8>
  entry @f() {
    %p = get_global @g : tile<ptr<i8>>
    return
  }
}
""",
    ),
    Bug(
        "a chain of tokens: a store behind a join",
        lambda o: o.declaration is ops.STORE_PTR_TKO and defined_by(o.operands[-1], ops.JOIN_TOKENS),
        crash,
        "memory",
        _kernel(
            """
            %t = make_token : token
            %j = join_tokens %t, %t : token
            %c = constant <i8: 0> : tile<i8>
            %s = store_ptr_tko weak %p, %c token = %j : tile<ptr<i8>>, tile<i8> -> token
            """,
            "%p: tile<ptr<i8>>",
            "--arg zeros:i8:1",
        ),
    ),
    Bug(
        "a loop that is left in a branch",
        lambda o: o.declaration is ops.BREAK and is_in(o, ops.IF),
        crash,
        "control_flow",
        _kernel(
            """
            %c = constant <i1: true> : tile<i1>
            loop {
            if %c { break }
            continue
            }
            """
        ),
    ),
    Bug(
        "a choice by a comparison",
        lambda o: o.declaration is ops.SELECT and defined_by(o.operands[0], ops.CMPI),
        crash,
        "arithmetic",
        _kernel(
            """
            %c = constant <i8: 0> : tile<i8>
            %d = cmpi equal %c, %c, signed : tile<i8> -> tile<i1>
            %e = select %d, %c, %c : tile<i1>, tile<i8>
            """
        ),
    ),
    Bug(
        "tiles joined along dimension 1",
        lambda o: o.declaration is ops.CAT and o.attributes["dim"].value == 1,
        crash,
        "shapes",
        _kernel(
            """
            %c = constant <i8: 0> : tile<1x1xi8>
            %d = cat %c, %c dim = 1 : tile<1x1xi8>, tile<1x1xi8> -> tile<1x2xi8>
            """
        ),
    ),
    Bug(
        "a choice takes the other value",
        lambda o: o.declaration is ops.SELECT,
        swap_operands(1, 2),
        "arithmetic",
        _stored(
            """
            %c = constant <i1: false> : tile<i1>
            %x = constant <i1: true> : tile<i1>
            %y = select %c, %x, %c : tile<i1>, tile<i1>
            """,
            "i1",
            "%y",
        ),
    ),
    Bug(
        "a mask with padding is forgotten",
        lambda o: (
            o.declaration is ops.LOAD_PTR_TKO
            and o.operand("mask") is not None
            and o.operand("paddingValue") is not None
        ),
        drop_mask,
        "everything",
        _stored(
            """
            %m = constant <i1: false> : tile<i1>
            %d = constant <i8: 1> : tile<i8>
            %x, %t = load_ptr_tko weak %q, %m, %d : tile<ptr<i8>>, tile<i1>, tile<i8> -> tile<i8>, token
            """,
            "i8",
            "%x",
            "--arg zeros:i8:1",
            "%q: tile<ptr<i8>>",
        ),
    ),
    Bug(
        "the absolute value of an integer is forgotten",
        lambda o: o.declaration is ops.ABSI,
        forget_operation,
        "arithmetic",
        _stored(
            """
            %c = constant <i8: -1> : tile<i8>
            %x = absi %c : tile<i8>
            """,
            "i8",
            "%x",
        ),
    ),
    Bug(
        "two values that a loop carries change places",
        lambda o: o.declaration is ops.FOR and len(o.results) >= 2 and o.results[0].type is o.results[1].type,
        swap_results,
        "control_flow",
        _stored(
            """
            %c = constant <i32: 0> : tile<i32>
            %x, %y = for %i in (%d to %d, step %d) : tile<i32> iter_values(%a = %c, %b = %d) -> (tile<i32>, tile<i32>) {
            continue %d, %d : tile<i32>, tile<i32>
            }
            """,
            "i32",
            "%x",
            "--arg 1",
            "%d: tile<i32>",
        ),
    ),
    Bug(
        "a branch with a result takes the other way",
        lambda o: o.declaration is ops.IF and bool(o.results),
        swap_branches,
        "control_flow",
        _stored(
            """
            %c = constant <i1: true> : tile<i1>
            %d = constant <i1: false> : tile<i1>
            %x = if %c -> (tile<i1>) { yield %c : tile<i1> } else { yield %d : tile<i1> }
            """,
            "i1",
            "%x",
        ),
    ),
    Bug(
        "a shift to the right forgets the sign",
        lambda o: o.declaration is ops.SHRI and o.keyword("signedness") == "signed",
        signedness("unsigned"),
        "arithmetic",
        _stored(
            """
            %c = constant <i8: -1> : tile<i8>
            %d = constant <i8: 1> : tile<i8>
            %x = shri %c, %d signed : tile<i8>
            """,
            "i8",
            "%x",
        ),
    ),
    Bug(
        "a mask that is a constant inside a loop is added",
        lambda o: (
            o.declaration is ops.ANDI
            and defined_by(o.operands[1], ops.CONSTANT)
            and is_in(o, ops.FOR)
            and not is_in(o, ops.LOOP)
        ),
        lambda o: replaced(o, ops.ORI),
        "control_flow",
        _stored(
            """
            %c = constant <i32: 0> : tile<i32>
            %d = constant <i32: 1> : tile<i32>
            %r = for %i in (%c to %d, step %d) : tile<i32> iter_values(%a = %c) -> (tile<i32>) {
            %x = andi %a, %d : tile<i32>
            continue %x : tile<i32>
            }
            """,
            "i32",
            "%r",
        ),
    ),
    Bug(
        "the larger of two numbers without a sign is found with one",
        lambda o: o.declaration is ops.MAXI and o.keyword("signedness") == "unsigned",
        signedness("signed"),
        "arithmetic",
        _stored(
            "%x = maxi %c, %d unsigned : tile<i8>",
            "i8",
            "%x",
            "--arg -1 --arg 0",
            "%c: tile<i8>, %d: tile<i8>",
        ),
    ),
)


class Nothing(PreparedKernel):
    """A kernel that is not run: without the crash that was looked for, nothing more is to be seen."""

    def launch(self, grid: Any, arguments: tuple[object, ...], options: Any) -> None:
        pass


class PlantedEngine(Backend):
    """The interpreter with a bug."""

    name = "planted"
    title = "the interpreter with a bug"

    def __init__(self, bug: Bug) -> None:
        self.bug: Bug = bug

    def missing(self) -> str:
        return ""

    def prepare(self, entry: Operation, globals: dict[str, Any], settings: KernelSettings) -> PreparedKernel:
        module = entry.parent_operation
        assert module is not None
        copy = clone(module)
        for operation in list(copy.walk()):
            if self.bug.strikes(operation):
                self.bug.does(operation)
        if self.bug.does is crash:
            return Nothing()
        chosen = next(o for o in copy.walk() if o.declaration is ops.ENTRY and o.symbol_name == entry.symbol_name)
        return Interpreter().prepare(chosen, globals, settings)


class Plant:
    """A bug with a program that has it, for a search: the first of smith's programs that shows it."""

    def __init__(self, bug: Bug, size: int) -> None:
        self.bug: Bug = bug
        for seed in range(400):
            made = tileir.smith(seed, family=bug.family, size=size)
            if not any(bug.strikes(operation) for operation in made.module.walk()):
                continue
            self.program: Program = Program.original(made.module)
            self.program.grid = made.grid
            self.test: InProcess = InProcess(bug, made.launch, self.program)
            if self.test(self.program):
                return
        raise AssertionError(f"no program shows this: {bug.name}")


class TooLong(Exception):
    """A candidate does not end."""


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Let work raise `TooLong` after so much time of the processor, which other processes cannot take away."""

    def end(number: int, frame: object) -> None:
        raise TooLong

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class InProcess:
    """As the tests of `tileir reduce`, without a child process: nothing here crashes for good."""

    def __init__(self, bug: Bug, launch: LaunchDescription, original: Program) -> None:
        self._crashes: bool = bug.does is crash
        self._question = (
            ask_engine("planted", launch) if self._crashes else ask_difference("interpreter", "planted", launch)
        )
        with processor_time(5.0):
            self.first: str = self._question(original)

    def __call__(self, candidate: Program) -> bool:
        with processor_time(5.0):
            answer = self._question(candidate)
        if self._crashes:
            return answer.startswith("crashed: PlantedCrash")
        return self.first.startswith("results differ") and same_difference(answer, self.first)
