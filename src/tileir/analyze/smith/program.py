"""`smith`: the program of a seed, with what it is launched with and what it must compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from tileir.analyze.smith.arithmetic import ARITHMETIC, FUNCTIONS
from tileir.analyze.smith.control_flow import BRANCHES, PRINTING, PROMISES, TERMINATORS
from tileir.analyze.smith.conversions import CONVERSIONS, MOVES
from tileir.analyze.smith.memory import ATOMICS, FENCES, MEMORY
from tileir.analyze.smith.reductions import PRODUCTS, REDUCTIONS
from tileir.analyze.smith.tiles import FLOATS, INTEGERS, Bits, Tile
from tileir.analyze.smith.views import VIEWS
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.gpu.targets import ARCHITECTURES
from tileir.execute.launching.entries import entries_of
from tileir.interface import to_bytecode
from tileir.ir.attributes import Attribute, string_attribute, type_attribute
from tileir.ir.core import Block, Module, Operation, Region
from tileir.ir.diagnostics import OptionError
from tileir.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, IntegerType, Type, function_type
from tileir.ir.versions import RELEASED, Version, version_named, version_text

SMITH_STREAM = 1
"""The version of the map from seeds to programs: it changes when a seed makes another program."""
DEFAULT_SIZE = 80
_ENTRY: Attribute = string_attribute("kernel")
# The name that a module has when it is read from bytecode, which keeps none.
_MODULE: Attribute = string_attribute("kernels")
_GRIDS = ((1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 2, 2))
# GPUs with more and more types.
_TARGETS = ("sm_90", "sm_100", "sm_107")


class Family(NamedTuple):
    """The statements that a program is drawn from; one that is listed n times is drawn n times as often."""

    name: str
    summary: str
    statements: tuple[Statement, ...]


EVERYTHING = "everything"
_FAMILIES = (
    Family("arithmetic", "integers, floats, comparisons and select, element by element", ARITHMETIC),
    Family("conversions", "between widths, between integers and floats, of bits, of packed bytes, with the small float "
           "types", CONVERSIONS * 2 + ARITHMETIC),
    Family("shapes", "reshape, permute, broadcast, cat, extract, insert", MOVES * 3 + ARITHMETIC),
    Family("reductions", "reduce and scan of integers, extremes, positions and exact sums",
           REDUCTIONS * 10 + ARITHMETIC + MOVES),
    Family("functions", "exp, log, sin and the like, compared so that every approximation has the same result",
           FUNCTIONS * 3 + ARITHMETIC),
    Family("control_flow", "if, for, loop, with break, continue and return, nested, carrying values and tokens",
           BRANCHES * 6 + TERMINATORS + ARITHMETIC + MEMORY),
    Family("memory", "loads and stores through pointers, tokens, alloca, globals, casts of pointers, fences",
           MEMORY * 3 + FENCES + ARITHMETIC + BRANCHES * 2),
    Family("views", "tensor views and tiles of them: partitions, strides, gathers, padding, sizes known only at the "
           "launch", VIEWS * 5 + ARITHMETIC + BRANCHES + MOVES),
    Family("atomics", "read-modify-write and compare-and-swap of one's own, and of what all tile blocks share in any "
           "order", ATOMICS * 8 + ARITHMETIC + MEMORY + BRANCHES),
    Family("matmuls", "mmaf, mmai and mmaf_scaled of numbers whose sums are exact", PRODUCTS * 8 + ARITHMETIC + MOVES),
    Family(EVERYTHING, "all of the others in one program, with assertions and assumptions",
           ARITHMETIC + CONVERSIONS + MOVES + REDUCTIONS * 3 + FUNCTIONS + PRODUCTS + BRANCHES * 2 + TERMINATORS
           + MEMORY + FENCES + VIEWS + ATOMICS + PROMISES),
)  # fmt: skip
SMITH_FAMILIES: dict[str, Family] = {family.name: family for family in _FAMILIES}


@dataclass(eq=False, repr=False)
class SmithProgram:
    """A valid, well-defined program: every compiler must give its `expected()` results, bit for bit."""

    module: Module
    seed: int
    family: str
    version: str
    """The oldest version it keeps to: its bytecode can be written for it."""
    grid: tuple[int, int, int]
    launch: LaunchDescription
    """The launch as options of `tileir run`."""
    tolerances: dict[int, float]
    """By argument, where the dialect leaves bits open: how far off it may be, times one and its magnitude."""
    _expected: list[Any] | None = field(default=None, init=False)

    @property
    def arguments(self) -> list[Any]:
        """What it is launched with, one for each parameter: new arrays each time."""
        return self.launch.launch(self.entry).arguments

    @property
    def entry(self) -> Operation:
        """Its one kernel."""
        (entry,) = entries_of(self.module).values()
        return entry

    @property
    def operations(self) -> list[str]:
        """The mnemonics of its operations, each once, in alphabetical order."""
        return sorted({operation.declaration.mnemonic for operation in self.module.walk()})

    @property
    def target(self) -> str:
        """A GPU that has all types it uses, for NVIDIA's assembler."""
        types = {result.type for operation in self.module.walk() for result in operation.results}
        elements = {type.element.text for type in types if isinstance(type, TileType)}
        return next(name for name in _TARGETS if elements.isdisjoint(ARCHITECTURES[name].lacks))

    def text(self) -> str:
        """The program, its launch in a comment on the first line."""
        return f"{self.launch.comment()}\n{self.module.text()}\n"

    def bytecode(self) -> bytes:
        return to_bytecode(self.module, version=self.version)

    def expected(self) -> list[Any]:
        """The arrays after a launch, in the order of the parameters."""
        if self._expected is None:
            from tileir.execute.launching.kernel import compile

            arguments = self.arguments
            compile(self.module, backend="interpreter", exact=True).launch(self.grid, arguments)
            self._expected = arrays_of(arguments)
        return [array.copy() for array in self._expected]

    def results(self) -> list[tuple[int, Any]]:
        """`expected()`, each array with the number of its argument."""
        numbers = [number for number, word in enumerate(self.launch.arguments) if ":" in word]
        return list(zip(numbers, self.expected(), strict=True))

    @property
    def is_exact(self) -> bool:
        """Whether every bit is specified; it is unless `allow_open` was given."""
        return not self.tolerances

    def check(self, results: Sequence[Any]) -> str | None:
        """The first difference between arrays after a launch and `expected()`; None where there is none.

        `results` are those arrays, or all arguments of the launch.
        """
        expected, found = self.results(), arrays_of(results)
        if len(found) != len(expected):
            return f"{len(found)} arrays where {len(expected)} are expected"
        for array, (number, correct) in zip(found, expected, strict=True):
            if difference := first_difference(array, correct, self.tolerances.get(number)):
                return f"argument {number}{difference}"
        return None

    def __repr__(self) -> str:
        return f"<SmithProgram {self.seed} of {self.family}>"


