"""What a program's results are if what the dialect leaves open is decided in other ways.

The interpreter makes one choice where the dialect has many: zeros for what is outside of a tensor, one order of tile
blocks, of additions in a reduction, one NaN.  Here it is run again with other choices.  A byte of memory that changes
with one of them is not what the dialect says, so a GPU may have something else there; one that never changes is
compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import numpy
from tests.execute.step_limit import Enough, StepLimit
from tests.hardware.agreement.comparing import Verdict
from tests.hardware.agreement.interpreting import Outcome, interpret, launched
from tests.hardware.agreement.program import Pointer, Program, dtype_of
from tests.hardware.agreement.rules import FUNCTIONS, OPEN, UNSPECIFIED
from tests.hardware.agreement.running import Result

import tileir
from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.dtypes import bits_dtype, from_bits, is_float_dtype
from tileir.execute.interpreter import control_flow, views
from tileir.execute.interpreter.kernel import OPERATIONS
from tileir.execute.memory import Memory
from tileir.ir.attributes import ArrayAttribute, IntegerAttribute
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ELEMENTWISE

STEPS = 200_000
PATTERNS = (0x5A5A5A5A5A5A5A5A, 0x7FFFFFFF7FFF7FFF)
"""What is outside of tensors, cut to the size of an element; the second is a NaN in most types."""
MOVES = (ops.SELECT, ops.BITCAST, ops.NEGF, ops.ABSF)
PRODUCTS = (ops.MMAF, ops.MMAF_SCALED)


class Choice(NamedTuple):
    name: str
    """What is left open, in words."""
    made: Callable[[], Any]
    """A context in which the interpreter decides it otherwise."""
    schedule: str = "forward"


def _from_number(element: Any, bits: int) -> Any:
    """An element by its lowest bits."""
    dtype = bits_dtype(element)
    return from_bits(element, numpy.array(bits & ((1 << (8 * dtype.itemsize)) - 1), f"u{dtype.itemsize}").view(dtype))


# --- what is outside of a tensor, or behind a mask ---


def _padded(pattern: int) -> Callable[[], Any]:
    return lambda: _other_padding(pattern)


@contextmanager
def _other_padding(pattern: int) -> Iterator[None]:
    plain = views.padding_value

    def value(type: Any) -> Any:
        if type.padding is not None:
            return plain(type)
        return _from_number(type.tensor.element, pattern)

    plain_load = OPERATIONS[ops.LOAD_PTR_TKO]

    def load(operation: Any, frame: Any) -> None:
        plain_load(operation, frame)
        if operation.mask is not None and operation.padding_value is None:
            (result, *_) = operation.results
            other = _from_number(cast(TileType, result.type).element, pattern)
            frame[result] = numpy.where(frame[operation.mask], frame[result], other)[()]

    with patch.object(views, "padding_value", value), patch.dict(OPERATIONS, {ops.LOAD_PTR_TKO: load}):
        yield


# --- reductions and scans ---


def _identities(operation: Any) -> list[Any]:
    found = []
    for attribute, result in zip(
        cast(ArrayAttribute, operation.attributes["identities"]).elements, operation.results, strict=True
    ):
        element = cast(TileType, result.type).element
        number = int(attribute.bits if hasattr(attribute, "bits") else attribute.value)
        found.append(_from_number(element, number))
    return found


def _operands(operation: Any, frame: Any) -> list[Any]:
    """The operands of an aggregate, its dimension first."""
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    return [numpy.moveaxis(value, axis, 0) for value in frame.values_of(operation.operands)]


def _reduce_backwards(operation: Any, frame: Any) -> None:
    """From the last element to the first, and begun with the identity."""
    values = _operands(operation, frame)
    identities = _identities(operation)
    found = [numpy.broadcast_to(one, value.shape[1:]) for one, value in zip(identities, values, strict=True)]
    for place in range(len(values[0]) - 1, -1, -1):
        found = control_flow.combine(operation, frame, [value[place] for value in values], found)
    scalar = not cast(TileType, operation.results[0].type).shape
    frame.assign(operation.results, [numpy.asarray(value)[()] if scalar else value for value in found])


def _reduce_shuffled(seed: int) -> Any:
    """In pairs of a random order, then pairs of pairs, and so on; 0 is that of the elements."""

    def reduce(operation: Any, frame: Any) -> None:
        values = _operands(operation, frame)
        order = list(range(len(values[0])))
        if seed:
            Random(seed).shuffle(order)
        values = [value[order] for value in values]
        while len(values[0]) > 1:
            first, second = [value[0::2] for value in values], [value[1::2] for value in values]
            values = control_flow.combine(operation, frame, first, second)
        scalar = not cast(TileType, operation.results[0].type).shape
        frame.assign(operation.results, [value[0][()] if scalar else value[0] for value in values])

    return reduce


def _scan_by_doubling(operation: Any, frame: Any) -> None:
    """Neighbors first, then those twice as far, and so on."""
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    step = -1 if cast(IntegerAttribute, operation.attributes["reverse"]).value != 0 else 1
    values = [value[::step].copy() for value in _operands(operation, frame)]
    far = 1
    while far < len(values[0]):
        first, second = [value[:-far] for value in values], [value[far:] for value in values]
        for value, new in zip(values, control_flow.combine(operation, frame, first, second), strict=True):
            value[far:] = new
        far *= 2
    frame.assign(operation.results, [numpy.moveaxis(value[::step], 0, axis) for value in values])


@contextmanager
def _backwards() -> Iterator[None]:
    with patch.dict(OPERATIONS, {ops.REDUCE: _reduce_backwards, ops.SCAN: _scan_by_doubling}):
        yield


def _shuffled(seed: int) -> Callable[[], Any]:
    @contextmanager
    def made() -> Iterator[None]:
        with patch.dict(OPERATIONS, {ops.REDUCE: _reduce_shuffled(seed), ops.SCAN: _scan_by_doubling}):
            yield

    return made


# --- the last bits of products and functions, and NaNs ---


def _changing(declaration: OperationDeclaration, change: Callable[[Any, Any], Any]) -> Any:
    """How an operation is run if its results are changed afterwards, by their element type."""
    plain = OPERATIONS[declaration]

    def changed(operation: Any, frame: Any) -> Any:
        ending = plain(operation, frame)
        for result in operation.results:
            frame[result] = change(numpy.asarray(frame[result]), cast(TileType, result.type).element)[()]
        return ending

    return changed


def _nudged(seed: int) -> Callable[[], Any]:
    """Float results of products, functions and reductions a few units away, at random."""

    @contextmanager
    def made() -> Iterator[None]:
        random = Random(seed)

        def nudge(value: Any, element: Any) -> Any:
            if not is_float_dtype(value.dtype) or not value.size:
                return value
            steps = numpy.array([random.randrange(-4, 5) for _ in range(value.size)]).reshape(value.shape)
            bits = value.view(f"i{value.dtype.itemsize}").astype(numpy.int64)
            magnitude = bits & ((1 << (8 * value.dtype.itemsize - 1)) - 1)
            # Not into zero, infinity or NaN: these are not a matter of rounding.
            moved = (bits + steps).astype(f"i{value.dtype.itemsize}").view(value.dtype)
            keep = (magnitude < 16) | ~numpy.isfinite(value) | ~numpy.isfinite(moved)
            return numpy.where(keep, value, moved).astype(value.dtype)

        open_ones = [
            declaration
            for declaration in OPERATIONS
            if declaration.mnemonic in FUNCTIONS or declaration in (*PRODUCTS, ops.DIVF, ops.SQRT)
        ]
        with patch.dict(OPERATIONS, {each: _changing(each, nudge) for each in open_ones}):
            yield

    return made


@contextmanager
def _saturated() -> Iterator[None]:
    """Integer products that overflow, as tensor cores have them."""

    def run(operation: Any, frame: Any) -> None:
        def number(value: Any, word: str) -> Any:
            unsigned = "unsigned" in str(operation.attributes.get(word, ""))
            return (value.view("u1") if unsigned else value).astype(object)

        left, right, added = frame.values_of(operation.operands)
        exact = number(left, "signedness_lhs") @ number(right, "signedness_rhs") + added.astype(object)
        frame[operation.results[0]] = numpy.clip(exact, -(1 << 31), (1 << 31) - 1).astype(numpy.int32)

    with patch.dict(OPERATIONS, {ops.MMAI: run}):
        yield


@contextmanager
def _other_nan() -> Iterator[None]:
    """Each NaN that an operation makes has all bits set except the sign, as on a GPU."""

    def change(value: Any, element: Any) -> Any:
        if not is_float_dtype(value.dtype):
            return value
        size = value.dtype.itemsize
        ones = numpy.array((1 << (8 * size - 1)) - 1, f"u{size}").view(value.dtype)
        return numpy.where(numpy.isnan(value), ones, value).astype(value.dtype)

    making = [
        declaration
        for declaration in OPERATIONS
        if declaration in PRODUCTS or (declaration.has_trait(ELEMENTWISE) and declaration not in MOVES[:2])
    ]
    with patch.dict(OPERATIONS, {each: _changing(each, change) for each in making}):
        yield


@contextmanager
def _other_integers() -> Iterator[None]:
    """`ftoi` without `saturating` gives something else for what its type cannot hold: NaN, infinities, large numbers."""
    plain = OPERATIONS[ops.FTOI]

    def run(operation: Any, frame: Any) -> None:
        plain(operation, frame)
        if "saturating" in operation.attributes:
            return
        source, result = operation.operands[0], operation.results[0]
        width = cast(Any, result.type).element.width
        unsigned = "unsigned" in str(operation.attributes["signedness"])
        low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
        with numpy.errstate(invalid="ignore"):
            number = numpy.trunc(numpy.asarray(frame[source]).astype(numpy.float64))
            fits = (number >= low) & (number <= high)
        found = numpy.asarray(frame[result])
        frame[result] = numpy.where(fits, found, ~found).astype(found.dtype)[()]

    with patch.dict(OPERATIONS, {ops.FTOI: run}):
        yield


@contextmanager
def _first_stays() -> Iterator[None]:
    """Of elements that one store writes to one place, the first stays, not the last."""
    plain = Memory.scatter

    def scatter(memory: Any, addresses: Any, values: Any) -> None:
        plain(memory, addresses.reshape(-1)[::-1], values.reshape(-1)[::-1])

    with patch.object(Memory, "scatter", scatter):
        yield


def _together(seed: int) -> Callable[[], Any]:
    """Several at once: what one of them changes may decide whether another matters."""

    @contextmanager
    def made() -> Iterator[None]:
        order = (_backwards, _shuffled(seed))[seed % 2]
        # Last the last bits, of what the others compute.
        with (
            _other_padding(PATTERNS[seed % 2]),
            order(),
            _saturated(),
            _other_integers(),
            _first_stays(),
            _nudged(seed)(),
            _other_nan(),
        ):
            yield

    return made


@contextmanager
def _nothing() -> Iterator[None]:
    yield


CHOICES = (
    *[Choice("what is outside of a tensor without padding, or masked", _padded(pattern)) for pattern in PATTERNS],
    Choice("the order of tile blocks", _nothing, "reverse"),
    Choice("the order of tile blocks", _nothing, "random:5"),
    Choice("the order of tile blocks", _nothing, "interleaved"),
    Choice("which of the elements stays that a store writes to one place", _first_stays),
    Choice("integers out of range", _other_integers),
    Choice("the order of reductions and scans", _backwards),
    *[Choice("the order of reductions and scans", _shuffled(seed)) for seed in range(4)],
    Choice("integer products that overflow", _saturated),
    Choice("which NaN", _other_nan),
    *[Choice("the last bits of products and functions", _nudged(seed)) for seed in range(6)],
    *[
        Choice("several of these at once", _together(seed), schedule)
        for seed, schedule in enumerate(["forward", "reverse"] * 3)
    ],
)


class Dependence(NamedTuple):
    choices: list[str]
    """Those that change something."""
    changed: list[Any]
    """For each memory, which of its bytes changed."""


def dependence(program: Program, memories: list[bytes]) -> Dependence:
    """What in a program's results depends on choices; `memories` are the results with the interpreter's own."""
    plain = [numpy.frombuffer(memory, numpy.uint8) for memory in memories]
    changed = [numpy.zeros(memory.size, bool) for memory in plain]
    names: dict[str, None] = {}

    def note(name: str, found: list[bytes]) -> None:
        for number, memory in enumerate(found):
            differs = numpy.frombuffer(memory, numpy.uint8) != plain[number]
            if differs.any():
                changed[number] |= differs
                names[name] = None

    for choice in CHOICES:
        with choice.made():
            found = _run(program, choice.schedule)
        if found is None:
            # It runs on, or fails: then anything may be.
            return Dependence([choice.name], [numpy.ones(memory.size, bool) for memory in plain])
        note(choice.name, found)
    for argument in program.arguments:
        if isinstance(argument, Pointer):
            # Whole elements: a number has changed, not some of its bytes.
            size = dtype_of(argument.element).itemsize
            part = changed[argument.memory][argument.start : argument.start + argument.length * size]
            part.reshape(-1, size)[part.reshape(-1, size).any(axis=1)] = True
    return Dependence(list(names), changed)


def _run(program: Program, schedule: str) -> list[bytes] | None:
    try:
        return launched(program, "interpreter", observer=StepLimit(STEPS), schedule=schedule)
    except (Enough, tileir.TileIRError):
        return None


def judged_again(verdict: Verdict, found: Result) -> Verdict:
    """A program whose results differ for a reason that no rule knows: whether they depend on choices.

    That not every element was seen to change is told: a choice has more ways than are tried.
    """
    program = verdict.program
    wanted = interpret(program, True)
    if wanted.unspecified:
        return verdict._replace(kind=UNSPECIFIED, rules=wanted.unspecified)
    if found.trouble == "guard":
        return verdict
    depends = dependence(program, wanted.memories)
    unseen = total = 0
    for argument in program.arguments:
        if isinstance(argument, Pointer):
            differs, changed = _elements(argument, wanted, found, depends)
            left, all_of_them = int((differs & ~changed).sum()), int(differs.sum())
            if 2 * left > all_of_them:
                return verdict
            unseen, total = unseen + left, total + all_of_them
    words = [f"{unseen} of {total} elements that differ were not seen to change"] if unseen else []
    return verdict._replace(kind=OPEN, rules=[*verdict.rules, *depends.choices], words=words + verdict.words)


def _elements(argument: Pointer, wanted: Outcome, found: Result, depends: Dependence) -> tuple[Any, Any]:
    """Which elements of an array differ, and which depend on choices."""
    size = dtype_of(argument.element).itemsize
    part = slice(argument.start, argument.start + argument.length * size)
    ours, theirs = [
        numpy.frombuffer(memories[argument.memory][part], numpy.uint8).reshape(-1, size)
        for memories in (wanted.memories, found.memories)
    ]
    changed = depends.changed[argument.memory][part].reshape(-1, size).any(axis=1)
    return (ours != theirs).any(axis=1), changed
