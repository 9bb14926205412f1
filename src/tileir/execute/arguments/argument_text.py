"""Grids and arguments of a launch as text: `4,1`, `rand:f32:64x64:7`, `data.npy`, `42`.

This is the notation of `tileir run`, and of a comment in which a program itself states a launch.  NumPy is needed where
an array is made, not where one is described.
"""

from __future__ import annotations

import io
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tileir.cpp.demangling import source_name
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Code, OptionError
from tileir.ir.types import F8E8M0FNU, F64, FLOAT_TYPES, FNV8E5M3FNU, FloatType, IntegerType, Type, integer_type

if TYPE_CHECKING:
    import numpy


class LaunchDescriptionError(OptionError):
    """A text describes no grid and no argument; the message has a valid one."""


MARK: Final = "// tileir:"
_TOO_LARGE: Final = Code("out-of-memory")
_MOST_DIGITS: Final = 100  # Longer numbers are errors, and Python refuses to read very long ones.


def natural(text: str) -> int | None:
    """The number in ASCII digits; None for any other text, and for digits of other scripts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def grid_of(text: str) -> tuple[int, ...]:
    extents = [natural(part.strip().removeprefix("-")) for part in text.split(",")]
    if None in extents or len(extents) > 3:
        raise LaunchDescriptionError(f"'{text}' is no grid: give one to three numbers, as in 16 or 4,4,1")
    return tuple([int(part) for part in text.split(",")])


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(text: str) -> int:
    """A number of bytes, as `4096`, `512M` or `4G`."""
    plain = text.upper().removesuffix("B").removesuffix("I")
    unit = plain[-1:] if plain[-1:].isalpha() else ""
    number = natural(plain.removesuffix(unit))
    if not number or unit not in _UNITS:
        raise LaunchDescriptionError(f"'{text}' is no size: give one as 512M or 4G")
    return number * _UNITS[unit]


def of_devices(text: str) -> list[str]:
    """The arrays of several devices, as `zeros:f32:64+ones:f32:64`; otherwise the text alone."""
    return re.split(r"\+(?=[a-z]+:)", text)


def argument(text: str, type: object) -> Any:
    """What an `--arg` stands for; `type` is the parameter's, where there is one."""
    # Where NumPy is missing, this import raises the error that names the package to install.
    import tileir.execute.launching.kernel  # noqa: F401
    from tileir.execute.analysis.parameters import is_multicast
    from tileir.execute.arguments.multicast import MulticastArray

    devices = of_devices(text)
    if len(devices) > 1 or (isinstance(type, Type) and is_multicast(type)):
        return MulticastArray([argument(each, None) for each in devices])
    described = specification(text)
    if described is not None:
        try:
            made = _made_array(described)
            return made if described.kind in ("zeros", "empty") else _copied(made)
        except (MemoryError, ValueError, OverflowError):
            raise LaunchDescriptionError(f"'{text}' does not fit in memory: give smaller extents", _TOO_LARGE) from None
    if text.endswith(".npy"):
        return _loaded_array(text, type)
    return number(text)


def number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    plain = text if text.isascii() and len(text) <= _MOST_DIGITS else ""
    with suppress(ValueError):
        return int(plain, 0)
    with suppress(ValueError):
        return float(plain)
    raise LaunchDescriptionError(
        f"'{text}' is no argument: give a number, a .npy file, or as zeros:f32:1024 ('tileir run --help')"
    )


RANDOM: Final = ("rand", "signed", "mixed")  # the arrays that have a seed
VALUES: Final = "values"  # the array whose elements are given one by one


class Specification(NamedTuple):
    """An array that a command line describes, not made yet: `zeros:f32:64x64`."""

    kind: str
    element: Type
    shape: tuple[int, ...]
    seed: int = 0
    values: tuple[float, ...] = ()  # The elements, where they are given one by one.

    def with_type(self, name: str) -> str:
        """The specification of the same argument with another element type."""
        if self.kind == VALUES:
            return f"{self.kind}:{name}:{','.join([repr(value) for value in self.values])}"
        seed = f":{self.seed}" if self.seed else ""
        return f"{self.kind}:{name}:{'x'.join([str(extent) for extent in self.shape])}{seed}"

    @property
    def nbytes(self) -> int:
        from tileir.execute.work.evaluation import element_size

        return math.prod(self.shape) * element_size(self.element)


