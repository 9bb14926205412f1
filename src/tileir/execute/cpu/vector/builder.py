"""A function under construction, as text of LLVM IR: many times as fast to make as objects of a binding.

Control flow is structured: `branch`, `attempt` and loops take functions that write their parts, and give back what the
parts give, joined by phis.  A part that ends its basic block, by a return or a jump, does not come back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from tileir.execute.cpu.vector.llvm import Register, operand_type, scalar_type, suffix_of, value_type, wrapped
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import DType

Number = int | str  # An i64: a constant, or the name of a register.
Values = Sequence[str]  # Typed operands, as in `float %v1`.
Part = Callable[[], "Values | None"]  # Writes code, and returns the values that leave it.

LIKELY: Final = ", !prof !3"  # Ends a branch that nearly always goes to its first label.


def signed(number: Number) -> Number:
    """An unsigned number as LLVM writes it."""
    return wrapped(number) if isinstance(number, int) else number


class Builder:
    """A function being written: instructions go to the current list of lines."""

    def __init__(self, module: Module) -> None:
        self.module: Module = module
        self.lines: list[str] = []
        self.has_set_lane: Callable[[Register], bool] = lambda mask: True  # For `tracing`
        self.products: dict[str, tuple[Register, Register]] | None = None
        """While multiplications and additions of doubles may be fused: the operands of each product, by its name."""
        self.stack: Callable[[str, int, int, str], str] | None = None
        """Reserves memory in the function's frame, where there is one: a type, how many, their alignment and a name."""
        self._count: int = 0

    def fresh(self, hint: str = "v") -> str:
        """A new name, without a sigil."""
        self._count += 1
        return f"{hint}{self._count}"

    def emit(self, instruction: str) -> str:
        """Append an instruction with a result; returns its name."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def value(self, instruction: str, dtype: DType, width: int = 0) -> Register:
        return Register(self.emit(instruction), dtype, width)

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def line(self, text: str) -> str:
        """A line as it is written where other code inserts it."""
        return text

    def into(self, lines: list[str]) -> _Redirection:
        """While this is entered, instructions go to another list of lines."""
        return _Redirection(self, lines)

    def call(self, result: str, function: str, arguments: Iterable[str], attributes: str = "") -> str:
        """Call an intrinsic or external function, declared on the way; arguments are typed operands."""
        operands = list(arguments)
        types = ", ".join([operand_type(operand) for operand in operands])
        self.module.declare(f"declare {result} @{function}({types})")
        text = f"call {result} @{function}({', '.join(operands)}){attributes}"
        if result == "void":
            self.do(text)
            return ""
        return self.emit(text)

    def splat(self, value: Register, width: int) -> Register:
        if not width or value.width:
            return value
        if not value.name.startswith("%"):
            return Register(f"splat ({value.type} {value.name})", value.dtype, width)
        vector = value_type(value.dtype, width)
        first = self.emit(f"insertelement {vector} poison, {value.typed}, i64 0")
        text = f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer"
        return self.value(text, value.dtype, width)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def branch(
        self, condition: str, then: Part | None = None, otherwise: Part | None = None, likely: bool = False
    ) -> list[str]:
        """One part where an i1 holds (nearly always if `likely`), the other elsewhere.  Both give as many values, or do
        not come back; returns the names afterwards."""
        name = self.fresh("if")
        parts = {"then": then, "else": otherwise}
        if condition in ("true", "false"):
            part = then if condition == "true" else otherwise
            if part is None:
                return []
            ways = self._way(name, f"{name}.end", part)
            self.label(f"{name}.end")
            return self._joined(ways)
        first, second = (f"{name}.{label if parts[label] is not None else 'end'}" for label in parts)
        self.do(f"br i1 {condition}, label %{first}, label %{second}{self._weights(likely)}")
        ways = []
        for label, part in parts.items():
            if part is not None:
                self.label(f"{name}.{label}")
                ways += self._way(f"{name}.{label}", f"{name}.end", part)
        self.label(f"{name}.end")
        return self._joined(ways)

    def where(self, mask: Register | None, result: str, emit: Callable[[], str | None]) -> str:
        """What is emitted where a scalar condition holds, else zero; `result` is its type, empty for none."""
        if mask is None:
            return emit() or ""
        if not result:

            def part() -> None:
                emit()

            self.branch(mask.name, part)
            return ""
        zero = "0.0" if result in ("half", "float", "double") else "0"
        (found,) = self.branch(mask.name, lambda: [f"{result} {emit()}"], lambda: [f"{result} {zero}"])
        return found

    def attempt(self, body: Callable[[str], Values | None], otherwise: Part) -> list[str]:
        """A part that may be given up: it gets the label to go to then, where the other one takes over."""
        name = self.fresh("try")
        ways = self._way(f"{name}.done", f"{name}.end", lambda: body(f"{name}.else"))
        self.label(f"{name}.else")
        ways += self._way(f"{name}.else", f"{name}.end", otherwise)
        self.label(f"{name}.end")
        return self._joined(ways)

    def go_on(self, condition: str, otherwise: str, likely: bool = False) -> None:
        """Go on where an i1 holds, and elsewhere to a label."""
        name = self.fresh("on")
        self.do(f"br i1 {condition}, label %{name}, label %{otherwise}{self._weights(likely)}")
        self.label(name)

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def step_to(self, label: str) -> None:
        if not self.is_ended:
            self.jump(label)
        self.label(label)

    @property
    def is_ended(self) -> bool:
        return bool(self.lines) and self.lines[-1].startswith(("  br ", "  ret "))

    def count(self, start: Number, end: Number, step: int, body: Callable[[Number], None]) -> None:
        """Count from a number to the last one below another; a loop of unknown end has one iteration at least."""

        def counted(position: Number, carried: list[Register]) -> list[Register]:
            body(position)
            return carried

        self.carry(start, end, step, [], counted)

    def carry(
        self,
        start: Number,
        end: Number,
        step: int,
        values: list[Register],
        body: Callable[[Number, list[Register]], list[Register]],
    ) -> list[Register]:
        """Count with values that go from iteration to iteration; returns those of the last."""
        if isinstance(start, int) and isinstance(end, int) and end <= start + step:
            return body(start, values) if start < end else values
        loop = CountedLoop(self, start, end, step)
        inside = [loop.carry_register(value) for value in values]
        results: list[Register] = []

        def iteration() -> None:
            results.extend(body(loop.index, inside))
            for value, result in zip(inside, results, strict=True):
                loop.becomes(value.name, result.name)

        loop.fill(iteration)
        return results

    def each(self, count: Number, body: Callable[[str, list[str]], list[str]], carried: Sequence[Number]) -> list[str]:
        """Count up to a number, which may be 0, with i64s that each iteration passes on; returns the last ones."""
        loop = Loop(self)
        number = loop.carry("i64", 0)
        values = [loop.carry("i64", value) for value in carried]

        def iteration() -> None:
            self.go_on(self.emit(f"icmp ult i64 {number}, {count}"), loop.end)
            for value, following in zip(values, body(number, values), strict=True):
                loop.becomes(value, following)
            loop.becomes(number, self.emit(f"add i64 {number}, 1"))

        loop.write(iteration, lambda: "")
        return values

    def _weights(self, likely: bool) -> str:
        self.module.likely |= likely
        return LIKELY if likely else ""

    def _way(self, name: str, end: str, part: Part) -> list[tuple[Values, str]]:
        """A part, its values and the basic block it ends in; nothing if it does not come back."""
        values = part()
        if self.is_ended:
            return []
        if values:
            # Whatever blocks the part has, the last one has this name.
            self.step_to(f"{name}.last")
        self.jump(end)
        return [(values or (), f"{name}.last")]

    def _joined(self, ways: list[tuple[Values, str]]) -> list[str]:
        if not ways:
            return []
        found = []
        for values in zip(*[values for values, _ in ways], strict=True):
            type = operand_type(values[0])
            names = [value[len(type) + 1 :] for value in values]
            if len(ways) == 1:
                found.append(names[0])
                continue
            incoming = ", ".join([f"[ {name}, %{block} ]" for name, (_, block) in zip(names, ways, strict=True)])
            found.append(self.emit(f"phi {type} {incoming}"))
        return found

    # --- arithmetic of i64s and addresses, folded where it can be ---

    def add(self, left: Number, right: Number) -> Number:
        if left == 0 or right == 0:
            return right if left == 0 else left
        return self._folded("add", left, right, operator.add)

    def subtract(self, left: Number, right: Number) -> Number:
        return left if right == 0 else self._folded("sub", left, right, operator.sub)

    def multiply(self, left: Number, right: Number) -> Number:
        if left == 1 or right == 1:
            return right if left == 1 else left
        return 0 if left == 0 or right == 0 else self._folded("mul", left, right, operator.mul)

    def _folded(self, name: str, left: Number, right: Number, fold: Callable[[int, int], int]) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return fold(left, right)
        return self.emit(f"{name} i64 {left}, {right}")

    def divided(self, number: Number, divisor: int) -> tuple[Number, Number]:
        """Quotient and remainder of a number that is not negative."""
        if isinstance(number, int):
            return divmod(number, divisor)
        if divisor == 1:
            return number, 0
        return self.emit(f"udiv i64 {number}, {divisor}"), self.emit(f"urem i64 {number}, {divisor}")

    def smaller(self, left: Number, right: Number) -> Number:
        """The smaller of two numbers that are not negative."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return self.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {right}"])

    def larger(self, left: Number, right: Number, signed: bool = False) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.call("i64", f"llvm.{'s' if signed else 'u'}max.i64", [f"i64 {left}", f"i64 {right}"])

    def remaining(self, extent: Number, start: Number) -> Number:
        if isinstance(extent, int) and isinstance(start, int):
            return max(extent - start, 0)
        return self.call("i64", "llvm.usub.sat.i64", [f"i64 {extent}", f"i64 {start}"])

    def compared(self, comparison: str, left: Number, right: Number) -> str:
        """An i1; both numbers count as not negative unless the comparison is signed."""
        if isinstance(left, int) and isinstance(right, int):
            order = -1 if left < right else int(left > right)
            holds = {"eq": order == 0, "ge": order >= 0, "gt": order > 0, "lt": order < 0, "le": order <= 0}
            return "true" if holds[comparison[-2:]] else "false"
        return self.emit(f"icmp {comparison} i64 {left}, {right}")

    def select(self, condition: str, left: Number, right: Number, type: str = "i64") -> Number:
        """One number where an i1 holds, else the other; or one of two pointers."""
        if condition in ("true", "false"):
            return left if condition == "true" else right
        return self.emit(f"select i1 {condition}, {type} {left}, {type} {right}")

    def opaque(self, number: Number) -> Number:
        """The same number, opaque to LLVM, which would compute it again in every iteration to save registers."""
        return number if isinstance(number, int) else self.emit(f"freeze i64 {number}")

    def opaque_pointer(self, pointer: str) -> str:
        """The same for a pointer; addresses that a loop does not change are not worth the time that LLVM takes."""
        return self.emit(f"freeze ptr {pointer}")

    def checked(self, operation: str, left: Number, right: Number) -> tuple[str, str]:
        """`umul`, `sadd` or another, and an i1: it wrapped."""
        pair = self.call("{ i64, i1 }", f"llvm.{operation}.with.overflow.i64", [f"i64 {left}", f"i64 {right}"])
        return self.emit(f"extractvalue {{ i64, i1 }} {pair}, 0"), self.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")

    def all_of(self, conditions: Iterable[str]) -> str:
        rest = [condition for condition in conditions if condition != "true"]
        if "false" in rest:
            return "false"
        return reduce(lambda one, other: self.emit(f"and i1 {one}, {other}"), rest) if rest else "true"

    def any_of(self, conditions: Iterable[str]) -> str:
        rest = [condition for condition in conditions if condition != "false"]
        if "true" in rest:
            return "true"
        return reduce(lambda one, other: self.emit(f"or i1 {one}, {other}"), rest) if rest else "false"

    def moved(self, pointer: str, offset: Number) -> str:
        return pointer if offset == 0 else self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(
        self, dtype: DType, width: int, pointer: str, align: int = 0, suffix: str = "", mask: Register | None = None
    ) -> Register:
        """A vector of neighbors in memory, or one element; aligned as an element is, unless more is known.  Lanes of a
        vector that are not in the mask are zero."""
        kind, align = value_type(dtype, width), align or dtype.itemsize
        if mask is None:
            return self.value(f"load {kind}, ptr {pointer}, align {align}{suffix}", dtype, width)
        operands = [f"ptr {pointer}", f"i32 {align}", self.splat(mask, width).typed, f"{kind} zeroinitializer"]
        name = f"llvm.masked.load.{suffix_of(scalar_type(dtype), width)}.p0"
        return Register(self.call(kind, name, operands, suffix), dtype, width)

    def store(self, register: Register, pointer: str, align: int = 0) -> None:
        self.do(f"store {register.typed}, ptr {pointer}, align {align or register.dtype.itemsize}")

    def fill(self, pointer: str, byte: int, size: Number) -> None:
        self.call("void", "llvm.memset.p0.i64", [f"ptr {pointer}", f"i8 {byte}", f"i64 {size}", "i1 false"])

    def word(self, pointer: str, number: Number) -> str:
        """An i64 of an array of them."""
        pointer = self.emit(f"getelementptr i64, ptr {pointer}, i64 {number}")
        return self.emit(f"load i64, ptr {pointer}, align 8")

    def pointer(self, address: Number) -> str:
        return self.emit(f"inttoptr i64 {address} to ptr")

    def address(self, pointer: str) -> str:
        return self.emit(f"ptrtoint ptr {pointer} to i64")


