"""Emission under the sanitizer: looking at accesses before they happen.

Each look has a fast way, which says that all is well or that there is doubt: a few instructions for a whole tile,
where its least and its greatest address are known (`ranges`) or it is one of a view; else for a vector of pointers.  In
doubt the addresses go to scratch memory and are looked at one by one (`inspection_functions`), and only if that finds
something too is Python called (`findings`), which reports it and says which elements may be touched.
"""

from __future__ import annotations

from tileir.dialect.ops import OFFSET
from tileir.dialect.types import TileType
from tileir.execute.analysis.pointer_origins import origin_of
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.emission import accesses, inspection
from tileir.execute.cpu.emission.context import Emission, Guard
from tileir.execute.cpu.emission.evaluation import NestEmission
from tileir.execute.cpu.emission.inspection_functions import STRICT
from tileir.execute.cpu.emission.nests import row_major_terms
from tileir.execute.cpu.emission.ranges import Ranges
from tileir.execute.cpu.emission.views import Box, TensorView, TileView
from tileir.execute.cpu.loops.expressions import Applied, Expression, Mapped, Splat
from tileir.execute.cpu.loops.sites import ANY_ARRAY, END, SHADOW, START, WRITABLE, WRITES, access_kind
from tileir.execute.cpu.loops.statements import Inspect
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL
from tileir.execute.cpu.vector.llvm import Register, index_register
from tileir.execute.dtypes import memory_bytes
from tileir.execute.sanitizer.promises import promised_dimensions
from tileir.ir.core import Operation


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
    builder = emission.builder
    operation = statement.operation
    size = memory_bytes(pointee_of(operation.operands[0]))
    access = access_kind(operation)
    origin = origin_of(operation.operands[0])
    site = inspection.new_site(emission, "pointers", operation, origin)
    if origin:
        last, words = "null", inspection.array_words(emission, site)
    else:
        last = emission.frame.stack("ptr", 1, 8)
        emission.frame.add(f"store ptr @inspect.nothing, ptr {last}, align 8")
        words = builder.emit(f"load ptr, ptr {last}, align 8")
    start = builder.word(words, START)
    limit = _limit(emission, words, start, size, access)
    count = statement.copies[0].count

    def fast(doubt: str) -> list[str]:
        _fast_look(emission, statement, start, limit, size, doubt)
        return ["i1 true"]

    def slow() -> list[str]:
        addresses, mask = _keep_sources(emission, statement)
        array = "null"
        if origin:
            open_to_all = builder.emit(f"icmp eq i64 {builder.word(words, WRITABLE)}, {ANY_ARRAY}")
            array = builder.emit(f"select i1 {open_to_all}, ptr null, ptr {words}")
        well = inspection.elements(emission, array, addresses, mask, count, size, access, last)
        _report_unless(emission, statement, well, site, [str(count), f"ptr {addresses}", f"ptr {mask}"])
        return [f"i1 {well}"]

    def each() -> list[str]:
        return [f"i1 {answer}" for answer in builder.attempt(fast, slow)]

    judged = _judge_tile(emission, statement, start, limit, size)
    if judged is None:
        (fine,) = builder.attempt(fast, slow)
        _note(emission, statement, fine)
        return
    inside, whole, unmasked = judged
    (fine,) = builder.branch(inside, lambda: ["i1 true"], each, likely=True)
    _note(emission, statement, fine, whole, unmasked)


def _judge_tile(
    emission: Emission, statement: Inspect, start: str, limit: str, size: int
) -> tuple[str, str, bool] | None:
    """Two i1s: all pointers of a tile, masked or not, lie in one stretch of memory; and nothing is masked besides, if
    the last answer says that this can be known.  None where nothing is known of the tile as such."""
    pointers, *masks = statement.sources
    ranges = Ranges(emission)
    found = ranges.of(pointers)
    if found is None or not _steps_are_multiples(pointers, size):
        return None
    builder = emission.builder
    conditions = ranges.conditions
    for end in dict.fromkeys((found.low, found.high)):
        moved = builder.emit(f"sub i64 {end}, {start}")
        conditions.append(builder.emit(f"icmp ult i64 {moved}, {limit}"))
    if size > 1:
        low = builder.emit(f"and i64 {found.low}, {size - 1}")
        conditions.append(builder.emit(f"icmp eq i64 {low}, 0"))
    inside = _conjunction(emission, conditions)
    known = len(conditions)
    unmasked = bool(masks) and ranges.is_true(masks[0])
    return inside, _conjunction(emission, [inside, *conditions[known:]]), unmasked


