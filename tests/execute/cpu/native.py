"""What the tests of the CPU backend's lower half run: hand-written LLVM IR, and kernels as the engine has them."""

from __future__ import annotations

import struct
from typing import Any

import numpy

from tileir.execute.cpu.kernel import CpuKernel
from tileir.execute.cpu.runtime import parallel_launch
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, BUDGET, CHUNK, COUNT, Record
from tileir.execute.cpu.runtime.llvm_compile import assemble
from tileir.execute.cpu.runtime.loader import Loaded, load
from tileir.execute.cpu.runtime.target import host
from tileir.execute.launching.kernel import Kernel

COUNTING = """
; For each tile block b: counts to argument 0, adds 1 to element b of the array in argument 1 and stores the number of
; the launch, which scratch memory begins with, in element b of the array in argument 2.
define i64 @worker(ptr %record, ptr %scratch) {
entry:
  %count.address = getelementptr i64, ptr %record, i64 1
  %count = load i64, ptr %count.address
  %stop.address = getelementptr i64, ptr %record, i64 5
  %chunk.address = getelementptr i64, ptr %record, i64 6
  %chunk = load i64, ptr %chunk.address
  %turns.address = getelementptr i64, ptr %record, i64 FIRST
  %turns = load i64, ptr %turns.address
  %visits.address = getelementptr i64, ptr %record, i64 SECOND
  %visits = load ptr, ptr %visits.address
  %launches.address = getelementptr i64, ptr %record, i64 THIRD
  %launches = load ptr, ptr %launches.address
  %number = load i64, ptr %scratch
  %budget.address = getelementptr i64, ptr %scratch, i64 BUDGET
  %counter = getelementptr i64, ptr %scratch, i64 7
  br label %fetch
fetch:
  %stop = load atomic i64, ptr %stop.address monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %exit, label %take
take:
  %first = atomicrmw add ptr %record, i64 %chunk monotonic
  %none = icmp sge i64 %first, %count
  br i1 %none, label %exit, label %blocks
blocks:
  %last = add i64 %first, %chunk
  %end = call i64 @llvm.smin.i64(i64 %last, i64 %count)
  br label %block
block:
  %b = phi i64 [ %first, %blocks ], [ %b.next, %done ]
  br label %turn
turn:
  %i = phi i64 [ 0, %block ], [ %i.next, %turn ]
  store volatile i64 %i, ptr %counter
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %turns
  br i1 %more, label %turn, label %done
done:
  %visit = getelementptr i64, ptr %visits, i64 %b
  %before = atomicrmw add ptr %visit, i64 1 monotonic
  %launch = getelementptr i64, ptr %launches, i64 %b
  store i64 %number, ptr %launch
  %b.next = add i64 %b, 1
  %next = icmp slt i64 %b.next, %end
  br i1 %next, label %block, label %spend
spend:
  %budget = load i64, ptr %budget.address
  %budget.left = add i64 %budget, -1
  store i64 %budget.left, ptr %budget.address
  %spent = icmp eq i64 %budget.left, 0
  br i1 %spent, label %exit, label %fetch
exit:
  ret i64 0
}
declare i64 @llvm.smin.i64(i64, i64)
"""


def counting() -> Loaded:
    text = COUNTING.replace("BUDGET", str(BUDGET))
    for number, name in enumerate(("FIRST", "SECOND", "THIRD")):
        text = text.replace(name, str(ARGUMENTS + number))
    return load(assemble(text, host()))


def count(function: Loaded, blocks: int, turns: int, threads: int, chunk: int = 1, scratch_bytes: int = 64) -> Any:
    """Launch the kernel above; how often each tile block ran, and the numbers of the launch that they saw."""
    visits, launches = numpy.zeros(blocks, numpy.int64), numpy.zeros(blocks, numpy.int64)
    record = Record(ARGUMENTS + 3)
    record.slots[COUNT] = blocks
    record.slots[CHUNK] = chunk
    record.slots[ARGUMENTS] = turns
    record.slots[ARGUMENTS + 1] = visits.ctypes.data
    record.slots[ARGUMENTS + 2] = launches.ctypes.data
    parallel_launch.run(function, record, scratch_bytes, threads, (visits, launches))
    return visits, launches


def cpu_kernel(kernel: Kernel) -> CpuKernel:
    """A kernel as the CPU backend has it."""
    prepared = kernel.prepare()
    assert isinstance(prepared, CpuKernel)
    return prepared


def undefined_symbols(data: bytes) -> set[str]:
    """The names that an ELF object needs from others."""
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    found = set()
    for section in range(sections, sections + size * count, size):
        if struct.unpack_from("<I", data, section + 4)[0] == 2:
            start, length, link = struct.unpack_from("<QQI", data, section + 24)
            (names,) = struct.unpack_from("<Q", data, sections + link * size + 24)
            for name, _info, _other, owner, _value, _size in struct.iter_unpack(
                "<IBBHQQ", data[start : start + length]
            ):
                if name and not owner:
                    found.add(data[names + name : data.index(b"\0", names + name)].decode())
    return found
