"""How each statement of the loop IR is emitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from tileir.dialect.ops import PACK
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.codegen import atomics, bounds, nontemporal, pointer_access, reductions, scalars, view_access
from tileir.execute.cpu.codegen.context import Emission, Emitters, TileView
from tileir.execute.cpu.codegen.edge_versions import emit_versioned, lanes_abreast, versions
from tileir.execute.cpu.codegen.exits import note_alloca, require
from tileir.execute.cpu.codegen.loop_nest import NestEmitter, RowPart, row_major_terms
from tileir.execute.cpu.ir import statements as st
from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.ir.expressions import BufferRead, PointerLoad, ViewLoad
from tileir.execute.cpu.matmul.k_loop import emit_matmul
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import UINT64, to_storage
from tileir.execute.cpu.vector.casting import cast as cast_to
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.interpreter.views import multimem_kernel
from tileir.ir.types import I1, I4


def emit_nest(emission: Emission, statement: st.LoopNest) -> None:
    if statement in emission.done:
        emission.builder.branch(emission.done[statement], None, lambda: _emit_nest(emission, statement))
    else:
        _emit_nest(emission, statement)


def _emit_nest(emission: Emission, statement: st.LoopNest) -> None:
    roots, stores = statement.roots, statement.stores
    lanes = lanes_abreast(emission, roots, stores)
    # Positions of gather views are evaluated at an index of their own.
    listed = [store.positions for store in stores if isinstance(store, st.StoreView)]
    listed += [other for store in stores if isinstance(store, st.AtomicUpdate) for other in store.others]

    def emit(masked: bool, row_part: RowPart | None = None) -> None:
        nest = NestEmitter(emission, statement.shape, lanes, masked, row_part)
        # Everything is computed before anything is written.
        for root in roots:
            if root not in listed:
                nest.value(root)
        for store in stores:
            with emission.working_for(st.operation_of(store)):
                _emit_store(emission, nest, store)
        nest.close()

    def emit_version(masked: bool) -> None:
        store = emission.program.nontemporal.get(statement)
        if masked or store is None:
            emit(masked)
        else:
            nontemporal.emit_row_parts(emission, store, lanes, lambda part: emit(False, part))

    versions(emission, roots, stores, emit_version, statement)
    for store in stores:
        if isinstance(store, st.StoreScalar):
            emission.take(store.value)
        elif isinstance(store, st.AtomicUpdate) and store.pointers is not None:
            result = store.operation.results[0]
            if isinstance(result.type, TileType) and result.type.count == 1:
                emission.take(result)


def _emit_store(emission: Emission, nest: NestEmitter, store: st.Store) -> None:
    if isinstance(store, st.CombineBuffer):
        _combine(nest, store)
    elif isinstance(store, st.StoreBuffer):
        nest.keep(store.expression, store.buffer, store.window)
    elif isinstance(store, st.StoreView):
        view_access.store_view(nest, store)
    elif isinstance(store, st.StorePointers):
        pointer_access.store_pointers(nest, store)
    elif isinstance(store, st.StoreScalar):
        register = nest.value(store.expression)
        with nest.at_level(nest.depth):
            emission.put(store.value, cast_to(emission.builder, register, dtype_of(store.value)))
    elif isinstance(store, st.AssertAll):
        _emit_assert(emission, nest, store)
    else:
        assert isinstance(store, st.AtomicUpdate)
        atomics.emit_update(emission, nest, store)


def _emit_assert(emission: Emission, nest: NestEmitter, store: st.AssertAll) -> None:
    register = nest.value(store.expression)
    builder, width = emission.builder, register.width
    element, _ = nest.sum_of(row_major_terms(nest.index, nest.shape))
    with nest.at_level(nest.depth):
        check = Check("assert", store.operation)
        if not width:
            require(emission, register.name, check, element)
            return
        bits = builder.emit(f"bitcast {register.typed} to i{width}")
        wrong = builder.emit(f"xor i{width} {bits}, -1")
        good = builder.emit(f"icmp eq i{width} {wrong}, 0")
        first = builder.call(f"i{width}", f"llvm.cttz.i{width}", [f"i{width} {wrong}", "i1 false"])
        wide = builder.emit(f"zext i{width} {first} to i64") if width < 64 else first
        require(emission, good, check, builder.add(element, wide))


def emit_device_loop(emission: Emission, statement: st.DeviceLoop) -> None:
    """Go through the launch's table of multicast addresses, which has three words for each device of each: where they
    begin, where they end, and how far the array of the device is from there."""
    operation, builder, frame = statement.operation, emission.builder, emission.frame
    view = emission.views[operation.view]
    assert isinstance(view, TileView)
    tensor, type = view.tensor, view.type
    slot = emission.layout.multicasts
    table, count = builder.pointer(frame.record_slot(slot)), frame.record_slot(slot + 1)

    def row(number: str, values: list[str]) -> list[str]:
        (found,) = values
        words = builder.moved(table, builder.multiply(number, 8 * slots.REGION_WORDS))
        start, end, distance = (builder.word(words, word) for word in range(slots.REGION_WORDS))
        begun = builder.emit(f"icmp uge i64 {tensor.address}, {start}")
        here = builder.all_of([begun, builder.emit(f"icmp ult i64 {tensor.address}, {end}")])

        def access() -> list[str]:
            own = replace(tensor, address=str(builder.add(tensor.address, distance)))
            bounds.check_memory(emission, own)
            emission.views[operation.view] = TileView(own, type)
            if statement.rest is statement.first:
                emission.statements([statement.first])
            else:
                is_first = builder.emit(f"icmp eq i64 {found}, 0")
                first, rest = statement.first, statement.rest
                builder.branch(is_first, lambda: emission.statements([first]), lambda: emission.statements([rest]))
            emission.views[operation.view] = view
            return [f"i64 {builder.add(found, 1)}"]

        return builder.branch(here, access, lambda: [f"i64 {found}"])

    (found,) = builder.each(count, row, [0])
    is_multicast = builder.emit(f"icmp ne i64 {found}, 0")
    require(emission, is_multicast, Check("multicast", operation), 0, tensor.address)


def _combine(nest: NestEmitter, store: st.CombineBuffer) -> None:
    """Combine the elements of a device with those of the devices before."""
    builder, buffer, source = nest.builder, store.buffer, store.expression
    before, value = nest.value(store.before), nest.value(source)
    kernel = multimem_kernel(store.operation.reduction, source.element, True)
    with nest.at_level(nest.depth):
        combined = trace(builder, kernel, [before, cast_to(builder, value, buffer.dtype)])
    terms = row_major_terms(nest.index_for(source), source.shape, buffer.dtype.itemsize)
    nest.store(nest.emission.buffer(buffer), terms, combined, nest.emission.scratch_suffix)


def emit_alloca(emission: Emission, statement: st.Alloca) -> None:
    operation, builder = statement.operation, emission.builder
    alignment = operation.alignment
    if statement.refused is not None:
        require(emission, "false", statement.refused)
    pointer = emission.buffer(statement.buffer)
    address = builder.address(pointer)
    size = statement.buffer.count
    if alignment > 64 and statement.refused is None:
        more = builder.emit(f"add i64 {address}, {alignment - 1}")
        address = builder.emit(f"and i64 {more}, {-alignment}")
        pointer = builder.pointer(address)
        size -= alignment - 64
    builder.fill(pointer, 0, size)
    emission.scalars[operation.results[0]] = Register(address, UINT64)
    shadow = emission.buffer(statement.shadow) if statement.shadow is not None else ""
    if shadow or not emission.sanitize:
        note_alloca(emission, operation, address, shadow)


def emit_print(emission: Emission, statement: st.Print) -> None:
    builder, operation = emission.builder, statement.operation
    values = operation.args
    emission.prints.append(operation)
    table = emission.frame.stack("ptr", max(len(values), 1), 8)
    for number, (value, source) in enumerate(zip(values, statement.sources, strict=True)):
        if source is not None:
            pointer = emission.buffer(source.buffer)
        else:
            register = to_storage(builder, emission.scalars[value])
            pointer = emission.frame.stack(register.type, 1, 8)
            builder.do(f"store {register.typed}, ptr {pointer}, align 8")
        slot = builder.emit(f"getelementptr ptr, ptr {table}, i64 {number}")
        builder.do(f"store ptr {pointer}, ptr {slot}, align 8")
    function = builder.pointer(emission.frame.record_slot(slots.CALLBACK))
    builder.do(f"call void {function}(i64 {len(emission.prints) - 1}, i64 {emission.block_number}, ptr {table})")


def emit_inspect(emission: Emission, statement: st.Inspect) -> None:
    # Imported only under the sanitizer.
    from tileir.execute.cpu.sanitizer import emitted_checks

    emitted_checks.emit_inspect(emission, statement)


def emit_repack(emission: Emission, statement: st.Repack) -> None:
    """`pack` and `unpack` of elements narrower than a byte; all others are the same bytes under another type."""
    operation, builder = statement.operation, emission.builder
    packing = operation.declaration is PACK
    narrow = cast(TileType, (operation.operands[0] if packing else operation.results[0]).type)
    assert isinstance(statement.source, BufferRead)
    source, target = emission.buffer(statement.source.buffer), emission.buffer(statement.buffer)
    suffix = f", align 1{emission.scratch_suffix}"
    width = 1 if narrow.element is I1 else 4
    count = 8 // width
    wide, bits = f"<{count} x i8>", f"<{count} x i{width}>"

    def pack(position: Number) -> None:
        where = builder.moved(source, builder.multiply(position, count))
        narrowed = builder.emit(f"trunc {wide} {builder.emit(f'load {wide}, ptr {where}{suffix}')} to {bits}")
        byte = builder.emit(f"bitcast {bits} {narrowed} to i8")
        builder.do(f"store i8 {byte}, ptr {builder.moved(target, position)}{suffix}")

    def unpack(position: Number) -> None:
        byte = builder.emit(f"load i8, ptr {builder.moved(source, position)}{suffix}")
        split = builder.emit(f"bitcast i8 {byte} to {bits}")
        widened = builder.emit(f"{'sext' if narrow.element is I4 else 'zext'} {bits} {split} to {wide}")
        where = builder.moved(target, builder.multiply(position, count))
        builder.do(f"store {wide} {widened}, ptr {where}{suffix}")

    builder.count(0, max(narrow.count // count, 1), 1, pack if packing else unpack)


EMITTERS: Final[Emitters] = {
    st.Alias: scalars.emit_alias,
    st.Alloca: emit_alloca,
    st.Branch: scalars.emit_branch,
    st.DeviceLoop: emit_device_loop,
    st.Inspect: emit_inspect,
    st.LoopNest: emit_nest,
    st.LoopStatement: scalars.emit_loop,
    st.Matmul: emit_matmul,
    st.Print: emit_print,
    st.Reduce: reductions.emit_reduce,
    st.Repack: emit_repack,
    st.ScalarOp: scalars.emit_scalar_op,
    st.Terminator: scalars.emit_terminator,
    st.VersionedLoopNest: emit_versioned,
    ViewLoad: view_access.load_view,
    PointerLoad: pointer_access.load_pointers,
}