def _conjunction(emission: Emission, conditions: list[str]) -> str:
    return "false" if "false" in conditions else emission.builder.all_of(conditions)


def _steps_are_multiples(pointers: Expression, size: int) -> bool:
    """Whether the pointers of a tile are apart by multiples of some bytes, so that all are aligned if one is."""
    while not isinstance(pointers, Splat):
        if isinstance(pointers, Mapped):
            pointers = pointers.source
            continue
        assert isinstance(pointers, Applied)
        operation = pointers.operation
        if operation.declaration is OFFSET:
            if memory_bytes(pointee_of(operation.results[0])) % size:
                return False
        pointers = pointers.arguments[0]
    return True


def _limit(emission: Emission, words: str, start: str, size: int, access: int) -> str:
    """How far from the start elements may begin; 0 where each must be looked at."""
    builder = emission.builder
    length = builder.emit(f"sub i64 {builder.word(words, END)}, {start}")
    places = builder.emit(f"sub i64 {length}, {size - 1}")
    places = builder.call("i64", "llvm.smax.i64", [f"i64 {places}", "i64 0"])
    simple = builder.emit(f"icmp eq i64 {builder.word(words, SHADOW)}, 0")
    if access & WRITES:
        writable = builder.emit(f"icmp sgt i64 {builder.word(words, WRITABLE)}, 0")
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
        spread = [builder.splat(index_register(number), width) for number in (start, limit)]
        moved = builder.emit(f"sub {addresses.typed}, {spread[0].name}")
        good = builder.value(f"icmp ult {addresses.type} {moved}, {spread[1].name}", BOOL, width)
        if size > 1:
            bits = builder.splat(index_register(size - 1), width)
            low = builder.emit(f"and {addresses.typed}, {bits.name}")
            zero = "zeroinitializer" if width else "0"
            even = builder.emit(f"icmp eq {addresses.type} {low}, {zero}")
            good = builder.value(f"and {good.typed}, {even}", BOOL, width)
        if len(registers) > 1:
            mask = builder.splat(registers[1], width)
            masked = builder.emit(f"xor {mask.typed}, {'splat (i1 true)' if width else 'true'}")
            good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
        go_on_if_all(emission, good, doubt)
    nest.close()


def go_on_if_all(emission: Emission, good: Register, doubt: str) -> None:
    """Go on if a condition holds in all lanes, else to a label."""
    builder = emission.builder
    name = good.name
    if good.width:
        bits = builder.emit(f"bitcast {good.typed} to i{good.width}")
        name = builder.emit(f"icmp eq i{good.width} {bits}, -1")
    builder.go_on(name, doubt, likely=True)


