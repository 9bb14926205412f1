"""The code of checks: of accesses before they happen, and of the operands of operations.

A fast check proves that all is well in a few instructions for a whole tile of a view, or of pointers whose least and
greatest address are known (`affine_tiles`).  In doubt the addresses go to scratch memory and are checked one by one
(`sites`).  If that fails too, the code calls Python (`report`), which decides which elements may be touched.

The rules about integers are those of `tileir.execute.sanitizer.integer_checks`, traced.  Promises (`assume`) are a
comparison each; those about groups of elements are left to Python.
"""

from __future__ import annotations

import numpy

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.ops import ASSUME, ASSUME_COND
from tileir.dialect.types import TileType
from tileir.execute.analysis.pointer_origins import origin_of
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.affine_tiles import AffineReader
from tileir.execute.cpu.codegen.bounds import span_bytes, wide
from tileir.execute.cpu.codegen.context import Emission, Guard, TensorView, TileAccess
from tileir.execute.cpu.codegen.edge_versions import lanes_of
from tileir.execute.cpu.codegen.exits import call_inspector, new_site, reserved
from tileir.execute.cpu.codegen.loop_nest import NestEmitter, row_major_terms
from tileir.execute.cpu.ir.expressions import BufferRead
from tileir.execute.cpu.ir.statements import Inspect
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.sanitizer import sites
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.execute.dtypes import memory_bytes
from tileir.execute.sanitizer.integer_checks import number_checks
from tileir.execute.sanitizer.promises import is_about_groups, promised_dimensions
from tileir.ir.core import Operation


def emit_inspect(emission: Emission, statement: Inspect) -> None:
    operation, guard = statement.operation, statement.guard
    if guard is None:
        _emit_values(emission, statement)
    elif isinstance(operation.operands[0].type, TileType) and "view" not in _operand_names(operation):
        emission.guards[operation] = _emit_pointers(emission, statement)
    else:
        emission.guards[operation] = Guard(guard, _emit_view(emission, statement))


def _operand_names(operation: Operation) -> list[str]:
    return [declared.name for declared in operation.declaration.operands]


def _check_elements(emission: Emission, statement: Inspect, array: str, size: int, access: int) -> str:
    """Check the addresses in the copies one by one; an i1: all is well."""
    addresses, *masks = [f"ptr {emission.buffer(copy)}" for copy in statement.copies]
    operands = [addresses, masks[0] if masks else "ptr null", f"i64 {statement.copies[0].count}"]
    arguments = [*_tables(emission), f"ptr {array}", *operands, f"i64 {size}", f"i64 {access}"]
    return emission.builder.emit(f"call i1 @inspect.elements({', '.join(arguments)})")


def _tables(emission: Emission) -> list[str]:
    """The tables of memory: that of the launch, and the allocas of the thread."""
    regions = emission.builder.pointer(emission.frame.record_slot(slots.REGIONS))
    count = emission.frame.record_slot(slots.REGIONS + 1)
    return [f"ptr {regions}", f"i64 {count}", f"ptr {reserved(emission)}", f"i64 {len(emission.allocas)}"]


def _report_unless(emission: Emission, statement: Inspect, well: str, site: int, values: list[str]) -> str:
    """Pass an access to Python unless all is well; returns that."""
    assert statement.guard is not None
    given = [f"ptr {emission.buffer(statement.guard)}", *values]
    emission.builder.branch(well, None, lambda: call_inspector(emission, site, given))
    return well


