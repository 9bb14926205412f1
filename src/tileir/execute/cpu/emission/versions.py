"""Versions of code: without any test where every access of a statement is seen to be inside, and with masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tileir.execute.cpu.emission import accesses, bounds, streaming
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.neighbouring_atomics import update_lanes
from tileir.execute.cpu.emission.nests import lanes_for
from tileir.execute.cpu.emission.pointer_bounds import judge_pointers
from tileir.execute.cpu.emission.pointers import is_ordered
from tileir.execute.cpu.emission.views import Box, TileView
from tileir.execute.cpu.loops.expressions import Applied, Expression, Gathered, Stored, Viewed, nodes
from tileir.execute.cpu.loops.sinks import Sink, StorePointers, StoreView, Update
from tileir.execute.cpu.loops.statements import Statement, VersionedNest
from tileir.execute.cpu.vector.casting import DOUBLE
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import FUNCTION


def versions(
    emission: Emission,
    roots: list[Expression],
    sinks: list[Sink],
    emit: Callable[[bool], None],
    statement: Statement | None = None,
) -> None:
    """Emit code once for tiles within their tensors and once with masks, where there are views.

    Loads of the statement fetch ahead, if the program says so.
    """
    fetches = emission.program.fetches.get(statement, {}) if statement is not None else {}
    operations = {node.operation: None for node in nodes(roots) if isinstance(node, Viewed)}
    for sink in sinks:
        if isinstance(sink, StoreView) or (isinstance(sink, Update) and sink.pointers is None):
            operations[sink.operation] = None
    answers = []
    for operation in operations:
        box = emission.boxes[operation] = accesses.open_box(emission, operation)
        if operation in fetches:
            box.ahead = streaming.distance_ahead(emission, box.view, fetches[operation])
        answers.append(accesses.is_inside(emission, box))
    if statement is not None:
        streaming.fetch_turns(emission, roots)
    sure: dict[Operation, bool] = {}
    if emission.sanitize:
        answers += _guard_answers(emission, roots, sinks, sure)
    else:
        answers += _pointer_answers(emission, roots, sinks, sure)

    def emit_version(masked: bool) -> None:
        before, emission.sure = emission.sure, emission.sure if masked else {**emission.sure, **sure}
        emit(masked)
        emission.sure = before

    # The first of several mistakes is the one that is reported.
    boxes = sorted([emission.boxes[each] for each in operations], key=lambda box: emission.position(box.operation))
    two_versions(emission, answers, emit_version, boxes)


def over_an_edge(emission: Emission, roots: list[Expression], _sinks: list[Sink], emit: Callable[[bool], None]) -> None:
    """Emit code with masks alone, for tiles of views that are known to leave their tensors."""
    operations = {node.operation: None for node in nodes(roots) if isinstance(node, Viewed)}
    for operation in operations:
        emission.boxes[operation] = accesses.open_box(emission, operation)
    two_versions(emission, ["false"], emit, [emission.boxes[operation] for operation in operations])


def two_versions(
    emission: Emission, answers: list[str], emit: Callable[[bool], None], boxes: Sequence[Box] = ()
) -> None:
    """Emit code without masks, for where all answers are yes, and with masks; that looks at some boxes first."""

    def edge() -> None:
        for box in boxes:
            bounds.look_at_box(emission, box)
        emit(True)

    answers = [answer for answer in answers if answer != "true"]
    if not answers:
        emit(False)
    elif "false" in answers:
        edge()
    else:
        emission.builder.branch(emission.builder.all_of(answers), lambda: emit(False), edge)


def _guard_answers(
    emission: Emission, roots: list[Expression], sinks: list[Sink], sure: dict[Operation, bool]
) -> list[str]:
    """What the sanitizer says about all accesses; fills in those whose tiles are judged as a whole."""
    accessed = [node.operation for node in nodes(roots) if isinstance(node, (Gathered, Viewed))]
    accessed += [sink.operation for sink in sinks if isinstance(sink, (StorePointers, StoreView, Update))]
    answers = []
    for operation in dict.fromkeys(accessed):
        guard = emission.guards.get(operation)
        if guard is None:
            continue
        if guard.whole and not is_ordered(operation):
            answers.append(guard.whole)
            sure[operation] = guard.unmasked
        else:
            answers.append(guard.fine)
    return answers


def _pointer_answers(
    emission: Emission, roots: list[Expression], sinks: list[Sink], sure: dict[Operation, bool]
) -> list[str]:
    """Whether all accesses through pointers that can be judged as a whole stay in their arrays; fills in which."""
    found: list[str] = []
    accessed: list[Gathered | StorePointers] = [node for node in nodes(roots) if isinstance(node, Gathered)]
    accessed += [sink for sink in sinks if isinstance(sink, StorePointers)]
    for access in accessed:
        operation = access.operation
        if operation in emission.sure or operation in sure or operation in emission.doubtful:
            continue
        if not is_ordered(operation):
            found += judge_pointers(emission, access, sure) or []
    return found


def emit_versioned(emission: Emission, statement: VersionedNest) -> None:
    """Emit a nest at once where its accesses are seen to stay in their arrays, and else in parts."""
    sure: dict[Operation, bool] = {}
    answers: list[str] | None = [] if statement.fused is not None else None
    for access in statement.accesses:
        more: list[str] | None = None
        if isinstance(access, (Gathered, StorePointers)):
            more = judge_pointers(emission, access, sure)
        elif isinstance(access, (Viewed, StoreView)):
            view = emission.views[access.operation.view]
            assert isinstance(view, TileView)
            more = [view.tensor.in_array]
        answers = [*answers, *more] if answers is not None and more is not None else None
    fused = statement.fused
    if answers is None or "false" in answers or fused is None:
        emission.statements(statement.parts)
        return

    def at_once() -> None:
        before, emission.sure = emission.sure, {**emission.sure, **sure}
        emission.statements([fused])
        emission.sure = before

    def in_parts() -> None:
        before, emission.doubtful = emission.doubtful, emission.doubtful | set(sure)
        emission.statements(statement.parts)
        emission.doubtful = before

    emission.builder.branch(emission.builder.all_of(answers), at_once, in_parts)


def lanes_of(emission: Emission, roots: list[Expression], sinks: list[Sink]) -> int:
    """The lanes of a nest; none where elements go one by one."""
    scattered = [node.operation for node in nodes(roots) if isinstance(node, Gathered)]
    scattered += [sink.operation for sink in sinks if isinstance(sink, StorePointers)]
    if any(is_ordered(operation) for operation in scattered):
        return 0
    if any(isinstance(sink, Update) for sink in sinks):
        return update_lanes(emission, sinks)
    dtypes = [node.dtype for node in nodes(roots) if isinstance(node, (Viewed, Gathered, Stored))]
    dtypes += [sink.expression.dtype for sink in sinks]
    vector_bytes = emission.target.vector_bytes
    found = lanes_for(vector_bytes, dtypes)
    # Pointers are looked at once for all lanes, which costs as much as a short vector of them.
    return 2 * found if scattered and sinks and vector_bytes == 16 else found


def _is_function(declaration: OperationDeclaration) -> bool:
    """Whether a vector takes many steps that wait for each other; functions of two tiles have enough that do not."""
    return declaration.cost.work == FUNCTION and len(declaration.operands) == 1


_FEW_FUNCTIONS: Final = 2
"""With more in a nest, these go side by side already, and two of each take LLVM longer than they are worth."""
_MANY_FUNCTIONS: Final = 8
"""With more in a kernel, LLVM has enough to do."""


def lanes_abreast(emission: Emission, roots: list[Expression], sinks: list[Sink]) -> int:
    """The lanes of a nest that may compute functions: two vectors go through them side by side.

    A vector alone leaves a machine idle for much of the time, since it does not see far enough ahead to begin the next
    one.  Four would be faster still for the shortest functions, but take half as long again to compile.
    """
    lanes = lanes_of(emission, roots, sinks)
    found = list(nodes(roots))
    functions = [node for node in found if isinstance(node, Applied) and _is_function(node.operation.declaration)]
    if not 1 <= len(functions) <= _FEW_FUNCTIONS:
        return lanes
    # A machine computes one division at a time.
    if not emission.module.fast and all(node.operation.declaration.cost.divides for node in functions):
        return lanes
    if emission.function_count < 0:
        emission.function_count = sum([_is_function(each.declaration) for each in emission.program.entry.walk()])
    if emission.function_count > _MANY_FUNCTIONS:
        return lanes
    is_scattered = any(isinstance(each, (Gathered, StorePointers)) for each in (*found, *sinks))
    if is_scattered or emission.sanitize or any(node.dtype == DOUBLE for node in found):
        return lanes
    return 2 * lanes
