"""Operations on the elements of a tile together: shapes, reductions, scans."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from tests.hardware.agreement.program import Program, dtype_of
from tests.hardware.agreement.writing import ELEMENTS, FLOATS, Shape, evaluated, numbers, patterns, tile

# --- shapes ---


def shapes() -> Iterator[Program]:
    """Every operation that only moves elements; NaNs keep their bits."""
    for element, way in product(ELEMENTS, ("pointers", "views")):
        for name, body, inputs, outputs in _moves(element):
            details = {"moves": True, "operation": name}
            tiles: dict[str, tuple[str, Any]] = {key: (kind, None) for key, kind in inputs.items()}
            yield evaluated(f"shapes: {name} {element} {way}", body, tiles, outputs, details, way)
    for element in ("i8", "i16", "i32", "i64"):
        for count in (1, 2, 64, 256, 1024):
            kind = tile((count,), element)
            if element != "i8" or count <= 256:
                yield evaluated(
                    f"shapes: iota {count} {element}", f"%r = iota : {kind}", {}, {"r": kind}, {"moves": True}
                )
    for element in ELEMENTS:
        size = 1 if element == "i1" else dtype_of(element).itemsize
        if element == "i1":
            continue
        count = 16
        packed, kind = tile((count * size,), "i8"), tile((count,), element)
        details = {"moves": True, "operation": "pack"}
        given: dict[str, tuple[str, Any]] = {"x": (kind, None)}
        yield evaluated(f"shapes: pack {element}", f"%r = pack %x : {kind} -> {packed}", given, {"r": packed}, details)
        given = {"x": (packed, None)}
        yield evaluated(
            f"shapes: unpack {element}", f"%r = unpack %x : {packed} -> {kind}", given, {"r": kind}, details
        )


def _moves(element: str) -> Iterator[tuple[str, str, dict[str, str], dict[str, str]]]:
    source: Shape
    target: Shape

    def t(*shape: int) -> str:
        return tile(shape, element)

    for source, target in (
        ((4, 8), (8, 4)),
        ((64,), (2, 4, 8)),
        ((2, 4, 8), (64,)),
        ((256,), (16, 16)),
        ((1, 1), (1,)),
    ):
        yield (
            f"reshape {source} {target}", f"%r = reshape %x : {t(*source)} -> {t(*target)}", {"x": t(*source)}, {"r": t(*target)},
        )  # fmt: skip
    for source, order in (
        ((4, 8), (1, 0)),
        ((32, 64), (1, 0)),
        ((2, 4, 8), (2, 0, 1)),
        ((2, 4, 8), (0, 2, 1)),
        ((2, 2, 4, 8), (3, 1, 0, 2)),
    ):
        target = tuple([source[axis] for axis in order])
        yield (
            f"permute {source} {order}", f"%r = permute %x {list(order)} : {t(*source)} -> {t(*target)}",
            {"x": t(*source)}, {"r": t(*target)},
        )  # fmt: skip
    for source, target in (
        ((1, 8), (4, 8)),
        ((4, 1), (4, 8)),
        ((1,), (128,)),
        ((2, 1, 8), (2, 4, 8)),
        ((1, 1), (16, 16)),
    ):
        yield (
            f"broadcast {source} {target}", f"%r = broadcast %x : {t(*source)} -> {t(*target)}", {"x": t(*source)}, {"r": t(*target)},
        )  # fmt: skip
    for source, axis in (((8,), 0), ((4, 8), 0), ((4, 8), 1), ((2, 4, 8), 1)):
        target = tuple([extent * 2 if place == axis else extent for place, extent in enumerate(source)])
        yield (
            f"cat {source} {axis}", f"%r = cat %x, %y dim = {axis} : {t(*source)}, {t(*source)} -> {t(*target)}",
            {"x": t(*source), "y": t(*source)}, {"r": t(*target)},
        )  # fmt: skip
    for source, part, index in (
        ((4, 8), (2, 2), (1, 3)),
        ((16,), (4,), (2,)),
        ((2, 4, 8), (1, 2, 8), (1, 1, 0)),
        ((16, 16), (16, 1), (0, 5)),
    ):
        lines = "\n".join([f"%i{place} = constant <i32: {at}> : tile<i32>" for place, at in enumerate(index)])
        places = ", ".join([f"%i{place}" for place in range(len(index))])
        yield (
            f"extract {source} {part}", f"{lines}\n%r = extract %x[{places}] : {t(*source)} -> {t(*part)}",
            {"x": t(*source)}, {"r": t(*part)},
        )  # fmt: skip
        yield (
            f"insert {source} {part}", f"{lines}\n%r = insert %y, %x[{places}] : {t(*part)}, {t(*source)}",
            {"x": t(*source), "y": t(*part)}, {"r": t(*source)},
        )  # fmt: skip
    condition = "tile<4x8xi1>"
    yield (
        "select (4, 8)", f"%r = select %c, %x, %y : {condition}, {t(4, 8)}",
        {"c": condition, "x": t(4, 8), "y": t(4, 8)}, {"r": t(4, 8)},
    )  # fmt: skip
    yield "select ()", f"%r = select %c, %x, %y : tile<i1>, {t()}", {"c": "tile<i1>", "x": t(), "y": t()}, {"r": t()}


# --- reductions and scans ---

COMBINATIONS = {
    "addf": "addf %l, %m", "mulf": "mulf %l, %m", "maxf": "maxf %l, %m", "minf": "minf %l, %m",
    "maxf propagate_nan": "maxf %l, %m propagate_nan", "minf propagate_nan": "minf %l, %m propagate_nan",
    "addi": "addi %l, %m", "muli": "muli %l, %m", "andi": "andi %l, %m", "ori": "ori %l, %m", "xori": "xori %l, %m",
    "maxi signed": "maxi %l, %m signed", "maxi unsigned": "maxi %l, %m unsigned", "mini signed": "mini %l, %m signed",
    "mini unsigned": "mini %l, %m unsigned",
}  # fmt: skip
INFINITY = {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}
MINUS = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
REDUCED: tuple[tuple[Shape, int], ...] = (
    ((1,), 0), ((2,), 0), ((8,), 0), ((64,), 0), ((128,), 0), ((1024,), 0), ((4, 8), 0), ((4, 8), 1), ((64, 32), 0),
    ((32, 64), 1), ((2, 4, 8), 1),
)  # fmt: skip


def identity(combination: str, element: str) -> str:
    """The neutral element, as a GPU may use it any number of times."""
    name = combination.split()[0]
    if element[0] != "i":
        number = {"addf": "0.0", "mulf": "1.0", "maxf": MINUS[element], "minf": INFINITY[element]}[name]
        return f"{number} : {element}"
    width = 1 if element == "i1" else int(element[1:])
    signed = "unsigned" not in combination
    if name in ("maxi", "mini") and element == "i1":
        # A true i1 is -1 as a signed number.
        return "true" if (name == "maxi") == signed else "false"
    values = {
        "addi": 0, "muli": 1, "andi": -1, "ori": 0, "xori": 0,
        "maxi": -(1 << (width - 1)) if signed else 0, "mini": (1 << (width - 1)) - 1 if signed else -1,
    }  # fmt: skip
    if element == "i1":
        return "true" if values[name] else "false"
    return f"{values[name]} : {element}"


def aggregates(word: str, reverse: bool = False) -> Iterator[Program]:
    """`reduce` or `scan` of every combination, element type and some shapes."""
    for element in ("i1", "i8", "i16", "i32", "i64", *FLOATS):
        names = [name for name in COMBINATIONS if (name.split()[0][-1] == "f") == (element[0] != "i")]
        for combination, (shape, axis) in product(names, REDUCED):
            kinds = ("numbers", "patterns") if element[0] != "i" else ("patterns",)
            for values in kinds:
                yield aggregate(word, combination, element, shape, axis, values, reverse)


def aggregate(
    word: str, combination: str, element: str, shape: Shape, axis: int, values: str, reverse: bool = False
) -> Program:
    source = tile(shape, element)
    kept = shape if word == "scan" else tuple([extent for place, extent in enumerate(shape) if place != axis])
    result = tile(kept, element)
    scalar = f"tile<{element}>"
    backwards = f" reverse={'true' if reverse else 'false'}" if word == "scan" else ""
    body = (
        f"%r = {word} %x dim={axis}{backwards} identities=[{identity(combination, element)}] : {source} -> {result} "
        f"(%l: {scalar}, %m: {scalar}) {{\n%o = {COMBINATIONS[combination]} : {scalar}\nyield %o : {scalar}\n}}"
    )
    array = (numbers if values == "numbers" else patterns)(element, prod(shape), "x", values)
    details: dict[str, Any] = {
        "operation": f"{word} {combination}",
        "types": f"{combination} {element}",
        "values": values,
    }
    if combination == "addf":
        details["sum"] = {"kind": word, "operands": [[0, list(shape)]], "axis": axis, "reverse": reverse}
        details["limit"] = 4.0
    if combination == "mulf":
        details["factors"] = shape[axis]
    name = f"{word}: {combination} {element} {'x'.join(map(str, shape))} dim {axis} {values}{' reverse' if reverse else ''}"
    return evaluated(name, body, {"x": (source, array)}, {"r": result}, details)


def reductions() -> Iterator[Program]:
    yield from aggregates("reduce")
    yield from _places_of_the_most()


def _places_of_the_most() -> Iterator[Program]:
    """A reduction of two tiles at once."""
    for element, count in product(FLOATS, (8, 128, 1024)):
        kind, places = tile((count,), element), tile((count,), "i32")
        body = (
            f"%j = iota : {places}\n"
            f"%r, %s = reduce %x, %j dim=0 identities=[{MINUS[element]} : {element}, 2147483647 : i32] : {kind}, {places} -> tile<{element}>, tile<i32> "
            f"(%a: tile<{element}>, %b: tile<{element}>, %c: tile<i32>, %d: tile<i32>) {{\n"
            f"%more = cmpf greater_than ordered %a, %b : tile<{element}> -> tile<i1>\n"
            f"%equal = cmpf equal ordered %a, %b : tile<{element}> -> tile<i1>\n"
            "%before = cmpi less_than %c, %d, signed : tile<i32> -> tile<i1>\n"
            "%tie = andi %equal, %before : tile<i1>\n%take = ori %more, %tie : tile<i1>\n"
            f"%u = select %take, %a, %b : tile<i1>, tile<{element}>\n%v = select %take, %c, %d : tile<i1>, tile<i32>\n"
            f"yield %u, %v : tile<{element}>, tile<i32> }}"
        )
        array = numbers(element, count, "x")
        outputs = {"r": f"tile<{element}>", "s": "tile<i32>"}
        yield evaluated(
            f"reduce: place of the most {element} {count}", body, {"x": (kind, array)}, outputs, {"operation": "reduce"}
        )


def scans() -> Iterator[Program]:
    yield from aggregates("scan")
    yield from aggregates("scan", True)
