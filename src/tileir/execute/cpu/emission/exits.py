"""How a worker ends early: by a failure, or because it is stopped."""

from __future__ import annotations

from tileir.execute.cpu.emission import inspection
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.reservations import reserved
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.matmul.amx import release
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector.builder import Number

FAILED = "failed"
"""The label where a worker ends after a failure was recorded."""


def leave_worker(emission: Emission, code: int) -> None:
    """Return: 0 for nothing left to do, 1 after a failure, 2 when stopped."""
    if emission.uses_amx:
        release(emission.builder)
    if emission.program.streams:
        # Whoever waits for the worker sees what it streamed.
        emission.builder.call("void", "llvm.x86.sse.sfence", [])
    emission.builder.do(f"ret i64 {code}")


def is_stopped(emission: Emission) -> str:
    """An i1: somebody wants all workers to end."""
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
        site = inspection.new_site(emission, "failure", check.operation, check=check)
        inspection.call(emission, site, [str(element), str(detail)])
        emission.builder.jump(emission.block_end)
        return
    emission.checks.append(check)
    numbers = [str(number) for number in (len(emission.checks), emission.block_number, element, detail)]
    call_function(emission, "void", "fail", [f"i64 {number}" for number in numbers])
    emission.builder.jump(FAILED)


def require(emission: Emission, condition: str, check: Check, element: Number = 0, detail: Number = 0) -> None:
    """Fail unless a condition holds."""
    emission.builder.branch(condition, None, lambda: fail(emission, check, element, detail), likely=True)


def call_function(emission: Emission, result: str, function: str, values: list[str]) -> str:
    """Call a function of `bounds_functions`."""
    emission.called.add(function)
    text = f"call {result} @bounds.{function}(ptr %record, ptr {reserved(emission)}, {', '.join(values)})"
    if result == "void":
        emission.builder.do(text)
        return ""
    return emission.builder.emit(text)