def specification(text: str) -> Specification | None:
    """The array that an `--arg` describes; None if it is something else."""
    kind, _, rest = text.partition(":")
    if len(of_devices(text)) > 1:
        return None
    if kind == VALUES and rest:
        return _values(text, rest)
    if kind not in ("zeros", "empty", "ones", "iota", *RANDOM) or not rest:
        return None
    name, *parts = rest.split(":")
    seed = natural(parts.pop()) if kind in RANDOM and len(parts) == 2 else 0
    if seed is None:
        raise LaunchDescriptionError(f"'{text}' is not an array: the seed is a number, as in {kind}:f32:64x64:7")
    extents = [natural(extent) for extent in parts[0].split("x")] if len(parts) == 1 else [None]
    shape = tuple([extent for extent in extents if extent is not None])
    if len(shape) < len(extents):
        raise LaunchDescriptionError(f"'{text}' is not an array: give a type and extents, as in {kind}:f32:64x64")
    return Specification(kind, _element(name, text), shape, seed)


def _element(name: str, text: str) -> Type:
    if name in FLOAT_TYPES:
        return FLOAT_TYPES[name]
    if name[:1] == "i" and name[1:] in ("1", "4", "8", "16", "32", "64"):
        return integer_type(int(name[1:]))
    known = ", ".join(["i1", "i8", "i16", "i32", "i64", *FLOAT_TYPES])
    raise LaunchDescriptionError(f"'{name}' in '{text}' is no element type: use one of {known}")


def _values(text: str, rest: str) -> Specification:
    name, colon, listed = rest.partition(":")
    if not colon or not listed:
        raise LaunchDescriptionError(
            f"'{text}' is not an array: give a type and its elements, as in {VALUES}:i32:3,1,4"
        )
    element = _element(name, text)
    given = [number(each) for each in listed.split(",")]
    values = [int(value) if isinstance(value, bool) else value for value in given]
    if isinstance(element, IntegerType):
        for value in values:
            if not isinstance(value, int) or not -(1 << element.width >> 1) <= value < 1 << element.width:
                raise LaunchDescriptionError(f"'{value}' in '{text}' is no {name}")
    return Specification(VALUES, element, (len(values),), 0, tuple(values))


def _made_array(described: Specification) -> Any:
    import numpy

    from tileir.execute.arithmetic.conversion import float_to_float
    from tileir.execute.dtypes import value_dtype

    kind, element, shape, seed, values = described
    dtype = value_dtype(element)
    if kind in ("zeros", "empty"):
        return aligned_zeros(shape, dtype)
    if kind == "mixed":
        return mixed_numbers(element, shape, seed)
    width = element.width if isinstance(element, IntegerType) else 0
    numbers: Any
    if kind == VALUES:
        # Integers by their bits: 255 and -1 are the same i8.
        signed = [int(n) - (1 << width) if width > 1 and n >= 1 << width >> 1 else n for n in values]
        numbers = numpy.array(signed, numpy.int64 if width else numpy.float64)
    elif kind == "ones":
        numbers = numpy.ones(shape)
    elif kind == "iota":
        numbers = numpy.arange(math.prod(shape)).reshape(shape)
    elif width:
        high = {1: 2, 4: 8}.get(width, 100)
        half = high // 2 if kind == "signed" and width > 1 else 0
        numbers = numpy.random.default_rng(seed).integers(-half, high - half, shape)
    elif kind == "signed":
        # Multiples of 2^-12: the same numbers wherever they are divided.
        numbers = numpy.random.default_rng(seed).integers(-8192, 8192, shape) / 4096
    else:
        numbers = numpy.random.default_rng(seed).random(shape)
    if not isinstance(element, FloatType):
        return numbers.astype(dtype)
    # Through the dialect's own conversion: NumPy has no name for some of these types.
    return numpy.array(float_to_float(F64, element)(numbers.astype(numpy.float64)))


def _not_an_array(start: bytes) -> str:
    """What a file that begins like this holds instead of an array; NumPy takes all it does not know for pickles."""
    if start and not start.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        return "it does not begin as numpy.save begins a file"
    return "it holds Python objects, not numbers" if b"'descr': '|O'" in start else ""


