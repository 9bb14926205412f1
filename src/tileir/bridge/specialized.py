"""A kernel of cuTile or Triton compiled for arguments of a kind, to keep: made by `tileir.compile(kernel, args)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tileir.bridge.kernel_kinds import is_cutile_kernel, kernel_name
from tileir.bridge.launch import again, described, prepared, recognized, with_options
from tileir.bridge.parameters import Description, Parameter, fits, words_of
from tileir.bridge.recognition import KnownLaunches, Variant
from tileir.execute.arguments.binding import is_array
from tileir.execute.bound import BoundLaunch, Run
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.launching.entries import check_arguments, check_grid
from tileir.execute.launching.kernel import Kernel
from tileir.execute.locations.wording import argument_name

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Cubin, Resources
    from tileir.execute.gpu.triton.code import Tuning
    from tileir.execute.launching.timing import Timing
    from tileir.execute.work.operations import Work


class SpecializedKernel:
    """A kernel of cuTile or Triton compiled for arguments of a kind; `tileir.compile(kernel, example_args)` makes one.

    It takes all arguments for which the code it has is right: those of the example's dtypes and ranks, with the
    constants of the example, and with what the example promised of extents, strides and addresses
    (docs/guide/cutile.md). Others are refused: `tileir.launch` takes them, and compiles the kernel for them.

    >>> kernel = tileir.compile(vector_add, (a[:128], b[:128], c[:128]))
    >>> kernel.launch(8, (a[:128], b[:128], c[:128]))
    >>> type(kernel), float(c[0])
    (<class 'tileir.bridge.specialized.SpecializedKernel'>, 2.0)
    """

    def __init__(self, kernel: Any, args: tuple[object, ...], backend: str, exact: bool, fast: bool) -> None:
        self.function: Any = kernel
        """What was compiled, as its script has it."""
        self.name: str = kernel_name(kernel)
        self._options: tuple[str, bool, bool] = (backend, exact, fast)
        self.kernel: Kernel
        """What is launched: for each array of cuTile a pointer, extents and strides (docs/guide/cutile.md)."""
        self.kernel, description = prepared(kernel, args, backend, exact, fast)
        self._parameters: list[Parameter] = description.parameters
        self._names: list[str] = description.names
        self._known: KnownLaunches | None = None
        if is_cutile_kernel(kernel):
            # Launches of its own: those of others may be of another kind.
            self._known = KnownLaunches(lambda: kernel, kernel._annotated_function.parameter_annotations)

    @property
    def parameters(self) -> list[str]:
        """What it was compiled for, a text for each parameter: "a: float32 of rank 1"."""
        return [f"{name}: {words_of(parameter)}" for name, parameter in zip(self._names, self._parameters, strict=True)]

    @property
    def backend(self) -> str:
        """The name of the backend that runs launches without special options."""
        return self.kernel.backend

    def __repr__(self) -> str:
        return f"<SpecializedKernel {self.name}({', '.join(self.parameters)}), backend {self.kernel.requested_backend}>"

    def _repr_html_(self) -> str:
        return self.kernel._repr_html_()

    def launch(self, grid: int | tuple[int, ...], args: Sequence[object] = (), **options: Any) -> None:
        """Run it once for each tile block of a grid; the options are those of `Kernel.launch`."""
        args = check_arguments(args)
        variant: Variant | None = self._options
        if options:
            variant = with_options(*self._options, options)
        known = self._known
        if known is not None and variant is not None and recognized(known, self.function, grid, args, variant):
            return
        description = self.described(args)
        options["memory"] = [*options.get("memory", ()), *description.memory]
        self.kernel.launch(grid, description.values, **options)
        if known is not None and variant is not None:
            known.learn(args, description.values, self.kernel, variant)

    def bind(self, grid: int | tuple[int, ...], args: Sequence[object] = (), **options: Any) -> BoundLaunch:
        """A launch to keep, as `Kernel.bind` makes it; arguments can be replaced by position and by name."""
        extents = check_grid(grid)
        arguments = check_arguments(args)
        return BoundLaunch(
            self.name, extents, arguments, lambda given: self._bound(extents, given, options), self._names
        )

    def values(self, args: Sequence[object] = ()) -> tuple[object, ...]:
        """The arguments as `kernel` takes them: a pointer, extents and strides for each array."""
        return tuple(self.described(check_arguments(args)).values)

    def work(self, grid: int | tuple[int, ...], args: Sequence[object] = ()) -> Work:
        """What a launch moves and computes: `Kernel.work`."""
        return self.kernel.work(grid, self.values(args))

    def time(self, grid: int | tuple[int, ...], args: Sequence[object] = (), **options: Any) -> Timing:
        """How long launches take: `Kernel.time`."""
        description = self.described(check_arguments(args))
        if description.memory:
            options["memory"] = description.memory
        return self.kernel.time(grid, description.values, **options)

    def tune(self, grid: int | tuple[int, ...], args: Sequence[object] = (), **options: Any) -> Tuning:
        """Search for the schedule with which Triton's code is fastest: `Kernel.tune`."""
        description = self.described(check_arguments(args))
        if description.memory:
            raise LaunchError(f"{self.name} cannot be tuned: what lists of arrays hold is not put back")
        return self.kernel.tune(grid, description.values, **options)

    def cubin(self, target: str | None = None, **options: Any) -> Cubin:
        """The kernel compiled for a GPU: `Kernel.cubin`."""
        return self.kernel.cubin(target, **options)

    def resources(self, target: str | None = None, **options: Any) -> Resources:
        """What the kernel takes of a GPU: `Kernel.resources`."""
        return self.kernel.resources(target, **options)

    def dump(self, stage: str, **options: Any) -> str:
        """The code, to read: `Kernel.dump`."""
        return self.kernel.dump(stage, **options)

    def _bound(self, grid: BlockId, args: tuple[object, ...], options: dict[str, Any]) -> Run:
        variant = with_options(*self._options, options)
        known = None if variant is None else self._known
        found = None if known is None or variant is None else known.find(args, variant)
        if found is None:
            description = self.described(args)
            if known is not None and variant is not None:
                known.learn(args, description.values, self.kernel, variant)
                found = known.find(args, variant)
        arrays = arrays_in(args)
        if found is not None and arrays is not None:
            direct, (_, numbers, _) = found
            run = direct.bind(grid, tuple(numbers), lambda: again(self.function, args, ()), arrays)
            if run is not None:
                return run
        return lambda: self.launch(grid, args, **options)

    def described(self, args: tuple[object, ...]) -> Description:
        """The arguments of a launch, refused if the kernel was compiled for others."""
        description = described(self.function, args)
        if len(description.parameters) != len(self._parameters):
            raise LaunchError(f"{self.name} was compiled for other tuples: compile it for such arguments")
        for name, expected, found in zip(self._names, self._parameters, description.parameters, strict=True):
            if not fits(expected, found):
                facts = words_of(found) == words_of(expected)
                raise LaunchError(
                    f"{argument_name(name, self.name)} is {words_of(found, facts)}, but the kernel was compiled for "
                    f"{words_of(expected, facts)}: compile it for such arguments, or use tileir.launch, which does"
                )
        return description


def arrays_in(args: Sequence[object]) -> list[object] | None:
    """The arrays among arguments and in tuples of them; None if there are lists, whose arrays may be exchanged."""
    found: list[object] = []
    for value in args:
        if isinstance(value, list):
            return None
        if isinstance(value, tuple):
            inner = arrays_in(value)
            if inner is None:
                return None
            found += inner
        elif is_array(value):
            found.append(value)
    return found