def _keep_sources(emission: Emission, statement: Inspect) -> tuple[str, str]:
    """Addresses and mask of an access in scratch memory."""
    lanes = max(emission.target.vector_bytes // 8, 1)
    nest = NestEmission(emission, statement.shape, lanes, False)
    for source, copy in zip(statement.sources, statement.copies, strict=True):
        nest.keep(source, copy, None, source.shape)
    nest.close()
    places = [emission.buffer(copy) for copy in statement.copies]
    return places[0], places[1] if len(places) > 1 else "null"


def _report_unless(emission: Emission, statement: Inspect, well: str, site: int, values: list[str]) -> None:
    """Hand an access to Python unless all is well."""
    assert statement.guard is not None
    given = [f"ptr {emission.buffer(statement.guard)}", *values]
    emission.builder.branch(well, None, lambda: inspection.call(emission, site, given))


def _note(emission: Emission, statement: Inspect, fine: str, whole: str = "", unmasked: bool = False) -> None:
    assert statement.guard is not None
    emission.guards[statement.operation] = Guard(statement.guard, fine, whole, unmasked)


# --- views ---


def _emit_view(emission: Emission, statement: Inspect) -> None:
    builder = emission.builder
    operation = statement.operation
    site = inspection.new_site(emission, "view", operation)
    box = accesses.open_box(emission, operation)
    view, tensor = box.view, box.view.tensor
    size = memory_bytes(tensor.element)
    access = access_kind(operation)
    indices = _indices(emission, operation, view)
    words = inspection.find(emission, tensor.address)
    addresses, mask = (emission.buffer(copy) for copy in statement.copies)
    numbers = [tensor.address, *tensor.extents, *tensor.strides, *indices]
    values = [*[str(number) for number in numbers], f"ptr {addresses}", f"ptr {mask}"]

    def look_at_each(access: int) -> str:
        _keep_elements(emission, statement, box)
        count = statement.copies[0].count
        return inspection.elements(emission, words, addresses, mask, count, size, access, "null")

    if view.sparse >= 0:
        well = look_at_each(access | (STRICT if promised_dimensions(operation) else 0))
        _report_unless(emission, statement, well, site, values)
        _note(emission, statement, well)
        return
    # What the program says of the index, and where the box lies in memory.
    kept, inside = _look_at_box(emission, box, words, size, access)

    def unusual() -> list[str]:
        (well,) = builder.branch(kept, lambda: [f"i1 {look_at_each(access)}"], lambda: ["i1 false"])
        _report_unless(emission, statement, well, site, values)
        return [f"i1 {well}"]

    (fine,) = builder.branch(inside, lambda: ["i1 true"], unusual, likely=True)
    _note(emission, statement, fine)


def _indices(emission: Emission, operation: Operation, view: TileView) -> list[Number]:
    """The index of an access as the program gives it."""
    found: list[Number] = []
    for axis, value in enumerate(operation.index):
        found.append(0 if axis == view.sparse else emission.whole(value, signed=view.sparse >= 0))
    return found


def _wide(emission: Emission, number: Number) -> str:
    """A number that is not negative, wide enough for sums and products."""
    if isinstance(number, int):
        return str(number)
    return emission.builder.emit(f"zext i64 {number} to i128")


def _look_at_box(emission: Emission, box: Box, words: str, size: int, access: int) -> tuple[str, str]:
    """Two conditions: the index is one the program may use, and it is and the box lies in memory."""
    builder = emission.builder
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
    begin, end = (_wide(emission, builder.word(safe, word)) for word in (START, END))
    inside = builder.emit(f"icmp ule i128 {begin}, {first}")
    before_end = builder.emit(f"icmp ule i128 {behind}, {end}")
    low = builder.emit(f"and i128 {first}, {size - 1}")
    even = builder.emit(f"icmp eq i128 {low}, 0")
    simple = builder.emit(f"icmp eq i64 {builder.word(safe, SHADOW)}, 0")
    conditions = [inside, before_end, even, simple]
    if access & WRITES:
        conditions.append(builder.emit(f"icmp sgt i64 {builder.word(safe, WRITABLE)}, 0"))
    return kept, builder.all_of([kept, *conditions])


def _keep_elements(emission: Emission, statement: Inspect, box: Box) -> None:
    """The address of each element of a tile, and whether it lies in the tensor, in scratch memory."""
    nest = NestEmission(emission, statement.shape, 0, True)
    address, mask = accesses.element_address(nest, box, statement.sources, nest.index)
    chosen = mask if mask is not None else Register("true", BOOL)
    for register, copy in zip((address, chosen), statement.copies, strict=True):
        terms = row_major_terms(nest.index, statement.shape, copy.dtype.itemsize)
        nest.store(emission.buffer(copy), terms, register, emission.arena_suffix)
    nest.close()


def address_of(emission: Emission, operation: Operation) -> str:
    """The address of the view that an operation takes."""
    view = emission.views[operation.operands[0]]
    return view.address if isinstance(view, TensorView) else view.tensor.address
