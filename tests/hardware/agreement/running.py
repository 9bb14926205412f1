"""Programs on the GPU, each twice, in a child process that is ended and begun anew when a kernel hangs or faults."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.hardware.agreement.assembling import Assembled
from tests.hardware.agreement.device import Device
from tests.hardware.agreement.program import Pointer, Program, dtype_of

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.loaded_code import LoadedLibrary

GUARD = 512
"""Bytes before and after every memory that nobody may change."""
PATTERN = 0xA5
SIZE = 256 << 20
SECONDS = 10.0
"""For one program."""
REFUSED = "refused: "
"""How the trouble of a program begins that there is no code for."""
MOST_DEATHS = 20
"""Processes in a row that end with the first program they begin: nothing will run."""


class Result(NamedTuple):
    number: int
    """Of the program."""
    memories: list[bytes]
    """Afterwards; none where it did not run."""
    trouble: str
    """Why it did not run, or what is wrong beside the values: `guard`, `unsteady`."""


Task = tuple[int, Program, str]
"""A program's number, the program, and the name of its kernel."""


class Gpu:
    """Runs programs on the first GPU."""

    def __init__(self, size: int = SIZE) -> None:
        self.device = Device(size)
        self.name = self.device.name
        self._cubin = b""
        self._library: LoadedLibrary | None = None

    def load(self, cubin: bytes) -> None:
        self._cubin = cubin
        self._library = None

    def run(self, program: Program, name: str) -> tuple[list[bytes], str]:
        """The memories after a launch, and what is wrong beside them."""
        starts, image = laid_out(program, self.device.address)
        if len(image) > self.device.size:
            return [], f"the arrays take {len(image)} bytes"
        arguments = []
        for argument in program.arguments:
            if isinstance(argument, Pointer):
                address = self.device.address + starts[argument.memory] + argument.start
                arguments.append(address.to_bytes(8, "little"))
            else:
                arguments.append(argument.bits.to_bytes(dtype_of(argument.element).itemsize, "little"))
        if self._library is None or "global " in program.text:
            # Global variables keep what a launch has written.
            self._library = self.device.load(self._cubin)
        self.device.write(image)
        self.device.launch(self._library, name, program.grid, arguments)
        return found_in(program, starts, image, self.device.read(len(image)))


def laid_out(program: Program, address: int) -> tuple[list[int], bytes]:
    """Where each memory begins in one piece of memory at an address, and what that holds before the launch."""
    starts: list[int] = []
    image = bytearray()
    for memory in program.memories:
        image += bytes([PATTERN]) * (GUARD + -(len(image) + GUARD) % 256)
        starts.append(len(image))
        image += memory
    image += bytes([PATTERN]) * GUARD
    for place in program.addresses:
        target = address + starts[place.target] + place.target_start
        start = starts[place.memory] + place.start
        image[start : start + 8] = target.to_bytes(8, "little")
    return starts, bytes(image)


def found_in(program: Program, starts: list[int], before: bytes, after: bytes) -> tuple[list[bytes], str]:
    """The memories in what was read back, and whether anything beside them has changed."""
    trouble = ""
    end = 0
    memories = []
    for start, memory in zip(starts, program.memories, strict=True):
        if after[end:start] != before[end:start]:
            trouble = "guard"
        end = start + len(memory)
        memories.append(bytearray(after[start:end]))
    if after[end:] != before[end:]:
        trouble = "guard"
    for place in program.addresses:
        content = program.memories[place.memory][place.start : place.start + 8]
        memories[place.memory][place.start : place.start + 8] = content
    return [bytes(memory) for memory in memories], trouble


# --- the child ---


