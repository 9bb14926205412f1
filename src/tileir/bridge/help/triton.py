"""Errors of Triton's compiler."""

from __future__ import annotations

import re
from typing import Final

from tileir.bridge.help.source import (
    Changes,
    Place,
    annotated,
    anywhere,
    first_of,
    here,
    next_power_of_two,
    selected,
)
from tileir.bridge.help.table import Mistake, close_name

_ACCESS: Final = r"tl\.(?:load|store)\((\w+) \+ ([^,()]+?)(?:,|\))"
_SIZES: Final = ("n_elements", "n", "N", "size", "numel", "n_cols", "n_rows", "num_elements", "length")


def mask_for(place: Place, offsets: str) -> str:
    """The mask of some offsets: that of another access at them, a comparison that is there, or one with the size."""
    for line in place.kernel_lines():
        if re.search(rf"\+ {re.escape(offsets)}\b", line) and (found := re.search(r"mask ?= ?([^,()]+)", line)):
            return found[1].strip()
    if found := place.first(rf"^\s*(\w+) = {re.escape(offsets)} < \w+\s*$"):
        return found[1]
    size = next((name for name in place.parameters() if name in _SIZES), "")
    return f"{offsets} < {size}" if size else ""


def _masked(text: str, mask: str) -> str:
    return f"{text}, mask={mask}" if mask else text


def _elements(place: Place) -> Changes:
    """Load from, or store to, a pointer plus offsets."""
    line, parameters = place.line, place.parameters()
    if (stored := re.match(r"(\s*)(\w+)\[(\w+)\] = (.*)$", line)) and stored[2] in parameters:
        text = _masked(f"tl.store({stored[2]} + {stored[3]}, {stored[4]}", mask_for(place, stored[3]))
        return {place.number: f"{stored[1]}{text})"}

    def load(found: re.Match[str]) -> str:
        if found[1] not in parameters:
            return found[0]
        return _masked(f"tl.load({found[1]} + {found[2]}", mask_for(place, found[2])) + ")"

    return {place.number: re.sub(r"\b(\w+)\[(\w+)\]", load, line)}


def with_mask(place: Place) -> Changes:
    """Mask the access of the line."""

    def change(found: re.Match[str]) -> str:
        mask = mask_for(place, found[3])
        return _masked(found[1], mask) + found[4] if mask else found[0]

    load = r"(tl\.load\((\w+) \+ ([^,()]+))((?:, ?other ?=[^,()]*)?\))"
    store = r"(tl\.store\((\w+) \+ ([^,()]+), .*)(\))$"
    return {place.number: re.sub(store if "tl.store" in place.line else load, change, place.line)}


def _offsets(place: Place) -> Changes:
    """Store at the offsets at which the kernel loads."""
    found = place.first(_ACCESS)
    return here(r"tl\.(store|load)\((\w+),", rf"tl.\1(\2 + {found[2]},")(place) if found else {}


def _power_of_two(place: Place) -> Changes:
    """The next power of two: in the line, or where the constant is passed."""
    bounds = re.search(r"arange\(([^()]*)\)", place.line)
    last = bounds[1].split(",")[-1].strip() if bounds else ""
    if last.isdecimal():
        return here(rf"\b{last}\b", next_power_of_two(last))(place)
    return anywhere(rf"\b{last} ?= ?(\d+)\b", lambda found: f"{last}={next_power_of_two(found[1])}")(place)


