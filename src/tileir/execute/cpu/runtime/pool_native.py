"""The native functions of the thread pool, in LLVM IR; `launch_record.PoolWords` is the memory they share with Python.

Workers wait here, without Python's lock, and launches reach them here.  `thread_pool` explains the protocol.  Each
function takes two pointers and returns an i64, as the worker of a kernel does:

    wait(pool, slot)        the loop of a worker: wait for launches and run them
    launch(pool, scratch)   open a launch; unless `scratch` is null, run a part of it and finish it
    finish(pool, null)      close the launch and wait for the workers; 1 if one is still inside after some time
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.runtime.launch_record import SLOT_BYTES
from tileir.execute.cpu.runtime.launch_record import PoolWords as words
from tileir.execute.cpu.vector.builder import Builder, Loop, Number
from tileir.execute.cpu.vector.module import Module

_FUTEX: Final = {"x86_64": 202, "aarch64": 98}  # The number of the system call.
_PAUSE: Final = {"x86_64": ("llvm.x86.sse2.pause", []), "aarch64": ("llvm.aarch64.hint", ["i32 1"])}
_WAIT, _WAKE = 137, 138  # FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET, for threads of one process.
_WAIT_FOR: Final = 128  # FUTEX_WAIT, whose timeout is relative.
_ALL: Final = -1
_MASK_BITS: Final = 31


def pool_text(machine: str) -> str:
    """The functions as LLVM IR."""
    return _Writer(machine).text()


class _Writer:
    def __init__(self, machine: str) -> None:
        self._machine: str = machine
        self._module: Module = Module()
        self._builder: Builder = Builder(self._module)

    def text(self) -> str:
        for write, parameters in (
            (self._write_now, "ptr %pool"),
            (self._write_wait, "ptr %pool, ptr %slot"),
            (self._write_launch, "ptr %pool, ptr %scratch"),
            (self._write_finish, "ptr %pool, ptr %nothing"),
        ):
            name = write.__name__.removeprefix("_write_")
            with self._builder.into([]) as lines:
                write()
            self._module.define(f"define i64 @{name}({parameters}) nounwind", lines)
        return self._module.text()

    def _at(self, word: Number, base: str = "%pool") -> str:
        return self._builder.emit(f"getelementptr i64, ptr {base}, i64 {word}")

    def _load(self, word: Number, base: str = "%pool", type: str = "i64") -> str:
        return self._builder.emit(f"load {type}, ptr {self._at(word, base)}, align 8")

    def _store(self, value: Number, word: Number, base: str = "%pool", type: str = "i64") -> None:
        self._builder.do(f"store {type} {value}, ptr {self._at(word, base)}, align 8")

    def _seen(self, word: Number, base: str = "%pool", type: str = "i32") -> str:
        return self._builder.emit(f"load atomic {type}, ptr {self._at(word, base)} seq_cst, align 8")

    def _change(self, operation: str, word: Number, value: Number, base: str = "%pool", type: str = "i32") -> str:
        """Change a word atomically; returns what it was."""
        return self._builder.emit(f"atomicrmw {operation} ptr {self._at(word, base)}, {type} {value} seq_cst")

    def _is(self, comparison: str, left: Number, right: Number, type: str = "i64") -> str:
        return self._builder.emit(f"icmp {comparison} {type} {left}, {right}")

    def _return(self, value: Number) -> None:
        self._builder.do(f"ret i64 {value}")

    def _futex(self, operation: int, pointer: str, value: Number, mask: Number = _ALL, timeout: str = "null") -> None:
        operands = [f"i64 {_FUTEX[self._machine]}", f"ptr {pointer}", f"i64 {operation}", f"i64 {value}"]
        operands += [f"ptr {timeout}", "ptr null", f"i64 {mask}"]
        syscall = self._load(words.SYSCALL, type="ptr")
        self._builder.emit(f"call i64 (i64, ...) {syscall}({', '.join(operands)})")

    def _write_now(self) -> None:
        """Nanoseconds of the monotonic clock."""
        time = self._builder.emit("alloca i64, i64 2, align 8")
        self._builder.emit(f"call i32 {self._load(words.CLOCK, type='ptr')}(i32 1, ptr {time})")
        whole = self._builder.multiply(self._load(0, time), 1_000_000_000)
        self._return(self._builder.add(whole, self._load(1, time)))

    def _now(self) -> str:
        return self._builder.emit("call i64 @now(ptr %pool)")

    def _spin(self, is_over: Callable[[], str], since: str) -> str:
        """Spin until something holds, or until so long after a time; returns an i1: it holds."""
        builder = self._builder
        deadline = builder.add(since, self._load(words.SPIN))
        spin = Loop(builder)

        def look() -> None:
            found = is_over()
            builder.go_on(self._is("eq", found, 0, "i1"), f"{spin.name}.out")
            name, operands = _PAUSE[self._machine]
            builder.call("void", name, operands)

        spin.write(look, lambda: self._is("slt", self._now(), deadline))
        builder.step_to(f"{spin.name}.out")
        return is_over()

    def _write_wait(self) -> None:
        builder = self._builder
        offset = builder.subtract(builder.address("%slot"), builder.address(self._at(words.SLOTS)))
        index = builder.emit(f"udiv i64 {offset}, {SLOT_BYTES * record.RANGE_WORDS}")
        mask = builder.emit(f"shl i64 1, {builder.emit(f'urem i64 {index}, {_MASK_BITS}')}")
        rounds = Loop(builder)
        since = rounds.carry("i64", self._now())

        def each() -> None:
            # First: what comes after this ends the wait at the end of the round.
            signal = self._seen(words.SIGNAL)
            (worked,) = builder.branch(self._enters(index), lambda: self._work(index), lambda: [f"i64 {since}"])
            rounds.becomes(since, worked)
            is_new = self._spin(lambda: self._is("ne", self._seen(words.SIGNAL), signal, "i32"), worked)

            def sleep() -> None:
                self._change("add", words.SLEEPERS, 1)
                self._futex(_WAIT, self._at(words.SIGNAL), builder.emit(f"zext i32 {signal} to i64"), mask)
                self._change("sub", words.SLEEPERS, 1)

            builder.branch(is_new, None, sleep)

        rounds.write(each, lambda: "")
        builder.do("unreachable")

    def _enters(self, index: Number) -> str:
        """Enter the open launch if there is one for this worker; an i1."""
        builder = self._builder

        def is_open() -> str:
            return self._is("ule", index, self._seen(words.OPEN, type="i64"))

        def enter() -> list[str]:
            # The caller closes first and then checks which workers are inside: one of the two sees the other.
            self._change("xchg", words.INSIDE, 1, "%slot")
            still = is_open()
            builder.branch(still, None, self._leave)
            return [f"i1 {still}"]

        (entered,) = builder.branch(is_open(), enter, lambda: ["i1 false"])
        return entered

    def _leave(self) -> None:
        before = self._change("xchg", words.INSIDE, 0, "%slot")
        is_awaited = self._is("eq", before, 2, "i32")
        self._builder.branch(is_awaited, lambda: self._futex(_WAKE, self._at(words.INSIDE, "%slot"), 1))

    def _work(self, index: Number) -> list[str]:
        builder = self._builder
        scratch = self._load(words.SCRATCH, "%slot", "ptr")
        self._store(self._load(words.NUMBER), 0, scratch)
        self._store(index, record.RANGE, scratch)
        self._run(scratch)

        def finish() -> None:
            is_first = self._is("eq", self._change("xchg", words.FINISHED, 1), 0, "i32")
            builder.branch(is_first, lambda: self._futex(_WAKE, self._at(words.FINISHED), 1))

        builder.branch(self._is("ne", self._load(words.LEFT), 0), finish)
        self._leave()
        return [f"i64 {self._now()}"]

    def _run(self, scratch: str) -> None:
        function = self._load(words.FUNCTION, type="ptr")
        self._builder.emit(f"call i64 {function}(ptr {self._load(words.RECORD, type='ptr')}, ptr {scratch})")

    def _write_launch(self) -> None:
        builder = self._builder
        self._divide()
        self._change("xchg", words.FINISHED, 0)
        workers = self._load(words.WORKERS)
        self._change("xchg", words.OPEN, workers, type="i64")
        self._change("add", words.SIGNAL, 1)
        wakes = self._load(words.WAKES)
        is_worth = builder.all_of([self._is("ne", self._seen(words.SLEEPERS), 0, "i32"), self._is("sgt", wakes, 0)])

        def wake() -> None:
            # The bits 1 to `workers`, or all.
            above = builder.emit(f"shl i64 2, {workers}")
            is_exact = self._is("slt", workers, _MASK_BITS)
            mask = builder.emit(f"select i1 {is_exact}, i64 {builder.add(above, -2)}, i64 {_ALL}")
            self._futex(_WAKE, self._at(words.SIGNAL), wakes, mask)

        builder.branch(is_worth, wake)
        builder.branch(self._is("eq", "%scratch", "null", "ptr"), lambda: self._return(1))
        self._run("%scratch")
        self._return(builder.emit("call i64 @finish(ptr %pool, ptr null)"))

    def _divide(self) -> None:
        """Divide the tile blocks into ranges of whole chunks, one for each thread that takes part."""
        builder = self._builder
        launch = self._load(words.RECORD, type="ptr")
        end, chunk = self._load(record.COUNT, launch), self._load(record.CHUNK, launch)
        chunks = builder.emit(f"udiv i64 {builder.add(builder.add(end, chunk), -1)}, {chunk}")
        workers, first = self._load(words.WORKERS), self._load(words.LEFT)
        threads = builder.subtract(builder.add(workers, 1), first)
        each = builder.emit(f"udiv i64 {chunks}, {threads}")
        longer = builder.emit(f"urem i64 {chunks}, {threads}")
        slots = self._at(words.SLOTS)
        self._store(0, record.RANGE_NEXT, slots)
        self._store(0, record.RANGE_END, slots)

        def divide(number: str, carried: list[str]) -> list[str]:
            is_longer = builder.emit(f"zext i1 {self._is('ult', number, longer)} to i64")
            size = builder.multiply(builder.add(each, is_longer), chunk)
            last = builder.call("i64", "llvm.smin.i64", [f"i64 {builder.add(carried[0], size)}", f"i64 {end}"])
            slot = self._at(builder.multiply(builder.add(number, first), record.RANGE_WORDS), slots)
            self._store(carried[0], record.RANGE_NEXT, slot)
            self._store(last, record.RANGE_END, slot)
            return [last]

        builder.each(threads, divide, [0])
        self._store(slots, record.RANGES, launch, "ptr")
        # Below zero: the tile blocks are taken from one counter.
        count = self._load(record.RANGE_COUNT, launch)
        ranges = f"select i1 {self._is('sge', count, 0)}, i64 {builder.add(workers, 1)}, i64 {count}"
        self._store(builder.emit(ranges), record.RANGE_COUNT, launch)

    def _write_finish(self) -> None:
        builder = self._builder
        begin = self._now()

        def has_finished() -> str:
            return self._is("ne", self._seen(words.FINISHED), 0, "i32")

        def wait_for_one() -> None:
            self._await(has_finished, begin, lambda: self._sleep(self._at(words.FINISHED), 0))

        builder.branch(self._is("ne", self._load(words.LEFT), 0), wait_for_one)
        self._change("xchg", words.OPEN, 0, type="i64")

        def wait_for(number: str, carried: list[str]) -> list[str]:
            slot = self._at(builder.multiply(builder.add(number, 1), record.RANGE_WORDS), self._at(words.SLOTS))

            def sleep() -> None:
                inside = self._at(words.INSIDE, slot)
                builder.emit(f"cmpxchg ptr {inside}, i32 1, i32 2 seq_cst seq_cst, align 4")
                self._sleep(inside, 2)

            self._await(lambda: self._is("eq", self._seen(words.INSIDE, slot), 0, "i32"), begin, sleep)
            return carried

        builder.each(self._load(words.WORKERS), wait_for, [])
        self._return(0)

    def _sleep(self, pointer: str, value: int) -> None:
        self._futex(_WAIT_FOR, pointer, value, timeout=self._at(words.TIMEOUT))

    def _await(self, is_over: Callable[[], str], begin: str, sleep: Callable[[], None]) -> None:
        """Spin, then sleep, until something holds; return 1 if that takes too long."""

        def go_on() -> None:
            sleep()
            self._builder.branch(is_over(), None, lambda: self._return(1))

        self._builder.branch(self._spin(is_over, begin), None, go_on)
