"""Small integer programs: a generator, and an evaluator that knows nothing of the rest of the toolkit.

A value is a list of bit patterns, one per element in row-major order.  What the dialect leaves undefined (wrapping
against a promise, division by zero, a broken `assume`) raises `Undefined`: nothing may be concluded from such a run.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import tileir
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value
from tileir.types import tile


class Undefined(Exception):
    """The program does what the dialect does not define."""


class _Terminated(Exception):
    """A terminator that leaves the construct around: its name and the values it passes on."""

    def __init__(self, name: str, values: list[list[int]]) -> None:
        super().__init__(name)
        self.name = name
        self.values = values


def signed(width: int, bits: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def element_width(type: Any) -> int:
    """The width of the elements of a tile of integers."""
    found: int = type.element.width
    return found


def width_of(value: Value) -> int:
    return 64 if "ptr" in value.type.spelling else element_width(value.type)


class Evaluator:
    """Runs a kernel; `seen` gets every value every operation and block argument ever had."""

    def __init__(self, limit: int = 20_000) -> None:
        self.now: dict[Value, list[int]] = {}
        self.seen: dict[Value, list[list[int]]] = {}
        self.limit = limit

    def run(self, kernel: Operation, arguments: list[list[int]]) -> None:
        body = kernel.regions[0].block
        for argument, value in zip(body.arguments, arguments, strict=True):
            self.define(argument, value)
        try:
            self.block(body)
        except _Terminated as terminator:
            assert terminator.name == "return"

    def define(self, value: Value, elements: list[int]) -> None:
        self.now[value] = elements
        self.seen.setdefault(value, []).append(elements)

    def block(self, block: Block) -> list[list[int]]:
        for operation in block:
            self.limit -= 1
            if self.limit < 0:
                raise Undefined("runs too long")
            name = operation.declaration.mnemonic
            if name == "yield":
                return [self.now[v] for v in operation.operands]
            if name in ("continue", "break", "return"):
                raise _Terminated(name, [self.now[v] for v in operation.operands])
            self.operation(operation, name)
        return []

    def operation(self, operation: Operation, name: str) -> None:
        operands = [self.now[v] for v in operation.operands]
        if name == "if":
            region = operation.regions[0 if operands[0][0] else 1]
            results = self.block(region.block) if region.blocks else []
        elif name == "for":
            results = self.for_loop(operation, operands)
        elif name == "loop":
            results = self.endless_loop(operation, operands)
        elif name == "store_ptr_tko":
            results = [[0]]
        else:
            results = [evaluate(operation, name, operands)]
        for result, value in zip(operation.results, results, strict=True):
            self.define(result, value)

    def for_loop(self, operation: Operation, operands: list[list[int]]) -> list[list[int]]:
        width = width_of(operation.operands[0])
        bounds = [o[0] if "unsignedCmp" in operation.attributes else signed(width, o[0]) for o in operands[:3]]
        if bounds[2] <= 0:
            raise Undefined("the step is not positive")
        carried = operands[3:]
        body = operation.regions[0].block
        for index in range(*bounds):
            for argument, value in zip(body.arguments, [[index % (1 << width)], *carried], strict=True):
                self.define(argument, value)
            try:
                self.block(body)
            except _Terminated as terminator:
                if terminator.name != "continue":
                    raise
                carried = terminator.values
        return carried

    def endless_loop(self, operation: Operation, operands: list[list[int]]) -> list[list[int]]:
        carried = operands
        body = operation.regions[0].block
        while True:
            for argument, value in zip(body.arguments, carried, strict=True):
                self.define(argument, value)
            try:
                self.block(body)
            except _Terminated as terminator:
                if terminator.name == "return":
                    raise
                if terminator.name == "break":
                    return terminator.values
                carried = terminator.values


def keyword(operation: Operation, name: str) -> str:
    value: Any = operation.attribute(name)
    return value.keyword if value is not None else ""


def evaluate(operation: Operation, name: str, operands: list[list[int]]) -> list[int]:
    type: Any = operation.results[0].type
    source: Any = operation.operands[0].type if operation.operands else None
    if name == "constant":
        value: Any = operation.attributes["value"]
        elements = [b & ((1 << type.element.width) - 1) for b in value.values()]
        return elements * (type.count // len(elements))
    if name == "iota":
        return list(range(type.count))
    if name == "assume":
        return assumed(operation, operands[0])
    if name == "broadcast":
        return broadcast(operands[0], source.shape, type.shape)
    if name in ("reshape", "int_to_ptr"):
        return operands[0]
    if name == "select":
        conditions = operands[0] * type.count if len(operands[0]) == 1 else operands[0]
        return [t if c else f for c, t, f in zip(conditions, operands[1], operands[2], strict=True)]
    width = width_of(operation.operands[0])
    compute: Callable[..., int] = ELEMENTWISE[name]
    results = [compute(operation, width, *elements) for elements in zip(*operands, strict=True)]
    return [r % (1 << width_of(operation.results[0])) for r in results]


def assumed(operation: Operation, elements: list[int]) -> list[int]:
    predicate: Any = operation.attributes["predicate"]
    width = width_of(operation.operands[0])
    for bits in elements:
        value = signed(width, bits)
        if predicate.name == "cuda_tile.div_by":
            if predicate.every is None and value % predicate.divisor:
                raise Undefined("not a multiple")
        elif predicate.name == "cuda_tile.bounded":
            if predicate.lower is not None and value < predicate.lower:
                raise Undefined("below the bound")
            if predicate.upper is not None and value > predicate.upper:
                raise Undefined("above the bound")
    if predicate.name == "cuda_tile.same_elements" and predicate.values:
        group = max(predicate.values[0], 1)
        for start in range(0, len(elements), group):
            if len(set(elements[start : start + group])) > 1:
                raise Undefined("elements differ")
    return elements


def broadcast(elements: list[int], source: tuple[int, ...], target: tuple[int, ...]) -> list[int]:
    if not target:
        return elements
    inner = 1
    for extent in source[1:]:
        inner *= extent
    rows = [broadcast(elements[i : i + inner], source[1:], target[1:]) for i in range(0, len(elements), inner)]
    if source[0] != target[0]:
        rows = rows * target[0]
    return [element for row in rows for element in row]


def _checked(operation: Operation, width: int, from_signed: int, from_unsigned: int) -> int:
    overflow = keyword(operation, "overflow")
    half = 1 << (width - 1)
    if overflow in ("no_signed_wrap", "no_wrap") and not -half <= from_signed < half:
        raise Undefined("wraps as signed")
    if overflow in ("no_unsigned_wrap", "no_wrap") and not 0 <= from_unsigned < 2 * half:
        raise Undefined("wraps as unsigned")
    return from_signed


def _pair(operation: Operation, width: int, a: int, b: int) -> tuple[int, int]:
    return (signed(width, a), signed(width, b)) if keyword(operation, "signedness") == "signed" else (a, b)


def _add(operation: Operation, width: int, a: int, b: int) -> int:
    return _checked(operation, width, signed(width, a) + signed(width, b), a + b)


def _sub(operation: Operation, width: int, a: int, b: int) -> int:
    return _checked(operation, width, signed(width, a) - signed(width, b), a - b)


def _mul(operation: Operation, width: int, a: int, b: int) -> int:
    return _checked(operation, width, signed(width, a) * signed(width, b), a * b)


def _neg(operation: Operation, width: int, a: int) -> int:
    return _checked(operation, width, -signed(width, a), 0)


def _shli(operation: Operation, width: int, a: int, b: int) -> int:
    if b >= width:
        raise Undefined("shifts by too much")
    return _checked(operation, width, signed(width, a) << b, a << b)


def _shri(operation: Operation, width: int, a: int, b: int) -> int:
    if b >= width:
        raise Undefined("shifts by too much")
    return (signed(width, a) if keyword(operation, "signedness") == "signed" else a) >> b


def _divi(operation: Operation, width: int, a: int, b: int) -> int:
    x, y = _pair(operation, width, a, b)
    if y == 0 or (keyword(operation, "signedness") == "signed" and y == -1 and x == -(1 << (width - 1))):
        raise Undefined("divides by zero or too far")
    rounding = keyword(operation, "rounding")
    if rounding == "negative_inf":
        return x // y
    if rounding == "positive_inf":
        return -(-x // y)
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remi(operation: Operation, width: int, a: int, b: int) -> int:
    x, y = _pair(operation, width, a, b)
    if y == 0:
        raise Undefined("divides by zero")
    return abs(x) % abs(y) * (-1 if x < 0 else 1)


def _cmpi(operation: Operation, width: int, a: int, b: int) -> int:
    x, y = _pair(operation, width, a, b)
    return {
        "equal": x == y,
        "not_equal": x != y,
        "less_than": x < y,
        "less_than_or_equal": x <= y,
        "greater_than": x > y,
        "greater_than_or_equal": x >= y,
    }[keyword(operation, "comparison_predicate")]


def _exti(operation: Operation, width: int, a: int) -> int:
    return signed(width, a) if keyword(operation, "signedness") == "signed" else a


def _trunci(operation: Operation, width: int, a: int) -> int:
    return _checked(operation, width_of(operation.results[0]), signed(width, a), a)


ELEMENTWISE: dict[str, Callable[..., int]] = {
    "addi": _add,
    "subi": _sub,
    "muli": _mul,
    "negi": _neg,
    "absi": lambda o, w, a: abs(signed(w, a)),
    "andi": lambda o, w, a, b: a & b,
    "ori": lambda o, w, a, b: a | b,
    "xori": lambda o, w, a, b: a ^ b,
    "shli": _shli,
    "shri": _shri,
    "divi": _divi,
    "remi": _remi,
    "mulhii": lambda o, w, a, b: a * b >> w,
    "mini": lambda o, w, a, b: min(_pair(o, w, a, b)),
    "maxi": lambda o, w, a, b: max(_pair(o, w, a, b)),
    "cmpi": _cmpi,
    "exti": _exti,
    "trunci": _trunci,
}


# --- random programs ---

SIGNS: Any = ("signed", "unsigned")
FLAGS: Any = ("none", "none", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap")
PREDICATES: Any = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")


class RandomProgram:
    """Builds a kernel over integers of one width and its double, with branches and loops."""

    def __init__(self, rng: Random, width: int = 8, arguments: int = 3) -> None:
        self.rng = rng
        self.width = width
        self.builder = tileir.Builder("m")
        self.values: list[Value] = []
        with self.builder.entry("k", *[f"i{width}"] * arguments) as given:
            self.values.extend(given)
            for value in given:
                self.values.append(self.promise(value))
            self.statements(14, 0)
        self.module = self.builder.finish()

    @property
    def kernel(self) -> Operation:
        entry = self.module.regions[0].block.first
        assert entry is not None
        return entry

    def promise(self, value: Value) -> Value:
        rng = self.rng
        half = 1 << (self.width - 1)
        if rng.random() < 0.4:
            return self.builder.assume(value, tileir.attributes.div_by(1 << rng.randrange(4)))
        low = rng.randrange(-half, half)
        high = rng.randrange(low, half)
        return self.builder.assume(
            value, tileir.attributes.bounded(low if rng.random() < 0.8 else None, high if rng.random() < 0.8 else None)
        )

    def pick(self, type: Any) -> Value:
        found = [v for v in self.values if v.type is type]
        if found and self.rng.random() < 0.8:
            return self.rng.choice(found)
        element = type.element.width
        half = 1 << (element - 1)
        number = self.rng.choice((0, 1, 2, 3, 4, 7, 8, 16, -1, -2, half - 1, -half, self.rng.randrange(-half, half)))
        if element == 1:
            number = self.rng.randrange(2)
        return self.builder.constant(max(-half, min(number, half - 1)) if element > 1 else number, type)

    def a_type(self) -> object:
        found = [v.type for v in self.values if element_width(v.type) > 1]
        return self.rng.choice(found)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            kind = self.rng.random()
            if depth < 2 and kind < 0.12:
                self.branch(depth)
            elif depth < 2 and kind < 0.24:
                self.for_loop(depth)
            elif kind < 0.34:
                self.shape()
            else:
                self.expression()

    def branch(self, depth: int) -> None:
        b = self.builder
        condition = self.condition()
        type = self.a_type()
        outer = list(self.values)
        with b.if_(condition) as branch:
            self.statements(3, depth + 1)
            b.yield_(self.pick(type))
        self.values = list(outer)
        with branch.else_():
            self.statements(3, depth + 1)
            b.yield_(self.pick(type))
        self.values = [*outer, branch.result]

    def condition(self) -> Value:
        type = tile(f"i{self.width}")
        return self.builder.cmpi(self.pick(type), self.pick(type), self.rng.choice(PREDICATES), self.rng.choice(SIGNS))

    def for_loop(self, depth: int) -> None:
        b = self.builder
        type = tile(f"i{self.width}")
        step = b.constant(self.rng.choice((1, 1, 2, 3, 8, 40)), type)
        carried = self.pick(self.a_type())
        outer = list(self.values)
        # The range is short as a rule, so that runs end.
        lower = self.pick(type)
        upper = (
            b.addi(lower, b.constant(self.rng.choice((3, 10)), type)) if self.rng.random() < 0.7 else self.pick(type)
        )
        with b.for_(lower, upper, step, init=[carried], unsigned=self.rng.random() < 0.3) as loop:
            self.values += [loop.index, loop.value]
            self.statements(3, depth + 1)
            if self.rng.random() < 0.4:
                with b.if_(self.condition()):
                    b.continue_(self.step_of(loop.value))
            b.continue_(self.step_of(loop.value))
        self.values = [*outer, loop.result]

    def step_of(self, carried: Value) -> Value:
        kind = self.rng.random()
        if kind < 0.2:
            return carried
        other = self.pick(carried.type)
        return self.binary(carried, other) if kind < 0.8 else other

    def shape(self) -> None:
        b = self.builder
        kind = self.rng.randrange(5)
        scalar = tile(f"i{self.width}")
        row = tile((8,), f"i{self.width}")
        if kind == 0:
            self.values.append(b.iota(row))
        elif kind == 1:
            self.values.append(b.broadcast(b.reshape(self.pick(scalar), (1,)), (8,)))
        elif kind == 2:
            self.values.append(
                b.assume(self.pick(row), tileir.attributes.same_elements((self.rng.choice((1, 2, 4, 8)),)))
            )
        elif kind == 3:
            self.values.append(b.constant([self.rng.randrange(-8, 8) * 4 for _ in range(8)], row))
        else:
            value = self.pick(self.a_type())
            self.values.append(self.promise(value) if value.type.element.width == self.width else value)

    def binary(self, left: Value, right: Value) -> Value:
        b, rng = self.builder, self.rng
        name = rng.choice(
            ("addi", "subi", "muli", "andi", "ori", "xori", "shli", "shri", "divi", "remi", "mulhii", "mini", "maxi")
        )
        if name in ("addi", "subi", "muli", "shli"):
            if name == "shli":
                right = b.andi(right, b.constant(rng.choice((3, 7, 1)), right.type))
            return b.operation(name, left, right, overflow=rng.choice(FLAGS)).result
        if name == "divi":
            sign = rng.choice(SIGNS)
            roundings: Any = ("zero", "positive_inf", "negative_inf") if sign == "signed" else ("zero", "positive_inf")
            return b.divi(left, right, sign, rounding=rng.choice(roundings))
        if name in ("shri", "remi", "mini", "maxi"):
            if name == "shri":
                right = b.andi(right, b.constant(rng.choice((3, 7, 1)), right.type))
            return b.operation(name, left, right, rng.choice(SIGNS)).result
        return b.operation(name, left, right).result

    def expression(self) -> None:
        b, rng = self.builder, self.rng
        type = self.a_type()
        kind = rng.random()
        if kind < 0.65:
            self.values.append(self.binary(self.pick(type), self.pick(type)))
        elif kind < 0.75:
            value = self.pick(type)
            self.values.append(b.negi(value) if rng.random() < 0.5 else b.absi(value))
        elif kind < 0.85:
            condition = b.cmpi(self.pick(type), self.pick(type), rng.choice(PREDICATES), rng.choice(SIGNS))
            self.values.append(b.select(condition, self.pick(type), self.pick(type)))
        elif type.element.width == self.width:
            self.values.append(b.exti(self.pick(type), f"i{2 * self.width}", rng.choice(SIGNS)))
        else:
            self.values.append(b.trunci(self.pick(type), f"i{self.width}", overflow=rng.choice(FLAGS)))