_CONDITION: Final = (
    "a comparison of tensors is a tensor of booleans, and `if` and `while` need one: select with tl.where(c, a, b)"
)
_LOOP_TYPE: Final = (
    "a variable that a loop changes keeps its type: begin with a tensor of the shape and type that the loop computes"
)
_TORCH: Final = "functions of torch and NumPy do not compute with tensors of Triton: use those of triton.language"
_NO_LISTS: Final = "kernels have no lists that grow: keep one tensor with one more dimension, or a tuple"
_KEYWORDS: Final = {"dim": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims"}

TRITON: Final = (
    Mistake(
        r"arange's arguments must be of type tl\.constexpr|Shape element \d+ must have type `constexpr",
        "shapes are known when a kernel is compiled: declare the parameter as a constant, or write a number",
        annotated("tl.constexpr"),
    ),
    Mistake(
        r"arange's range must be a power of 2",
        "extents of tensors are powers of two: use the next larger one, and mask what is past the array",
        _power_of_two,
    ),
    Mistake(r"Unsupported function referenced", _TORCH, here(r"\b(?:torch|np|numpy)\.(\w+)\(", r"tl.\1(")),
    Mistake(
        r"'torch\.dtype' object has no attribute|Type 'torch|of type torch\.",
        "types are values of triton.language",
        here(r"\btorch\.(\w+)", r"tl.\1"),
    ),
    Mistake(
        r"incompatible dimensions at index \d+: (\d+) and (\d+)",
        "extents must be equal or 1: add a dimension with `[:, None]` or `[None, :]`, or use one block size",
    ),
    Mistake(
        r"must have equal ranks >= 2",
        "operands of tl.dot are matrices: give their offsets two dimensions with `[:, None]` and `[None, :]`",
    ),
    Mistake(
        r"Boolean value of Tensor with more than one value|Ternary expression with dynamic condition",
        _CONDITION,
        selected("tl.where"),
    ),
    Mistake(
        r"unsupported tensor index",
        "a tensor has no ranges: compute the offsets of the part that you need, and load them",
    ),
    Mistake(
        r"Did you forget to add @triton\.jit|__setitem__ is not supported",
        "a pointer has no elements: load and store at the pointer plus offsets, and select in tensors with tl.where",
        _elements,
    ),
    Mistake(
        r"accumulator shape is incompatible",
        "the accumulator has the shape of the product: begin with tl.zeros((rows, columns), tl.float32)",
    ),
    Mistake(
        r"same dtype\. Got|Unsupported [lr]hs dtype",
        "operands of tl.dot have one type: convert one",
        here(r"tl\.dot\((\w+), (\w+)", r"tl.dot(\1, \2.to(\1.dtype)"),
    ),
    Mistake(
        r"Expected dtype \['fp32', 'fp64'\] but got (\w+)",
        "this function computes in float32: convert the operand",
        here(
            r"tl\.(?:math\.)?(exp|exp2|log|log2|sqrt|sin|cos|erf|rsqrt|sigmoid)\((\w+)\)", r"tl.\1(\2.to(tl.float32))"
        ),
    ),
    Mistake(
        r"Cannot access global variable (\w+)",
        "kernels read no global variables that may change: make it a constant, or pass it as a parameter",
        anywhere(r"^<1> = (.+)$", r"<1> = tl.constexpr(\1)"),
    ),
    Mistake(r"Loop-carried variable (\w+) has", f"{_LOOP_TYPE}, as `{{1}} = tl.zeros((16,), tl.float32)`"),
    Mistake(
        r"missing a required argument: 'dtype'",
        "state the type of the elements",
        first_of(
            here(r"tl\.(zeros|full)\((\w+)\)", r"tl.\1((\2,), tl.float32)"),
            here(r"tl\.(zeros|full)\(([^()]*\([^()]*\)[^()]*)\)", r"tl.\1(\2, tl.float32)"),
        ),
    ),
    Mistake(
        r"multiple values for argument 'dtype'",
        "a shape is one tuple",
        here(r"tl\.(zeros|full)\((\w+(?:, ?\w+)+), ?dtype", r"tl.\1((\2), dtype"),
    ),
    Mistake(
        r"Value argument cannot be block type if pointer argument is not a block|Mask argument cannot be block type",
        "one pointer is one element: add the offsets of the block to it",
        _offsets,
    ),
    Mistake(
        r"`?other`? (?:argument )?cannot be provided without `?mask",
        "`other` is what masked elements are: state the mask, too",
        with_mask,
    ),
    Mistake(
        r"invalid axis -?\d+\.\d",
        "tl.max and tl.min reduce one tensor: the larger or smaller of two is tl.maximum or tl.minimum",
        here(r"\btl\.(max|min)\((\w+, ?-?\d)", r"tl.\1imum(\2"),
    ),
    Mistake(
        r"invalid axis (-?\d+)\. Expected -\d+ <= axis < (\d+)",
        "axes count from 0, and there are {2}",
        here(r"axis ?= ?<1>", lambda _: "axis=0"),
    ),
    Mistake(
        r"got an unexpected keyword argument '(?:" + "|".join(_KEYWORDS) + r")'",
        "triton.language names these arguments axis and keep_dims",
        here(r"\b(" + "|".join(_KEYWORDS) + r")(?= ?=(?!=))", lambda found: _KEYWORDS[found[1]]),
    ),
    Mistake(r"has no attribute append", _NO_LISTS),
    Mistake(
        r"'str' object has no attribute 'scalar'",
        "types are values of triton.language, not texts",
        here(r"""["'](\w+)["']""", r"tl.\1"),
    ),
    Mistake(
        r"'tensor' object has no attribute '(?:transpose|t)'",
        "use the function",
        here(r"(\w+|tl\.\w+\((?:[^()]|\([^()]*\))*\))\.(?:transpose|t)\(\)", r"tl.trans(\1)"),
    ),
    Mistake(r"object of type 'tensor' has no len\(\)", "a pointer has no size: pass it as a parameter"),
    Mistake(r"list index out of range", "a pointer has no shape: pass the sizes as parameters", line=r"\.shape\b"),
    Mistake(
        r"program_id\(\) missing 1 required positional argument",
        "name the axis of the grid",
        here(r"program_id\(\)", "program_id(0)"),
    ),
    Mistake(
        r"unsupported AST node type: (?:Break|Continue)",
        "loops of Triton run to their end: shorten the range, loop with `while`, or mask what is past the end",
    ),
    Mistake(r"KeyError\('(?:[\w<>]+\.)*\w+?__\w*'\)", "a function cannot call itself: write a loop"),
    Mistake(
        r"Only `range` and `static_range` iterators",
        "loops count with `range`",
        here(r"in tl\.arange\((.*)\):", r"in range(\1):"),
    ),
    Mistake(
        r"f-string containing non-constexpr",
        "texts are known when a kernel is compiled: pass the values after the text",
        here(r"""print\(f(["'])([^{}]*?)[:=]? ?\{(\w+)\}["']\)""", r"print(\1\2\1, \3)"),
    ),
    Mistake(
        r"Unsupported ptr type",
        "a number is no pointer: pass the tensor itself, not its address",
        anywhere(r"(kernel|\w+)(\[.*\]\(.*)\.data_ptr\(\)", r"\1\2"),
    ),
    Mistake(
        r"NameError\('(\w+) is not defined", "assign `{1}` before, on every path, or pass it as a parameter", close_name
    ),
)
