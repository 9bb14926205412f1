"""What an engine is: the questions that are put to one, and the kernels it prepares.

`Kernel.launch` checks what it is given, chooses an engine (`registry.py`) and hands the launch to the `PreparedKernel`
that the engine has made.  Modules that hold engines need no NumPy, as this one: `prepare` imports what they need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tileir.execute.errors import BlockId, ChoiceError, LaunchError
from tileir.ir.core import Operation
from tileir.ir.location import Location

if TYPE_CHECKING:
    from tileir.execute.memory import Region
    from tileir.execute.observing.observer import Observer
    from tileir.execute.sanitizer.report import SanitizerReport

Progress = Callable[[int, int], None]
Arguments = tuple[object, ...]

FORWARD: Final = "forward"  # The default schedule of a launch.
OPTIONS: Final = frozenset(
    ("exact", "fast", "cpu", "schedule", "observer", "sanitize", "threads", "unchecked", "stream", "cubin")
)
"""What the `options` of an engine are among."""


class KernelSettings(NamedTuple):
    """The options of `tileir.compile` about the code of a kernel; a backend uses those that apply to it."""

    exact: bool = False
    fast: bool = False
    cpu: str | None = None
    cubin: bytes | None = None
    tune: bool = False


class LaunchOptions(NamedTuple):
    """What a launch requests beside its grid and its arguments, as `Kernel.launch` documents it, checked."""

    schedule: str = FORWARD
    sanitize: bool | Literal["all"] = False
    observer: Observer | None = None
    memory: Sequence[object] = ()
    output: Callable[[str], object] | None = None
    progress: Progress | None = None
    threads: int | None = None
    unchecked: bool = False
    stream: object = None
    copies: bool = True  # Whether an engine on a GPU copies arrays of the host: where it is named, and not chosen.


ArgumentKind = tuple[int, bool] | None
"""The kind of an inspected argument: of an array, the number of parameters for its extents and strides, and whether its
memory may be written to; None for a scalar."""
Again = Callable[[], tuple[tuple[object, ...], Sequence[object]]]
"""Returns the arguments of a launch, as it takes them, and its `memory`, for code that inspects them again."""


class DirectLaunches(ABC):
    """Launches with arguments of one kind that the caller has checked."""

    __slots__ = ()

    @abstractmethod
    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        """Run the kernel as `PreparedKernel.launch` does.

        `numbers` has three things for an array, its address, the parameters that follow it as bytes, 8 for each, and
        how many bytes of memory it has, and for a scalar its value.  `memory` has three words for each further array:
        where it begins and ends, and whether it may be written to.  `again` keeps all of them alive.
        """

    def bind(
        self, grid: BlockId, numbers: tuple[Any, ...], again: Again, arrays: Sequence[object]
    ) -> Callable[[], None] | None:
        """A launch to make again and again, of arguments whose arrays are `arrays`; None if there is no short way."""
        return None


class Measurement(NamedTuple):
    """How long launches took: seconds, the GPU they ran on (empty for the host's processor), and by which clock."""

    seconds: list[float]
    device: str
    clock: str


class PreparedKernel(ABC):
    """A kernel that a backend has prepared."""

    chosen_backend: str = ""  # The engine whose code it ran last, where it has that of several; empty where it has one.

    @abstractmethod
    def launch(self, grid: BlockId, arguments: Arguments, options: LaunchOptions) -> None:
        """Run the kernel once for each tile block; what it writes is in the arrays when this returns.

        What the user got wrong is a `TileIRError`: a `LaunchError` before anything runs, an `ExecutionError` with the
        operation when a tile block does what it must not.
        """

    def sanitize(self, grid: BlockId, arguments: Arguments, options: LaunchOptions) -> SanitizerReport:
        """Launch, look for errors up to the end, and return what was found.

        It is called for backends whose `options` have "sanitize".  If they do not have "observer", `options.observer`
        is None or the `Sanitizer` that receives the findings.
        """
        raise LaunchError("the backend of this kernel reports that it sanitizes, and its kernels cannot")

    def direct(self, kind: Sequence[ArgumentKind], options: LaunchOptions) -> DirectLaunches | None:
        """The short way for launches with such options and arguments of a kind; None if there is none."""
        return None

    def bind(self, grid: BlockId, arguments: Arguments, options: LaunchOptions) -> Callable[[], None] | None:
        """A launch to make again and again with the same arguments; None if there is no short way."""
        return None

    def timed(
        self, grid: BlockId, arguments: Arguments, options: LaunchOptions, repeat: int | None, flush_cache: bool
    ) -> Measurement | None:
        """Times of `repeat` launches by the backend's own clock, after one that does not count; None if it has none.

        None repeats as often as makes sense; `flush_cache` empties caches before each launch.
        """
        return None

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False) -> str:
        """Return the code of the kernel at one of the backend's `stages`.

        Kernels on a GPU also receive `target`, the GPU that the code is for, if the user names one.
        """
        raise LaunchError(f"the backend of this kernel reports that it shows '{stage}', and its kernels cannot")

    def located(self, stage: str) -> LocatedText:
        """The code of one of the backend's `representations`, with the locations of each line, if known."""
        lines = self.dump(stage).removesuffix("\n").split("\n")
        return LocatedText(lines, [[] for _ in lines], [])