def arrays_of(arguments: Sequence[Any]) -> list[Any]:
    return [argument for argument in arguments if hasattr(argument, "dtype") and argument.shape]


def first_difference(found: Any, correct: Any, tolerance: float | None = None) -> str | None:
    import numpy

    from tileir.execute.array_difference import near, same_bits

    array = numpy.asarray(found)
    if array.shape != correct.shape or array.dtype != correct.dtype:
        return f" is {array.dtype}{list(array.shape)}, expected {correct.dtype}{list(correct.shape)}"
    same = same_bits(array, correct)
    if tolerance is not None:
        same |= near(array.astype(numpy.float64), correct.astype(numpy.float64), tolerance, tolerance)
    places = numpy.flatnonzero(~same)
    if not places.size:
        return None
    place = int(places[0])
    values = [one.reshape(-1)[place : place + 1] for one in (array, correct)]
    shown = [f"{one[0]} ({one.view(f'u{one.itemsize}')[0]:#x})" for one in values]
    return f"[{place}] is {shown[0]}, expected {shown[1]}; {places.size} of {correct.size} differ"


TOLERANCES: dict[Type, float] = {F64: 1e-9, F32: 1e-4, F16: 1e-2, BF16: 5e-2}
"""How far a result may be from the interpreter's where bits are left open: times one and its magnitude together."""


def expose(writer: Writer) -> None:
    """Store values that nothing else used, the last ones first, and a few others."""
    bits = writer.bits
    tiles = [tile for tile in writer.scopes[0].all if _is_stored(tile) and tile is not writer.place]
    unused = [tile for tile in reversed(tiles) if not tile.value.has_uses]
    others = [tile for tile in reversed(tiles) if tile.value.has_uses and bits.chance(20)]
    chosen = [*unused, *others][: writer.stores] or tiles[-1:]
    # By element type, an array for all of them, and where the next one goes.
    arrays: dict[Type, Tile] = {}
    begun: dict[Type, int] = {}
    for tile in chosen:
        element = tile.element
        if element not in arrays:
            room = sum([prod(each.shape) for each in chosen if each.element is element])
            arrays[element] = writer.own_part(writer.array(element, room * writer.blocks, None), room)
        start = begun.get(element, 0)
        _store(writer, arrays[element], tile, start)
        begun[element] = start + prod(tile.shape)