def _loaded_array(path: str, type: object) -> Any:
    import numpy

    from tileir.dialect.types import PointerType, TileType
    from tileir.execute.dtypes import value_dtype

    start = b""
    try:
        with open(path, "rb") as file:
            contents: Any = file if file.seekable() else io.BytesIO(file.read())
            start = contents.read(128)
            contents.seek(0)
            array = numpy.load(contents, allow_pickle=False)
    except OSError as error:
        raise LaunchDescriptionError(f"cannot read '{path}': {error.strerror or error}") from None
    except MemoryError:
        raise LaunchDescriptionError(
            f"cannot read '{path}': the array it describes does not fit in memory", _TOO_LARGE
        ) from None
    except Exception as error:
        # NumPy reads the header of a file with Python's own parser, whose exceptions are many.
        text = _not_an_array(start) or str(error).partition("\n")[0]
        hint = ": save small floats as bytes, numpy.save(path, x.view('V1'))" if "'<f1'" in text else ""
        raise LaunchDescriptionError(
            f"cannot read '{path}', which should be an array of NumPy's: {text}{hint}"
        ) from None
    if not isinstance(array, numpy.ndarray):
        raise LaunchDescriptionError(f"cannot read '{path}': it holds several arrays (.npz): save one with numpy.save")
    # The file format has no name for the types of ml_dtypes: they come back as bytes that are no records.
    without_meaning = array.dtype.kind == "V" and array.dtype.names is None
    if without_meaning and isinstance(type, TileType) and isinstance(type.element, PointerType):
        dtype = value_dtype(type.element.pointee)
        if dtype.itemsize == array.dtype.itemsize:
            array = array.view(dtype)
    return array


# --- a launch that a program states ---

# A comment at the top of a text, as `// tileir: --grid 4 --arg rand:f32:1024 --arg 3`, sets the arguments of
# `tileir run`; each of several kernels has its own line, with `--entry NAME`.  As anybody may have written the program,
# the comment never names files.


class LaunchArguments(NamedTuple):
    """What a kernel is launched with.  Launch `copies()` of the arguments: kernels write to arrays."""

    grid: tuple[int, ...]
    arguments: list[Any]
    words: LaunchDescription  # The same, as `tileir run` takes it.

    def copies(self) -> list[Any]:
        return [_copied(value) for value in self.arguments]


class LaunchDescription:
    """A grid and arguments as words; `entry` names the kernel where a program has several."""

    def __init__(self, grid: tuple[int, ...], arguments: Sequence[str], entry: str | None = None) -> None:
        self.grid: tuple[int, ...] = grid
        self.arguments: tuple[str, ...] = tuple(arguments)
        self.entry: str | None = entry

    @property
    def options(self) -> list[str]:
        entry = [] if self.entry is None else ["--entry", self.entry]
        arguments = [word for text in self.arguments for word in ("--arg", text)]
        return [*entry, "--grid", ",".join([str(extent) for extent in self.grid]), *arguments]

    def text(self) -> str:
        return shlex.join(self.options)

    def comment(self) -> str:
        """The line that states this launch at the top of a program."""
        return f"{MARK} {self.text()}"

    def varied(self, run: int) -> LaunchDescription:
        """The launch of another run: random arrays have other seeds, all else is the same."""
        return LaunchDescription(self.grid, [_varied(text, run) for text in self.arguments], self.entry)

    def launch(self, entry: Operation) -> LaunchArguments:
        types = [parameter.type for parameter in entry.regions[0].block.arguments]
        values = [argument(text, type) for text, type in zip_longest(self.arguments, types[: len(self.arguments)])]
        return LaunchArguments(self.grid, [_copied(value) for value in values], self)


def _varied(text: str, run: int) -> str:
    described = specification(text) if run else None
    if described is None or described.kind not in RANDOM:
        return text
    return described._replace(seed=described.seed + run * 1_000_003).with_type(described.element.spelling)


