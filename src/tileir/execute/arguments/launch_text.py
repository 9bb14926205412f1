"""A launch in words, which a program may state itself: the comment `// tileir: --grid 4 --arg rand:f32:1024 --arg 3`.

It stands among the comments that a text begins with, in the words of `tileir run`, so that a file says both what runs
and what with.  A file with several kernels has a line for each, with `--entry NAME`.  Bytecode has no comments.

The words come with a program that may be anybody's: they name numbers and arrays to be made, never files.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

from tileir.execute.arguments.argument_text import RANDOM, Specification, WordError, grid_of, number, specification
from tileir.execute.arguments.argument_text import argument as made_argument
from tileir.ir.core import Operation

MARK: Final = "// tileir:"
_ALIGNMENT: Final = 256
"""Of arrays that are made for a launch: as memory of a GPU is, and as much as programs assume."""


class LaunchArguments:
    """What a kernel is launched with.  Launch `copies()` of the arguments: kernels write to arrays."""

    __slots__ = ("arguments", "grid", "words")

    def __init__(self, grid: tuple[int, ...], arguments: Sequence[Any], words: LaunchWords) -> None:
        self.grid: tuple[int, ...] = grid
        self.arguments: list[Any] = list(arguments)
        self.words: LaunchWords = words
        """The same, as `tileir run` takes it."""

    def copies(self) -> list[Any]:
        """The arguments, with arrays of their own."""
        return [_copied(value) for value in self.arguments]


class LaunchWords:
    """A grid and arguments as words; `entry` names the kernel where a program has several."""

    __slots__ = ("arguments", "entry", "grid")

    def __init__(self, grid: tuple[int, ...], arguments: Sequence[str], entry: str | None = None) -> None:
        self.grid: tuple[int, ...] = grid
        self.arguments: tuple[str, ...] = tuple(arguments)
        self.entry: str | None = entry

    @property
    def options(self) -> list[str]:
        """As `tileir run` is given them."""
        entry = [] if self.entry is None else ["--entry", self.entry]
        arguments = [word for text in self.arguments for word in ("--arg", text)]
        return [*entry, "--grid", ",".join([str(extent) for extent in self.grid]), *arguments]

    def text(self) -> str:
        return shlex.join(self.options)

    def comment(self) -> str:
        """The line that states this launch at the top of a program."""
        return f"{MARK} {self.text()}"

    def varied(self, run: int) -> LaunchWords:
        """The launch of another run: random arrays have other seeds, all else is the same."""
        return LaunchWords(self.grid, [_varied(text, run) for text in self.arguments], self.entry)

    def launch(self, entry: Operation) -> LaunchArguments:
        """The launch of a kernel, its arrays made."""
        parameters = entry.regions[0].blocks[0].arguments
        types: list[object] = [parameter.type for parameter in parameters]
        types += [None] * (len(self.arguments) - len(types))
        values = [made_argument(text, type) for text, type in zip(self.arguments, types, strict=False)]
        return LaunchArguments(self.grid, [_copied(value) for value in values], self)


def _varied(text: str, run: int) -> str:
    described = specification(text) if run else None
    if described is None or described.kind not in RANDOM:
        return text
    shape = "x".join([str(extent) for extent in described.shape])
    return f"{described.kind}:{described.name}:{shape}:{described.seed + run * 1_000_003}"


def _copied(value: Any) -> Any:
    import numpy

    if not isinstance(value, numpy.ndarray):
        return value
    space = numpy.empty(value.nbytes + _ALIGNMENT, numpy.uint8)
    start = -int(space.ctypes.data) % _ALIGNMENT
    copy = space[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def stated_launch(text: str, entry: str | None = None) -> LaunchWords | None:
    """The launch that a text states for a kernel, or for the only one; None if it states none."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("//"):
            return None
        # A comment of this tool may also silence what `tileir lint` finds.
        if not line.startswith(MARK) or line.removeprefix(MARK).lstrip().startswith("ignore"):
            continue
        found = read_launch(line.removeprefix(MARK))
        if entry is None or found.entry is None or found.entry == entry:
            return found
    return None


def read_launch(line: str, mark: str = MARK) -> LaunchWords:
    """The launch that the words behind a mark state."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise WordError(f"'{mark}{line}' states no launch: {error}") from None
    grid: tuple[int, ...] = (1,)
    entry: str | None = None
    arguments: list[str] = []
    while words:
        option, equals, value = words.pop(0).partition("=")
        if option not in ("--grid", "--arg", "--entry"):
            raise WordError(f"'{option}' in '{mark}{line}' is none of --grid, --arg and --entry, which state a launch")
        if not equals:
            if not words:
                raise WordError(f"'{option}' in '{mark}{line}' needs a value")
            value = words.pop(0)
        if option == "--grid":
            grid = grid_of(value)
        elif option == "--entry":
            entry = value
        else:
            arguments.append(_checked(value))
    return LaunchWords(grid, arguments, entry)


def _checked(text: str) -> str:
    described: Specification | None = specification(text)
    if described is None:
        if text.endswith(".npy"):
            raise WordError(f"'{text}': a comment names no files; give it on the command line")
        number(text)
    return text
