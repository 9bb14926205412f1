"""Help for mistakes that people and models often make in kernels of cuTile and Triton.

The compilers report what they could not do.  A `Mistake` adds why, and the corrected line where the change is in it.
"""

from __future__ import annotations

import builtins
import linecache
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Final, NamedTuple

from tileir.ir.quoting import close_names


class Mistake(NamedTuple):
    """One kind of mistake."""

    message: str
    """A regular expression that the message of the compiler matches."""
    help: str
    """What is wrong and why; `{1}` is a group of `message`."""
    wrong: str = ""
    """A regular expression for the part of the source line to change; empty if the change is elsewhere."""
    right: str = ""
    """What replaces that part."""
    line: str = ""
    """A regular expression that the source line matches, where the message does not tell mistakes apart."""


_POWER_OF_TWO: Final = "extents of tiles are powers of two: use the next larger one; what is past the array is masked"
_CONDITION: Final = "a comparison of tiles is a tile of booleans, and `if` and `while` need one: select with `{}`"
_NO_LOGIC: Final = "`and`, `or` and `not` need single booleans: use `&`, `|` and `~` for tiles, in parentheses"
_CONSTANT: Final = "shapes are known when a kernel is compiled: declare the parameter as `{}`, or write a number"
_LOOP_TYPE: Final = (
    "a variable that a loop changes keeps its type: begin with a tile of the shape and type that the loop computes"
)
_NO_LISTS: Final = "kernels have no lists or dictionaries: keep one tile with one more dimension, or a tuple"

CUTILE: Final = (
    Mistake(
        r"Unsupported operand types for .*Array\[",
        "an array is memory, not a tile: load a tile of it first, with an index in tiles and a shape",
    ),
    Mistake(
        r"Arrays do not support item assignment",
        "store a tile with an index in tiles",
        r"^(\w+)\[(\w+)\] ?= ?(.*)",
        r"ct.store(\1, (\2,), \3)",
    ),
    Mistake(
        r"Arrays are not directly subscriptable",
        "load a tile with an index in tiles and a shape, and store it the same way",
        r"(\w+)\[(\w+)\]",
        r"ct.load(\1, (\2,), (128,))",
    ),
    Mistake(
        r"slices are not supported",
        "a tile of an array has an index in tiles, not a range of elements",
        r"(\w+)\[(\w+) ?\* ?(\d+) ?: ?.*\]",
        r"ct.load(\1, (\2,), (\3,))",
    ),
    Mistake(r"Dimension #\d+ of shape .* is not a power of two", _POWER_OF_TWO),
    Mistake(
        r"Index size (\d+) does not match the array rank (\d+)",
        "give one index for each dimension: {2}",
    ),
    Mistake(
        r"Shapes are not broadcastable",
        "extents must be equal or 1: load both tiles with one shape, or reshape one so that its extents are 1",
    ),
    Mistake(
        r"Unsupported operand types for .*None",
        "kernels compute nothing with None: pass a number, or leave the operand out with `if` on a constant",
    ),
    Mistake(r"Expected a scalar value, but given value has type Tile\[bool", _NO_LOGIC, " and ", " & ", r" and "),
    Mistake(r"Expected a scalar value, but given value has type Tile\[bool", _NO_LOGIC, " or ", " | ", r" or "),
    Mistake(r"Expected a scalar value, but given value has type Tile\[bool", _CONDITION.format("ct.where(c, a, b)")),
    Mistake(
        r"(?:Expected a constant integer tuple|Expected an integer constant), but given value is not constant",
        _CONSTANT.format("n: ct.Constant[int]"),
    ),
    Mistake(
        r"Cannot create constant from value of type numpy",
        "functions of NumPy do not compute with tiles: use those of cuda.tile",
        r"\b(?:np|numpy)\.(\w+)\(",
        r"ct.\1(",
    ),
    Mistake(
        r"No such attribute '(?:sum|max|min|prod|exp|sqrt)' for object of type Tile",
        "tiles have few methods: use the function of cuda.tile",
        r"(\w+)\.(sum|max|min|prod|exp|sqrt)\(\)",
        r"ct.\2(\1)",
    ),
    Mistake(
        r"No such attribute 'T' for object of type Tile", "transpose by a function", r"(\w+)\.T\b", r"ct.transpose(\1)"
    ),
    Mistake(r"Unsupported syntax", _NO_LISTS, line=r"[\[{]\s*[\]}]|append"),
    Mistake(
        r"Raised exception must be wrapped",
        "kernels raise only errors that are found while they compile: use `ct.assert_` for values",
    ),
    Mistake(
        r"Unsupported syntax",
        "kernels have no `try` and no classes: test with `if`, or check before the launch",
    ),
    Mistake(r"Tile kernels cannot return values", "a kernel returns nothing: store the tile in an array parameter"),
    Mistake(
        r"Expected a dtype constant, but given value has type <string constant '(\w+)'",
        "types are values of cuda.tile, not texts",
        r"""["'](\w+)["']""",
        r"ct.\1",
    ),
    Mistake(r"Type of `(\w+)` depends on path taken", f"{_LOOP_TYPE}, as `{{1}} = ct.zeros((16,), ct.float32)`"),
    Mistake(
        r"mma\(\): missing a required argument: 'acc'",
        "`ct.mma` adds to an accumulator: begin with zeros of the result's shape, in float32",
        r"ct\.mma\((\w+), ?(\w+)\)",
        r"ct.mma(\1, \2, acc)",
    ),
    Mistake(
        r"(load|store)\(\): got an unexpected keyword argument 'mask'",
        "tiles at the end of an array are masked anyway: state padding_mode for loads, or use ct.gather with a mask",
        r", ?mask ?= ?[^,)]+",
        "",
    ),
    Mistake(r"Expected a tile, but given value has type <string constant", "pass a number, not a text"),
    Mistake(r"has no len\(\)", "use the shape, which has all extents", r"len\((\w+)\)", r"\1.shape[0]"),
    Mistake(r"item #\d+ has type Tile\[float", "an index is a whole number: divide with `//`", r"(?<!/)/(?!/)", "//"),
    Mistake(r"Axis (-?\d+) is out of range for rank (\d+)", "axes count from 0: the last one of rank {2} is -1"),
    Mistake(r"Undefined variable (\w+)", "assign it before, on every path, or pass it as a parameter"),
)

