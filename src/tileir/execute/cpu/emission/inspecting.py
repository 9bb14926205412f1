"""Emission under the sanitizer: looking at accesses before they happen.

Each look has a fast way, a few instructions for a vector of pointers or a tile of a view, which says that all is well
or that there is doubt.  In doubt the addresses go to scratch memory and are looked at one by one
(`inspecting_text`), and only if that finds something too is Python called (`findings`), which reports it and leaves
behind which elements may be touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.accesses import Box, TensorView, TileView
from tileir.execute.cpu.emission.bounds import reserved_bytes
from tileir.execute.cpu.emission.inspecting_text import FUNCTIONS
from tileir.execute.cpu.emission.nests import Guard, NestEmission, Number, Term
from tileir.execute.cpu.loops.expressions import row_major
from tileir.execute.cpu.loops.sites import (
    END,
    NO_HOME,
    SHADOW,
    START,
    WORDS,
    WRITABLE,
    WRITES,
    Kind,
    Site,
    manner_of,
)
from tileir.execute.cpu.loops.statements import Inspect, Reserve, Statement
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector.casting import BOOL
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import memory_bytes
from tileir.execute.origins import origin_of
from tileir.execute.sanitizer.promises import promised_dimensions
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission
    from tileir.execute.cpu.loops.checks import Check

_STRICT = 4
"""For `@inspect.elements`: an element that is masked is worth a closer look."""


class Inspection:
    """What sanitized code shares: the callback, the tables of memory, room for what the callback is given."""

    def __init__(self, emission: Emission) -> None:
        self.emission: Emission = emission
        base = emission.layout.inspection
        self._callback: int = base
        self._homes: int = base + 1
        self.reserves: dict[Operation, int] = {}
        # For each list of statements the numbers of what is reserved inside.
        self._inside: dict[int, range] = {}
        self._number(emission.program.body)
        self.reserved: str = emission.reserve("i64", max(WORDS * len(self.reserves), 1), 8)
        self.table: str = emission.reserve("i64", 96, 8)
        self._rooms: list[str] = []
        emission.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        emission.module.functions.append(FUNCTIONS)

    # --- places ---

    def site(self, kind: Kind, operation: Operation, origin: str = "", check: Check | None = None) -> int:
        self.emission.sites.append(Site(kind, operation, origin, check))
        return len(self.emission.sites) - 1

    def call(self, site: int, values: list[str]) -> None:
        """Hand values to Python: numbers, or pointers with their type in front."""
        emission, builder = self.emission, self.emission.builder
        for number, value in enumerate([f"ptr {self.reserved}", *values]):
            place = builder.emit(f"getelementptr i64, ptr {self.table}, i64 {number}")
            text = value if value.startswith("ptr ") else f"i64 {value}"
            builder.do(f"store {text}, ptr {place}, align 8")
        function = emission.pointer(emission.record_slot(self._callback))
        builder.do(f"call void {function}(i64 {site}, i64 {emission.block_number}, ptr {self.table})")

    def room(self, number: int) -> str:
        """Room for an operand, whatever its type; used by whoever calls next."""
        while len(self._rooms) <= number:
            self._rooms.append(self.emission.reserve("i8", 512, 64))
        return self._rooms[number]

    def home(self, site: int) -> str:
        """A pointer to the words of the memory that the pointers of a site must stay in."""
        table = self.emission.pointer(self.emission.record_slot(self._homes))
        return self.emission.shifted(table, 8 * WORDS * site)

    def word(self, words: str, number: int) -> str:
        place = self.emission.shifted(words, 8 * number)
        return self.emission.builder.emit(f"load i64, ptr {place}, align 8")

    def _tables(self) -> list[str]:
        regions = self.emission.pointer(self.emission.record_slot(slots.REGIONS))
        count = self.emission.record_slot(slots.REGIONS + 1)
        return [f"ptr {regions}", f"i64 {count}", f"ptr {self.reserved}", f"i64 {len(self.reserves)}"]

    def find(self, address: str) -> str:
        """The words of the memory an address lies in, null for none."""
        arguments = ", ".join([*self._tables(), f"i64 {address}"])
        return self.emission.builder.emit(f"call ptr @inspect.find({arguments})")

    def elements(self, home: str, addresses: str, mask: str, count: int, size: int, manner: int, last: str) -> str:
        """Look at addresses one by one; an i1 that says whether all is well."""
        arguments = [
            *self._tables(), f"ptr {home}", f"ptr {addresses}", f"ptr {mask}", f"i64 {count}", f"i64 {size}",
            f"i64 {manner}", f"ptr {last}",
        ]  # fmt: skip
        answer = self.emission.builder.emit(f"call i64 @inspect.elements({', '.join(arguments)})")
        return self.emission.builder.emit(f"icmp eq i64 {answer}, 0")

    # --- what `alloca` reserves ---

    def note(self, operation: Operation, address: str, shadow: str) -> None:
        """Memory is reserved from here on, and nobody wrote it yet."""
        builder = self.emission.builder
        size = reserved_bytes(operation)
        builder.call("void", "llvm.memset.p0.i64", [f"ptr {shadow}", "i8 1", f"i64 {size}", "i1 false"])
        end = builder.emit(f"add i64 {address}, {size}")
        below = str(self.emission.address(shadow))
        words = {START: address, END: end, WRITABLE: "1", SHADOW: below}
        for number, value in words.items():
            place = self.emission.shifted(self.reserved, 8 * (WORDS * self.reserves[operation] + number))
            builder.do(f"store i64 {value}, ptr {place}, align 8")

    def forget(self, body: list[Statement]) -> None:
        """What was reserved inside is given back."""
        for number in self._inside[id(body)]:
            for word in (START, END):
                place = self.emission.shifted(self.reserved, 8 * (WORDS * number + word))
                self.emission.builder.do(f"store i64 0, ptr {place}, align 8")

    def _number(self, body: list[Statement]) -> None:
        """Number all that is reserved, in order."""
        first = len(self.reserves)
        for statement in body:
            if isinstance(statement, Reserve):
                self.reserves[statement.operation] = len(self.reserves)
            for inner in statement.bodies:
                self._number(inner)
        self._inside[id(body)] = range(first, len(self.reserves))


def emit_access(emission: Emission, statement: Inspect) -> None:
    """Look at what an operation is about to touch."""
    if isinstance(statement.operation.operands[0].type, TileType) and not _has_view(statement.operation):
        _emit_pointers(emission, statement)
    else:
        _emit_view(emission, statement)


def _has_view(operation: Operation) -> bool:
    return "view" in [declared.name for declared in operation.declaration.operands]


# --- pointers ---


def _emit_pointers(emission: Emission, statement: Inspect) -> None:
    inspection = emission.inspection
    builder = emission.builder
    operation = statement.operation
    size = memory_bytes(cast(PointerType, cast(TileType, operation.operands[0].type).element).pointee)
    manner = manner_of(operation)
    origin = origin_of(operation.operands[0])
    site = inspection.site("pointers", operation, origin)
    name = builder.fresh("look")
    if origin:
        last, words = "null", inspection.home(site)
    else:
        last = emission.reserve("ptr", 1, 8)
        emission.at_entry(f"store ptr @inspect.nothing, ptr {last}, align 8")
        words = builder.emit(f"load ptr, ptr {last}, align 8")
    start = inspection.word(words, START)
    limit = _limit(emission, words, start, size, manner)
    _fast_look(emission, statement, start, limit, size, f"{name}.doubt")
    builder.do(f"br label %{name}.fine")
    builder.label(f"{name}.doubt")
    addresses, mask = _keep_sources(emission, statement)
    home = "null"
    if origin:
        open_to_all = builder.emit(f"icmp eq i64 {inspection.word(words, WRITABLE)}, {NO_HOME}")
        home = builder.emit(f"select i1 {open_to_all}, ptr null, ptr {words}")
    count = statement.copies[0].count
    well = inspection.elements(home, addresses, mask, count, size, manner, last)
    builder.do(f"br i1 {well}, label %{name}.fine, label %{name}.wrong")
    _finish(emission, statement, name, site, [str(count), f"ptr {addresses}", f"ptr {mask}"])


def _limit(emission: Emission, words: str, start: str, size: int, manner: int) -> str:
    """How far from the start elements may begin; 0 where each must be looked at."""
    inspection, builder = emission.inspection, emission.builder
    room = builder.emit(f"sub i64 {inspection.word(words, END)}, {start}")
    places = builder.emit(f"sub i64 {room}, {size - 1}")
    places = builder.call("i64", "llvm.smax.i64", [f"i64 {places}", "i64 0"])
    simple = builder.emit(f"icmp eq i64 {inspection.word(words, SHADOW)}, 0")
    if manner & WRITES:
        writable = builder.emit(f"icmp sgt i64 {inspection.word(words, WRITABLE)}, 0")
        simple = builder.emit(f"and i1 {simple}, {writable}")
    return builder.emit(f"select i1 {simple}, i64 {places}, i64 0")


def _fast_look(emission: Emission, statement: Inspect, start: str, limit: str, size: int, doubt: str) -> None:
    """All pointers, in vectors, against one stretch of memory; goes to a label at the first doubt."""
    builder = emission.builder
    lanes = max(emission.target.vector_bytes // 8, 1)
    nest = NestEmission(emission, statement.shape, lanes, False)
    registers = [nest.value(source) for source in statement.sources]
    with nest.at_level(nest.depth):
        width = max([register.width for register in registers])
        addresses = builder.splat(registers[0], width)
        spread = [builder.splat(emission.register(number), width) for number in (start, limit)]
        moved = builder.emit(f"sub {addresses.typed}, {spread[0].name}")
        good = builder.value(f"icmp ult {addresses.type} {moved}, {spread[1].name}", BOOL, width)
        if size > 1:
            bits = builder.splat(emission.register(size - 1), width)
            low = builder.emit(f"and {addresses.typed}, {bits.name}")
            zero = "zeroinitializer" if width else "0"
            even = builder.emit(f"icmp eq {addresses.type} {low}, {zero}")
            good = builder.value(f"and {good.typed}, {even}", BOOL, width)
        if len(registers) > 1:
            mask = builder.splat(registers[1], width)
            masked = builder.emit(f"xor {mask.typed}, {'splat (i1 true)' if width else 'true'}")
            good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
        go_unless(emission, good, doubt)
    nest.close()


def go_unless(emission: Emission, good: Register, doubt: str) -> None:
    """Go to a label unless a condition holds in all lanes."""
    builder = emission.builder
    name = good.name
    if good.width:
        bits = builder.emit(f"bitcast {good.typed} to i{good.width}")
        name = builder.emit(f"icmp eq i{good.width} {bits}, -1")
    more = builder.fresh("well")
    builder.do(f"br i1 {name}, label %{more}, label %{doubt}, !prof !{emission.likely()}")
    builder.label(more)


def _keep_sources(emission: Emission, statement: Inspect) -> tuple[str, str]:
    """Addresses and mask of an access in scratch memory."""
    lanes = max(emission.target.vector_bytes // 8, 1)
    nest = NestEmission(emission, statement.shape, lanes, False)
    for source, copy in zip(statement.sources, statement.copies, strict=True):
        nest.keep(source, copy, None, source.shape)
    nest.close()
    places = [emission.buffer(copy) for copy in statement.copies]
    return places[0], places[1] if len(places) > 1 else "null"


def _finish(emission: Emission, statement: Inspect, name: str, site: int, values: list[str]) -> None:
    """The ends of a look: all was well, or Python was told."""
    assert statement.guard is not None
    builder = emission.builder
    builder.label(f"{name}.wrong")
    emission.inspection.call(site, [f"ptr {emission.buffer(statement.guard)}", *values])
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.fine")
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.end")
    fine = builder.emit(f"phi i1 [ false, %{name}.wrong ], [ true, %{name}.fine ]")
    emission.guards[statement.operation] = Guard(statement.guard, fine)


# --- views ---


def _emit_view(emission: Emission, statement: Inspect) -> None:
    inspection, builder = emission.inspection, emission.builder
    operation = statement.operation
    site = inspection.site("view", operation)
    box = accesses.open_box(emission, operation)
    view = box.view
    tensor = view.tensor
    size = memory_bytes(tensor.element)
    manner = manner_of(operation)
    name = builder.fresh("look")
    indices = _indices(emission, operation, view)
    words = inspection.find(tensor.address)
    # What the program says of the index, and where the box lies in memory.
    if view.sparse < 0:
        kept, inside = _look_at_box(emission, box, words, size, manner)
        builder.do(f"br i1 {inside}, label %{name}.fine, label %{name}.unusual, !prof !{emission.likely()}")
        builder.label(f"{name}.unusual")
        builder.do(f"br i1 {kept}, label %{name}.doubt, label %{name}.wrong")
        builder.label(f"{name}.doubt")
    elif promised_dimensions(operation):
        manner |= _STRICT
    _keep_elements(emission, statement, box)
    addresses, mask = (emission.buffer(copy) for copy in statement.copies)
    well = inspection.elements(words, addresses, mask, statement.copies[0].count, size, manner, "null")
    builder.do(f"br i1 {well}, label %{name}.fine, label %{name}.told")
    builder.label(f"{name}.told")
    builder.do(f"br label %{name}.wrong")
    values = [tensor.address, *[str(number) for number in (*tensor.extents, *tensor.strides, *indices)]]
    _finish(emission, statement, name, site, [*values, f"ptr {addresses}", f"ptr {mask}"])


def _indices(emission: Emission, operation: Operation, view: TileView) -> list[Number]:
    """The index of an access as the program gives it."""
    found: list[Number] = []
    for axis, value in enumerate(operation.operand_group("index")):
        found.append(0 if axis == view.sparse else emission.whole(value, signed=view.sparse >= 0))
    return found


def _wide(emission: Emission, number: Number) -> str:
    """A number that is not negative, with room for sums and products."""
    if isinstance(number, int):
        return str(number)
    return emission.builder.emit(f"zext i64 {number} to i128")


def _look_at_box(emission: Emission, box: Box, words: str, size: int, manner: int) -> tuple[str, str]:
    """Two conditions: the index is one the program may use, and it is and the box lies in memory."""
    inspection, builder = emission.inspection, emission.builder
    lost = builder.emit(f"icmp eq ptr {words}, null")
    safe = builder.emit(f"select i1 {lost}, ptr @inspect.nothing, ptr {words}")
    view = box.view
    promised = promised_dimensions(box.operation)
    kept = "true"
    first = _wide(emission, view.tensor.address)
    reach = "0"
    for axis, (start, extent, stride) in enumerate(zip(box.starts, view.extents, view.strides, strict=True)):
        wanted = view.shape[axis]
        left = builder.emit(f"sub i64 {extent}, {start}")
        count = builder.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {wanted}"])
        there = builder.emit(f"icmp ult i64 {start}, {extent}")
        if axis in promised:
            whole = builder.emit(f"icmp eq i64 {count}, {wanted}")
            there = builder.emit(f"and i1 {there}, {whole}")
        kept = builder.emit(f"and i1 {kept}, {there}")
        distance = builder.emit(f"mul i128 {_wide(emission, stride)}, {size}")
        moved = builder.emit(f"mul i128 {_wide(emission, start)}, {distance}")
        first = builder.emit(f"add i128 {first}, {moved}")
        steps = builder.emit(f"sub i64 {count}, 1")
        length = builder.emit(f"mul i128 {_wide(emission, steps)}, {distance}")
        reach = builder.emit(f"add i128 {reach}, {length}")
    last = builder.emit(f"add i128 {first}, {reach}")
    behind = builder.emit(f"add i128 {last}, {size}")
    begin, end = (_wide(emission, inspection.word(safe, word)) for word in (START, END))
    inside = builder.emit(f"icmp ule i128 {begin}, {first}")
    before_end = builder.emit(f"icmp ule i128 {behind}, {end}")
    low = builder.emit(f"and i128 {first}, {size - 1}")
    even = builder.emit(f"icmp eq i128 {low}, 0")
    simple = builder.emit(f"icmp eq i64 {inspection.word(safe, SHADOW)}, 0")
    conditions = [inside, before_end, even, simple]
    if manner & WRITES:
        conditions.append(builder.emit(f"icmp sgt i64 {inspection.word(safe, WRITABLE)}, 0"))
    answer = kept
    for condition in conditions:
        answer = builder.emit(f"and i1 {answer}, {condition}")
    return kept, answer


def _keep_elements(emission: Emission, statement: Inspect, box: Box) -> None:
    """The address of each element of a tile, and whether it lies in the tensor, in scratch memory."""
    nest = NestEmission(emission, statement.shape, 0, True)
    address, mask = accesses.element_address(nest, box, statement.sources, nest.index)
    chosen = mask if mask is not None else Register("true", BOOL)
    for register, copy in zip((address, chosen), statement.copies, strict=True):
        terms: list[Term] = [
            (axis, stride * copy.dtype.itemsize)
            for axis, stride in zip(nest.index, row_major(statement.shape), strict=True)
        ]
        where, _, _ = nest.place(emission.buffer(copy), terms)
        with nest.at_level(nest.depth):
            nest.store_at(where, None, register, emission.arena_suffix)
    nest.close()


def address_of(emission: Emission, operation: Operation) -> str:
    """The address of the view that an operation takes."""
    view = emission.views[operation.operands[0]]
    return view.address if isinstance(view, TensorView) else view.tensor.address
