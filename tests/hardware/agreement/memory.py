"""Accesses to memory: views of every kind and padding, atomics, orders and scopes, masks, addresses, parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy
from tests.execute.cpu.memory_forms import FORMS, GLOBALS, HEAD, TAIL
from tests.hardware.agreement.program import Number, Program, dtype_of, generator, simple
from tests.hardware.agreement.writing import ELEMENTS, Shape, evaluated, numbers, patterns, pointers, tile

PADDINGS = ("", "zero", "neg_zero", "nan", "pos_inf", "neg_inf")


# --- views ---


class Case:
    """A tensor, the tiles of a view of it, and how its dimensions lie in memory."""

    def __init__(self, extents: Shape, tiles: Shape, order: Shape | None = None, gap: int = 0) -> None:
        self.extents = extents
        self.tiles = tiles
        self.order = order or tuple(range(len(extents)))
        strides = [1] * len(extents)
        step = 1
        for axis in reversed(range(len(extents))):
            strides[axis] = step
            step = step * extents[axis] + (gap if axis == len(extents) - 1 else 0)
        self.strides = tuple(strides)
        self.size = step

    @property
    def grid(self) -> tuple[int, int, int]:
        counts = [-(-self.extents[axis] // extent) for axis, extent in zip(self.order, self.tiles, strict=True)]
        counts += [1] * (3 - len(counts))
        return counts[0], counts[1], counts[2]

    def outside(self) -> list[int]:
        """The elements of all tiles, one after the other, that are not in the tensor."""
        found: list[int] = []
        x, y, z = self.grid
        for number in range(x * y * z):
            place = (number % x, number // x % y, number // (x * y))
            for element, inner in enumerate(numpy.ndindex(*self.tiles)):
                for axis, (tile_index, extent, offset) in enumerate(zip(place, self.tiles, inner, strict=False)):
                    if tile_index * extent + offset >= self.extents[self.order[axis]]:
                        found.append(number * prod(self.tiles) + element)
                        break
        return found


CASES = {
    "whole": Case((16,), (16,)), "edge": Case((27,), (8,)), "matrix": Case((5, 7), (4, 4)),
    "wide": Case((40, 72), (16, 32)), "transposed": Case((6, 20), (8, 4), (1, 0)), "gaps": Case((9, 12), (4, 8), None, 4),
    "cube": Case((3, 5, 6), (2, 4, 4)),
}  # fmt: skip


def tensor_type(case: Case, element: str, known: bool) -> str:
    extents = "x".join([str(extent) if known else "?" for extent in case.extents])
    strides = ",".join([str(stride) if known or stride == 1 else "?" for stride in case.strides])
    return f"tensor_view<{extents}x{element}, strides=[{strides}]>"


def view_copy(case: Case, element: str, padding: str, known: bool, direction: str) -> tuple[str, list[Any]]:
    """A kernel that copies the tiles of a view to an array, one after the other, or from there to the view."""
    tensor = tensor_type(case, element, known)
    padded = f"padding_value = {padding}, " if padding else ""
    mapped = "" if case.order == tuple(range(len(case.order))) else f", dim_map={list(case.order)}"
    view = f"partition_view<tile=({'x'.join(map(str, case.tiles))}), {padded}{tensor}{mapped}>"
    kind, count = tile(case.tiles, element), prod(case.tiles)
    names = ("x", "y", "z")[: len(case.tiles)]
    extents = [str(extent) if known else f"%n{place}" for place, extent in enumerate(case.extents)]
    strides = [str(stride) if known or stride == 1 else f"%s{place}" for place, stride in enumerate(case.strides)]
    dynamic = "" if known else "tile<i32> -> "
    given: list[Any] = []
    parameters = f"%a: tile<ptr<{element}>>, %b_p0: tile<ptr<{element}>>"
    for letter, values, texts in (("n", case.extents, extents), ("s", case.strides, strides)):
        for place, (value, text) in enumerate(zip(values, texts, strict=True)):
            if text.startswith("%"):
                parameters += f", %{letter}{place}: tile<i32>"
                given.append(Number("i32", value))
    index = ", ".join([f"%{name}" for name in names])
    point = tile(case.tiles, f"ptr<{element}>")
    if direction == "load":
        moved = (
            f"%v, %t = load_view_tko weak %view[{index}] : {view}, tile<i32> -> {kind}, token\n"
            f"%u = store_ptr_tko weak %b_q, %v : {point}, {kind} -> token\n"
        )
    else:
        moved = (
            f"%v, %t = load_ptr_tko weak %b_q : {point} -> {kind}, token\n"
            f"%u = store_view_tko weak %v, %view[{index}] : {kind}, {view}, tile<i32> -> token\n"
        )
    text = (
        f"cuda_tile.module @m {{ entry @k({parameters}) {{\n%x, %y, %z = get_tile_block_id : tile<i32>\n"
        "%gx, %gy, %gz = get_num_tile_blocks : tile<i32>\n"
        f"%tensor = make_tensor_view %a, shape = [{', '.join(extents)}], strides = [{', '.join(strides)}] : {dynamic}{tensor}\n"
        f"%view = make_partition_view %tensor : {view}\n"
        "%zy = muli %z, %gy : tile<i32>\n%line = addi %zy, %y : tile<i32>\n%lx = muli %line, %gx : tile<i32>\n"
        f"%number = addi %lx, %x : tile<i32>\n%each = constant <i32: {count}> : tile<i32>\n"
        "%first = muli %number, %each : tile<i32>\n"
        f"%b_p = offset %b_p0, %first : tile<ptr<{element}>>, tile<i32> -> tile<ptr<{element}>>\n"
        f"{pointers('b', kind)}{moved}return }} }}"
    )
    return text, given


def views() -> Iterator[Program]:
    for element in ELEMENTS:
        for name, case in CASES.items():
            paddings = PADDINGS if element[0] != "i" and name in ("edge", "matrix", "cube") else ("", "zero")
            for padding, known in product(paddings, (True, False)):
                yield _view_program(name, case, element, padding, known, "load")
            yield _view_program(name, case, element, "", False, "store")
    yield from gathers()


def _view_program(name: str, case: Case, element: str, padding: str, known: bool, direction: str) -> Program:
    text, given = view_copy(case, element, padding, known, direction)
    size = case.size
    tiles = prod(case.grid) * prod(case.tiles)
    operation = f"{direction}_view_tko"
    details: dict[str, Any] = {"moves": True, "operation": operation, "padding": padding}
    if not padding and direction == "load":
        details["unspecified"] = [1, case.outside()]
    arrays: list[Any] = [
        (element, patterns(element, size, "view") if direction == "load" else numpy.zeros(size, dtype_of(element))),
        (element, patterns(element, tiles, "tiles")),
    ]
    words = f"{'known' if known else 'dynamic'}{f' {padding}' if padding else ''}"
    return simple(f"views: {operation} {name} {element} {words}", text, [*arrays, *given], case.grid, details)


def gathers() -> Iterator[Program]:
    """Rows and columns by their numbers, some beyond the tensor."""
    for element, sparse, padding, store in product(ELEMENTS, (0, 1), ("", "zero", "nan"), (False, True)):
        if (padding == "nan" and element[0] == "i") or (store and padding):
            continue
        shape = (4, 8) if sparse == 0 else (8, 4)
        tiles = "x".join(map(str, shape))
        tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
        padded = f"padding_value = {padding}, " if padding else ""
        view = f"gather_scatter_view<tile=({tiles}), {padded}{tensor}, sparse_dim={sparse}>"
        index = "%rows, %at" if sparse == 0 else "%at, %rows"
        types = "tile<4xi32>, tile<i32>" if sparse == 0 else "tile<i32>, tile<4xi32>"
        kind, point = tile(shape, element), tile(shape, f"ptr<{element}>")
        moved = (
            f"%v, %t = load_view_tko weak %view[{index}] : {view}, {types} -> {kind}, token\n"
            f"%u = store_ptr_tko weak %b_q, %v : {point}, {kind} -> token\n"
        )
        if store:
            moved = (
                f"%v, %t = load_ptr_tko weak %b_q : {point} -> {kind}, token\n"
                f"%u = store_view_tko weak %v, %view[{index}] : {kind}, {view}, {types} -> token\n"
            )
        text = (
            f"cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %b_p: tile<ptr<{element}>>, %m: tile<i32>, %n: tile<i32>, %at: tile<i32>) {{\n"
            "%rows = constant <i32: [3, 0, 2, 9]> : tile<4xi32>\n"
            f"%tensor = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}\n"
            f"%view = make_gather_scatter_view %tensor : {view}\n{pointers('b', kind)}{moved}return }} }}"
        )
        arrays: list[Any] = [(element, patterns(element, 8 * 9, "view")), (element, patterns(element, 32, "tiles"))]
        numbers_given = [Number("i32", 8), Number("i32", 9), Number("i32", 3)]
        operation = "store_view_tko" if store else "load_view_tko"
        details: dict[str, Any] = {"moves": True, "operation": operation, "padding": padding}
        if not padding and not store:
            first, second = ([3, 0, 2, 9], range(3, 11)) if sparse == 0 else (range(3, 11), [3, 0, 2, 9])
            outside = [row >= 8 or column >= 9 for row in first for column in second]
            details["unspecified"] = [1, [place for place, is_outside in enumerate(outside) if is_outside]]
        name = f"views: {operation} gather {sparse} {element} {padding}".rstrip()
        yield simple(name, text, [*arrays, *numbers_given], details=details)


# --- pointers: masks, orders, scopes, every way to access ---


def accesses() -> Iterator[Program]:
    for element in ELEMENTS:
        kind, point = tile((64,), element), tile((64,), f"ptr<{element}>")
        given: dict[str, tuple[str, Any]] = {"x": (kind, None), "m": (tile((64,), "i1"), None)}
        loaded = f"%r, %t = load_ptr_tko weak %x_q, %m, %x : {point}, tile<64xi1>, {kind} -> {kind}, token"
        details = {"moves": True, "operation": "load_ptr_tko"}
        yield evaluated(f"accesses: masked load {element}", loaded, given, {"r": kind}, details)
        stored = (
            f"%r = reshape %x : {kind} -> {kind}\n{pointers('o', kind).replace('%o_p', '%r_p')}"
            f"%t = store_ptr_tko weak %o_q, %x, %m : {point}, {kind}, tile<64xi1> -> token"
        )
        text = evaluated("", stored, given, {"r": kind}).text
        # Nothing but the masked store.
        text = text[: text.index("%r_i = iota")] + "return } }"
        arrays: list[Any] = [(element, patterns(element, 64, "x")), ("i1", patterns("i1", 64, "m"))]
        arrays.append((element, numpy.zeros(64, dtype_of(element))))
        yield simple(f"accesses: masked store {element}", text, arrays, details=details)
    for element, order, scope in product(
        ("i8", "i32", "i64", "f16", "f32"), ("relaxed", "acquire"), ("tl_blk", "device", "sys")
    ):
        kind, point = tile((64,), element), tile((64,), f"ptr<{element}>")
        body = f"%r, %t = load_ptr_tko {order} {scope} %x_q : {point} -> {kind}, token"
        name = f"accesses: load {order} {scope} {element}"
        yield evaluated(name, body, {"x": (kind, None)}, {"r": kind}, {"moves": True, "operation": "load_ptr_tko"})
    for element, order, scope in product(
        ("i8", "i32", "i64", "f16", "f32"), ("relaxed", "release"), ("tl_blk", "device", "sys")
    ):
        kind, point = tile((64,), element), tile((64,), f"ptr<{element}>")
        body = f"%r = reshape %x : {kind} -> {kind}"
        made = evaluated(
            f"accesses: store {order} {scope} {element}", body, {"x": (kind, None)}, {"r": kind}, {"moves": True}
        )
        made.text = made.text.replace("store_ptr_tko weak", f"store_ptr_tko {order} {scope}")
        yield made
    yield from forms()
    yield from parameters()
    yield from globals_and_allocations()
    yield from ordered()


def forms() -> Iterator[Program]:
    """The programs of the CPU backend's tests, which access memory in every way."""
    for name, body in FORMS.items():
        text = HEAD + body + TAIL
        if "@table" in body or "@fixed" in body:
            text = text.replace("cuda_tile.module @m {", "cuda_tile.module @m {" + GLOBALS, 1)
        # As many as the tiles have: what a view without padding reads beyond its tensor is not specified.
        count = 32 if "load_view" in name else 30
        arrays: list[Any] = [("i32", numpy.arange(64, dtype="i4") * 3), ("i32", numpy.arange(64, dtype="i4") % 8)]
        yield simple(
            f"accesses: {name}", text, [*arrays, Number("i32", count)], (4, 1, 1), {"operation": name.split(": ")[1]}
        )