TRITON: Final = (
    Mistake(r"arange's arguments must be of type tl\.constexpr", _CONSTANT.format("n: tl.constexpr")),
    Mistake(r"arange's range must be a power of 2", _POWER_OF_TWO),
    Mistake(
        r"Unsupported function referenced",
        "functions of torch and NumPy do not compute with tensors of Triton: use those of triton.language",
        r"\b(?:torch|np|numpy)\.(\w+)\(",
        r"tl.\1(",
    ),
    Mistake(
        r"incompatible dimensions at index \d+: (\d+) and (\d+)",
        "extents must be equal or 1: add a dimension with `[:, None]` or `[None, :]`, or use one block size",
    ),
    Mistake(r"Boolean value of Tensor with more than one value", _CONDITION.format("tl.where(c, a, b)")),
    Mistake(
        r"unsupported tensor index",
        "a tensor has no ranges: compute the offsets of the part that you need, and load them",
    ),
    Mistake(
        r"Did you forget to add @triton\.jit",
        "a pointer has no elements to index: load from the pointer plus offsets",
        r"(\w+)\[(\w+)\]",
        r"tl.load(\1 + \2)",
    ),
    Mistake(r"Unsupported [lr]hs dtype", "operands of tl.dot have one type: convert one with .to()"),
    Mistake(
        r"Cannot access global variable (\w+)",
        "kernels read no global variables: pass `{1}` as a parameter, or make it `{1} = tl.constexpr(..)`",
    ),
    Mistake(r"Loop-carried variable (\w+) has", f"{_LOOP_TYPE}, as `{{1}} = tl.zeros((16,), tl.float32)`"),
    Mistake(
        r"missing a required argument: 'dtype'",
        "state the type, too",
        r"tl\.zeros\((\w+)\)",
        r"tl.zeros((\1,), tl.float32)",
    ),
    Mistake(
        r"Value argument cannot be block type if pointer argument is not a block",
        "one pointer stores one element: add the offsets of the block to it",
    ),
    Mistake(r"invalid axis (-?\d+)", "axes count from 0, and -1 is the last"),
    Mistake(r"has no attribute append", _NO_LISTS),
    Mistake(
        r"'str' object has no attribute 'scalar'", "types are values of triton.language", r"""["'](\w+)["']""", r"tl.\1"
    ),
    Mistake(
        r"'tensor' object has no attribute 'transpose'", "use the function", r"(\w+)\.transpose\(\)", r"tl.trans(\1)"
    ),
    Mistake(r"object of type 'tensor' has no len\(\)", "a pointer has no size: pass it as a parameter"),
    Mistake(r"list index out of range", "a pointer has no shape: pass the sizes as parameters", line=r"\.shape\b"),
    Mistake(
        r"program_id\(\) missing 1 required positional argument",
        "name the axis of the grid",
        r"program_id\(\)",
        "program_id(0)",
    ),
    Mistake(
        r"unsupported AST node type: (Break|Continue)",
        "loops of Triton have no break and no continue: use `while` with a condition, or a mask",
    ),
    Mistake(r"KeyError\('(?:[\w<>]+\.)*\w+?__\w*'\)", "a function cannot call itself: write a loop"),
    Mistake(r"NameError\('(\w+) is not defined", "assign `{1}` before, on every path, or pass it as a parameter"),
)

