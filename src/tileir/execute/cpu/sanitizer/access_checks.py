"""Checks of accesses before they happen.

Each check has a fast way, which proves that all is well or leaves a doubt: a few instructions for a whole tile, where
its least and its greatest address are known (`value_ranges`) or it is one of a view; else for a vector of pointers.  In
doubt the addresses go to scratch memory and are checked one by one (`runtime`), and only if that fails too is Python
called (`report`), which reports it and says which elements may be touched.
"""

from __future__ import annotations

from tileir.dialect.ops import OFFSET
from tileir.dialect.types import TileType
from tileir.execute.analysis.pointer_origins import origin_of
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.context import Emission, Guard, TileAccess
from tileir.execute.cpu.codegen.exits import call_inspector, new_site, reserved
from tileir.execute.cpu.codegen.loop_nest import NestEmitter, row_major_terms
from tileir.execute.cpu.codegen.value_ranges import Ranges
from tileir.execute.cpu.ir.expressions import Elementwise, Expression, Mapped, Splat
from tileir.execute.cpu.ir.statements import Inspect
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.sanitizer.runtime import STRICT
from tileir.execute.cpu.sanitizer.sites import (
    ANY_ARRAY,
    END,
    SHADOW,
    START,
    WORDS,
    WRITABLE,
    WRITES,
    Site,
    access_kind,
)
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL
from tileir.execute.cpu.vector.llvm import Register, index_register
from tileir.execute.dtypes import memory_bytes
from tileir.execute.sanitizer.promises import promised_dimensions


def emit_access(emission: Emission, statement: Inspect) -> None:
    """Check what an operation is about to touch."""
    operation = statement.operation
    has_view = "view" in [declared.name for declared in operation.declaration.operands]
    if isinstance(operation.operands[0].type, TileType) and not has_view:
        _emit_pointers(emission, statement)
    else:
        _emit_view(emission, statement)


def _check_elements(
    emission: Emission, array: str, addresses: str, mask: str, count: int, size: int, access: int, last: str = "null"
) -> str:
    """Check addresses one by one; an i1 that says whether all is well."""
    arguments = [
        *_tables(emission), f"ptr {array}", f"ptr {addresses}", f"ptr {mask}", f"i64 {count}", f"i64 {size}",
        f"i64 {access}", f"ptr {last}",
    ]  # fmt: skip
    failed = emission.builder.emit(f"call i64 @inspect.elements({', '.join(arguments)})")
    return emission.builder.emit(f"icmp eq i64 {failed}, 0")


def _tables(emission: Emission) -> list[str]:
    """The tables of memory: that of the launch, and the allocas of the thread."""
    regions = emission.builder.pointer(emission.frame.record_slot(slots.REGIONS))
    count = emission.frame.record_slot(slots.REGIONS + 1)
    return [f"ptr {regions}", f"i64 {count}", f"ptr {reserved(emission)}", f"i64 {len(emission.allocas)}"]


def _report_unless(emission: Emission, statement: Inspect, well: str, site: int, values: list[str]) -> None:
    """Pass an access to Python unless all is well."""
    assert statement.guard is not None
    given = [f"ptr {emission.buffer(statement.guard)}", *values]
    emission.builder.branch(well, None, lambda: call_inspector(emission, site, given))


def _set_guard(emission: Emission, statement: Inspect, fine: str, whole: str = "", unmasked: bool = False) -> None:
    assert statement.guard is not None
    emission.guards[statement.operation] = Guard(statement.guard, fine, whole, unmasked)


# --- pointers ---


def _emit_pointers(emission: Emission, statement: Inspect) -> None:
    builder, operation = emission.builder, statement.operation
    size = memory_bytes(pointee_of(operation.operands[0]))
    access = access_kind(operation)
    origin = origin_of(operation.operands[0])
    site = new_site(emission, Site("pointers", operation, origin))
    if origin:
        # The memory that the pointers of a site must stay in.
        table = builder.pointer(emission.frame.record_slot(emission.layout.inspection + 1))
        last, words = "null", builder.moved(table, 8 * WORDS * site)
    else:
        last = emission.frame.stack("ptr", 1, 8)
        emission.frame.add(f"store ptr @inspect.nothing, ptr {last}, align 8")
        words = builder.emit(f"load ptr, ptr {last}, align 8")
    start = builder.word(words, START)
    limit = _limit(emission, words, start, size, access)
    count = statement.copies[0].count

    def fast(doubt: str) -> list[str]:
        _check_vectors(emission, statement, start, limit, size, doubt)
        return ["i1 true"]

    def slow() -> list[str]:
        addresses, mask = _keep_sources(emission, statement)
        array = "null"
        if origin:
            open_to_all = builder.emit(f"icmp eq i64 {builder.word(words, WRITABLE)}, {ANY_ARRAY}")
            array = builder.emit(f"select i1 {open_to_all}, ptr null, ptr {words}")
        well = _check_elements(emission, array, addresses, mask, count, size, access, last)
        _report_unless(emission, statement, well, site, [str(count), f"ptr {addresses}", f"ptr {mask}"])
        return [f"i1 {well}"]

    proof = _prove_tile(emission, statement, start, limit, size)
    if proof is None:
        (fine,) = builder.attempt(fast, slow)
        _set_guard(emission, statement, fine)
        return
    inside, whole, unmasked = proof

    def each() -> list[str]:
        return [f"i1 {answer}" for answer in builder.attempt(fast, slow)]

    (fine,) = builder.branch(inside, lambda: ["i1 true"], each, likely=True)
    _set_guard(emission, statement, fine, whole, unmasked)


