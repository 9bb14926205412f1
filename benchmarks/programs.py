"""Synthetic programs for the benchmarks: one recipe, written in two languages.

`recipe` decides which operation comes next and which values it uses. It speaks to a `Writer`, and there are two of
those: one writes `cuda_tile` text, the other the `arith`/`scf`/`func`/`vector` text that stock xDSL reads. Both see the
same decisions, so the two programs have the same operations, in the same order, with the same operands, the same
nesting and the same number of types. Nothing depends on hash order or time: the same size gives the same text.

A function has `FUNCTION_SIZE` operations, itself and its terminator included. It begins with constants; then come loops
with two loop-carried values, each holding an if/else with results, and straight-line arithmetic between them. One
operation in seven is a constant. The functions use four shapes in turn, so that a program mentions fifteen types, not
two.

    python benchmarks/programs.py --operations 400 --dialect cuda_tile
"""

from __future__ import annotations

import argparse
import sys
from abc import ABC, abstractmethod
from random import Random

FUNCTION_SIZE = 400
SECTION_SIZE = 40
SHAPES = ("16", "4x4", "2x8", "2x2x4")
"""Small on purpose: xDSL stores a splat constant as all its elements, so large tiles would inflate its memory."""

INTEGER_BINARY = ("addi", "addi", "addi", "muli", "muli", "subi", "andi", "xori")
FLOAT_BINARY = ("addf", "addf", "addf", "mulf", "mulf", "mulf", "subf")
PREDICATES = ("less_than", "greater_than", "equal", "not_equal", "less_than_or_equal", "greater_than_or_equal")


Carried = tuple[str, str, str]
"""A loop-carried value: its name in the body, its initial value, its kind."""