_ATTRIBUTE: Final = re.compile(r"[Mm]odule '(cuda\.tile|triton\.language)' has no attribute '(\w+)'")
_ELSEWHERE: Final = {
    "program_id": "bid",
    "num_programs": "num_blocks",
    "block_id": "bid",
    "blockIdx": "bid",
    "dot": "mma(a, b, acc)",
    "concat": "cat",
    "concatenate": "cat",
    "trans": "transpose",
    "relu": "maximum(x, 0)",
    "bid": "program_id",
    "mma": "dot(a, b, acc)",
    "gather_load": "gather",
    "float": "float32",
    "half": "float16",
    "atomic_sub": "atomic_add(.., -value)",
    "clip": "minimum(maximum(x, low), high)",
    "power": "pow",
    "empty": "zeros",
    "sigmoid": "exp(-x), as in 1 / (1 + exp(-x))",
}
"""Names of other libraries, and what does the same, where the library has it; with arguments if these differ."""


def compile_help(message: str, line: str, mistakes: Iterable[Mistake], library: ModuleType) -> str:
    """The help for an error of a compiler at a line of the source; empty if there is none.

    `library` is `cuda.tile` or `triton.language`, for names that it does not have."""
    if unknown := _ATTRIBUTE.search(message):
        return _close_name(unknown[2], line, library)
    for mistake in mistakes:
        found = re.search(mistake.message, message)
        if found is None or (mistake.line and not re.search(mistake.line, line)):
            continue
        text = mistake.help.format("", *found.groups()) if "{" in mistake.help else mistake.help
        changed = re.sub(mistake.wrong, mistake.right, line.strip()) if mistake.wrong else line.strip()
        return f"help: {text}" if changed == line.strip() else f"help: {text}:\n    {changed}"
    return ""


def source_line(file: str | None, number: int) -> str:
    """A line of a file that Python has read; empty if there is none."""
    return linecache.getline(file or "", number)


def _close_name(name: str, line: str, library: ModuleType) -> str:
    known = [each for each in dir(library) if not each.startswith("_")]
    short = "ct" if library.__name__ == "cuda.tile" else "tl"
    other = _ELSEWHERE.get(name, "")
    if re.match(r"\w*", other)[0] in known:  # type: ignore[index]
        close = other
    else:
        close = next(iter(close_names(name, known)), "")
    if not close:
        return f"help: write it as Python does: {name}(..)" if hasattr(builtins, name) else ""
    if not close.isidentifier():
        return f"help: `{short}.{close}` does that"
    changed = re.sub(rf"\.{name}\b", f".{close}", line.strip())
    return f"help: did you mean `{short}.{close}`:\n    {changed}"