def _prove_tile(
    emission: Emission, statement: Inspect, start: str, limit: str, size: int
) -> tuple[str, str, bool] | None:
    """Two i1s: all pointers of a tile, masked or not, lie in one region of memory; and nothing is masked besides, if
    the last result says that this can be known.  None where nothing is known of the tile as such."""
    pointers, *masks = statement.sources
    ranges = Ranges(emission)
    found = ranges.of(pointers)
    if found is None or not _steps_are_multiples(pointers, size):
        return None
    builder, conditions = emission.builder, ranges.conditions
    ranges.lie_in(found, start, limit)
    if size > 1:
        low = builder.emit(f"and i64 {found.low}, {size - 1}")
        conditions.append(builder.emit(f"icmp eq i64 {low}, 0"))
    inside = _all_of(emission, conditions)
    known = len(conditions)
    unmasked = bool(masks) and ranges.is_true(masks[0])
    return inside, _all_of(emission, [inside, *conditions[known:]]), unmasked


def _all_of(emission: Emission, conditions: list[str]) -> str:
    return "false" if "false" in conditions else emission.builder.all_of(conditions)


def _steps_are_multiples(pointers: Expression, size: int) -> bool:
    """Whether the pointers of a tile are apart by multiples of some bytes, so that all are aligned if one is."""
    while not isinstance(pointers, Splat):
        if isinstance(pointers, Mapped):
            pointers = pointers.source
            continue
        assert isinstance(pointers, Elementwise)
        operation = pointers.operation
        if operation.declaration is OFFSET and memory_bytes(pointee_of(operation.results[0])) % size:
            return False
        pointers = pointers.operands[0]
    return True


def _limit(emission: Emission, words: str, start: str, size: int, access: int) -> str:
    """How far from the start elements may begin; 0 where each must be checked."""
    builder = emission.builder
    length = builder.emit(f"sub i64 {builder.word(words, END)}, {start}")
    places = builder.emit(f"sub i64 {length}, {size - 1}")
    places = builder.call("i64", "llvm.smax.i64", [f"i64 {places}", "i64 0"])
    simple = builder.emit(f"icmp eq i64 {builder.word(words, SHADOW)}, 0")
    if access & WRITES:
        writable = builder.emit(f"icmp sgt i64 {builder.word(words, WRITABLE)}, 0")
        simple = builder.emit(f"and i1 {simple}, {writable}")
    return builder.emit(f"select i1 {simple}, i64 {places}, i64 0")


def _check_vectors(emission: Emission, statement: Inspect, start: str, limit: str, size: int, doubt: str) -> None:
    """All pointers, in vectors, against one region of memory; goes to a label at the first doubt."""
    builder = emission.builder
    nest = _nest(emission, statement)
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
            aligned = builder.emit(f"icmp eq {addresses.type} {low}, {'zeroinitializer' if width else '0'}")
            good = builder.value(f"and {good.typed}, {aligned}", BOOL, width)
        if len(registers) > 1:
            mask = builder.splat(registers[1], width)
            masked = builder.emit(f"xor {mask.typed}, {'splat (i1 true)' if width else 'true'}")
            good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
        go_on_if_all(emission, good, doubt)
    nest.close()