def parameters() -> Iterator[Program]:
    """Numbers of every type as parameters, between pointers."""
    for element in (*ELEMENTS, "all"):
        kinds = ELEMENTS if element == "all" else (element,)
        names = [f"%n{place}: tile<{kind}>" for place, kind in enumerate(kinds)]
        outputs = [f"%o{place}: tile<ptr<{kind}>>" for place, kind in enumerate(kinds)]
        both = [text for pair in zip(names, outputs, strict=True) for text in pair]
        body = "\n".join(
            f"%t{place} = store_ptr_tko weak %o{place}, %n{place} : tile<ptr<{kind}>>, tile<{kind}> -> token"
            for place, kind in enumerate(kinds)
        )
        text = f"cuda_tile.module @m {{ entry @k({', '.join(both)}) {{\n{body}\nreturn }} }}"
        given: list[Any] = []
        for kind in kinds:
            value = numbers(kind, 1, "parameter").view(f"u{dtype_of(kind).itemsize}")
            given += [Number(kind, int(value[0])), (kind, numpy.zeros(1, dtype_of(kind)))]
        yield simple(f"accesses: parameter {element}", text, given, details={"moves": True})


def globals_and_allocations() -> Iterator[Program]:
    for element in ELEMENTS:
        if element == "tf32":
            continue
        number = ["true", "false", "true", "true"] if element == "i1" else ["1", "2", "3", "4"]
        values = ", ".join(number if element[0] == "i" else [f"{each}.0" for each in number])
        kind, point = tile((4,), element), tile((4,), f"ptr<{element}>")
        for constant in ("", "constant "):
            module = f"global {constant}@g alignment = 16 <{element}: [{values}]> : {kind}"
            body = f"%g_p = get_global @g : tile<ptr<{element}>>\n{pointers('g', kind)}%r, %t = load_ptr_tko weak %g_q : {point} -> {kind}, token"
            name = f"accesses: {constant}global {element}"
            yield evaluated(name, body, {}, {"r": kind}, {"moves": True, "operation": "get_global"}, module=module)
        body = (
            f"%g_p = alloca num_elem=4, alignment=16 : tile<ptr<{element}>>\n{pointers('g', kind)}"
            f"%s = store_ptr_tko weak %g_q, %x : {point}, {kind} -> token\n"
            f"%r, %t = load_ptr_tko weak %g_q token=%s : {point} -> {kind}, token"
        )
        yield evaluated(
            f"accesses: alloca {element}",
            body,
            {"x": (kind, None)},
            {"r": kind},
            {"moves": True, "operation": "alloca"},
        )


