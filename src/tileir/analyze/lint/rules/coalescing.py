"""Accesses that use a small part of what memory delivers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject, named
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.constraints import tile_type_of
from tileir.dialect.types import DYNAMIC, PartitionViewType, StridedViewType, TensorViewType, TileType
from tileir.execute.work.evaluation import element_size, memory_bytes
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I64
from tileir.ir.values import Value
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import carried_values, defined_by, receiver

_SECTOR: Final = 32
"""Bytes that memory delivers at least."""
_LEAST_BYTES: Final = 128
"""Tiles of less are too small to matter: a warp reads so much at once."""
_LEAST_WASTE: Final = 2

Steps = tuple[int | None, ...]


@Rule(
    "hardware",
    "The elements of a tile are apart from each other in memory",
    reason="Memory delivers 32 bytes at least, and as much is written: elements that lie apart use a part of that.",
    remedy="Let the dimension whose stride is 1 be the one along which the tile is long; load the tile as it lies and "
    "`permute` it, or copy the array once so that it lies as it is read.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
-  %tensor = make_tensor_view %p, shape = [1024, 64], strides = [64, 1] : tensor_view<1024x64xf32, strides=[64,1]>
-  %column = make_partition_view %tensor : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>
+  %tensor = make_tensor_view %p, shape = [64, 1024], strides = [1024, 1] : tensor_view<64x1024xf32, strides=[1024,1]>
+  %row = make_partition_view %tensor : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>
   %0 = constant <i32: 0> : tile<i32>
-  // here
-  %x, %t = load_view_tko weak %column[%0, %0] : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>, tile<i32> -> tile<128x1xf32>, token
+  %x, %t = load_view_tko weak %row[%0, %0] : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>, tile<i32> -> tile<1x128xf32>, token
   %lane = iota : tile<128xi32>
-  %two = constant <i32: 2> : tile<128xi32>
-  %even = muli %lane, %two : tile<128xi32>
   %q_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
   %q_128 = broadcast %q_1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
-  %place = offset %q_128, %even : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
-  %y = reshape %x : tile<128x1xf32> -> tile<128xf32>
-  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token // here
+  %place = offset %q_128, %lane : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
+  %y = reshape %x : tile<1x128xf32> -> tile<128xf32>
+  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token
""",  # noqa: E501
)
def uncoalesced_access(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO):
        type = access.view.type
        if isinstance(type, (PartitionViewType, StridedViewType)):
            strides = tuple([type.tensor.strides[axis] for axis in type.dim_map])
            steps = tuple([None if stride == DYNAMIC else stride for stride in strides])
            yield from _finding(access, type.tile, steps)
    accesses = subject.operations(ops.LOAD_PTR_TKO, ops.STORE_PTR_TKO)
    known = TileSteps(subject.all_operations if accesses else (), subject.facts)
    for access in accesses:
        is_load = access.declaration is ops.LOAD_PTR_TKO
        tile, pointers = (access.results[0], access.source) if is_load else (access.value, access.destination)
        yield from _finding(access, tile_type_of(tile), known.of(pointers))


