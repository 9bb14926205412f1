"""How each statement of the loop form is emitted."""

from __future__ import annotations

from typing import Final

from tileir.dialect.types import TileType
from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.emission import (
    accesses,
    atomics,
    pointers,
    reductions,
    repacking,
    reservations,
    streaming,
)
from tileir.execute.cpu.emission.context import Emission, Emitters
from tileir.execute.cpu.emission.control import emit_branch, emit_repeat, emit_terminator
from tileir.execute.cpu.emission.evaluation import NestEmission
from tileir.execute.cpu.emission.exits import require
from tileir.execute.cpu.emission.nests import Stretch, row_major_terms
from tileir.execute.cpu.emission.scalars import emit_alias, emit_let
from tileir.execute.cpu.emission.versions import emit_versioned, lanes_abreast, versions
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.sinks import (
    CheckAll,
    Sink,
    StoreBuffer,
    StorePointers,
    StoreScalar,
    StoreView,
    Update,
    operation_of,
)
from tileir.execute.cpu.loops.statements import (
    Alias,
    Branch,
    Inspect,
    Let,
    Matmul,
    Nest,
    Print,
    Reduce,
    Repack,
    Repeat,
    Reserve,
    Terminator,
    VersionedNest,
)
from tileir.execute.cpu.matmul.k_loop import emit_matmul
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import UINT64, to_storage
from tileir.execute.cpu.vector.casting import cast as cast_to
from tileir.execute.cpu.vector.llvm import Register


def emit_nest(emission: Emission, statement: Nest) -> None:
    done = emission.done.get(statement)
    if done is None:
        _emit_nest(emission, statement)
    else:
        emission.builder.branch(done, None, lambda: _emit_nest(emission, statement))


def _emit_nest(emission: Emission, statement: Nest) -> None:
    roots = statement.roots
    lanes = lanes_abreast(emission, roots, statement.sinks)
    picks = [sink for sink in statement.sinks if isinstance(sink, StoreScalar)]
    updates = [sink for sink in statement.sinks if isinstance(sink, Update)]

    def emit(masked: bool, stretch: Stretch | None = None) -> None:
        nest = NestEmission(emission, statement.shape, lanes, masked, stretch)
        # Everything is computed before anything is written.
        for root in roots:
            if not any(isinstance(sink, StoreView) and sink.positions is root for sink in statement.sinks):
                if not any(isinstance(sink, Update) and root in sink.others for sink in statement.sinks):
                    nest.value(root)
        for sink in statement.sinks:
            emit_sink(emission, nest, sink)
        nest.close()

    def emit_version(masked: bool) -> None:
        sink = emission.program.streams.get(statement)
        if masked or sink is None:
            emit(masked)
        else:
            streaming.emit_stretches(emission, sink, lanes, lambda stretch: emit(False, stretch))

    versions(emission, roots, statement.sinks, emit_version, statement)
    for pick in picks:
        emission.take(pick.value)
    for update in updates:
        result = update.operation.results[0]
        if update.pointers is not None and isinstance(result.type, TileType) and result.type.count == 1:
            emission.take(result)


def emit_sink(emission: Emission, nest: NestEmission, sink: Sink) -> None:
    if emission.provenance is None:
        _emit_sink(emission, nest, sink)
    else:
        operation = operation_of(sink)
        with emission.provenance.working_for([] if operation is None else [operation]):
            _emit_sink(emission, nest, sink)


def _emit_sink(emission: Emission, nest: NestEmission, sink: Sink) -> None:
    if isinstance(sink, StoreBuffer):
        window = sink.window
        if window is None:
            nest.keep(sink.expression, sink.buffer, None, sink.expression.shape)
            return
        origin: list[Number] = []
        with nest.at_level(0):
            for place, part in zip(window.origins, window.part, strict=True):
                if isinstance(place, int):
                    origin.append(place)
                else:
                    origin.append(emission.builder.multiply(emission.whole(place), part))
        nest.keep(sink.expression, sink.buffer, origin, window.whole)
    elif isinstance(sink, StoreView):
        accesses.store_view(nest, sink)
    elif isinstance(sink, StorePointers):
        pointers.store_pointers(nest, sink)
    elif isinstance(sink, StoreScalar):
        register = nest.value(sink.expression)
        with nest.at_level(nest.depth):
            emission.put(sink.value, cast_to(emission.builder, register, dtype_of(sink.value)))
    elif isinstance(sink, CheckAll):
        _emit_check(emission, nest, sink)
    else:
        assert isinstance(sink, Update)
        atomics.emit_update(emission, nest, sink)


def _emit_check(emission: Emission, nest: NestEmission, sink: CheckAll) -> None:
    register = nest.value(sink.expression)
    builder = emission.builder
    place, _ = nest.sum_of(0, row_major_terms(nest.index, nest.shape))
    with nest.at_level(nest.depth):
        check = Check("assert", sink.operation)
        if not register.width:
            require(emission, register.name, check, place)
            return
        bits = builder.emit(f"bitcast {register.typed} to i{register.width}")
        wrong = builder.emit(f"xor i{register.width} {bits}, -1")
        good = builder.emit(f"icmp eq i{register.width} {wrong}, 0")
        kind = f"i{register.width}"
        first = builder.call(kind, f"llvm.cttz.{kind}", [f"{kind} {wrong}", "i1 false"])
        wide = builder.emit(f"zext i{register.width} {first} to i64") if register.width < 64 else first
        require(emission, good, check, builder.add(place, wide))


def emit_reserve(emission: Emission, statement: Reserve) -> None:
    operation = statement.operation
    builder = emission.builder
    alignment = operation.alignment
    if statement.refused is not None:
        require(emission, "false", statement.refused)
    pointer = emission.buffer(statement.buffer)
    address = builder.address(pointer)
    size = statement.buffer.count
    if alignment > 64 and statement.refused is None:
        more = builder.emit(f"add i64 {address}, {alignment - 1}")
        address = builder.emit(f"and i64 {more}, {-alignment}")
        pointer = builder.emit(f"inttoptr i64 {address} to ptr")
        size -= alignment - 64
    builder.fill(pointer, 0, size)
    emission.scalars[operation.results[0]] = Register(address, UINT64)
    shadow = emission.buffer(statement.shadow) if statement.shadow is not None else ""
    if shadow or not emission.sanitize:
        reservations.note(emission, operation, address, shadow)


def emit_print(emission: Emission, statement: Print) -> None:
    builder = emission.builder
    operation = statement.operation
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
        place = builder.emit(f"getelementptr ptr, ptr {table}, i64 {number}")
        builder.do(f"store ptr {pointer}, ptr {place}, align 8")
    function = builder.pointer(emission.frame.record_slot(slots.CALLBACK))
    builder.do(f"call void {function}(i64 {len(emission.prints) - 1}, i64 {emission.block_number}, ptr {table})")


def emit_inspect(emission: Emission, statement: Inspect) -> None:
    # Only who asks for the sanitizer pays for it.
    from tileir.execute.cpu.emission import inspecting, inspecting_values

    if statement.guard is None:
        inspecting_values.emit_values(emission, statement)
    else:
        inspecting.emit_access(emission, statement)


EMITTERS: Final[Emitters] = {
    VersionedNest: emit_versioned,
    Branch: emit_branch,
    Inspect: emit_inspect,
    Terminator: emit_terminator,
    Let: emit_let,
    Matmul: emit_matmul,
    Nest: emit_nest,
    Print: emit_print,
    Reduce: reductions.emit_reduce,
    Repack: repacking.emit_repack,
    Repeat: emit_repeat,
    Reserve: emit_reserve,
    Alias: emit_alias,
}