def _serve(make: Callable[[], Any], batches: list[tuple[bytes, list[Task]]], connection: Any) -> None:
    """Run batches of programs of one file each, and tell of each program before and after."""
    try:
        runner = make()
        connection.send(("ready", runner.name, None))
        for cubin, tasks in batches:
            connection.send(("begin", tasks[0][0], None))
            runner.load(cubin)
            for number, program, name in tasks:
                connection.send(("begin", number, None))
                memories, trouble = runner.run(program, name)
                if not trouble.startswith(REFUSED):
                    again, _ = runner.run(program, name)
                    if again != memories:
                        trouble = trouble or "unsteady"
                connection.send(("done", number, (memories, trouble)))
        connection.send(("end", 0, None))
    except Exception as error:
        connection.send(("failed", 0, f"{type(error).__name__}: {error}"))


def _death(status: int | None) -> str:
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"


class NoDeviceError(Exception):
    """No program can be run at all."""


def run_all(
    files: list[Assembled],
    programs: list[Program],
    make: Callable[[], Any] = Gpu,
    seconds: float = SECONDS,
    most_deaths: int = MOST_DEATHS,
) -> Iterator[Result | str]:
    """Run every program that there is code for: first the name of the device, then a result for each."""
    batches: list[tuple[bytes, list[Task]]] = []
    numbers: dict[str, list[int]] = {}
    for number, program in enumerate(programs):
        numbers.setdefault(program.text, []).append(number)
    for file in files:
        tasks = [
            (number, programs[number], name) for text, name in file.names.items() for number in numbers.get(text, ())
        ]
        if tasks:
            batches.append((file.cubin, tasks))
    named = False
    deaths = 0
    context = multiprocessing.get_context("spawn")
    while batches:
        mine, theirs = context.Pipe()
        child = context.Process(target=_serve, args=(make, batches, theirs), daemon=True)
        child.start()
        theirs.close()
        current: int | None = None
        done: set[int] = set()
        trouble = ""
        while True:
            try:
                # A new process imports its modules and starts the driver first.
                if not mine.poll(seconds if current is not None else 60 + seconds):
                    trouble = f"does not end within {seconds:g} s"
                    break
                word, number, more = mine.recv()
            except EOFError:
                child.join()
                trouble = f"the process died, {_death(child.exitcode)}"
                break
            if word == "ready" and not named:
                named = True
                yield str(number)
            elif word == "begin":
                current = number
            elif word == "done":
                done.add(number)
                yield Result(number, *more)
            elif word == "failed":
                trouble = more
                break
            elif word == "end":
                break
        if trouble or child.is_alive():
            child.kill()
        child.join()
        mine.close()
        if not trouble:
            return
        deaths = 0 if done else deaths + 1
        if current is None or deaths == most_deaths:
            raise NoDeviceError(trouble)
        if current not in done:
            done.add(current)
            yield Result(current, [], trouble)
        rest = [(cubin, [task for task in tasks if task[0] not in done]) for cubin, tasks in batches]
        batches = [(cubin, tasks) for cubin, tasks in rest if tasks]


class StandIn:
    """An engine of ours in place of a GPU, for a test of all this.

    Programs with `wrong` in their names get a bit of their results flipped, those with `endless` never end, and those
    with `faulty` fail.
    """

    def __init__(self, backend: str = "interpreter", wrong: str = "", endless: str = "", faulty: str = "") -> None:
        # The GPU needs none of it.
        from tests.hardware.agreement.interpreting import run_on

        self._run_on = run_on
        self.name = f"{backend} in place of a GPU"
        self.backend = backend
        self.wrong = wrong
        self.endless = endless
        self.faulty = faulty

    def load(self, cubin: bytes) -> None:
        pass

    def run(self, program: Program, name: str) -> tuple[list[bytes], str]:
        if self.faulty and self.faulty in program.name:
            raise LaunchError("waiting for @k failed: an illegal memory access was encountered")
        while self.endless and self.endless in program.name:
            time.sleep(0.1)
        memories = self._run_on(program, self.backend)
        if self.wrong and self.wrong in program.name:
            changed = bytearray(memories[-1])
            changed[0] ^= 1
            memories[-1] = bytes(changed)
        return memories, ""