def _emit_pointers(emission: Emission, statement: Inspect) -> Guard:
    builder, operation = emission.builder, statement.operation
    assert statement.guard is not None
    size = memory_bytes(pointee_of(operation.operands[0]))
    access = sites.access_kind(operation)
    origin = origin_of(operation.operands[0])
    site = new_site(emission, sites.Site("pointers", operation, origin))

    def check_each(array: str) -> str:
        nest = NestEmitter(emission, statement.shape, max(emission.target.vector_bytes // 8, 1), False)
        for source, copy in zip(statement.sources, statement.copies, strict=True):
            nest.keep(source, copy)
        nest.close()
        well = _check_elements(emission, statement, array, size, access)
        addresses, *masks = [f"ptr {emission.buffer(copy)}" for copy in statement.copies]
        values = [str(statement.copies[0].count), addresses, masks[0] if masks else "ptr null"]
        return _report_unless(emission, statement, well, site, values)

    if not origin:
        return Guard(statement.guard, check_each("null"))
    # The memory that the pointers of a site must stay in.
    table = builder.pointer(emission.frame.record_slot(emission.layout.inspection + 1))
    words = builder.moved(table, 8 * sites.WORDS * site)

    def in_array() -> list[str]:
        open_to_all = builder.emit(f"icmp eq i64 {builder.word(words, sites.WRITABLE)}, {sites.ANY_ARRAY}")
        return [f"i1 {check_each(builder.emit(f'select i1 {open_to_all}, ptr null, ptr {words}'))}"]

    inside, whole, unmasked = _prove_tile(emission, statement, words, size, access)
    (fine,) = builder.branch(inside, lambda: ["i1 true"], in_array, likely=True)
    return Guard(statement.guard, fine, whole, unmasked)


def _prove_tile(emission: Emission, statement: Inspect, words: str, size: int, access: int) -> tuple[str, str, bool]:
    """Two i1s: all pointers of a tile, masked or not, lie in one region of memory; and, if the last result is True, the
    mask is true everywhere besides.  The second is empty for a tile that is not affine."""
    pointers, *masks = statement.sources
    reader = AffineReader(emission)
    found = reader.of(pointers)
    if found is None:
        return "false", "", False
    builder, conditions = emission.builder, reader.conditions
    start = builder.word(words, sites.START)
    length = builder.emit(f"sub i64 {builder.word(words, sites.END)}, {start}")
    reader.lie_in(reader.ends_of(found, pointers.shape), start, builder.remaining(length, size - 1))
    conditions.append(builder.emit(f"icmp eq i64 {builder.word(words, sites.SHADOW)}, 0"))
    if access & sites.WRITES:
        conditions.append(builder.emit(f"icmp sgt i64 {builder.word(words, sites.WRITABLE)}, 0"))
    for number in (found.first, *found.steps):
        # All are aligned.
        rest = number % size if isinstance(number, int) else builder.emit(f"and i64 {number}, {size - 1}")
        reader.need("eq", rest, 0)
    inside = builder.all_of(conditions)
    known = len(conditions)
    unmasked = bool(masks) and reader.is_true(masks[0])
    return inside, builder.all_of([inside, *conditions[known:]]), unmasked


def _emit_view(emission: Emission, statement: Inspect) -> str:
    """Check an access through a view; an i1: all is well."""
    builder, operation = emission.builder, statement.operation
    site = new_site(emission, sites.Site("view", operation))
    tile = view_access.tile_access(emission, operation)
    view, tensor = tile.view, tile.view.tensor
    size, access = memory_bytes(tensor.element), sites.access_kind(operation)
    indices: list[Number] = [
        0 if axis == view.sparse else emission.whole(value, signed=view.sparse >= 0)
        for axis, value in enumerate(operation.index)
    ]
    words = builder.emit(f"call ptr @inspect.find({', '.join([*_tables(emission), f'i64 {tensor.address}'])})")
    numbers = [tensor.address, *tensor.extents, *tensor.strides, *indices]
    values = [*[str(number) for number in numbers], *[f"ptr {emission.buffer(copy)}" for copy in statement.copies]]

    def check_each(access: int) -> str:
        """The address of each element, and whether it lies in the tensor, go to scratch memory."""
        nest = NestEmitter(emission, statement.shape, 0, True)
        address, mask = view_access.element_address(nest, tile, statement.sources, nest.index)
        chosen = mask if mask is not None else Register("true", BOOL)
        for register, copy in zip((address, chosen), statement.copies, strict=True):
            terms = row_major_terms(nest.index, statement.shape, copy.dtype.itemsize)
            nest.store(emission.buffer(copy), terms, register, emission.scratch_suffix)
        nest.close()
        return _check_elements(emission, statement, words, size, access)

    if view.sparse >= 0:
        well = check_each(access | (sites.STRICT if promised_dimensions(operation) else 0))
        return _report_unless(emission, statement, well, site, values)
    kept, inside = _check_tile(emission, tile, words, size, access)

    def unusual() -> list[str]:
        (well,) = builder.branch(kept, lambda: [f"i1 {check_each(access)}"], lambda: ["i1 false"])
        return [f"i1 {_report_unless(emission, statement, well, site, values)}"]

    return builder.branch(inside, lambda: ["i1 true"], unusual, likely=True)[0]


def _check_tile(emission: Emission, tile: TileAccess, words: str, size: int, access: int) -> tuple[str, str]:
    """Two conditions: the index is one the program may use; and besides the tile lies in memory."""
    builder, view = emission.builder, tile.view
    lost = builder.emit(f"icmp eq ptr {words}, null")
    safe = builder.emit(f"select i1 {lost}, ptr @inspect.nothing, ptr {words}")
    promised = promised_dimensions(tile.operation)
    kept = "true"
    counts: list[Number] = []
    first = wide(builder, view.tensor.address)
    for axis, (start, extent, stride) in enumerate(zip(tile.starts, view.extents, view.strides, strict=True)):
        left = builder.emit(f"sub i64 {extent}, {start}")
        counts.append(builder.smaller(left, view.shape[axis]))
        there = builder.emit(f"icmp ult i64 {start}, {extent}")
        if axis in promised:
            whole = builder.emit(f"icmp eq i64 {counts[-1]}, {view.shape[axis]}")
            there = builder.emit(f"and i1 {there}, {whole}")
        kept = builder.emit(f"and i1 {kept}, {there}")
        distance = builder.emit(f"mul i128 {wide(builder, stride)}, {size}")
        moved = builder.emit(f"mul i128 {wide(builder, start)}, {distance}")
        first = builder.emit(f"add i128 {first}, {moved}")
    behind = builder.emit(f"add i128 {first}, {span_bytes(emission, counts, view.strides, size)}")
    begin, end = (wide(builder, builder.word(safe, word)) for word in (sites.START, sites.END))
    conditions = [
        kept, builder.emit(f"icmp ule i128 {begin}, {first}"), builder.emit(f"icmp ule i128 {behind}, {end}"),
        builder.emit(f"icmp eq i128 {builder.emit(f'and i128 {first}, {size - 1}')}, 0"),
        builder.emit(f"icmp eq i64 {builder.word(safe, sites.SHADOW)}, 0"),
    ]  # fmt: skip
    if access & sites.WRITES:
        conditions.append(builder.emit(f"icmp sgt i64 {builder.word(safe, sites.WRITABLE)}, 0"))
    return kept, builder.all_of(conditions)


def _emit_values(emission: Emission, statement: Inspect) -> None:
    operation, sources = statement.operation, statement.sources
    site = new_site(emission, sites.Site("numbers", operation))
    if not sources:
        _emit_address(emission, operation, site)
        return

    def check(doubt: str) -> None:
        nest = NestEmitter(emission, statement.shape, lanes_of(emission, sources, []), False)
        registers = [nest.value(source) for source in sources]
        with nest.at_level(nest.depth):
            _go_on_if_all(emission, _good(emission, operation, registers), doubt)
        nest.close()

    def report() -> None:
        nest = NestEmitter(emission, statement.shape, lanes_of(emission, sources, []), False)
        for source, copy in zip(sources, statement.copies, strict=True):
            if not (isinstance(source, BufferRead) and source.buffer is copy):
                nest.keep(source, copy)
        nest.close()
        pointers = [f"ptr {emission.buffer(copy)}" for copy in statement.copies]
        call_inspector(emission, site, [str(statement.copies[0].count), *pointers])

    if is_about_groups(operation):
        report()
    else:
        emission.builder.attempt(check, report)


def _go_on_if_all(emission: Emission, good: Register, doubt: str) -> None:
    """Go on if a condition holds in all lanes, else to a label."""
    builder, name = emission.builder, good.name
    if good.width:
        bits = builder.emit(f"bitcast {good.typed} to i{good.width}")
        name = builder.emit(f"icmp eq i{good.width} {bits}, -1")
    builder.go_on(name, doubt, likely=True)


def _emit_address(emission: Emission, operation: Operation, site: int) -> None:
    predicate = operation.attributes.get("predicate")
    if not isinstance(predicate, DivByAttribute):
        return
    builder = emission.builder
    view = emission.views[operation.operands[0]]
    address = view.address if isinstance(view, TensorView) else view.tensor.address
    low = builder.emit(f"and i64 {address}, {predicate.divisor - 1}")
    good = builder.emit(f"icmp eq i64 {low}, 0")
    builder.branch(good, None, lambda: call_inspector(emission, site, ["0", address]), likely=True)


def inspect_scalars(emission: Emission, operation: Operation, operands: list[Register]) -> None:
    """Check the scalars that an operation takes; vectors in the body of a reduction."""
    if not number_checks(operation):
        return
    builder = emission.builder
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    site = new_site(emission, sites.Site("numbers", operation))

    def report() -> None:
        pointers = []
        for number, operand in enumerate(operands):
            # Enough for an operand of any type.
            pointer = emission.frame.stack("i8", 512, 64, f"inspect.operand{number}")
            builder.do(f"store {casting.to_storage(builder, operand).typed}, ptr {pointer}, align 64")
            pointers.append(f"ptr {pointer}")
        call_inspector(emission, site, [str(max(width, 1)), *pointers])

    builder.attempt(lambda doubt: _go_on_if_all(emission, _good(emission, operation, operands), doubt), report)


def _good(emission: Emission, operation: Operation, operands: list[Register]) -> Register:
    """Whether an operation may take these operands, in each lane."""
    builder = emission.builder
    if operation.declaration is ASSUME_COND:
        return operands[0]
    if operation.declaration is ASSUME:
        return _promise(emission, operation, operands[0])
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    wrong = casting.constant(False, operands[0], BOOL)
    for check in number_checks(operation):
        with numpy.errstate(all="ignore"):
            found = check.wrong(*[Tracer(builder, operand) for operand in operands])
        if found is not None:
            wrong = casting.binary(builder, "or", wrong, found.register)
    return casting.binary(builder, "xor", wrong, casting.constant(True, wrong))


def _promise(emission: Emission, operation: Operation, value: Register) -> Register:
    builder = emission.builder
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, DivByAttribute):
        return _divisible(emission, casting.cast(builder, value, INT64), predicate.divisor)
    good = casting.constant(True, value, BOOL)
    if not isinstance(predicate, BoundedAttribute):
        return good
    number = casting.cast(builder, value, INT64)
    if value.dtype == BOOL:
        # Read as signed, as everywhere.
        number = casting.binary(builder, "sub", casting.constant(0, number), number)
    suffix = "t" if predicate.strict else "e"
    for bound, comparison in ((predicate.lower, f"icmp sg{suffix}"), (predicate.upper, f"icmp sl{suffix}")):
        if bound is not None:
            holds = casting.compare(builder, comparison, number, casting.constant(bound, number))
            good = casting.binary(builder, "and", good, holds)
    return good


def _divisible(emission: Emission, number: Register, divisor: int) -> Register:
    builder = emission.builder
    low = casting.binary(builder, "and", number, casting.constant(divisor - 1, number))
    return casting.compare(builder, "icmp eq", low, casting.constant(0, low))
