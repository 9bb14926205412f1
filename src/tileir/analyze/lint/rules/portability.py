"""What other versions of the dialect or other GPUs do not have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.analyze.lint.targets import architectures_where, named
from tileir.dialect.availability import newer_feature
from tileir.dialect.ops import ATOMIC_RED_VIEW_TKO, ATOMIC_RMW_TKO, ENTRY
from tileir.dialect.types import PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.gpu.targets import Architecture
from tileir.ir.core import Operation
from tileir.ir.types import BF16, Type, flattened
from tileir.ir.versions import NEWEST


@Rule(
    "newer-than-version",
    "portability",
    "An operation, attribute or type is newer than the stated version",
    reason="Drivers and tools refuse bytecode with pieces that came after the version they know.",
    remedy="Write it with what the older version has, or raise the version that is stated; `tileir as "
    "--bytecode-version` rewrites what it can.",
    per_module=True,
    version="13.1",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>) {
-  %y = atan2 %a, %b : tile<f32> // here
+  %y = divf %a, %b rounding<nearest_even> : tile<f32>
   %t = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
   return
 }
""",
)
def _newer(subject: Subject) -> Iterable[LintFinding]:
    if subject.version >= NEWEST:
        return
    known: dict[Type, str | None] = {}
    for operation in subject.all_operations:
        message = newer_feature(operation, subject.version, known)
        if message is not None:
            yield LintFinding(operation, message)


# --- targets ---


@Rule(
    "unsupported-on-target",
    "portability",
    "A target has no such type or operation",
    reason="NVIDIA's assembler refuses it: f8 before sm_90, f8E8M0FNU and f4E2M1FN before sm_100, fnv8E5M3FNU on all "
    "but sm_107, atomic addition of bf16 before sm_89.",
    remedy="Use a wider type there, or state the targets that the kernel is for.",
    targets=("sm_80", "sm_90"),
    example="""\
-entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f8E4M3FN>>) { // here
-  %x, %t = load_ptr_tko weak %q : tile<ptr<f8E4M3FN>> -> tile<f8E4M3FN>, token
-  %y = ftof %x : tile<f8E4M3FN> -> tile<f32>
+entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f16>>) {
+  %x, %t = load_ptr_tko weak %q : tile<ptr<f16>> -> tile<f16>, token
+  %y = ftof %x : tile<f16> -> tile<f32>
   %u = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
   return
 }
""",
)
def _unsupported(subject: Subject) -> Iterable[LintFinding]:
    # The first place of a type is enough: all others follow from it.
    types: set[Type] = set()
    elements: set[Type] = set()
    for operation in subject.all_operations:
        fresh = [type for type in _types(operation) if type not in types]
        types.update(fresh)
        for element in [part for type in fresh for part in _parts(type) if part not in elements]:
            elements.add(element)
            lacking = architectures_where(subject, partial(_lacks, element))
            if lacking:
                yield LintFinding(operation, f"there is no {element.text} on {named(lacking)}")
        if operation.declaration in (ATOMIC_RMW_TKO, ATOMIC_RED_VIEW_TKO) and _adds_bf16(operation):
            lacking = architectures_where(subject, _lacks_bf16_atomics)
            if lacking:
                yield LintFinding(operation, f"there is no atomic addition of bf16 on {named(lacking)}")


def _lacks(element: Type, architecture: Architecture) -> bool:
    return element.text in architecture.lacks


def _lacks_bf16_atomics(architecture: Architecture) -> bool:
    return not architecture.has_bf16_atomics


def _adds_bf16(operation: Operation) -> bool:
    if operation.keyword("mode") != "addf":
        return False
    return any(element is BF16 for operand in operation.operands for element in _parts(operand.type))


def _types(operation: Operation) -> list[Type]:
    """The types of what an operation makes; of a kernel, of what it is given."""
    if operation.declaration is ENTRY:
        return [argument.type for argument in operation.regions[0].blocks[0].arguments]
    return [result.type for result in operation.results]


def _parts(type: Type) -> Iterable[Type]:
    for part in flattened(type):
        inner: Type = part
        while True:
            if isinstance(inner, TileViewType):
                inner = inner.tensor
            elif isinstance(inner, (TileType, TensorViewType)):
                inner = inner.element
            elif isinstance(inner, PointerType):
                inner = inner.pointee
            else:
                break
        yield inner
