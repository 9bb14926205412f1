"""How messages spell numbers, indices and tile blocks, and what a cuTile script calls arguments and dtypes."""

from __future__ import annotations

import re
from typing import Any, Final

from tileir.ir.core import Operation
from tileir.ir.quoting import several as several


def parenthesized(block: tuple[int, ...]) -> str:
    return f"({', '.join([str(number) for number in block])})"


def bracketed(index: tuple[int, ...]) -> str:
    return f"[{', '.join([str(number) for number in index])}]"


def python_shape(shape: tuple[int, ...]) -> str:
    """A shape as Python writes it: `(4,)`."""
    return f"({', '.join([str(extent) for extent in shape])}{',' if len(shape) == 1 else ''})"


def spelled_number(value: Any) -> str:
    """A number of a tile, to six digits."""
    # Imported here: the other messages work without NumPy.
    import numpy

    return str(int(value)) if isinstance(value, (numpy.bool_, numpy.integer)) else f"{float(value):.6g}"


# Integers of tiles have no sign of their own.
DTYPES = {
    **{f"i{width}": f"int{width}" for width in (8, 16, 32, 64)},
    "i1": "bool",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "tf32": "tfloat32",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
}

# The format of `argument_name` and `item_name`: a name that messages of every engine contain, not a message.
_ARGUMENT = re.compile(r"((?:item \d+ of )*)argument '([^']*)' of \S+")


def argument_name(name: str, kernel: str) -> str:
    return f"argument '{name}' of {kernel}"


def item_name(number: int, whole: str) -> str:
    """The name of an item of an argument that is a tuple or list, or of an item of such an item."""
    return f"item {number} of {whole}"


def items_of(name: str) -> list[int]:
    """The numbers of the items in a name, the innermost one first."""
    found = _ARGUMENT.search(name)
    return [int(number) for number in re.findall(r"\d+", found[1])] if found is not None else []


def script_name(what: str) -> str:
    """What a script calls an argument: `x`, or `xs[1]` for an item of a tuple or list."""
    found = _ARGUMENT.search(what)
    if found is None:
        return what
    return found[2] + "".join([f"[{number}]" for number in reversed(items_of(what))])


def in_script_names(text: str) -> str:
    """A text with the arguments of a cuTile kernel by the names they have in it."""
    return _ARGUMENT.sub(lambda found: script_name(found[0]), text)


# What stands in a phrase for its operation, a second one, the array that the first accesses, and its operator's symbol.
THIS: Final = "\1"
OTHER: Final = "\2"
ARRAY: Final = "\3"
SYMBOL: Final = "\4"


class Phrase(str):
    """A text about one or two operations of a tile program, and `script`: the same for the author of a cuTile script;
    `infix` if that has an operator there, `unchecked` if an access with `check_bounds=False`."""

    script: str
    infix: str
    unchecked: str

    def __new__(cls, text: str, script: str, infix: str = "", unchecked: str = "") -> Phrase:
        found = super().__new__(cls, text)
        found.script, found.infix, found.unchecked = script, infix, unchecked
        return found

    def __reduce__(self) -> tuple[type[Phrase], tuple[str, str, str, str]]:
        return Phrase, (str(self), self.script, self.infix, self.unchecked)


def phrase(
    text: str,
    this: Operation | None = None,
    other: Operation | None = None,
    *,
    script: str | None = None,
    infix: str = "",
) -> str:
    """A `Phrase`: a text with marks, which are mnemonics in the tile program; `script` where cuTile has other terms."""
    plain = text.replace(THIS, this.declaration.mnemonic) if this is not None else text
    plain = plain.replace(OTHER, other.declaration.mnemonic) if other is not None else plain
    return Phrase(plain, text if script is None else script, infix)


TRITON: Final = "Triton"
"""The producer that modules name which were kernels of Triton."""
CUTILE_ORDER: Final = "cuTile orders accesses to one array, and assumes that different arrays share no memory"
CUTILE_ORDER_HINT: Final = "pass arrays that share no memory, or the same array for both"
CUTILE_SCOPE_HINT: Final = "BLOCK covers only one tile block: use DEVICE"
_IN_TRITON: Final = {
    CUTILE_ORDER: "the threads of a program run at once: only a barrier orders what they read and write",
    CUTILE_ORDER_HINT: "add tl.debug_barrier() between the two",
    CUTILE_SCOPE_HINT: "the scope 'cta' covers only one program: use 'gpu'",
}


def is_of_triton(operation: Operation) -> bool:
    """Whether an operation is in a module that was made of Triton's kernels."""
    module: Operation | None = operation
    while module is not None and "producer" not in module.attributes:
        module = module.parent_operation
    return module is not None and module.producer == TRITON


def in_triton(text: str) -> str:
    """A message for the author of a cuTile script, in terms of Triton."""
    return _IN_TRITON.get(text, text).replace("ct.", "tl.")


def in_script(text: str) -> str:
    """The version of a text for the author of a script, with marks."""
    return text.script if isinstance(text, Phrase) else text
