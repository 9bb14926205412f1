"""Errors of cuTile's compiler."""

from __future__ import annotations

import ast
import re
from typing import Final

from tileir.bridge.help.source import (
    LOAD,
    STORE,
    Changes,
    Correction,
    Place,
    above,
    annotated,
    first_of,
    here,
    next_power_of_two,
    selected,
)
from tileir.bridge.help.table import Mistake, close_name

_NUMBER: Final = r"(?<![\w.])(\d+)(?![\w.])"
_MEMORY: Final = re.compile(r"ct\.(?:load|store|gather|scatter|atomic_\w+|num_tiles)\((?:array ?= ?)?$")
_METHODS: Final = {
    "to": "{0}.astype({1})",
    "float": "{0}.astype(ct.float32)",
    "half": "{0}.astype(ct.float16)",
    "int": "{0}.astype(ct.int32)",
    "view": "{0}.reshape({1})",
    "T": "ct.transpose({0})",
    "t": "ct.transpose({0})",
    "clone": "{0}",
    "contiguous": "{0}",
    "relu": "ct.maximum({0}, 0)",
    "unsqueeze": "ct.expand_dims({0}, {1})",
}
"""Methods of other libraries, and what does the same with a tile."""
_FUNCTIONS: Final = (
    "abs|argmax|argmin|cos|cumsum|exp|exp2|floor|log|log2|max|min|pow|prod|reshape|rsqrt|sin|sqrt|sum|tanh"
)


def _index_and_shape(place: Place, array: str = "") -> tuple[str, str]:
    """The index and the shape of a tile that the kernel already loads or stores, of this array if it does."""
    loads = [found for line in place.kernel_lines() for found in re.finditer(LOAD, line)]
    loads.sort(key=lambda found: found[1] != array)
    if loads:
        return loads[0][2], loads[0][3]
    stored = place.first(STORE)
    return (stored[2] if stored else "(ct.bid(0),)"), "(128,)"


def _array_as_tile(place: Place) -> Changes:
    """Load a tile of each array that stands in the line as an operand."""
    line = place.line

    def load(found: re.Match[str]) -> str:
        name = found[0]
        if name not in place.arrays or _MEMORY.search(line[: found.start()]):
            return name
        index, shape = _index_and_shape(place, name)
        return f"ct.load({name}, {index}, {shape})"

    return {place.number: re.sub(r"(?<![\w.])[A-Za-z_]\w*(?![\w.\[(]| ?=(?!=))", load, line)}


def _subscript(place: Place) -> Changes:
    """Elements of an array as tiles: `x[i]`, `x[i * 16:(i + 1) * 16]`."""

    def tile(name: str, inside: str) -> tuple[str, str]:
        extent = re.match(r"(\w+) ?\* ?(\w+) ?:", inside)
        _, shape = _index_and_shape(place, name)
        index = extent[1] if extent else inside.partition(":")[0].strip()
        index = index if "," in index else f"{index},"
        return f"({index})", f"({extent[2]},)" if extent else shape

    line = place.line
    if stored := re.match(r"(\s*)(\w+)\[(.+?)\] = (.*)$", line):
        return {place.number: f"{stored[1]}ct.store({stored[2]}, {tile(stored[2], stored[3])[0]}, {stored[4]})"}
    if added := re.match(r"(\s*)(\w+)\[(.+?)\] \+= (.*)$", line):
        return {place.number: f"{added[1]}ct.atomic_add({added[2]}, {added[3]}, {added[4]})"}

    def load(found: re.Match[str]) -> str:
        return f"ct.load({found[1]}, {', '.join(tile(found[1], found[2]))})" if found[1] in place.arrays else found[0]

    return {place.number: re.sub(r"\b(\w+)\[([^\]]+)\]", load, line)}


def _rank(group: int, filler: str, *, in_front: bool) -> Correction:
    """Make the index or the shape of an access as long as the array has axes."""

    def change(place: Place) -> Changes:
        rank = int(place.found[1])

        def fit(found: re.Match[str]) -> str:
            words = [word.strip() for word in found[group].strip("()").split(",") if word.strip()]
            more = [filler] * max(rank - len(words), 0)
            words = ([*more, *words] if in_front else [*words, *more])[-rank:] if in_front else [*words, *more][:rank]
            text = f"({', '.join(words)}{',' if len(words) == 1 else ''})"
            start, end = found.start(group) - found.start(), found.end(group) - found.start()
            return found[0][:start] + text + found[0][end:]

        before, access = place.line[: place.column], place.line[place.column :]
        return {place.number: before + re.sub(STORE if access.startswith("ct.store") else LOAD, fit, access, count=1)}

    return change


