"""Versions of code: without any test where every access of a statement is proven to be inside, and with masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.codegen import bounds, nontemporal, view_access
from tileir.execute.cpu.codegen.atomics import update_lanes
from tileir.execute.cpu.codegen.bounds import prove_in_bounds
from tileir.execute.cpu.codegen.context import Emission, TileView
from tileir.execute.cpu.codegen.pointer_access import is_ordered
from tileir.execute.cpu.ir import statements as st
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, Expression, PointerLoad, ViewLoad, nodes
from tileir.execute.cpu.vector.casting import DOUBLE
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import FUNCTION


def versions(
    emission: Emission,
    roots: list[Expression],
    stores: list[st.Store],
    emit: Callable[[bool], None],
    statement: st.Statement | None = None,
    is_edge: bool = False,
) -> None:
    """Emit code without masks, for tiles within their tensors, and code with masks, which checks accesses first; with
    `is_edge` only the latter, for tiles of views that leave their tensors.  Loads of the statement prefetch."""
    prefetches = emission.program.prefetches.get(statement, {}) if statement is not None else {}
    operations = {node.operation: None for node in nodes(roots) if isinstance(node, ViewLoad)}
    for store in stores:
        if isinstance(store, st.StoreView) or (isinstance(store, st.AtomicUpdate) and store.pointers is None):
            operations[store.operation] = None
    conditions = []
    for operation in operations:
        access = emission.tile_accesses[operation] = view_access.tile_access(emission, operation)
        if operation in prefetches:
            prefetch = prefetches[operation]
            access.prefetch_distance = nontemporal.prefetch_distance(emission, access.view, prefetch)
        conditions.append("false" if is_edge else view_access.is_inside(emission, access))
    if statement is not None:
        nontemporal.prefetch_pointers(emission, roots)
    proven: dict[Operation, bool] = {}
    conditions += _access_conditions(emission, roots, stores, proven)
    # The first of several errors is the one that is reported.
    accesses = [
        emission.tile_accesses[operation] for operation in sorted(operations, key=emission.positions.__getitem__)
    ]

    def version(masked: bool) -> None:
        for access in accesses if masked else []:
            bounds.check_tile(emission, access)
        before, emission.proven = emission.proven, emission.proven if masked else {**emission.proven, **proven}
        emit(masked)
        emission.proven = before

    conditions = [condition for condition in conditions if condition != "true"]
    if not conditions or "false" in conditions:
        version(bool(conditions))
    else:
        emission.builder.branch(emission.builder.all_of(conditions), lambda: version(False), lambda: version(True))


def _access_conditions(
    emission: Emission, roots: list[Expression], stores: list[st.Store], proven: dict[Operation, bool]
) -> list[str]:
    """Whether accesses stay in their arrays: as the sanitizer found, or by their ranges; fills in which do."""
    found: list[str] = []
    for access in (*nodes(roots), *stores):
        if not isinstance(access, (PointerLoad, ViewLoad, st.StorePointers, st.StoreView, st.AtomicUpdate)):
            continue
        operation, guard = access.operation, emission.guards.get(access.operation)
        if guard is not None:
            is_whole = guard.whole and not is_ordered(operation)
            found.append(guard.whole if is_whole else guard.fine)
            if is_whole:
                proven[operation] = guard.unmasked
        elif isinstance(access, (PointerLoad, st.StorePointers)) and not emission.sanitize:
            is_new = operation not in emission.proven and operation not in proven and operation not in emission.unproven
            if is_new and not is_ordered(operation):
                found += prove_in_bounds(emission, access, proven) or []
    return found


def emit_versioned(emission: Emission, statement: st.VersionedLoopNest) -> None:
    """Emit a loop nest at once where its accesses are proven to stay in their arrays, and else in parts."""
    fused = statement.fused
    proven: dict[Operation, bool] = {}
    conditions: list[str] = [] if fused is not None else ["false"]
    for access in statement.accesses:
        if isinstance(access, (PointerLoad, st.StorePointers)):
            more = prove_in_bounds(emission, access, proven)
            conditions += ["false"] if more is None else more
        elif isinstance(access, (ViewLoad, st.StoreView)):
            view = emission.views[access.operation.view]
            assert isinstance(view, TileView)
            conditions.append(view.tensor.in_array)
    if fused is None or "false" in conditions:
        emission.statements(statement.parts)
        return

    def at_once() -> None:
        before, emission.proven = emission.proven, {**emission.proven, **proven}
        emission.statements([fused])
        emission.proven = before

    def in_parts() -> None:
        before, emission.unproven = emission.unproven, emission.unproven | set(proven)
        emission.statements(statement.parts)
        emission.unproven = before

    emission.builder.branch(emission.builder.all_of(conditions), at_once, in_parts)


_FEW_FUNCTIONS: Final = 2
"""With more in a loop nest, these go side by side already, and two of each take LLVM longer than they are worth."""
_MANY_FUNCTIONS: Final = 8  # With more in a kernel, LLVM has enough to do.


def lanes_of(emission: Emission, roots: list[Expression], stores: list[st.Store]) -> int:
    """The lanes of a loop nest: those of its widest element in memory, or of four bytes; 0 for one by one."""
    found = list(nodes(roots))
    scattered = [each for each in (*found, *stores) if isinstance(each, (PointerLoad, st.StorePointers))]
    if any(is_ordered(each.operation) for each in scattered):
        return 0
    if any(isinstance(store, st.AtomicUpdate) for store in stores):
        return update_lanes(emission, stores)
    dtypes = [node.dtype for node in found if isinstance(node, (ViewLoad, PointerLoad, BufferRead))]
    dtypes += [store.expression.dtype for store in stores]
    vector_bytes = emission.target.vector_bytes
    lanes = vector_bytes // max([4, *[dtype.itemsize for dtype in dtypes]])
    # Pointers are checked once for all lanes, which costs as much as a short vector of them.
    return 2 * lanes if scattered and stores and vector_bytes == 16 else lanes


def _is_function(declaration: OperationDeclaration) -> bool:
    """Whether a vector takes many steps that wait for each other; functions of two tiles have enough that do not."""
    return declaration.cost.work == FUNCTION and len(declaration.operands) == 1


def lanes_abreast(emission: Emission, roots: list[Expression], stores: list[st.Store]) -> int:
    """The lanes of a loop nest; functions take two vectors to hide latency; four compile half as long again."""
    lanes = lanes_of(emission, roots, stores)
    found = list(nodes(roots))
    functions = [node for node in found if isinstance(node, Elementwise) and _is_function(node.operation.declaration)]
    if not 1 <= len(functions) <= _FEW_FUNCTIONS:
        return lanes
    # A machine computes one division at a time.
    if not emission.module.fast and all(node.operation.declaration.cost.divides for node in functions):
        return lanes
    if emission.function_count < 0:
        emission.function_count = sum([_is_function(each.declaration) for each in emission.program.entry.walk()])
    is_scattered = any(isinstance(each, (PointerLoad, st.StorePointers)) for each in (*found, *stores))
    if emission.function_count > _MANY_FUNCTIONS or is_scattered or emission.sanitize:
        return lanes
    return lanes if any(node.dtype == DOUBLE for node in found) else 2 * lanes