def _nest(emission: Emission, statement: Inspect) -> NestEmitter:
    return NestEmitter(emission, statement.shape, max(emission.target.vector_bytes // 8, 1), False)


def go_on_if_all(emission: Emission, good: Register, doubt: str) -> None:
    """Go on if a condition holds in all lanes, else to a label."""
    builder, name = emission.builder, good.name
    if good.width:
        bits = builder.emit(f"bitcast {good.typed} to i{good.width}")
        name = builder.emit(f"icmp eq i{good.width} {bits}, -1")
    builder.go_on(name, doubt, likely=True)


def _keep_sources(emission: Emission, statement: Inspect) -> tuple[str, str]:
    """Addresses and mask of an access in scratch memory."""
    nest = _nest(emission, statement)
    for source, copy in zip(statement.sources, statement.copies, strict=True):
        nest.keep(source, copy)
    nest.close()
    pointers = [emission.buffer(copy) for copy in statement.copies]
    return pointers[0], pointers[1] if len(pointers) > 1 else "null"


# --- views ---


def _emit_view(emission: Emission, statement: Inspect) -> None:
    builder, operation = emission.builder, statement.operation
    site = new_site(emission, Site("view", operation))
    tile = view_access.tile_access(emission, operation)
    view, tensor = tile.view, tile.view.tensor
    size, access = memory_bytes(tensor.element), access_kind(operation)
    indices: list[Number] = [
        0 if axis == view.sparse else emission.whole(value, signed=view.sparse >= 0)
        for axis, value in enumerate(operation.index)
    ]
    words = builder.emit(f"call ptr @inspect.find({', '.join([*_tables(emission), f'i64 {tensor.address}'])})")
    addresses, mask = (emission.buffer(copy) for copy in statement.copies)
    numbers = [tensor.address, *tensor.extents, *tensor.strides, *indices]
    values = [*[str(number) for number in numbers], f"ptr {addresses}", f"ptr {mask}"]

    def check_each(access: int) -> str:
        _keep_elements(emission, statement, tile)
        return _check_elements(emission, words, addresses, mask, statement.copies[0].count, size, access)

    if view.sparse >= 0:
        well = check_each(access | (STRICT if promised_dimensions(operation) else 0))
        _report_unless(emission, statement, well, site, values)
        _set_guard(emission, statement, well)
        return
    kept, inside = _check_tile(emission, tile, words, size, access)

    def unusual() -> list[str]:
        (well,) = builder.branch(kept, lambda: [f"i1 {check_each(access)}"], lambda: ["i1 false"])
        _report_unless(emission, statement, well, site, values)
        return [f"i1 {well}"]

    (fine,) = builder.branch(inside, lambda: ["i1 true"], unusual, likely=True)
    _set_guard(emission, statement, fine)


def _wide(emission: Emission, number: Number) -> str:
    """A number that is not negative, wide enough for sums and products."""
    return str(number) if isinstance(number, int) else emission.builder.emit(f"zext i64 {number} to i128")


def _check_tile(emission: Emission, tile: TileAccess, words: str, size: int, access: int) -> tuple[str, str]:
    """Two conditions: the index is one the program may use; and besides the tile lies in memory."""
    builder, view = emission.builder, tile.view
    lost = builder.emit(f"icmp eq ptr {words}, null")
    safe = builder.emit(f"select i1 {lost}, ptr @inspect.nothing, ptr {words}")
    promised = promised_dimensions(tile.operation)
    kept = "true"
    first = _wide(emission, view.tensor.address)
    reach = "0"
    for axis, (start, extent, stride) in enumerate(zip(tile.starts, view.extents, view.strides, strict=True)):
        left = builder.emit(f"sub i64 {extent}, {start}")
        count = builder.call("i64", "llvm.umin.i64", [f"i64 {left}", f"i64 {view.shape[axis]}"])
        there = builder.emit(f"icmp ult i64 {start}, {extent}")
        if axis in promised:
            whole = builder.emit(f"icmp eq i64 {count}, {view.shape[axis]}")
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
    conditions = [
        kept, builder.emit(f"icmp ule i128 {begin}, {first}"), builder.emit(f"icmp ule i128 {behind}, {end}"),
        builder.emit(f"icmp eq i128 {builder.emit(f'and i128 {first}, {size - 1}')}, 0"),
        builder.emit(f"icmp eq i64 {builder.word(safe, SHADOW)}, 0"),
    ]  # fmt: skip
    if access & WRITES:
        conditions.append(builder.emit(f"icmp sgt i64 {builder.word(safe, WRITABLE)}, 0"))
    return kept, builder.all_of(conditions)


def _keep_elements(emission: Emission, statement: Inspect, tile: TileAccess) -> None:
    """The address of each element of a tile, and whether it lies in the tensor, in scratch memory."""
    nest = NestEmitter(emission, statement.shape, 0, True)
    address, mask = view_access.element_address(nest, tile, statement.sources, nest.index)
    chosen = mask if mask is not None else Register("true", BOOL)
    for register, copy in zip((address, chosen), statement.copies, strict=True):
        terms = row_major_terms(nest.index, statement.shape, copy.dtype.itemsize)
        nest.store(emission.buffer(copy), terms, register, emission.scratch_suffix)
    nest.close()