def _logic(place: Place) -> Changes:
    """`&`, `|` and `~` instead of `and`, `or` and `not`."""
    text = place.line.strip()
    try:
        tree = ast.parse(text + (" pass" if text.endswith(":") else ""))
    except SyntaxError:
        return {}

    class Bitwise(ast.NodeTransformer):
        def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
            self.generic_visit(node)
            operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
            result = node.values[0]
            for value in node.values[1:]:
                result = ast.BinOp(result, operator, value)
            return result

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
            self.generic_visit(node)
            return ast.UnaryOp(ast.Invert(), node.operand) if isinstance(node.op, ast.Not) else node

    changes: list[tuple[int, int, str]] = []
    for node in ast.walk(tree):
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.expr) and (isinstance(node, ast.BoolOp) or is_not):
            start, end = node.col_offset, node.end_col_offset or 0
            if not any(first <= start and end <= last for first, last, _ in changes):
                changes.append((start, end, ast.unparse(Bitwise().visit(node))))
    for start, end, changed in sorted(changes, reverse=True):
        text = text[:start] + changed + text[end:]
    return {place.number: place.line[: len(place.line) - len(place.line.lstrip())] + text}


def _method(place: Place) -> Changes:
    """The function of cuTile for a method of another library."""
    name, line = place.found[1], place.line.strip()
    try:
        tree = ast.parse(line)
    except SyntaxError:
        return {}
    for node in ast.walk(tree):
        call = node if isinstance(node, ast.Call) else None
        attribute = call.func if call is not None else node
        if not isinstance(attribute, ast.Attribute) or attribute.attr != name:
            continue
        template = _METHODS.get(name, f"ct.{name}({{0}}{', {1}' if call and (call.args or call.keywords) else ''})")
        words = [ast.unparse(each) for each in (*call.args, *call.keywords)] if call is not None else []
        if "{1}" in template and not words:
            return {}
        text = template.format(ast.unparse(attribute.value), ", ".join(words))
        start, end = node.col_offset, node.end_col_offset or 0  # type: ignore[attr-defined]
        return {place.number: place.line.replace(line, line[:start] + text + line[end:])}
    return {}


def _loop_type(place: Place) -> Changes:
    """Begin with a tile of the shape and type that the loop computes."""
    name, dtype, extents, number = place.found[1], place.found[2], place.found[3], int(place.found[4])
    found = re.match(rf"(\s*{name} = )(.+)$", place.text(number))
    shape = f"({extents}{',' if extents and ',' not in extents else ''})".replace(",", ", ").replace(", )", ",)")
    if not found:
        return {}
    if zeros := re.match(r"ct\.(zeros|ones|full)\((.*), ?(?:dtype ?= ?)?ct\.\w+\)$", found[2]):
        return {number: f"{found[1]}ct.{zeros[1]}({zeros[2]}, ct.{dtype})"}
    is_zero = re.fullmatch(r"0(\.0*)?", found[2])
    value = f"ct.zeros({shape}, ct.{dtype})" if is_zero else f"ct.full({shape}, {found[2]}, ct.{dtype})"
    return {number: found[1] + value}


def _shapes(place: Place) -> Changes:
    """Use the shape that the kernel uses more often."""
    first, second = re.escape(f"({place.found[1]})"), re.escape(f"({place.found[2]})")
    text = "\n".join(place.kernel_lines())
    (wrong, count), (right, _) = sorted(
        [(each, len(re.findall(each, text))) for each in (first, second)],
        key=lambda pair: (pair[1], [int(number) for number in re.findall(r"\d+", pair[0])]),
    )
    if not count:
        return {}
    return above(wrong, wrong, right.replace("\\", ""))(place)


def _returned(place: Place) -> Changes:
    """Store what is returned in the array that the kernel does not use otherwise."""
    text = "\n".join(place.kernel_lines())
    unused = [name for name in place.arrays if not re.search(rf"ct\.\w+\({name}\b", text)]
    value = re.match(r"(\s*)return (.+)$", place.line)
    if len(unused) != 1 or not value:
        return {}
    return {place.number: f"{value[1]}ct.store({unused[0]}, {_index_and_shape(place)[0]}, {value[2]})"}


def _scalar_index(place: Place) -> Changes:
    """Take the only element of a tile as the index."""
    item = int(place.found[1])

    def change(found: re.Match[str]) -> str:
        words = found[2].strip("()").split(",")
        words[item] = f"{words[item]}.item()"
        return found[0].replace(found[2], f"({','.join(words)})", 1)

    before, access = place.line[: place.column], place.line[place.column :]
    return {place.number: before + re.sub(STORE if access.startswith("ct.store") else LOAD, change, access, count=1)}


