"""A launch to keep: grid and arguments are checked once, and it is called as often as it is to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.launching.entries import check_arguments

Run = Callable[[], None]


class BoundLaunch:
    """A kernel with its grid and arguments; calling it runs it.  Made by `Kernel.bind`.

    The arrays are kept, and each call checks whether they were moved or resized since.  Other arguments of the same
    kind replace them by position, or by the name of a parameter where the kernel is one of cuTile's:

        bound[0] = array
        bound["scale"] = 2.0
    """

    __slots__ = ("_arguments", "_bind", "_names", "_run", "grid", "name")

    def __init__(
        self,
        name: str,
        grid: BlockId,
        arguments: tuple[object, ...],
        bind: Callable[[tuple[object, ...]], Run],
        names: Sequence[str] = (),
    ) -> None:
        self.name: str = name  # The name of the kernel.
        self.grid: BlockId = grid
        self._names: list[str] = list(names)
        self._bind: Callable[[tuple[object, ...]], Run] = bind
        self._arguments: tuple[object, ...] = arguments
        self._run: Run = bind(arguments)

    def __call__(self) -> None:
        """Run the kernel once for each tile block of the grid."""
        self._run()

    def __repr__(self) -> str:
        return f"<BoundLaunch of {self.name}, grid {self.grid}, {len(self._arguments)} arguments>"

    def __len__(self) -> int:
        return len(self._arguments)

    @property
    def arguments(self) -> tuple[object, ...]:
        return self._arguments

    def __getitem__(self, place: int | str) -> object:
        return self._arguments[self._place(place)]

    def __setitem__(self, place: int | str, value: object) -> None:
        arguments = list(self._arguments)
        arguments[self._place(place)] = value
        self.replace(arguments)

    def replace(self, args: Sequence[object]) -> None:
        """Put in other arguments, all at once; they are checked here.  Where they are refused, the old ones stay."""
        arguments = check_arguments(args)
        self._run = self._bind(arguments)
        self._arguments = arguments

    def _place(self, place: int | str) -> int:
        if isinstance(place, str):
            if place not in self._names:
                known = f"{self.name} has {', '.join(self._names)}" if self._names else "pass its position"
                raise LaunchError(f"{self.name} has no parameter called '{place}': {known}")
            return self._names.index(place)
        if isinstance(place, bool) or not isinstance(place, int):
            raise LaunchError(f"an argument is named by its position or its name, not by {place!r}")
        if not -len(self._arguments) <= place < len(self._arguments):
            raise LaunchError(f"{self.name} has {len(self._arguments)} arguments, and none at position {place}")
        return place