def expose_loose(writer: Writer) -> dict[int, float]:
    """Store what the dialect leaves open to some degree, in arrays apart; the tolerance of each, by argument."""
    found: dict[int, float] = {}
    for tile in writer.loose[: writer.stores]:
        count = prod(tile.shape)
        base = writer.own_part(writer.array(tile.element, count * writer.blocks, None), count)
        found[len(writer.arguments) - 1] = TOLERANCES[tile.element]
        _store(writer, base, tile, 0)
    return found


def _is_stored(tile: Tile) -> bool:
    """Pointers differ from launch to launch, and four bits are less than a byte of memory."""
    element = tile.element
    return isinstance(element, (IntegerType, FloatType)) and (element.width >= 8 or element.width == 1)


def _store(writer: Writer, base: Tile, tile: Tile, start: int) -> None:
    number = writer.numeric(tile)
    if not tile.shape:
        places = writer.constant((), I64, start)
    else:
        number = writer.reshaped(number, (prod(tile.shape),))
        places = writer.lanes(prod(tile.shape))
        if start:
            places = writer.apply(ops.ADDI, places, writer.constant(number.shape, I32, start))
    writer.op(ops.STORE_PTR_TKO, writer.pointers(base, places), number)


def smith(
    seed: int,
    *,
    family: str | None = None,
    operations: Sequence[str] | None = None,
    version: str | None = None,
    size: int | None = None,
    allow_open: bool = False,
) -> SmithProgram:
    """The program of a seed.

    `family` is one of `SMITH_FAMILIES`, by default one that the seed chooses; `operations` are mnemonics: the program
    has these and what feeds them; `version` is the oldest bytecode version it keeps to, by default the newest; `size`
    is about how many operations it has.  With `allow_open` some results are of operations whose bits the dialect leaves
    open, in arrays of their own that have a tolerance.

    >>> tileir.smith(7, family="shapes", size=20).grid
    (1, 1, 1)
    """
    dialect = RELEASED if version is None else version_named(version)
    bits = Bits(
        SMITH_STREAM, seed, family, ",".join(operations or ()), version, size, *(["open"] if allow_open else [])
    )
    name, statements = _chosen(bits, family, operations, dialect)
    # Programs print only on request, and what several tile blocks print has no order.
    alone = any(statement in PRINTING for statement in statements)
    grid = _GRIDS[0] if alone else bits.choice(_GRIDS)
    writer = Writer(bits, dialect, statements, DEFAULT_SIZE if size is None else size, grid)
    writer.integers = [INTEGERS[place] for place in bits.order(len(INTEGERS))[: bits.between(1, 2)]]
    writer.floats = [FLOATS[place] for place in bits.order(len(FLOATS))[: bits.between(1, 2)]]
    writer.is_open = allow_open
    writer.fill(writer.size)
    expose(writer)
    tolerances = expose_loose(writer)
    writer.op(ops.RETURN)
    launch = LaunchDescription(grid, writer.arguments)
    return SmithProgram(_module(writer), seed, name, version_text(dialect), grid, launch, tolerances)


def _chosen(
    bits: Bits, family: str | None, operations: Sequence[str] | None, version: Version
) -> tuple[str, list[Statement]]:
    """The family, and the statements to draw from."""
    if family is not None and family not in SMITH_FAMILIES:
        raise OptionError(f"there is no family '{family}' of programs: choose one of {', '.join(SMITH_FAMILIES)}")
    if operations is None:
        name = bits.choice(list(SMITH_FAMILIES)) if family is None else family
        return name, [statement for statement in SMITH_FAMILIES[name].statements if statement.is_in(version)]
    name = EVERYTHING if family is None else family
    known = {statement.declaration.mnemonic: statement for statement in (*SMITH_FAMILIES[name].statements, *PRINTING)}
    found = []
    for word in operations:
        statement = known.get(word.removeprefix("cuda_tile."))
        if statement is None and family is None:
            raise OptionError(f"there is no operation '{word}' that programs could be made of")
        if statement is None:
            raise OptionError(f"no program of the family '{name}' has the operation '{word}'")
        if not statement.is_in(version):
            raise OptionError(f"the operation '{word}' is not in {version_text(version)}")
        found.append(statement)
    if not found:
        raise OptionError("the list of operations is empty")
    return name, found


def _module(writer: Writer) -> Module:
    type = type_attribute(function_type(tuple([argument.type for argument in writer.entry.arguments]), ()))
    entry = Operation(ops.ENTRY, [], [], {"sym_name": _ENTRY, "function_type": type}, [Region([writer.entry])])
    block = Block()
    for operation in (*writer.globals, entry):
        block.append(operation)
    return Module(ops.MODULE, [], [], {"sym_name": _MODULE}, [Region([block])])