def _finding(access: Operation, tile: TileType, steps: Steps) -> Iterable[LintFinding]:
    size = element_size(tile.element)
    pairs = [pair for pair in zip(steps, tile.shape, strict=True) if pair[1] > 1]
    if any(step is None for step, _ in pairs):
        return
    moving = sorted([(abs(step), extent) for step, extent in pairs if step])
    if prod([extent for _, extent in moving]) * size < _LEAST_BYTES:
        return
    together = 1
    for step, extent in moving:
        if step != together:
            break
        together *= extent
    apart = moving[0][0]
    if together > 1:
        waste, message = _SECTOR // (together * size), f"{together} elements lie together"
    else:
        waste, message = min(_SECTOR // size, apart), f"elements are {apart * size} bytes apart"
    if waste >= _LEAST_WASTE:
        verb = "reads" if access.declaration.reads is not None else "writes"
        message = f"{verb} a {tile.spelling} of which {message} in memory"
        yield LintFinding(access, f"{message}: about {waste} times as much is moved as is used")


_VECTOR: Final = 16
"""Bytes that a thread reads at once, and that rows for TMA are multiples of."""


def _rows(stride: int) -> str:
    return f"""\
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {{
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %tensor = make_tensor_view %a, shape = [64, 100], strides = [{stride}, 1] : tensor_view<64x100xf16, strides=[{stride},1]> // here
  %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> tile<16x32xf16>, token
  %n = negf %v : tile<16x32xf16>
  %u = store_view_tko weak %n, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> token
"""  # noqa: E501


@Rule(
    "hardware",
    "Rows of a tensor begin at addresses that are no multiples of 16 bytes",
    reason="Threads read 16 bytes at once where they are aligned, and the tensor memory accelerator of sm_90 and later "
    "(TMA) takes no other rows: this one is read in smaller parts, by more instructions.",
    remedy="Pad the rows of the array: a stride of 104 instead of 100 for f16.",
    example=(_rows(100), _rows(104)),
)
def misaligned_rows(subject: Subject) -> Iterable[LintFinding]:
    for view, type in _with_wide_rows(subject):
        if type.element is I64 and subject.operations(ops.INT_TO_PTR):
            # The table of a list of arrays, which cuTile lays out: an address, extents and strides for each.
            continue
        size = element_size(type.element)
        for axis, (extent, stride) in enumerate(zip(type.shape, type.strides, strict=True)):
            if stride not in (DYNAMIC, 1) and extent != 1 and stride * size % _VECTOR:
                message = f"steps along dimension {axis} are {stride * size} bytes, no multiple of {_VECTOR}"
                yield LintFinding(view, f"{message}: {_narrow(subject)}")
                break
        else:
            apart = _start(view.base, subject)
            if apart % _VECTOR:
                message = f"the view begins {apart} bytes behind an aligned address: {_narrow(subject)}"
                yield LintFinding(view, message)


def _narrow(subject: Subject) -> str:
    accelerated = [gpu for gpu in subject.gpus if gpu.has_tma] if subject.targets else []
    more = f", and no TMA on {named(accelerated)}" if accelerated else ""
    return f"no loads of {_VECTOR} bytes{more}"


def _with_wide_rows(subject: Subject) -> Iterator[tuple[Operation, TensorViewType]]:
    """The views of tensors of which a tile has several rows that could be read in vectors; the tables that cuTile makes
    have one."""
    for view in subject.operations(ops.MAKE_TENSOR_VIEW):
        type = view.results[0].type
        if isinstance(type, TensorViewType) and any(_has_wide_rows(user, type) for user in view.results[0].users):
            yield view, type


def _has_wide_rows(user: Operation, type: TensorViewType) -> bool:
    made = user.results[0].type if user.results else None
    if not isinstance(made, (PartitionViewType, StridedViewType)):
        return False
    if type.rank > 1 and sum([extent > 1 for extent in made.tile_shape]) < 2:
        return False
    size = element_size(type.element)
    axes = zip(made.tile_shape, made.dim_map, strict=True)
    return any(type.strides[axis] == 1 and extent * size >= _VECTOR for extent, axis in axes)


def _start(base: Value, subject: Subject) -> int:
    """Bytes from an aligned address to a pointer; 0 if that is not known."""
    maker = defined_by(base, ops.OFFSET)
    if maker is None:
        return 0
    distance = subject.facts.integer(maker.operands[1])
    if distance is None or subject.facts.divisor(maker.operands[0]) < _VECTOR:
        return 0
    return distance * memory_bytes(base)


@Rule(
    "hardware",
    "A view is not known to be aligned to 16 bytes",
    reason="A compiler may use wide loads and the tensor memory accelerator only where it knows that addresses are "
    "multiples of 16 bytes: they are for most arrays, but nothing states it.",
    remedy="Promise it: `%a = assume div_by<16>, %p : tile<ptr<f16>>`, and for a stride of f16 `assume div_by<8>`. "
    "Launches that break the promise are undefined; `tileir run --sanitize` finds them.",
    severity=REMARK,
    targets=("sm_90",),
    example="""\
 entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
-  %a = offset %p, %n : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
-  %m = addi %n, %n : tile<i32>
-  %tensor = make_tensor_view %a, shape = [64, %n], strides = [%m, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]> // here
+  %a = assume div_by<16>, %p : tile<ptr<f16>>
+  %m = assume div_by<8>, %n : tile<i32>
+  %tensor = make_tensor_view %a, shape = [64, %n], strides = [%m, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]>
   %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>
   %x, %y, %z = get_tile_block_id : tile<i32>
   %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x32xf16>, token
   %w = negf %v : tile<16x32xf16>
   %u = store_view_tko weak %w, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> token
""",  # noqa: E501
)
def unknown_alignment(subject: Subject) -> Iterable[LintFinding]:
    # This last gain matters only to users who name a target.
    if not subject.targets:
        return
    for view, type in _with_wide_rows(subject):
        size = element_size(type.element)
        is_unknown = subject.facts.divisor(view.base) < _VECTOR and not _start(view.base, subject)
        missing = ["the pointer"] if is_unknown else []
        strides = iter(view.dynamic_strides)
        for axis, stride in enumerate(type.strides):
            if stride == DYNAMIC and subject.facts.divisor(next(strides)) * size < _VECTOR:
                missing.append(f"the stride of dimension {axis}")
        if missing:
            verb = "is not known to be a multiple" if len(missing) == 1 else "are not known to be multiples"
            yield LintFinding(view, f"{' and '.join(missing)} {verb} of {_VECTOR} bytes: {_narrow(subject)}")


# --- how far apart in memory, or in numbers, neighbors in a tile are along each dimension, where that is known ---
#
# Tiles of integers and of pointers that are made of `iota`, constants and numbers that are the same for all elements
# grow evenly.  A step of 0 is a dimension along which nothing changes; None one of which nothing is known.  Steps of
# pointers count elements.  A value that a loop carries has the steps it starts with, if the loop passes on no others.

_MOST_WALKS: Final = 4


class TileSteps:
    """The steps of all tiles of integers and pointers of a kernel."""

    def __init__(self, operations: Sequence[Operation], facts: Facts) -> None:
        self.facts: Final = facts
        self._known: dict[Value, Steps] = {}
        for _ in range(_MOST_WALKS):
            if not self._walk(operations):
                return
        loops = [operation for operation in operations if operation.declaration.is_loop]
        self._known = {argument: (None,) * len(_shape(argument)) for loop in loops for argument in carried_values(loop)}
        self._walk(operations)

    def of(self, value: Value) -> Steps:
        found = self._known.get(value)
        if found is not None:
            return found
        shape = _shape(value)
        same = 0 if shape and self.facts.is_uniform(value) else None
        return tuple([0 if extent == 1 else same for extent in shape])

    def _walk(self, operations: Sequence[Operation]) -> bool:
        """Follow a kernel from its start; return whether a loop passes on other steps than it was taken to carry."""
        is_changed = False
        for operation in operations:
            declaration = operation.declaration
            rule = _RULES.get(declaration)
            if rule is not None and width_of(operation.results[0].type):
                self._known[operation.results[0]] = rule(self, operation)
            elif declaration.is_loop:
                carried = carried_values(operation)
                for argument, given in zip(carried, operation.operands[-len(carried) :], strict=bool(carried)):
                    if width_of(argument.type):
                        self._known.setdefault(argument, self.of(given))
            elif declaration is ops.CONTINUE:
                loop = receiver(operation)
                carried = carried_values(loop) if loop is not None else []
                pairs = zip(carried, operation.operands, strict=True)
                for argument, given in [pair for pair in pairs if width_of(pair[0].type)]:
                    before, after = self.of(argument), self.of(given)
                    joined = tuple([one if one == other else None for one, other in zip(before, after, strict=True)])
                    is_changed |= joined != before
                    self._known[argument] = joined
        return is_changed


# --- operations ---


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TileType) else ()