class Writer(ABC):
    """Collects lines of text and counts the operations written. A type is named by its kind, such as `tile i32`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.operation_count = 0
        self.indentation = ""
        self.shape = SHAPES[0]

    def operation(self, line: str) -> None:
        """Write the line that begins an operation: exactly one such line per operation."""
        self.lines.append(self.indentation + line)
        self.operation_count += 1

    def open_region(self, line: str) -> None:
        self.operation(line)
        self.indentation += "  "

    def otherwise(self) -> None:
        self.lines.append(self.indentation[:-2] + "} else {")

    def close_region(self) -> None:
        self.indentation = self.indentation[:-2]
        self.lines.append(self.indentation + "}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @abstractmethod
    def type(self, kind: str) -> str: ...

    @abstractmethod
    def begin_module(self) -> None: ...

    @abstractmethod
    def begin_function(self, name: str) -> None: ...

    @abstractmethod
    def end_function(self) -> None: ...

    @abstractmethod
    def constant(self, result: str, value: str, kind: str) -> None: ...

    @abstractmethod
    def binary(self, result: str, name: str, lhs: str, rhs: str, kind: str) -> None: ...

    @abstractmethod
    def negate(self, result: str, source: str, kind: str) -> None: ...

    @abstractmethod
    def compare(self, result: str, predicate: str, lhs: str, rhs: str, kind: str) -> None: ...

    @abstractmethod
    def select(self, result: str, condition: str, lhs: str, rhs: str, kind: str) -> None: ...

    @abstractmethod
    def begin_for(self, result: str, index: str, bounds: tuple[str, str, str], carried: list[Carried]) -> None: ...

    @abstractmethod
    def end_for(self, values: list[str], kinds: list[str]) -> None: ...

    @abstractmethod
    def begin_if(self, result: str, condition: str, kind: str) -> None: ...

    @abstractmethod
    def end_branch(self, value: str, kind: str) -> None: ...

    @abstractmethod
    def keep(self, result: str, values: list[str], kinds: list[str]) -> None:
        """Use values for an effect, so that they are not dead."""


class CudaTileWriter(Writer):
    """The public `cuda_tile` text."""

    def type(self, kind: str) -> str:
        container, element = kind.split()
        return f"tile<{self.shape}x{element}>" if container == "tile" else f"tile<{element}>"

    def begin_module(self) -> None:
        self.open_region("cuda_tile.module @kernels {")

    def begin_function(self, name: str) -> None:
        self.open_region(f"entry @{name}(%lower: tile<i32>, %upper: tile<i32>, %step: tile<i32>, %scale: tile<f32>) {{")

    def end_function(self) -> None:
        self.operation("return")
        self.close_region()

    def constant(self, result: str, value: str, kind: str) -> None:
        self.operation(f"{result} = constant <{kind.split()[1]}: {value}> : {self.type(kind)}")

    def binary(self, result: str, name: str, lhs: str, rhs: str, kind: str) -> None:
        self.operation(f"{result} = {name} {lhs}, {rhs} : {self.type(kind)}")

    def negate(self, result: str, source: str, kind: str) -> None:
        self.operation(f"{result} = negf {source} : {self.type(kind)}")

    def compare(self, result: str, predicate: str, lhs: str, rhs: str, kind: str) -> None:
        to = self.type(kind.replace("i32", "i1"))
        self.operation(f"{result} = cmpi {predicate} {lhs}, {rhs}, signed : {self.type(kind)} -> {to}")

    def select(self, result: str, condition: str, lhs: str, rhs: str, kind: str) -> None:
        self.operation(f"{result} = select {condition}, {lhs}, {rhs} : {self.type('scalar i1')}, {self.type(kind)}")

    def begin_for(self, result: str, index: str, bounds: tuple[str, str, str], carried: list[Carried]) -> None:
        lower, upper, step = bounds
        values = ", ".join(f"{name} = {init}" for name, init, _ in carried)
        types = ", ".join(self.type(kind) for _, _, kind in carried)
        self.open_region(
            f"{result}:{len(carried)} = for {index} in ({lower} to {upper}, step {step}) : {self.type('scalar i32')}"
            f" iter_values({values}) -> ({types}) {{"
        )

    def end_for(self, values: list[str], kinds: list[str]) -> None:
        self.operation(f"continue {', '.join(values)} : {', '.join(self.type(kind) for kind in kinds)}")
        self.close_region()

    def begin_if(self, result: str, condition: str, kind: str) -> None:
        self.open_region(f"{result} = if {condition} -> ({self.type(kind)}) {{")

    def end_branch(self, value: str, kind: str) -> None:
        self.operation(f"yield {value} : {self.type(kind)}")

    def keep(self, result: str, values: list[str], kinds: list[str]) -> None:
        conversions = " ".join("%d" if kind.endswith("i32") else "%f" for kind in kinds)
        types = ", ".join(self.type(kind) for kind in kinds)
        self.operation(f'{result} = print_tko "{conversions}", {", ".join(values)} : {types} -> token')


class ArithWriter(Writer):
    """The same program in MLIR's `arith`, `scf`, `func` and `vector` types, as stock xDSL reads it."""

    PREDICATES = dict(zip(PREDICATES, ("slt", "sgt", "eq", "ne", "sle", "sge"), strict=True))

    def type(self, kind: str) -> str:
        container, element = kind.split()
        return f"vector<{self.shape}x{element}>" if container == "tile" else element

    def begin_module(self) -> None:
        self.open_region("builtin.module {")

    def begin_function(self, name: str) -> None:
        self.open_region(f"func.func @{name}(%lower: i32, %upper: i32, %step: i32, %scale: f32) {{")

    def end_function(self) -> None:
        self.operation("func.return")
        self.close_region()

    def constant(self, result: str, value: str, kind: str) -> None:
        literal = f"dense<{value}>" if kind.startswith("tile") else value
        self.operation(f"{result} = arith.constant {literal} : {self.type(kind)}")

    def binary(self, result: str, name: str, lhs: str, rhs: str, kind: str) -> None:
        self.operation(f"{result} = arith.{name} {lhs}, {rhs} : {self.type(kind)}")

    def negate(self, result: str, source: str, kind: str) -> None:
        self.operation(f"{result} = arith.negf {source} : {self.type(kind)}")

    def compare(self, result: str, predicate: str, lhs: str, rhs: str, kind: str) -> None:
        self.operation(f"{result} = arith.cmpi {self.PREDICATES[predicate]}, {lhs}, {rhs} : {self.type(kind)}")

    def select(self, result: str, condition: str, lhs: str, rhs: str, kind: str) -> None:
        self.operation(f"{result} = arith.select {condition}, {lhs}, {rhs} : {self.type(kind)}")

    def begin_for(self, result: str, index: str, bounds: tuple[str, str, str], carried: list[Carried]) -> None:
        lower, upper, step = bounds
        values = ", ".join(f"{name} = {init}" for name, init, _ in carried)
        types = ", ".join(self.type(kind) for _, _, kind in carried)
        self.open_region(
            f"{result}:{len(carried)} = scf.for {index} = {lower} to {upper} step {step}"
            f" iter_args({values}) -> ({types}) : i32 {{"
        )

    def end_for(self, values: list[str], kinds: list[str]) -> None:
        self.operation(f"scf.yield {', '.join(values)} : {', '.join(self.type(kind) for kind in kinds)}")
        self.close_region()

    def begin_if(self, result: str, condition: str, kind: str) -> None:
        self.open_region(f"{result} = scf.if {condition} -> ({self.type(kind)}) {{")

    def end_branch(self, value: str, kind: str) -> None:
        self.operation(f"scf.yield {value} : {self.type(kind)}")

    def keep(self, result: str, values: list[str], kinds: list[str]) -> None:
        types = ", ".join(self.type(kind) for kind in kinds)
        self.operation(f'"test.op"({", ".join(values)}) : ({types}) -> ()')