class Backend(ABC):
    """What runs kernels.  Register one with `register_backend`, or as an entry point of "tileir.backends"."""

    name: str  # What `backend=` and `--backend` call it.
    title: str = ""  # What messages call it, as in "the CPU backend"; made of the name if empty.
    summary: str = ""  # What it is, in a line.
    options: frozenset[str] = frozenset()
    """Which options of `tileir.compile` and `Kernel.launch` it supports, among "exact", "fast", "cpu", "schedule",
    "observer", "sanitize", "threads", "unchecked", "stream" and "cubin".  All backends support the other options."""
    stages: tuple[str, ...] = ()  # The stages of a kernel that `PreparedKernel.dump` returns.
    dumps_anywhere: bool = False
    """Whether its kernels are dumped also where it cannot run them: `PreparedKernel.dump` reports what is missing."""
    on_gpu: bool = False
    """Whether its kernels run on a GPU.  They take arrays there and check them.  They copy arrays of the host there and
    back, or raise a `WrongDeviceError` if `LaunchOptions.copies` is false."""
    overlaps: bool = False  # Whether its launches take part in `tileir.kernels.overlap`; others wait for all under way.
    is_native: bool = True  # Whether a wrong kernel can crash the process: `tileir run` then uses a separate one.

    def missing(self) -> str:
        """Why it cannot work on this machine, and what to do about it; empty if it can.  It is called often."""
        return ""

    def facts(self) -> dict[str, str]:
        """What `tileir info` shows: versions, limits, devices; where it cannot work, what there is of it."""
        return {}

    def representations(self) -> list[BackendRepresentation]:
        """The representations of its kernels that tools show: by default all `stages`."""
        reason = self.missing()
        titles = {stage: f"{stage}, {self.called}" for stage in self.stages}
        return [
            BackendRepresentation(f"{self.name}-{stage}", titles[stage], stage, stage, reason) for stage in self.stages
        ]

    def refusal(self, entry: Operation, options: LaunchOptions) -> str:
        """Why it does not run this kernel in this way, with what to do instead; empty if it does."""
        if options.sanitize and "sanitize" not in self.options:
            return f"{self.called} does not look for errors: compile with backend='interpreter'"
        if options.sanitize == "all" and "observer" not in self.options:
            return "sanitize='all' is the interpreter's: compile with backend='auto' or 'interpreter'"
        if (options.schedule != FORWARD and "schedule" not in self.options) or not self._watches(options.observer):
            return "observers and schedules are the interpreter's: compile with backend='interpreter'"
        if options.stream is not None and "stream" not in self.options:
            return f"{self.called} has no streams, which are a GPU's: compile with a GPU backend"
        return ""

    def _watches(self, observer: Observer | None) -> bool:
        if observer is None or "observer" in self.options:
            return True
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        return type(observer) is Sanitizer and "sanitize" in self.options

    def suits(self, entry: Operation, arguments: Arguments, options: LaunchOptions) -> bool:
        """Whether `backend="auto"` should take it for this launch, if it is here: only where `refusal` is empty.

        `arguments` are those of the caller, and empty where a kernel chooses without a launch.  Backends on GPUs are
        considered where arrays are on one, and the others where none is.  Once a backend that `overlaps` runs a launch
        without options, it runs all such launches of the kernel with arrays on the host.
        """
        return self.on_gpu and not self.refusal(entry, options)

    @abstractmethod
    def prepare(self, entry: Operation, globals: dict[str, Region], settings: KernelSettings) -> PreparedKernel:
        """The kernel, made ready as far as it can be before arguments are known; compiling may wait for a launch.

        `globals` has the memory of the module's global variables, shared with the other kernels of the module.
        """

    @property
    def called(self) -> str:
        return self.title or f"the backend '{self.name}'"

    def check_stage(self, stage: str) -> None:
        """Refuse to dump what is not among the `stages`."""
        if not self.stages:
            raise LaunchError(f"{self.called} has no code to show: compile with backend='cpu', 'triton' or 'tileiras'")
        if stage not in self.stages:
            raise ChoiceError(f"there is no stage '{stage}' to dump: choose one of {', '.join(self.stages)}")


_MOST_LINES: Final = 64  # For an operation without a line of its own: a constant may be in thousands.


class BackendRepresentation(NamedTuple):
    """A representation that a backend shows of its kernels."""

    id: str  # Its id among the representations of all backends.
    title: str
    language: str  # The language of its text: "tile", "loops", "llvm", "assembly", or another.
    stage: str  # The stage to dump.
    reason: str = ""  # Why it cannot be shown on this machine, with what to do about it; empty if it can.
    most_operations: int = 0  # How many a kernel may have for it: beyond, compilers take minutes.  0 is any number.


class LocatedText(NamedTuple):
    """Lines, and for each of them the locations of the operations it does the work of."""

    lines: list[str]
    locations: list[list[Location]]
    notes: list[str]  # Remarks about it, in sentences.


def located_lines(
    entry: Operation, lines: list[str], operations: list[list[Operation]], notes: list[str] | None = None
) -> LocatedText:
    """Lines of a kernel with the locations of the operations that each does the work of.

    Operations that are no work, such as constants, views and tokens, are in the lines of their users, and those without
    results in the lines of their parent.
    """
    places: dict[Operation, list[int]] = {}
    for line, here in enumerate(operations):
        for operation in here:
            places.setdefault(operation, []).append(line)
    found = [[operation.location for operation in here] for here in operations]
    for operation in reversed(list(entry.walk())):
        if operation in places:
            continue
        near: list[Operation | None] = [user for result in operation.results for user in result.users]
        used: dict[int, None] = {}
        for other in dict.fromkeys(near if operation.results else [operation.parent_operation]):
            if other is not None and len(used) < _MOST_LINES:
                used.update(dict.fromkeys(places.get(other, ())))
        places[operation] = list(used)[:_MOST_LINES]
        for line in places[operation]:
            found[line].append(operation.location)
    return LocatedText(lines, found, [] if notes is None else notes)