def ordered() -> Iterator[Program]:
    """Loads and stores of the same memory that tokens order: backwards, so that other threads' elements are read."""
    for element, count in product(("i8", "i32", "f32", "i64"), (8, 64, 256, 1024)):
        kind, point, places = tile((count,), element), tile((count,), f"ptr<{element}>"), tile((count,), "i32")
        back = (
            f"%last = constant <i32: {count - 1}> : {places}\n%i = iota : {places}\n%j = subi %last, %i : {places}\n"
            f"%back = offset %x_n, %j : {point}, {places} -> {point}\n"
        )
        for way, between in (
            ("token", "%u = make_token : token\n%both = join_tokens %s, %u : token\n"),
            ("alias", ""),
        ):
            token = "%both" if way == "token" else "%s"
            body = (
                f"{back}%s = store_ptr_tko weak %back, %x token=%x_k : {point}, {kind} -> token\n{between}"
                f"%r, %t = load_ptr_tko weak %x_q token={token} : {point} -> {kind}, token"
            )
            name = f"accesses: ordered by {way} {element} {count}"
            yield evaluated(name, body, {"x": (kind, None)}, {"r": kind}, {"moves": True, "operation": "store_ptr_tko"})


# --- atomics ---

MODES = {
    "i32": ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg"),
    "i64": ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg"),
    "f16": ("addf",), "bf16": ("addf",), "f32": ("addf", "xchg"), "f64": ("addf", "xchg"),
}  # fmt: skip