_NO_LOGIC: Final = "`and`, `or` and `not` need single booleans: use `&`, `|` and `~` for tiles"
_CONDITION: Final = (
    "a comparison of tiles is a tile of booleans, and `if` and `while` need one: select with ct.where(c, a, b)"
)
_BOOLEANS: Final = r"Expected a scalar value, but given value has type Tile\[bool"
_ARRAY: Final = "an array is memory, not a tile: load a tile of it first, with an index in tiles and a shape"
_KEYWORDS: Final = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "padding": "padding_mode"}
_ACCUMULATE: Final = first_of(
    here(r"(\w+) = \1 \+ ct\.(?:mma|dot)\(([^()]*)\)", r"\1 = ct.mma(\2, \1)"),
    here(r"(\w+) \+= ct\.(?:mma|dot)\(([^()]*)\)", r"\1 = ct.mma(\2, \1)"),
    here(r"ct\.dot\(([^(),]*,[^(),]*,[^()]*)\)", r"ct.mma(\1)"),
)
_NO_LISTS: Final = "kernels have no lists or dictionaries: keep one tile with one more dimension, or a tuple"

CUTILE: Final = (
    Mistake(r"Unsupported operand types for .*Array\[", _ARRAY, _array_as_tile),
    Mistake(r"Expected a (?:tile|scalar|float)\b.*but given value has type Array\[", _ARRAY, _array_as_tile),
    Mistake(r"Arrays do not support item assignment", "store a tile, with an index in tiles", _subscript),
    Mistake(
        r"Arrays are not directly subscriptable",
        "load a tile, with an index in tiles and a shape that is constant",
        _subscript,
    ),
    Mistake(r"slices are not supported", "a tile of an array has an index in tiles, not a range", _subscript),
    Mistake(
        r"Dimension #\d+ of shape .* is not a power of two",
        "extents of tiles are powers of two: use the next larger one; what is past the array is masked",
        here(_NUMBER, lambda found: found[1] if found[1] == "0" else next_power_of_two(found[1])),
    ),
    Mistake(
        r"Index size \d+ does not match the array rank (\d+)",
        "give one index in tiles for each dimension of the array: {1}",
        _rank(2, "0", in_front=False),
    ),
    Mistake(
        r"Expected shape length to be (\d+), got \d+",
        "a tile has as many dimensions as its array: {1}; those of one element have extent 1",
        _rank(3, "1", in_front=True),
    ),
    Mistake(
        r"Shapes are not broadcastable: \(([^)]*)\), \(([^)]*)\)",
        "extents must be equal or 1: load both tiles with one shape, or reshape one so that its extents are 1",
        _shapes,
    ),
    Mistake(
        r"Unsupported operand types for .*None",
        "kernels compute nothing with None: pass a number, or leave the operand out with `if` on a constant",
    ),
    Mistake(_BOOLEANS, _NO_LOGIC, _logic, r"\b(?:and|or|not)\b"),
    Mistake(_BOOLEANS, _CONDITION, selected("ct.where")),
    Mistake(
        r"(?:Expected a constant integer tuple|Expected an integer constant), but given value is not constant",
        "shapes are known when a kernel is compiled: declare the parameter as a constant, or write a number",
        annotated("ct.Constant[int]"),
    ),
    Mistake(
        r"Cannot create constant from value of type (?:numpy|builtin_function|function|torch)|Unsupported.*torch",
        "functions of NumPy and torch do not compute with tiles: use those of cuda.tile",
        here(r"\b(?:np|numpy|torch|F)\.(\w+)\(", r"ct.\1("),
    ),
    Mistake(
        r"\w+\(\) is not supported in device code",
        "only functions of cuda.tile compute with tiles",
        here(r"\b(?:math|np|numpy|torch)\.(\w+)\(", r"ct.\1("),
    ),
    Mistake(
        r"No such attribute '(" + _FUNCTIONS + "|" + "|".join(_METHODS) + r")' for object of type Tile",
        "tiles have few methods: use what cuda.tile has",
        _method,
    ),
    Mistake(r"Tiles are immutable", "tiles do not change: make a new one with ct.where, which selects by a mask"),
    Mistake(r"Unsupported syntax", "kernels have no comprehensions: add to one tile in a `for` loop", line=r"\bfor\b"),
    Mistake(r"Unsupported syntax", _NO_LISTS, line=r"[\[{]\s*[\]}]|append"),
    Mistake(
        r"Raised exception must be wrapped",
        "kernels raise only errors that are found while they compile: use `ct.assert_` for values",
    ),
    Mistake(r"Unsupported syntax", "kernels have no `try` and no classes: test with `if`, or check before the launch"),
    Mistake(
        r"Tile kernels cannot return values",
        "a kernel returns nothing: store the tile in an array parameter",
        _returned,
    ),
    Mistake(
        r"Expected a dtype constant, but given value has type <string constant '\w+'",
        "types are values of cuda.tile, not texts",
        here(r"""["'](\w+)["']""", r"ct.\1"),
    ),
    Mistake(
        r"Expected PaddingMode, but given value has type <string constant '(\w+)'",
        "padding modes are values of ct.PaddingMode, not texts",
        here(r"""["'](\w+)["']""", lambda found: f"ct.PaddingMode.{found[1].upper()}"),
    ),
    Mistake(
        r"arange\(\): missing a required argument: 'dtype'",
        "ct.arange needs the type of its elements",
        here(r"ct\.arange\(([^()]*)\)", r"ct.arange(\1, dtype=ct.int32)"),
    ),
    Mistake(
        r"arange\(\): too many positional arguments",
        "ct.arange counts from 0 and takes only the number of elements, and the type by name",
        here(r"ct\.arange\(0, ?", "ct.arange("),
    ),
    Mistake(
        r"(?:zeros|ones|full)\(\): missing a required argument: 'dtype'",
        "state the type of the elements",
        here(r"ct\.(zeros|ones|full)\(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"ct.\1(\2, ct.float32)"),
    ),
    Mistake(
        r"Type of `(\w+)` depends on path taken: Tile\[(\w+),\(([\d,]*)\)\] \(line \d+\) vs\. .*\(line (\d+)\)",
        "a variable that a loop changes keeps its type: begin with a tile of the shape and type that the loop computes",
        _loop_type,
    ),
    Mistake(
        r"mma\(\): missing a required argument: 'acc'",
        "`ct.mma` adds to an accumulator: begin with zeros of the result's shape, in float32",
        _ACCUMULATE,
    ),
    Mistake(
        r"has no attribute 'dot'", "matrices are multiplied by `ct.mma`, which adds to an accumulator", _ACCUMULATE
    ),
    Mistake(
        r"Expect acc shape to be \(([\d, ]+)\), got \(([\d, ]+)\)",
        "the accumulator has the rows of the first operand and the columns of the second",
        above(r"\(<2>\)", r"\(<2>\)", "(<1>)"),
    ),
    Mistake(
        r"x and y must have the same dtype",
        "both operands of `ct.mma` have one type: convert one",
        here(r"ct\.mma\((\w+), (\w+)", r"ct.mma(\1, \2.astype(\1.dtype)"),
    ),
    Mistake(
        r"Incompatible shapes for matrix mul on tiles: \((\d+), (\d+)\), \((\d+), (\d+)\)",
        "the columns of the first operand are the rows of the second",
        above(r"\(<1>, <2>\)", r"\(<1>, <2>\)", "(<1>, <3>)"),
    ),
    Mistake(
        r"(?:load|store)\(\): got an unexpected keyword argument '(mask|other|boundary_check|eviction_policy)'",
        "tiles at the end of an array are masked anyway: state padding_mode for loads, or use ct.gather with a mask",
        here(r", ?(?:mask|other|boundary_check|eviction_policy) ?= ?[^,()]*(?:\([^()]*\)[^,()]*)*", ""),
    ),
    Mistake(
        r"got an unexpected keyword argument '(?:" + "|".join(_KEYWORDS) + r")'",
        "cuda.tile names arguments as NumPy does: axis, keepdims, dtype",
        here(r"\b(" + "|".join(_KEYWORDS) + r")(?= ?=(?!=))", lambda found: _KEYWORDS[found[1]]),
    ),
    Mistake(
        r'Invalid argument "axis" of (max|min)\(\)',
        "ct.max and ct.min reduce one tile: the larger or smaller of two is ct.maximum or ct.minimum",
        here(r"\bct\.(max|min)\(", r"ct.\1imum("),
    ),
    Mistake(r"Expected a tile, but given value has type <string constant", "pass a number, not a text"),
    Mistake(r"has no len\(\)", "use the shape, which has all extents", here(r"len\((\w+)\)", r"\1.shape[0]")),
    Mistake(
        r"item #\d+ has type Tile\[float", "an index is a whole number: divide with `//`", here(r"(?<!/)/(?!/)", "//")
    ),
    Mistake(
        r"item #(\d+) has type Tile\[u?int\d+,\(1\)\]",
        "an index of a tile is a number, not a tile: take the element, or use ct.gather with indices of elements",
        _scalar_index,
    ),
    Mistake(
        r"Expected a range object, but given value has type Tile",
        "loops count with `range`",
        here(r"in ct\.arange\(([^,()]*)[^()]*\):", r"in range(\1):"),
    ),
    Mistake(
        r"Axis (-?\d+) is out of range for rank (\d+)",
        "axes count from 0: the last one of rank {2} is -1",
        here(r"axis ?= ?<1>", "axis=-1"),
    ),
    Mistake(r"bid\(\): missing a required argument: 'axis'", "name the axis of the grid", here(r"bid\(\)", "bid(0)")),
    Mistake(r"Undefined variable (\w+)", "assign `{1}` before, on every path, or pass it as a parameter", close_name),
)