class Function:
    """Writes one function: the recipe proper. Values in scope are kept by kind, the newest last.

    With `live` the newest values are used for an effect after each section. Otherwise nothing is, and a pass that
    removes dead code would leave little.
    """

    def __init__(self, writer: Writer, number: int, live: bool = False) -> None:
        self.writer = writer
        self.live = live
        self.random = Random(number)
        self.number = number
        self.next_value = 0
        self.scope: dict[str, list[str]] = {}

    def write(self) -> None:
        writer = self.writer
        writer.shape = SHAPES[self.number % len(SHAPES)]
        first = writer.operation_count
        writer.begin_function(f"function_{self.number}")
        self.scope = {
            "scalar i32": ["%lower", "%upper", "%step"],
            "scalar f32": ["%scale"],
            "scalar i1": [],
            "tile i32": [],
            "tile f32": [],
        }
        for kind in ("tile i32", "tile f32", "tile i32", "tile f32", "scalar i32", "scalar i32"):
            self.constant(kind)

        def remaining() -> int:
            return FUNCTION_SIZE - 1 - (writer.operation_count - first)

        while remaining() > SECTION_SIZE or (remaining() == SECTION_SIZE and not self.live):
            self.section()
            if self.live:
                kinds = ["tile i32", "tile f32"]
                self.writer.keep(self.name(), [self.scope[kind][-1] for kind in kinds], kinds)
        self.straight_line(remaining())
        writer.end_function()

    def section(self) -> None:
        """Straight-line code, then a loop with an if/else in it: `SECTION_SIZE` operations in all."""
        first = self.writer.operation_count
        self.straight_line(10)
        self.loop()
        assert self.writer.operation_count - first == SECTION_SIZE

    def loop(self) -> None:
        number = self.next_value
        self.next_value += 1
        kinds = ["tile i32", "tile f32"]
        carried = [(f"%iterArg{i}_{number}", self.pick(kind), kind) for i, kind in enumerate(kinds)]
        self.writer.begin_for(f"%for_{number}", f"%loopIdx_{number}", ("%lower", "%upper", "%step"), carried)
        outer = {kind: list(values) for kind, values in self.scope.items()}
        self.scope["scalar i32"].append(f"%loopIdx_{number}")
        for name, _, kind in carried:
            self.scope[kind].append(name)
        self.straight_line(14)
        self.branch("tile f32")
        self.straight_line(6)
        self.writer.end_for([self.scope[kind][-1] for kind in kinds], kinds)
        self.scope = outer
        for i, kind in enumerate(kinds):
            self.scope[kind].append(f"%for_{number}#{i}")

    def branch(self, kind: str) -> None:
        """A comparison, the if, and in each branch two operations and the terminator."""
        condition = self.compare("scalar i32")
        result = self.name()
        self.writer.begin_if(result, condition, kind)
        for is_last in (False, True):
            outer = {kind: list(values) for kind, values in self.scope.items()}
            self.binary("tile i32", INTEGER_BINARY)
            value = self.binary(kind, FLOAT_BINARY)
            self.scope = outer
            self.writer.end_branch(value, kind)
            if not is_last:
                self.writer.otherwise()
        self.writer.close_region()
        self.scope[kind].append(result)

    def straight_line(self, count: int) -> None:
        for _ in range(count):
            choice = self.random.randrange(24)
            if choice < 4:
                self.constant(self.random.choice(("tile i32", "tile f32", "scalar i32", "scalar f32")))
            elif choice < 11:
                self.binary("tile f32", FLOAT_BINARY)
            elif choice < 16:
                self.binary("tile i32", INTEGER_BINARY)
            elif choice < 19:
                self.binary("scalar i32", INTEGER_BINARY)
            elif choice < 20:
                self.negate("tile f32")
            elif choice < 21:
                self.compare("tile i32")
            elif choice < 22 or not self.scope["scalar i1"]:
                self.compare("scalar i32")
            else:
                self.select("scalar i32")

    def name(self) -> str:
        self.next_value += 1
        return f"%{self.next_value - 1}"

    def pick(self, kind: str) -> str:
        """One of the last eight values of a kind: uses are mostly near their definitions."""
        return self.random.choice(self.scope[kind][-8:])

    def constant(self, kind: str) -> None:
        number = self.random.randrange(1, 1000)
        value = str(number) if kind.endswith("i32") else f"{number / 8:.6e}"
        result = f"%cst_{self.next_value}"
        self.next_value += 1
        self.writer.constant(result, value, kind)
        self.scope[kind].append(result)

    def binary(self, kind: str, names: tuple[str, ...]) -> str:
        lhs, rhs, name = self.pick(kind), self.pick(kind), self.random.choice(names)
        result = self.name()
        self.writer.binary(result, name, lhs, rhs, kind)
        self.scope[kind].append(result)
        return result

    def negate(self, kind: str) -> None:
        source = self.pick(kind)
        result = self.name()
        self.writer.negate(result, source, kind)
        self.scope[kind].append(result)

    def compare(self, kind: str) -> str:
        lhs, rhs, predicate = self.pick(kind), self.pick(kind), self.random.choice(PREDICATES)
        result = self.name()
        self.writer.compare(result, predicate, lhs, rhs, kind)
        if kind.startswith("scalar"):
            self.scope["scalar i1"].append(result)
        return result

    def select(self, kind: str) -> None:
        condition, lhs, rhs = self.pick("scalar i1"), self.pick(kind), self.pick(kind)
        result = self.name()
        self.writer.select(result, condition, lhs, rhs, kind)
        self.scope[kind].append(result)


def write_program(writer: Writer, operations: int, live: bool = False) -> tuple[str, int]:
    """The text of a program of about `operations` operations, and how many it has exactly (the module counts)."""
    writer.begin_module()
    for number in range(max(1, round(operations / FUNCTION_SIZE))):
        Function(writer, number, live).write()
    writer.close_region()
    return writer.text(), writer.operation_count


def cuda_tile_program(operations: int, live: bool = False) -> tuple[str, int]:
    return write_program(CudaTileWriter(), operations, live)


def arith_program(operations: int, live: bool = False) -> tuple[str, int]:
    return write_program(ArithWriter(), operations, live)


def printed_operation_count(text: str) -> int:
    """Operations in printed text: each begins one line of its own, and the other lines begin with a brace."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("}", "//")))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a synthetic program to standard output.")
    parser.add_argument("--operations", type=int, default=FUNCTION_SIZE)
    parser.add_argument("--dialect", choices=("cuda_tile", "arith"), default="cuda_tile")
    options = parser.parse_args()
    program = cuda_tile_program if options.dialect == "cuda_tile" else arith_program
    sys.stdout.write(program(options.operations)[0])


if __name__ == "__main__":
    main()