def atomics() -> Iterator[Program]:
    for element, modes in MODES.items():
        for mode, order, count in product(modes, ("relaxed device", "acq_rel sys", "relaxed tl_blk"), (1, 64)):
            yield _rmw(element, mode, order, count)
        for mode in modes:
            if mode != "xchg":
                yield _together(element, mode)
        if element[0] == "i" or element in ("f32", "f64"):
            yield _cas(element)
    yield from _reductions_into_views()


def _rmw(element: str, mode: str, order: str, count: int) -> Program:
    kind, point = tile((count,), element), tile((count,), f"ptr<{element}>")
    body = f"%r, %t = atomic_rmw_tko {order} %x_q, {mode}, %y token=%x_k : {point}, {kind} -> {kind}, token"
    if count > 1:
        body = body.replace("%y token", "%y, %m token").replace(f"{kind} ->", f"{kind}, {tile((count,), 'i1')} ->")
    inputs: dict[str, tuple[str, Any]] = {"x": (kind, None), "y": (kind, None)}
    if count > 1:
        inputs["m"] = (tile((count,), "i1"), None)
    outputs = {"r": kind}
    details = {"operation": f"atomic_rmw_tko {mode}", "moves": mode == "xchg"}
    made = evaluated(f"atomics: {mode} {order} {element} {count}", body, inputs, outputs, details)
    if count > 1:
        # What a masked element gives is not specified.
        made.text = made.text.replace("store_ptr_tko weak %r_q, %r :", "store_ptr_tko weak %r_q, %r, %m :").replace(
            f"{point}, {kind} -> token\nreturn", f"{point}, {kind}, tile<{count}xi1> -> token\nreturn"
        )
    return made