def _sum(steps: TileSteps, operation: Operation) -> Steps:
    sign = -1 if operation.declaration is ops.SUBI else 1
    pairs = zip(*[steps.of(operand) for operand in operation.operands], strict=True)
    return tuple([None if left is None or right is None else left + sign * right for left, right in pairs])


def _product(steps: TileSteps, operation: Operation) -> Steps:
    for value, other in (operation.operands, operation.operands[::-1]):
        factor = steps.facts.integer(other)
        if factor is not None:
            if operation.declaration is ops.SHLI:
                if other is operation.operands[0] or not 0 <= factor < 64:
                    continue
                factor = 1 << factor
            return tuple([None if step is None else step * factor for step in steps.of(value)])
    # Along a dimension where neither changes the product does not either.
    pairs = zip(*[steps.of(operand) for operand in operation.operands], strict=True)
    return tuple([0 if left == 0 and right == 0 else None for left, right in pairs])


def _broadcast(steps: TileSteps, operation: Operation) -> Steps:
    source = operation.operands[0]
    return tuple([0 if extent == 1 else step for extent, step in zip(_shape(source), steps.of(source), strict=True)])


def _reshape(steps: TileSteps, operation: Operation) -> Steps:
    """Dimensions of one element come and go; others have to stay as they are."""
    source, target = operation.operands[0], _shape(operation.results[0])
    pairs = zip(_shape(source), steps.of(source), strict=True)
    kept = [(extent, step) for extent, step in pairs if extent > 1]
    if [extent for extent, _ in kept] != [extent for extent in target if extent > 1]:
        if all(step == 0 for _, step in kept):
            return (0,) * len(target)
        return tuple([0 if extent == 1 else None for extent in target])
    following = iter(kept)
    return tuple([0 if extent == 1 else next(following)[1] for extent in target])


def _same(steps: TileSteps, operation: Operation) -> Steps:
    return steps.of(operation.operands[0])


_RULES: Final[dict[OperationDeclaration, Callable[[TileSteps, Operation], Steps]]] = {
    ops.ADDI: _sum,
    ops.ASSUME: _same,
    ops.BROADCAST: _broadcast,
    ops.EXTI: _same,
    ops.IOTA: lambda steps, operation: (1,),
    ops.MULI: _product,
    ops.OFFSET: _sum,
    ops.PERMUTE: lambda steps, operation: tuple([_same(steps, operation)[axis] for axis in operation.permutation]),
    ops.RESHAPE: _reshape,
    ops.SHLI: _product,
    ops.SUBI: _sum,
    ops.TRUNCI: _same,
}