class _Redirection:
    """A class, since contexts made of generators are several times as slow, and nests enter one for each value."""

    def __init__(self, builder: Builder, lines: list[str]) -> None:
        self._builder: Builder = builder
        self._lines: list[str] = lines
        self._before: list[str] = lines

    def __enter__(self) -> list[str]:
        self._before, self._builder.lines = self._builder.lines, self._lines
        return self._lines

    def __exit__(self, *details: object) -> None:
        self._builder.lines = self._before


class Loop:
    """A loop; what it carries has a name before it is written, so that its body may be written apart."""

    def __init__(self, builder: Builder) -> None:
        self.builder: Builder = builder
        self.name: str = builder.fresh("loop")
        self.again: str = f"{self.name}.again"  # The label that goes on with the next iteration.
        self.end: str = f"{self.name}.end"
        self._carried: dict[str, list[str]] = {}

    def carry(self, type: str, initial: Number) -> str:
        """The name of a value that goes from iteration to iteration; `becomes` sets the next one's."""
        name = f"%{self.builder.fresh('carry')}"
        self._carried[name] = [type, str(initial), ""]
        return name

    def carry_register(self, initial: Register) -> Register:
        return Register(self.carry(initial.type, initial.name), initial.dtype, initial.width)

    def becomes(self, name: str, following: str) -> None:
        self._carried[name][2] = following

    def write(self, body: Callable[[], None], again: Callable[[], str]) -> None:
        """Write the loop: its body, and a function that returns the i1 under which it goes on, empty for always."""
        builder = self.builder
        builder.step_to(f"{self.name}.enter")
        builder.step_to(f"{self.name}.head")
        start = len(builder.lines)
        mark = f"  ; {self.name}"
        builder.lines.append(mark)
        body()
        builder.step_to(self.again)
        condition = again()
        builder.step_to(f"{self.name}.latch")
        if condition:
            builder.do(f"br i1 {condition}, label %{self.name}.head, label %{self.end}")
        else:
            builder.jump(f"{self.name}.head")
        builder.label(self.end)
        # What the next iteration gets is known only now.
        phis = []
        for name, (type, initial, following) in self._carried.items():
            ways = f"[ {initial}, %{self.name}.enter ], [ {following}, %{self.name}.latch ]"
            phis.append(builder.line(f"  {name} = phi {type} {ways}"))
        # The mark has moved if lines were inserted in front of the loop.
        start = builder.lines.index(mark, start)
        builder.lines[start : start + 1] = phis


class CountedLoop(Loop):
    """A loop that counts from a number to the last one below another, once at least."""

    def __init__(self, builder: Builder, start: Number, end: Number, step: int) -> None:
        super().__init__(builder)
        self.index: str = self.carry("i64", start)
        self._end: Number = end
        self._step: int = step

    def fill(self, body: Callable[[], None]) -> None:
        self.write(body, self._more)

    def _more(self) -> str:
        following = self.builder.emit(f"add nuw nsw i64 {self.index}, {self._step}")
        self.becomes(self.index, following)
        return self.builder.emit(f"icmp ult i64 {following}, {self._end}")


def define_once(
    module: Module, symbol: str, result: str, parameters: str, attributes: str, body: Callable[[Builder], str]
) -> None:
    """Define a function beside the kernel's, unless it is there; `body` writes it, and returns its result's name."""
    if symbol not in module.symbols:
        module.symbols.add(symbol)
        inner = Builder(module)
        inner.do(f"ret {result} {body(inner)}")
        module.define(f"define internal {result} @{symbol}({parameters}) {attributes} nounwind", inner.lines)