def _together(element: str, mode: str) -> Program:
    """All elements of all tile blocks into few places; sums of small integers do not depend on the order."""
    count = 128
    kind, point, places = tile((count,), element), tile((count,), f"ptr<{element}>"), tile((count,), "i32")
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %v_p: tile<ptr<{element}>>) {{
%i = iota : {places}
%seven = constant <i32: 7> : {places}
%j = andi %i, %seven : {places}
%a_1 = reshape %a : tile<ptr<{element}>> -> tile<1xptr<{element}>>
%a_n = broadcast %a_1 : tile<1xptr<{element}>> -> {point}
%a_q = offset %a_n, %j : {point}, {places} -> {point}
{pointers("v", kind)}%v, %k = load_ptr_tko weak %v_q : {point} -> {kind}, token
%r, %t = atomic_rmw_tko relaxed device %a_q, {mode}, %v : {point}, {kind} -> {kind}, token
return }} }}"""
    rng = generator(element, mode)
    given = [rng.integers(-2, 3, size).astype("f4").astype(dtype_of(element)) for size in (8, count)]
    if element[0] == "i":
        given = [patterns(element, size, mode) for size in (8, count)]
    arrays: list[Any] = [(element, array) for array in given]
    return simple(
        f"atomics: together {mode} {element}", text, arrays, (3, 1, 1), {"operation": f"atomic_rmw_tko {mode}"}
    )


def _cas(element: str) -> Program:
    kind, point = tile((64,), element), tile((64,), f"ptr<{element}>")
    body = f"%r, %t = atomic_cas_tko relaxed device %x_q, %c, %y token=%x_k : {point}, {kind} -> {kind}, token"
    memory = patterns(element, 64, "x")
    compared = memory.copy()
    compared[::2] = patterns(element, 32, "c")
    inputs = {"x": (kind, memory), "c": (kind, compared), "y": (kind, None)}
    return evaluated(
        f"atomics: cas {element}", body, inputs, {"r": kind}, {"operation": "atomic_cas_tko", "moves": True}
    )


def _reductions_into_views() -> Iterator[Program]:
    for element, modes in MODES.items():
        for mode in modes:
            if mode == "xchg":
                continue
            tensor = f"tensor_view<?x?x{element}, strides=[?,1]>"
            view = f"partition_view<tile=(4x4), {tensor}>"
            kind = tile((4, 4), element)
            text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<{element}>>, %v_p: tile<ptr<{element}>>, %m: tile<i32>, %n: tile<i32>) {{
%x, %y, %z = get_tile_block_id : tile<i32>
%t = make_tensor_view %a, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}
%w = make_partition_view %t : {view}
{pointers("v", kind)}%v, %k = load_ptr_tko weak %v_q : {tile((4, 4), f"ptr<{element}>")} -> {kind}, token
%u = atomic_red_view_tko relaxed device %w[%x, %y], {mode}, %v : {kind}, {view}, tile<i32> -> token
return }} }}"""
            arrays: list[Any] = [(element, numbers(element, 35, "a")), (element, numbers(element, 16, "v"))]
            yield simple(
                f"atomics: atomic_red_view_tko {mode} {element}", text, [*arrays, Number("i32", 5), Number("i32", 7)], (2, 2, 1),
                {"operation": f"atomic_red_view_tko {mode}"},
            )  # fmt: skip