def _copied(value: Any) -> Any:
    """A copy of an array, aligned as much as programs assume."""
    import numpy

    from tileir.execute.arguments.multicast import MulticastArray

    if isinstance(value, MulticastArray):
        return MulticastArray(map(_copied, value.arrays))
    if not isinstance(value, numpy.ndarray):
        return value
    copy = aligned_zeros(value.shape, value.dtype)
    copy[...] = value
    return copy


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros, aligned like GPU memory; the system commits pages when they are touched."""
    import numpy

    size = math.prod(shape) * numpy.dtype(dtype).itemsize
    space = numpy.zeros(size + 256, numpy.uint8)
    start = -int(space.ctypes.data) % 256
    return space[start : start + size].view(dtype).reshape(shape)


def stated_launch(text: str, entry: str | None = None) -> LaunchDescription | None:
    """The launch that a text states for a kernel, or for the only one; None if it states none."""
    for found in stated_launches(text):
        if entry is None or found.entry is None or found.entry in (entry, source_name(entry)):
            return found
    return None


def stated_launches(text: str) -> Iterator[LaunchDescription]:
    """The launches that the comments at the top of a text state."""
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("//"):
            return
        # A comment of this tool may also silence what `tileir lint` finds.
        if line.startswith(MARK) and not line.removeprefix(MARK).lstrip().startswith("ignore"):
            yield read_launch(line.removeprefix(MARK))


def stated_instances(text: str) -> list[str]:
    """The instances of templates that the stated launches of a C++ source are of."""
    entries = [launch.entry for launch in stated_launches(text) if launch.entry is not None]
    return list(dict.fromkeys([entry for entry in entries if "<" in entry]))


def read_launch(line: str, mark: str = MARK) -> LaunchDescription:
    """The launch that the words behind a mark state."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise LaunchDescriptionError(f"'{mark}{line}' states no launch: {error}") from None
    found: dict[str, Any] = {"--grid": (1,), "--entry": None, "--arg": []}
    while words:
        option, equals, value = words.pop(0).partition("=")
        if option not in found:
            raise LaunchDescriptionError(
                f"'{option}' in '{mark}{line}' is none of --grid, --arg and --entry, which state a launch"
            )
        if not equals and not words:
            raise LaunchDescriptionError(f"'{option}' in '{mark}{line}' needs a value")
        value = value if equals else words.pop(0)
        if option == "--arg":
            if value.endswith(".npy") and specification(value) is None:
                raise LaunchDescriptionError(f"'{value}': a comment names no files; give it on the command line")
            for each in of_devices(value):
                if specification(each) is None:
                    number(each)
            found[option].append(value)
        else:
            found[option] = grid_of(value) if option == "--grid" else value
    return LaunchDescription(found["--grid"], found["--arg"], found["--entry"])


# --- numbers of all sizes ---

# `mixed:f32:256:7` is derived from its seed bit by bit, the same on every machine, by SplitMix64 (Steele, Lea and Flood
# 2014): a counter and a mixing function.  NumPy's generators do not promise that their streams stay what they are.
GAMMA: Final = 0x9E3779B97F4A7C15
MULTIPLIERS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

# Mostly small numbers of which sums and products are exact; some that round, overflow or vanish; no NaN.
_FLOATS = (
    *[quarters / 4 for quarters in range(-16, 17)],
    *[float(whole) for whole in range(-12, 13, 3)],
    -0.0, 0.1, -0.1, 1 / 3, 2.7182818284590451, 100.0, -1000.0, 65504.0, 1e-5, -3e-8, 2.0**-126, 2.0**-130, 3e38,
)  # fmt: skip
# Scales have no sign, one of them no zero either.
_SCALES = (0.25, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0)


def words(seed: int, count: int) -> numpy.ndarray[Any, numpy.dtype[numpy.uint64]]:
    """`count` words of 64 random bits."""
    import numpy

    with numpy.errstate(over="ignore"):
        state = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(GAMMA)
        state += numpy.uint64(seed % (1 << 64))
        state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(MULTIPLIERS[0])
        state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(MULTIPLIERS[1])
        return numpy.asarray(state ^ (state >> numpy.uint64(31)))


def mixed_numbers(element: Type, shape: tuple[int, ...], seed: int) -> Any:
    """An array of an element type, as a launch takes it; there is no NaN in it."""
    import numpy

    from tileir.execute.arithmetic.conversion import float_to_float
    from tileir.execute.dtypes import value_dtype

    drawn = words(seed, math.prod(shape)).reshape(shape)
    if isinstance(element, FloatType):
        table = numpy.array(_SCALES if element in (F8E8M0FNU, FNV8E5M3FNU) else _FLOATS)
        chosen = table[(drawn % numpy.uint64(len(table))).astype(numpy.int64)]
        with numpy.errstate(all="ignore"):
            return chosen if element is F64 else numpy.array(float_to_float(F64, element)(chosen))
    assert isinstance(element, IntegerType)
    if element.width == 1:
        return (drawn & numpy.uint64(1)).astype(numpy.bool_)
    # Half of them small, the others of any size.
    small = (drawn >> numpy.uint64(8)) % numpy.uint64(17)
    signed = drawn.view(numpy.int64) >> numpy.int64(64 - element.width)
    numbers = numpy.where(drawn & numpy.uint64(1) == 0, small.astype(numpy.int64) - 8, signed)
    return numbers.astype(value_dtype(element))
