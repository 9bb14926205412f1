"""How a worker ends early, and the memory that `alloca` has reserved on a thread.

Checked code keeps two words for each `alloca` (begin and end), sanitized code the four of `sanitizer.sites`; zeros mean
that nothing is reserved.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.analysis.values import reserved_bytes
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.ir.statements import Alloca, Statement, statements
from tileir.execute.cpu.matmul.microkernel import release
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.sanitizer.sites import WORDS, Site
from tileir.execute.cpu.vector.builder import Number
from tileir.ir.core import Operation

FAILED: Final = "failed"  # The label where a worker ends after a failure was recorded.


def leave_worker(emission: Emission, code: int) -> None:
    """Return: 0 for nothing left to do, 1 after a failure, 2 when stopped."""
    if emission.uses_amx:
        release(emission.builder)
    if emission.program.nontemporal:
        # Threads that wait for the worker see its non-temporal stores.
        emission.builder.call("void", "llvm.x86.sse.sfence", [])
    emission.builder.do(f"ret i64 {code}")


def is_stopped(emission: Emission) -> str:
    """An i1: all workers are to end."""
    pointer = emission.frame.slot_pointer(slots.STOP)
    stop = emission.builder.emit(f"load atomic i64, ptr {pointer} monotonic, align 8")
    return emission.builder.emit(f"icmp ne i64 {stop}, 0")


def leave_to_general(emission: Emission) -> None:
    """Leave the launch to the version for arguments that share memory, and end the worker."""
    builder, frame = emission.builder, emission.frame
    failed = frame.slot_pointer(slots.FAILED)
    builder.do(f"store atomic i64 {slots.UNSUITED}, ptr {failed} monotonic, align 8")
    builder.do(f"store atomic i64 1, ptr {frame.slot_pointer(slots.STOP)} release, align 8")
    leave_worker(emission, 1)


def fail(emission: Emission, check: Check, element: Number = 0, detail: Number = 0) -> None:
    """Record a failure, unless there is one already, and end the worker.  Ends the basic block."""
    if emission.sanitize:
        site = new_site(emission, Site("failure", check.operation, check=check))
        call_inspector(emission, site, [str(element), str(detail)])
        emission.builder.jump(emission.block_end)
        return
    emission.checks.append(check)
    numbers = (len(emission.checks), emission.block_number, element, detail)
    call_function(emission, "void", "fail", [f"i64 {number}" for number in numbers])
    emission.builder.jump(FAILED)


def require(emission: Emission, condition: str, check: Check, element: Number = 0, detail: Number = 0) -> None:
    emission.builder.branch(condition, None, lambda: fail(emission, check, element, detail), likely=True)


def call_function(emission: Emission, result: str, function: str, values: list[str]) -> str:
    emission.called.add(function)
    text = f"call {result} @bounds.{function}(ptr %record, ptr {reserved(emission)}, {', '.join(values)})"
    if result == "void":
        emission.builder.do(text)
        return ""
    return emission.builder.emit(text)


def new_site(emission: Emission, site: Site) -> int:
    emission.sites.append(site)
    return len(emission.sites) - 1


def call_inspector(emission: Emission, site: int, values: list[str]) -> None:
    """Pass values to Python: numbers, or pointers with their type in front."""
    builder, frame = emission.builder, emission.frame
    table = frame.stack("i64", 96, 8, "inspect.values")
    for number, value in enumerate([f"ptr {reserved(emission)}", *values]):
        slot = builder.emit(f"getelementptr i64, ptr {table}, i64 {number}")
        builder.do(f"store {value if value.startswith('ptr ') else f'i64 {value}'}, ptr {slot}, align 8")
    function = builder.pointer(frame.record_slot(emission.layout.inspection))
    builder.do(f"call void {function}(i64 {site}, i64 {emission.block_number}, ptr {table})")


def reserved(emission: Emission) -> str:
    """The pointer to the words of allocas, null where there is none."""
    if not emission.allocas:
        return "null"
    if emission.sanitize:
        return emission.frame.stack("i64", WORDS * len(emission.allocas), 8, "reserved")
    return emission.frame.cleared_words(2 * emission.layout.reserve_count, "reserved")


def note_alloca(emission: Emission, operation: Operation, address: str, shadow: str = "") -> None:
    """Memory is reserved from here on; under the sanitizer with a shadow, which marks it as never written."""
    builder = emission.builder
    size = max(reserved_bytes(operation), 1)
    words = [address, builder.emit(f"add i64 {address}, {size}")]
    if shadow:
        builder.fill(shadow, 1, size)
        words += ["1", builder.address(shadow)]
    pointer = _words(emission, emission.allocas[operation])
    for number, word in enumerate(words):
        builder.do(f"store i64 {word}, ptr {builder.moved(pointer, 8 * number)}, align 8")


def forget_allocas(emission: Emission, body: list[Statement]) -> None:
    """What was reserved inside is given back."""
    if not emission.allocas:
        return
    inside = [emission.allocas[each.operation] for each in statements(body) if isinstance(each, Alloca)]
    if inside:
        # They are numbered in the order of the program.
        emission.builder.fill(_words(emission, inside[0]), 0, 8 * _word_count(emission) * len(inside))


def _word_count(emission: Emission) -> int:
    return WORDS if emission.sanitize else 2


def _words(emission: Emission, number: int) -> str:
    return emission.builder.moved(reserved(emission), 8 * _word_count(emission) * number)
